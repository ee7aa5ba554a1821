//! Examination of files. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge::Result;
use ncforge_bench::driver::LibnetcdfDriver;
use ncforge_cli::CommandLine;
use ncforge_ops::doctor::{self as examining, DoctorOptions, DoctorRequest, ReaderCache, Report};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::bench::of_library;
use crate::errors::outside;
use crate::ops::to_json;
use crate::request::Asked;

/// The options. No library is looked for: a second copy of netCDF-C in the process of netCDF4-python would be asking for
/// trouble.
fn options(request: &DoctorRequest) -> Result<DoctorOptions> {
    let Some(path) = &request.library else { return Ok(request.options(ReaderCache::default())) };
    let library = LibnetcdfDriver::load(path).map_err(of_library)?;
    let cache = library.default_cache().map_or_else(ReaderCache::default, |c| ReaderCache {
        name: format!("netCDF-C {}", c.version),
        size: c.size,
        slots: c.slots,
        preemption: c.preemption,
    });
    Ok(request.options(cache))
}

/// Looks at one file; the report as JSON, with the text that the command prints, and what [`doctor_text`] takes.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>, path: PathBuf, request: Asked<DoctorRequest>) -> PyResult<String> {
    outside(py, || {
        let report = examining::examine(&path, &options(&request.0)?, &request.0.engine.engine()?)?;
        let mut document = examining::json(&report, &CommandLine);
        document["text"] = examining::text(std::slice::from_ref(&report), &CommandLine).into();
        document["saved"] = report.saved().into();
        to_json(&document)
    })
}

/// Looks at one file; what `ncforge doctor --html` draws of it, as a part of a page.
#[pyfunction]
pub(crate) fn draw_doctor(py: Python<'_>, path: PathBuf, request: Asked<DoctorRequest>) -> PyResult<String> {
    outside(py, || {
        let (report, file) = examining::anatomy(&path, &options(&request.0)?, &request.0.engine.engine()?)?;
        Ok(ncforge_view::doctor_fragment(&report, &file, &CommandLine))
    })
}

/// The text that the command prints of several files, from what [`doctor`] saved of each.
#[pyfunction]
pub(crate) fn doctor_text(py: Python<'_>, saved: Vec<String>) -> PyResult<String> {
    outside(py, || {
        let reports = saved.iter().map(|text| Report::restored(text)).collect::<Result<Vec<_>>>()?;
        Ok(examining::text(&reports, &CommandLine))
    })
}

/// Looks at what must agree between files; findings as JSON, with the text that the command prints.
#[pyfunction]
pub(crate) fn doctor_across(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    request: Asked<DoctorRequest>,
) -> PyResult<String> {
    outside(py, || {
        let (reports, findings) =
            examining::examine_across(&paths, &options(&request.0)?, &request.0.engine.engine()?);
        let reports: Vec<Report> = reports.into_iter().collect::<Result<_>>()?;
        let text = examining::text_across(&findings, reports.len(), &CommandLine);
        let findings: Vec<Value> = findings.iter().map(|f| f.json("", &CommandLine)).collect();
        to_json(&json!({ "findings": findings, "text": text }))
    })
}

/// All rules, as JSON.
#[pyfunction]
pub(crate) fn doctor_rules(py: Python<'_>) -> PyResult<String> {
    outside(py, || {
        let list: Vec<Value> = examining::rules()
            .map(|r| {
                json!({
                    "code": r.code, "name": r.name, "severity": r.severity, "about": r.about,
                    "fixed_by": r.fixed_by,
                })
            })
            .collect();
        to_json(&list)
    })
}
