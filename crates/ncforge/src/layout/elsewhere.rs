//! Variables whose values lie elsewhere: in which files, and which sources are not there.

use std::collections::HashSet;
use std::sync::Arc;

use super::sources::SourceName;
use super::{PartSource, VarLayout};
use crate::error::Result;

/// Sources of sources are followed this far: as far as virtual datasets may lead to each other.
const DEEPEST: usize = 16;

/// The name by which a virtual dataset means the file that it is in.
const SAME_FILE: &str = ".";

impl VarLayout {
    /// The names of the other files that its values lie in, each once; empty where they lie in its own.
    ///
    /// # Errors
    /// What says where they lie cannot be read.
    pub fn other_files(&self) -> Result<Vec<String>> {
        let sources = self.place.parts().map_or_else(|| Ok(Vec::new()), super::PartIndex::sources)?;
        let names = sources.iter().filter_map(|source| source.name()).map(|name| name.file);
        let mut known = HashSet::new();
        Ok(names.filter(|file| file != SAME_FILE && known.insert(file.clone())).collect())
    }

    /// The sources of its values that are not there, each once, those of its sources among them: their elements read as the fill value.
    ///
    /// # Errors
    /// A source is there and cannot be opened.
    pub fn absent_sources(&self) -> Result<Vec<SourceName>> {
        let mut found = Absent::default();
        found.look(self, DEEPEST)?;
        Ok(found.names)
    }
}

#[derive(Default)]
struct Absent {
    names: Vec<SourceName>,
    known: HashSet<SourceName>,
    /// The variables that were looked at: the names of their stores, and theirs.
    seen: HashSet<(String, String)>,
}

impl Absent {
    fn look(&mut self, layout: &VarLayout, deepest: usize) -> Result<()> {
        let Some(parts) = layout.place.parts().filter(|_| deepest > 0) else { return Ok(()) };
        let mut before: Option<Arc<dyn PartSource>> = None;
        for source in parts.sources()? {
            // The parts of one mapping have one source.
            if before.as_ref().is_some_and(|b| Arc::ptr_eq(b, &source)) {
                continue;
            }
            match source.open()? {
                Some(open) => {
                    let there = open.layout()?;
                    if self.seen.insert((open.store().name().to_owned(), there.name.clone())) {
                        self.look(&there, deepest - 1)?;
                    }
                }
                None => {
                    let new = source.name().filter(|name| self.known.insert(name.clone()));
                    self.names.extend(new);
                }
            }
            before = Some(source);
        }
        Ok(())
    }
}
