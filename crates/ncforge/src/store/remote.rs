//! Files in object stores and on web servers, read by URL: `s3://`, `gs://`, `az://`, `http://`, `https://`.
//!
//! Requests are made by the crate `object_store`, which signs them, and repeats those that fail for a while. The first
//! request brings the beginning of the file, its length and its version; every later answer must be of the same version,
//! or the read is an [`Error::Changed`]. Nothing is written here but whole objects ([`upload`]).
//!
//! Paths with a scheme are URLs in every function that opens a file for reading. Without the feature `remote` they are
//! an [`Error::Unsupported`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

#[cfg(feature = "remote")]
mod client;
#[cfg(feature = "remote")]
mod errors;
#[cfg(feature = "remote")]
mod list;
#[cfg(feature = "remote")]
mod object;
#[cfg(feature = "remote")]
mod runtime;
#[cfg(all(feature = "remote", test))]
mod tests;
#[cfg(feature = "remote")]
mod upload;

use crate::error::{Error, Result};

use super::ReadStore;

#[cfg(feature = "remote")]
pub use object::RemoteStore;

/// Schemes of URLs that can be opened.
const SCHEMES: [&str; 9] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https"];

/// How object stores and web servers are accessed. The default takes credentials and endpoints from the environment, by
/// the names of the providers' own tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `GOOGLE_APPLICATION_CREDENTIALS`,
/// `AZURE_STORAGE_ACCOUNT_NAME`, …).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct RemoteOptions {
    /// No request is signed: for data that are public.
    pub anonymous: bool,
    /// Options by the names of the crate `object_store`: `endpoint`, `region`, `access_key_id`, `timeout`, … They
    /// prevail over the environment.
    pub options: BTreeMap<String, String>,
}

impl fmt::Debug for RemoteOptions {
    /// Values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.options.keys().collect();
        f.debug_struct("RemoteOptions").field("anonymous", &self.anonymous).field("options", &names).finish()
    }
}

/// What is used where no options are given.
static DEFAULT: RwLock<Option<RemoteOptions>> = RwLock::new(None);

impl RemoteOptions {
    /// The options of this process: those of [`RemoteOptions::set_default`].
    pub fn of_process() -> Self {
        DEFAULT.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// From now on, what is opened without options of its own uses these. For programs whose user gives them once, such as
    /// the command.
    pub fn set_default(options: RemoteOptions) {
        *DEFAULT.write().unwrap_or_else(PoisonError::into_inner) = Some(options);
    }
}

/// The URL that a path is, if it is one.
///
/// ```
/// use ncforge::store::remote::url_of;
/// assert_eq!(url_of("s3://bucket/a.nc".as_ref()), Some("s3://bucket/a.nc"));
/// assert_eq!(url_of("data/a.nc".as_ref()), None);
/// ```
pub fn url_of(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    SCHEMES.iter().any(|s| s.eq_ignore_ascii_case(scheme)).then_some(text)
}

/// Whether a URL is of a web server, and so has a query and escapes. In the others, all that follows the bucket is the
/// name of an object, to the letter.
fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|web| web.eq_ignore_ascii_case(scheme))
}

/// The last part of the path of a URL.
///
/// ```
/// use ncforge::store::remote::file_name;
/// assert_eq!(file_name("https://host/a.nc?version=2"), "a.nc");
/// assert_eq!(file_name("s3://bucket/k/run#1.nc"), "run#1.nc");
/// ```
pub fn file_name(url: &str) -> &str {
    let path = if is_web(url) { url.split(['?', '#']).next().unwrap_or(url) } else { url };
    path.rsplit('/').next().unwrap_or_default()
}

/// A URL as messages show it: without passwords, and without a query, in which signatures may stand.
pub fn shown(url: &str) -> String {
    let cut = if is_web(url) { url.split_once(['?', '#']) } else { None };
    let (plain, query) = cut.map_or((url, false), |(plain, _)| (plain, true));
    let mut out = match plain.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            // `abfss://container@account…` has no password before the `@`.
            let from = match rest[..host_end].rfind('@') {
                Some(at) if rest[..at].contains(':') || scheme.starts_with("http") => at + 1,
                _ => 0,
            };
            format!("{scheme}://{}", &rest[from..])
        }
        None => plain.to_owned(),
    };
    if query {
        out.push_str("?…");
    }
    out
}

/// An error for a URL where only a local file will do.
pub(crate) fn refuse_writing(path: &Path) -> Result<()> {
    match url_of(path) {
        Some(url) => {
            let what = "writing to a URL (a copy is uploaded when it is complete)".to_owned();
            Err(Error::Unsupported { path: shown(url), what })
        }
        None => Ok(()),
    }
}

/// Opens the object of a URL for reading.
///
/// # Errors
/// [`Error::Io`] when the server does not answer, has no such object or refuses it;
/// [`Error::Unsupported`] for a server that does not send parts of files;
/// [`Error::BadOption`] for options that the store does not know.
pub fn open(url: &str, options: &RemoteOptions) -> Result<Arc<dyn ReadStore>> {
    #[cfg(feature = "remote")]
    return Ok(Arc::new(RemoteStore::open(url, options)?));
    #[cfg(not(feature = "remote"))]
    return without_feature(url, options);
}

/// Uploads a local file as the object of a URL, which is there when all of it is. Its bytes are read back and compared
/// if `verify`. The bytes that were sent.
///
/// # Errors
/// Those of [`open`]; [`Error::Exists`] if the object is there and may not be replaced;
/// [`Error::Verify`] for an object that is not what was sent, which is then removed.
pub fn upload(file: &Path, url: &str, options: &RemoteOptions, overwrite: bool, verify: bool) -> Result<u64> {
    #[cfg(feature = "remote")]
    return upload::upload(file, url, options, overwrite, verify);
    #[cfg(not(feature = "remote"))]
    return {
        let _ = (file, overwrite, verify);
        without_feature(url, options)
    };
}

/// The URLs that match a URL with `*`, `?` or `[…]` in its path, in alphabetical order: the objects of a bucket, or the
/// files that a web server's listing of a folder names. An object of a bucket whose name is the pattern, to the letter, is
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
