//! How a copy is going to be done: for every variable the way its bytes take, and what that costs.
//!
//! Four ways, the cheapest that is possible is taken:
//!
//! * **raw** – source and output agree on chunk lengths, filters and byte order: encoded chunks are moved as
//!   they are, but (**points**) for those that shall get access points, have none and are worth them;
//! * **boxes** – the array is walked in boxes that are whole chunks of the output and as large as the budget
//!   allows; a source chunk that several boxes touch is decoded several times;
//! * **spill** – where that would decode the source many times over: the source is decoded once, in its own
//!   order, into a temporary file cut by the output's boxes, and then encoded box by box. The temporary file is as
//!   large as the variable's values, at most;
//! * **heap** – strings and ragged rows, in batches.
//!
//! The plan depends on the two files, the options and the memory budget; never on the number of threads.

mod wording;

use std::collections::HashSet;

use self::wording::{describe_place, describe_storage};
use super::numbering::number_as_stored;
use super::options::CopyOptions;
use super::planned::{HEAP_ELEMENT, Memory, Plan, Rounding, Route, Totals, VarPlan, VarWork, padded};
use super::quantized;
use super::reads::ChosenChunks;
use super::schema::{Moved, Translation, selected, translate};
use super::storage::{Chosen, Decided, decide};
use crate::boxes::{COMFORTABLE, HEAP_BATCH, Side, Walk, choose, price};
use crate::conversion::Conversion;
use crate::profile::Profile;
use crate::written;
use ncforge::codec::CodecChain;
use ncforge::codec::quantize::Quantize;
use ncforge::model::{Fill, Filter, Format, Schema, Segments, Storage, VarId, element_of, shape};
use ncforge::raw::{ChunkGrid, Chunks, Remark, VarGroup, VarLayout};
use ncforge::{Dataset, Engine, Result};
use ncforge_tune::rates;
use ncforge_tune::words::many;

/// Chunks of a box in which they are moved as they are: each is listed, and chunks may be as small as an element.
const MOST_CHUNKS: u64 = 1 << 16;
/// A larger budget must save this part of a walk's cost to be used.
const WORTH: f64 = 0.9;

/// Plans a copy, and does nothing.
pub fn plan(source: &Dataset, options: &CopyOptions, engine: &Engine) -> Result<Plan> {
    plan_with(&as_copied(source, options)?, options, engine, &Chosen::default())
}

/// A source as it is copied with these options: the part of it that is selected, with types that the output's format has.
pub(super) fn as_copied(source: &Dataset, options: &CopyOptions) -> Result<Dataset> {
    let own = part_of(source, options)?;
    let format = match options.format {
        // Types stay what they are. netCDF-C refuses such files, too.
        _ if options.switches.strict => Format::Netcdf4,
        Some(format) => format,
        // Whatever version it becomes, integers stay what they are.
        None if options.zipped.is_some() => Format::Cdf5,
        None => own.schema().format,
    };
    Ok(match Conversion::to(format, own.schema(), |_, _, _| true) {
        Some(conversion) => own.view(conversion.view()),
        None => own,
    })
}

/// The part of a source that is selected.
pub(crate) fn part_of(source: &Dataset, options: &CopyOptions) -> Result<Dataset> {
    Ok(selected(source, options)?.map_or_else(|| source.clone(), |part| part.view(source)))
}

/// Plans a copy with shapes and codecs that an earlier run chose; the source has types that the output's format has.
pub(crate) fn plan_with(
    source: &Dataset,
    options: &CopyOptions,
    engine: &Engine,
    recorded: &Chosen,
) -> Result<Plan> {
    let memory = Memory::of(engine.memory());
    let input = source.name();
    let Translation { mut schema, mut vars, mut notes } = translate(source.schema(), &input, options)?;
    let mut of_rounding = Vec::new();
    let mut rounded = match options.quantize {
        Some(how) => quantized::mark(&mut schema, source.schema(), &vars, how, &mut of_rounding)?,
        None => Vec::new(),
    };
    number_as_stored(&mut schema, &mut vars, &mut rounded);
    let Decided { notes: more, mut choices, mut codecs } =
        decide(&mut schema, source, &vars, options, &rounded, recorded)?;
    notes.extend(said_of(source, &vars).into_iter().chain(more).chain(of_rounding));
    keep_zeros(&mut schema, source, &vars)?;
    let mut chosen = recorded.clone();
    for (path, c) in &choices {
        chosen.chunks.entry(path.clone()).or_insert_with(|| c.chunks.clone());
    }
    for (path, c) in &codecs {
        chosen.codecs.entry(path.clone()).or_insert(c.method);
    }
    let mut variables = Vec::with_capacity(vars.len());
    let mut work = Vec::with_capacity(vars.len());
    let mut totals = Totals::default();
    for moved in vars {
        let threads = engine.threads() as f64;
        let quantize = rounded.contains(&moved.to).then_some(options.quantize).flatten();
        let job = Planner {
            source,
            schema: &schema,
            moved,
            memory,
            threads,
            skip_fill: options.switches.skip_fill,
            quantize,
            all_filters: options.profile == Some(Profile::Virtual),
            adds_points: options.adds_points(),
        };
        let (w, mut report, seconds) = job.plan()?;
        report.choice = choices.remove(&report.name);
        if let Some(choice) = &report.choice {
            let filters = schema.var(w.moved.to).storage.filters();
            let machine = &options.choosing.machine;
            let reads = ChosenChunks::of(&report.name, choice, source, w.moved.from, filters, machine)?;
            report.reads = Some(reads);
        }
        report.codec = codecs.remove(&report.name);
        notes.extend(job.absent_values(&w)?);
        totals.add(&report, w.least_bytes(&schema, options.switches.skip_fill), seconds);
        work.push(w);
        variables.push(report);
    }
    notes.extend(kept_points(&schema, &work, options));
    notes.extend(no_points(&schema, &work, options));
    Ok(Plan {
        input,
        source_format: source.format().kind(),
        format: schema.format.kind(),
        memory: memory.total,
        threads: engine.threads(),
        variables,
        totals,
        notes,
        schema,
        work,
        skip_fill: options.switches.skip_fill,
        part: source.part(),
        chosen,
    })
}

/// The note where other access points were asked for than moved chunks may have.
fn kept_points(schema: &Schema, work: &[VarWork], options: &CopyOptions) -> Option<String> {
    let (Segments::None | Segments::Bytes(_)) = options.access_points? else { return None };
    let is_kept = |w: &&VarWork| {
        matches!(w.route, Route::Raw | Route::Points)
            && schema.var(w.moved.to).storage.is_deflated()
            && may_have_points(schema, w.moved.to)
    };
    let names = names_of(schema, work, is_kept)?;
    Some(format!("chunks of {names} are not encoded again: they keep the access points that they have"))
}

/// The note where access points were asked for, and filters beside deflate allow none.
fn no_points(schema: &Schema, work: &[VarWork], options: &CopyOptions) -> Option<String> {
    options.asks_for_points()?;
    let segments = options.access_points.unwrap_or_default();
    let is_without = |w: &&VarWork| {
        let var = schema.var(w.moved.to);
        let element = schema.fixed_size(var.dtype).unwrap_or(0) as u64;
        let Storage::Chunked { chunks, .. } = &var.storage else { return false };
        var.storage.is_deflated()
            && segments.may_cut(usize::try_from(shape::bytes(chunks, element)).unwrap_or(usize::MAX))
            && !may_have_points(schema, w.moved.to)
    };
    let names = names_of(schema, work, is_without)?;
    Some(format!(
        "chunks of {names} get no access points, which allow only a shuffle before deflate and a checksum after it: with \
         `--codec deflate` (`codec=\"deflate\"`) they would have such filters"
    ))
}

/// Whether deflated chunks of a variable may have access points, as its filters say.
fn may_have_points(schema: &Schema, id: VarId) -> bool {
    let var = schema.var(id);
    let element = schema.fixed_size(var.dtype).unwrap_or_else(|| schema.memory_size(var.dtype));
    CodecChain::new(var.storage.filters(), element).is_ok_and(|chain| chain.segmented(0).is_some())
}

/// The names of those variables whose work is such; `None` where there are none.
fn names_of(schema: &Schema, work: &[VarWork], is_such: impl Fn(&&VarWork) -> bool) -> Option<String> {
    let names = work.iter().filter(is_such).map(|w| format!("`{}`", schema.var_path(w.moved.to)));
    Some(names.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
}

/// Leaves variables without a fill value where the source has zeros for what was not written, and no `_FillValue` says so
/// (`h5py`'s `fillvalue=0`): the type's default would have to be replaced by zeros in each chunk that the source lacks.
fn keep_zeros(schema: &mut Schema, source: &Dataset, vars: &[Moved]) -> Result<()> {
    if schema.format.is_classic() {
        return Ok(());
    }
    for moved in vars {
        let var = schema.var(moved.to);
        if var.attr("_FillValue").is_some() || schema.fixed_size(var.dtype).is_none() {
            continue;
        }
        let is_zero = |fill: &[u8]| fill.iter().all(|&b| b == 0);
        // Of characters the default is zero.
        let differs = schema.default_fill(var.dtype).is_some_and(|default| !is_zero(&default));
        if differs && source.layout(moved.from)?.absent.inside().is_some_and(is_zero) {
            schema.vars[moved.to.0].fill = Fill::None;
        }
    }
    Ok(())
}

/// Notes on the source, but for variables that are not copied.
fn said_of(source: &Dataset, vars: &[Moved]) -> Vec<String> {
    let copied: HashSet<String> = vars.iter().map(|m| source.schema().var_path(m.from)).collect();
    let is_copied = |r: &Remark| r.variable.as_ref().is_none_or(|path| copied.contains(path));
    source.remarks().into_iter().filter(is_copied).map(|r| r.to_string()).collect()
}

struct Planner<'a> {
    source: &'a Dataset,
    schema: &'a Schema,
    moved: Moved,
    memory: Memory,
    threads: f64,
    skip_fill: bool,
    quantize: Option<Quantize>,
    /// Whether all filters are applied to every chunk: chunks for which some were skipped are encoded again.
    all_filters: bool,
    /// Whether chunks that are moved get access points.
    adds_points: bool,
}

/// Whether filters were skipped for some chunk, or each would have to be looked at.
fn may_have_masks(layout: &VarLayout) -> Result<bool> {
    let Some(Chunks { index, .. }) = layout.place.chunks() else { return Ok(false) };
    if !index.is_listed() {
        return Ok(true);
    }
    let mut found = false;
    index.visit(&mut |_, record| found |= record.mask != 0)?;
    Ok(found)
}

impl Planner<'_> {
    fn plan(&self) -> Result<(VarWork, VarPlan, f64)> {
        let layout = self.source.layout(self.moved.from)?;
        let var = self.schema.var(self.moved.to);
        let shape = self.schema.shape(self.moved.to);
        let heap = self.schema.is_heap(var.dtype);
        let element = self.schema.fixed_size(var.dtype).map_or(HEAP_ELEMENT, |n| n as u64);
        let (align, target) = match &var.storage {
            Storage::Chunked { chunks, filters } => (
                chunks.clone(),
                Side::Chunks {
                    lens: chunks.clone(),
                    seconds_per_byte: rates::encode_seconds_per_byte(filters),
                },
            ),
            Storage::Compact => (shape.clone().into_iter().map(|n| n.max(1)).collect(), Side::Free),
            Storage::Contiguous => (vec![1; shape.len()], Side::Runs),
        };
        let sides = [Side::of(&layout), target];
        let sparse = self.is_sparse(&layout)?;
        let mut route = self.route(&layout, heap, sparse);
        if self.all_filters && route == Route::Raw && may_have_masks(&layout)? {
            route = Route::Boxes;
        }
        let chunk = shape::bytes(&align, element);
        if route == Route::Raw
            && self.adds_points
            && layout.place.codecs().is_some_and(|codecs| codecs.segmented(0).is_some())
            && var.access_points.may_cut(usize::try_from(chunk).unwrap_or(usize::MAX))
        {
            route = Route::Points;
        }
        let walk = match route {
            Route::Heap => choose(&shape, 1, &[Side::Free, Side::Free], &align, HEAP_BATCH),
            Route::Raw | Route::Points | Route::Nothing | Route::Fill => {
                let most = match route {
                    Route::Raw | Route::Points => shape::bytes(&align, element * MOST_CHUNKS),
                    _ => u64::MAX,
                };
                let budget = most.min(COMFORTABLE).min(self.memory.boxes);
                choose(&shape, element, &[Side::Free, Side::Free], &align, budget)
            }
            Route::Boxes | Route::Spill(_) => match self.var_group() {
                Some(group) => price(&shape, element, &sides, &group.lens),
                None => {
                    let slow = rates::may_encode_slowly(var.storage.filters());
                    self.boxes(&shape, element, &sides, &align, slow)
                }
            },
        };
        if route == Route::Boxes
            && let Some(bands) = self.spill(&layout, &shape, element, &sides, &walk)
        {
            route = Route::Spill(bands);
        }
        let quantize = self.quantize.map(|how| {
            let fill = self.schema.fill_value(self.moved.to);
            let others = self.schema.missing_elements(var).into_iter().filter(|one| *one != fill);
            Rounding { how, missing: others.collect(), fill }
        });
        let work = VarWork { moved: self.moved, route, walk, element, sparse, quantize };
        let (report, seconds) = self.report(&layout, &shape, &sides, &work)?;
        Ok((work, report, seconds))
    }

    /// A note that chunks are written which the source does not have.
    fn absent_values(&self, work: &VarWork) -> Result<Option<String>> {
        let var = self.schema.var(self.moved.to);
        let layout = self.source.layout(self.moved.from)?;
        let is_written = !work.sparse && !matches!(work.route, Route::Nothing | Route::Heap);
        if !is_written || !matches!(var.storage, Storage::Chunked { .. }) || !layout.is_exact() {
            return Ok(None);
        }
        let grid = layout.place.chunks().map(|c| ChunkGrid::new(&layout.shape, c.chunk));
        let absent = match &grid {
            Some(grid) => written::number_stored(&layout, grid)?.map_or(0, |n| grid.len().saturating_sub(n)),
            None => 0,
        };
        Ok((absent > 0).then(|| {
            format!(
                "`{}`: {}, which the source does not have, are written: they do not read as the fill value",
                self.schema.var_path(self.moved.to),
                many(absent, "chunk")
            )
        }))
    }

    /// Whether unwritten source chunks may stay unwritten: the output is chunked, and reads the same there.
    fn is_sparse(&self, layout: &VarLayout) -> Result<bool> {
        let var = self.schema.var(self.moved.to);
        let stays = matches!(var.storage, Storage::Chunked { .. });
        let fill = match var.attr("_FillValue").filter(|a| a.dtype == var.dtype) {
            // Unfilled values read as zeros in a new file.
            _ if var.fill == Fill::None => self.schema.fixed_size(var.dtype).map(|n| vec![0; n]),
            Some(a) => a.values.bytes().map(<[u8]>::to_vec),
            None => self.schema.default_fill(var.dtype),
        };
        let same = fill.is_some() && fill == layout.one_absent();
        Ok(stays && same && layout.is_exact())
    }

    fn route(&self, layout: &VarLayout, heap: bool, sparse: bool) -> Route {
        let var = self.schema.var(self.moved.to);
        let shape = self.schema.shape(self.moved.to);
        let chunked = matches!(var.storage, Storage::Chunked { .. });
        if shape.contains(&0) {
            return Route::Nothing;
        }
        if !self.moved.values {
            return if chunked || heap { Route::Nothing } else { Route::Fill };
        }
        if heap {
            return Route::Heap;
        }
        if sparse && layout.place.is_nowhere() {
            return Route::Nothing;
        }
        let (Some(Chunks { chunk, codecs, .. }), Storage::Chunked { chunks, filters }) =
            (layout.place.chunks(), &var.storage)
        else {
            return Route::Boxes;
        };
        let same_bytes = element_of(self.schema, var.dtype, var.endian).as_ref() == Some(&layout.element);
        let moves = layout.is_exact() && !self.skip_fill && self.quantize.is_none();
        if moves && chunk == chunks && same_bytes && same_filters(codecs.filters(), filters) {
            return Route::Raw;
        }
        Route::Boxes
    }

    /// The variables with which this one is moved, where the source has its values next to those of others. Chunks of the output come
    /// variable by variable: their order in the file is that in which they are written.
    fn var_group(&self) -> Option<&VarGroup> {
        let stays = self.schema.var(self.moved.to).storage == Storage::Contiguous;
        self.source.container().var_group(self.moved.from).filter(|_| stays)
    }

    fn boxes(&self, shape: &[u64], element: u64, sides: &[Side], align: &[u64], slow: bool) -> Walk {
        let budget = self.memory.boxes;
        let modest = choose(shape, element, sides, align, budget.min(COMFORTABLE));
        // Where encoding takes long, much would be lost with a large box when the copy is stopped.
        if slow || budget <= COMFORTABLE {
            return modest;
        }
        let large = choose(shape, element, sides, align, budget);
        // The saving of a walk is compared with the moving of the values, which is the same for both: fresh memory of a large box costs
        // more than a few boxes more.
        let values = shape::bytes(shape, element) as f64;
        let moving = 2.0 * values / rates::MEMORY_BYTES_PER_SECOND;
        if large.seconds + moving < WORTH * (modest.seconds + moving) { large } else { modest }
    }

    /// The walk over the source, if a temporary file is cheaper than decoding again and again.
    fn spill(
        &self,
        layout: &VarLayout,
        shape: &[u64],
        element: u64,
        sides: &[Side],
        walk: &Walk,
    ) -> Option<Walk> {
        let Chunks { chunk, .. } = layout.place.chunks()?;
        let Side::Chunks { seconds_per_byte, .. } = &sides[0] else { return None };
        if walk.len() < 2 {
            return None;
        }
        // Cut by the boxes as rarely as possible: each cut is one block of the temporary file.
        let cuts = Side::Chunks { lens: walk.grid.chunk.clone(), seconds_per_byte: 1.0 };
        let bands = choose(shape, element, &[cuts], chunk, self.memory.boxes / 2);
        let once = padded(shape, chunk).saturating_mul(element);
        let again = walk.touched[0].saturating_sub(once) as f64 * seconds_per_byte / rates::PLANNED_THREADS;
        let values = shape::bytes(shape, element) as f64;
        let through =
            2.0 * values * (1.0 / rates::FILE_BYTES_PER_SECOND + 1.0 / rates::MEMORY_BYTES_PER_SECOND);
        (again > through).then_some(bands)
    }

    fn report(
        &self,
        layout: &VarLayout,
        shape: &[u64],
        sides: &[Side],
        work: &VarWork,
    ) -> Result<(VarPlan, f64)> {
        let var = self.schema.var(self.moved.to);
        let values = shape::bytes(shape, work.element);
        let stored = layout.stored_bytes(u64::MAX)?;
        let chunk = layout.place.chunks().map(|c| c.chunk);
        let filtered = layout.place.codecs().is_some_and(|codecs| !codecs.is_empty());
        let once = chunk.map_or(values, |c| padded(shape, c).saturating_mul(work.element));
        let passes = match &work.route {
            Route::Boxes if chunk.is_some() && once > 0 => work.walk.touched[0] as f64 / once as f64,
            Route::Nothing | Route::Fill => 0.0,
            _ => 1.0,
        };
        let filters_out = var.storage.filters();
        // At most: how many chunks lack access points is not known yet.
        let moves = matches!(work.route, Route::Boxes | Route::Points | Route::Spill(_));
        let decoded = if moves && filtered { (once as f64 * passes) as u64 } else { 0 };
        let encoded = if moves && !filters_out.is_empty() { values } else { 0 };
        let spilled = if matches!(work.route, Route::Spill(_)) { values } else { 0 };
        let read = (stored as f64 * passes) as u64;
        let decode = match &sides[0] {
            Side::Chunks { seconds_per_byte, .. } => decoded as f64 * seconds_per_byte,
            _ => 0.0,
        };
        let cpu = decode
            + encoded as f64 * rates::encode_seconds_per_byte(filters_out)
            + if moves { 2.0 * values as f64 / rates::MEMORY_BYTES_PER_SECOND } else { 0.0 };
        let disk = read as f64 + 2.0 * spilled as f64 + if encoded > 0 { 0.5 } else { 1.0 } * values as f64;
        let seconds = cpu / self.threads + disk / rates::FILE_BYTES_PER_SECOND;
        let report = VarPlan {
            name: self.schema.var_path(self.moved.to),
            dtype: self.schema.type_name(var.dtype).to_string(),
            shape: shape.to_vec(),
            values_bytes: values,
            source: describe_place(layout),
            target: describe_storage(&var.storage, work.quantize.as_ref().map(|r| r.how)),
            route: match work.route {
                Route::Nothing => "nothing",
                Route::Fill => "fill",
                Route::Raw => "raw",
                Route::Points => "points",
                Route::Boxes => "boxes",
                Route::Spill(_) => "spill",
                Route::Heap => "heap",
            },
            box_shape: work.walk.grid.chunk.iter().zip(shape).map(|(&b, &n)| b.min(n)).collect(),
            boxes: work.walk.len(),
            passes,
            read,
            decoded,
            encoded,
            spilled,
            memory: work.largest_box(),
            choice: None,
            reads: None,
            codec: None,
        };
        Ok((report, seconds))
    }
}

/// Whether two filter chains do the same; whether a filter may be skipped does not matter for chunks that exist.
pub(crate) fn same_filters(a: &[Filter], b: &[Filter]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.id == y.id && x.params == y.params)
}

/// Whether a source variable can be copied at all; the error names the feature that is missing.
pub(crate) fn check_readable(source: &Dataset, v: VarId) -> Result<()> {
    if let Some(what) = source.layout(v)?.place.unsupported() {
        let path = format!("{}: {}", source.name(), source.schema().var_path(v));
        return Err(ncforge::Error::Unsupported { path, what: what.to_owned() });
    }
    check_whole(source, v)
}

/// An error if the file ends before the values of a classic variable do: they would become zeros in a file that looks whole.
fn check_whole(source: &Dataset, v: VarId) -> Result<()> {
    let schema = source.schema();
    if !schema.format.is_classic() {
        return Ok(());
    }
    match source.layout(v)?.last_byte(&**source.container().store())? {
        Some((end, len)) if len < end => Err(ncforge::Error::corrupt(
            source.name(),
            Some(len),
            format!(
                "the file ends here, and the values of `{}` at {end}: they would be copied as zeros",
                schema.var_path(v)
            ),
        )),
        _ => Ok(()),
    }
}
