//! The document as a file: written, read, joined, without what is nobody's business.

use std::path::Path;

use serde::Deserialize;

use super::{MADE_BY, Results, SCHEMA, Section};
use crate::environment::Environment;
use crate::error::{Error, Result};

impl Results {
    /// Doubts about the numbers: an unoptimised program, wrong values, a machine that others used.
    pub fn doubts(&self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.environment.optimised {
            out.push("The program was built without optimisation: these numbers mean nothing.".to_owned());
        }
        for section in &self.sections {
            if section.is_wrong() {
                out.push(format!("WRONG VALUES in “{}”: the rows say which.", section.title));
            }
        }
        let all = || self.sections.iter().flat_map(|s| &s.rows).flat_map(|r| &r.measurements);
        let (measured, disturbed) = (all().count(), all().filter(|m| m.disturbed).count());
        if disturbed * 2 > measured {
            out.push(format!(
                "Something else used the machine during {disturbed} of {measured} measurements: these numbers are unreliable."
            ));
        }
        out
    }

    /// A document of this machine and this moment.
    pub fn of(sections: Vec<Section>) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Results {
            schema: SCHEMA,
            made_by: MADE_BY.to_owned(),
            time: now.map_or(0, |d| d.as_secs()),
            arguments: Vec::new(),
            environment: Environment::capture(),
            sections,
        }
    }

    /// As text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads the document from text.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when it is no such document, or one of another version.
    pub fn parse(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
            made_by: String,
        }
        let unknown =
            |e: serde_json::Error| Error::Unreadable(format!("no result of `ncforge bench … --json`: {e}"));
        let value: serde_json::Value = serde_json::from_str(text).map_err(unknown)?;
        let head: Head = Head::deserialize(&value).map_err(unknown)?;
        if head.made_by != MADE_BY {
            return Err(Error::Unreadable(format!("made by `{}`, not by `{MADE_BY}`", head.made_by)));
        }
        if head.schema != SCHEMA {
            return Err(Error::Unreadable(format!(
                "version {} of the layout of results; this program reads version {SCHEMA}",
                head.schema
            )));
        }
        serde_json::from_value(value).map_err(|e| Error::Unreadable(format!("a damaged result: {e}")))
    }

    /// Reads the document from a file.
    ///
    /// # Errors
    /// As for [`Results::parse`], with the file's name; [`Error::Unreadable`] when there is none.
    pub fn load(path: &Path) -> Result<Self> {
        let named = |e: String| Error::Unreadable(format!("cannot read `{}`: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| named(e.to_string()))?;
        Self::parse(&text).map_err(|e| named(e.to_string()))
    }

    /// Several documents as one; the machine is that of the first.
    pub fn joined(documents: Vec<Results>) -> Option<Results> {
        documents.into_iter().reduce(|mut all, more| {
            if all.environment.differences(&more.environment).is_empty() {
                all.sections.extend(more.sections);
            } else {
                let note = "measured on another machine, or with other versions, than the first section";
                all.sections.extend(more.sections.into_iter().map(|mut s| {
                    s.notes.push(note.to_owned());
                    s
                }));
            }
            all
        })
    }

    /// The document without what shows whose machine it is.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        self.environment = self.environment.redacted();
        // Details hold options with the paths of files.
        for section in &mut self.sections {
            section.detail = serde_json::Value::Null;
            for row in &mut section.rows {
                row.case = without_folders(&row.case);
                row.engine = without_folders(&row.engine);
            }
            for text in section.words.iter_mut().chain(&mut section.notes) {
                *text = without_folders(text);
            }
        }
        for word in &mut self.arguments {
            *word = without_folders(word);
        }
        self
    }
}

/// Words that are paths, without their folders.
pub(super) fn without_folders(text: &str) -> String {
    let one = |word: &str| {
        let (before, path) = match word.find('/') {
            Some(at) if word.starts_with('-') => word.split_at(word.find('=').map_or(at, |e| e + 1)),
            _ => ("", word.trim_start_matches(['`', '(', '['])),
        };
        if path.starts_with('/') && path.len() > 1 {
            let name = path.rsplit('/').next().unwrap_or_default();
            let opening = &word[before.len()..word.len() - path.len()];
            format!("{before}{opening}{name}")
        } else {
            word.to_owned()
        }
    };
    text.split(' ').map(one).collect::<Vec<_>>().join(" ")
}
