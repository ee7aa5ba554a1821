//! Files in object stores and on web servers, read by URL: `s3://`, `gs://`, `az://`, `http://`, `https://`.
//!
//! Requests are made by the crate `object_store`, which signs them, and repeats those that fail for a while. The first
//! request brings the beginning of the file, its length and its version; every later answer must be of the same version,
//! or the read is an [`Error::Changed`]. Nothing is written here but whole objects ([`upload`]).
//!
//! Paths with a scheme are URLs in every function that opens a file for reading. Without the feature `remote` they are
//! an [`Error::Unsupported`].

use std::path::Path;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "remote")]
mod client;
#[cfg(feature = "remote")]
mod errors;
#[cfg(feature = "remote")]
mod lengths;
#[cfg(feature = "remote")]
mod list;
mod names;
#[cfg(feature = "remote")]
mod object;
mod options;
#[cfg(feature = "remote")]
mod runtime;
#[cfg(all(feature = "remote", test))]
mod tests;
#[cfg(feature = "remote")]
mod upload;

use crate::error::{Error, Result};

use super::ReadStore;

pub use names::{
    file_name, is_pattern, pattern_part, public_name, queries_are_kept, shown, shown_path, shown_word, url_of,
};
#[cfg(feature = "remote")]
pub use object::RemoteStore;
pub use options::RemoteOptions;

/// The function that threads ask which wait for a server.
static GIVES_UP: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets a function that threads ask now and then while they wait for a server: true ends their reads with [`Error::Interrupted`]. The
/// first one stays.
pub fn give_up_when(asked: fn() -> bool) {
    let _ = GIVES_UP.set(asked);
}

/// Whether to wait no longer.
#[cfg(feature = "remote")]
fn shall_give_up() -> bool {
    GIVES_UP.get().is_some_and(|asked| asked())
}

/// An error for a URL where only a local file will do.
pub(crate) fn refuse_writing(path: &Path) -> Result<()> {
    match url_of(path) {
        Some(url) => Err(Error::WriteToUrl { url: shown(url) }),
        None => Ok(()),
    }
}

/// Opens the object of a URL for reading.
///
/// # Errors
/// [`Error::Io`] when the server does not answer, has no such object or refuses it;
/// [`Error::NoRanges`] for a server that does not send parts of files;
/// [`Error::BadOption`] for options that the store does not know.
pub fn open(url: &str, options: &RemoteOptions) -> Result<Arc<dyn ReadStore>> {
    #[cfg(feature = "remote")]
    return Ok(Arc::new(RemoteStore::open(url, options)?));
    #[cfg(not(feature = "remote"))]
    return without_feature(url, options);
}

/// Uploads a local file as the object of a URL, which is there when all of it is. Its bytes are read back and compared
/// if `verify`. The bytes that were sent. Between two parts, `stop` says whether to give up.
///
/// # Errors
/// Those of [`open`]; [`Error::NotUploaded`] if it was given up; [`Error::Exists`] if the object is there and may not be replaced;
/// [`Error::Verify`] for an object that is not what was sent, which is then removed.
pub fn upload(
    file: &Path,
    url: &str,
    options: &RemoteOptions,
    overwrite: bool,
    verify: bool,
    stop: &dyn Fn() -> bool,
) -> Result<u64> {
    #[cfg(feature = "remote")]
    return upload::upload(file, url, options, overwrite, verify, stop);
    #[cfg(not(feature = "remote"))]
    return {
        let _ = (file, overwrite, verify, stop);
        without_feature(url, options)
    };
}

/// The URLs that match a URL with `*`, `?` or `[…]` in its path, in alphabetical order: the objects of a bucket, or the
/// files that a web server's listing of a folder names, each with the query that the pattern has. An object of a bucket whose name is the pattern, to the letter, is
/// the only one that is meant.
///
/// # Errors
/// Those of [`open`].
pub fn glob(pattern: &str, options: &RemoteOptions) -> Result<Vec<String>> {
    #[cfg(feature = "remote")]
    return list::glob(pattern, options);
    #[cfg(not(feature = "remote"))]
    return without_feature(pattern, options);
}

#[cfg(not(feature = "remote"))]
fn without_feature<T>(url: &str, _: &RemoteOptions) -> Result<T> {
    let what = "a URL in a build without the feature `remote`".to_owned();
    Err(Error::Unsupported { path: shown(url), what })
}
