//! Pages of `info` and `doctor`: where they go.

use std::path::Path;

use super::Context;
use crate::exit::{Failure, Result};

/// Refuses to replace a page that exists, before any work is done.
pub(super) fn check(out: &Path, overwrite: bool) -> Result<(), Failure> {
    match out != Path::new("-") && out.exists() && !overwrite {
        true => Err(ncforge::Error::Exists(out.to_owned()).into()),
        false => Ok(()),
    }
}

/// Writes a page; `-` is stdout.
pub(super) fn write(out: &Path, page: &str, cx: &Context<'_>) -> Result<(), Failure> {
    if out == Path::new("-") {
        cx.printer.data(page);
        return Ok(());
    }
    std::fs::write(out, page).map_err(|e| Failure::system("write", out, e))?;
    cx.printer.note(format_args!("{} written", out.display()));
    Ok(())
}
