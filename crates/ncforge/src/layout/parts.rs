//! Arrays whose elements are those of other variables.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use super::VarLayout;
use crate::error::Result;
use crate::model::{Value, VarId};
use crate::store::ReadStore;

/// Finds the parts of an array. Later parts lie over earlier ones. Elements in no part are absent, and so are those of a part whose
/// source is not there.
pub trait PartIndex: Send + Sync + Debug {
    /// The parts that may have elements in a box, in their order. `last` is inside the box.
    ///
    /// # Errors
    /// What says where the parts are cannot be read.
    fn meeting(&self, first: &[u64], last: &[u64]) -> Result<Vec<Cow<'_, ArrayPart>>>;
}

/// A list of parts in their order.
#[derive(Debug, Default)]
pub struct Parts {
    /// The parts.
    pub list: Vec<ArrayPart>,
}

impl PartIndex for Parts {
    fn meeting(&self, first: &[u64], last: &[u64]) -> Result<Vec<Cow<'_, ArrayPart>>> {
        let may_meet = |(d, axis): (usize, &PartAxis)| {
            axis.stretches.iter().any(|s| s.to <= last[d] && s.last() >= first[d])
        };
        let meets = |part: &&ArrayPart| part.axes.iter().enumerate().all(may_meet);
        Ok(self.list.iter().filter(meets).map(Cow::Borrowed).collect())
    }
}

/// Elements of an array that are those of another variable.
#[derive(Clone, Debug)]
pub struct ArrayPart {
    /// For each dimension of the array, which elements; the part is all combinations of them.
    pub axes: Vec<PartAxis>,
    /// For each dimension of the source the element that is taken, where no axis lies along it.
    pub origin: Vec<u64>,
    /// The source.
    pub source: Arc<dyn PartSource>,
}

/// The elements of a part along one dimension of the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartAxis {
    /// The dimension of the source along which they lie. `None`: one element, whose place the part's origin says.
    pub along: Option<usize>,
    /// The elements, none of them twice.
    pub stretches: Vec<Stretch>,
}

/// Elements at equal distances, in the array and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first element in the array.
    pub to: u64,
    /// From an element to the next in the array, at least 1.
    pub to_step: u64,
    /// The first element in the source.
    pub from: u64,
    /// From an element to the next in the source, at least 1.
    pub from_step: u64,
    /// The number of elements, at least 1.
    pub count: u64,
}

impl Stretch {
    /// Adjacent elements.
    pub fn run(to: u64, from: u64, count: u64) -> Self {
        Self { to, to_step: 1, from, from_step: 1, count }
    }

    /// The last element in the array.
    fn last(&self) -> u64 {
        self.to.saturating_add(self.count.saturating_sub(1).saturating_mul(self.to_step))
    }
}

/// The source of a part, opened when it is needed.
pub trait PartSource: Send + Sync + Debug {
    /// Its present state; `None` if it is not there.
    ///
    /// # Errors
    /// It is there and cannot be read, or has values of another type.
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>>;
    /// What it is, for messages and lists: "`d` in `b.h5`".
    fn describe(&self) -> String;
}

/// A variable that is open as the source of a part.
pub trait OpenPart: Send + Sync {
    /// The store with its bytes.
    fn store(&self) -> &Arc<dyn ReadStore>;
    /// Its number in that store.
    fn var(&self) -> VarId;
    /// Its layout.
    ///
    /// # Errors
    /// As [`Container::layout`](crate::Container::layout).
    fn layout(&self) -> Result<Arc<VarLayout>>;
    /// Its shape, where that is not the one of its layout.
    fn shape(&self) -> Option<Vec<u64>> {
        None
    }
    /// Dimensions of length 1 that the part names, and that it does not have, in ascending order.
    fn lacks(&self) -> &[usize] {
        &[]
    }
    /// How its elements become elements of the array; `None`: they are such.
    fn convert(&self) -> Option<&dyn Convert> {
        None
    }
    /// Values of a heap type from stored elements.
    ///
    /// # Errors
    /// As [`Container::decode_heap`](crate::Container::decode_heap).
    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>>;
}

/// A conversion of numbers.
pub trait Convert: Send + Sync {
    /// Converts numbers in native byte order, into memory for as many numbers of the array's type.
    ///
    /// # Errors
    /// A number that the array's type does not have.
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()>;
}
