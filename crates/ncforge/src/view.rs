//! Views: some of a dataset's indices along each dimension, and variables of other types, as a dataset like any other.
//!
//! A subset of a file, a tile of one and a file whose types the classic model has are copies of views. Dimensions and variables are those
//! of the whole, with the same numbers; lengths, types, names and attributes may differ. The indices along a dimension are a run, as a
//! rule; two where a longitude wraps; or every so many.

mod index;
mod part;
mod ranges;
mod unpacked;

use std::sync::{Arc, OnceLock};

use self::index::ViewIndex;
use self::part::{Change, OfWhole, One, Source, Whole};
pub use self::ranges::{Ranges, Span};
pub use self::unpacked::{Packing, Unpacked};
pub(crate) use self::unpacked::{is_unsigned, missing};
use crate::container::{Container, Records, Remark, VarGroup};
use crate::error::{Error, Result};
use crate::layout::{Absent, ArrayPart, Convert, PartAxis, Place, Runs, Stretch, VarLayout};
use crate::model::{DimId, Schema, Value, VarId, shape};
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// What a view takes of a whole.
#[derive(Debug)]
pub struct View {
    schema: Schema,
    /// The indices along each dimension; `None`: all.
    ranges: Vec<Option<Ranges>>,
    /// The changes of values, by variable.
    changes: Vec<Option<Change>>,
    remarks: Vec<Remark>,
}

impl View {
    /// The view of a whole with these indices, one entry for each dimension.
    pub fn of(whole: &Schema, ranges: Vec<Option<Ranges>>) -> Self {
        Self::described(whole, ranges, whole.clone())
    }

    /// As [`Self::of`], with a description of its own: that of the whole, but for names, attributes and lengths.
    pub fn described(whole: &Schema, mut ranges: Vec<Option<Ranges>>, mut schema: Schema) -> Self {
        ranges.resize(schema.dims.len(), None);
        for (d, own) in ranges.iter_mut().enumerate() {
            *own = own.take().filter(|r| !r.is_all(whole.dims[d].len));
            schema.dims[d].len = own.as_ref().map_or(schema.dims[d].len, Ranges::len);
        }
        let changes = vec![None; schema.vars.len()];
        View { schema, ranges, changes, remarks: Vec::new() }
    }

    /// All of a whole, of which some variables have other values, of the type that they have in this description, which is
    /// otherwise that of the whole but for attributes.
    pub fn converted(schema: Schema, changes: impl IntoIterator<Item = (VarId, Arc<dyn Convert>)>) -> Self {
        let mut view = Self::described(&schema.clone(), Vec::new(), schema);
        for (v, convert) in changes {
            let var = view.schema.var(v);
            let element = crate::model::element_of(&view.schema, var.dtype, var.endian);
            view.changes[v.0] = element.map(|element| Change { convert, element: element.in_memory() });
        }
        view
    }

    /// Adds remarks for the user.
    #[must_use]
    pub fn with_remarks(self, remarks: Vec<Remark>) -> Self {
        View { remarks, ..self }
    }

    /// What it adds to those of the whole.
    pub(crate) fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Which part of the whole it is: of the same whole, another text is another part.
    pub(crate) fn part(&self) -> String {
        match self.ranges.iter().any(Option::is_some) {
            true => format!("{:?}", self.ranges),
            false => String::new(),
        }
    }

    /// The indices along the axes of a variable.
    fn axes(&self, v: VarId) -> Vec<Ranges> {
        let all = |d: usize| Ranges::new([Span::run(0..self.schema.dims[d].len)]);
        self.schema.var(v).dims.iter().map(|d| self.ranges[d.0].clone().unwrap_or_else(|| all(d.0))).collect()
    }

    /// Whether a variable is the whole's.
    fn is_whole(&self, v: VarId) -> bool {
        self.schema.var(v).dims.iter().all(|d| self.ranges[d.0].is_none()) && self.changes[v.0].is_none()
    }

    /// Whether the only indices that a variable lacks are some at the ends of its first dimension, or between equal steps there.
    fn is_first_cut(&self, v: VarId) -> bool {
        let own = |d: &DimId| self.ranges[d.0].as_ref();
        let dims = &self.schema.var(v).dims;
        dims.iter().skip(1).all(|d| own(d).is_none())
            && dims.first().and_then(own).is_none_or(|r| r.spans().len() == 1)
    }
}

/// A view of a whole in a state of it.
#[derive(Debug)]
pub(crate) struct Seen {
    view: Arc<View>,
    whole: Arc<dyn Container>,
    /// The number that a variable has in this state, where that is another one than at the opening.
    moved: Option<(VarId, VarId)>,
    layouts: Vec<OnceLock<Arc<VarLayout>>>,
}

impl Seen {
    /// A view of a whole as it was opened.
    pub(crate) fn new(view: Arc<View>, whole: Arc<dyn Container>) -> Self {
        let layouts = std::iter::repeat_with(OnceLock::new).take(view.schema.vars.len()).collect();
        Seen { view, whole, moved: None, layouts }
    }

    /// A view of a later state of the whole, in which a variable has another number.
    pub(crate) fn later(view: Arc<View>, whole: Arc<dyn Container>, var: VarId, now: VarId) -> Self {
        Seen { moved: Some((var, now)), ..Self::new(view, whole) }
    }

    /// The whole's variable.
    fn var(&self, v: VarId) -> VarId {
        self.moved.filter(|(var, _)| *var == v).map_or(v, |(_, now)| now)
    }

    fn are_whole(&self, mut vars: impl Iterator<Item = VarId>) -> bool {
        vars.all(|v| self.view.is_whole(v))
    }

    fn cut(&self, v: VarId) -> Result<Arc<VarLayout>> {
        let (view, var) = (&self.view, self.var(v));
        let whole = self.whole.layout(var)?;
        if view.is_whole(v) || whole.place.unsupported().is_some() {
            return Ok(whole);
        }
        let (axes, want) = (view.axes(v), view.schema.shape(v));
        let mut layout = VarLayout::clone(&whole);
        if let Some(change) = &view.changes[v.0] {
            // Elements that nobody wrote are converted like the rest.
            (layout.element, layout.absent) = (change.element.clone(), Absent::Several);
            layout.shape.clone_from(&want);
        } else {
            let stored = axes.iter().zip(&whole.shape).map(|(ranges, n)| ranges.first_below(*n));
            match stored.collect::<Option<Vec<u64>>>() {
                Some(stored) => layout.shape = stored,
                // What lies beyond the end of the whole is in the middle of the view.
                None => {
                    layout.shape.clone_from(&want);
                    if layout.absent.one().is_none() {
                        layout.absent = Absent::Several;
                    }
                }
            }
            layout.absent = layout.absent.within(&layout.shape, &want);
        }
        let rows = whole.runs().zip(axes.first().and_then(|r| r.spans().first()));
        layout.place = match rows.filter(|_| view.changes[v.0].is_none() && view.is_first_cut(v)) {
            _ if whole.place.is_nowhere() && view.changes[v.0].is_none() => Place::Nowhere,
            Some((runs, span)) => rows_of(runs, span, &whole),
            None => Place::Parts(Arc::new(self.part(v, whole, &axes, want))),
        };
        Ok(Arc::new(layout))
    }

    fn part(&self, v: VarId, whole: Arc<VarLayout>, axes: &[Ranges], shape: Vec<u64>) -> One {
        let (var, change) = (self.var(v), self.view.changes[v.0].clone());
        let of_whole = self.whole.schema().shape(var);
        let kept = match whole.place.chunks() {
            Some(chunks) => {
                // A chunk that reaches past the end of the whole holds anything there: it may be at the end only.
                let fits =
                    |((r, &c), &n): ((&Ranges, &u64), &u64)| r.is_aligned(c) && r.first_below(n).is_some();
                OfWhole::Chunks(Arc::new(ViewIndex {
                    whole: chunks.index.clone(),
                    shape: of_whole.clone(),
                    chunk: chunks.chunk.to_vec(),
                    is_exact: change.is_none()
                        && chunks.index.is_exact()
                        && axes.iter().zip(chunks.chunk).zip(&whole.shape).all(fits),
                    axes: axes.to_vec(),
                }))
            }
            None if whole.is_in_rows() => OfWhole::Rows,
            None => OfWhole::Otherwise,
        };
        let container = self.whole.clone();
        let of = Arc::new(Whole { container, var, layout: whole, shape: of_whole, change });
        let part = ArrayPart {
            origin: vec![0; axes.len()],
            source: Arc::new(Source(of.clone())),
            axes: axes.iter().enumerate().map(|(d, ranges)| axis(d, ranges)).collect(),
        };
        One { part, of, kept, shape, end: axes.first().map(Ranges::end) }
    }
}

/// The elements along a dimension.
fn axis(d: usize, ranges: &Ranges) -> PartAxis {
    let mut to = 0;
    let stretches = ranges.spans().iter().map(|s| {
        let stretch = Stretch { to, to_step: 1, from: s.first, from_step: s.step, count: s.count };
        to += s.count;
        stretch
    });
    PartAxis { along: Some(d), stretches: stretches.collect() }
}

/// Where the rows of a span of the first dimension lie.
fn rows_of(runs: Runs, span: &Span, whole: &VarLayout) -> Place {
    let row = shape::bytes(whole.shape.get(1..).unwrap_or_default(), whole.element.size as u64);
    let stride = runs.stride.unwrap_or(row);
    let begin = runs.begin.saturating_add(span.first.saturating_mul(stride));
    match (runs.stride, span.step) {
        (None, 1) => Place::Contiguous { offset: begin },
        (_, step) => Place::Records { begin, stride: stride.saturating_mul(step) },
    }
}

impl Container for Seen {
    fn schema(&self) -> &Schema {
        &self.view.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.whole.store()
    }

    fn layout(&self, v: VarId) -> Result<Arc<VarLayout>> {
        let Some(slot) = self.layouts.get(v.0) else {
            return Err(Error::NoSuchId { kind: "variable", id: v.0 });
        };
        match slot.get() {
            Some(known) => Ok(known.clone()),
            None => {
                let found = self.cut(v)?;
                Ok(slot.get_or_init(|| found).clone())
            }
        }
    }

    fn decode_heap(&self, v: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        self.whole.decode_heap(self.var(v), stored)
    }

    fn var_group(&self, v: VarId) -> Option<&VarGroup> {
        self.whole.var_group(v).filter(|group| self.are_whole(group.vars.clone().map(VarId)))
    }

    fn read_together(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.whole.read_together(vars, slab, out)
    }

    fn records(&self, vars: &[VarId]) -> Result<Option<Records>> {
        if self.are_whole(vars.iter().copied()) {
            return self.whole.records(vars);
        }
        if self.store().blocks().is_some() {
            return Ok(None);
        }
        let layouts = vars.iter().map(|&v| self.layout(v)).collect::<Result<Vec<_>>>()?;
        Ok(Records::of(&layouts))
    }

    fn record_file(&self, number: usize) -> Result<Arc<dyn ReadStore>> {
        self.whole.record_file(number)
    }

    fn missing_bytes(&self) -> u64 {
        self.whole.missing_bytes()
    }
}
