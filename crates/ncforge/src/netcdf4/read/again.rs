//! Groups to which several links lead: each link shows all that is in the group, and links that lead to one another show more objects
//! than any file has.
//!
//! Each group is shown once in any case. What is shown more than once is limited in all, be it of this file or of others.

use std::collections::HashMap;
use std::hash::Hash;

use crate::model::{Attribute, Value, Values};

/// Objects that are shown more than once, at most; a KiB of attributes counts as one.
const MOST: usize = 1 << 15;

/// The groups that were shown, each with what it takes to show it, and what is left for showing some of them again.
#[derive(Debug)]
pub(super) struct Shown<G> {
    known: HashMap<G, usize>,
    left: usize,
}

impl<G> Default for Shown<G> {
    fn default() -> Self {
        Shown { known: HashMap::new(), left: MOST }
    }
}

impl<G: Eq + Hash> Shown<G> {
    /// Whether a group is shown for the first time; why it cannot be shown again.
    pub(super) fn is_first(&mut self, group: &G) -> Result<bool, String> {
        let Some(cost) = self.known.get(group) else { return Ok(true) };
        self.left = self.left.checked_sub(*cost).ok_or_else(|| {
            format!(
                "a group that is shown elsewhere, too: no more than {MOST} objects are shown more than once"
            )
        })?;
        Ok(false)
    }

    /// Notes what a group has, without those below that may be left out on their own.
    pub(super) fn note(&mut self, group: G, objects: usize, attribute_bytes: usize) {
        self.known.entry(group).or_insert(1 + objects + (attribute_bytes >> 10));
    }
}

/// Bytes of the values of attributes.
pub(super) fn bytes(attrs: &[Attribute]) -> usize {
    let of = |a: &Attribute| match &a.values {
        Values::Fixed(bytes) => bytes.len(),
        Values::Heap(list) => list.iter().map(inside).sum(),
    };
    attrs.iter().map(of).sum()
}

/// Bytes that a value has, and about what it takes itself.
fn inside(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Fixed(bytes) | Value::Row(bytes) => bytes.len(),
            Value::String(text) => text.as_ref().map_or(0, Vec::len),
            Value::HeapRow(list) | Value::Compound(list) => list.iter().map(inside).sum(),
        }
}
