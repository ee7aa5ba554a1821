//! Numbers of two bytes that are read as floats of four: types that netCDF does not have are read as the next larger one.
//!
//! This is not a filter of the file format. It is put in front of a variable's filters, so that their results are widened
//! on the way to memory. Reading only.

use std::fmt;
use std::sync::Arc;

use super::damaged;
use crate::error::Result;

/// Numbers of two bytes, and their values.
#[derive(Clone)]
pub struct Widen {
    big_endian: bool,
    /// The values by bit pattern.
    values: Arc<[f32]>,
}

impl fmt::Debug for Widen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Widen").field("big_endian", &self.big_endian).finish_non_exhaustive()
    }
}

impl Widen {
    /// Numbers stored in this byte order, with the values that `value` returns.
    pub fn new(big_endian: bool, value: impl Fn(u16) -> f32) -> Self {
        Widen { big_endian, values: (0..=u16::MAX).map(value).collect() }
    }

    /// Parameters that distinguish one from another.
    pub fn params(&self) -> Vec<u32> {
        vec![u32::from(self.big_endian), self.values[1].to_bits()]
    }

    /// All values, as floats in native byte order.
    pub fn widen(&self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        if stored.len() * 2 != out.len() || !out.len().is_multiple_of(4) {
            let (n, room) = (stored.len(), out.len());
            return Err(damaged("widening", format!("{n} bytes of numbers for {room} bytes of floats")));
        }
        for (from, to) in stored.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<4>().0) {
            let bits = if self.big_endian { u16::from_be_bytes(*from) } else { u16::from_le_bytes(*from) };
            *to = self.values[usize::from(bits)].to_ne_bytes();
        }
        Ok(())
    }

    /// The same, into new bytes.
    pub fn widened(&self, stored: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; stored.len() * 2];
        self.widen(stored, &mut out)?;
        Ok(out)
    }
}
