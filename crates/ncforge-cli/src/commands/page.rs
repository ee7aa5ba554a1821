//! Pages of `info` and `doctor`, and other outputs: where they go.

use std::io::ErrorKind;
use std::path::Path;

use super::Context;
use crate::exit::{Failure, Result};

/// Refuses to replace a page that exists, and folders that do not, before any work is done.
pub(super) fn check(out: &Path, overwrite: bool) -> Result<(), Failure> {
    if out == Path::new("-") {
        return Ok(());
    }
    check_folder(out)?;
    match out.exists() && !overwrite {
        true => Err(ncforge::Error::Exists(out.to_owned()).into()),
        false => Ok(()),
    }
}

/// Refuses an output in a folder that is not there, before any work is done.
pub(super) fn check_folder(out: &Path) -> Result<(), Failure> {
    let folder = out.parent().filter(|f| !f.as_os_str().is_empty());
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => {
            Err(ncforge::Error::io("create", out.display().to_string(), ErrorKind::NotFound.into()).into())
        }
    }
}

/// Writes a page; `-` is stdout.
pub(super) fn write(out: &Path, page: &str, cx: &Context<'_>) -> Result<(), Failure> {
    if out == Path::new("-") {
        cx.printer.data(page);
        return Ok(());
    }
    write_whole(out, page)?;
    cx.printer.note(format_args!("{} written", out.display()));
    Ok(())
}

/// Writes a text file that is there whole or not at all: an earlier one stays where the disk is full. What is no file (a
/// terminal, a pipe) is written into.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e| Failure::system("write", path, e);
    // Behind links, so that a link stays one.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (Some(name), false) = (target.file_name(), target.exists() && !target.is_file()) else {
        return std::fs::write(path, text).map_err(failed);
    };
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = target.with_file_name(beside);
    let written = std::fs::write(&beside, text).and_then(|()| {
        if let Ok(old) = target.metadata() {
            std::fs::set_permissions(&beside, old.permissions())?;
        }
        std::fs::rename(&beside, &target)
    });
    written.map_err(|e| {
        // What is left of it, if anything is.
        let _ = std::fs::remove_file(&beside);
        failed(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole_and_links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a.html"), dir.path().join("b.html"));
        write_whole(&file, "one").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(&link, "two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(write_whole(&dir.path().join("no/x"), "").unwrap_err().exit, crate::exit::Exit::Failed);
        write_whole(Path::new("/dev/null"), "three").unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
