//! Results go where they were asked to go.

use std::path::Path;

use ncforge_bench::result::Results;

use crate::args::OutputArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// One way to print a result, for those who asked for it.
pub(super) type Form<'a> = &'a dyn Fn(&Results) -> String;

/// Prints the table, unless another form goes to stdout, and writes every form that was asked for.
pub(super) fn put(
    out: &OutputArgs,
    results: Results,
    table: Form<'_>,
    csv: Form<'_>,
    cx: &Context<'_>,
) -> Result<(), Failure> {
    let arguments = cx.argv.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let results = Results { arguments, ..results };
    let forms = [(&out.csv, csv), (&out.json, &Results::to_json as Form<'_>)];
    let asked = || forms.iter().filter_map(|(path, form)| Some((path.as_deref()?, form)));
    let on_stdout = asked().filter(|(path, _)| *path == Path::new("-")).count();
    if on_stdout > 1 {
        return Err(Failure::usage(
            "only one form can go to stdout",
            "give the others a path, as --json=out.json",
        ));
    }
    if on_stdout == 0 {
        cx.printer.data(&table(&results));
    }
    for (path, form) in asked() {
        if path == Path::new("-") {
            cx.printer.data(&form(&results));
        } else {
            std::fs::write(path, form(&results)).map_err(|e| Failure {
                message: format!("cannot write `{}`: {e}", path.display()),
                hint: None,
                exit: Exit::Failed,
            })?;
        }
    }
    Ok(())
}
