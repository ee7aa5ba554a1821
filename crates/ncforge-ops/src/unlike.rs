//! Attributes in which one of several files of a kind differs from the first, whose attributes the whole takes; and the notes
//! that name them.

use std::collections::BTreeMap;

use crate::describe::attribute_words;
use crate::same::{Offsets, same_type, unlike_names};
use ncforge::model::{Attribute, GroupId, Schema, VarId};

/// Characters of a value that messages show.
const SHOWN: usize = 60;

/// The relation of files to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// Parts that one run wrote at one time.
    Run,
    /// Files that were made one after the other, and published.
    Series,
}

/// Global attributes that programs write about a file, not about what is in it (when it was made, by which commands, under which
/// number), and the files that differ in them.
const OF_FILE: [(&str, Files); 7] = [
    ("history", Files::Run),
    ("timeStamp", Files::Run),
    ("TimeStamp", Files::Run),
    ("NCO", Files::Series),
    ("CDO", Files::Series),
    ("creation_date", Files::Series),
    ("tracking_id", Files::Series),
];

/// Whether files may differ in a global attribute, because it is about the file.
pub(crate) fn is_of_file(attribute: &str, files: Files) -> bool {
    OF_FILE.iter().any(|(name, of)| *name == attribute && (*of == Files::Run || *of == files))
}

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
        Unlike { name: name.to_owned(), what, first: shown(first, a), other: shown(other, b) }
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

    /// The values of both files.
    pub(crate) fn values(&self, first: &str, other: &str) -> String {
        let said = |value: &Option<String>, file: &str| match value {
            Some(value) => format!("{value} in {file}"),
            None => format!("none in {file}"),
        };
        format!("the {} differs: {}, {}", self.what, said(&self.first, first), said(&self.other, other))
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
        let (a, b) = (&first.groups[g].attrs, &other.groups[theirs.0].attrs);
        for name in unlike_names(a, b, |x, y| same_attribute((first, x), (other, y))) {
            if g == 0 && may_differ(name) {
                continue;
            }
            let what = match g {
                0 => format!("global attribute `{name}`"),
                _ => format!("attribute `{path}:{name}`"),
            };
            let find = |list: &[Attribute]| list.iter().find(|x| x.name == name).cloned();
            found.push(Unlike::new(name, what, (first, find(a).as_ref()), (other, find(b).as_ref())));
        }
    }
    found
}

/// Whether two attributes of one name say the same.
pub(crate) fn same_attribute((sa, a): (&Schema, &Attribute), (sb, b): (&Schema, &Attribute)) -> bool {
    a.name == b.name && a.values == b.values && same_type((sa, a.dtype), (sb, b.dtype), Offsets::MustAgree)
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
