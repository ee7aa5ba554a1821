//! Three lines in netCDF-C's configuration file, between two comments that mark them.
//!
//! NetCDF-C reads the file as bytes: the magic number of zipped files has a byte that is no UTF-8.

use std::path::Path;

use ncforge::store::OutputFile;

use crate::exit::{Failure, Result};

const BEGIN: &[u8] = b"# ncforge netcdf enable";
const END: &[u8] = b"# ncforge netcdf end";

/// The lines that load the library.
fn lines(library: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut out = BEGIN.to_vec();
    // The last of ten places: the NetCDF Expansion Pack uses the first ones.
    out.extend_from_slice(b"\nNETCDF.UDF9.LIBRARY=");
    out.extend_from_slice(library.as_os_str().as_bytes());
    out.extend_from_slice(b"\nNETCDF.UDF9.INIT=ncforge_netcdf_plugin\nNETCDF.UDF9.MAGIC=\x89NCZ\n");
    out.extend_from_slice(END);
    out.push(b'\n');
    out
}

/// The text without our lines.
fn without(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut ours = false;
    for line in text.split_inclusive(|&b| b == b'\n') {
        let bare = line.trim_ascii_end();
        ours |= bare == BEGIN;
        if !ours {
            out.extend_from_slice(line);
        }
        ours &= bare != END;
    }
    out
}

fn read(file: &Path) -> Result<Vec<u8>> {
    match std::fs::read(file) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(Failure::system(ncforge::Op::Read, file, e)),
    }
}

/// Whether the file has our lines.
pub(super) fn is_enabled(file: &Path) -> bool {
    read(file).is_ok_and(|text| without(&text) != text)
}

/// Replaces our lines by those for `library`, or removes them; whether the file changed. A file with nothing else is removed.
pub(super) fn edit(file: &Path, library: Option<&Path>) -> Result<bool> {
    let old = read(file)?;
    let mut new = without(&old);
    if let Some(library) = library {
        if !new.is_empty() && !new.ends_with(b"\n") {
            new.push(b'\n');
        }
        new.extend_from_slice(&lines(library));
    }
    if new == old {
        return Ok(false);
    }
    if new.is_empty() {
        std::fs::remove_file(file).map_err(|e| Failure::system(ncforge::Op::Other("remove"), file, e))?;
    } else {
        OutputFile::write_whole(file, &new, true)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ncrc");
        assert!(!edit(&file, None).unwrap(), "there is no file");
        std::fs::write(&file, b"HTTP.VERBOSE=1\nX=\xff").unwrap();
        assert!(edit(&file, Some(Path::new("/opt/a.so"))).unwrap());
        assert!(is_enabled(&file));
        assert!(edit(&file, Some(Path::new("/opt/b.so"))).unwrap());
        let text = std::fs::read(&file).unwrap();
        assert!(text.starts_with(b"HTTP.VERBOSE=1\nX=\xff\n# ncforge"));
        assert!(text.windows(9).any(|w| w == b"/opt/b.so") && !text.windows(9).any(|w| w == b"/opt/a.so"));
        assert!(!edit(&file, Some(Path::new("/opt/b.so"))).unwrap());
        assert!(edit(&file, None).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"HTTP.VERBOSE=1\nX=\xff\n");
        assert!(!is_enabled(&file));
    }

    #[test]
    fn a_file_with_our_lines_alone_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ncrc");
        assert!(edit(&file, Some(Path::new("/opt/a.so"))).unwrap());
        assert!(edit(&file, None).unwrap());
        assert!(!file.exists());
        std::fs::write(&file, b"").unwrap();
        assert!(!edit(&file, None).unwrap());
        assert!(file.exists(), "an empty file that was there before");
    }
}
