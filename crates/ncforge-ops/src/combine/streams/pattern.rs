//! Names of outputs: `{case}.{stream}.{var}.{start}-{end}.nc`.

use std::fmt;
use std::str::FromStr;

use ncforge_tune::text_of;
use ncforge_tune::vocabulary::BadValue;

/// The words that a pattern may have.
const FIELDS: [&str; 5] = ["case", "stream", "var", "start", "end"];
const USUAL: &str = "{case}.{stream}.{var}.{start}-{end}.nc";
/// Marks between the parts of a name: one of them goes with a part that is empty.
const MARKS: [char; 3] = ['.', '_', '-'];

/// A pattern of names: `{case}`, `{stream}`, `{var}`, `{start}` and `{end}` stand for what they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(&'static str),
}

/// The facts that a name tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) case: &'a str,
    pub(super) stream: &'a str,
    pub(super) var: &'a str,
    pub(super) start: &'a str,
    pub(super) end: &'a str,
}

impl FromStr for NamePattern {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let wrong = |why: &str| {
            Err(BadValue {
                write: Some("such as {case}.{stream}.{var}.{start}-{end}.nc"),
                ..BadValue::of(text, why)
            })
        };
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((word, after)) = after.split_once('}') else { return wrong("a brace is not closed") };
            let Some(field) = FIELDS.into_iter().find(|field| *field == word) else {
                return wrong("the words in braces are case, stream, var, start and end");
            };
            parts.extend([Part::Text(before.to_owned()), Part::Field(field)]);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        if text.contains(['/', '\0']) {
            return wrong("outputs lie in one folder");
        }
        match parts.contains(&Part::Field("var")) {
            true => Ok(NamePattern(parts)),
            false => wrong("the outputs of several variables would have one name"),
        }
    }
}

impl Default for NamePattern {
    fn default() -> Self {
        USUAL.parse().expect("the usual pattern is one")
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Field(field) => write!(f, "{{{field}}}"),
        })
    }
}

text_of!(NamePattern);

impl NamePattern {
    /// Whether names tell when the values end.
    pub(super) fn tells_end(&self) -> bool {
        self.0.contains(&Part::Field("end"))
    }

    /// The name with these facts. Where one is empty, a mark beside it goes, too.
    pub(super) fn name(&self, facts: &Facts<'_>) -> String {
        let mut out = String::new();
        let mut is_open = false;
        for part in &self.0 {
            match part {
                Part::Text(text) if is_open => {
                    // The mark in front of what is empty stays only if nothing follows that has one itself.
                    if text.starts_with(MARKS) {
                        out.truncate(out.trim_end_matches(MARKS).len());
                    }
                    let is_first = out.is_empty();
                    out.push_str(if is_first { text.trim_start_matches(MARKS) } else { text });
                    is_open = text.is_empty();
                }
                Part::Text(text) => out.push_str(text),
                Part::Field(field) => {
                    let value = facts.value(field);
                    is_open = value.is_empty();
                    out.push_str(value);
                }
            }
        }
        out
    }

    /// The start and the end of a name with these facts, whose own start and end do not count; `None` if the name has others.
    pub(super) fn dates(&self, facts: &Facts<'_>, name: &str) -> Option<(String, String)> {
        let marked = self.name(&Facts { start: "\u{1}", end: "\u{2}", ..*facts });
        let (mut start, mut end) = (String::new(), String::new());
        let mut rest = name;
        for part in marked.split_inclusive(['\u{1}', '\u{2}']) {
            let text = part.trim_end_matches(['\u{1}', '\u{2}']);
            rest = rest.strip_prefix(text)?;
            if text.len() < part.len() {
                let len = rest.bytes().take_while(u8::is_ascii_digit).count();
                let slot = if part.ends_with('\u{1}') { &mut start } else { &mut end };
                let (digits, after) = rest.split_at_checked(len).filter(|(digits, _)| !digits.is_empty())?;
                digits.clone_into(slot);
                rest = after;
            }
        }
        rest.is_empty().then_some((start, end))
    }
}

impl<'a> Facts<'a> {
    fn value(&self, field: &str) -> &'a str {
        match field {
            "case" => self.case,
            "stream" => self.stream,
            "var" => self.var,
            "start" => self.start,
            _ => self.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts<'_> =
        Facts { case: "c.1", stream: "cam.h0", var: "T", start: "200001", end: "200012" };

    #[test]
    fn names_tell_facts() {
        let usual = NamePattern::default();
        assert_eq!(usual.to_string(), USUAL);
        assert_eq!(usual.name(&FACTS), "c.1.cam.h0.T.200001-200012.nc");
        assert_eq!(usual.name(&Facts { case: "", ..FACTS }), "cam.h0.T.200001-200012.nc");
        assert_eq!(usual.name(&Facts { case: "", stream: "", ..FACTS }), "T.200001-200012.nc");
        assert_eq!(usual.name(&Facts { start: "", end: "", ..FACTS }), "c.1.cam.h0.T.nc");
        let other: NamePattern = "{var}_{stream}.nc4".parse().unwrap();
        assert_eq!(other.name(&FACTS), "T_cam.h0.nc4");
        assert!(!other.tells_end());
        for bad in ["{case}.nc", "{var", "{var}.{month}.nc", "a/{var}.nc"] {
            assert!(bad.parse::<NamePattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn dates_are_found_in_names() {
        let usual = NamePattern::default();
        let dates = |name: &str| usual.dates(&FACTS, name);
        assert_eq!(dates("c.1.cam.h0.T.200001-200103.nc"), Some(("200001".into(), "200103".into())));
        for other in ["c.1.cam.h0.TS.200001-200103.nc", "c.1.cam.h0.T.200001-.nc", "c.1.cam.h0.T.nc", "", "é"]
        {
            assert_eq!(dates(other), None, "{other}");
        }
    }
}
