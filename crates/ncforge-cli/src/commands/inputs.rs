//! Input files as they are given: a URL with `*` stands for the objects that match it, as shells do it for files.

use std::path::PathBuf;

use ncforge::store::remote;

use super::Context;
use crate::exit::{Exit, Failure, Result};

/// The files, with those of patterns in alphabetical order in the place of the pattern.
pub(super) fn expanded(given: &[PathBuf], cx: &Context<'_>) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for path in given {
        match remote::url_of(path).filter(|url| url.contains('*')) {
            None => out.push(path.clone()),
            Some(url) => {
                let found = remote::glob(url, &cx.global.remote())?;
                if found.is_empty() {
                    return Err(Failure {
                        message: format!("no object matches `{}`", remote::shown(url)),
                        hint: "a `*` stands for any letters of one part of the path, not for a `/`".into(),
                        exit: Exit::BadInput,
                    });
                }
                out.extend(found.into_iter().map(PathBuf::from));
            }
        }
    }
    Ok(out)
}
