//! The known name that is most like one that is not known.

/// The most similar of the known names, if it is similar enough for a spelling mistake.
///
/// ```
/// use ncforge::nearest;
/// assert_eq!(nearest("tempp", ["temp", "salt"]).as_deref(), Some("temp"));
/// assert_eq!(nearest("qqq", ["temp", "salt"]), None);
/// ```
pub fn nearest<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<String> {
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(name, k.as_ref()), k))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.as_ref().to_owned())
}
