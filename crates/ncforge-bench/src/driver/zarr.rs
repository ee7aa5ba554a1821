//! Zarr stores as netCDF-C writes them (NCZarr, Zarr's format 2): folders of small files.
//!
//! A store holds `.zgroup` and `.zattrs`, and for each variable a folder with `.zarray` (shape, chunks, type, compressor; JSON) and a
//! file for every chunk. See the Zarr v2 specification, and "NCZarr" in netCDF-C's documentation.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::MARK;
use crate::error::{Error, Result};

/// Names of the files that describe a folder of a store, by formats 2 and 3.
const DESCRIPTIONS: [&str; 3] = [".zgroup", ".zarray", "zarr.json"];

/// Whether a folder is a Zarr store.
pub(crate) fn is_store(path: &Path) -> bool {
    path.is_dir() && DESCRIPTIONS.iter().any(|name| path.join(name).is_file())
}

/// Whether a benchmark has written a store.
pub(crate) fn is_marked_store(path: &Path) -> bool {
    is_store(path) && json(&path.join(".zattrs")).is_some_and(|attrs| attrs.get(MARK).is_some())
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The name under which netCDF-C knows a store in this folder.
///
/// # Errors
/// [`Error::BadOption`] for characters that mean something else in such a name, or that netCDF-C loses: of a folder whose name has letters
/// beyond ASCII, 4.9.0 takes what stands before it, and *empties that*.
pub(super) fn url(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@,~".contains(c);
    match whole.to_str() {
        Some(text) if text.chars().all(plain) => Ok(format!("file://{text}#mode=nczarr,file")),
        _ => Err(Error::bad_option(
            "folder",
            format!(
                "netCDF-C may take `{}` for another folder; a Zarr store needs a path of letters, digits and any of ._-+=@,~ only",
                whole.display()
            ),
        )),
    }
}

/// The description of a variable in `.zarray`.
pub(crate) struct Stored {
    /// Chunk lengths.
    pub(crate) chunks: Vec<u64>,
    /// Filters before the compressor, and the compressor.
    pub(crate) filters: Vec<String>,
    /// Whether the least significant byte stands first; `None` for values of one byte.
    pub(crate) little: Option<bool>,
}

/// The storage of a variable.
pub(crate) fn stored(path: &Path, var: &str) -> Option<Stored> {
    let described = json(&path.join(var).join(".zarray"))?;
    let name = |filter: &Value| filter.get("id").and_then(Value::as_str).map(str::to_owned);
    let filters = described.get("filters").and_then(Value::as_array).into_iter().flatten();
    let all = filters.chain(described.get("compressor"));
    Some(Stored {
        chunks: described.get("chunks")?.as_array()?.iter().filter_map(Value::as_u64).collect(),
        filters: all.filter_map(name).collect(),
        little: match described.get("dtype")?.as_str()?.chars().next() {
            Some('<') => Some(true),
            Some('>') => Some(false),
            _ => None,
        },
    })
}

/// The files of a store, or the one file that it is.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut all: Vec<PathBuf> = entries.flatten().flat_map(|e| files(&e.path())).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_netcdf_c_would_mistake_are_refused() {
        assert_eq!(url(Path::new("/a/b-1.zarr")).unwrap(), "file:///a/b-1.zarr#mode=nczarr,file");
        for wrong in ["/a/ä", "/a/b#c", "/a/b?c", "/a b", "/a%20b", "/[x]"] {
            let e = url(Path::new(wrong)).unwrap_err();
            assert!(e.exit_code() == 2 && e.to_string().contains("letters, digits"), "{e}");
        }
    }

    #[test]
    fn a_folder_is_a_store_when_it_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        assert!(!is_store(path) && !is_marked_store(path));
        std::fs::write(path.join(".zgroup"), "{}").unwrap();
        assert!(is_store(path) && !is_marked_store(path));
        std::fs::write(path.join(".zattrs"), format!("{{\"{MARK}\": \"blocks\"}}")).unwrap();
        assert!(is_marked_store(path));
        std::fs::create_dir(path.join("data")).unwrap();
        let text = r#"{"chunks": [2, 3], "dtype": ">f4", "filters": [{"id": "shuffle"}], "compressor": {"id": "zlib"}}"#;
        std::fs::write(path.join("data/.zarray"), text).unwrap();
        let found = stored(path, "data").unwrap();
        assert_eq!((found.chunks, found.little), (vec![2, 3], Some(false)));
        assert_eq!(found.filters, ["shuffle", "zlib"]);
        assert!(stored(path, "other").is_none());
        assert_eq!(files(path).len(), 3);
        assert_eq!(files(&path.join(".zgroup")), [path.join(".zgroup")]);
    }
}
