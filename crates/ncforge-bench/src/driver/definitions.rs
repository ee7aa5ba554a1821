//! Files of many definitions and no values: what a metadata benchmark has drivers create, and look through again.

use ncforge::{Atomic, Format};
use serde::{Deserialize, Serialize};

use super::steps::Steps;
use crate::workload::io::format_name;

/// Length of every dimension: values are not what is measured.
pub(super) const LEN: u64 = 4;
/// Type of every variable.
pub(super) const DTYPE: Atomic = Atomic::Float;

/// What a file defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definitions {
    /// Its format.
    #[serde(with = "format_name")]
    pub format: Format,
    /// Groups below the root, among which variables are dealt out; 0: all in the root.
    pub groups: u64,
    /// Dimensions, in the root.
    pub dims: u64,
    /// Variables, of two dimensions each (as far as there are any).
    pub vars: u64,
    /// Attributes of each variable, and of the file: text and numbers in turn.
    pub attrs: u64,
}

/// What an attribute holds.
pub(super) enum Held {
    Text(String),
    Number(f64),
}

impl Definitions {
    /// Things that a file has: groups, dimensions, variables, attributes.
    pub fn things(&self) -> u64 {
        let attributes = self.attrs.saturating_mul(self.vars.saturating_add(1));
        self.groups.saturating_add(self.dims).saturating_add(self.vars).saturating_add(attributes)
    }

    /// Why no file of the format holds this.
    pub(super) fn impossible(&self) -> Option<String> {
        let plain = self.format.is_classic() || self.format == Format::Netcdf4Classic;
        (plain && self.groups > 0).then(|| {
            format!(
                "{} files have no groups; leave out the groups, or take --format netcdf4",
                self.format.kind()
            )
        })
    }

    /// The group of a variable; `None`: the root.
    pub(super) fn group_of(&self, var: u64) -> Option<u64> {
        var.checked_rem(self.groups)
    }

    /// Positions of the dimensions of a variable.
    pub(super) fn dims_of(&self, var: u64) -> Vec<u64> {
        (0..self.dims.min(2)).map(|i| (var + i) % self.dims).collect()
    }

    /// An attribute, of a variable or of the file.
    pub(super) fn attribute(&self, number: u64, var: Option<u64>) -> (String, Held) {
        let of = var.map_or(0, |v| v + 1);
        let held = match number % 2 {
            0 => Held::Text(format!("text {number} of {of}, about as long as a standard name")),
            _ => Held::Number(of as f64 + number as f64 / 8.0),
        };
        (format!("attribute_{number}"), held)
    }
}

/// Names of things by their numbers.
pub(super) mod named {
    pub(in crate::driver) fn group(n: u64) -> String {
        format!("group_{n}")
    }

    pub(in crate::driver) fn dim(n: u64) -> String {
        format!("dimension_{n}")
    }

    pub(in crate::driver) fn var(n: u64) -> String {
        format!("variable_{n}")
    }
}

/// What looking through a file has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquired {
    /// Groups, dimensions, variables, attributes.
    pub things: u64,
    /// A sum over all of them with their names, places, types, lengths and values, in any order.
    pub digest: u64,
}

impl Inquired {
    /// Adds a thing: what kind it is, where it stands, what it is called, and what it holds.
    pub(super) fn add(&mut self, kind: u8, place: &str, name: &[u8], held: &[&[u8]]) {
        let mut hash = Fnv::new();
        hash.part(&[kind]);
        hash.part(place.as_bytes());
        hash.part(name);
        held.iter().for_each(|h| hash.part(h));
        self.things += 1;
        self.digest = self.digest.wrapping_add(hash.0);
    }
}

/// Kinds of things.
pub(super) const GROUP: u8 = b'g';
pub(super) const DIM: u8 = b'd';
pub(super) const VAR: u8 = b'v';
pub(super) const ATTR: u8 = b'a';

/// The hash of Fowler, Noll and Vo, of parts with their lengths.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xCBF2_9CE4_8422_2325)
    }

    fn part(&mut self, bytes: &[u8]) {
        for b in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3);
        }
    }
}

/// Seconds of the steps of one file, by name.
pub type StepTimes = Vec<(&'static str, f64)>;

impl Steps {
    /// The steps alone.
    pub(super) fn into_times(self) -> StepTimes {
        self.all().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_counted_and_dealt_out() {
        let all = Definitions { format: Format::Netcdf4, groups: 3, dims: 2, vars: 7, attrs: 4 };
        assert_eq!(all.things(), 3 + 2 + 7 + 4 * 8);
        assert_eq!((all.group_of(4), all.dims_of(4), all.dims_of(5)), (Some(1), vec![0, 1], vec![1, 0]));
        assert!(all.impossible().is_none());
        let classic = Definitions { format: Format::Cdf5, ..all.clone() };
        assert!(classic.impossible().unwrap().contains("--format netcdf4"));
        let few = Definitions { groups: 0, dims: 1, ..all };
        assert_eq!((few.group_of(4), few.dims_of(4)), (None, vec![0]));
    }

    #[test]
    fn the_digest_knows_places_and_no_order() {
        let (mut a, mut b) = (Inquired::default(), Inquired::default());
        a.add(VAR, "/g", b"x", &[b"1"]);
        a.add(VAR, "/h", b"x", &[b"1"]);
        b.add(VAR, "/h", b"x", &[b"1"]);
        b.add(VAR, "/g", b"x", &[b"1"]);
        assert_eq!(a, b);
        b.add(VAR, "/g", b"x1", &[b""]);
        a.add(VAR, "/g", b"x", &[b"1"]);
        assert_ne!(a, b);
    }
}
