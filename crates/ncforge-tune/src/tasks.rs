//! Readers that make a task of every chunk: xarray with Dask. A task costs a fraction of a millisecond whatever it does, so
//! an array of many small chunks is read slowly, however fast each is decoded.
//!
//! The consequences are in this module: the blocks of whole stored chunks that ncforge's engine proposes to Dask, and what
//! `doctor` says of a file. The least size of new chunks ([`Limits`](super::Limits)) leaves few tasks.

use ncforge::model::shape;

/// A block has about this many bytes.
const BLOCK: u64 = 64 << 20;
/// Stored chunks below this many bytes are joined to blocks.
const SMALL: u64 = BLOCK / 4;
/// Arrays of at most this many chunks and bytes, whose chunks need no decoding, keep them: xarray's own tests demand that of an array
/// of 2 MB.
const FEW: (u64, u64) = (128, 2 << 20);

/// A task of fewer bytes than this does little.
const LITTLE: u64 = 256 << 10;
/// A program notices this many tasks: they take about a second.
const MANY: u64 = 1000;

/// An array, as Dask sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The lengths of its stored chunks.
    pub chunk: &'a [u64],
    /// Its lengths.
    pub lens: &'a [u64],
    /// Bytes of an element.
    pub element: u64,
    /// Whether chunks are decoded.
    pub filtered: bool,
}

impl Stored<'_> {
    /// The blocks for Dask: stored chunks of 16 MiB and more, and joined ones of about 64 MiB, or of `most` bytes, where they are
    /// smaller.
    ///
    /// ```
    /// use ncforge_tune::Stored;
    /// let maps = Stored { chunk: &[1, 180, 360], lens: &[1461, 180, 360], element: 4, filtered: true };
    /// assert_eq!(maps.blocks(u64::MAX), [244, 180, 360]);
    /// let large = Stored { chunk: &[1, 2160, 4320], lens: &[365, 2160, 4320], ..maps };
    /// assert_eq!(large.blocks(u64::MAX), [1, 2160, 4320]);
    /// ```
    pub fn blocks(&self, most: u64) -> Vec<u64> {
        let chunk = shape::bytes(self.chunk, self.element);
        let few = !self.filtered && self.chunks() <= FEW.0 && shape::bytes(self.lens, self.element) <= FEW.1;
        if few || chunk >= SMALL { self.chunk.to_vec() } else { self.joined(BLOCK.min(most)) }
    }

    /// Blocks of whole stored chunks of `want` bytes at most, or of one chunk: no two tasks decode the same one. They grow along
    /// the last dimension first, where neighbours are likely to be adjacent in the file, and are all about as large.
    ///
    /// ```
    /// use ncforge_tune::Stored;
    /// let tiles = Stored { chunk: &[1, 100, 100], lens: &[365, 400, 400], element: 4, filtered: false };
    /// assert_eq!(tiles.joined(1 << 20), [1, 400, 400]);
    /// assert_eq!(tiles.joined(200_000), [1, 100, 400]);
    /// assert_eq!(tiles.joined(1), [1, 100, 100]);
    /// ```
    pub fn joined(&self, want: u64) -> Vec<u64> {
        let mut out = self.chunk.to_vec();
        for (d, &len) in self.lens.iter().enumerate().rev() {
            let most = (want / shape::bytes(&out, self.element).max(1)).max(1);
            let there = len.max(1).div_ceil(out[d].max(1));
            let times = there.div_ceil(there.div_ceil(most));
            out[d] = out[d].saturating_mul(times).min(len.max(1));
            if times < there {
                break;
            }
        }
        out
    }

    /// The number of tasks of chunks of these lengths.
    pub fn tasks(&self, chunk: &[u64]) -> u64 {
        shape::product(self.lens.iter().zip(chunk).map(|(&len, &c)| len.div_ceil(c.max(1))))
    }

    fn chunks(&self) -> u64 {
        self.tasks(self.chunk)
    }

    /// Whether the stored chunks make many tasks, each of little work.
    pub fn is_many_tasks(&self) -> bool {
        shape::bytes(self.chunk, self.element) < LITTLE && self.chunks() >= MANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Blocks are whole stored chunks, at most as large as is asked for, and as few as that allows along one dimension.
        #[test]
        fn blocks_are_whole_chunks(
            dims in prop::collection::vec((1u64..50, 0u64..300), 0..5),
            element in 1u64..9,
            want in 1u64..1 << 24,
        ) {
            let (chunk, lens): (Vec<u64>, Vec<u64>) = dims.into_iter().unzip();
            let stored = Stored { chunk: &chunk, lens: &lens, element, filtered: true };
            let joined = stored.joined(want);
            prop_assert_eq!(joined.len(), chunk.len());
            for ((&block, &c), &len) in joined.iter().zip(&chunk).zip(&lens) {
                prop_assert!(block % c == 0 || block == len.max(1), "{joined:?}");
            }
            prop_assert!(shape::bytes(&joined, element) <= want.max(shape::bytes(&chunk, element)), "{joined:?}");
            prop_assert!(stored.tasks(&joined) <= stored.chunks());
        }
    }

    #[test]
    fn few_small_chunks_stay_as_they_are() {
        // The array of xarray's tests.
        let image = Stored { chunk: &[1, 1000, 10], lens: &[1, 1000, 1000], element: 2, filtered: false };
        assert_eq!(image.blocks(u64::MAX), [1, 1000, 10]);
        let deflated = Stored { filtered: true, ..image };
        assert_eq!(deflated.blocks(u64::MAX), [1, 1000, 1000]);
        // Where Dask is told to make small blocks, it gets those.
        assert_eq!(deflated.blocks(100 << 10), [1, 1000, 50]);
        let more = Stored { lens: &[2, 1000, 1000], ..image };
        assert_eq!(more.blocks(u64::MAX), [2, 1000, 1000]);
    }
}
