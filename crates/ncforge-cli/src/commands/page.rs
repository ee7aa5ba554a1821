//! Pages of `info` and `doctor`, and other outputs: where they go.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ncforge::store::remote::shown_path;
use ncforge::store::{OutputFile, place};

use crate::exit::{Failure, Result};
use crate::printer::Printer;

/// Refuses to replace a page that exists, or what the command line names elsewhere, and folders that do not exist, before any work is
/// done. A path that is no regular file (a terminal, a pipe) is written into.
///
/// `named` has all paths of the command line, this one among them.
pub(super) fn check(out: &Path, overwrite: bool, named: &[PathBuf]) -> Result<(), Failure> {
    if out == Path::new("-") {
        return Ok(());
    }
    check_folder(out)?;
    if out.is_file() && !overwrite {
        return Err(ncforge::Error::Exists(out.to_owned()).into());
    }
    let here = place(out).filter(|_| out.is_file() || !out.exists());
    match here.is_some() && named.iter().filter(|path| place(path) == here).nth(1).is_some() {
        true => Err(Failure::usage(
            format!("the command line names `{}` twice: it would be replaced", shown_path(out)),
            "give one of the two the name of another file",
        )),
        false => Ok(()),
    }
}

/// Refuses an output in a folder that is not there, before any work is done.
pub(super) fn check_folder(out: &Path) -> Result<(), Failure> {
    if ncforge::store::remote::url_of(out).is_some() {
        // There are no folders; who cannot write to a URL says so.
        return Ok(());
    }
    let folder = out.parent().filter(|f| !f.as_os_str().is_empty());
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => {
            Err(ncforge::Error::io(ncforge::Op::Create, shown_path(out), ErrorKind::NotFound.into()).into())
        }
    }
}

/// Writes a page; `-` is stdout.
pub(super) fn write(out: &Path, page: &str, overwrite: bool, printer: &Printer) -> Result<(), Failure> {
    if out == Path::new("-") {
        printer.data(page);
        return Ok(());
    }
    write_whole(out, page, overwrite)?;
    printer.note(format_args!("{} written", shown_path(out)));
    Ok(())
}

/// Writes a text file that is there complete or not at all: an earlier one stays where the disk is full.
pub(super) fn write_whole(path: &Path, text: &str, overwrite: bool) -> Result<(), Failure> {
    Ok(OutputFile::write_whole(path, text.as_bytes(), overwrite)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn only_who_asks_for_it_replaces_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.html");
        check(&file, false, &[]).unwrap();
        write_whole(&file, "one", false).unwrap();
        assert_eq!(check(&file, false, &[]).unwrap_err().exit, Exit::Usage);
        assert_eq!(write_whole(&file, "two", false).unwrap_err().exit, Exit::Usage);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
        write_whole(&file, "two", true).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(write_whole(&dir.path().join("no/x"), "", false).unwrap_err().exit, Exit::Usage);
        let null = PathBuf::from("/dev/null");
        check(&null, false, &[null.clone(), null.clone()]).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
