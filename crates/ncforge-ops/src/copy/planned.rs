//! The plan of a copy: the work on each variable, and the report of it.

use serde::Serialize;

use super::identity::hash_of;
use super::reads::ChosenChunks;
use super::schema::Moved;
use super::storage::Chosen;
use crate::boxes::Walk;
use ncforge::codec::quantize::Quantize;
use ncforge::model::{Schema, Storage, shape};
use ncforge_tune::Choice;
use ncforge_tune::codec::CodecChoice;
use ncforge_tune::rates;

/// The size of an element of a heap type in sums.
pub(super) const HEAP_ELEMENT: u64 = 16;
/// Bytes that a chunk takes with its entry in an index, at least.
const CHUNK_ENTRY: u64 = 16;

/// The memory of a copy, by use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// All of it.
    pub(crate) total: u64,
    /// The box being moved.
    pub(crate) boxes: u64,
    /// The engine below: cache, chunks being encoded, scratch.
    pub(crate) engine: u64,
}

impl Memory {
    pub(crate) fn of(total: u64) -> Memory {
        Memory { total, boxes: total / 2, engine: total / 4 }
    }
}

/// The way a variable's bytes take.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Route {
    /// There is nothing to move, and what is not written reads right.
    Nothing,
    /// The variable's values are not copied, but its place must be filled.
    Fill,
    /// Encoded chunks as they are.
    Raw,
    /// Encoded chunks, which get access points.
    Points,
    /// Box by box.
    Boxes,
    /// Through a temporary file; the walk over the source's pieces.
    Spill(Walk),
    /// Trees of values, in batches.
    Heap,
}

/// The work on one variable.
#[derive(Clone, Debug)]
pub(crate) struct VarWork {
    pub(crate) moved: Moved,
    pub(crate) route: Route,
    /// The boxes: the steps of the work, each done or not done.
    pub(crate) walk: Walk,
    /// Bytes of one element in memory; [`HEAP_ELEMENT`] for heap types.
    pub(crate) element: u64,
    /// Whether a chunk that the source never wrote need not be written to the output either.
    pub(crate) sparse: bool,
    /// The rounding of its values on the way.
    pub(crate) quantize: Option<Rounding>,
}

/// A way to lose bits, and the values that keep their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rounding {
    pub(crate) how: Quantize,
    pub(crate) fill: Vec<u8>,
    /// The other elements that stand for no value, in native order.
    pub(crate) missing: Vec<Vec<u8>>,
}

impl VarWork {
    /// Bytes of its largest box.
    pub(crate) fn largest_box(&self) -> u64 {
        match self.walk.len() {
            0 => 0,
            _ => self.walk.box_at(0).len().saturating_mul(self.element),
        }
    }

    /// Bytes of values that its steps move.
    pub(crate) fn bytes(&self) -> u64 {
        if matches!(self.route, Route::Nothing) {
            return 0;
        }
        shape::bytes(&self.walk.grid.shape, self.element)
    }

    /// Bytes that it takes in the output, whatever its values are and however well they compress: a compressed chunk has its
    /// entry in an index.
    pub(super) fn least_bytes(&self, schema: &Schema, skip_fill: bool) -> u64 {
        let shape = &self.walk.grid.shape;
        match &schema.var(self.moved.to).storage {
            _ if matches!(self.route, Route::Nothing | Route::Heap) => 0,
            Storage::Chunked { .. } if self.sparse || skip_fill => 0,
            Storage::Chunked { chunks, filters } if filters.is_empty() => {
                padded(shape, chunks).saturating_mul(self.element)
            }
            Storage::Chunked { chunks, .. } => {
                let counts = shape.iter().zip(chunks).map(|(n, c)| n.div_ceil(*c));
                shape::product(counts).saturating_mul(CHUNK_ENTRY)
            }
            Storage::Contiguous | Storage::Compact => self.bytes(),
        }
    }
}

/// One variable's part of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarPlan {
    /// Its path.
    pub name: String,
    /// Its type's name.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Bytes of its values.
    pub values_bytes: u64,
    /// Its storage in the source.
    pub source: String,
    /// Its storage in the output.
    pub target: String,
    /// The way its bytes take: `raw`, `points`, `boxes`, `spill`, `heap`, `fill`, `nothing`.
    pub route: &'static str,
    /// Shape of the boxes.
    pub box_shape: Vec<u64>,
    /// Their number.
    pub boxes: u64,
    /// The number of times that the source is decoded, on average (1: each chunk once).
    pub passes: f64,
    /// Bytes read from the source, with repetitions.
    pub read: u64,
    /// Bytes that come out of the source's codec, with repetitions.
    pub decoded: u64,
    /// Bytes that go into the output's codec.
    pub encoded: u64,
    /// Bytes of the temporary file.
    pub spilled: u64,
    /// Bytes of the largest box.
    pub memory: u64,
    /// The reason for the output's chunks, where they were chosen.
    pub choice: Option<Choice>,
    /// The effect of the chunks on the usual reads.
    pub reads: Option<ChosenChunks>,
    /// The reason for its codec, where that was chosen.
    pub codec: Option<CodecChoice>,
}

/// Sums over all variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Bytes of values.
    pub values_bytes: u64,
    /// Bytes read from the source.
    pub read: u64,
    /// Bytes decoded.
    pub decoded: u64,
    /// Bytes encoded.
    pub encoded: u64,
    /// Bytes of the largest temporary file.
    pub spilled: u64,
    /// Bytes written to the output, estimated.
    pub written: u64,
    /// Estimated seconds.
    pub seconds: f64,
}

impl Totals {
    /// Adds a variable that takes at least `least` bytes.
    pub(super) fn add(&mut self, v: &VarPlan, least: u64, seconds: f64) {
        // A file may say of several variables that each is as large as numbers go.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.values_bytes, v.values_bytes);
        add(&mut self.read, v.read);
        add(&mut self.decoded, v.decoded);
        add(&mut self.encoded, v.encoded);
        self.spilled = self.spilled.max(v.spilled);
        // Data that compress in the source do so again. Checksums alone make chunks longer.
        let before = v.read as f64 / v.decoded.max(1) as f64;
        let stored = match v.encoded {
            0 => 1.0,
            _ if v.decoded > 0 && before < 1.0 => before,
            _ => rates::USUAL_FRACTION,
        };
        let written = match v.route {
            "raw" | "points" => v.read,
            _ => (v.values_bytes as f64 * stored) as u64,
        };
        add(&mut self.written, written.max(least));
        self.seconds += seconds;
    }
}

/// The plan of a copy.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The source.
    pub input: String,
    /// The source's format, as `ncdump -k` calls it.
    pub source_format: &'static str,
    /// The output's format.
    pub format: &'static str,
    /// The memory budget.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Every variable.
    pub variables: Vec<VarPlan>,
    /// Sums.
    pub totals: Totals,
    /// Objects that are left out, and why.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub(crate) schema: Schema,
    #[serde(skip)]
    pub(crate) work: Vec<VarWork>,
    #[serde(skip)]
    pub(crate) skip_fill: bool,
    /// Which part of the source is copied.
    #[serde(skip)]
    pub(crate) part: String,
    #[serde(skip)]
    pub(crate) chosen: Chosen,
}

impl Plan {
    /// Bytes that the values take in the output, at least.
    pub(crate) fn least_bytes(&self) -> u64 {
        let least = self.work.iter().map(|work| work.least_bytes(&self.schema, self.skip_fill));
        least.fold(0, u64::saturating_add)
    }

    /// A number that is the same for two plans that put the same bytes at the same places: what a journal
    /// belongs to. The text of `history` does not count.
    pub(crate) fn identity(&self) -> u64 {
        let mut schema = self.schema.clone();
        schema.groups[0].attrs.retain(|a| a.name != "history");
        let text = format!("{schema:?} {:?} {} {}", self.work, self.skip_fill, self.part);
        hash_of(text.as_bytes())
    }
}

/// Elements of all chunks, the ones at the edges counted whole.
pub(super) fn padded(shape: &[u64], chunk: &[u64]) -> u64 {
    shape::product(shape.iter().zip(chunk).map(|(&n, &c)| n.div_ceil(c).saturating_mul(c)))
}
