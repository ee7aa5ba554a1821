//! Headers of any content, valid or not, built word by word.

use std::sync::Arc;

use super::MemoryStore;
use crate::classic::open;
use crate::container::Container;

/// Builds a header word by word.
pub(in crate::classic) struct Bytes {
    pub(in crate::classic) out: Vec<u8>,
    version: u8,
}

impl Bytes {
    pub(in crate::classic) fn new(version: u8) -> Self {
        Self { out: vec![b'C', b'D', b'F', version], version }
    }

    /// A tag or type: always four bytes.
    pub(in crate::classic) fn word(mut self, w: u32) -> Self {
        self.out.extend(w.to_be_bytes());
        self
    }

    /// A count: four bytes, eight in CDF-5.
    pub(in crate::classic) fn count(mut self, n: u64) -> Self {
        if self.version == 5 {
            self.out.extend(n.to_be_bytes());
        } else {
            self.out.extend((n as u32).to_be_bytes());
        }
        self
    }

    pub(in crate::classic) fn begin(mut self, n: u64) -> Self {
        if self.version == 1 {
            self.out.extend((n as u32).to_be_bytes());
        } else {
            self.out.extend(n.to_be_bytes());
        }
        self
    }

    pub(in crate::classic) fn raw(mut self, bytes: &[u8]) -> Self {
        self.out.extend_from_slice(bytes);
        self
    }

    pub(in crate::classic) fn name(self, name: &str, padding: u8) -> Self {
        let fill = vec![padding; name.len().next_multiple_of(4) - name.len()];
        self.count(name.len() as u64).raw(name.as_bytes()).raw(&fill)
    }

    pub(in crate::classic) fn absent(self) -> Self {
        self.word(0).count(0)
    }

    /// The dimensions: names and lengths.
    pub(in crate::classic) fn dims(self, dims: &[(&str, u64)]) -> Self {
        let list = self.word(10).count(dims.len() as u64);
        dims.iter().fold(list, |b, &(name, len)| b.name(name, 0).count(len))
    }

    /// The beginning of so many variables.
    pub(in crate::classic) fn vars(self, count: u64) -> Self {
        self.word(11).count(count)
    }

    /// A variable without attributes, along the dimensions of these numbers.
    pub(in crate::classic) fn var(self, name: &str, dims: &[u64], xtype: u32, size: u64, begin: u64) -> Self {
        let rank = self.name(name, 0).count(dims.len() as u64);
        let along = dims.iter().fold(rank, |b, &dim| b.count(dim));
        along.absent().word(xtype).count(size).begin(begin)
    }

    pub(in crate::classic) fn open(self) -> crate::Result<Box<dyn Container>> {
        open(Arc::new(MemoryStore::new("test.nc", self.out)))
    }
}
