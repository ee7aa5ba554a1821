//! Objects to which several links lead: each link to a group shows all that is in the group, and links that lead to one another show more
//! objects than any file has.
//!
//! Each object is shown twice in any case: under its own name, and under another. What is shown more often is limited in all, be it of this
//! file or of others.

use std::collections::HashMap;
use std::hash::Hash;

use crate::model::{Attribute, Value, Values};

/// Objects that are shown more than twice, at most; a KiB of attributes counts as one.
const MOST: usize = 1 << 15;

/// The objects that were shown, each with what it takes to show it and whether it was shown again; and what is left for showing some more often.
#[derive(Debug)]
pub(super) struct Shown<G> {
    known: HashMap<G, (usize, bool)>,
    left: usize,
}

impl<G> Default for Shown<G> {
    fn default() -> Self {
        Shown { known: HashMap::new(), left: MOST }
    }
}

impl<G: Eq + Hash> Shown<G> {
    /// Whether an object is shown for the first time; why it cannot be shown again.
    pub(super) fn is_first(&mut self, object: &G) -> Result<bool, String> {
        let Some((cost, is_twice)) = self.known.get_mut(object) else { return Ok(true) };
        if std::mem::replace(is_twice, true) {
            self.left = self.left.checked_sub(*cost).ok_or_else(|| {
                format!(
                    "an object that is shown elsewhere, too: no more than {MOST} objects are shown more than twice"
                )
            })?;
        }
        Ok(false)
    }

    /// Notes what an object has, without what is noted itself.
    pub(super) fn note(&mut self, object: G, objects: usize, attribute_bytes: usize) {
        self.known.entry(object).or_insert((1 + objects + (attribute_bytes >> 10), false));
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
