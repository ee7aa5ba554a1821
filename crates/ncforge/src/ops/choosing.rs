//! Chunk shapes for the variables of a dataset: what [`crate::tune`] says, given what the file tells.
//!
//! The answer depends on the array, the filters, the reads, the machine's rates as they are stored, and (with a
//! sample) the values; never on how fast anything went this time. The same input gives the same shape.

use crate::codec::filters;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::layout::Place;
use crate::model::{DType, Filter, Schema, Storage, VarId};
use crate::ops::sampling::{Budget, Limit, Sampled, sample_chunk_of, sample_of};
use crate::ops::source::Source;
use crate::tune::{
    Access, Axis, Choice, Coding, Contender, Contest, Depth, Kind, Limits, Machine, Request, axes_of, choose,
};

/// Lengths that are expected of dimensions that grow and have no elements yet: the first, and all others.
const EXPECTED: (u64, u64) = (1024, 64);
/// Of what may be read of a variable, one look at parts with the proportions of the array may read so large a part; …
const OF_WHOLE: u64 = 4;
/// … a rough and a close look at a shape may encode so large a part, …
const ENCODED: (u64, u64) = (40, 12);
/// … and read so large a part for that: what lies between short rows is read, too, and chunks are decoded whole.
const READ: (u64, u64) = (40, 10);
/// Shapes that cannot be looked at within the limits are taken to decode so many times slower than the first look says: it is wrong about
/// some, and the shape that it is most wrong about seems best.
const GUESSED: f64 = 2.0;
/// Rates of decoders are compared in chunks of this size.
const USUAL: f64 = 65536.0;

/// How to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Choosing {
    /// How the variables will be read.
    pub accesses: Vec<Access>,
    /// The machine that reads.
    pub machine: Machine,
    /// Bounds.
    pub limits: Limits,
    /// Whether to look at some of the values, to know how well and how fast they are coded.
    pub sample: bool,
    /// Lengths that unlimited dimensions, by name, will have in the end.
    pub expect: Vec<(String, u64)>,
}

impl Default for Choosing {
    /// The usual accesses, the user's machine, no sample.
    fn default() -> Self {
        Choosing {
            accesses: Access::usual(),
            machine: Machine::of_user(),
            limits: Limits::default(),
            sample: false,
            expect: Vec::new(),
        }
    }
}

impl Choosing {
    /// Reads lengths as people write them: `time=3650,member=50`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what is not `name=length`.
    pub fn parse_expected(text: &str) -> Result<Vec<(String, u64)>> {
        let bad =
            |item: &str| Error::Invalid(format!("`{}`: a final length is written time=3650", item.trim()));
        text.split(',')
            .map(|item| {
                let (name, len) = item.split_once('=').ok_or_else(|| bad(item))?;
                let len = len.trim().parse().ok().filter(|&n| n > 0).ok_or_else(|| bad(item))?;
                Ok((name.trim().to_owned(), len))
            })
            .collect()
    }

    /// Whether `schema`, of `file`, has every dimension that is named, and those with an expected length can grow.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the name of one that is not.
    pub fn check(&self, schema: &Schema, file: &str) -> Result<()> {
        check_dimensions(&self.accesses, schema, file)?;
        match self.expect.iter().find(|(name, _)| !schema.dims.iter().any(|d| d.name == *name && d.unlimited))
        {
            Some((name, _)) => Err(Error::NotFound {
                kind: "unlimited dimension",
                name: name.clone(),
                path: file.to_owned(),
            }),
            None => Ok(()),
        }
    }
}

/// Whether `schema`, of `file`, has every dimension that accesses name.
///
/// # Errors
/// [`Error::NotFound`] with the name of one that is not.
pub(crate) fn check_dimensions(accesses: &[Access], schema: &Schema, file: &str) -> Result<()> {
    let named = accesses.iter().filter_map(|a| match &a.kind {
        Kind::Lengths(lengths) => Some(lengths.iter().map(|(name, _)| name)),
        _ => None,
    });
    match named.flatten().find(|name| !schema.dims.iter().any(|d| d.name == **name)) {
        Some(name) => Err(Error::NotFound { kind: "dimension", name: name.clone(), path: file.to_owned() }),
        None => Ok(()),
    }
}

/// The array that is to be cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// Its axes; [`Axis::given`] lengths are kept.
    pub axes: &'a [Axis],
    /// Bytes of an element.
    pub element: u64,
    /// Its filters.
    pub filters: &'a [Filter],
    /// What a sample of its values says: for the choice, and with timed rates.
    pub sampled: Option<(Coding, Coding)>,
    /// How it is stored now.
    pub before: Option<&'a (Option<Vec<u64>>, Coding)>,
}

impl Cut<'_> {
    /// The chunk shape, with reasons. `None` for scalars and for arrays that can never hold an element.
    ///
    /// ```
    /// use ncforge::ops::choosing::{Choosing, Cut};
    /// use ncforge::tune::{Axis, Machine, Role};
    /// let choosing = Choosing { machine: Machine::default(), ..Choosing::default() };
    /// // A record of one number: thousands of records a chunk.
    /// let axes = [Axis::new("time", 12, Role::Time).unlimited()];
    /// let cut = Cut { axes: &axes, element: 8, filters: &[], sampled: None, before: None };
    /// assert_eq!(cut.choose(&choosing)?.unwrap().chunks, [1024]);
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`choose()`].
    pub fn choose(&self, choosing: &Choosing) -> Result<Option<Choice>> {
        let Some(axes) = self.lengths(choosing) else { return Ok(None) };
        choose(&self.request(&axes, choosing)).map(Some)
    }

    /// The axes as long as they will be in the end; none where there is nothing to cut.
    fn lengths(&self, choosing: &Choosing) -> Option<Vec<Axis>> {
        if self.axes.is_empty() || self.axes.iter().any(|a| a.len == 0 && !a.unlimited) {
            return None;
        }
        let mut axes = self.axes.to_vec();
        let mut first = true;
        for a in axes.iter_mut().filter(|a| a.unlimited) {
            let expected = choosing.expect.iter().find(|(name, _)| *name == a.name).map(|e| e.1);
            a.len = match (expected, a.len) {
                (Some(n), len) => n.max(len),
                (None, 0) if first => EXPECTED.0,
                (None, 0) => EXPECTED.1,
                (None, len) => len,
            };
            first = false;
        }
        Some(axes)
    }

    fn request<'a>(&self, axes: &'a [Axis], choosing: &'a Choosing) -> Request<'a> {
        let usual = Coding::of_chain(self.filters);
        Request {
            accesses: choosing.accesses.clone(),
            limits: choosing.limits,
            timed: self.sampled.map(|s| s.1),
            before: self.before.cloned(),
            ..Request::new(axes, self.element, self.sampled.map_or(usual, |s| s.0), &choosing.machine)
        }
    }

    /// [`Cut::choose`] with what samples say. Parts with the proportions of the array come first; then, for the shapes that may be
    /// the best by those, chunks of just these shapes: what lies side by side in a chunk decides how it is coded, which
    /// the first sample cannot know.
    pub(crate) fn choose_by(
        &self,
        choosing: &Choosing,
        mut look: impl FnMut(Look<'_>) -> Result<Option<Sampled>>,
    ) -> Result<Option<Choice>> {
        let whole = look(Look::Whole)?;
        // What is stored as it will be is judged by the same look.
        let before = self.before.map(|(chunks, coding)| match whole {
            Some(s) if *coding == Coding::of_chain(self.filters) => (chunks.clone(), s.coding),
            _ => (chunks.clone(), *coding),
        });
        let cut = Cut { sampled: whole.map(|s| (s.sized, s.coding)), before: before.as_ref(), ..*self };
        let Some(axes) = cut.lengths(choosing) else { return Ok(None) };
        let request = cut.request(&axes, choosing);
        let Some(whole) = whole else { return choose(&request).map(Some) };
        // Decoders are timed once: what they do in chunks of other shapes is counted.
        let pace = whole.coding.seconds(USUAL) / whole.sized.seconds(USUAL);
        let mut contest = Contest::new(request)?;
        while let Some((chunks, depth)) = contest.next_look() {
            match look(Look::Chunk(&chunks, depth))? {
                Some(Sampled { sized, .. }) => {
                    let timed = Coding { decode: sized.decode / pace, timed: true, ..sized };
                    contest.add(Contender { chunks, coding: sized, timed });
                }
                // Left out, what cannot be looked at might leave only shapes that are far worse.
                None if !contest.knows(&chunks) => {
                    let slower = |coding: Coding| Coding { decode: coding.decode / GUESSED, ..coding };
                    contest.add(Contender {
                        chunks,
                        coding: slower(whole.sized),
                        timed: slower(whole.coding),
                    });
                }
                None => {}
            }
        }
        contest.choice().map(Some)
    }
}

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look<'a> {
    /// Parts with the proportions of the array.
    Whole,
    /// Chunks of these lengths.
    Chunk(&'a [u64], Depth),
}

/// The chunk shape for a variable, as it would be with `filters` (`None`: with those that it has, or shuffle and
/// deflate where it has none). `None` for scalars and for variables without fixed-size values.
///
/// # Errors
/// As [`choose()`] and, with a sample, as reading.
pub fn chunks_for(
    dataset: &Dataset,
    var: VarId,
    wanted: Option<&[Filter]>,
    choosing: &Choosing,
) -> Result<Option<Choice>> {
    let mut budget = Budget::of_file(dataset.schema().values_bytes(var));
    within(dataset, var, wanted, choosing, &mut budget)
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
    let bytes = vars.iter().filter_map(|&v| dataset.schema().values_bytes(v));
    let mut budget = Budget::of_file(bytes);
    vars.iter().map(|&v| Ok((v, within(dataset, v, None, choosing, &mut budget)?))).collect()
}

fn within(
    dataset: &Dataset,
    var: VarId,
    wanted: Option<&[Filter]>,
    choosing: &Choosing,
    budget: &mut Budget,
) -> Result<Option<Choice>> {
    let schema = dataset.schema();
    let v = schema.var(var);
    let (Some(size), Some(bytes)) = (schema.fixed_size(v.dtype), schema.values_bytes(var)) else {
        return Ok(None);
    };
    if v.dims.is_empty() {
        return Ok(None);
    }
    let chain = match (wanted, &v.storage) {
        (Some(filters), _) => filters.to_vec(),
        (None, Storage::Chunked { filters, .. }) if !filters.is_empty() => filters.clone(),
        _ => default_filters(v.dtype, size),
    };
    let limit = budget.for_variable(bytes);
    let mut looks = Looks::new(dataset, var, &chain, limit, budget);
    Cut {
        axes: &axes_of(schema, var),
        element: size as u64,
        filters: &chain,
        sampled: None,
        before: before(dataset, schema, var)?.as_ref(),
    }
    .choose_by(choosing, |look| if choosing.sample { looks.at(look) } else { Ok(None) })
}

/// Why there is no shape to choose for a variable, where [`chunks_for`] gives none.
pub fn why_none(schema: &Schema, var: VarId) -> Option<&'static str> {
    let v = schema.var(var);
    match schema.fixed_size(v.dtype) {
        _ if v.dims.is_empty() => Some("no chunks: it has no dimensions"),
        _ if v.dims.iter().any(|&d| schema.dim(d).len == 0 && !schema.dim(d).unlimited) => {
            Some("no chunks: a dimension has length 0 and cannot grow, so that there are no values")
        }
        None => {
            Some("no choice: strings and ragged rows lie apart from the chunks, which hold references only")
        }
        Some(_) => None,
    }
}

/// Looks at the values of one variable.
pub(crate) struct Looks<'a> {
    source: &'a dyn Source,
    var: VarId,
    chain: &'a [Filter],
    /// What all of them may read, and what is left of it.
    limit: u64,
    left: u64,
    /// What is left for the whole file.
    budget: &'a mut Budget,
}

impl<'a> Looks<'a> {
    /// At a variable as it would be with `chain`, reading so much of it at most.
    pub(crate) fn new(
        source: &'a dyn Source,
        var: VarId,
        chain: &'a [Filter],
        limit: u64,
        budget: &'a mut Budget,
    ) -> Self {
        Looks { source, var, chain, limit, left: limit, budget }
    }

    /// What a look says. `None` where there is nothing to learn, or nothing may be read any more.
    ///
    /// # Errors
    /// As reading.
    pub(crate) fn at(&mut self, look: Look<'_>) -> Result<Option<Sampled>> {
        let may_read = |part: u64| (self.limit / part).min(self.left);
        let found = match look {
            Look::Whole => sample_of(self.source, self.var, self.chain, may_read(OF_WHOLE))?,
            Look::Chunk(chunks, depth) => {
                let (encoded, read) = match depth {
                    Depth::Rough => (ENCODED.0, READ.0),
                    Depth::Close => (ENCODED.1, READ.1),
                };
                // What is left may be good for a few parts only, and those are what they are by chance.
                if self.left < self.limit / read / 2 {
                    return Ok(None);
                }
                let limit = Limit { encoded: self.limit / encoded, read: may_read(read) };
                sample_chunk_of(self.source, self.var, self.chain, chunks, limit)?
            }
        };
        let read = found.as_ref().map_or(0, |s| s.read);
        self.left = self.left.saturating_sub(read);
        self.budget.spend(read);
        Ok(found)
    }
}

fn default_filters(dtype: DType, size: usize) -> Vec<Filter> {
    let mut chain = Vec::new();
    if size > 1 && dtype != DType::String {
        chain.push(filters::shuffle(size));
    }
    chain.push(filters::deflate(1));
    chain
}

/// Chunk lengths (`None`: one run) and coding of a variable as it is.
pub(crate) type Stored = (Option<Vec<u64>>, Coding);

/// How the variable is stored now, where that can be compared: chunk lengths (`None`: one run), coding.
///
/// # Errors
/// When its description cannot be read.
pub(crate) fn before(source: &dyn Source, schema: &Schema, var: VarId) -> Result<Option<Stored>> {
    let layout = source.layout(var)?;
    Ok(match &layout.place {
        Place::Chunked { chunk, .. } => {
            let chain = match &schema.var(var).storage {
                Storage::Chunked { filters, .. } => &filters[..],
                _ => &[],
            };
            Some((Some(chunk.clone()), Coding::of_chain(chain)))
        }
        Place::Contiguous { .. } => Some((None, Coding::none())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dataset::{CreateOptions, DatasetMut};
    use crate::engine::Engine;
    use crate::model::{Atomic, DimId, Dimension, Format, Variable};
    use crate::select::Hyperslab;
    use crate::store::MemoryStore;

    const SHAPE: [u64; 3] = [480, 64, 128];

    /// Fields that compress to few hundredths, in chunks of these lengths.
    fn maps(chunks: &[u64]) -> Dataset {
        let mut schema = Schema::new(Format::Netcdf4);
        for (name, len) in ["time", "lat", "lon"].into_iter().zip(SHAPE) {
            schema.dims.push(Dimension { name: name.into(), group: Schema::ROOT, len, unlimited: false });
        }
        let mut var = Variable::new("v", Atomic::Float, (0..3).map(DimId).collect());
        var.storage = Storage::Chunked { chunks: chunks.to_vec(), filters: default_filters(var.dtype, 4) };
        schema.vars.push(var);
        let store: Arc<dyn crate::store::Store> = Arc::new(MemoryStore::new("m", Vec::new()));
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
        let chain = default_filters(DType::Atomic(Atomic::Float), 4);
        let mut budget = Budget::of_file([64 << 20]);
        let mut looks = Looks::new(&dataset, VarId(0), &chain, 16 << 20, &mut budget);
        let close = Look::Chunk(&[4, 64, 128], Depth::Close);
        assert!(looks.at(close).unwrap().is_some_and(|s| s.read > 0));
        looks.left = looks.limit / READ.1 / 3;
        assert!(looks.at(close).unwrap().is_none());
        assert!(looks.at(Look::Chunk(&[4, 64, 128], Depth::Rough)).unwrap().is_some());
        looks.left = 0;
        assert!(looks.at(Look::Chunk(&[4, 64, 128], Depth::Rough)).unwrap().is_none());
    }

    /// Values decode far faster or more slowly than usual, and what a read costs now is told by the same rates as what
    /// it would cost.
    #[test]
    fn what_was_chosen_is_not_slow_afterwards() {
        let choosing = Choosing { machine: Machine::default(), sample: true, ..Choosing::default() };
        let of = |dataset: &Dataset| chunks_for(dataset, VarId(0), None, &choosing).unwrap().unwrap();
        let first = of(&maps(&[1, 64, 128]));
        let again = of(&maps(&first.chunks));
        for told in &again.told {
            let gain = told.before.unwrap().seconds / told.chosen.seconds;
            assert!(
                (0.5..1.5).contains(&gain),
                "{:?} {:?} {}: {gain}",
                first.chunks,
                again.chunks,
                told.pattern.name
            );
        }
    }
}
