//! What is slow in files. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge::Result;
use ncforge_bench::driver::LibnetcdfDriver;
use ncforge_ops::doctor::{self as examining, DoctorOptions, Profile, ReaderCache, Report};
use ncforge_ops::tune::Access;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::bench::told;
use crate::choosing::machine_of;
use crate::errors::{invalid, outside};
use crate::ops::{engine, to_json};

/// What Python asks of an examination.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DoctorRequest {
    select: String,
    ignore: String,
    reads: Option<String>,
    storage: Option<String>,
    profile: Option<String>,
    library: Option<PathBuf>,
    sample: bool,
}

impl DoctorRequest {
    fn options(&self) -> Result<DoctorOptions> {
        Ok(DoctorOptions {
            accesses: match &self.reads {
                Some(text) => Access::parse(text, &[])?,
                None => Access::usual(),
            },
            machine: machine_of(self.storage.as_deref())?,
            select: self.select.parse()?,
            ignore: self.ignore.parse()?,
            profile: match self.profile.as_deref() {
                None => None,
                Some("cmip7") => Some(Profile::Cmip7),
                Some(other) => return Err(invalid(format!("no profile `{other}`"))),
            },
            cache: self.cache()?,
            sample: self.sample,
        })
    }

    /// The cache of the netCDF-C that was named. None is looked for: a second copy of the library in the process of
    /// netCDF4-python would be asking for trouble.
    fn cache(&self) -> Result<ReaderCache> {
        let Some(path) = &self.library else { return Ok(ReaderCache::default()) };
        let library = LibnetcdfDriver::load(path).map_err(told)?;
        Ok(library.default_cache().map_or_else(ReaderCache::default, |c| ReaderCache {
            name: format!("netCDF-C {}", c.version),
            size: c.size,
            slots: c.slots,
            preemption: c.preemption,
        }))
    }
}

/// Looks at one file; the report as JSON.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>, path: PathBuf, request: DoctorRequest) -> PyResult<String> {
    outside(py, || {
        let report = examining::examine(&path, &request.options()?, &engine(None, None)?)?;
        to_json(&examining::json(&report))
    })
}

/// Looks at one file; what `ncforge doctor --html` draws of it, as a part of a page.
#[pyfunction]
pub(crate) fn draw_doctor(py: Python<'_>, path: PathBuf, request: DoctorRequest) -> PyResult<String> {
    outside(py, || {
        let (report, file) = examining::anatomy(&path, &request.options()?, &engine(None, None)?)?;
        Ok(ncforge_view::doctor_fragment(&report, &file))
    })
}

/// Looks at what must agree between files; findings as JSON.
#[pyfunction]
pub(crate) fn doctor_across(py: Python<'_>, paths: Vec<PathBuf>, request: DoctorRequest) -> PyResult<String> {
    outside(py, || {
        let (reports, findings) =
            examining::examine_across(&paths, &request.options()?, &engine(None, None)?);
        let _: Vec<Report> = reports.into_iter().collect::<Result<_>>()?;
        to_json(&findings.iter().map(|f| f.json("")).collect::<Vec<Value>>())
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
                    "mended_by": r.mended_by,
                })
            })
            .collect();
        to_json(&list)
    })
}
