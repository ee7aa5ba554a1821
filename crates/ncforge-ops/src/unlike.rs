//! Attributes in which one of several files of a kind differs from the first, whose attributes the whole takes; and the notes
//! that name them.

use std::collections::BTreeMap;

use crate::describe::attribute_words;
use ncforge::model::agreement::group_differences;
use ncforge::model::{Attribute, GroupId, Schema, VarId};

/// Characters of a value that messages show.
const SHOWN: usize = 60;

/// An attribute that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unlike {
    /// The attribute's name.
    pub(crate) name: String,
    /// "global attribute `title`", "attribute `tas:long_name`".
    pub(crate) what: String,
    /// Its value in the first file; `None` where it has no such attribute.
    pub(crate) first: Option<String>,
    /// The value in the other file.
    pub(crate) other: Option<String>,
    /// Why that matters, where it is not plain.
    why: Option<String>,
}

impl Unlike {
    fn new(
        name: &str,
        what: String,
        (first, a): (&Schema, Option<&Attribute>),
        (other, b): (&Schema, Option<&Attribute>),
    ) -> Unlike {
        let shown =
            |schema: &Schema, attr: Option<&Attribute>| attr.map(|a| shortened(&attribute_words(schema, a)));
        Unlike { name: name.to_owned(), what, first: shown(first, a), other: shown(other, b), why: None }
    }

    /// An attribute of a variable, and what the other file has.
    pub(crate) fn of_var(
        (first, v): (&Schema, VarId),
        name: &str,
        other: (&Schema, Option<&Attribute>),
    ) -> Unlike {
        let path = first.var_path(v);
        let what = format!("attribute `{}:{name}`", path.trim_start_matches('/'));
        Unlike::new(name, what, (first, first.var(v).attr(name)), other)
    }

    /// The same, with the reason why it matters.
    pub(crate) fn because(self, why: String) -> Unlike {
        Unlike { why: Some(why), ..self }
    }

    /// The values of both files.
    pub(crate) fn values(&self, first: &str, other: &str) -> String {
        let said = |value: &Option<String>, file: &str| match value {
            Some(value) => format!("{value} in {file}"),
            None => format!("none in {file}"),
        };
        let why = self.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        format!("the {} differs: {}, {}{why}", self.what, said(&self.first, first), said(&self.other, other))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Compares the attributes of the groups that both have, but for those of the whole file that `may_differ`.
pub(crate) fn compare_global_attributes(
    first: &Schema,
    other: &Schema,
    may_differ: impl Fn(&str) -> bool,
) -> Vec<Unlike> {
    let mut found = Vec::new();
    for g in 0..first.groups.len() {
        let path = first.group_path(GroupId(g));
        let theirs = if g == 0 { Some(GroupId(0)) } else { other.find_group(&path) };
        let Some(theirs) = theirs else { continue };
        for d in group_differences((first, GroupId(g)), (other, theirs)) {
            let name = d.name;
            if g == 0 && may_differ(name) {
                continue;
            }
            let what = match g {
                0 => format!("global attribute `{name}`"),
                _ => format!("attribute `{path}:{name}`"),
            };
            found.push(Unlike::new(name, what, (first, d.first), (other, d.other)));
        }
    }
    found
}

/// An attribute that differs: an example, and in how many files.
struct Example<'a> {
    /// The file that has what the whole has.
    with: usize,
    /// The first file that has it otherwise.
    file: usize,
    unlike: &'a Unlike,
    count: usize,
}

/// One note for each attribute that differs. `found`: the file that has what the whole has, the file that has it otherwise,
/// and the attribute. `files` are all of them in words, such as "4 tiles"; `taken` follows "differ from the first".
pub(crate) fn notes<'a>(
    found: impl Iterator<Item = (usize, usize, &'a Unlike)>,
    name: impl Fn(usize) -> String,
    files: &str,
    taken: &str,
) -> Vec<String> {
    let mut examples: BTreeMap<&str, Example<'a>> = BTreeMap::new();
    for (with, file, unlike) in found {
        let first = Example { with, file, unlike, count: 0 };
        examples.entry(&unlike.what).or_insert(first).count += 1;
    }
    let note = |Example { with, file, unlike, count }: Example<'_>| {
        let (first, other) = (format!("`{}`", name(with)), format!("`{}`", name(file)));
        let differ = if count == 1 { "differs" } else { "differ" };
        format!("{}; {count} of {files} {differ} from the first{taken}", unlike.values(&first, &other))
    };
    examples.into_values().map(note).collect()
}
