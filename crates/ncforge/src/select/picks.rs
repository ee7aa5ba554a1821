//! Selections that are not hyperslabs: positions picked one by one.

use crate::error::{Error, Result};
use crate::model::shape;

/// Positions along one dimension, or along several at once, in the order of the result. They may
/// repeat, and may be in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The dimensions; several are picked together, as the coordinates of points.
    pub dims: Vec<usize>,
    /// The positions, one after the other: `dims.len()` numbers each.
    pub at: Vec<u64>,
}

/// A selection made of picks: the result has one axis for each pick, in their order, as long as the pick. Every
/// dimension of the array belongs to exactly one pick.
///
/// Lists on every dimension (the rows *and* columns of a table) are one pick for each dimension; scattered points are one
/// pick over several dimensions.
///
/// ```
/// use ncforge::{Pick, Picks};
/// // Of an array (time, lat, lon): all four times at two points.
/// let picks = Picks::new(vec![
///     Pick { dims: vec![1, 2], at: vec![10, 20, 90, 180] },
///     Pick { dims: vec![0], at: (0..4).collect() },
/// ]);
/// assert_eq!(picks.shape(), [2, 4]);
/// assert!(picks.check(&[4, 180, 360], "sst").is_ok());
/// assert!(picks.check(&[4, 180, 90], "sst").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picks {
    axes: Vec<Pick>,
}

impl Picks {
    /// A selection. [`Picks::check`] checks whether it fits an array.
    pub fn new(axes: Vec<Pick>) -> Self {
        Self { axes }
    }

    /// The picks.
    pub fn axes(&self) -> &[Pick] {
        &self.axes
    }

    /// Shape of the result.
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(|a| (a.at.len() / a.dims.len().max(1)) as u64).collect()
    }

    /// Number of elements selected (saturating).
    pub fn len(&self) -> u64 {
        shape::elements(&self.shape())
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Checks that every dimension of `shape` is picked once and that every position is inside; the error names the
    /// variable `name`.
    pub fn check(&self, shape: &[u64], name: &str) -> Result<()> {
        let bad = |why| Error::BadPick { variable: name.to_owned(), why };
        let mut seen = vec![false; shape.len()];
        for pick in &self.axes {
            for &d in &pick.dims {
                match seen.get_mut(d) {
                    Some(seen) if !*seen => *seen = true,
                    _ => return Err(bad(format!("dimension {d} is picked wrongly"))),
                }
            }
            if pick.dims.is_empty() || !pick.at.len().is_multiple_of(pick.dims.len()) {
                return Err(bad(format!("{} positions for {} dimensions", pick.at.len(), pick.dims.len())));
            }
            for point in pick.at.chunks_exact(pick.dims.len()) {
                if let Some((&d, &at)) = pick.dims.iter().zip(point).find(|&(&d, &at)| at >= shape[d]) {
                    let (variable, len) = (name.to_owned(), shape[d]);
                    return Err(Error::Index { variable, dim: d, index: at, len });
                }
            }
        }
        match seen.iter().position(|&s| !s) {
            Some(d) => Err(bad(format!("dimension {d} is not picked"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_that_do_not_fit_are_errors() {
        let one = |dims: &[usize], at: &[u64]| Pick { dims: dims.to_vec(), at: at.to_vec() };
        let fits = |axes: Vec<Pick>| Picks::new(axes).check(&[3, 4], "v");
        assert!(fits(vec![one(&[1], &[3, 0]), one(&[0], &[])]).is_ok());
        for (axes, word) in [
            (vec![one(&[0], &[0])], "not picked"),
            (vec![one(&[0, 1], &[0, 0]), one(&[1], &[0])], "wrongly"),
            (vec![one(&[0, 2], &[0, 0])], "wrongly"),
            (vec![one(&[0, 1], &[0, 0, 0])], "3 positions"),
            (vec![one(&[0, 1], &[0, 4])], "outside dimension 1"),
            (vec![one(&[], &[]), one(&[0, 1], &[])], "positions for 0"),
        ] {
            let e = fits(axes).unwrap_err();
            assert!(e.to_string().contains(word), "{e}");
        }
    }
}
