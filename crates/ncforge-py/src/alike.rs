//! Many files that are read as one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ncforge::model::agreement::Class;
use ncforge::model::calendar::Calendar;
use ncforge::model::{GroupId, VarId};
use ncforge::store::{RemoteOptions, remote};
use ncforge::{Dataset, OpenOptions, Result};
use ncforge_ops::alike::{self, Alike, Candidate};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{inside, invalid, outside, to_python};
use crate::file::File;
use crate::memory::to_array;
use crate::remote::remote_options;
use crate::values::checked;

type Bytes<'py> = Bound<'py, PyArray1<u8>>;

/// Lengths of dimensions; a number for chunks; attributes that differ; coordinates, with values if they differ.
type Found<'py> = (Vec<u64>, u64, Vec<(Option<usize>, String)>, Vec<(usize, Option<Bytes<'py>>)>);

/// The attributes on which something depends, by what that is.
pub(crate) fn attribute_classes() -> BTreeMap<&'static str, Vec<&'static str>> {
    let classes = [
        ("packing", Class::Packing),
        ("units", Class::Units),
        ("codes", Class::Codes),
        ("links", Class::Links),
        ("storage", Class::Storage),
    ];
    classes.into_iter().map(|(name, class)| (name, class.names().collect())).collect()
}

/// Opens files side by side and compares them with one that is open. For each path the file and in what it differs from that
/// one (`None` if it is not alike), or the exception that says why it cannot be opened.
#[pyfunction]
#[pyo3(signature = (paths, like, group, access=None))]
pub(crate) fn look_at<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    like: Option<&Bound<'py, File>>,
    group: usize,
    access: Option<(bool, BTreeMap<String, String>)>,
) -> PyResult<Bound<'py, PyList>> {
    let remote = access.and_then(|(anonymous, options)| remote_options(anonymous, options));
    let options = OpenOptions { remote, ..OpenOptions::default() };
    let like = like.map(|file| reading(file.get())).transpose();
    let like = inside(py, || like)?;
    if let Some(like) = &like {
        inside(py, || checked(&like.schema().groups, group, "group"))?;
    }
    let found = outside(py, || Ok(alike::look(&paths, like.as_ref(), GroupId(group), &options)))?;
    let out = PyList::empty(py);
    for (path, one) in paths.into_iter().zip(found) {
        match one {
            Ok(Candidate { dataset, alike }) => {
                let alike = alike.map(|a| plain(py, a)).transpose()?;
                out.append((File::over(dataset, path), alike))?;
            }
            Err(error) => out.append(to_python(py, &error))?,
        }
    }
    Ok(out)
}

/// The URLs that match a pattern.
#[pyfunction]
pub(crate) fn glob_urls(
    py: Python<'_>,
    pattern: String,
    anonymous: bool,
    options: BTreeMap<String, String>,
) -> PyResult<Vec<String>> {
    let options = remote_options(anonymous, options).unwrap_or_else(RemoteOptions::of_process);
    outside(py, || remote::glob(&pattern, &options))
}

fn plain(py: Python<'_>, alike: Alike) -> PyResult<Found<'_>> {
    let attributes = alike.attributes.into_iter().map(|(var, name)| (var.map(|v| v.0), name)).collect();
    let coordinates = alike
        .coordinates
        .into_iter()
        .map(|(var, values)| Ok((var.0, values.map(|v| to_array(py, v)).transpose()?)));
    Ok((alike.lens, alike.chunks, attributes, coordinates.collect::<PyResult<_>>()?))
}

/// Whether two attributes name the same calendar; an empty one is none.
#[pyfunction]
pub(crate) fn same_calendar(one: &str, other: &str) -> bool {
    Calendar::same(Some(one), Some(other))
}

/// Whether each of these variables holds the same values in all files as in the first.
#[pyfunction]
pub(crate) fn equal_in_all(
    py: Python<'_>,
    first: &Bound<'_, File>,
    others: Vec<Bound<'_, File>>,
    vars: Vec<usize>,
) -> PyResult<Vec<bool>> {
    let first = reading(first.get());
    let others: Result<Vec<Dataset>> = others.iter().map(|file| reading(file.get())).collect();
    outside(py, || {
        let (first, others) = (first?, others?);
        for file in std::iter::once(&first).chain(&others) {
            vars.iter().try_for_each(|&var| checked(&file.schema().vars, var, "variable"))?;
        }
        let vars: Vec<VarId> = vars.into_iter().map(VarId).collect();
        alike::equal(&first, &others, &vars)
    })
}

fn reading(file: &File) -> Result<Dataset> {
    file.reading().ok_or_else(|| invalid("the file is not open for reading"))
}
