//! How elements read that a file does not hold.

/// How elements read that a file does not hold: those of chunks that nobody wrote, and those beyond the extents of a layout that
/// is shorter than its variable. Values are one element in stored form (stored byte order, [`Element::size`](crate::raw::Element::size) bytes).
///
/// Nobody else decides it: who fills, leaves out or moves what is not stored asks here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// All as this value.
    As(Vec<u8>),
    /// As one value inside the extents, and as another beyond them: of a dataset without a fill value HDF5 reads zeros, and netCDF the
    /// type's default where an unlimited dimension is longer than the dataset.
    Split {
        /// Inside the extents.
        inside: Vec<u8>,
        /// Beyond them.
        beyond: Vec<u8>,
    },
    /// As several values, of which the layout does not say where: tiles, and what lies between them, have their own each, and types are
    /// converted. Such elements have to be read.
    Several,
}

impl Absent {
    /// Absent values of a layout of these extents, whose variable has this shape: where nothing lies beyond, one value is left.
    pub(crate) fn within(self, extents: &[u64], shape: &[u64]) -> Self {
        match self {
            Absent::Split { inside, beyond } if extents == shape || inside == beyond => Absent::As(inside),
            other => other,
        }
    }

    /// The value of all absent elements, in stored form; `None` where they have not the same.
    pub fn one(&self) -> Option<&[u8]> {
        match self {
            Absent::As(one) => Some(one),
            Absent::Split { .. } | Absent::Several => None,
        }
    }

    /// The value inside the extents, in stored form; `None` where there are several.
    pub fn inside(&self) -> Option<&[u8]> {
        match self {
            Absent::As(inside) | Absent::Split { inside, .. } => Some(inside),
            Absent::Several => None,
        }
    }

    /// The value beyond the extents, in stored form; `None` where there are several.
    pub(super) fn past_end(&self) -> Option<&[u8]> {
        match self {
            Absent::Split { beyond, .. } => Some(beyond),
            _ => self.inside(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_matters_where_something_does() {
        let split = || Absent::Split { inside: vec![0, 0], beyond: vec![1, 2] };
        assert_eq!(split().within(&[3], &[3]), Absent::As(vec![0, 0]));
        let absent = split().within(&[3], &[4]);
        assert_eq!(
            (absent.one(), absent.inside(), absent.past_end()),
            (None, Some(&[0, 0][..]), Some(&[1, 2][..]))
        );
        let alike = Absent::Split { inside: vec![0, 0], beyond: vec![0, 0] };
        assert_eq!(alike.within(&[3], &[4]), Absent::As(vec![0, 0]));
    }
}
