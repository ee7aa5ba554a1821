//! How an array will be read: accesses that people can name, and the boxes of counts that they are.

use serde::Serialize;

use super::axes::{Axis, Role};
use crate::vocabulary::did_you_mean;
use ncforge::model::shape;
use ncforge::{Error, Result};

/// The part of one dimension that a read takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// All of it.
    All,
    /// Neighbouring elements (all, where there are fewer).
    Count(u64),
    /// One of this many equal parts, rounded up.
    Part(u64),
}

/// A kind of read.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// All of y and x, one step of everything else.
    Map,
    /// All times at one point, where there is a time: CF's, or else a dimension that grows. A single time is no series.
    Series,
    /// All levels at one point and time.
    Profile,
    /// All levels and all times at one point.
    Column,
    /// An eighth of every dimension.
    Box,
    /// The whole array.
    Full,
    /// An extent of each named dimension; one element of the others.
    Lengths(Vec<(String, Extent)>),
}

/// A kind of read, and how much it matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The kind.
    pub kind: Kind,
    /// Its weight, above zero; only ratios of weights matter.
    pub weight: f64,
}

const NAMED: [(&str, Kind); 6] = [
    ("map", Kind::Map),
    ("series", Kind::Series),
    ("profile", Kind::Profile),
    ("column", Kind::Column),
    ("box", Kind::Box),
    ("full", Kind::Full),
];

/// Parts of a dimension that a box takes one of.
const BOX_PARTS: u64 = 8;

impl Access {
    /// The default reads of an array: series, maps and the whole, equally.
    pub fn usual() -> Vec<Access> {
        [Kind::Series, Kind::Map, Kind::Full].into_iter().map(|kind| Access { kind, weight: 1.0 }).collect()
    }

    /// Reads a list of accesses as people write it.
    ///
    /// `series=3,map=1`: named kinds, with weights (1 where none is given). `time=all,lat=1,lon=1`: one access by
    /// the lengths that it takes of the dimensions (`all`, a number, or `1/8` for a part); dimensions that are not
    /// named are read one element at a time. Several of either kind are separated by `;`, and a `:2` behind one
    /// that is given by lengths is its weight. `dims` are the names that may stand for dimensions; when it is
    /// empty any name may.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown name, a bad length or weight, or an empty list.
    pub fn parse(text: &str, dims: &[&str]) -> Result<Vec<Access>> {
        let mut out = Vec::new();
        for part in text.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            if part.split(',').all(|item| named(key(item)).is_some()) {
                for item in part.split(',') {
                    let kind = named(key(item)).expect("looked up above");
                    let weight = item.split_once('=').map_or(Ok(1.0), |(_, w)| weight(w))?;
                    out.push(Access { kind, weight });
                }
                continue;
            }
            let (lengths, w) = match part.rsplit_once(':') {
                Some((lengths, w)) => (lengths, weight(w)?),
                None => (part, 1.0),
            };
            let lengths = lengths.split(',').map(|item| length(item, dims)).collect::<Result<Vec<_>>>()?;
            out.push(Access { kind: Kind::Lengths(lengths), weight: w });
        }
        if out.is_empty() {
            return Err(Error::bad_option(
                "for",
                "no read is named: write map, series, profile, column, box, full, or lengths such as \
                 time=all,lat=1,lon=1",
            ));
        }
        Ok(out)
    }
}

fn key(item: &str) -> &str {
    item.split_once('=').map_or(item, |(k, _)| k).trim()
}

fn named(name: &str) -> Option<Kind> {
    NAMED.iter().find(|(n, _)| *n == name).map(|(_, kind)| kind.clone())
}

/// Sums of heavier weights, and what is divided by lighter ones, would be no numbers any more.
const HEAVIEST: f64 = 1e12;

fn weight(text: &str) -> Result<f64> {
    text.trim().parse::<f64>().ok().filter(|w| (1.0 / HEAVIEST..=HEAVIEST).contains(w)).ok_or_else(|| {
        Error::bad_option("reads", format!("`{text}` is not a weight: a number above zero is, up to 1e12"))
    })
}

fn length(item: &str, dims: &[&str]) -> Result<(String, Extent)> {
    let bad = |why: &str| Error::bad_option("reads", format!("`{}`: {why}", item.trim()));
    let Some((name, len)) = item.split_once('=') else {
        let meant = did_you_mean(item.trim(), &NAMED.map(|(name, _)| name));
        return Err(bad(&format!(
            "this is neither a read (map, series, profile, column, box, full) nor the length of a dimension \
             (time=all, lat=1){meant}"
        )));
    };
    let (name, len) = (name.trim(), len.trim());
    if name.is_empty() || !dims.is_empty() && !dims.contains(&name) {
        let reads = NAMED.map(|(name, _)| name);
        let meant = did_you_mean(name, &[&reads[..], dims].concat());
        return Err(bad(&format!("there is no such dimension, and no read of that name{meant}")));
    }
    let extent = match len {
        "all" => Extent::All,
        _ => match len.split_once('/') {
            Some(("1", n)) => Extent::Part(n.trim().parse().map_err(|_| bad("a part is written 1/8"))?),
            Some(_) => return Err(bad("a part is written 1/8")),
            None => Extent::Count(len.parse().map_err(|_| bad("a length is a number, `all`, or `1/8`"))?),
        },
    };
    match extent {
        Extent::Count(0) | Extent::Part(0) => Err(bad("a read of nothing has no cost")),
        _ => Ok((name.to_owned(), extent)),
    }
}

/// A read of one array: a box of a number of elements on each axis, at any place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pattern {
    /// The usual name.
    pub name: String,
    /// Elements on each axis, at least 1 and at most the axis' length (1 for an empty one).
    pub counts: Vec<u64>,
    /// Its weight.
    pub weight: f64,
}

impl Pattern {
    /// The accesses as boxes of one array. Accesses that mean nothing for it (a profile of an array without
    /// levels) are left out; those that are the same box there become one with the sum of their weights. When
    /// none is left it is the whole array that is read.
    pub fn bind(accesses: &[Access], axes: &[Axis]) -> Vec<Pattern> {
        let mut out: Vec<Pattern> = Vec::new();
        for access in accesses {
            let Some((name, extents)) = extents(&access.kind, axes) else { continue };
            let counts: Vec<u64> = extents.iter().zip(axes).map(|(e, a)| count(*e, a.len)).collect();
            match out.iter_mut().find(|p| p.counts == counts) {
                Some(same) => same.weight += access.weight,
                None => out.push(Pattern { name, counts, weight: access.weight }),
            }
        }
        if out.is_empty() {
            let counts = axes.iter().map(|a| a.len.max(1)).collect();
            out.push(Pattern { name: "full".into(), counts, weight: 1.0 });
        }
        out
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        shape::elements(&self.counts)
    }

    /// Never: a pattern has one element at least.
    pub fn is_empty(&self) -> bool {
        false
    }
}

fn count(extent: Extent, len: u64) -> u64 {
    let len = len.max(1);
    match extent {
        Extent::All => len,
        Extent::Count(n) => n.clamp(1, len),
        Extent::Part(n) => len.div_ceil(n.max(1)),
    }
}

/// The axis along which series go: time; else the one that grows. Of a single step there is no series.
fn time_of(axes: &[Axis]) -> Option<usize> {
    let time = axes.iter().position(|a| a.role == Role::Time);
    time.or_else(|| axes.iter().position(|a| a.unlimited)).filter(|&t| axes[t].len > 1)
}

fn extents(kind: &Kind, axes: &[Axis]) -> Option<(String, Vec<Extent>)> {
    // The corners of a cell are never read apart.
    let of = |name: &str, all: &dyn Fn(usize) -> bool| {
        let whole = |d: usize| all(d) || axes[d].role == Role::Corner;
        let list = (0..axes.len()).map(|d| if whole(d) { Extent::All } else { Extent::Count(1) }).collect();
        Some((name.to_owned(), list))
    };
    let find = |role| axes.iter().position(|a| a.role == role);
    let time = time_of(axes);
    let (y, x, z) = (find(Role::Y), find(Role::X), find(Role::Vertical));
    match kind {
        Kind::Map if y.is_none() && x.is_none() => match (time, axes.len()) {
            (_, 1) | (None, 0..=2) => of("map", &|_| true),
            (None, rank) => of("map", &|d| d + 2 >= rank),
            (Some(t), _) => of("map", &|d| d != t),
        },
        Kind::Map => of("map", &|d| Some(d) == y || Some(d) == x),
        Kind::Series => time.and_then(|t| of("series", &|d| d == t)),
        Kind::Profile => z.and_then(|z| of("profile", &|d| d == z)),
        Kind::Column => z.and_then(|z| of("column", &|d| d == z || Some(d) == time)),
        Kind::Full => of("full", &|_| true),
        Kind::Box => {
            let part = |a: &Axis| if a.role == Role::Corner { Extent::All } else { Extent::Part(BOX_PARTS) };
            Some(("box".to_owned(), axes.iter().map(part).collect()))
        }
        Kind::Lengths(lengths) => {
            // Lengths of dimensions that the array does not have say nothing about it.
            if !lengths.iter().any(|(name, _)| axes.iter().any(|a| a.name == *name)) {
                return None;
            }
            let list: Vec<Extent> = axes
                .iter()
                .map(|a| lengths.iter().find(|(n, _)| *n == a.name).map_or(Extent::Count(1), |(_, e)| *e))
                .collect();
            let text = |e: &Extent| match e {
                Extent::All => "all".to_owned(),
                Extent::Count(n) => n.to_string(),
                Extent::Part(n) => format!("1/{n}"),
            };
            let name: Vec<String> = lengths.iter().map(|(n, e)| format!("{n}={}", text(e))).collect();
            Some((name.join(","), list))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ocean() -> Vec<Axis> {
        vec![
            Axis::new("time", 60, Role::Time).unlimited(),
            Axis::new("depth", 40, Role::Vertical),
            Axis::new("y", 330, Role::Y),
            Axis::new("x", 360, Role::X),
        ]
    }

    #[test]
    fn weights_are_numbers_that_can_be_added() {
        for bad in ["series=1e308,map=1e308", "map=0", "map=-1", "map=nan", "map=inf", "map=1e-300", "map=x"]
        {
            assert!(Access::parse(bad, &[]).is_err(), "{bad}");
        }
        assert_eq!(Access::parse("map=0.25", &[]).unwrap()[0].weight, 0.25);
    }

    #[test]
    fn named_accesses_are_boxes() {
        let list = Access::parse("map, series=3; profile,column,box,full", &["time"]).unwrap();
        let got: Vec<_> = Pattern::bind(&list, &ocean()).into_iter().map(|p| (p.counts, p.weight)).collect();
        assert_eq!(
            got,
            [
                (vec![1, 1, 330, 360], 1.0),
                (vec![60, 1, 1, 1], 3.0),
                (vec![1, 40, 1, 1], 1.0),
                (vec![60, 40, 1, 1], 1.0),
                (vec![8, 5, 42, 45], 1.0),
                (vec![60, 40, 330, 360], 1.0)
            ]
        );
    }

    #[test]
    fn lengths_are_boxes() {
        let list = Access::parse("time=all,y=3,x=1/10:2;map=1", &["time", "y", "x"]).unwrap();
        let got = Pattern::bind(&list, &ocean());
        assert_eq!((&got[0].counts[..], got[0].weight), (&[60, 1, 3, 36][..], 2.0));
        assert_eq!(got[0].name, "time=all,y=3,x=1/10");
        assert_eq!(got[1].name, "map");
        for bad in
            ["", "maps", "time=0", "time=x", "time=2/3", "map=-1", "map=nan", "time=all:0", "q=1", "time"]
        {
            assert!(Access::parse(bad, &["time", "y"]).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_falls_together_is_one_and_what_means_nothing_is_left_out() {
        let one = [Axis::new("time", 100, Role::Time)];
        let got = Pattern::bind(&Access::usual(), &one);
        assert_eq!((got.len(), got[0].weight, got[0].counts[0]), (1, 3.0, 100));
        let profile = [Access { kind: Kind::Profile, weight: 1.0 }];
        assert_eq!(Pattern::bind(&profile, &one)[0].name, "full");
        let stations = [Axis::new("station", 25_000, Role::Other), Axis::new("time", 31, Role::Time)];
        let got = Pattern::bind(&Access::usual(), &stations);
        assert_eq!(got[0].counts, [1, 31]);
        assert_eq!(got[1].counts, [25_000, 1]);
        assert_eq!(Pattern::bind(&Access::usual(), &[])[0].counts, Vec::<u64>::new());
    }

    /// A static field has no series, nor has a single time; corners of cells are read together.
    #[test]
    fn only_time_makes_series() {
        let names = |axes: &[Axis]| -> Vec<(String, Vec<u64>)> {
            Pattern::bind(&Access::usual(), axes).into_iter().map(|p| (p.name, p.counts)).collect()
        };
        let topo = [Axis::new("lat", 1800, Role::Y), Axis::new("lon", 3600, Role::X)];
        assert_eq!(names(&topo), [("map".into(), vec![1800, 3600])]);
        let mut once = ocean();
        once[0].len = 1;
        let got = names(&once);
        assert_eq!(got.iter().map(|p| &p.0[..]).collect::<Vec<_>>(), ["map", "full"]);
        let grows = [Axis::new("run", 100, Role::Other).unlimited(), Axis::new("q", 7, Role::Other)];
        assert_eq!(names(&grows)[0], ("series".into(), vec![100, 1]));
        let table = [Axis::new("a", 100, Role::Other), Axis::new("b", 7, Role::Other)];
        assert_eq!(names(&table), [("map".into(), vec![100, 7])]);
        let bounds = [Axis::new("lat", 90, Role::Y), Axis::new("nv", 4, Role::Corner)];
        assert_eq!(names(&bounds), [("map".into(), vec![90, 4])]);
        let bounds = [Axis::new("time", 90, Role::Time), Axis::new("nv", 2, Role::Corner)];
        assert!(names(&bounds).iter().all(|p| p.1[1] == 2));
    }
}
