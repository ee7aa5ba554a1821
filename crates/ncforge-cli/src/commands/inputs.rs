//! Input files as they are given: a pattern that the shell has left alone, and a URL with `*`, stand for the files that match.

use std::path::{Path, PathBuf};

use ncforge::store::remote;
use ncforge::store::remote::shown_path;
use ncforge_ops::combine;

use super::Context;
use crate::exit::{Exit, Failure, Result};

/// The files, with those of patterns in alphabetical order in the place of the pattern.
pub(super) fn expanded(given: &[PathBuf], cx: &Context<'_>) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for path in given {
        match remote::url_of(path).filter(|url| remote::pattern_part(url).contains('*')) {
            None if combine::is_pattern(path) => out.extend(local(path)?),
            None => out.push(path.clone()),
            Some(url) => {
                let found = remote::glob(url, &cx.global.remote())?;
                if found.is_empty() {
                    return Err(nothing("object", &remote::shown(url)));
                }
                out.extend(found.into_iter().map(PathBuf::from));
            }
        }
    }
    Ok(out)
}

/// Local files that match.
fn local(pattern: &Path) -> Result<Vec<PathBuf>, Failure> {
    let found = combine::matching(pattern)?;
    match found.is_empty() {
        true => Err(nothing("file", &shown_path(pattern))),
        false => Ok(found),
    }
}

fn nothing(what: &str, pattern: &str) -> Failure {
    Failure { class: None,
        message: format!("no {what} matches `{pattern}`"),
        hint: "a `*` stands for any letters of one part of the path, not for a `/`; `?` and `[…]` for one letter".into(),
        exit: Exit::BadInput,
    }
}
