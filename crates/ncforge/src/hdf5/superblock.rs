//! The superblock, versions 0 to 3: where everything begins.
//!
//! The signature stands at byte 0, or at 512, 1024, 2048, … after a user block. Addresses in the file are
//! relative to where it was found.

use super::checksum;
use super::cursor::{Cursor, Sizes};
use super::source::Source;
use crate::error::{Error, Result};
use crate::store::ReadStore;

/// The eight bytes that begin an HDF5 file.
pub(crate) const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The fields of the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Its version.
    pub version: u8,
    /// Bytes of addresses and lengths.
    pub sizes: Sizes,
    /// Byte of the file that address 0 means: where the signature is.
    pub base: u64,
    /// End of the file: the first byte that was never allocated, relative to `base`.
    pub end: u64,
    /// Address of the root group's object header.
    pub root: u64,
    /// Address of the object header with more facts (version 2 and 3).
    pub extension: Option<u64>,
    /// Consistency flags (version 3: bit 0 open for writing, bit 2 for writing while others read).
    pub flags: u32,
}

/// The longest superblock: version 1 with 8-byte addresses and its root entry.
const LONGEST: u64 = 132;

/// The place of the signature, if the store holds an HDF5 file.
pub(crate) fn find(store: &dyn ReadStore) -> Result<Option<u64>> {
    Bytes { name: store.name(), len: store.len(), read: &|at, len| store.read_vec(at, len) }.signature()
}

/// A file of which nothing is known yet.
struct Bytes<'a> {
    name: &'a str,
    len: u64,
    read: &'a dyn Fn(u64, u64) -> Result<Vec<u8>>,
}

impl Bytes<'_> {
    fn signature(&self) -> Result<Option<u64>> {
        let mut at = 0u64;
        while at.checked_add(8).is_some_and(|end| end <= self.len) {
            if (self.read)(at, 8)? == SIGNATURE {
                return Ok(Some(at));
            }
            at = if at == 0 { 512 } else { at * 2 };
        }
        Ok(None)
    }
}

impl Superblock {
    /// Finds and reads the superblock in a store.
    pub(crate) fn read(store: &dyn ReadStore) -> Result<Self> {
        Self::find_in(&Bytes {
            name: store.name(),
            len: store.len(),
            read: &|at, len| store.read_vec(at, len),
        })
    }

    /// Finds and reads the superblock through a source whose address 0 is byte 0.
    pub(super) fn read_from(source: &Source) -> Result<Self> {
        Self::find_in(&Bytes {
            name: source.name(),
            len: source.len(),
            read: &|at, len| source.peek(at, len).map(|s| s.to_vec()),
        })
    }

    fn find_in(file: &Bytes<'_>) -> Result<Self> {
        let mut bytes = (file.read)(0, file.len.min(LONGEST))?;
        let base = if bytes.starts_with(&SIGNATURE) { Some(0) } else { file.signature()? };
        let Some(base) = base else {
            let head = &bytes[..bytes.len().min(8)];
            let what = format!("it begins with `{}` and has no HDF5 signature", head.escape_ascii());
            return Err(Error::NotNetcdf { path: file.name.to_owned(), what });
        };
        if base > 0 {
            bytes = (file.read)(base, (file.len - base).min(LONGEST))?;
        }
        let mut c = Cursor::new(file.name, &bytes, base, Sizes::default());
        c.skip(8)?;
        let version = c.version("the superblock", 0..=3)?;
        let (found, recorded_base) =
            if version < 2 { old(&mut c, version)? } else { new(&mut c, version, &bytes)? };
        let sb = Superblock { base, ..found };
        // The end is stored as an absolute address, as the base was when the file was made.
        let end = sb.end.saturating_sub(recorded_base);
        if end > file.len - base {
            return Err(Error::corrupt(
                file.name,
                None,
                format!("it is cut short: {} bytes of {}", file.len, base.saturating_add(end)),
            ));
        }
        Ok(Superblock { end, ..sb })
    }
}

fn sizes(c: &mut Cursor<'_>) -> Result<Sizes> {
    let here = *c;
    let sizes = Sizes { offset: c.u8()?, length: c.u8()? };
    let fine = |n| matches!(n, 2 | 4 | 8);
    if !fine(sizes.offset) || !fine(sizes.length) {
        return Err(here.fail(format!("addresses of {} and lengths of {} bytes", sizes.offset, sizes.length)));
    }
    Ok(sizes)
}

fn resized<'a>(c: &Cursor<'a>, sizes: Sizes) -> Cursor<'a> {
    Cursor::new(c.name(), c.rest(), c.file_offset(), sizes)
}

fn old(c: &mut Cursor<'_>, version: u8) -> Result<(Superblock, u64)> {
    // Versions of the free-space info and of the root symbol table entry, a reserved byte, the version of the
    // shared message format: all 0 in every file there is.
    c.skip(4)?;
    let sizes = sizes(c)?;
    c.skip(1)?;
    // Group leaf and internal node K: nodes say themselves how full they are.
    c.skip(4)?;
    let flags = c.u32()?;
    if version == 1 {
        c.skip(4)?;
    }
    let mut c = resized(c, sizes);
    let base = c.defined_address("the base")?;
    c.address()?;
    let end = c.defined_address("the end of the file")?;
    let driver = c.address()?;
    if driver.is_some() {
        return Err(c.unsupported("a file split by a driver (family or multi)"));
    }
    c.skip(usize::from(sizes.offset))?;
    let root = c.defined_address("the root group")?;
    Ok((Superblock { version, sizes, base, end, root, extension: None, flags }, base))
}

fn new(c: &mut Cursor<'_>, version: u8, bytes: &[u8]) -> Result<(Superblock, u64)> {
    let sizes = sizes(c)?;
    let flags = u32::from(c.u8()?);
    let used = c.pos();
    let mut c = resized(c, sizes);
    let base = c.defined_address("the base")?;
    let extension = c.address()?;
    let end = c.defined_address("the end of the file")?;
    let root = c.defined_address("the root group")?;
    let covered = &bytes[..used + c.pos()];
    let here = c;
    if !checksum::matches(covered, c.u32()?) {
        return Err(here.fail("the checksum of the superblock does not match"));
    }
    Ok((Superblock { version, sizes, base, end, root, extension, flags }, base))
}
