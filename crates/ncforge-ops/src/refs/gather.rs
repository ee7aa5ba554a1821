//! The variables of one file as they are stored, and small values that references of several files need.

use ncforge::store::remote::shown_path;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::attributes;
use super::kinds::Kind;
use super::options::{POLICY, RefsFormat, RefsOptions};
use crate::series::{self, Ends};
use crate::unlike::{Unlike, compare_global_attributes};
use ncforge::model::agreement::{Class, Verdict, differences};
use ncforge::model::{Attribute, DType, Filter, Number, Schema, UserKind, Value, Values, VarId, shape};
use ncforge::raw::{ChunkGrid, ChunkRecord, Chunks, Remark, remarks};
use ncforge::{Dataset, Error, Hyperslab, Result};

/// Variables of more bytes are taken from the first file without comparing their values.
pub(super) const MOST_COMPARED: u64 = 4 << 20;
/// Strings of one variable that are compared, or stored in the document, at most.
pub(super) const MOST_STRINGS: u64 = 1 << 18;

/// The files, as they are opened.
pub(super) struct Inputs<'a> {
    /// Their names, for messages.
    pub(super) names: Vec<String>,
    /// Opens one of them.
    pub(super) open: &'a (dyn Fn(usize) -> Result<Dataset> + Sync),
}

/// The files of which something is wanted, and the wanted part of each.
pub(super) struct Opened<'a> {
    /// Their names, for messages.
    pub(super) names: Vec<String>,
    /// Opens one of them.
    pub(super) open: &'a (dyn Fn(usize) -> Result<Dataset> + Sync),
    /// … and takes what is wanted of it.
    pub(super) source: &'a (dyn Fn(usize) -> Result<Dataset> + Sync),
}

/// The wanted parts of a file.
pub(super) struct Wanted<'a> {
    /// The dimension along which files are joined.
    pub(super) along: Option<&'a str>,
    /// The number of files.
    pub(super) files: u64,
    /// The first of them.
    pub(super) first: &'a Dataset,
    pub(super) options: &'a RefsOptions,
}

/// A file.
#[derive(Debug)]
pub(super) struct FileArrays {
    /// Groups by path, with attributes.
    pub(super) groups: Vec<(String, Vec<(String, String)>)>,
    pub(super) vars: Vec<FileVar>,
    /// Attributes in which it differs from the first file.
    pub(super) unlike: Vec<Unlike>,
    pub(super) notes: Vec<String>,
}

/// A variable.
#[derive(Debug)]
pub(super) struct FileVar {
    /// Its path without a leading slash.
    pub(super) path: String,
    pub(super) dims: Vec<String>,
    pub(super) shape: Vec<u64>,
    /// Its type; a reason if Zarr has no such type.
    pub(super) kind: Result<Kind, String>,
    /// The members of an enum, as text.
    pub(super) members: Option<String>,
    /// Attributes other than `_FillValue`, as JSON text.
    pub(super) attrs: Vec<(String, String)>,
    /// `_FillValue` in the type of the variable: one element in native order.
    pub(super) own_fill: Option<Vec<u8>>,
    /// The own fill value as JSON text.
    pub(super) own_fill_text: Option<String>,
    /// The reason why `_FillValue` cannot be in that type.
    pub(super) unmasked: Option<String>,
    /// The value of elements that were never written, in native order.
    pub(super) fill: Vec<u8>,
    pub(super) stored: Stored,
    /// All values, if they are few.
    pub(super) values: Option<Values>,
    /// A hash of all values, if they do not lie along the joined dimension and are not too many.
    pub(super) digest: Option<u64>,
    /// Its ends, if it is the coordinate of the joined dimension.
    pub(super) ends: Option<Ends>,
}

/// The place of a variable's bytes.
#[derive(Debug)]
pub(super) enum Stored {
    /// Nothing was written.
    Nothing,
    /// One run.
    Run { offset: u64 },
    /// One record in each step of the first dimension.
    Records { begin: u64, stride: u64 },
    /// Chunks.
    Chunks { chunk: Vec<u64>, filters: Vec<Filter>, list: Vec<(Vec<u64>, ChunkRecord)> },
    /// A form that ranges of bytes cannot express; the reason.
    Values(String),
    /// Somewhere: nobody asks where.
    Somewhere,
}

impl FileVar {
    /// Bytes of all values; 0 for strings.
    pub(super) fn bytes(&self) -> u64 {
        let size = self.kind.as_ref().map_or(0, |k| k.size() as u64);
        shape::bytes(&self.shape, size)
    }

    /// Whether values within its shape were never written, and read as its fill.
    pub(super) fn has_unwritten(&self) -> bool {
        match &self.stored {
            Stored::Nothing => !self.shape.contains(&0),
            Stored::Chunks { chunk, list, .. } => {
                (list.len() as u64) < ChunkGrid::new(&self.shape, chunk).len()
            }
            Stored::Run { .. } | Stored::Records { .. } | Stored::Values(_) | Stored::Somewhere => false,
        }
    }

    /// The axis of a dimension.
    pub(super) fn axis(&self, along: Option<&str>) -> Option<usize> {
        self.dims.iter().position(|d| Some(d.as_str()) == along)
    }
}

/// Gathers a file, of which `source` is the part that is wanted.
pub(super) fn file(dataset: &Dataset, source: &Dataset, wanted: &Wanted<'_>) -> Result<FileArrays> {
    if dataset.container().store().blocks().is_some() {
        let what = "making references to a zipped file, whose bytes are compressed in blocks,";
        return Err(Error::Unsupported { path: shown_path(dataset.path()), what: what.into() });
    }
    let schema = source.schema();
    let mut notes: Vec<String> =
        schema.skipped.iter().map(|s| format!("`{}` was left out: {}", s.path, s.why)).collect();
    notes.extend(remarks(dataset.container()).iter().map(Remark::to_string));
    let mut groups = Vec::new();
    for (i, group) in schema.groups.iter().enumerate() {
        let path = schema.group_path(ncforge::model::GroupId(i));
        let attrs = converted(schema, &group.attrs, &path, &mut notes);
        groups.push((path.trim_start_matches('/').to_owned(), attrs));
    }
    if let Some(vars) = &wanted.options.vars {
        vars.iter().try_for_each(|name| dataset.var(name).map(|_| ()))?;
    }
    let mut vars = Vec::new();
    for id in schema.var_ids() {
        if is_wanted(schema, id, wanted.options) {
            vars.push(variable(source, id, wanted, dataset.container().store().len(), &mut notes)?);
        }
    }
    let unlike = unlike(wanted.first.schema(), schema, wanted.options);
    Ok(FileArrays { groups, vars, unlike, notes })
}

/// The attributes in which a file differs from the first: of groups, and of the variables that are wanted.
fn unlike(first: &Schema, schema: &Schema, options: &RefsOptions) -> Vec<Unlike> {
    let may_differ = |name: &str| POLICY.verdict(Class::of_file(name)) == Verdict::Ignore;
    let mut found = compare_global_attributes(first, schema, may_differ);
    for var in first.var_ids().filter(|var| is_wanted(first, *var, options)) {
        let Some(other) = schema.find_var(&first.var_path(var)) else { continue };
        let unlike = differences((first, var), (schema, other));
        found.extend(unlike.iter().map(|d| Unlike::of_var((first, var), d.name, (schema, d.other))));
    }
    found
}

/// The meanings of the numbers of an enum; `None` for other types.
fn members(schema: &Schema, dtype: DType) -> Option<String> {
    let DType::User(id) = dtype else { return None };
    match &schema.user_type(id).kind {
        UserKind::Enum { members, .. } => Some(
            members.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", "),
        ),
        _ => None,
    }
}

fn is_wanted(schema: &Schema, id: VarId, options: &RefsOptions) -> bool {
    let Some(vars) = &options.vars else { return true };
    vars.iter().any(|name| schema.find_var(name) == Some(id))
}

fn converted(
    schema: &Schema,
    attrs: &[Attribute],
    of: &str,
    notes: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for attr in attrs {
        match attributes::text(schema, attr) {
            Some(text) => out.push((attr.name.clone(), text)),
            None => notes.push(format!(
                "the attribute `{}` of `{of}` was left out: JSON has no values of type `{}`",
                attr.name,
                schema.type_name(attr.dtype)
            )),
        }
    }
    out
}

/// Gathers a variable of a file of `len` bytes.
fn variable(
    source: &Dataset,
    id: VarId,
    wanted: &Wanted<'_>,
    len: u64,
    notes: &mut Vec<String>,
) -> Result<FileVar> {
    let schema = source.schema();
    let layout = source.layout(id)?;
    let var = schema.var(id);
    let path = schema.var_path(id).trim_start_matches('/').to_owned();
    let kind = match layout.place.unsupported() {
        Some(what) => Err(format!("{what} is not supported")),
        None => Kind::of(schema, var.dtype, &layout.element),
    };
    let mut exact = var.clone();
    let unmasked = match schema.exact_fill(var) {
        Some(Ok(fill)) => {
            fill.put(&mut exact);
            None
        }
        Some(Err(why)) => Some(why),
        None => None,
    };
    let (own, attrs): (Vec<_>, Vec<_>) = exact.attrs.into_iter().partition(|a| a.name == "_FillValue");
    let own = own.first().filter(|_| unmasked.is_none());
    let mut out = FileVar {
        dims: var.dims.iter().map(|d| schema.dim(*d).name.clone()).collect(),
        shape: schema.shape(id),
        attrs: converted(schema, &attrs, &path, notes),
        members: members(schema, var.dtype),
        own_fill: own.and_then(|a| a.values.bytes()).map(<[u8]>::to_vec),
        own_fill_text: own.and_then(|a| attributes::text(schema, a)),
        unmasked,
        fill: layout.unwritten(),
        stored: Stored::Nothing,
        values: None,
        digest: None,
        ends: None,
        path,
        kind,
    };
    match wanted.options.format {
        RefsFormat::Kerchunk if out.kind.is_ok() => out.stored = stored(source, id, len, &out)?,
        RefsFormat::Kerchunk => {}
        RefsFormat::Cf => {
            out.kind = out.kind.map(Kind::native);
            out.stored = if layout.place.is_nowhere() { Stored::Nothing } else { Stored::Somewhere };
        }
    }
    read_small(source, id, wanted, &mut out)?;
    Ok(out)
}

/// Reads the values that are needed for comparing, or for storing them in the document.
fn read_small(source: &Dataset, id: VarId, wanted: &Wanted<'_>, var: &mut FileVar) -> Result<()> {
    let bytes = var.bytes();
    let Ok(kind) = var.kind else { return Ok(()) };
    let elements = shape::elements(&var.shape);
    if wanted.files > 1 && var.axis(wanted.along).is_none() {
        let few = match kind {
            Kind::Fixed { .. } => bytes <= MOST_COMPARED,
            Kind::Strings => elements <= MOST_STRINGS,
        };
        if few {
            let values = source.read(id, &Hyperslab::all(&var.shape))?;
            var.digest = Some(digest(kind, &values));
            var.values = Some(values).filter(|_| kind != Kind::Strings && bytes <= wanted.options.inline);
        }
        return Ok(());
    }
    if kind == Kind::Strings {
        return Ok(());
    }
    let files = if var.axis(wanted.along).is_some() { wanted.files } else { 1 };
    let is_coordinate = wanted.along.is_some_and(|along| series::is_coordinate(source.schema(), id, along));
    // An aggregation file has coordinates of its own.
    let is_own = is_coordinate && wanted.options.format == RefsFormat::Cf;
    if is_own || bytes.saturating_mul(files) <= wanted.options.inline {
        var.values = Some(source.read(id, &Hyperslab::all(&var.shape))?);
    }
    if wanted.files > 1 && is_coordinate && !wanted.options.unsorted && var.shape[0] > 0 {
        var.ends = ends(source, id, var)?;
    }
    Ok(())
}

/// The ends of a coordinate; `None` if it holds no numbers.
fn ends(source: &Dataset, id: VarId, var: &FileVar) -> Result<Option<Ends>> {
    let DType::Atomic(atomic) = source.schema().var(id).dtype else { return Ok(None) };
    let last = var.shape[0] - 1;
    let number = |at: u64| {
        let read;
        let size = var.bytes() / var.shape[0];
        let (values, at) = match &var.values {
            Some(values) => (values, at),
            None => {
                read = source.read(id, &Hyperslab::new(&[at], &[1]))?;
                (&read, 0)
            }
        };
        let bytes = values.bytes().unwrap_or_default();
        let own = bytes.get((at * size) as usize..((at + 1) * size) as usize);
        Ok::<_, Error>(own.and_then(|b| Number::read(atomic, b)).map(Number::to_f64))
    };
    let both = number(0)?.zip(number(last)?);
    Ok(both.map(|(first, last)| Ends { first, last, steps: None }))
}

/// A hash that equal values share.
fn digest(kind: Kind, values: &Values) -> u64 {
    let mut hasher = DefaultHasher::new();
    match values {
        Values::Fixed(bytes) => kind.one_nan(bytes).hash(&mut hasher),
        Values::Heap(values) => {
            for value in values {
                match value {
                    Value::String(Some(bytes)) => bytes.hash(&mut hasher),
                    _ => 0u8.hash(&mut hasher),
                }
            }
        }
    }
    hasher.finish()
}

/// Where the bytes of a variable lie, in a file of `len` bytes.
fn stored(source: &Dataset, id: VarId, len: u64, var: &FileVar) -> Result<Stored> {
    let layout = source.layout(id)?;
    let Ok(kind @ Kind::Fixed { .. }) = var.kind else {
        return Ok(Stored::Values("it holds strings of variable length".into()));
    };
    if layout.element.size != kind.size() {
        return Ok(Stored::Values("its elements are not stored as its type".into()));
    }
    if layout.absent.one().is_none() {
        return Ok(Stored::Values(
            "what lies beyond its end reads otherwise than what was not written".into(),
        ));
    }
    if let Some(runs) = layout.runs() {
        let whole = runs.end() <= len || runs.number == 0;
        return Ok(match runs.stride.filter(|&stride| stride != runs.each) {
            _ if layout.shape != var.shape => Stored::Values("it is shorter than its dimensions".into()),
            _ if !whole => Stored::Values("it reaches past the end of the file".into()),
            None => Stored::Run { offset: runs.begin },
            Some(stride) => Stored::Records { begin: runs.begin, stride },
        });
    }
    Ok(match layout.place.chunks() {
        None if layout.place.is_nowhere() || layout.place.unsupported().is_some() => Stored::Nothing,
        None if layout.is_in_rows() => {
            Stored::Values("it is not in chunks, and its rows are cut by what is selected".into())
        }
        None if layout.place.parts().is_some() => {
            Stored::Values("its values lie in other variables (it is virtual)".into())
        }
        None => Stored::Values("its values are within the metadata".into()),
        Some(_) if !layout.is_exact() => {
            Stored::Values("what is selected does not begin at edges of its chunks".into())
        }
        Some(Chunks { chunk, codecs, index }) => {
            let filters = codecs.filters().to_vec();
            if filters.first().is_some_and(|f| f.kind() == Some(ncforge::codec::filters::Kind::Widen)) {
                return Ok(Stored::Values("its numbers are of a type that is read as another".into()));
            }
            // Bytes of an edge chunk beyond the extent are undefined; where dimensions are longer, they would show.
            let shows =
                |d: usize| layout.shape[d] < var.shape[d] && !layout.shape[d].is_multiple_of(chunk[d]);
            if (0..chunk.len()).any(shows) {
                return Ok(Stored::Values("its last chunk ends before its dimension does".into()));
            }
            let mut list = Vec::new();
            index.visit(&mut |at, record| {
                if (0..at.len()).all(|d| at[d].saturating_mul(chunk[d]) < layout.shape[d].min(var.shape[d])) {
                    list.push((at.to_vec(), record));
                }
            })?;
            Stored::Chunks { chunk: chunk.to_vec(), filters, list }
        }
    })
}
