//! `ncforge bench published`: measurements that others have published, made again.
//!
//! | name | what was measured | where it was published |
//! |---|---|---|
//! | `unidata-2013` | reads from 45 chunk shapes; a cache too small for one chunk | Unidata developers' blog, posts on AR-5 |
//! | `cray-1993` | 10 million floats to disk, raw and portable, on a Cray Y-MP | netcdfgroup, 1993 |
//! | `nocscombine` | tiles of NEMO to one file, by several builds of netCDF | NOCSCOMBINE on HECToR, table 9 |
//! | `netcdf-bench` | blocks of an array by one or many ranks | NetCDF-Bench, example output |
//! | `compressed-netcdf` | records of stations in compressed files | a patched netCDF, "Some performance numbers" |
//!
//! Those machines are gone: a ratio of seconds says what became of the whole, processor, disk and library. Where the amount of work
//! differs from theirs, rates or seconds for each unit of work are compared, and the unit says so.

mod figures;
mod steps;

use std::path::{Path, PathBuf};

use ncforge_bench::Error;
use ncforge_bench::driver::{Driver, LibnetcdfDriver, library};
use ncforge_bench::report::results_table;
use ncforge_bench::result::{Results, Section};

use self::figures::publish;
use self::steps::{Step, only, steps};
use super::{again, output, temporary, with_card};
use crate::args::{OutputArgs, PublishedArgs};
use crate::commands::Context;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// The default name of the page.
const PAGE: &str = "ncforge-published.html";

/// One run of the program for each step. One that fails does not end the others; its exit code is that of the command.
pub(super) fn run(args: &PublishedArgs, cx: &Context<'_>) -> Result {
    let out = OutputArgs {
        csv: args.output.csv.clone(),
        json: args.output.json.clone(),
        markdown: args.output.markdown.clone(),
        html: args.output.html.clone().or_else(|| Some(PathBuf::from(PAGE))),
        show_paths: args.output.show_paths,
        overwrite: args.output.overwrite,
    };
    if !args.dry_run {
        output::check(&out, cx.named)?;
    }
    let libraries = match args.library.is_empty() {
        true => LibnetcdfDriver::find().map(|_| "netcdf-c".to_owned()).into_iter().collect(),
        false => args.library.clone(),
    };
    let folder = temporary(args.folder.as_deref())?;
    let threads = cx.threads();
    let steps = only(steps(args.quick, &libraries, folder.path(), threads), &args.only)?;
    if args.dry_run {
        for step in &steps {
            cx.printer.line(format_args!("{:<17} {:<8} ncforge {}", step.publication, step.name, line(step)));
        }
        return Ok(Exit::Ok);
    }
    if libraries.is_empty() {
        cx.printer.note(format_args!("the system has no netCDF-C library: ncforge alone is measured"));
    }
    interrupt::catch();
    let mut found = Vec::new();
    let mut worst = Exit::Ok;
    for step in &steps {
        cx.printer.note(format_args!("{}: {}", step.publication, step.about));
        let (exit, results) = again::run(&step.words, false, cx)?;
        if interrupt::requested() || matches!(exit, Exit::Sigint | Exit::Sigterm) {
            return Err(Error::Stopped.into());
        }
        if worst == Exit::Ok {
            worst = exit;
        }
        match results {
            Some(results) => found.extend(sections(step, results)),
            None => found.push(failed(step, &format!("the run ended with exit code {}", exit as u8))),
        }
    }
    let loaded: Vec<_> = libraries.iter().filter_map(|l| library(Path::new(l)).ok()).collect();
    let loaded: Vec<&dyn Driver> = loaded.iter().map(AsRef::as_ref).collect();
    let results = with_card(Results::of(found), Some(folder.path()), &loaded);
    output::put(&out, results, &results_table, cx)?;
    if let Some(page) = &out.html {
        cx.printer.note(format_args!("page: {}", page.display()));
    }
    Ok(worst)
}

fn line(step: &Step) -> String {
    step.words.iter().map(|w| ncforge_tune::words::quoted(w)).collect::<Vec<_>>().join(" ")
}

/// The results of a step, as sections with the published figures next to ours.
fn sections(step: &Step, results: Results) -> Vec<Section> {
    results
        .sections
        .into_iter()
        .map(|mut section| {
            // Two steps may have the same array: their titles say what each is about.
            section.title = format!("{}: {}. {}", step.publication, step.about, section.title);
            publish(step, &mut section);
            section.notes.push(format!("made by: ncforge {}", line(step)));
            section
        })
        .collect()
}

/// A step that could not be done, as a section that says so.
fn failed(step: &Step, why: &str) -> Section {
    let mut section = Section::new(step.name, format!("{}: {}: not measured", step.publication, step.about));
    section.words.push(format!("NOT MEASURED: {why}"));
    section
}
