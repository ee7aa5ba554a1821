//! Which format a file has, by its first bytes.

use crate::error::{Error, Result};
use crate::store::{ReadStore, zipped};

/// The formats' families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Classic,
    Netcdf4,
    /// A classic file in compressed blocks.
    Zipped,
}

const HDF5_SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// The format of a store, or an error that says what it looks like instead.
pub(super) fn family(store: &dyn ReadStore) -> Result<Family> {
    let mut first = [0u8; 512];
    let n = store.len().min(512) as usize;
    store.read_at(&mut first[..n], 0)?;
    let first = &first[..n];
    if first.first_chunk::<8>().is_some_and(crate::classic::detect) {
        return Ok(Family::Classic);
    }
    // Before the search for a zipped file's other roots, each of which is a request.
    if first.starts_with(HDF5_SIGNATURE) {
        return Ok(Family::Netcdf4);
    }
    if has_zipped_magic(store, first)? {
        return Ok(Family::Zipped);
    }
    if has_hdf5_signature(store)? {
        return Ok(Family::Netcdf4);
    }
    Err(Error::NotNetcdf { path: store.name().to_owned(), what: looks_like(first) })
}

/// Any of the four roots of a zipped file will do: the first one may be damaged.
fn has_zipped_magic(store: &dyn ReadStore, first: &[u8]) -> Result<bool> {
    if first.first_chunk::<8>().is_some_and(zipped::detect) {
        return Ok(true);
    }
    for at in zipped::OTHER_ROOTS {
        let mut magic = [0; 8];
        if at + 512 <= store.len() {
            store.read_at(&mut magic, at)?;
            if zipped::detect(&magic) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// HDF5 may stand behind a user block: its signature is then at 512, 1024, 2048, … (HDF5 File Format
/// Specification, section II.A).
fn has_hdf5_signature(store: &dyn ReadStore) -> Result<bool> {
    let mut at = 512u64;
    while at.checked_add(8).is_some_and(|end| end <= store.len()) {
        let mut magic = [0; 8];
        store.read_at(&mut magic, at)?;
        if &magic == HDF5_SIGNATURE {
            return Ok(true);
        }
        at *= 2;
    }
    Ok(false)
}

/// The everyday name of a file that starts with these bytes.
fn looks_like(first: &[u8]) -> String {
    const KNOWN: [(&[u8], &str); 13] = [
        (b"\x1f\x8b", "it is compressed with gzip; decompress it first"),
        (b"BZh", "it is compressed with bzip2; decompress it first"),
        (b"\xfd7zXZ\0", "it is compressed with xz; decompress it first"),
        (b"\x28\xb5\x2f\xfd", "it is compressed with zstd; decompress it first"),
        (b"PK\x03\x04", "it is a zip archive"),
        (b"GRIB", "it is a GRIB file"),
        (b"BUFR", "it is a BUFR file"),
        (b"\x0e\x03\x13\x01", "it is an HDF4 file"),
        (b"%PDF", "it is a PDF document"),
        (b"\x89PNG", "it is a PNG image"),
        (b"II*\0", "it is a TIFF image"),
        (b"MM\0*", "it is a TIFF image"),
        (b"version https://git-lfs", "it is a Git LFS pointer; fetch the file itself (`git lfs pull`)"),
    ];
    if first.is_empty() {
        return "it is empty".to_owned();
    }
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| first.starts_with(magic)) {
        return (*what).to_owned();
    }
    if first.starts_with(b"CDF") {
        return match first.get(3) {
            Some(1 | 2 | 5) => "it ends within the header of a classic file".to_owned(),
            Some(v) => format!("it starts with `CDF` and the unknown version number {v}"),
            None => "it ends within its first four bytes".to_owned(),
        };
    }
    let text = first.trim_ascii_start();
    if text.starts_with(b"<!DOCTYPE") || text.starts_with(b"<html") || text.starts_with(b"<HTML") {
        return "it is a web page; the download may have failed".to_owned();
    }
    if text.starts_with(b"netcdf ") {
        return "it is CDL text; make a netCDF file of it with ncgen".to_owned();
    }
    if first.iter().all(|&b| b == 0) {
        return format!("its first {} bytes are zero; the copy or download may have failed", first.len());
    }
    if std::str::from_utf8(first).is_ok_and(|t| !t.chars().any(|c| c.is_control() && !c.is_whitespace())) {
        return "it is text".to_owned();
    }
    let hex: Vec<String> = first.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("it starts with the bytes {}", hex.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn family_of(bytes: &[u8]) -> Result<Family> {
        family(&MemoryStore::new("f", bytes.to_vec()))
    }

    #[test]
    fn families_are_told_apart() {
        assert_eq!(family_of(b"CDF\x01\0\0\0\0").unwrap(), Family::Classic);
        assert_eq!(family_of(b"CDF\x05\0\0\0\0").unwrap(), Family::Classic);
        assert_eq!(family_of(HDF5_SIGNATURE).unwrap(), Family::Netcdf4);
        for at in [512, 1024, 4096] {
            let mut bytes = vec![7; at];
            bytes.extend_from_slice(HDF5_SIGNATURE);
            assert_eq!(family_of(&bytes).unwrap(), Family::Netcdf4, "user block of {at} bytes");
        }
    }

    #[test]
    fn what_is_not_netcdf_is_named() {
        for (bytes, word) in [
            (&b""[..], "empty"),
            (b"\x1f\x8b\x08\0", "gzip"),
            (b"GRIB\0\0\0\x02", "GRIB"),
            (b"\x0e\x03\x13\x01zzzz", "HDF4"),
            (b"PK\x03\x04zzzz", "zip"),
            (b"CDF\x07zzzz", "version number 7"),
            (b"CDF\x01", "ends within the header"),
            (b"hello, world\n", "text"),
            (b"netcdf a {\n}", "CDL"),
            (b"\n<!DOCTYPE html>", "web page"),
            (&[0; 100], "zero"),
            (b"\x01\x02\x03", "01 02 03"),
        ] {
            let e = family_of(bytes).unwrap_err();
            assert!(matches!(&e, Error::NotNetcdf { what, .. } if what.contains(word)), "{e}");
            assert_eq!(e.kind(), crate::error::ErrorKind::Input);
        }
    }
}
