//! Metadata that opening a file reads, brought into memory in few rounds where requests are slow.
//!
//! The walk over a file ([`super::scan`]) reads one object after the other, in netCDF's order. Before it, this reads the
//! same structures with all objects at the same time: header, links and attributes of each are parsed as soon as their
//! bytes are present, and what all of them lack is fetched together ([`crate::hdf5::rounds`]).

use std::collections::HashSet;

use super::attrs::is_hidden;
use super::heap_refs::want_objects;
use super::hints::Hints;
use crate::error::Result;
use crate::hdf5::file::{File, ObjectKind};
use crate::hdf5::link::Target;

/// A part of an object, by the address of the object's header.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Its header, and for datasets and types what the header's messages refer to.
    Header(u64),
    /// The links of a group.
    Links(u64),
    /// Its attributes, and the strings in them.
    Attributes(u64),
}

/// Fetches what the walk over a file reads. Does nothing for a local file.
///
/// # Errors
/// Those of the store; damage is left to the walk.
pub(super) fn prefetch(file: &File) -> Result<()> {
    let root = file.superblock.root;
    let mut seen = HashSet::from([root]);
    // No file has more objects than links can name, at 16 bytes each.
    let most = file.source.len() / 16 + 64;
    file.fetch_for(vec![Part::Header(root)], |file, part| match *part {
        Part::Header(address) => header(file, address),
        Part::Links(address) => {
            let links = file.links(&file.object(address)?)?.links;
            let hard = links.into_iter().filter_map(|l| match l.target {
                Target::Hard(address) => Some(address),
                _ => None,
            });
            Ok(hard.filter(|a| (seen.len() as u64) < most && seen.insert(*a)).map(Part::Header).collect())
        }
        Part::Attributes(address) => attributes(file, address).map(|()| Vec::new()),
    })
}

fn header(file: &File, address: u64) -> Result<Vec<Part>> {
    let header = file.object(address)?;
    match File::kind(&header) {
        ObjectKind::Group => return Ok(vec![Part::Links(address), Part::Attributes(address)]),
        ObjectKind::Dataset => drop(file.dataset(&header)?),
        ObjectKind::Datatype => drop(file.datatype(&header)?),
        ObjectKind::Unknown => return Ok(Vec::new()),
    }
    Ok(vec![Part::Attributes(address)])
}

fn attributes(file: &File, address: u64) -> Result<()> {
    let header = file.object(address)?;
    let stored = file.attributes(&header)?;
    let mut elements: Vec<_> =
        stored.iter().filter(|a| !is_hidden(&a.name)).map(|a| (&a.datatype, &a.data[..])).collect();
    let list = match File::kind(&header) {
        ObjectKind::Dataset => Hints::new(&stored, &file.dataset(&header)?.space).list,
        _ => None,
    };
    elements.extend(list.as_ref().map(|a| (&a.datatype, &a.data[..])));
    want_objects(file, &elements)
}
