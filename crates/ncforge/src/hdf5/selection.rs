//! Selections of a dataspace as they are stored (format specification, "Dataspace selection"): none, all, points, and hyperslabs of the
//! versions 1 to 3, regular or a list of blocks.

use super::cursor::Cursor;
use super::dataspace::{MAX_RANK, UNLIMITED};
use crate::error::Result;

/// A selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// No element.
    None,
    /// All elements.
    All,
    /// Single elements, in their order: `rank` numbers each.
    Points { rank: usize, at: Vec<u64> },
    /// Blocks at equal distances, for each dimension.
    Regular(Vec<Blocks>),
    /// Boxes that do not overlap: of each, the first elements of all dimensions and the last ones.
    Boxes { rank: usize, corners: Vec<u64> },
}

/// Blocks along one dimension: `count` of them, `stride` apart, each of `block` elements. One of `count` and `block` may be
/// [`UNLIMITED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub start: u64,
    pub stride: u64,
    pub count: u64,
    pub block: u64,
}

impl Blocks {
    /// Whether they go on as far as the array does.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.count == UNLIMITED || self.block == UNLIMITED
    }
}

impl Selection {
    /// The number of dimensions; `None` where it does not say.
    pub(crate) fn rank(&self) -> Option<usize> {
        match self {
            Selection::None | Selection::All => None,
            Selection::Points { rank, .. } | Selection::Boxes { rank, .. } => Some(*rank),
            Selection::Regular(dims) => Some(dims.len()),
        }
    }

    /// The dimension along which it goes on as far as the array does.
    pub(crate) fn unlimited(&self) -> Option<usize> {
        match self {
            Selection::Regular(dims) => dims.iter().position(Blocks::is_unlimited),
            _ => None,
        }
    }

    /// Reads a selection.
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        let start = *c;
        let kind = c.u32()?;
        let version = c.u32()?;
        match (kind, version) {
            (0, 1) => c.skip(8).map(|()| Selection::None),
            (3, 1) => c.skip(8).map(|()| Selection::All),
            (1, 1 | 2) => points(c, version),
            (2, 1..=3) => hyperslab(c, version),
            (0..=3, _) => {
                Err(start.fail(format!("version {version} of a selection of kind {kind} is not known")))
            }
            _ => Err(start.fail(format!("a selection of kind {kind}"))),
        }
    }
}

fn rank(c: &mut Cursor<'_>) -> Result<usize> {
    let rank = c.u32()? as usize;
    match rank {
        1..=MAX_RANK => Ok(rank),
        _ => Err(c.fail(format!("a selection of {rank} dimensions"))),
    }
}

/// The bytes of each number.
fn width(c: &mut Cursor<'_>) -> Result<usize> {
    let width = usize::from(c.u8()?);
    match width {
        2 | 4 | 8 => Ok(width),
        _ => Err(c.fail(format!("a selection in numbers of {width} bytes"))),
    }
}

/// `count` numbers for each of so many things; there must be as many bytes.
fn numbers(c: &mut Cursor<'_>, things: u64, each: usize, width: usize) -> Result<Vec<u64>> {
    let fits = usize::try_from(things).ok().and_then(|n| n.checked_mul(each)?.checked_mul(width));
    let bytes = fits.ok_or_else(|| c.fail(format!("a selection of {things} places")))?;
    let mut c = c.sub(bytes)?;
    (0..bytes / width).map(|_| c.uint(width)).collect()
}

fn points(c: &mut Cursor<'_>, version: u32) -> Result<Selection> {
    let width = if version == 1 { c.skip(8).map(|()| 4) } else { width(c) }?;
    let rank = rank(c)?;
    let count = c.uint(width)?;
    Ok(Selection::Points { rank, at: numbers(c, count, rank, width)? })
}

fn hyperslab(c: &mut Cursor<'_>, version: u32) -> Result<Selection> {
    let (regular, width) = match version {
        1 => c.skip(8).map(|()| (false, 4))?,
        2 => {
            let flags = c.u8()?;
            c.skip(4)?;
            (flags & 1 != 0, 8)
        }
        _ => (c.u8()? & 1 != 0, width(c)?),
    };
    let rank = rank(c)?;
    if !regular {
        let count = c.uint(width)?;
        let corners = numbers(c, count, 2 * rank, width)?;
        let wrong = |b: &[u64]| (0..rank).any(|d| b[d] > b[rank + d] || b[rank + d] == UNLIMITED);
        if corners.chunks_exact(2 * rank).any(wrong) {
            return Err(c.fail("a block that ends before it begins"));
        }
        return Ok(if corners.is_empty() { Selection::None } else { Selection::Boxes { rank, corners } });
    }
    let here = *c;
    let most = u64::MAX >> (64 - 8 * width);
    let stored = numbers(c, rank as u64, 4, width)?;
    let limit = |n: u64| if n == most { UNLIMITED } else { n };
    let dims: Vec<Blocks> = (stored.chunks_exact(4))
        .map(|d| Blocks { start: d[0], stride: d[1], count: limit(d[2]), block: limit(d[3]) })
        .collect();
    if dims.iter().any(|d| d.count == 0 || d.block == 0) {
        return Ok(Selection::None);
    }
    if !dims.iter().all(is_sound) || dims.iter().filter(|d| d.is_unlimited()).count() > 1 {
        return Err(here.fail(format!("a hyperslab that cannot be: {dims:?}")));
    }
    Ok(Selection::Regular(dims))
}

/// Whether the blocks of a dimension do not overlap, and end somewhere.
fn is_sound(d: &Blocks) -> bool {
    let last = match (d.count, d.block) {
        (UNLIMITED, UNLIMITED) => None,
        // Reach as far as the array: only the first block has to be somewhere.
        (UNLIMITED, block) => d.start.checked_add(block),
        (count, UNLIMITED) => (count == 1).then_some(d.start),
        (count, block) => {
            (count - 1).checked_mul(d.stride).and_then(|n| n.checked_add(d.start)?.checked_add(block))
        }
    };
    let apart = d.count == 1 || (d.stride >= 1 && d.stride >= d.block);
    apart && last.is_some_and(|end| end < UNLIMITED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::cursor::Sizes;

    fn parse(bytes: &[u8]) -> Result<Selection> {
        Selection::parse(&mut Cursor::new("s.h5", bytes, 0, Sizes::default()))
    }

    fn words(n: &[u32]) -> Vec<u8> {
        n.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    #[test]
    fn none_and_all_have_no_more_than_a_head() {
        assert_eq!(parse(&words(&[0, 1, 0, 0])).unwrap(), Selection::None);
        assert_eq!(parse(&words(&[3, 1, 0, 0])).unwrap(), Selection::All);
        assert!(parse(&words(&[3, 1, 0])).is_err() && parse(&words(&[3, 2, 0, 0])).is_err());
        assert!(parse(&words(&[4, 1, 0, 0])).is_err());
    }

    #[test]
    fn points_of_both_versions() {
        let old = words(&[1, 1, 0, 16, 2, 2, 5, 6, 7, 8]);
        let new = [words(&[1, 2]), vec![2], words(&[2]), [2u16, 5, 6, 7, 8].map(u16::to_le_bytes).concat()]
            .concat();
        for bytes in [old, new] {
            assert_eq!(parse(&bytes).unwrap(), Selection::Points { rank: 2, at: vec![5, 6, 7, 8] });
            assert!(parse(&bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn hyperslabs_of_all_versions() {
        let boxes = Selection::Boxes { rank: 1, corners: vec![2, 3, 7, 7] };
        assert_eq!(parse(&words(&[2, 1, 0, 24, 1, 2, 2, 3, 7, 7])).unwrap(), boxes);
        let third =
            [words(&[2, 3]), vec![0, 2], words(&[1]), [2u16, 2, 3, 7, 7].map(u16::to_le_bytes).concat()]
                .concat();
        assert_eq!(parse(&third).unwrap(), boxes);
        let blocks = |count| Selection::Regular(vec![Blocks { start: 1, stride: 4, count, block: 2 }]);
        let second = |count: u64| {
            [words(&[2, 2]), vec![1], words(&[36, 1]), [1, 4, count, 2].map(u64::to_le_bytes).concat()]
                .concat()
        };
        assert_eq!(parse(&second(3)).unwrap(), blocks(3));
        assert_eq!(parse(&second(UNLIMITED)).unwrap().unlimited(), Some(0));
        assert_eq!(parse(&second(0)).unwrap(), Selection::None);
        let third =
            [words(&[2, 3]), vec![1, 4], words(&[1]), [1, 4, u32::MAX, 2].map(u32::to_le_bytes).concat()]
                .concat();
        assert_eq!(parse(&third).unwrap(), blocks(UNLIMITED));
    }

    #[test]
    fn what_cannot_be_is_damage() {
        let regular = |d: [u64; 4]| {
            parse(&[words(&[2, 2]), vec![1], words(&[36, 1]), d.map(u64::to_le_bytes).concat()].concat())
        };
        assert!(regular([0, 1, 2, 3]).is_err(), "blocks overlap");
        assert!(regular([0, 0, 2, 1]).is_err(), "no stride");
        assert!(regular([5, u64::MAX, 3, 1]).is_err(), "beyond 64 bits");
        assert!(regular([0, 1, UNLIMITED, UNLIMITED]).is_err());
        assert!(regular([0, 0, 1, 5]).is_ok(), "one block needs no stride");
        // More places than bytes.
        assert!(parse(&words(&[1, 1, 0, 16, 2, u32::MAX, 5, 6])).is_err());
        assert!(parse(&words(&[2, 1, 0, 16, 99, 1])).is_err(), "rank");
        assert!(parse(&words(&[2, 1, 0, 24, 1, 1, 4, 3])).is_err(), "ends before it begins");
    }
}
