//! A cut or converted variable: an array of one part.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::container::Container;
use crate::error::Result;
use crate::layout::{
    ArrayPart, ChunkIndex, Chunks, Convert, Element, Kept, OpenPart, PartIndex, PartSource, SourceName,
    VarLayout,
};
use crate::model::{Value, VarId, shape};
use crate::store::ReadStore;

/// The change of the values of a variable.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) convert: Arc<dyn Convert>,
    pub(super) element: Element,
}

/// The one part.
#[derive(Debug)]
pub(super) struct One {
    pub(super) part: ArrayPart,
    pub(super) of: Arc<Whole>,
    pub(super) kept: OfWhole,
    /// The shape of the view's variable.
    pub(super) shape: Vec<u64>,
    /// One behind the largest index of the whole along its first dimension.
    pub(super) end: Option<u64>,
}

/// How the whole holds the values.
#[derive(Debug)]
pub(super) enum OfWhole {
    Otherwise,
    Rows,
    /// In chunks, which its layout tells, and the view finds here.
    Chunks(Arc<dyn ChunkIndex>),
}

impl PartIndex for One {
    fn meeting(&self, within: &[Range<u64>]) -> Result<Vec<Cow<'_, ArrayPart>>> {
        let is_empty = within.iter().any(Range::is_empty);
        Ok(Some(&self.part).filter(|_| !is_empty).map(Cow::Borrowed).into_iter().collect())
    }

    fn sources(&self) -> Result<Vec<Arc<dyn PartSource>>> {
        Ok(vec![self.part.source.clone()])
    }

    fn kept(&self) -> Kept<'_> {
        match (&self.kept, self.of.layout.place.chunks()) {
            (OfWhole::Chunks(index), Some(Chunks { chunk, codecs, .. })) => {
                Kept::Chunks(Chunks { chunk, codecs, index })
            }
            (OfWhole::Rows, _) => Kept::Rows,
            _ => Kept::Otherwise,
        }
    }

    /// By its share of the values.
    fn stored_bytes(&self) -> Result<u64> {
        let share = shape::elements(&self.shape) as f64 / shape::elements(&self.of.shape).max(1) as f64;
        Ok((self.of.layout.stored_bytes(u64::MAX)? as f64 * share) as u64)
    }

    fn last_byte(&self) -> Result<Option<(u64, u64)>> {
        let mut layout = VarLayout::clone(&self.of.layout);
        if let (Some(n), Some(end)) = (layout.shape.first_mut(), self.end) {
            *n = (*n).min(end);
        }
        layout.last_byte(&**self.of.container.store())
    }
}

/// The variable of the whole, in a state of it.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) container: Arc<dyn Container>,
    pub(super) var: VarId,
    pub(super) layout: Arc<VarLayout>,
    pub(super) shape: Vec<u64>,
    pub(super) change: Option<Change>,
}

/// The source of the part.
#[derive(Debug)]
pub(super) struct Source(pub(super) Arc<Whole>);

impl PartSource for Source {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(Some(self.0.clone()))
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

impl OpenPart for Whole {
    fn store(&self) -> &Arc<dyn ReadStore> {
        self.container.store()
    }

    fn var(&self) -> VarId {
        self.var
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        Ok(self.layout.clone())
    }

    fn shape(&self) -> Option<Vec<u64>> {
        Some(self.shape.clone())
    }

    fn convert(&self) -> Option<&dyn Convert> {
        self.change.as_ref().map(|change| &*change.convert)
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        self.container.decode_heap(self.var, stored)
    }
}
