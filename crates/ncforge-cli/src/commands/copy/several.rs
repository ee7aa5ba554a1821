//! `ncforge copy FILE… FOLDER/`: each file under its own name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ncforge::store::remote::shown_path;
use ncforge::store::remote::url_of;
use ncforge_ops::copy::{CopyReport, targets_in};
use ncforge_ops::progress::{Parts, Progress};
use ncforge_tune::words::{bytes, many};
use serde_json::{Value, json};

use super::{copied, planned, report};
use crate::args::CopyArgs;
use crate::commands::{Context, document};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Whether an output is named as a folder.
pub(super) fn is_folder(output: &Path) -> bool {
    output.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Copies several files. All are tried, unless one says that the others would fail, too; the first failure gives the exit code.
pub(super) fn run(args: &CopyArgs, inputs: &[PathBuf], folder: &Path, cx: &Context<'_>) -> Result {
    if !is_folder(folder) && !folder.is_dir() {
        let message =
            format!("several files are copied into a folder, and `{}` is not a folder", shown_path(folder));
        return Err(Failure::usage(message, format!("`{}/` is made if it is not there", shown_path(folder))));
    }
    let may_exist = args.written.overwrite || args.run.resume || args.run.dry_run;
    let targets = targets_in(folder, inputs, may_exist)?;
    let pairs: Vec<(&PathBuf, &PathBuf)> = inputs.iter().zip(&targets).collect();
    if args.run.dry_run {
        return plans(args, &pairs, cx);
    }
    // A store of objects has no folders, only keys.
    if url_of(folder).is_none() {
        std::fs::create_dir_all(folder).map_err(|e| Failure::system(ncforge::Op::Create, folder, e))?;
    }
    let engine = cx.engine()?;
    interrupt::catch();
    let progress = cx.printer.progress("copy");
    // Of a URL nothing is known before it is opened: it counts as one byte.
    let sizes: Vec<u64> = inputs.iter().map(|p| p.metadata().map_or(1, |m| m.len().max(1))).collect();
    let parts = Parts::of(&progress, "copy", &sizes, 1 + u64::from(args.run.verify) + u64::from(args.digest));
    let (mut done, mut documents, mut worst): (Vec<CopyReport>, Vec<Value>, _) =
        (Vec::new(), Vec::new(), Exit::Ok);
    for (i, (input, output)) in pairs.iter().enumerate() {
        parts.part(i, &shown_path(input));
        let options = args.request(command_line(args, input, output, cx))?.options()?;
        match copied(input, output, &options, &engine, &parts) {
            Ok(report) => {
                documents.push(serde_json::to_value(&report).expect("a report is plain data"));
                progress.aside(|| {
                    cx.printer.detail(report::summary(&report, &report.input, ""));
                    if !args.written.takes_stdout() {
                        report::tell_digest(report.digest.as_deref(), &report.output, cx.printer);
                    }
                });
                done.push(report);
            }
            Err(failure) if failure.exit == Exit::BadInput && !progress.stop() => {
                documents.push(document::failed(input, &failure));
                progress.aside(|| cx.printer.failure(&failure));
                worst = if worst == Exit::Ok { failure.exit } else { worst };
            }
            Err(failure) => {
                progress.finish();
                tell(&done, folder, cx);
                return Err(failure);
            }
        }
    }
    parts.finish();
    progress.finish();
    if document::put("copies", &json!({ "files": documents }), &args.written, cx.printer)? {
        tell(&done, folder, cx);
    }
    Ok(worst)
}

/// The plan of copying each file.
fn plans(args: &CopyArgs, pairs: &[(&PathBuf, &PathBuf)], cx: &Context<'_>) -> Result {
    let engine = cx.engine()?;
    let options = args.request(cx.command_line())?.options()?;
    let all = pairs.iter().map(|(input, output)| planned(input, output, &options, &engine));
    let all: Vec<_> = all.collect::<Result<_, _>>()?;
    if document::put("copies-plan", &json!({ "files": all }), &args.written, cx.printer)? {
        for ((input, output), plan) in pairs.iter().zip(&all) {
            let title = format!("{} -> {}", shown_path(input), shown_path(output));
            cx.printer.line(cx.printer.heading(title));
            report::print_plan(plan, cx.printer);
        }
    }
    Ok(Exit::Ok)
}

/// The command that would copy this file alone, for its history.
fn command_line(args: &CopyArgs, input: &Path, output: &Path, cx: &Context<'_>) -> String {
    let is_file = |word: &&OsString| args.is_path(Path::new(word));
    let options = cx.argv.iter().filter(|word| !is_file(word)).cloned();
    let files = [input, output].map(|path| path.as_os_str().to_owned());
    cx.history(&options.chain(files).collect::<Vec<_>>())
}

/// Tells what was done, and what is to be said of several files once.
fn tell(done: &[CopyReport], folder: &Path, cx: &Context<'_>) {
    let mut notes: Vec<(&str, &CopyReport, u64)> = Vec::new();
    for report in done {
        for note in &report.notes {
            match notes.iter_mut().find(|(n, ..)| n == note) {
                Some((.., count)) => *count += 1,
                None => notes.push((note.as_str(), report, 1)),
            }
        }
    }
    for (note, report, count) in notes {
        let others =
            if count > 1 { format!(" and {}", many(count - 1, "other file")) } else { String::new() };
        cx.printer.warn(format_args!("{}{others}: {note}", report.input));
    }
    let sum = |of: &dyn Fn(&CopyReport) -> u64| bytes(done.iter().map(of).fold(0, u64::saturating_add));
    let seconds = done.iter().map(|r| r.seconds).fold(0.0, |all, one| all + one);
    let verified = if !done.is_empty() && done.iter().all(|r| r.verified) { ", verified" } else { "" };
    cx.printer.note(format_args!(
        "{} -> {}: {} -> {}, {seconds:.2} s{verified}",
        many(done.len() as u64, "file"),
        shown_path(folder),
        sum(&|r| r.input_bytes),
        sum(&|r| r.output_bytes),
    ));
    report::chosen(done.iter().flat_map(|r| &r.chosen)).iter().for_each(|line| cx.printer.note(line));
}
