//! A walk over the whole file: every group, dataset and committed type, in netCDF's order.
//!
//! Within a group, links come in order of creation where that is tracked, else by name; groups below follow
//! after all else, depth first (as netCDF-C numbers them). Soft links inside the file are followed; external
//! ones are left out with a note, and listed for those who may follow them.
//!
//! Each header is read once. Damage in one object leaves that object out ([`Cause::Damaged`]) and nothing else;
//! only the root must be there. The attributes of a group are left out alone: nothing in it means something else without
//! them. A variable would: its attributes give its dimensions, and values their meaning (`_FillValue`, `scale_factor`).

use crate::error::{Error, Result};
use crate::hdf5::attribute::Attribute;
use crate::hdf5::dataset::Dataset;
use crate::hdf5::file::{File, ObjectKind};
use crate::hdf5::link::{Link, Target};
use crate::hdf5::message::ObjectHeader;
use crate::layout::printable;
use crate::model::{Cause, Group, GroupId, Skipped, decode_name};

use super::again::{Shown, bytes};
use super::attrs::{FoundAttrs, text, understood};
use super::hints::Hints;
use super::paths::{End, Paths};
use super::prefetch::prefetch;
use super::types::FoundType;

/// Groups that are one inside the other at most, the root among them; no real file comes near.
pub(crate) const MAX_GROUPS: usize = 128;
/// When more objects than this are damaged, the file is: the rest is not worth listing.
const MAX_DAMAGED: usize = 4096;

/// A group as it was found.
#[derive(Debug)]
pub(crate) struct FoundGroup {
    /// Address of its header.
    pub(crate) address: u64,
    /// Its attributes.
    pub(crate) attrs: FoundAttrs,
    /// Whether the order of links is tracked.
    pub(crate) tracked: bool,
}

/// A dataset as it was found.
#[derive(Debug)]
pub(crate) struct FoundDataset {
    /// The group whose link led here.
    pub(crate) group: GroupId,
    /// The link's name.
    pub(crate) name: String,
    /// Address of its header.
    pub(crate) address: u64,
    /// Its description.
    pub(crate) dataset: Dataset,
    /// Its attributes.
    pub(crate) attrs: FoundAttrs,
    /// The hidden attributes.
    pub(crate) hints: Hints,
}

/// A link to an object of another file.
#[derive(Clone, Debug)]
pub(crate) struct FoundExternal {
    /// The group that has the link.
    pub(crate) group: GroupId,
    /// Its name.
    pub(crate) name: String,
    /// The name of the file.
    pub(crate) file: Vec<u8>,
    /// The path of the object in it.
    pub(crate) path: Vec<u8>,
}

/// Everything in a file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The schema's groups, without attributes yet.
    pub(crate) tree: Vec<Group>,
    /// Parallel to `tree`: what the file says of each group.
    pub(crate) groups: Vec<FoundGroup>,
    pub(crate) datasets: Vec<FoundDataset>,
    pub(crate) types: Vec<FoundType>,
    pub(crate) skipped: Vec<Skipped>,
    /// Links that lead out of the file; they are among those that were left out, too.
    pub(crate) externals: Vec<FoundExternal>,
    /// Whether the file follows the classic model (`_nc3_strict`).
    pub(crate) strict: bool,
    /// Text of `_NCProperties`.
    pub(crate) provenance: Option<Vec<u8>>,
}

/// Walks a file from its root.
pub(crate) fn scan(file: &File) -> Result<Found> {
    let mut scan = Scan {
        file,
        out: Found::default(),
        // A link takes at least 16 bytes.
        left: file.source.len() / 16 + 64,
        shown: Shown::default(),
        paths: Paths::default(),
        open: Vec::new(),
        damaged: 0,
    };
    prefetch(file)?;
    let root = file.object(file.superblock.root)?;
    if File::kind(&root) != ObjectKind::Group {
        return Err(file.source.fail(root.address, "the root is not a group"));
    }
    scan.group(&root, String::new(), None, "")?;
    Ok(scan.out)
}

struct Scan<'a> {
    file: &'a File,
    out: Found,
    /// Links that the file may still have.
    left: u64,
    /// Groups and datasets, by the addresses of their headers.
    shown: Shown<u64>,
    /// What soft links led through.
    paths: Paths,
    /// Addresses of the groups that are being walked, to notice circles.
    open: Vec<u64>,
    damaged: usize,
}

impl Scan<'_> {
    fn group(
        &mut self,
        header: &ObjectHeader,
        name: String,
        parent: Option<GroupId>,
        path: &str,
    ) -> Result<()> {
        let is_first = match self.shown.is_first(&header.address) {
            Ok(is_first) => is_first,
            Err(why) => {
                self.skip(path.into(), why);
                return Ok(());
            }
        };
        let id = GroupId(self.out.tree.len());
        let links = match self.file.links(header) {
            Ok(links) => links,
            Err(e) if parent.is_some() => return self.leave_out(path, e),
            Err(e) => return Err(e),
        };
        let attrs = match self.attributes(header, parent.is_none()) {
            Ok(attrs) => attrs,
            Err(e) => {
                self.shown.note(header.address, 0, 0);
                self.leave_out_as(skipped_attributes(path, e))?;
                FoundAttrs::default()
            }
        };
        self.out.tree.push(Group { name, parent, attrs: Vec::new() });
        self.out.groups.push(FoundGroup { address: header.address, attrs, tracked: links.tracked });
        self.open.push(header.address);
        let count = links.links.len();
        if is_first {
            let left = self.left.checked_sub(count as u64);
            let fail =
                || self.file.source.fail(header.address, "more links to objects than the file can hold");
            self.left = left.ok_or_else(fail)?;
        }
        let mut below = Vec::new();
        for link in links.links {
            let name = decode_name(&link.name);
            let full = |name: &str| format!("{path}/{name}");
            match self.target(header, &link) {
                Ok(Lead::At(address)) => match self.object(id, name, address) {
                    Ok(None) => {}
                    Ok(Some((name, header))) => below.push((name, header)),
                    Err((name, e)) => self.leave_out(&full(&name), e)?,
                },
                Ok(Lead::Away { file, path }) => {
                    let words = |bytes: &[u8]| printable(&decode_name(bytes)).to_string();
                    let why = format!("an external link to `{}` in `{}`", words(&path), words(&file));
                    self.skip(full(&name), why);
                    self.out.externals.push(FoundExternal { group: id, name, file, path });
                }
                Ok(Lead::Skip(why)) => self.skip(full(&name), why),
                Err(e) => self.leave_out(&full(&name), e)?,
            }
        }
        for (name, child) in below {
            let full = format!("{path}/{name}");
            if self.open.contains(&child.address) {
                self.skip(full, "a group that contains itself".into());
            } else if self.open.len() >= MAX_GROUPS {
                self.skip(full, format!("a group nested more than {MAX_GROUPS} deep"));
            } else {
                self.group(&child, name, Some(id), &full)?;
            }
        }
        self.open.pop();
        Ok(())
    }

    /// The attributes of a group.
    fn attributes(&mut self, header: &ObjectHeader, root: bool) -> Result<FoundAttrs> {
        let stored = self.file.attributes(header)?;
        if root {
            self.out.strict = stored.iter().any(|a| a.name[..] == *b"_nc3_strict");
            self.out.provenance = text(&stored, b"_NCProperties");
        }
        self.understood(header, &stored)
    }

    /// The attributes of an object, which is noted as shown.
    fn understood(&mut self, header: &ObjectHeader, stored: &[Attribute]) -> Result<FoundAttrs> {
        let attrs = understood(self.file, stored)?;
        let raw = attrs.raw.iter().map(|(_, stored)| stored.data.len()).sum::<usize>();
        self.shown.note(header.address, 0, bytes(&attrs.ready) + raw);
        Ok(attrs)
    }

    /// An error if a dataset cannot be shown once more.
    fn again(&mut self, header: &ObjectHeader) -> Result<()> {
        self.shown.is_first(&header.address).map(drop).map_err(|why| self.file.source.unsupported(why))
    }

    fn dataset(&mut self, header: &ObjectHeader) -> Result<(Dataset, FoundAttrs, Hints)> {
        let dataset = self.file.dataset(header)?;
        let stored = self.file.attributes(header)?;
        let hints = Hints::new(&stored, &dataset.space);
        Ok((dataset, self.understood(header, &stored)?, hints))
    }

    fn skip(&mut self, path: String, why: String) {
        self.out.skipped.push(Skipped { path, why, cause: Cause::Foreign });
    }

    /// Leaves out an object that cannot be understood. Errors that say nothing of the object (the system would
    /// not read) are handed back.
    fn leave_out(&mut self, path: &str, e: Error) -> Result<()> {
        self.leave_out_as(skipped(path, e))
    }

    fn leave_out_as(&mut self, entry: Result<Skipped>) -> Result<()> {
        let entry = entry?;
        self.damaged += usize::from(entry.is_damaged());
        if self.damaged > MAX_DAMAGED {
            return Err(entry.error(self.file.source.name()));
        }
        self.out.skipped.push(entry);
        Ok(())
    }

    /// Takes in the object at an address; a group is given back, to be walked later. The name comes back with
    /// the error.
    fn object(
        &mut self,
        group: GroupId,
        name: String,
        address: u64,
    ) -> std::result::Result<Option<(String, ObjectHeader)>, (String, Error)> {
        let header = match self.file.object(address) {
            Ok(header) => header,
            Err(e) => return Err((name, e)),
        };
        match File::kind(&header) {
            ObjectKind::Group => return Ok(Some((name, header))),
            ObjectKind::Unknown => {
                let e = self.file.source.unsupported("an object of unknown kind");
                return Err((name, e));
            }
            ObjectKind::Datatype => match self.file.datatype(&header) {
                Ok((datatype, _)) => self.out.types.push(FoundType { group, name, address, datatype }),
                Err(e) => return Err((name, e)),
            },
            ObjectKind::Dataset => match self.again(&header).and_then(|()| self.dataset(&header)) {
                Ok((dataset, attrs, hints)) => {
                    self.out.datasets.push(FoundDataset { group, name, address, dataset, attrs, hints });
                }
                Err(e) => return Err((name, e)),
            },
        }
        Ok(None)
    }

    /// The object that a link means.
    fn target(&mut self, group: &ObjectHeader, link: &Link) -> Result<Lead> {
        Ok(match &link.target {
            Target::Hard(address) => Lead::At(*address),
            Target::Soft(path) => match self.paths.resolve(self.file, group.address, path)? {
                End::Here(address) => Lead::At(address),
                End::Away { file, path } => Lead::Away { file, path },
                End::Nowhere => {
                    let path = decode_name(path);
                    Lead::Skip(format!("a soft link to `{}`, which is not there", printable(&path)))
                }
            },
            Target::External { file, path } => Lead::Away { file: file.clone(), path: path.clone() },
            Target::Other(kind) => Lead::Skip(format!("a user-defined link of kind {kind}")),
        })
    }
}

/// The cause that an error is which was met in another file.
pub(crate) fn cause_elsewhere(e: &Error) -> Cause {
    match e {
        Error::Unsupported { .. } | Error::NotHdf5 { .. } | Error::NotNetcdf { .. } => Cause::Foreign,
        _ => Cause::Unreadable,
    }
}

/// The entry for an object that is left out because of an error; errors that do not concern the object come back.
pub(crate) fn skipped(path: &str, e: Error) -> Result<Skipped> {
    let (why, cause) = match e {
        Error::Unsupported { what, .. } => (what, Cause::Foreign),
        Error::Corrupt { what, offset, .. } => (what, Cause::Damaged { at: offset }),
        e => return Err(e),
    };
    Ok(Skipped { path: path.to_owned(), why, cause })
}

/// The entry for all attributes of the group at `path` (empty: the root), which are left out because of an error.
pub(crate) fn skipped_attributes(path: &str, e: Error) -> Result<Skipped> {
    let Skipped { why, cause, .. } = skipped(path, e)?;
    let path = format!("{}/:*", path.trim_end_matches('/'));
    Ok(Skipped { path, why: format!("the attributes of the group cannot be read: {why}"), cause })
}

/// The target of a link.
enum Lead {
    At(u64),
    Away { file: Vec<u8>, path: Vec<u8> },
    Skip(String),
}
