//! Paths of objects: from a group from link to link, as far as they lie in one file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::error::Result;
use crate::hdf5::file::{File, ObjectKind};
use crate::hdf5::link::Target;

/// Soft links that lead to soft links.
const MAX_HOPS: usize = 32;

/// The links of groups that paths have led through, by the groups' addresses.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    known: HashMap<u64, HashMap<Vec<u8>, Target>>,
}

impl Paths {
    /// The address of the object at a path, from a group or (with a leading slash) from the root; `None` if there is none in this file.
    pub(crate) fn resolve(&mut self, file: &File, from: u64, path: &[u8]) -> Result<Option<u64>> {
        self.follow(file, from, path, MAX_HOPS)
    }

    fn follow(&mut self, file: &File, from: u64, path: &[u8], hops: usize) -> Result<Option<u64>> {
        if hops == 0 {
            return Ok(None);
        }
        let mut at = if path.starts_with(b"/") { file.superblock.root } else { from };
        for part in path.split(|&b| b == b'/').filter(|p| !p.is_empty() && *p != b".") {
            if let Entry::Vacant(entry) = self.known.entry(at) {
                let header = file.object(at)?;
                let links = match File::kind(&header) {
                    ObjectKind::Group => file.links(&header)?.links,
                    _ => Vec::new(),
                };
                entry.insert(links.into_iter().map(|l| (l.name, l.target)).collect());
            }
            let target = self.known.get(&at).and_then(|links| links.get(part)).cloned();
            at = match target {
                Some(Target::Hard(address)) => address,
                Some(Target::Soft(path)) => match self.follow(file, at, &path, hops - 1)? {
                    Some(address) => address,
                    None => return Ok(None),
                },
                _ => return Ok(None),
            };
        }
        Ok(Some(at))
    }
}
