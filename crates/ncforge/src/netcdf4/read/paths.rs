//! Paths of objects: from a group from link to link, to where they end in this file or leave it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::error::Result;
use crate::hdf5::file::{File, ObjectKind};
use crate::hdf5::link::Target;

/// Soft links that lead to soft links.
const MAX_HOPS: usize = 32;

/// Where a path ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At the object whose header is at this address.
    Here(u64),
    /// In another file, at a path there.
    Away {
        file: Vec<u8>,
        path: Vec<u8>,
    },
    Nowhere,
}

/// The links of groups that paths have led through, by the groups' addresses.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    known: HashMap<u64, HashMap<Vec<u8>, Target>>,
}

impl Paths {
    /// Where a path ends, from a group or (with a leading slash) from the root.
    pub(crate) fn resolve(&mut self, file: &File, from: u64, path: &[u8]) -> Result<End> {
        self.follow(file, from, path, MAX_HOPS)
    }

    fn follow(&mut self, file: &File, from: u64, path: &[u8], hops: usize) -> Result<End> {
        if hops == 0 {
            return Ok(End::Nowhere);
        }
        let mut at = if path.starts_with(b"/") { file.superblock.root } else { from };
        let mut parts = path.split(|&b| b == b'/').filter(|p| !p.is_empty() && *p != b".");
        while let Some(part) = parts.next() {
            if let Entry::Vacant(entry) = self.known.entry(at) {
                let header = file.object(at)?;
                let links = match File::kind(&header) {
                    ObjectKind::Group => file.links(&header)?.links,
                    _ => Vec::new(),
                };
                entry.insert(links.into_iter().map(|l| (l.name, l.target)).collect());
            }
            let end = match self.known.get(&at).and_then(|links| links.get(part)).cloned() {
                Some(Target::Hard(address)) => End::Here(address),
                Some(Target::Soft(path)) => self.follow(file, at, &path, hops - 1)?,
                Some(Target::External { file, path }) => End::Away { file, path },
                _ => End::Nowhere,
            };
            match end {
                End::Here(address) => at = address,
                End::Away { file, mut path } => {
                    for part in parts {
                        path.push(b'/');
                        path.extend_from_slice(part);
                    }
                    return Ok(End::Away { file, path });
                }
                End::Nowhere => return Ok(End::Nowhere),
            }
        }
        Ok(End::Here(at))
    }
}
