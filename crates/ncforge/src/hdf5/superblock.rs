//! The superblock, versions 0 to 3: where everything begins.
//!
//! The signature stands at byte 0, or at 512, 1024, 2048, … after a user block. Addresses in the file are
//! relative to where it was found.

use super::checksum;
use super::cursor::{Cursor, Sizes};
use crate::error::{Error, Result};
use crate::store::ReadStore;

/// The eight bytes that begin an HDF5 file.
pub const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// What the superblock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
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

/// Where the signature is, if the store holds an HDF5 file.
pub fn find(store: &dyn ReadStore) -> Result<Option<u64>> {
    let len = store.len();
    let mut at = 0u64;
    while at.checked_add(8).is_some_and(|end| end <= len) {
        let mut eight = [0; 8];
        store.read_at(&mut eight, at)?;
        if eight == SIGNATURE {
            return Ok(Some(at));
        }
        at = if at == 0 { 512 } else { at * 2 };
    }
    Ok(None)
}

impl Superblock {
    /// Finds and reads the superblock.
    pub fn read(store: &dyn ReadStore) -> Result<Self> {
        // 132 bytes is the longest superblock (version 1 with 8-byte addresses and its root entry).
        let mut bytes = store.read_vec(0, store.len().min(132))?;
        let base = if bytes.starts_with(&SIGNATURE) { Some(0) } else { find(store)? };
        let Some(base) = base else {
            let head = store.read_vec(0, store.len().min(8))?;
            let what = format!("it begins with `{}` and has no HDF5 signature", head.escape_ascii());
            return Err(Error::NotNetcdf { path: store.name().to_owned(), what });
        };
        if base > 0 {
            bytes = store.read_vec(base, (store.len() - base).min(132))?;
        }
        let mut c = Cursor::new(store.name(), &bytes, base, Sizes::default());
        c.skip(8)?;
        let version = c.version("the superblock", 0..=3)?;
        let (found, recorded_base) =
            if version < 2 { old(&mut c, version)? } else { new(&mut c, version, &bytes)? };
        let sb = Superblock { base, ..found };
        // The end is stored as an absolute address, as the base was when the file was made.
        let end = sb.end.saturating_sub(recorded_base);
        if end > store.len() - base {
            return Err(Error::corrupt(
                store.name(),
                None,
                format!("it is cut short: {} bytes of {}", store.len(), base.saturating_add(end)),
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
