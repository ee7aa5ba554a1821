//! A digest and a name in one line, as `sha256sum` and `b3sum` print and read them.

/// A line of a list: a digest, and what it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The digest, in hexadecimal digits.
    pub digest: String,
    /// The name of a file, or of a file and a variable.
    pub name: String,
}

/// The line for a digest. Names with line ends and backslashes are written as `sha256sum` does.
///
/// ```
/// use ncforge_ops::digest::{Line, line};
///
/// let digest = "0".repeat(64);
/// assert_eq!(line(&digest, "a.nc"), format!("{digest}  a.nc"));
/// for name in ["a.nc", "two\nlines", r"C:\n", " *"] {
///     assert_eq!(Line::parse(&line(&digest, name)).expect("a line").name, name);
/// }
/// assert!(Line::parse("0123  a.nc").is_none() && Line::parse(&digest).is_none());
/// ```
pub fn line(digest: &str, name: &str) -> String {
    if !name.contains(['\\', '\n', '\r']) {
        return format!("{digest}  {name}");
    }
    format!("\\{digest}  {}", name.replace('\\', r"\\").replace('\n', r"\n").replace('\r', r"\r"))
}

impl Line {
    /// The contents of a line; `None` if it is not a line of digests.
    pub fn parse(line: &str) -> Option<Line> {
        let (line, is_escaped) = match line.strip_prefix('\\') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let (digest, name) = line.split_at_checked(64)?;
        let name = name.strip_prefix("  ").or_else(|| name.strip_prefix(" *")).filter(|n| !n.is_empty())?;
        if !digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let name = if is_escaped { unescaped(name)? } else { name.to_owned() };
        Some(Line { digest: digest.to_ascii_lowercase(), name })
    }
}

fn unescaped(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut letters = name.chars();
    while let Some(c) = letters.next() {
        out.push(match c {
            '\\' => match letters.next()? {
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}
