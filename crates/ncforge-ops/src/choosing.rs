//! Chunk shapes for the variables of a dataset: what [`ncforge_tune`] says, given what the file tells.
//!
//! The answer depends on the array, the filters, the reads, the machine's rates as they are stored, and (with a
//! sample) the values; never on how fast anything went this time. The same input gives the same shape, whoever asks: `tune
//! chunks`, `copy --chunks auto`, `doctor` and Python all ask a `Chooser`, or a [`Cut`] where there are no values yet.
//!
//! Choosing costs a small part of what copying the variable does (`choosing/effort.rs`), and variables that are alike are
//! chosen for once.

mod chooser;
mod effort;
mod request;

use crate::sampling::Sampled;
use ncforge::model::{Filter, Schema, VarId, Variable, shape};
use ncforge::{Error, Result};
use ncforge_tune::{
    Access, Axis, Choice, Coding, Contender, Contest, Depth, Kind, Limits, Machine, Request, axes_along,
    choose,
};

pub(crate) use self::chooser::{Chooser, OF_FILE, Wanted};
pub use self::chooser::{chunks_for, chunks_for_all};
use self::effort::Effort;
pub use self::request::{
    ChoosingRequest, Expected, Reader, Reads, TuneReport, TuneRequest, Tuned, machine_on, tune_chunks,
};

/// Shapes that cannot be sampled within the limits are taken to decode this many times slower than the first sample says: it is wrong about
/// some, and the shape that it is most wrong about seems best.
const GUESSED: f64 = 2.0;
/// Rates of decoders are compared in chunks of this size.
const USUAL: f64 = 65536.0;

/// Chunk lengths for a variable that is being defined, for the usual reads and readers: what a [`ncforge::Definer`] asks for
/// ([`ncforge::ChunkChooser`]).
///
/// # Errors
/// As [`Cut::choose`].
pub fn for_new_variable(schema: &Schema, var: &Variable, filters: &[Filter]) -> Result<Option<Vec<u64>>> {
    let element = schema.fixed_size(var.dtype).unwrap_or_else(|| schema.memory_size(var.dtype)) as u64;
    let axes = axes_along(schema, &var.dims);
    let cut = Cut { axes: &axes, element, filters, sampled: None, before: None };
    Ok(cut.choose(&Choosing::default())?.map(|choice| choice.chunks))
}

/// How to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Choosing {
    /// The reads of the variables.
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
    /// [`Error::BadOption`] for what is not `name=length`.
    pub fn parse_expected(text: &str) -> Result<Vec<(String, u64)>> {
        let bad = |item: &str| {
            Error::bad_option("expect", format!("`{}`: a final length is written time=3650", item.trim()))
        };
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
            Some((name, _)) => Err(schema.no_dimension("unlimited dimension", name, file)),
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
        Some(name) => Err(schema.no_dimension("dimension", name, file)),
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
    /// The encoding of a sample of its values: for the choice, and with timed rates.
    pub sampled: Option<(Coding, Coding)>,
    /// Its present storage.
    pub before: Option<&'a (Option<Vec<u64>>, Coding)>,
}

impl Cut<'_> {
    /// The chunk shape, with reasons. `None` for scalars and for arrays that can never hold an element.
    ///
    /// ```
    /// use ncforge_ops::choosing::{Choosing, Cut};
    /// use ncforge_tune::{Axis, Machine, Role};
    /// let choosing = Choosing { machine: Machine::default(), ..Choosing::default() };
    /// // A record of one number: thousands of records a chunk.
    /// let axes = [Axis::new("time", 12, Role::Time).unlimited()];
    /// let cut = Cut { axes: &axes, element: 8, filters: &[], sampled: None, before: None };
    /// assert_eq!(cut.choose(&choosing)?.unwrap().chunks, [1024]);
    /// // Of maps that may be written one at a time, none is in a chunk with the next one.
    /// let [time, y, x] = [("time", 0, Role::Time), ("y", 180, Role::Y), ("x", 240, Role::X)]
    ///     .map(|(name, len, role)| Axis::new(name, len, role));
    /// let maps = [time.unlimited(), y, x];
    /// assert_eq!(Cut { axes: &maps, element: 4, ..cut }.choose(&choosing)?.unwrap().chunks[0], 1);
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
    ///
    /// A dimension that can grow and has no elements yet is one element long: it may get any number of them, one at a time, and
    /// space for those that never come, and chunks that are decoded and encoded for each new one, cost more than short chunks do.
    fn lengths(&self, choosing: &Choosing) -> Option<Vec<Axis>> {
        if self.axes.is_empty() || self.axes.iter().any(|a| a.len == 0 && !a.unlimited) {
            return None;
        }
        let mut axes = self.axes.to_vec();
        for a in axes.iter_mut().filter(|a| a.unlimited) {
            let expected = choosing.expect.iter().find(|(name, _)| *name == a.name).map(|e| e.1);
            a.len = a.len.max(expected.unwrap_or(1));
        }
        Some(axes)
    }

    fn request<'a>(&self, axes: &'a [Axis], choosing: &'a Choosing) -> Request<'a> {
        let usual = Coding::written(self.filters);
        let bytes = shape::product(axes.iter().map(|a| a.len)).saturating_mul(self.element);
        Request {
            shapes: Effort::of(bytes, self.filters).shapes,
            accesses: choosing.accesses.clone(),
            limits: choosing.limits,
            timed: self.sampled.map(|s| s.1),
            before: self.before.cloned(),
            ..Request::new(axes, self.element, self.sampled.map_or(usual, |s| s.0), &choosing.machine)
        }
    }

    /// [`Cut::choose`] with what samples say. Parts with the proportions of the array come first; then, for the shapes that may be
    /// the best by those, chunks of just these shapes: what lies side by side in a chunk decides how it is coded, which
    /// the first sample cannot know. Without `single_shapes` the parts must do.
    pub(crate) fn choose_by(
        &self,
        choosing: &Choosing,
        single_shapes: bool,
        mut sample: impl FnMut(SampleShape<'_>) -> Result<Option<Sampled>>,
    ) -> Result<Option<Choice>> {
        let whole = sample(SampleShape::Whole)?;
        // Decoders are timed once: what they do in chunks of other shapes is counted.
        let pace = whole.map_or(1.0, |s| s.coding.seconds(USUAL) / s.sized.seconds(USUAL));
        let timed = |sized: Coding| Coding { decode: sized.decode / pace, timed: true, ..sized };
        // Chunks that are stored as they will be are judged by samples, too, and by those of their own shape where others are.
        let now = self.before.filter(|(_, coding)| coding.is_usual(self.filters)).zip(whole);
        let own = match now {
            Some(((Some(chunks), _), _)) if single_shapes => {
                sample(SampleShape::Chunk(chunks, Depth::Close))?.map(|s| timed(s.sized))
            }
            _ => None,
        };
        let before = self.before.map(|(chunks, coding)| {
            let sampled = own.or(now.map(|(_, s)| s.coding));
            (chunks.clone(), sampled.map_or(*coding, |s| Coding { points: coding.points, ..s }))
        });
        let cut = Cut { sampled: whole.map(|s| (s.sized, s.coding)), before: before.as_ref(), ..*self };
        let Some(axes) = cut.lengths(choosing) else { return Ok(None) };
        let request = cut.request(&axes, choosing);
        let Some(whole) = whole.filter(|_| single_shapes) else { return choose(&request).map(Some) };
        let mut contest = Contest::new(request)?;
        while let Some((chunks, depth)) = contest.next_sample() {
            match sample(SampleShape::Chunk(&chunks, depth))? {
                Some(Sampled { sized, .. }) => {
                    // Small parts do not tell what access points cost.
                    let sized = Coding { points: sized.points.and(whole.sized.points), ..sized };
                    contest.add(Contender { chunks, coding: sized, timed: timed(sized) });
                }
                // Left out, what cannot be sampled might leave only shapes that are far worse.
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

/// The part of a variable to sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SampleShape<'a> {
    /// Parts with the proportions of the array.
    Whole,
    /// Chunks of these lengths.
    Chunk(&'a [u64], Depth),
}

/// The reason why there is no shape to choose for a variable, where [`chunks_for`] gives none.
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
