//! `ncforge report`

use ncforge_bench::report::{results_markdown, results_page};
use ncforge_bench::result::{Results, results_csv};

use super::Context;
use super::page::{check, write_whole};
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure, Result};
use ncforge::store::remote::shown_path;

/// Reads saved results and writes them in the form that the output's name asks for.
pub(crate) fn run(args: &ReportArgs, cx: &Context<'_>) -> Result {
    let ending = args.output.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let form: fn(&Results) -> String = match ending {
        "html" | "htm" => results_page,
        "md" => results_markdown,
        "csv" => results_csv,
        "json" => Results::to_json,
        _ => {
            return Err(Failure::usage(
                format!("`{}` does not say in which form", shown_path(&args.output)),
                "take a name that ends in .html, .md, .csv or .json",
            ));
        }
    };
    check(&args.output, args.overwrite, cx.named)?;
    let documents =
        args.results.iter().map(|p| Results::load(p)).collect::<ncforge_bench::Result<Vec<_>>>()?;
    let Some(results) = Results::joined(documents) else { return Ok(Exit::Ok) };
    let results = if args.show_paths { results } else { results.redacted() };
    let page = form(&results);
    write_whole(&args.output, &page, args.overwrite)?;
    cx.printer.note(format_args!("{} written", shown_path(&args.output)));
    Ok(Exit::Ok)
}
