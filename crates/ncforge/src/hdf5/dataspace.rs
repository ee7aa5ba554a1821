//! Dataspace messages (type 1): the shape of a dataset or an attribute.

use super::cursor::Cursor;
use crate::error::Result;
use crate::model::shape;

/// The number of dimensions that HDF5 allows.
pub(crate) const MAX_RANK: usize = 32;

/// The length "unlimited" in [`Dataspace::max`].
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// A shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dataspace {
    /// No element at all.
    Null,
    /// One element.
    Scalar,
    /// An array.
    Simple {
        /// Current lengths, slowest dimension first.
        dims: Vec<u64>,
        /// Lengths that it may grow to; [`UNLIMITED`] where there is no bound.
        max: Vec<u64>,
    },
}

impl Dataspace {
    /// An array that never changes its shape.
    pub(crate) fn fixed(dims: &[u64]) -> Self {
        Dataspace::Simple { dims: dims.to_vec(), max: dims.to_vec() }
    }

    /// Current lengths; empty for scalars (and null spaces).
    pub(crate) fn dims(&self) -> &[u64] {
        match self {
            Dataspace::Simple { dims, .. } => dims,
            _ => &[],
        }
    }

    /// Lengths to grow to; empty for scalars (and null spaces).
    pub(crate) fn max(&self) -> &[u64] {
        match self {
            Dataspace::Simple { max, .. } => max,
            _ => &[],
        }
    }

    /// Elements; `None` when the number does not fit 64 bits.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Dataspace::Null => Some(0),
            Dataspace::Scalar => Some(1),
            Dataspace::Simple { dims, .. } if dims.contains(&0) => Some(0),
            Dataspace::Simple { dims, .. } => shape::checked(dims, 1),
        }
    }

    /// Reads a dataspace message, version 1 or 2.
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        let version = c.version("a dataspace message", 1..=2)?;
        let rank = usize::from(c.u8()?);
        if rank > MAX_RANK {
            return Err(c.fail(format!("a dataspace of {rank} dimensions (at most {MAX_RANK} are allowed)")));
        }
        let flags = c.u8()?;
        let kind = match version {
            1 => {
                c.skip(5)?;
                u8::from(rank > 0)
            }
            _ => c.u8()?,
        };
        match (kind, rank) {
            (2, _) => return Ok(Dataspace::Null),
            (0, 0) => return Ok(Dataspace::Scalar),
            // Simple with rank 0 is how some writers say scalar.
            (1, 0) => return Ok(Dataspace::Scalar),
            (1, _) => {}
            _ => return Err(c.fail(format!("dataspace of kind {kind} with {rank} dimensions"))),
        }
        let dims = (0..rank).map(|_| c.length()).collect::<Result<Vec<_>>>()?;
        let max = if flags & 1 != 0 {
            (0..rank).map(|_| c.max_length()).collect::<Result<Vec<_>>>()?
        } else {
            dims.clone()
        };
        for (&n, &m) in dims.iter().zip(&max) {
            if n == UNLIMITED || n > m {
                return Err(c.fail(format!("a dimension of length {n} where at most {m} is allowed")));
            }
        }
        Ok(Dataspace::Simple { dims, max })
    }
}
