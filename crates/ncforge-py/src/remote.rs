//! How URLs are accessed, as Python says it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ncforge::store::RemoteOptions;
use ncforge::store::remote::shown_path;
use pyo3::prelude::*;

/// Options for URLs; `None`, which means the process' own, if none were given.
pub(crate) fn remote_options(anonymous: bool, options: BTreeMap<String, String>) -> Option<RemoteOptions> {
    (anonymous || !options.is_empty()).then_some(RemoteOptions { anonymous, options })
}

/// A path as others may see it: the secrets of a URL are left out.
#[pyfunction]
pub(crate) fn shown(path: PathBuf) -> String {
    shown_path(path)
}

/// From now on, URLs that are opened without options are accessed so.
#[pyfunction]
pub(crate) fn set_remote_options(anonymous: bool, options: BTreeMap<String, String>) {
    RemoteOptions::set_default(RemoteOptions { anonymous, options });
}
