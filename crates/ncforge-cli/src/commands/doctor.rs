//! `ncforge doctor`

mod style;

use std::path::PathBuf;

use ncforge_bench::driver::netcdf_c;
use ncforge_ops::doctor::{
    Finding, ReaderCache, Report, Severity, anatomy, examine, examine_across, json, rules, text, text_across,
    text_rules,
};
use ncforge_ops::progress::Progress;
use serde_json::{Value, json as object};

use super::{Context, document, page};
use crate::args::{DoctorArgs, FailOn};
use crate::exit::{Exit, Failure, Result};
use ncforge::store::remote::shown_path;

/// Looks at every file; with several, all are tried.
pub(crate) fn run(args: &DoctorArgs, cx: &Context<'_>) -> Result {
    if args.rules {
        return list_rules(args, cx);
    }
    if let Some(out) = &args.html {
        page::check(out, args.written.overwrite, cx.named)?;
    }
    let options = args.request()?.options(cache(args)?);
    let engine = cx.engine()?;
    let progress = cx.printer.progress("doctor");
    let mut drawn = Vec::new();
    let mut one = |file: &PathBuf| {
        progress.item(&shown_path(file));
        if args.html.is_none() {
            return examine(file, &options, &engine);
        }
        let (report, anatomy) = anatomy(file, &options, &engine)?;
        drawn.push((report.clone(), anatomy));
        Ok(report)
    };
    let (results, across) = match args.across {
        true => examine_across(&args.files, &options, &engine),
        false => (args.files.iter().map(&mut one).collect(), Vec::new()),
    };
    progress.finish();
    let mut worst = Exit::Ok;
    let (mut reports, mut documents) = (Vec::new(), Vec::new());
    for (file, result) in args.files.iter().zip(results) {
        match result {
            Ok(report) => {
                documents.push(json(&report, cx.printer));
                reports.push(report);
            }
            Err(e) => {
                let failure = Failure::from(e);
                documents.push(document::failed(file, &failure));
                cx.printer.failure(&failure);
                worst = if worst == Exit::Ok { failure.exit } else { worst };
            }
        }
    }
    match &args.html {
        // Where no file was read, there is nothing to draw.
        Some(_) if drawn.is_empty() => {}
        Some(out) => {
            page::write(
                out,
                &ncforge_view::doctor_page(&drawn, cx.printer),
                args.written.overwrite,
                cx.printer,
            )?;
        }
        None => {
            let found: Vec<Value> = across.iter().map(|f| f.json("", cx.printer)).collect();
            let body = object!({ "files": documents, "across": found });
            if document::put("doctor", &body, &args.written, cx.printer)? {
                print(args, &reports, &across, cx);
            }
        }
    }
    let found = reports.iter().filter_map(Report::worst).chain(across.iter().map(|f| f.severity)).max();
    let limit = match args.fail_on {
        FailOn::Info => Some(Severity::Info),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Error => Some(Severity::Error),
        FailOn::Never => None,
    };
    let fails = limit.is_some_and(|limit| found.is_some_and(|f| f >= limit));
    Ok(if worst == Exit::Ok && fails { Exit::Differences } else { worst })
}

fn print(args: &DoctorArgs, reports: &[Report], across: &[Finding], cx: &Context<'_>) {
    cx.printer.data(&text(reports, cx.printer));
    if args.across {
        cx.printer.line("");
        cx.printer.data(&text_across(across, reports.len(), cx.printer));
    }
}

/// The default cache of the library that was named; else that of current netCDF-C, as Python's `ncforge.doctor` assumes: programs
/// bring their own copy (the wheels of netCDF4-python do), which need not be the system's.
fn cache(args: &DoctorArgs) -> Result<ReaderCache> {
    let library = match &args.library {
        Some(path) => Some(netcdf_c(path)?),
        None => None,
    };
    let known = library.and_then(|l| l.default_cache());
    Ok(known.map_or_else(ReaderCache::default, |c| ReaderCache {
        name: format!("netCDF-C {}", c.version),
        size: c.size,
        slots: c.slots,
        preemption: c.preemption,
    }))
}

fn list_rules(args: &DoctorArgs, cx: &Context<'_>) -> Result {
    let list: Vec<Value> = rules()
        .map(|r| {
            object!({
                "code": r.code, "name": r.name, "severity": r.severity, "about": r.about,
                "fixed_by": r.fixed_by,
            })
        })
        .collect();
    if document::put("doctor-rules", &object!({ "rules": list }), &args.written, cx.printer)? {
        cx.printer.data(&text_rules(cx.printer));
    }
    Ok(Exit::Ok)
}
