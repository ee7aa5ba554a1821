//! How each variable of the output is stored: chunk lengths and filters.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::coded::Coders;
use super::fitted::is_big;
use super::options::{Chunks, Codec, CopyOptions};
use super::schema::Moved;
use super::spec::VarChunks;
use crate::choosing::{Chooser, OF_FILE, Wanted};
use crate::profile::{Profile, cmip7, virtual_stores};
use crate::sampling::Budget;
use ncforge::codec::filter_chain::{USUAL_DEFLATE_LEVEL, USUAL_ZSTD_LEVEL};
use ncforge::codec::filters::{self, Kind, Purpose};
use ncforge::codec::{self, CodecChain, FilterChain};
use ncforge::model::{DType, Filter, Schema, Storage, VarId, shape};
use ncforge_tune::codec::{CodecChoice, Method};
use ncforge_tune::{Axis, Choice, Role, Roles};

use ncforge::{Dataset, Error, Result};

/// HDF5 stores the length of a chunk in 32 bits.
const MAX_CHUNK_BYTES: u64 = (1 << 32) - 1;
/// The most that fits into the metadata of a variable.
const MAX_COMPACT: u64 = 32 << 10;
/// A chunk made of whole dimensions, where a specification leaves them open, may have this size.
const OPEN_LENGTHS: u64 = 16 << 20;

/// The decisions on storage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The choices that were made, by path.
    pub(crate) choices: BTreeMap<String, Choice>,
    /// The codecs that were chosen, by path.
    pub(crate) codecs: BTreeMap<String, CodecChoice>,
}

/// The choices, by path: the part that a journal keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chosen {
    /// Chunk shapes.
    pub(crate) chunks: BTreeMap<String, Vec<u64>>,
    #[serde(default)]
    pub(crate) codecs: BTreeMap<String, Method>,
}

/// Sets the storage of every variable of the output's schema, which still holds the source's. Values of the variables
/// `rounded` lose bits before they are encoded. Choices in `recorded` are those of an earlier run, and not made
/// anew.
pub(crate) fn decide(
    schema: &mut Schema,
    source: &Dataset,
    vars: &[Moved],
    options: &CopyOptions,
    rounded: &[VarId],
    recorded: &Chosen,
) -> Result<Decided> {
    check_names(schema, source, options)?;
    options.check()?;
    if schema.format.is_classic() {
        let notes = classic_has_none(schema, options)?;
        if options.profile == Some(Profile::Cmip7) {
            return Err(Error::NotRepresentable {
                format: schema.format.kind(),
                what: "the profile cmip7".into(),
            });
        }
        schema.vars.iter_mut().for_each(|v| v.storage = Storage::Contiguous);
        options.complete(schema)?;
        return Ok(Decided { notes, ..Decided::default() });
    }
    options.choosing.check(schema, &source.name())?;
    // Samples of a file are for shapes and codecs together.
    let of_codecs = if matches!(options.codec, Codec::Auto { .. }) { OF_FILE / 2 } else { 0 };
    let coders = Coders::new(source, schema, options, rounded, &recorded.codecs, Budget::of(of_codecs));
    let chooser = Chooser::new(source, &options.choosing, OF_FILE - of_codecs);
    let roles = Roles::of(source.schema());
    let mut decider = Decider { source, options, recorded, roles, chooser, choices: BTreeMap::new(), coders };
    let from: HashMap<VarId, VarId> = vars.iter().map(|m| (m.to, m.from)).collect();
    for v in schema.var_ids().collect::<Vec<_>>() {
        schema.vars[v.0].storage = decider.of_variable(schema, v, from.get(&v).copied())?;
    }
    if options.profile == Some(Profile::Cmip7) {
        cmip7::apply(schema);
    }
    if options.profile == Some(Profile::Virtual) {
        let axes: Vec<Vec<Axis>> =
            schema.var_ids().map(|v| decider.axes(schema, v, from.get(&v).copied())).collect();
        let joins = |v: VarId, d: usize| axes[v.0][d].role == Role::Time || axes[v.0][d].unlimited;
        virtual_stores::apply(schema, joins, matches!(options.chunks, Chunks::Spec(_)));
    }
    options.complete(schema)?;
    let notes = needs_plugins(schema, source, &from).into_iter().collect();
    Ok(Decided { notes, choices: decider.choices, codecs: decider.coders.found })
}

/// The plugins that readers with netCDF-C need for filters that the source does not have.
fn needs_plugins(schema: &Schema, source: &Dataset, from: &HashMap<VarId, VarId>) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for v in schema.var_ids() {
        let old = from.get(&v).map_or(&[][..], |&v| source.schema().var(v).storage.filters());
        let new = schema.var(v).storage.filters().iter().filter(|f| f.needs_plugin());
        for f in new.filter(|f| !old.iter().any(|o| o.id == f.id)) {
            let name = codec::filter_name(f.id);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "netCDF-C reads {} with a plug-in only (HDF5_PLUGIN_PATH), or in programs that `ncforge run` starts",
            names.join(" and ")
        )
    })
}

/// What was asked for, and the output's format does not have: chunks, compression. Where the format was asked for,
/// too, that wins and the rest is noted; where it is just the source's, the wish cannot be met.
fn classic_has_none(schema: &Schema, options: &CopyOptions) -> Result<Vec<String>> {
    let mut wishes = Vec::new();
    if options.chunks != Chunks::Keep {
        wishes.push("chunks");
    }
    if matches!(options.codec, Codec::Deflate | Codec::Zstd | Codec::Auto { .. })
        || options.filters.iter().any(|f| !f.filters.is_empty())
    {
        wishes.push("compression");
    }
    if options.switches.fletcher32 {
        wishes.push("checksums");
    }
    if options.switches.skip_fill {
        wishes.push("chunks that can be left out");
    }
    if options.endian.is_some_and(|order| !is_big(order)) {
        wishes.push("little-endian numbers");
    }
    if wishes.is_empty() {
        return Ok(Vec::new());
    }
    let wishes = wishes.join(" and ");
    let format = schema.format.kind();
    match options.format {
        Some(_) => Ok(vec![format!("the format {format} has no {wishes}: nothing of that was done")]),
        None => Err(Error::NotRepresentable {
            format,
            what: format!("{wishes} (--format netcdf4 or netcdf4-classic can)"),
        }),
    }
}

/// Names in a specification that mean nothing are mistakes.
fn check_names(schema: &Schema, source: &Dataset, options: &CopyOptions) -> Result<()> {
    let no_variable = |name: &str| schema.no_variable(name, &source.name());
    if let Chunks::Spec(spec) = &options.chunks {
        for (name, _) in &spec.vars {
            schema.find_var(name).ok_or_else(|| no_variable(name))?;
        }
        for (name, _) in &spec.dims {
            let path = name.trim_start_matches('/');
            (0..schema.dims.len())
                .any(|d| schema.dims[d].name == *name || dim_path(schema, d).trim_start_matches('/') == path)
                .then_some(())
                .ok_or_else(|| schema.no_dimension("dimension", name, &source.name()))?;
        }
    }
    for name in options.filters.iter().filter_map(|f| f.vars.as_ref()).flatten() {
        schema.find_var(name).ok_or_else(|| no_variable(name))?;
    }
    Ok(())
}

fn dim_path(schema: &Schema, d: usize) -> String {
    let dim = &schema.dims[d];
    match schema.group_path(dim.group).as_str() {
        "/" => format!("/{}", dim.name),
        group => format!("{group}/{}", dim.name),
    }
}

struct Decider<'a> {
    source: &'a Dataset,
    options: &'a CopyOptions,
    recorded: &'a Chosen,
    roles: Roles,
    chooser: Chooser<'a>,
    choices: BTreeMap<String, Choice>,
    coders: Coders<'a>,
}

impl Decider<'_> {
    /// The dimensions of a variable of the output. What is added to it has none.
    fn axes(&self, schema: &Schema, v: VarId, from: Option<VarId>) -> Vec<Axis> {
        from.map_or_else(Vec::new, |from| self.roles.axes_in(self.source.schema(), from, schema, v))
    }

    fn of_variable(&mut self, schema: &Schema, v: VarId, from: Option<VarId>) -> Result<Storage> {
        let options = self.options;
        let from_classic = self.source.schema().format.is_classic();
        let var = schema.var(v);
        let element = schema.fixed_size(var.dtype).unwrap_or_else(|| schema.memory_size(var.dtype)) as u64;
        let axes = self.axes(schema, v, from);
        let old: Option<Vec<u64>> = match &var.storage {
            Storage::Chunked { chunks, .. } if !from_classic && chunks.len() == axes.len() => {
                Some(clip(chunks, &axes))
            }
            _ => None,
        };
        let compact = matches!(var.storage, Storage::Compact) && !from_classic;
        let unlimited = axes.iter().any(|a| a.unlimited);
        let bytes = shape::product(axes.iter().map(|a| a.len)).saturating_mul(element);
        let small = bytes < options.min_chunked && !unlimited;
        let plain = |compact: bool| {
            if compact && !unlimited && bytes <= MAX_COMPACT { Storage::Compact } else { Storage::Contiguous }
        };
        if self.compact_asked(schema, v, bytes, unlimited)? {
            return Ok(Storage::Compact);
        }
        let array = Array { schema, v, from, element, axes: &axes, old, unlimited, small };
        let method = match options.codec {
            Codec::Auto { .. } => {
                let usual = Method::Deflate { level: 1, shuffle: options.shuffle.unwrap_or(true) };
                let trial = Trial { filters: &filters_of(schema, v, options, usual)?, last: false };
                let chunks = self.lengths(&array, &trial)?;
                self.coders.of_variable(schema, v, from, chunks.as_deref())?
            }
            _ => Method::None,
        };
        let mut filters = filters_of(schema, v, options, method)?;
        if let Some(from) = from.filter(|_| options.codec == Codec::Keep) {
            deflate_all_bits(&mut filters, self.source, from)?;
        }
        let chunks = self.lengths(&array, &Trial { filters: &filters, last: true })?;
        // A variable that can never hold a value needs no chunks, except that an unlimited dimension requires them.
        let empty = axes.iter().any(|a| a.len == 0 && !a.unlimited);
        let chunks = match chunks {
            Some(chunks) if !empty || unlimited => chunks,
            None if empty && unlimited => vec![1; axes.len()],
            _ => return Ok(plain(compact)),
        };
        let size = shape::bytes(&chunks, element);
        if size > MAX_CHUNK_BYTES {
            return Err(Error::TooLarge(format!(
                "a chunk of `{}` would have {size} bytes, the format's limit is {MAX_CHUNK_BYTES}",
                schema.var_path(v)
            )));
        }
        Ok(Storage::Chunked { chunks, filters })
    }

    /// Whether a variable shall be compact, and can be.
    fn compact_asked(&self, schema: &Schema, v: VarId, bytes: u64, unlimited: bool) -> Result<bool> {
        let Chunks::Spec(spec) = &self.options.chunks else { return Ok(false) };
        match spec.var(&schema.var_path(v)) {
            Some(VarChunks::Compact) if !unlimited && bytes <= MAX_COMPACT => Ok(true),
            Some(VarChunks::Compact) => Err(Error::BadChunks {
                variable: schema.var_path(v),
                why: format!(
                    "cannot be compact: it has {bytes} bytes{}, the limit is {MAX_COMPACT}",
                    if unlimited { " and an unlimited dimension" } else { "" }
                ),
            }),
            _ => Ok(false),
        }
    }

    /// The chunk lengths that were asked for, kept or chosen, with these filters; `None` where there need be none.
    fn lengths(&mut self, array: &Array<'_>, trial: &Trial<'_>) -> Result<Option<Vec<u64>>> {
        let (options, schema, axes) = (self.options, array.schema, array.axes);
        let filtered = !trial.filters.is_empty() && !array.small;
        let kept = |decider: &mut Self| match &array.old {
            Some(old) => Ok(Some(old.clone())),
            None => decider.needed(array.unlimited || filtered, array, trial),
        };
        let spec = match &options.chunks {
            Chunks::Keep => return kept(self),
            Chunks::Auto => return self.needed(!array.small, array, trial),
            Chunks::Spec(spec) => spec,
        };
        match spec.var(&schema.var_path(array.v)) {
            Some(VarChunks::Lens(lens)) if lens.len() != axes.len() => Err(Error::BadChunks {
                variable: schema.var_path(array.v),
                why: format!("has {} dimensions, its chunk specification has {}", axes.len(), lens.len()),
            }),
            Some(VarChunks::Lens(lens)) => Ok((!axes.is_empty()).then(|| clip(lens, axes))),
            Some(VarChunks::Contiguous | VarChunks::Compact) => self.needed(array.unlimited, array, trial),
            None if spec.unchunk => self.needed(array.unlimited, array, trial),
            None => {
                let given = given(schema, array.v, axes, spec, array.old.as_deref());
                if given.iter().all(|a| a.given.is_none()) || (array.small && array.old.is_none()) {
                    kept(self)
                } else {
                    self.with_given(array, &given, trial)
                }
            }
        }
    }

    /// The chosen shape for a variable, where it must (or shall) have chunks.
    fn needed(&mut self, must: bool, array: &Array<'_>, trial: &Trial<'_>) -> Result<Option<Vec<u64>>> {
        if must { self.choose(array, array.axes, trial) } else { Ok(None) }
    }

    /// Given lengths, and the others as long as their dimensions where that makes no giant.
    fn with_given(
        &mut self,
        array: &Array<'_>,
        given: &[Axis],
        trial: &Trial<'_>,
    ) -> Result<Option<Vec<u64>>> {
        let whole: Vec<u64> = given.iter().map(|a| a.given.unwrap_or(a.len).max(1)).collect();
        let bytes = shape::bytes(&whole, array.element);
        let open = given.iter().any(|a| a.given.is_none() && a.unlimited);
        if given.iter().all(|a| a.given.is_some()) || bytes <= OPEN_LENGTHS && !open {
            return Ok(Some(whole));
        }
        self.choose(array, given, trial)
    }

    fn choose(&mut self, array: &Array<'_>, axes: &[Axis], trial: &Trial<'_>) -> Result<Option<Vec<u64>>> {
        let path = array.schema.var_path(array.v);
        if let Some(recorded) = self.recorded.chunks.get(&path).filter(|c| c.len() == axes.len()) {
            return Ok(Some(recorded.clone()));
        }
        let wanted = Wanted { axes, element: array.element, filters: trial.filters };
        let from = array.from.filter(|_| trial.last);
        let Some(found) = self.chooser.choose(wanted, from)? else { return Ok(None) };
        let choice = Choice::clone(&found.choice);
        let chunks = choice.chunks.clone();
        if trial.last {
            self.choices.insert(path, choice);
        }
        Ok(Some(chunks))
    }
}

/// A variable that may need a shape.
struct Array<'a> {
    schema: &'a Schema,
    v: VarId,
    /// The source variable that has its values.
    from: Option<VarId>,
    element: u64,
    axes: &'a [Axis],
    /// The chunk lengths that it has in the source.
    old: Option<Vec<u64>>,
    /// True if the variable can grow: then it must have chunks.
    unlimited: bool,
    /// True if the variable is too small for chunks that it need not have.
    small: bool,
}

/// The filters of a trial.
struct Trial<'a> {
    filters: &'a [Filter],
    /// Whether this is what it will have, not just an attempt: only that is sampled and reported.
    last: bool,
}

/// No chunk is longer than a dimension that cannot grow.
fn clip(lens: &[u64], axes: &[Axis]) -> Vec<u64> {
    lens.iter()
        .zip(axes)
        .map(|(&c, a)| if a.unlimited { c.max(1) } else { c.clamp(1, a.len.max(1)) })
        .collect()
}

/// The axes with the lengths that a specification gives to their dimensions. Where it gives any to a variable,
/// its other dimensions keep the source's chunk lengths.
fn given(
    schema: &Schema,
    v: VarId,
    axes: &[Axis],
    spec: &super::spec::ChunkSpec,
    old: Option<&[u64]>,
) -> Vec<Axis> {
    let mut out = axes.to_vec();
    let mut any = false;
    for (a, &d) in out.iter_mut().zip(&schema.var(v).dims) {
        if let Some(len) = spec.dim(&dim_path(schema, d.0), &schema.dim(d).name) {
            let len = len.unwrap_or(a.len).max(1);
            a.given = Some(if a.unlimited { len } else { len.min(a.len.max(1)) });
            any = true;
        }
    }
    if let (true, Some(old)) = (any, old) {
        for (a, &c) in out.iter_mut().zip(old) {
            a.given.get_or_insert(c);
        }
    }
    out
}

/// Filters that were asked for, if they make sense: here, wrong parameters are no damage of a file.
fn usable(list: Vec<Filter>, size: usize, path: &str) -> Result<Vec<Filter>> {
    match CodecChain::new(&list, size) {
        Ok(_) => Ok(list),
        Err(codec::Error::Corrupt(what)) => {
            Err(Error::BadFilter(format!("`{path}` cannot have the filters that were asked for: {what}")))
        }
        // The chain knows no names.
        Err(codec::Error::Unsupported(what)) => Err(Error::Unsupported { path: path.to_owned(), what }),
        Err(e) => Err(e.into()),
    }
}

/// The filters of one variable of the output; `method` is what was chosen, where that was asked for.
fn filters_of(schema: &Schema, v: VarId, options: &CopyOptions, method: Method) -> Result<Vec<Filter>> {
    let var = schema.var(v);
    let path = schema.var_path(v);
    let source = var.storage.filters();
    // Chunks of strings or ragged rows hold references: compressing those gains nothing, and netCDF-C refuses to.
    if schema.is_heap(var.dtype) {
        return Ok(if options.codec == Codec::Keep { source.to_vec() } else { Vec::new() });
    }
    let size = schema.fixed_size(var.dtype).unwrap_or(1);
    if let Some(spec) = options.filters.iter().rev().find(|f| f.names(&path)) {
        return usable(FilterChain::from(&spec.filters[..]).for_elements(size), size, &path);
    }
    let shuffled =
        |on_by_default: bool| options.shuffle.unwrap_or(on_by_default) && shuffles(var.dtype, size);
    let compressed = |compressor: Filter| -> Vec<Filter> {
        let shuffle = shuffled(true).then(|| filters::shuffle(size));
        shuffle.into_iter().chain([compressor]).collect()
    };
    let mut list = match options.codec {
        Codec::Keep => {
            let mut list = source.to_vec();
            if let Some(level) = options.level {
                for f in &mut list {
                    match f.kind() {
                        Some(Kind::Deflate) if level > 9 => {
                            return Err(Error::bad_option(
                                "level",
                                format!(
                                    "`{path}` is deflated, which has no level {level}: it has levels 0 to 9"
                                ),
                            ));
                        }
                        Some(Kind::Deflate) => *f = filters::deflate(level),
                        Some(Kind::Zstd) => *f = filters::zstd(level as i32),
                        _ => {}
                    }
                }
                if level == 0 {
                    list.retain(|f| !matches!(f.kind(), Some(Kind::Deflate | Kind::Zstd | Kind::Shuffle)));
                }
            }
            match options.shuffle {
                Some(false) => list.retain(|f| f.purpose() != Purpose::Sort),
                Some(true)
                    if shuffled(true)
                        && list.iter().any(Filter::compresses)
                        && !list.iter().any(|f| f.purpose() == Purpose::Sort) =>
                {
                    list.insert(0, filters::shuffle(size));
                }
                _ => {}
            }
            list
        }
        Codec::None => Vec::new(),
        Codec::Auto { .. } => method.filters(size),
        Codec::Deflate if options.level == Some(0) => Vec::new(),
        Codec::Deflate => compressed(filters::deflate(options.level.unwrap_or(USUAL_DEFLATE_LEVEL))),
        Codec::Zstd => compressed(filters::zstd(options.level.map_or(USUAL_ZSTD_LEVEL, u32::cast_signed))),
    };
    if options.switches.fletcher32 && !list.iter().any(|f| f.purpose() == Purpose::Check) {
        // Last: the checksum is of the bytes in the file, and is checked before they are inflated.
        list.push(filters::fletcher32());
    }
    Ok(list)
}

/// Replaces the filter that stores the bits of integers which have fewer than their bytes, where these are read as integers of all bits.
fn deflate_all_bits(list: &mut [Filter], source: &Dataset, from: VarId) -> Result<()> {
    let layout = source.layout(from)?;
    if layout.place.codecs().is_some_and(CodecChain::is_widened) {
        let packed = list.iter_mut().filter(|f| f.kind() == Some(Kind::Nbit));
        packed.for_each(|f| *f = filters::deflate(USUAL_DEFLATE_LEVEL));
    }
    Ok(())
}

fn shuffles(dtype: DType, size: usize) -> bool {
    // Shuffling a compound mixes bytes of different fields; it still gains, as netCDF-C users know.
    size > 1 && dtype != DType::String
}
