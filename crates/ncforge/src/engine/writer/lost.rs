//! Values that were handed over and could not be written. Until they are handed over again, no sync and no close succeeds.
//!
//! Values that wait in memory are not among them: they go on waiting when they cannot be written, and are written with the next sync.

use crate::error::{Error, Result};
use crate::model::{Schema, VarId};
use crate::select::Hyperslab;

/// The number of regions that are listed.
const LISTED: usize = 256;

/// The regions of failed writes.
#[derive(Debug, Default)]
pub(super) struct Lost {
    regions: Vec<Region>,
    /// Whether there were more than are listed: which ones is not known then.
    more: bool,
}

#[derive(Debug)]
struct Region {
    var: VarId,
    slab: Hyperslab,
    why: String,
}

impl Lost {
    /// Takes note of how a write ended.
    pub(super) fn note(&mut self, var: VarId, slab: &Hyperslab, done: Result<()>) -> Result<()> {
        match &done {
            Ok(()) if self.regions.is_empty() => {}
            Ok(()) => {
                for old in std::mem::take(&mut self.regions) {
                    if old.var == var {
                        let rest = without(&old.slab, slab);
                        rest.into_iter()
                            .for_each(|slab| self.add(Region { slab, why: old.why.clone(), ..old }));
                    } else {
                        self.add(old);
                    }
                }
            }
            Err(_) if slab.is_empty() || self.regions.iter().any(|r| r.var == var && r.slab == *slab) => {}
            Err(e) => self.add(Region { var, slab: slab.clone(), why: e.to_string() }),
        }
        done
    }

    fn add(&mut self, region: Region) {
        if self.regions.len() < LISTED {
            self.regions.push(region);
        } else {
            self.more = true;
        }
    }

    /// An error if there are any.
    pub(super) fn check(&self, file: &str, schema: &Schema) -> Result<()> {
        let what = match self.regions.first() {
            None if self.more => "many writes failed".to_owned(),
            None => return Ok(()),
            Some(Region { var, slab, why }) => {
                let bounds: Vec<String> =
                    (0..slab.rank()).map(|d| format!("{}:{}", slab.start[d], slab.end(d))).collect();
                let others = match self.regions.len() - 1 {
                    _ if self.more => " and many others".to_owned(),
                    0 => String::new(),
                    n => format!(" and of {n} other regions"),
                };
                format!(
                    "values of `{}[{}]`{others} are missing, because a write failed ({why}); write them again",
                    schema.var_path(*var),
                    bounds.join(", ")
                )
            }
        };
        Err(Error::Lost { path: file.to_owned(), what })
    }
}

/// The parts of a selection that are not in another one. A selection with strides is not divided.
fn without(all: &Hyperslab, gone: &Hyperslab) -> Vec<Hyperslab> {
    if all == gone {
        return Vec::new();
    }
    let is_dense = |s: &Hyperslab| s.stride.iter().zip(&s.count).all(|(&stride, &n)| stride == 1 || n == 1);
    let meet = |d: usize| all.start[d] < gone.end(d) && gone.start[d] < all.end(d);
    if all.rank() != gone.rank() || !is_dense(gone) || !(0..all.rank()).all(meet) {
        return vec![all.clone()];
    }
    let inside = |d: usize| gone.start[d] <= all.start[d] && all.end(d) <= gone.end(d);
    if !is_dense(all) {
        return if (0..all.rank()).all(inside) { Vec::new() } else { vec![all.clone()] };
    }
    let (mut rest, mut parts) = (all.clone(), Vec::new());
    for d in 0..all.rank() {
        let (start, end) = (rest.start[d], rest.end(d));
        let (from, to) = (start.max(gone.start[d]), end.min(gone.end(d)));
        for (a, b) in [(start, from), (to, end)] {
            if a < b {
                let mut part = rest.clone();
                (part.start[d], part.count[d], part.stride[d]) = (a, b - a, 1);
                parts.push(part);
            }
        }
        (rest.start[d], rest.count[d], rest.stride[d]) = (from, to - from, 1);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Format, Variable};

    fn schema() -> Schema {
        let mut schema = Schema::new(Format::Cdf5);
        schema.vars.push(Variable::new("v", Atomic::Int, Vec::new()));
        schema
    }

    fn slab(from: u64, n: u64) -> Hyperslab {
        Hyperslab::new(&[from, 0], &[n, 5])
    }

    fn full() -> Result<()> {
        Err(Error::Internal("full".into()))
    }

    #[test]
    fn what_is_written_again_is_not_lost() {
        let (v, schema, mut lost) = (VarId(0), schema(), Lost::default());
        for _ in 0..2 {
            assert!(lost.note(v, &slab(3, 4), full()).is_err());
        }
        lost.note(VarId(1), &slab(0, 9), Ok(())).unwrap();
        lost.note(v, &slab(3, 1), Ok(())).unwrap();
        let said = lost.check("a.nc", &schema).unwrap_err().to_string();
        assert!(said.contains("`v[4:7, 0:5]` are missing") && said.contains("full"), "{said}");
        lost.note(v, &Hyperslab::new(&[5, 1], &[1, 2]), Ok(())).unwrap();
        let said = lost.check("a.nc", &schema).unwrap_err().to_string();
        assert!(said.contains("and of 3 other regions"), "{said}");
        lost.note(v, &slab(6, 9), Ok(())).unwrap();
        lost.note(v, &slab(0, 6), Ok(())).unwrap();
        lost.check("a.nc", &schema).unwrap();
    }

    #[test]
    fn strides_are_not_divided_and_many_are_not_listed() {
        let (v, schema, mut lost) = (VarId(0), schema(), Lost::default());
        let odd = Hyperslab::strided(&[1, 0], &[3, 5], &[2, 1]);
        assert!(lost.note(v, &odd, full()).is_err());
        lost.note(v, &slab(0, 4), Ok(())).unwrap();
        assert!(lost.check("a.nc", &schema).is_err());
        lost.note(v, &odd, Ok(())).unwrap();
        lost.check("a.nc", &schema).unwrap();
        for n in 0..=LISTED as u64 {
            assert!(lost.note(v, &slab(2 * n, 1), full()).is_err());
        }
        lost.note(v, &slab(0, 2000), Ok(())).unwrap();
        assert!(lost.check("a.nc", &schema).is_err(), "which ones is not known");
    }
}
