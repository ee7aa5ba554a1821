//! URLs: which paths are some, and how they are shown.

use std::path::Path;

/// Schemes of URLs that can be opened.
const SCHEMES: [&str; 9] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https"];

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
pub(super) fn is_web(url: &str) -> bool {
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
