//! The names of fragments: URIs, most of them relative to the file that names them.
//!
//! Only a file leads to files, and to URLs. A URL leads to URLs of its own server alone: what came from elsewhere must not make a program
//! read its own disk, or ask other servers.

use std::path::{Path, PathBuf};

use crate::store::remote::url_of;
use crate::store::{Origin, ReadStore};

/// Where the file lies that names fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// A local file.
    File(PathBuf),
    /// A URL.
    Url(String),
}

impl Base {
    /// Where a store lies; `None` for memory.
    pub(crate) fn of(store: &dyn ReadStore) -> Option<Self> {
        match store.origin() {
            Origin::File(path) => Some(Base::File(path.to_owned())),
            Origin::Url(url) => Some(Base::Url(url.to_owned())),
            Origin::Nowhere => None,
        }
    }

    /// The paths, or the one URL, that a URI may mean, in the order in which they are looked for; a reason where it cannot be followed.
    pub(super) fn candidates(&self, uri: &str) -> Result<Vec<PathBuf>, String> {
        if let Base::Url(base) = self {
            return joined(base, uri).map(|url| vec![url.into()]);
        }
        if url_of(Path::new(uri)).is_some() {
            return Ok(vec![uri.into()]);
        }
        let path = match scheme(uri) {
            Some("file") => {
                let rest = uri["file:".len()..].strip_prefix("//").map_or(&uri["file:".len()..], |rest| {
                    rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(rest)
                });
                if !rest.starts_with('/') {
                    return Err(format!("a fragment on another machine (`{uri}`)"));
                }
                rest
            }
            Some(scheme) => return Err(format!("a fragment with the URI scheme `{scheme}`")),
            None => uri,
        };
        let Base::File(own) = self else { return Ok(Vec::new()) };
        let folder = own.parent().unwrap_or(Path::new("/"));
        // Names are written with escapes, and without.
        let mut all = vec![folder.join(path)];
        all.extend(unescaped(path).map(|path| folder.join(path)));
        Ok(all)
    }
}

/// The scheme of a URI, which has at least two letters: of one letter, it is a drive.
fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

/// A text whose escapes (`%20`) are replaced; `None` where it has none.
fn unescaped(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let hex = behind.first_chunk::<2>().filter(|_| first == b'%');
        let byte = hex.and_then(|h| u8::from_str_radix(std::str::from_utf8(h).ok()?, 16).ok());
        out.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(out).ok().filter(|new| new != text)
}

/// The URL of a URI in what lies at the URL `base`.
fn joined(base: &str, uri: &str) -> Result<String, String> {
    let refused = || Err(format!("a URL that leads to another server, or to a file (`{uri}`),"));
    let server = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        Some((scheme.to_ascii_lowercase(), host.to_owned()))
    };
    let Some((scheme, host)) = server(base) else { return refused() };
    if self::scheme(uri).is_some() {
        return if server(uri).as_ref() == Some(&(scheme, host)) { Ok(uri.to_owned()) } else { refused() };
    }
    if uri.starts_with('/') {
        return refused();
    }
    let is_web = scheme.starts_with("http");
    let path = &base[base.find("://").map_or(0, |at| at + 3) + host.len()..];
    let path = if is_web { path.split(['?', '#']).next().unwrap_or(path) } else { path };
    let mut parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    parts.pop();
    for part in uri.split('/') {
        match part {
            "." => {}
            ".." if parts.pop().is_none() => return refused(),
            ".." => {}
            other => parts.push(other),
        }
    }
    Ok(format!("{}://{host}/{}", &base[..base.find("://").unwrap_or(0)], parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(base: &Base, uri: &str) -> Result<Vec<String>, String> {
        let shown = |p: &PathBuf| p.display().to_string();
        base.candidates(uri).map(|all| all.iter().map(shown).collect())
    }

    #[test]
    fn a_file_leads_to_files_and_urls() {
        let base = Base::File("/data/all.nc".into());
        assert_eq!(of(&base, "a.nc").unwrap(), ["/data/a.nc"]);
        assert_eq!(of(&base, "../b/a%20b.nc").unwrap(), ["/data/../b/a%20b.nc", "/data/../b/a b.nc"]);
        assert_eq!(of(&base, "/x/a.nc").unwrap(), ["/x/a.nc"]);
        for uri in ["file:/x/a.nc", "file:///x/a.nc", "file://localhost/x/a.nc"] {
            assert_eq!(of(&base, uri).unwrap(), ["/x/a.nc"], "{uri}");
        }
        assert_eq!(of(&base, "s3://bucket/a.nc").unwrap(), ["s3://bucket/a.nc"]);
        assert!(of(&base, "file://host/a.nc").is_err());
        assert!(of(&base, "mars:ab/c").unwrap_err().contains("`mars`"));
    }

    #[test]
    fn a_url_leads_to_its_own_server() {
        let base = Base::Url("https://host:8080/a/b/all.nc?key=1".into());
        assert_eq!(of(&base, "c.nc").unwrap(), ["https://host:8080/a/b/c.nc"]);
        assert_eq!(of(&base, "../c.nc").unwrap(), ["https://host:8080/a/c.nc"]);
        assert_eq!(of(&base, "https://host:8080/c.nc").unwrap(), ["https://host:8080/c.nc"]);
        for uri in
            ["../../../c.nc", "/etc/c.nc", "file:///etc/c.nc", "https://other/c.nc", "http://host:8080/c.nc"]
        {
            assert!(of(&base, uri).is_err(), "{uri}");
        }
        let base = Base::Url("s3://bucket/a#1/all.nc".into());
        assert_eq!(of(&base, "c.nc").unwrap(), ["s3://bucket/a#1/c.nc"]);
    }
}
