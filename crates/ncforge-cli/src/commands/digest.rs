//! `ncforge digest`

use std::io::Read;
use std::path::Path;

use ncforge_ops::digest::{Checked, DigestReport, Line, PART, check, digest, line};
use ncforge_ops::progress::Progress;
use ncforge_tune::words::many;
use serde_json::{Value, json};

use super::{Context, document};
use crate::args::DigestArgs;
use crate::exit::{Exit, Failure, Result};
use crate::printer::Printer;
use ncforge::store::remote::shown_path;

/// Prints digests, or compares them with a list. All files are tried; the first failure gives the exit code.
pub(crate) fn run(args: &DigestArgs, cx: &Context<'_>) -> Result {
    if let Some(list) = &args.check {
        return checked(list, args, cx);
    }
    let engine = cx.engine()?;
    let (mut worst, mut documents) = (Exit::Ok, Vec::new());
    let progress = cx.printer.progress("digest");
    for path in &args.files {
        progress.item(&shown_path(path));
        match digest(path, &engine, &progress) {
            Ok(report) => {
                progress.aside(|| {
                    report
                        .notes
                        .iter()
                        .for_each(|note| cx.printer.warn(format_args!("{}: {note}", shown_path(path))));
                    if !args.written.takes_stdout() {
                        tell(&report, args.variables, cx.printer);
                    }
                });
                documents.push(serde_json::to_value(&report).expect("a report is plain data"));
            }
            Err(e) => {
                let failure = Failure::from(e);
                documents.push(document::failed(path, &failure));
                progress.aside(|| cx.printer.failure(&failure));
                worst = if worst == Exit::Ok { failure.exit } else { worst };
            }
        }
    }
    progress.finish();
    document::put("digest", &json!({ "files": documents }), &args.written, cx.printer)?;
    Ok(worst)
}

fn tell(report: &DigestReport, variables: bool, printer: &Printer) {
    printer.line(line(&report.digest, &report.file));
    for v in report.variables.iter().filter(|_| variables) {
        printer.line(line(&v.digest, &format!("{}{PART}{}", report.file, v.name)));
    }
}

/// Compares a list with the files.
fn checked(list: &Path, args: &DigestArgs, cx: &Context<'_>) -> Result {
    let lines = lines(list, cx.printer)?;
    let engine = cx.engine()?;
    let (mut worst, mut documents, mut differing) = (Exit::Ok, Vec::new(), 0u64);
    let progress = cx.printer.progress("digest");
    check(lines, &engine, &progress, |checked| {
        let is_same = checked.is_same();
        if !args.written.takes_stdout() {
            progress.aside(|| told(&checked, cx.printer));
        }
        let exit = match &checked.found {
            Ok(_) if is_same => Exit::Ok,
            Ok(_) => Exit::Differences,
            Err(e) => Exit::of(e),
        };
        differing += u64::from(exit == Exit::Differences);
        worst = if worst == Exit::Ok { exit } else { worst };
        documents.push(entry(checked, cx.printer));
    })?;
    progress.finish();
    if differing > 0 {
        cx.printer.warn(format_args!("{} of the list did not match", many(differing, "digest")));
    }
    document::put("digest-check", &json!({ "lines": documents }), &args.written, cx.printer)?;
    Ok(worst)
}

/// The lines of a list. Empty ones and comments are none.
fn lines(list: &Path, printer: &Printer) -> Result<Vec<Line>> {
    let read = match list.to_str() {
        Some("-") => {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).map(|_| text)
        }
        _ => std::fs::read(list),
    };
    let text = read.map_err(|e| ncforge::Error::io(ncforge::Op::Read, shown_path(list), e))?;
    let text = String::from_utf8_lossy(&text);
    let all = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with("# "));
    let (mut lines, mut other) = (Vec::new(), Vec::new());
    for (number, line) in all {
        match Line::parse(line) {
            Some(line) => lines.push(line),
            None => other.push(number + 1),
        }
    }
    match (lines.is_empty(), other.first()) {
        (false, None) => Ok(lines),
        (false, Some(first)) => {
            let many = many(other.len() as u64, "line");
            printer.warn(format_args!(
                "{many} of `{}` are no digest and name, the first is line {first}",
                shown_path(list)
            ));
            Ok(lines)
        }
        (true, _) => Err(Failure {
            class: None,
            message: format!("`{}` has no line with a digest and a name", shown_path(list)),
            hint: "`ncforge digest FILE… > LIST` makes one".into(),
            exit: Exit::BadInput,
        }),
    }
}

fn told(checked: &Checked, printer: &Printer) {
    let name = &checked.name;
    match &checked.found {
        Ok(_) if checked.is_same() => {
            if !printer.is_quiet() {
                printer.line(format_args!("{name}: OK"));
            }
        }
        Ok(Some(_)) => printer.line(format_args!("{name}: FAILED")),
        Ok(None) => printer.line(format_args!("{name}: FAILED, there is no such variable")),
        Err(_) => printer.line(format_args!("{name}: FAILED to read")),
    }
}

/// The document's entry for a line; an error is reported here.
fn entry(checked: Checked, printer: &Printer) -> Value {
    let is_same = checked.is_same();
    match checked.found {
        Ok(found) => {
            json!({ "name": checked.name, "listed": checked.listed, "found": found, "same": is_same })
        }
        Err(e) => {
            let failure = Failure::from(e);
            printer.failure(&failure);
            let error = document::failed(Path::new(&checked.name), &failure)["error"].clone();
            json!({ "name": checked.name, "listed": checked.listed, "found": null, "same": false, "error": error })
        }
    }
}
