//! Chooses for the variables of one file: samples their values, and answers the same question once.

use std::collections::HashMap;
use std::sync::Arc;

use super::effort::Effort;
use super::{Choosing, Cut, SampleShape};
use crate::points::ends;
use crate::sampling::{Limit, Sampled, sample_chunk_of, sample_of};
use ncforge::codec::{CodecChain, Segmented};
use ncforge::model::{DType, Filter, Schema, Storage, VarId, Variable, shape};
use ncforge::raw::{ChunkRecord, Chunks};
use ncforge::{Dataset, Result};
use ncforge_tune::rates::SEGMENT_BYTES;
use ncforge_tune::{Axis, Choice, Coding, Depth, Roles};

/// Of what may be encoded of a variable, one sample of parts with the proportions of the array may read one part in this many, …
const OF_WHOLE: u64 = 16;
/// … but at least this many bytes; …
const LEAST_OF_WHOLE: u64 = 128 << 10;
/// … and a rough and a close sample of a shape may encode one part in this many, …
const ENCODED: (u64, u64) = (40, 12);
/// … and read, of what may be read, one part in this many for that: what lies between short rows is read, too, and chunks are decoded
/// whole.
const READ: (u64, u64) = (40, 10);
/// Reading and decoding a byte takes a part of what encoding one does: this many times more of them may be read.
const CHEAPER: u64 = 2;
/// A chunk of the source up to this size is decoded for a sample of a variable that has few, too, …
const LARGEST: u64 = 16 << 20;
/// … and single shapes are sampled where this many of them, at least, may be decoded.
const FEW_CHUNKS: u64 = 4;
/// Samples of all variables of a file together read and decode at most this many bytes.
pub(crate) const OF_FILE: u64 = 64 << 20;
/// The least bytes of a variable whose values are sampled for a shape.
const SAMPLED: u64 = 1 << 20;

/// Chunk lengths (`None`: one run) and coding of a variable as it is.
type Stored = (Option<Vec<u64>>, Coding);

/// A kind of variable: for all that are alike in this the choice is the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    axes: Vec<Axis>,
    element: u64,
    filters: Vec<Filter>,
    values: Option<Values>,
}

/// The facts that tell which values a variable may have, and how they lie in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Values {
    dtype: DType,
    storage: Storage,
    /// Whether some are missing, whether they are packed numbers, whether they are flags.
    attributes: [bool; 3],
}

impl Values {
    fn of(var: &Variable) -> Self {
        let any = |names: &[&str]| names.iter().any(|n| var.attr(n).is_some());
        Values {
            dtype: var.dtype,
            storage: var.storage.clone(),
            attributes: [
                any(&["_FillValue", "missing_value"]),
                any(&["scale_factor", "add_offset"]),
                any(&["flag_values", "flag_masks", "flag_meanings"]),
            ],
        }
    }
}

/// The array that a variable is going to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Its axes; [`Axis::given`] lengths are kept.
    pub(crate) axes: &'a [Axis],
    /// Bytes of an element.
    pub(crate) element: u64,
    pub(crate) filters: &'a [Filter],
}

/// The chosen chunks.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) choice: Arc<Choice>,
    /// The encoding of a sample with the filters that were asked for, with rates that are the same in every run.
    pub(crate) coding: Option<Coding>,
}

/// Chooses chunk shapes for the variables of one file.
pub(crate) struct Chooser<'a> {
    source: &'a Dataset,
    choosing: &'a Choosing,
    /// Bytes that samples may read and decode, and the claims of all kinds of variables to that.
    most: u64,
    claims: f64,
    /// Whether predicted times use rates that were timed just now.
    timed: bool,
    known: HashMap<Kind, Option<Found>>,
}

impl<'a> Chooser<'a> {
    /// A chooser for the variables of `source`. Samples of all of them together read and decode `most` bytes at most.
    pub(crate) fn new(source: &'a Dataset, choosing: &'a Choosing, most: u64) -> Self {
        let schema = source.schema();
        // Alike variables are sampled once.
        let mut kinds: HashMap<(Vec<u64>, Values), u64> = HashMap::new();
        for v in schema.var_ids() {
            if let Some(bytes) = schema.values_bytes(v).filter(|&b| b >= SAMPLED) {
                kinds.insert((schema.shape(v), Values::of(schema.var(v))), bytes);
            }
        }
        let claims = kinds.values().map(|&bytes| claim(bytes)).sum();
        Chooser { source, choosing, most, claims, timed: true, known: HashMap::new() }
    }

    /// The chooser with times that are the same in every run, for decisions that depend on them.
    pub(crate) fn untimed(self) -> Self {
        Chooser { timed: false, ..self }
    }

    /// The bytes that samples of a variable may read and decode. Each variable claims the root of its bytes: where the error of a choice
    /// falls as one over the bytes that were sampled, and costs time as the variable is large, the sum of all costs is least with such
    /// shares. No other variable gets unused bytes: the order of questions must not matter.
    fn share(&self, bytes: u64) -> u64 {
        let claim = claim(bytes);
        (self.most as f64 * (claim / self.claims.max(claim)).min(1.0)) as u64
    }

    /// The shape for an array with the values of `from`. `None` for scalars and for arrays that can never hold an element.
    ///
    /// # Errors
    /// As [`choose()`](ncforge_tune::choose()) and, with a sample, as reading.
    pub(crate) fn choose(&mut self, wanted: Wanted<'_>, from: Option<VarId>) -> Result<Option<Found>> {
        let schema = self.source.schema();
        let kind = Kind {
            axes: wanted.axes.to_vec(),
            element: wanted.element,
            filters: wanted.filters.to_vec(),
            values: from.map(|v| Values::of(schema.var(v))),
        };
        if let Some(known) = self.known.get(&kind) {
            return Ok(known.clone());
        }
        let choice = self.anew(wanted, from)?;
        self.known.insert(kind, choice.clone());
        Ok(choice)
    }

    /// The number of kinds of variables with a choice.
    pub(crate) fn kinds(&self) -> usize {
        self.known.len()
    }

    fn anew(&self, wanted: Wanted<'_>, from: Option<VarId>) -> Result<Option<Found>> {
        let schema = self.source.schema();
        let now = match from {
            Some(from) => before(self.source, schema, from)?,
            None => None,
        };
        let cut = Cut {
            axes: wanted.axes,
            element: wanted.element,
            filters: wanted.filters,
            sampled: None,
            before: now.as_ref().filter(|n| n.0.as_ref().is_none_or(|c| c.len() == wanted.axes.len())),
        };
        let sampled = from.filter(|_| self.choosing.sample && !wanted.filters.is_empty());
        let bytes = sampled.and_then(|v| schema.values_bytes(v)).filter(|&b| b >= SAMPLED);
        let (Some(from), Some(bytes)) = (sampled, bytes) else {
            let choice = cut.choose(self.choosing)?;
            return Ok(choice.map(|choice| Found { choice: Arc::new(choice), coding: None }));
        };
        let effort = Effort::of(bytes, wanted.filters);
        let mut samples = ValueSampler::new(self.source, from, wanted.filters, effort, self.share(bytes))?;
        let single_shapes =
            effort.samples_shapes() && samples.chunk.saturating_mul(FEW_CHUNKS) <= samples.limit;
        let mut coding = None;
        let choice = cut.choose_by(self.choosing, single_shapes, |shape| {
            let mut found = samples.at(shape)?;
            if let Some(s) = found.as_mut().filter(|_| !self.timed) {
                s.coding = s.sized;
            }
            if let SampleShape::Whole = shape {
                coding = found.map(|s| s.sized);
            }
            Ok(found)
        })?;
        Ok(choice.map(|choice| Found { choice: Arc::new(choice), coding }))
    }
}

/// Whole numbers, of which the sum is the same in any order.
fn claim(bytes: u64) -> f64 {
    (bytes as f64).sqrt().round()
}

/// The chunk shape for a variable, as it would be with `filters` (`None`: with those that it has). `None` for scalars and for
/// variables without fixed-size values.
///
/// # Errors
/// As [`choose()`](ncforge_tune::choose()) and, with a sample, as reading.
pub fn chunks_for(
    dataset: &Dataset,
    var: VarId,
    wanted: Option<&[Filter]>,
    choosing: &Choosing,
) -> Result<Option<Choice>> {
    let mut chooser = Chooser::new(dataset, choosing, OF_FILE);
    let found = chooser.of_variable(&Roles::of(dataset.schema()), var, wanted)?;
    Ok(found.map(|f| Arc::unwrap_or_clone(f.choice)))
}

/// [`chunks_for`] several variables, as they are. Samples of all of them together read and decode at most 64 MiB.
///
/// # Errors
/// As [`chunks_for`].
pub fn chunks_for_all(
    dataset: &Dataset,
    vars: &[VarId],
    choosing: &Choosing,
) -> Result<Vec<(VarId, Option<Choice>)>> {
    let roles = Roles::of(dataset.schema());
    let mut chooser = Chooser::new(dataset, choosing, OF_FILE);
    let mut one = |v| -> Result<_> {
        let found = chooser.of_variable(&roles, v, None)?;
        Ok((v, found.map(|f| Choice::clone(&f.choice))))
    };
    vars.iter().map(|&v| one(v)).collect()
}

impl Chooser<'_> {
    /// The shape for a variable as it is in the source, but for its filters where others are wanted.
    pub(crate) fn of_variable(
        &mut self,
        roles: &Roles,
        var: VarId,
        wanted: Option<&[Filter]>,
    ) -> Result<Option<Found>> {
        let schema = self.source.schema();
        let v = schema.var(var);
        let Some(size) = schema.fixed_size(v.dtype).filter(|_| !v.dims.is_empty()) else { return Ok(None) };
        let axes = roles.axes_of(schema, var);
        let filters = wanted.unwrap_or(v.storage.filters());
        self.choose(Wanted { axes: &axes, element: size as u64, filters }, Some(var))
    }
}

/// The present storage of the variable, where that can be compared: chunk lengths (`None`: one run), coding.
fn before(source: &Dataset, schema: &Schema, var: VarId) -> Result<Option<Stored>> {
    let layout = source.layout(var)?;
    Ok(match layout.place.chunks() {
        Some(Chunks { chunk, index, codecs }) => {
            // Chunks that lie in many files are not looked at.
            let first = match index.is_listed() {
                true => index.get(&vec![0; chunk.len()])?,
                false => None,
            };
            let points = first.is_some_and(|record| has_points(source, codecs, record));
            let usual = Coding::of_chain(schema.var(var).storage.filters());
            Some((Some(chunk.to_vec()), Coding { points: points.then_some(SEGMENT_BYTES), ..usual }))
        }
        // Records are no run.
        None if layout.is_in_rows() && layout.runs().is_none_or(|runs| runs.stride.is_none()) => {
            Some((None, Coding::none()))
        }
        None => None,
    })
}

/// Whether a stored chunk ends as one with access points.
fn has_points(source: &Dataset, codecs: &CodecChain, record: ChunkRecord) -> bool {
    let mut found = false;
    let see = |_, own: Segmented, end: &[u8]| found = own.segment(end).is_some();
    ends(&**source.container().store(), codecs, std::iter::once(record), see).is_ok() && found
}

/// Samples the values of one variable.
struct ValueSampler<'a> {
    source: &'a Dataset,
    var: VarId,
    chain: &'a [Filter],
    /// Bytes of the values of a chunk of the source.
    chunk: u64,
    /// Bytes that all of them may encode; …
    encoded: u64,
    /// … what they may read, and what is left of it.
    limit: u64,
    left: u64,
}

impl<'a> ValueSampler<'a> {
    /// At a variable as it would be with `chain`, reading and decoding `share` bytes at most.
    fn new(source: &'a Dataset, var: VarId, chain: &'a [Filter], effort: Effort, share: u64) -> Result<Self> {
        let layout = source.layout(var)?;
        let size = layout.element.size as u64;
        let chunk = layout.place.chunks().map_or(0, |c| shape::bytes(c.chunk, size));
        let limit = effort.sample.saturating_mul(CHEAPER).max(chunk.min(LARGEST)).min(share);
        Ok(ValueSampler { source, var, chain, chunk, encoded: effort.sample.min(share), limit, left: limit })
    }

    /// A sample. `None` where there is nothing to learn, or nothing may be read any more.
    ///
    /// # Errors
    /// As reading.
    fn at(&mut self, shape: SampleShape<'_>) -> Result<Option<Sampled>> {
        let found = match shape {
            _ if self.limit == 0 => None,
            SampleShape::Whole => {
                let encoded = (self.encoded / OF_WHOLE).max(LEAST_OF_WHOLE).min(self.left);
                sample_of(
                    self.source,
                    self.var,
                    self.chain,
                    Limit { encoded, read: self.chunk.max(2 * encoded).min(self.left) },
                )?
            }
            SampleShape::Chunk(chunks, depth) => {
                let (encoded, read) = match depth {
                    Depth::Rough => (ENCODED.0, READ.0),
                    Depth::Close => (ENCODED.1, READ.1),
                };
                // The remaining bytes may be enough for a few parts only, and those would show chance.
                if self.left < self.limit / read / 2 {
                    return Ok(None);
                }
                let limit =
                    Limit { encoded: self.encoded / encoded, read: (self.limit / read).min(self.left) };
                sample_chunk_of(self.source, self.var, self.chain, chunks, limit)?
            }
        };
        self.left = self.left.saturating_sub(found.as_ref().map_or(0, |s| s.read));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ncforge::codec::filters;
    use ncforge::model::{Atomic, DimId, Dimension, Format, Variable};
    use ncforge::store::MemoryStore;
    use ncforge::{CreateOptions, DatasetMut, Engine, Hyperslab};
    use ncforge_tune::Machine;

    const SHAPE: [u64; 3] = [480, 64, 128];

    fn chain() -> Vec<Filter> {
        vec![filters::shuffle(4), filters::deflate(1)]
    }

    /// Fields that compress to few hundredths, in chunks of these lengths.
    fn maps(chunks: &[u64]) -> Dataset {
        let mut schema = Schema::new(Format::Netcdf4);
        for (name, len) in ["time", "lat", "lon"].into_iter().zip(SHAPE) {
            schema.dims.push(Dimension::new(name, len, false));
        }
        let mut var = Variable::new("v", Atomic::Float, (0..3).map(DimId).collect());
        var.storage = Storage::Chunked { chunks: chunks.to_vec(), filters: chain() };
        schema.vars.push(var);
        let store: Arc<dyn ncforge::store::WriteStore> = Arc::new(MemoryStore::new("m", Vec::new()));
        let mut file = DatasetMut::create_in(Arc::clone(&store), schema, CreateOptions::default()).unwrap();
        let values: Vec<u8> =
            (0..SHAPE.iter().product::<u64>()).flat_map(|i| ((i / 8192 / 40) as f32).to_ne_bytes()).collect();
        file.write_bytes(VarId(0), &Hyperslab::all(&SHAPE), &values).unwrap();
        file.close().unwrap();
        Dataset::from_store(store, &Engine::global()).unwrap()
    }

    /// A few parts would be what they are by chance.
    #[test]
    fn nothing_is_looked_at_with_what_little_is_left() {
        let dataset = maps(&[1, 64, 128]);
        let chain = chain();
        let effort = Effort { shapes: 1000, sample: 16 << 20 };
        let mut samples = ValueSampler::new(&dataset, VarId(0), &chain, effort, 16 << 20).unwrap();
        let close = SampleShape::Chunk(&[4, 64, 128], Depth::Close);
        assert!(samples.at(close).unwrap().is_some_and(|s| s.read > 0));
        samples.left = samples.limit / READ.1 / 3;
        assert!(samples.at(close).unwrap().is_none());
        assert!(samples.at(SampleShape::Chunk(&[4, 64, 128], Depth::Rough)).unwrap().is_some());
        samples.left = 0;
        assert!(samples.at(SampleShape::Chunk(&[4, 64, 128], Depth::Rough)).unwrap().is_none());
    }

    /// Values decode far faster or more slowly than usual, and what a read costs now is predicted by the same rates as what
    /// it would cost.
    #[test]
    fn what_was_chosen_is_not_slow_afterwards() {
        let choosing = Choosing { machine: Machine::default(), sample: true, ..Choosing::default() };
        let of = |dataset: &Dataset| chunks_for(dataset, VarId(0), None, &choosing).unwrap().unwrap();
        let first = of(&maps(&[1, 64, 128]));
        let again = of(&maps(&first.chunks));
        for read in &again.predictions {
            let gain = read.before.unwrap().seconds / read.chosen.seconds;
            assert!(
                (0.5..1.5).contains(&gain),
                "{:?} {:?} {}: {gain}",
                first.chunks,
                again.chunks,
                read.pattern.name
            );
        }
    }

    /// However many variables there are, the search is for kinds of them.
    #[test]
    fn alike_variables_are_chosen_for_once() {
        let mut schema = Schema::new(Format::Cdf5);
        for (name, len) in [("time", 40), ("lat", 60), ("lon", 70)] {
            schema.dims.push(Dimension::new(name, len, false));
        }
        for i in 0..5000 {
            let dims = if i % 2 == 0 { vec![DimId(0), DimId(1), DimId(2)] } else { vec![DimId(1), DimId(2)] };
            schema.vars.push(Variable::new(format!("v{i}"), Atomic::Float, dims));
        }
        let store: Arc<dyn ncforge::store::WriteStore> = Arc::new(MemoryStore::new("m", Vec::new()));
        DatasetMut::create_in(Arc::clone(&store), schema, CreateOptions::default()).unwrap().close().unwrap();
        let dataset = Dataset::from_store(store, &Engine::global()).unwrap();
        let choosing = Choosing { machine: Machine::default(), sample: true, ..Choosing::default() };
        let roles = Roles::of(dataset.schema());
        let mut chooser = Chooser::new(&dataset, &choosing, OF_FILE);
        let all: Vec<_> = (dataset.schema().var_ids())
            .map(|v| chooser.of_variable(&roles, v, None).unwrap().unwrap().choice)
            .collect();
        assert_eq!(chooser.kinds(), 2);
        assert!(all.iter().step_by(2).all(|c| c.chunks == all[0].chunks));
    }

    /// The choice for one variable does not depend on earlier choices for others.
    #[test]
    fn the_order_of_questions_does_not_matter() {
        let choosing = Choosing { machine: Machine::default(), sample: true, ..Choosing::default() };
        let dataset = maps(&[1, 64, 128]);
        let alone = chunks_for(&dataset, VarId(0), None, &choosing).unwrap().unwrap().chunks;
        let roles = Roles::of(dataset.schema());
        let mut chooser = Chooser::new(&dataset, &choosing, OF_FILE);
        for wanted in [&chain()[..1], &[], &chain()] {
            let found = chooser.of_variable(&roles, VarId(0), Some(wanted)).unwrap().unwrap();
            if wanted == chain() {
                assert_eq!(found.choice.chunks, alone);
            }
        }
    }
}
