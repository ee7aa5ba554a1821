//! `ncforge bench doctor`

use ncforge_bench::doctor::{Standing, examine};

use serde_json::json;

use super::steps::Steps;
use crate::args::BenchDoctorArgs;
use crate::commands::{Context, document};
use crate::exit::{Exit, Result};

/// Exit code 3 when numbers measured here would be doubtful.
pub(super) fn run(args: &BenchDoctorArgs, cx: &Context<'_>) -> Result {
    let steps = Steps::of("doctor", cx);
    let checks = examine(&args.folder)?;
    steps.finish();
    if document::put("bench-doctor", &json!({ "checks": checks }), &args.written, cx.printer)? {
        for c in &checks {
            cx.printer.line(format_args!("{:<7} {:<18} {}", c.standing.word(), c.what, c.found));
            if let Some(advice) = &c.advice {
                cx.printer.line(format_args!("{:<26} {advice}", ""));
            }
        }
    }
    let bad = checks.iter().any(|c| c.standing == Standing::Bad);
    Ok(if bad { Exit::Differences } else { Exit::Ok })
}
