//! Ranks that have more of the array than others, and blocks that reach into those of their neighbours.

use serde::{Deserialize, Serialize};

/// Parts of the array that the ranks have, as `3,1,1,1`: the first one three times as much as each of the others.
///
/// ```
/// use ncforge_bench::workload::io::Shares;
/// let shares: Shares = "3,1".parse().unwrap();
/// assert_eq!((shares.parts(), shares.total()), (&[3, 1][..], Some(4)));
/// assert!("3,0".parse::<Shares>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares(Vec<u64>);

impl Shares {
    /// What each rank has.
    pub fn parts(&self) -> &[u64] {
        &self.0
    }

    /// All of them; `None` when that is no number.
    pub fn total(&self) -> Option<u64> {
        self.0.iter().try_fold(0u64, |a, &n| a.checked_add(n))
    }

    /// The largest number by which all of them can be divided: what lies between any two borders is a multiple of it.
    pub(super) fn grain(&self) -> u64 {
        self.0.iter().copied().reduce(greatest_common_divisor).unwrap_or(1)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&parts.join(","))
    }
}

impl std::str::FromStr for Shares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |t: &str| {
            t.trim().parse::<u64>().ok().filter(|&n| n > 0).ok_or_else(|| {
                format!("`{}` in `{text}` is no share: shares are whole numbers from 1, one for each rank, as 3,1,1,1", t.trim())
            })
        };
        Ok(Shares(text.split(',').map(part).collect::<Result<_, _>>()?))
    }
}

/// How far blocks that are read reach into their neighbours: so many places along every dimension along which blocks have any, but
/// the first, along which steps go; or so many along each dimension, as `0:2:2:0`.
///
/// ```
/// use ncforge_bench::workload::io::Halo;
/// assert_eq!("2".parse(), Ok(Halo::Every(2)));
/// assert_eq!("0:2:2:0".parse(), Ok(Halo::Widths(vec![0, 2, 2, 0])));
/// assert!("-1".parse::<Halo>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Halo {
    /// The same wherever there are neighbours.
    Every(u64),
    /// Of each dimension.
    Widths(Vec<u64>),
}

impl std::str::FromStr for Halo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let width =
            |t: &str| {
                t.trim().parse::<u64>().ok().filter(|&n| i64::try_from(n).is_ok()).ok_or_else(|| {
                    format!("`{}` in `{text}` is no width of a halo, as 1, or 0:2:2:0", t.trim())
                })
            };
        match text.contains(':') {
            false => width(text).map(Halo::Every),
            true => text.split(':').map(width).collect::<Result<_, _>>().map(Halo::Widths),
        }
    }
}

impl Halo {
    /// The widths along the dimensions of an array, of which these have neighbours.
    pub(super) fn widths(&self, neighbours: &[bool]) -> Result<Vec<u64>, String> {
        let widths: Vec<u64> = match self {
            Halo::Every(n) => {
                let first = |d: usize| d == 0 && neighbours.len() > 1;
                (0..neighbours.len()).map(|d| if neighbours[d] && !first(d) { *n } else { 0 }).collect()
            }
            Halo::Widths(all) if all.len() == neighbours.len() => all.clone(),
            Halo::Widths(all) => {
                return Err(format!(
                    "the halo has {} widths, the data {} dimensions",
                    all.len(),
                    neighbours.len()
                ));
            }
        };
        if widths.iter().zip(neighbours).any(|(w, n)| *w > 0 && *n) {
            return Ok(widths);
        }
        Err("no block has a neighbour that its halo could reach: that takes more ranks, smaller blocks (-b, --read-block), or a halo along another dimension".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_lie_on_multiples_of_the_grain() {
        for (text, grain) in [("3,1", 1), ("4,6,2", 2), ("5", 5), ("6,9", 3)] {
            assert_eq!(text.parse::<Shares>().unwrap().grain(), grain, "{text}");
        }
        assert_eq!("18446744073709551615,1".parse::<Shares>().unwrap().total(), None);
        assert_eq!("3, 1".parse::<Shares>().unwrap().to_string(), "3,1");
        for wrong in ["", "3,", "a", "1,-1"] {
            assert!(wrong.parse::<Shares>().unwrap_err().contains("as 3,1,1,1"), "{wrong}");
        }
    }

    #[test]
    fn a_halo_needs_neighbours() {
        let some = [true, true, false];
        assert_eq!(Halo::Every(2).widths(&some), Ok(vec![0, 2, 0]));
        assert_eq!(Halo::Every(2).widths(&[true]), Ok(vec![2]));
        assert_eq!(Halo::Widths(vec![1, 0, 4]).widths(&some), Ok(vec![1, 0, 4]));
        for (halo, neighbours) in [
            (Halo::Every(0), &some[..]),
            (Halo::Every(1), &[true, false]),
            (Halo::Widths(vec![0, 0, 4]), &some),
            (Halo::Widths(vec![1]), &some),
        ] {
            assert!(halo.widths(neighbours).is_err(), "{halo:?}");
        }
    }
}
