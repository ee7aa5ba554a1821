//! How URLs are accessed, as Python says it.

use std::collections::BTreeMap;

use ncforge::store::RemoteOptions;
use pyo3::prelude::*;

/// Options for URLs; `None`, which means the process' own, if none were given.
pub(crate) fn remote_options(anonymous: bool, options: BTreeMap<String, String>) -> Option<RemoteOptions> {
    (anonymous || !options.is_empty()).then_some(RemoteOptions { anonymous, options })
}

/// From now on, URLs that are opened without options are accessed so.
#[pyfunction]
pub(crate) fn set_remote_options(anonymous: bool, options: BTreeMap<String, String>) {
    RemoteOptions::set_default(RemoteOptions { anonymous, options });
}
