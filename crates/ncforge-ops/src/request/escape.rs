//! Names in lists that are written as text: behind a backslash a separator is a part of the name.
//!
//! A backslash in front of anything else stands for itself, so that names with backslashes need none more.

/// Characters that separate something in a list of any kind, or mean all names.
const SPECIAL: &str = r"\;,:|&*";

/// A name as a list has it whose separators are `at`.
///
/// ```
/// use ncforge_ops::request::{escaped, names};
/// assert_eq!(escaped("u,v", &[',']), r"u\,v");
/// assert_eq!(names(r"u\,v,w"), ["u,v", "w"]);
/// ```
pub fn escaped(name: &str, at: &[char]) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '\\' || at.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The names of a list with commas between them.
pub fn names(text: &str) -> Vec<String> {
    split(text, &[',']).into_iter().map(unescaped).collect()
}

/// A name from its text in a list.
pub(crate) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(&next) if c == '\\' && SPECIAL.contains(next) => {
                out.push(next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// The parts of a text between separators.
pub(crate) fn split<'a>(text: &'a str, at: &[char]) -> Vec<&'a str> {
    let mut begin = 0;
    let mut parts = Vec::new();
    for (i, c) in separators(text, at) {
        parts.push(&text[begin..i]);
        begin = i + c.len_utf8();
    }
    parts.push(&text[begin..]);
    parts
}

/// The parts in front of the first separator and behind it.
pub(crate) fn split_once(text: &str, at: char) -> Option<(&str, &str)> {
    separators(text, &[at]).next().map(|(i, c)| (&text[..i], &text[i + c.len_utf8()..]))
}

/// The parts in front of the last separator and behind it.
pub(crate) fn rsplit_once(text: &str, at: char) -> Option<(&str, &str)> {
    separators(text, &[at]).last().map(|(i, c)| (&text[..i], &text[i + c.len_utf8()..]))
}

/// The separators that no backslash precedes, and their places.
fn separators<'a>(text: &'a str, at: &'a [char]) -> impl Iterator<Item = (usize, char)> + 'a {
    let mut is_escaped = false;
    text.char_indices().filter(move |(_, c)| {
        let separates = !is_escaped && at.contains(c);
        is_escaped = *c == '\\' && !is_escaped;
        separates
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in ["tas", "a;b,c:d|e&f", r"a\", r"\\", r"a\b", r"\;", "*", "é;ü"] {
            let text = escaped(name, &[';', ',', ':', '|', '&', '*']);
            assert_eq!(unescaped(&text), name);
            assert_eq!(split(&text, &[';', ',', ':', '|', '&']), [&*text], "{name}");
        }
    }

    #[test]
    fn a_backslash_in_front_of_a_letter_stands_for_itself() {
        assert_eq!(names(r"a\b,c"), [r"a\b", "c"]);
        assert_eq!(names(r"a\\,c"), [r"a\", "c"]);
        assert_eq!(rsplit_once(r"a:b\:c", ':'), Some(("a", r"b\:c")));
        assert_eq!(split_once(r"a\,b,c,d", ','), Some((r"a\,b", "c,d")));
    }
}
