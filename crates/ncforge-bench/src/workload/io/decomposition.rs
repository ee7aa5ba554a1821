//! Decomposition maps: which rank has which elements, as climate models have written them.
//!
//! The Parallel I/O library (PIO, and Scorpio, its descendant in E3SM) saves the decomposition of a field as text: a line
//! `version 2001 npes N ndims D`, a line of the D lengths (slowest first), and for each of N ranks a line with its number and the number of its
//! elements, and a line with the places of these in the whole array. Places count from 1, and 0 is an element of the rank's that is not in the file
//! (land in an ocean field). Files that count from 0 have -1 for these. What follows the maps (who called) is not read.

use std::collections::HashMap;
use std::path::Path;

use ncforge::Hyperslab;
use ncforge::select::unravel;

use crate::error::{Error, Result};

/// The version of these files that there is.
const VERSION: u64 = 2001;
/// More elements than a map that fits into memory has.
const MOST: u64 = 1 << 32;

/// A decomposition of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decomposition {
    /// Lengths of the array, slowest dimension first.
    pub(super) shape: Vec<u64>,
    /// Places that each rank has, counted from 0, in their order, each once.
    pub(super) maps: Vec<Vec<u64>>,
    /// Elements of ranks that are not in the file.
    pub(super) holes: u64,
}

impl Decomposition {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Unreadable`] with the place where it is no such file; [`Error::Io`].
    pub(super) fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
        // What is behind the maps may be anything; in them there are no other letters than these.
        Self::parse(&String::from_utf8_lossy(&bytes)).map_err(|why| {
            Error::Unreadable(format!("`{}` is no decomposition of PIO: {why}", path.display()))
        })
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut words = Words { all: text.split_ascii_whitespace(), read: 0 };
        words.keyword("version")?;
        let version = words.number("the version")?;
        if version != VERSION as i64 {
            return Err(format!("its version is {version}, not {VERSION}"));
        }
        words.keyword("npes")?;
        let ranks = words.count("the number of ranks", 1 << 24)?;
        words.keyword("ndims")?;
        let dims = words.count("the number of dimensions", 64)?;
        let shape: Vec<u64> =
            (0..dims).map(|_| words.count("a length", i64::MAX as u64)).collect::<Result<_, _>>()?;
        let total = shape.iter().try_fold(1u64, |n, &len| n.checked_mul(len)).filter(|&n| n <= MOST);
        let total = total.ok_or_else(|| format!("an array {shape:?} is too large for a map"))?;
        // A number may be missing at the end of the file only: every element has at least two characters.
        let room = text.len() as u64 / 2 + 1;
        let mut maps: Vec<Vec<i64>> = Vec::new();
        for rank in 0..ranks {
            let told = words.number("a rank")?;
            if told != rank as i64 {
                return Err(format!("after rank {} comes rank {told}", rank as i64 - 1));
            }
            let len = match words.number("the number of a rank's elements")? {
                n if n >= 0 && n as u64 <= room => n as usize,
                n => return Err(format!("rank {rank} has {n} elements, the file has not as many")),
            };
            maps.push((0..len).map(|_| words.number("a place")).collect::<Result<_, _>>()?);
        }
        let base = base(&maps, total);
        let mut holes = 0;
        let mut out = Vec::with_capacity(maps.len());
        for (rank, map) in maps.into_iter().enumerate() {
            let mut places = Vec::with_capacity(map.len());
            for place in map {
                match place - base {
                    -1 => holes += 1,
                    at if at >= 0 && (at as u64) < total => places.push(at as u64),
                    _ => return Err(format!("rank {rank} has place {place} of an array of {total}")),
                }
            }
            places.sort_unstable();
            places.dedup();
            out.push(places);
        }
        Ok(Decomposition { shape, maps: out, holes })
    }

    /// The boxes of each of so many ranks, which share out the file's: the first one takes the first map, and so on, in turn.
    pub(super) fn boxes(&self, ranks: usize) -> Vec<Vec<Hyperslab>> {
        let mut of = vec![Vec::new(); ranks];
        for (number, map) in self.maps.iter().enumerate() {
            of[number % ranks].extend(boxes(map, &self.shape));
        }
        of
    }
}

/// Where places are counted from: 1, as PIO does; 0 in files with holes of -1, and in those that have each place from 0 on once.
fn base(maps: &[Vec<i64>], total: u64) -> i64 {
    let all = || maps.iter().flatten().copied();
    if all().any(|p| p < 0) {
        return 0;
    }
    let has = |place: i64| all().any(|p| p == place);
    let whole = all().count() as u64 == total && all().filter(|&p| p == 0).count() == 1;
    i64::from(!whole || has(total as i64))
}

/// Places (sorted, each once) of a row-major array as boxes: runs along the last dimension, and equal ones that lie side by side as one.
fn boxes(places: &[u64], shape: &[u64]) -> Vec<Hyperslab> {
    let dims = shape.len();
    let width = shape.last().copied().unwrap_or(1);
    let mut all: Vec<Hyperslab> = Vec::new();
    let mut next = None;
    for &place in places {
        // A run ends with its row.
        if next == Some(place)
            && !place.is_multiple_of(width)
            && let Some(last) = all.last_mut()
        {
            last.count[dims - 1] += 1;
        } else {
            all.push(Hyperslab::new(&unravel(place, shape), &vec![1; dims]));
        }
        next = Some(place + 1);
    }
    for d in (0..dims.saturating_sub(1)).rev() {
        let mut joined: Vec<Hyperslab> = Vec::with_capacity(all.len());
        // What a neighbour must be like, and where its other half stands.
        let mut ends: HashMap<(Vec<u64>, Vec<u64>), usize> = HashMap::new();
        for one in all {
            let mut count = one.count.clone();
            count[d] = 0;
            let at = match ends.remove(&(one.start.clone(), count.clone())) {
                Some(at) => {
                    joined[at].count[d] += one.count[d];
                    at
                }
                None => {
                    joined.push(one.clone());
                    joined.len() - 1
                }
            };
            let mut after = one.start.clone();
            after[d] = one.end(d);
            ends.insert((after, count), at);
        }
        all = joined;
    }
    all
}

/// The words of the file, and how many were read.
struct Words<'a> {
    all: std::str::SplitAsciiWhitespace<'a>,
    read: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> std::result::Result<&'a str, String> {
        self.read += 1;
        self.all.next().ok_or_else(|| format!("it ends where {what} should stand"))
    }

    fn keyword(&mut self, word: &str) -> std::result::Result<(), String> {
        match self.next(&format!("`{word}`"))? {
            found if found == word => Ok(()),
            found => Err(format!("`{found}` stands where `{word}` should (word {})", self.read)),
        }
    }

    fn number(&mut self, what: &str) -> std::result::Result<i64, String> {
        let word = self.next(what)?;
        let place = self.read;
        word.parse().map_err(|_| format!("`{word}` stands where {what} should (word {place})"))
    }

    /// A number from 1.
    fn count(&mut self, what: &str, most: u64) -> std::result::Result<u64, String> {
        let n = self.number(what)?;
        match u64::try_from(n) {
            Ok(n) if (1..=most).contains(&n) => Ok(n),
            _ => Err(format!("{what} is {n}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(shape: &str, maps: &[&str]) -> String {
        let dims = shape.split(' ').count();
        let mut text = format!("version 2001 npes {} ndims {dims} \n{shape} \n", maps.len());
        for (rank, map) in maps.iter().enumerate() {
            text += &format!("{rank} {}\n{map} \n", map.split_whitespace().count());
        }
        text + "Obtained 3 stack frames.\n./a.out() [0x1]\n"
    }

    #[test]
    fn places_count_from_one_or_from_nought() {
        let parse = |maps: &[&str]| Decomposition::parse(&file("2 3", maps)).unwrap();
        let found = parse(&["6 5 1", "0 2 0 3 4"]);
        assert_eq!((found.shape, found.holes), (vec![2, 3], 2));
        assert_eq!(found.maps, [vec![0, 4, 5], vec![1, 2, 3]]);
        // From nought: with holes of -1, and where each place stands once.
        let found = parse(&["5 -1", "0 1"]);
        assert_eq!((found.maps, found.holes), (vec![vec![5], vec![0, 1]], 1));
        assert_eq!(parse(&["0 1 2", "3 4 5"]).maps, [[0, 1, 2], [3, 4, 5]]);
        // A rank may have nothing.
        assert_eq!(parse(&["", "1 2"]).maps, [vec![], vec![0, 1]]);
    }

    #[test]
    fn what_is_no_map_is_told_with_its_place() {
        for (text, told) in [
            ("", "ends where `version`"),
            ("CDF", "`CDF` stands where `version`"),
            ("version 7 npes 1 ndims 1 4 0 1 1", "version is 7"),
            ("version 2001 npes 1 ndims 1 4 0 2 1", "ends where a place"),
            ("version 2001 npes 1 ndims 1 4 1 1 1", "after rank -1 comes rank 1"),
            ("version 2001 npes 1 ndims 1 4 0 1 5", "place 5 of an array of 4"),
            ("version 2001 npes 1 ndims 1 4 0 99999 5", "has 99999 elements"),
            ("version 2001 npes 1 ndims 1 -4 0 1 1", "a length is -4"),
            ("version 2001 npes 0 ndims 1 4", "number of ranks is 0"),
            ("version 2001 npes 1 ndims 2 4000000000 4000000000 0 0", "too large"),
            ("version 2001 npes 1 ndims 1 4 0 1 x", "`x` stands where a place should (word 10)"),
        ] {
            let why = Decomposition::parse(text).unwrap_err();
            assert!(why.contains(told), "{text}: {why}");
        }
    }

    #[test]
    fn a_file_of_other_bytes_is_no_map_and_letters_behind_the_maps_do_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        std::fs::write(&path, b"CDF\x01\xff\xfe").unwrap();
        assert_eq!(Decomposition::load(&path).unwrap_err().exit_code(), 4);
        let text = [file("2 3", &["1 2"]).as_bytes(), b"\xe9\n"].concat();
        std::fs::write(&path, text).unwrap();
        assert_eq!(Decomposition::load(&path).unwrap().maps, [[0, 1]]);
    }

    #[test]
    fn boxes_are_as_large_as_they_can_be_and_hold_every_place_once() {
        let shape = [3, 4, 6];
        // Two columns of maps, all of a level, single ones.
        let places = |keep: &dyn Fn(u64, u64, u64) -> bool| -> Vec<u64> {
            let all = (0..72).filter(|p| keep(p / 24, p / 6 % 4, p % 6));
            all.collect()
        };
        for (map, number) in [
            (places(&|_, _, _| true), 1),
            (places(&|_, y, x| (1..3).contains(&y) && (2..5).contains(&x)), 1),
            (places(&|_, _, x| !(2..=3).contains(&x)), 2),
            (places(&|z, _, _| z == 1), 1),
            (places(&|z, y, x| (z + y + x) % 2 == 0), 36),
            (places(&|_, y, x| y != 1 || x != 1), 4),
            (Vec::new(), 0),
        ] {
            let found = boxes(&map, &shape);
            assert_eq!(found.len(), number, "{found:?}");
            let mut seen = Vec::new();
            for b in &found {
                let ranges: Vec<_> = (0..3).map(|d| b.start[d]..b.end(d)).collect();
                seen.extend(
                    ncforge::select::coordinates(&ranges)
                        .map(|at| at.iter().zip(&shape).fold(0, |i, (&a, &n)| i * n + a)),
                );
            }
            seen.sort_unstable();
            assert_eq!(seen, map);
        }
    }

    #[test]
    fn fewer_ranks_take_several_maps() {
        let found = Decomposition::parse(&file("4", &["1", "2", "3", "4"])).unwrap();
        let of = found.boxes(2);
        assert_eq!(of.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((of[0][1].start[0], of[1][0].start[0]), (2, 1));
        assert_eq!(found.boxes(3)[0].len(), 2);
    }
}
