//! Files of many variables: which dimensions each of them has, and what of it a call of a rank moves.
//!
//! A model's output holds fields of all dimensions beside others that lack some: surfaces, profiles, places, times. All of them
//! have dimensions of one array; where a block of that array lies, the part of every field lies in it, too. What several ranks (or calls)
//! would move alike, because the field lacks the dimension that tells them apart, is moved by the one whose block begins at 0 there.

use ncforge::Hyperslab;
use serde::{Deserialize, Serialize};

use super::geometry::Geometry;
use super::lengths::Lengths;
use crate::error::{Error, Result};

/// The name of the first variable, as NetCDF-Bench has it; others have a number behind it.
pub(super) const VARIABLE: &str = "data";
/// More variables than any file of a model has.
const MOST: u64 = 100_000;

/// The variables of a file: `time:z:y:x=4,time:y:x=12,z=1` is four of all dimensions, twelve surfaces and a profile.
///
/// ```
/// use ncforge_bench::workload::io::Variables;
/// let all: Variables = "time:z:y:x=4,y:x=2,time".parse().unwrap();
/// assert_eq!(all.count(), 7);
/// assert!("time=0".parse::<Variables>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    kinds: Vec<Kind>,
    /// Ranks share the last two dimensions, as those of models do.
    #[serde(default)]
    horizontal: bool,
}

/// Variables of the same dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kind {
    dims: Vec<String>,
    count: u64,
}

impl std::str::FromStr for Variables {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = |part: &str| {
            let (dims, count) = part.split_once('=').unwrap_or((part, "1"));
            let count = count.trim().parse().ok().filter(|&n: &u64| (1..=MOST).contains(&n));
            let dims: Vec<String> = dims.split(':').map(|d| d.trim().to_owned()).collect();
            match count {
                Some(count) if !dims.iter().any(String::is_empty) => Ok(Kind { dims, count }),
                _ => Err(format!(
                    "`{part}` in `{text}` is no number of variables with their dimensions, as time:z:y:x=4 (1 to {MOST} of them)"
                )),
            }
        };
        let kinds = text.split(',').map(kind).collect::<Result<Vec<Kind>, String>>()?;
        match kinds.iter().map(|k| k.count).sum::<u64>() {
            n if n > MOST => Err(format!("{n} variables are more than the {MOST} that a file may have here")),
            _ => Ok(Variables { kinds, horizontal: false }),
        }
    }
}

impl std::fmt::Display for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds: Vec<String> =
            self.kinds.iter().map(|k| format!("{}={}", k.dims.join(":"), k.count)).collect();
        f.write_str(&kinds.join(","))
    }
}

impl Variables {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.kinds.iter().map(|k| k.count).sum()
    }

    /// Whether ranks share the last two dimensions unless they are told otherwise.
    pub(super) fn is_horizontal(&self) -> bool {
        self.horizontal
    }

    /// The variables of an array with these dimensions.
    pub(super) fn fields(&self, names: &[String]) -> Result<Vec<Field>> {
        let mut fields = Vec::new();
        for kind in &self.kinds {
            let place = |name: &String| {
                names.iter().position(|n| n == name).ok_or_else(|| {
                    Error::Invalid(format!(
                        "the variables {self} have a dimension `{name}`, the data has {}; name them by -d time=…:z=…",
                        names.join(":")
                    ))
                })
            };
            let dims = kind.dims.iter().map(place).collect::<Result<Vec<usize>>>()?;
            if !dims.is_sorted_by(|a, b| a < b) {
                return Err(Error::Invalid(format!(
                    "the dimensions {} of a variable do not stand in the order of the data's, {}",
                    kind.dims.join(":"),
                    names.join(":")
                )));
            }
            for _ in 0..kind.count {
                let name = match fields.len() {
                    0 => VARIABLE.to_owned(),
                    n => format!("{VARIABLE}_{}", n + 1),
                };
                fields.push(Field { name, dims: dims.clone() });
            }
        }
        Ok(fields)
    }
}

/// Files as models write them: an array's dimensions, and the variables that have some of them.
///
/// Kinds and numbers of variables are of the size that such files have; lengths are small, and may be replaced.
///
/// ```
/// use ncforge_bench::workload::io::Preset;
/// let nemo: Preset = "nemo".parse().unwrap();
/// assert_eq!(nemo.variables().count(), 25);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// An ocean model's means: few fields of all depths, surfaces, the coordinates.
    Nemo,
    /// An atmosphere model's history: many surfaces, profiles and times beside the fields of all levels.
    Wrf,
}

impl std::str::FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "nemo" => Ok(Preset::Nemo),
            "wrf" => Ok(Preset::Wrf),
            other => Err(format!("no preset `{other}`: nemo or wrf")),
        }
    }
}

impl Preset {
    /// The array, unless another one is asked for, which must have as many dimensions.
    pub fn data(self) -> Lengths {
        let text = match self {
            Preset::Nemo => "time_counter=4:deptht=31:y=148:x=180",
            Preset::Wrf => "Time=4:bottom_top=30:south_north=96:west_east=128",
        };
        text.parse().unwrap_or_else(|_| Lengths::new(&[1]))
    }

    /// The variables.
    pub fn variables(self) -> Variables {
        let text = match self {
            Preset::Nemo => "time_counter:deptht:y:x=5,time_counter:y:x=14,y:x=2,deptht=2,time_counter=2",
            Preset::Wrf => {
                "Time:bottom_top:south_north:west_east=16,Time:south_north:west_east=60,Time:bottom_top=8,Time=12"
            }
        };
        let found: Variables = text.parse().unwrap_or(Variables { kinds: Vec::new(), horizontal: false });
        Variables { horizontal: true, ..found }
    }

    /// An array of other lengths, with the preset's names where it has none.
    pub fn named(self, data: Lengths) -> Lengths {
        let own = self.data();
        let names = data.names.clone().or(own.names.filter(|n| n.len() == data.lens.len()));
        Lengths { names, ..data }
    }
}

/// A variable of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Positions of its dimensions among those of the array, slowest first.
    pub dims: Vec<usize>,
}

impl Field {
    /// The one that has all dimensions.
    pub(super) fn whole(rank: usize) -> Vec<Field> {
        vec![Field { name: VARIABLE.to_owned(), dims: (0..rank).collect() }]
    }

    /// Of what is given for each dimension of the array, the field's.
    pub fn of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.dims.iter().map(|&d| all[d]).collect()
    }
}

/// What a call of a rank moves of one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Position of the variable.
    pub(super) field: usize,
    /// Where it lies in the whole variable.
    pub(super) slab: Hyperslab,
    /// Whether this rank moves it. Where not, another one does in the same call.
    pub(super) owned: bool,
}

impl Geometry {
    /// What a call of a rank moves, in the order of the variables. In files of ranks' `own`, each has all variables.
    pub(super) fn pieces(&self, rank: u64, call: u64, own: bool) -> Vec<Piece> {
        if let Some(scattered) = &self.scattered {
            // Where others have a box and this rank has none, it takes part with the first element.
            let found = scattered.slab(rank, call % scattered.calls);
            let nothing = || Hyperslab::new(&vec![0; self.data.len()], &vec![1; self.data.len()]);
            let mut slab = found.cloned().unwrap_or_else(nothing);
            if scattered.is_map() {
                slab.start[0] = call / scattered.calls;
            }
            return vec![Piece { field: 0, slab: self.with_stride(slab), owned: found.is_some() }];
        }
        let block = self.slab(rank, call);
        let origin = self.origin(rank);
        let wide = self.with_stride(self.with_halo(&block));
        let mut pieces = Vec::with_capacity(self.fields.len());
        for (number, field) in self.fields.iter().enumerate() {
            let lacks = || (0..self.data.len()).filter(|d| !field.dims.contains(d));
            // A part that an earlier call of every rank has moved.
            if lacks().any(|d| block.start[d] != origin[d]) {
                continue;
            }
            let owned = own || lacks().all(|d| block.start[d] == 0);
            let slab =
                Hyperslab::strided(&field.of(&wide.start), &field.of(&wide.count), &field.of(&wide.stride));
            pieces.push(Piece { field: number, slab, owned });
        }
        pieces
    }

    /// Values of all variables, in one file, or in those of ranks' `own`.
    pub(crate) fn values(&self, own: bool) -> u64 {
        let of = |lens: &[u64]| -> u64 {
            self.fields.iter().map(|f| f.dims.iter().map(|&d| lens[d]).product::<u64>()).sum()
        };
        match (self.fields.is_empty(), own) {
            // Results of older versions know one variable.
            (true, _) => self.data.iter().product(),
            (_, false) => of(&self.data),
            (_, true) => (0..self.ranks()).map(|r| of(&self.share_of(r))).sum(),
        }
    }

    /// Values that a call of any rank moves at most.
    pub(super) fn values_of_a_call(&self) -> u64 {
        if let Some(s) = &self.scattered {
            return s.largest();
        }
        let lens: Vec<u64> = (0..self.data.len())
            .map(|d| {
                let halo = self.halo.get(d).copied().unwrap_or(0);
                self.largest_block(d).saturating_add(halo.saturating_mul(2)).min(self.data[d])
            })
            .collect();
        self.fields.iter().map(|f| f.of(&lens).iter().product::<u64>()).fold(0, u64::saturating_add)
    }

    /// The name of a variable, and the names of its dimensions.
    pub fn named(&self, field: usize) -> (&str, Vec<&str>) {
        match self.fields.get(field) {
            Some(f) => (&f.name, f.dims.iter().map(|&d| self.names[d].as_str()).collect()),
            None => (VARIABLE, self.names.iter().map(String::as_str).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolving::GeometryRequest;
    use super::super::shares::Halo;
    use super::*;

    fn geometry(
        data: &str,
        variables: &str,
        split: Option<&str>,
        block: Option<&str>,
        ranks: u64,
    ) -> Geometry {
        let request = GeometryRequest {
            data: data.parse().ok(),
            variables: variables.parse().ok(),
            split: split.and_then(|s| s.parse().ok()),
            block: block.and_then(|s| s.parse().ok()),
            ..GeometryRequest::default()
        };
        Geometry::resolve(&request, ranks, 1).unwrap()
    }

    /// How often each value of each variable is moved by ranks that own it.
    fn moved(g: &Geometry) -> Vec<Vec<u8>> {
        let mut seen: Vec<Vec<u8>> =
            g.fields.iter().map(|f| vec![0; f.of(&g.data).iter().product::<u64>() as usize]).collect();
        for call in 0..g.calls() {
            let mut calls = Vec::new();
            for rank in 0..g.ranks() {
                let pieces = g.pieces(rank, call, false);
                calls.push(pieces.iter().map(|p| p.field).collect::<Vec<_>>());
                for p in pieces.into_iter().filter(|p| p.owned) {
                    let shape = g.fields[p.field].of(&g.data);
                    let ranges: Vec<_> =
                        p.slab.start.iter().zip(&p.slab.count).map(|(&s, &c)| s..s + c).collect();
                    for at in ncforge::select::coordinates(&ranges) {
                        let i = at.iter().zip(&shape).fold(0, |i, (&a, &n)| i * n + a);
                        seen[p.field][i as usize] += 1;
                    }
                }
            }
            // Collective calls are made by all.
            assert!(calls.iter().all(|c| *c == calls[0]), "{calls:?}");
        }
        seen
    }

    #[test]
    fn every_value_of_every_variable_is_moved_once() {
        let all = "t:z:y:x=2,t:y:x,y:x,z,t,x,t:z";
        for (split, block, ranks) in [
            (None, None, 1),
            (Some("1:1:2:2"), None, 4),
            (Some("1:3:1:2"), Some("2:1:2:3"), 6),
            (Some("2:1:1:1"), Some("1:3:2:6"), 2),
        ] {
            let g = geometry("t=4:z=3:y=4:x=6", all, split, block, ranks);
            assert_eq!(g.fields.len(), 8);
            assert!(moved(&g).iter().all(|v| v.iter().all(|&n| n == 1)), "{split:?} {block:?}");
            assert_eq!(g.values(false), 2 * 288 + 96 + 24 + 3 + 4 + 6 + 12);
        }
        let preset = Preset::Wrf;
        let request = GeometryRequest {
            data: Some(preset.data()),
            variables: Some(preset.variables()),
            ..GeometryRequest::default()
        };
        assert_eq!(Geometry::resolve(&request, 4, 2).unwrap().grid, [1, 1, 2, 2]);
    }

    #[test]
    fn shares_differ_and_cover_the_array_once() {
        let request = GeometryRequest {
            data: "t=4:z=3:y=8:x=6".parse().ok(),
            variables: "t:z:y:x,y:x,t,z".parse().ok(),
            split: "1:1:3:1".parse().ok(),
            shares: "2,1,1".parse().ok(),
            ..GeometryRequest::default()
        };
        let g = Geometry::resolve(&request, 3, 1).unwrap();
        assert_eq!(
            (g.share_of(0), g.share_of(2), g.origin(2)),
            (vec![4, 3, 4, 6], vec![4, 3, 2, 6], vec![0, 0, 6, 0])
        );
        assert_eq!((g.block.clone(), g.calls(), g.steps()), (vec![1, 3, 2, 6], 4, 4));
        assert!(moved(&g).iter().all(|v| v.iter().all(|&n| n == 1)));
        assert_eq!(g.values_of_a_call(), 3 * 4 * 6 + 4 * 6 + 1 + 3);
        // Without a split, ranks share the dimension behind the first.
        let other =
            GeometryRequest { split: None, variables: None, data: "4:8:6".parse().ok(), ..request.clone() };
        let g = Geometry::resolve(&other, 3, 1).unwrap();
        assert_eq!((g.grid.clone(), g.slab(0, 1).count), (vec![1, 3, 1], vec![1, 4, 6]));
        for (wrong, ranks, why) in [
            (GeometryRequest { block: "1:3:2:6".parse().ok(), ..request.clone() }, 3, "leave out"),
            (
                GeometryRequest {
                    split: "1:3:2:1".parse().ok(),
                    shares: "2,1,1,1,1,1".parse().ok(),
                    ..request.clone()
                },
                6,
                "one dimension",
            ),
            (GeometryRequest { split: None, ..request.clone() }, 2, "3 shares"),
            (
                GeometryRequest {
                    split: None,
                    data: "4:10:6".parse().ok(),
                    variables: None,
                    ..request.clone()
                },
                3,
                "12 would do",
            ),
            (GeometryRequest { split: "3:1:1:1".parse().ok(), ..request.clone() }, 3, "first dimension"),
        ] {
            let e = Geometry::resolve(&wrong, ranks, 1).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
    }

    #[test]
    fn halos_reach_as_far_as_the_array_goes() {
        let g = geometry("t=2:z=3:y=4:x=6", "t:z:y:x,y:x", Some("1:1:2:2"), None, 4);
        let g = g.reaching(&Halo::Every(1)).unwrap();
        assert_eq!(g.halo, [0, 0, 1, 1]);
        let pieces = g.pieces(3, 0, false);
        assert_eq!(
            (&pieces[0].slab.start[..], &pieces[0].slab.count[..]),
            (&[0, 0, 1, 2][..], &[1, 3, 3, 4][..])
        );
        assert_eq!((&pieces[1].slab.start[..], &pieces[1].slab.count[..]), (&[1, 2][..], &[3, 4][..]));
        let wide = g.reaching(&Halo::Widths(vec![1, 0, 9, 0])).unwrap().pieces(0, 1, false);
        assert_eq!(
            (&wide[0].slab.start[..], &wide[0].slab.count[..]),
            (&[0, 0, 0, 0][..], &[2, 3, 4, 3][..])
        );
        assert!(geometry("4:6", "time:dim_1", None, None, 1).reaching(&Halo::Every(1)).is_err());
    }

    #[test]
    fn what_is_no_list_of_variables_is_told() {
        for wrong in ["", "t=0", "t=x", "t::x=1", "t=100001", "t=99999,x=2"] {
            assert!(wrong.parse::<Variables>().is_err(), "{wrong}");
        }
        let names = ["t".to_owned(), "x".to_owned()];
        for (wrong, why) in [("x:t", "order"), ("t:t", "order"), ("t:y", "dimension `y`")] {
            let e = wrong.parse::<Variables>().unwrap().fields(&names).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
    }
}
