//! Parts of messages.

use super::{Late, Stale};

pub(super) fn at(offset: Option<u64>) -> String {
    offset.map_or_else(String::new, |o| format!(" at byte {o}"))
}

pub(super) fn in_use(kind: &str, name: &str, holder: &str, group: &str) -> String {
    if kind == holder {
        return format!("there is a {kind} `{name}` already");
    }
    format!("there is a {holder} `{name}` in `{group}` already: a {kind} cannot have its name")
}

pub(super) fn stale(partial: &str, why: Stale) -> String {
    match why {
        Stale::Source => format!("the source has changed since `{partial}` was begun"),
        Stale::Options => format!("`{partial}` was begun with other options or another memory budget"),
        Stale::Short => format!("`{partial}` is shorter than its journal says; its end was lost"),
    }
}

pub(super) fn too_late(variable: &str, what: Late) -> String {
    match what {
        Late::Fill => {
            format!("`_FillValue` of `{variable}` is set before its first value is written: it has values")
        }
        Late::Storage => format!("how `{variable}` is stored is set before it is in the file: it is there"),
    }
}

pub(super) fn selection(variable: &str, dim: usize, start: u64, count: u64, stride: u64, len: u64) -> String {
    if stride == 0 {
        return format!("stride 0 on dimension {dim} of `{variable}`");
    }
    format!(
        "`{variable}`: start {start}, count {count}, stride {stride} on dimension {dim} runs past its length {len}"
    )
}

/// The system's message; of an error that was made here, its own words.
pub(super) fn said(e: &std::io::Error) -> String {
    let is_bare = e.raw_os_error().is_none() && e.get_ref().is_none();
    match e.kind() {
        std::io::ErrorKind::NotFound if is_bare => "No such file or directory".to_owned(),
        _ => e.to_string(),
    }
}
