//! Little-endian output, as HDF5 metadata is written.

use crate::error::{Error, Result};

/// "Undefined address": all bits set.
pub(crate) const UNDEFINED: u64 = u64::MAX;

/// A growing run of bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Out(pub(super) Vec<u8>);

impl Out {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn u8(&mut self, v: u8) -> &mut Self {
        self.0.push(v);
        self
    }

    pub(super) fn u16(&mut self, v: u16) -> &mut Self {
        self.bytes(&v.to_le_bytes())
    }

    pub(super) fn u32(&mut self, v: u32) -> &mut Self {
        self.bytes(&v.to_le_bytes())
    }

    pub(super) fn u64(&mut self, v: u64) -> &mut Self {
        self.bytes(&v.to_le_bytes())
    }

    /// The low `n` bytes of a number.
    pub(super) fn uint(&mut self, v: u64, n: usize) -> &mut Self {
        self.bytes(&v.to_le_bytes()[..n])
    }

    pub(super) fn bytes(&mut self, b: &[u8]) -> &mut Self {
        self.0.extend_from_slice(b);
        self
    }

    /// A name with its terminator.
    pub(super) fn cstr(&mut self, b: &[u8]) -> &mut Self {
        self.bytes(b).u8(0)
    }

    /// The checksum of everything so far, appended.
    pub(super) fn checksum(&mut self) -> &mut Self {
        let sum = crate::hdf5::checksum::lookup3(&self.0);
        self.u32(sum)
    }
}

/// Bytes needed for a number, at least 1.
pub(super) fn width(v: u64) -> usize {
    (64 - v.leading_zeros() as usize).div_ceil(8).max(1)
}

/// A length as the 32-bit number that the format has for it.
pub(super) fn to_u32(v: u64, what: &str) -> Result<u32> {
    u32::try_from(v).map_err(|_| too_large(what, v, u64::from(u32::MAX)))
}

/// A length as the 16-bit number that the format has for it.
pub(super) fn to_u16(v: usize, what: &str) -> Result<u16> {
    u16::try_from(v).map_err(|_| too_large(what, v as u64, u64::from(u16::MAX)))
}

pub(super) fn too_large(what: &str, v: u64, max: u64) -> Error {
    Error::NotRepresentable { format: "HDF5", what: format!("{what} of {v} (at most {max})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!([0, 1, 255, 256, 65535, 65536, u64::MAX].map(width), [1, 1, 1, 2, 2, 3, 8]);
    }
}
