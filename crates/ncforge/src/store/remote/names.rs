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
    pattern_part(url).rsplit('/').next().unwrap_or_default()
}

/// A URL as messages show it: without passwords, and without a query, in which signatures may stand.
pub fn shown(url: &str) -> String {
    let mut out = without_password(pattern_part(url));
    if pattern_part(url).len() < url.len() {
        out.push_str("?…");
    }
    out
}

/// A path as others may see it: in messages, reports and what files say of themselves.
///
/// ```
/// use ncforge::store::remote::shown_path;
/// assert_eq!(shown_path("data/a.nc"), "data/a.nc");
/// assert_eq!(shown_path("https://me:secret@host/a.nc?signature=s"), "https://host/a.nc?…");
/// ```
pub fn shown_path(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    url_of(path).map_or_else(|| path.display().to_string(), shown)
}

/// A word of a command line as others may see it: a URL in it begins it (`https://host/a.nc`), or ends it
/// (`--coords=https://host/a.nc`).
///
/// ```
/// use ncforge::store::remote::shown_word;
/// assert_eq!(shown_word("--coords=https://me:secret@host/a.nc"), "--coords=https://host/a.nc");
/// ```
pub fn shown_word(word: &str) -> String {
    let begins = |at: &usize| url_of(word[*at..].as_ref()).is_some();
    match word.char_indices().map(|(at, _)| at).find(begins) {
        Some(at) => format!("{}{}", &word[..at], shown(&word[at..])),
        None => word.to_owned(),
    }
}

/// The name of a file as readers of what is written find it: a URL without user and password, with the query, which is a part of
/// the name.
pub fn public_name(name: &str) -> String {
    if url_of(name.as_ref()).is_some() { without_password(name) } else { name.to_owned() }
}

/// What is said where files are written down by their [`public_name`]s, with queries that may be secrets; nothing if none has one.
pub fn queries_are_kept(names: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<String> {
    let has_query = |name: &String| pattern_part(name).len() < name.len();
    let urls = names.into_iter().filter_map(|name| url_of(name.as_ref()).map(str::to_owned));
    let mut kept = urls.filter(has_query);
    let first = shown(&kept.next()?);
    let others = match kept.count() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!(
        "written with the query, which readers need, and in which a signature may stand: `{first}`{others}"
    ))
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_end = if is_web(url) { rest.find(['/', '?', '#']) } else { rest.find('/') };
    // `abfss://container@account…` has no password before the `@`.
    let from = match rest[..host_end.unwrap_or(rest.len())].rfind('@') {
        Some(at) if rest[..at].contains(':') || is_web(url) => at + 1,
        _ => 0,
    };
    format!("{scheme}://{}", &rest[from..])
}

/// Letters that make a pattern.
pub(super) const PATTERN: [char; 3] = ['*', '?', '['];

/// The part of a name that can be a pattern: of a web server's URL all before the query, of others all.
pub fn pattern_part(name: &str) -> &str {
    if is_web(name) { name.split(['?', '#']).next().unwrap_or(name) } else { name }
}

/// Whether a URL or a path is written as a pattern: with `*`, `?` or `[`.
///
/// ```
/// use ncforge::store::remote::is_pattern;
/// assert!(is_pattern("https://host/a*.nc?version=2") && is_pattern("s3://bucket/a?.nc") && is_pattern("a[12].nc"));
/// assert!(!is_pattern("https://host/a.nc?list[]=*"));
/// ```
pub fn is_pattern(name: &str) -> bool {
    pattern_part(name).contains(PATTERN)
}
