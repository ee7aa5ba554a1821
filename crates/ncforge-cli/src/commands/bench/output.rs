//! Results go where they were asked to go.

use std::path::{Path, PathBuf};

use ncforge_bench::report::{results_markdown, results_page};
use ncforge_bench::result::{Results, results_csv};

use crate::args::OutputArgs;
use crate::commands::Context;
use crate::commands::page;
use crate::exit::{Failure, Result};
use ncforge::store::remote::shown_path;

/// One way to print a result, for those who asked for it.
pub(super) type Form<'a> = &'a dyn Fn(&Results) -> String;

/// Says what cannot be written before anything is measured.
pub(super) fn check(out: &OutputArgs, named: &[PathBuf]) -> Result<(), Failure> {
    let asked = out.paths();
    if asked.iter().flatten().filter(|p| **p == Path::new("-")).count() > 1 {
        let hint = "give the others a path, as --json=out.json";
        return Err(Failure::usage("only one form can go to stdout", hint));
    }
    for path in asked.into_iter().flatten() {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        if path.is_dir() || folder.is_some_and(|f| !f.is_dir()) {
            let message =
                format!("`{}` cannot be written: no such folder, or a folder itself", shown_path(path));
            return Err(Failure::usage(message, "name a file in a folder that exists"));
        }
        page::check(path, out.overwrite, named)?;
    }
    Ok(())
}

/// Prints the table, unless another form goes to stdout, and writes every form that was asked for.
pub(super) fn put(
    out: &OutputArgs,
    results: Results,
    table: Form<'_>,
    cx: &Context<'_>,
) -> Result<(), Failure> {
    let arguments = cx.public(&cx.argv[1..]);
    // A result that comes from another command line keeps that.
    let results = if results.arguments.is_empty() { Results { arguments, ..results } } else { results };
    if !out.takes_stdout() {
        cx.printer.data(&table(&results));
    }
    let shared = || if out.show_paths { results.clone() } else { results.clone().redacted() };
    let [csv_to, json_to, markdown_to, html_to] = out.paths();
    if let Some(path) = csv_to {
        write(path, &results_csv(&results), out.overwrite, cx)?;
    }
    if let Some(path) = json_to {
        write(path, &results.to_json(), out.overwrite, cx)?;
    }
    if let Some(path) = markdown_to {
        write(path, &results_markdown(&shared()), out.overwrite, cx)?;
    }
    if let Some(path) = html_to {
        write(path, &results_page(&shared()), out.overwrite, cx)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str, overwrite: bool, cx: &Context<'_>) -> Result<(), Failure> {
    if path == Path::new("-") {
        cx.printer.data(text);
        return Ok(());
    }
    page::write_whole(path, text, overwrite)
}
