//! Whether a version of the format can hold a schema, and the layout of its data.

use std::collections::HashSet;

use super::emit;
use super::layout::{Extent, Layout, check_sizes, extents, is_record};
use super::version::Version;
use crate::error::{Error, Limit, Result};
use crate::model::{Attribute, DType, Definition, Dimension, Format, Schema, Storage, Variable, shape};

/// netCDF's `NC_MAX_VAR_DIMS`.
const MAX_RANK: usize = 1024;

/// The largest default header padding.
pub(super) const AUTO_PADDING_MAX: u64 = 8 << 10;
/// The smallest default header padding of a file with records, which will be opened again to grow.
const AUTO_PADDING_RECORDS: u64 = 1 << 10;
/// From this many bytes on, data begin on a page, so that large aligned requests stay aligned.
const ALIGN_FROM: u64 = 1 << 20;
const PAGE: u64 = 4096;

fn beyond(version: Version, limit: Limit, what: String) -> Error {
    Error::Limit { format: version.name(), limit, what }
}

/// An error unless `version` can hold the schema. `known` are names that are already in the file: the rules for new names
/// do not apply to them.
pub(super) fn check(schema: &Schema, version: Version, known: &HashSet<&str>) -> Result<()> {
    schema
        .definitions()
        .filter(|d| !known.contains(d.name(schema)))
        .try_for_each(|d| check_name(schema, version, d))?;
    schema.definitions().try_for_each(|new| check_kind(schema, version, new))?;
    if let Some((first, second)) = two_unlimited(schema) {
        return Err(two_are_too_many(version, first, second));
    }
    let attributes =
        |attrs: &[Attribute]| no_twins(version, known, "attribute", attrs.iter().map(|a| &a.name));
    attributes(&schema.groups[0].attrs)?;
    schema.vars.iter().try_for_each(|v| attributes(&v.attrs))?;
    no_twins(version, known, "dimension", schema.dims.iter().map(|d| &d.name))?;
    no_twins(version, known, "variable", schema.vars.iter().map(|v| &v.name))
}

/// An error unless files of `version` may have the name of a definition.
fn check_name(schema: &Schema, version: Version, named: Definition) -> Result<()> {
    let of = match named {
        Definition::VariableAttribute(v, _) => format!(" of `{}`", schema.var(v).name),
        _ => String::new(),
    };
    named.check_name(schema).map_err(|e| match e {
        Error::BadName { kind, name, why } => {
            version.cannot(format!("the {kind} `{}`{of}: its name {why}", name.escape_debug()))
        }
        other => other,
    })
}

/// An error if `version` cannot hold a new part of the schema.
pub(super) fn check_new(schema: &Schema, version: Version, new: Definition) -> Result<()> {
    check_kind(schema, version, new)?;
    match new {
        Definition::Dimension(d) if schema.dim(d).unlimited => match two_unlimited(schema) {
            Some((first, second)) => Err(two_are_too_many(version, first, second)),
            None => Ok(()),
        },
        Definition::Variable(_) => check_bytes(schema, version),
        _ => Ok(()),
    }
}

/// An error if `version` cannot hold one definition, independent of all others.
fn check_kind(schema: &Schema, version: Version, new: Definition) -> Result<()> {
    match new {
        Definition::Group(g) => Err(version.cannot(format!("groups (`{}`)", schema.group(g).name))),
        Definition::Type(t) => {
            Err(version.cannot(format!("user-defined types (`{}`)", schema.user_type(t).name)))
        }
        Definition::Dimension(d) => check_dimension(schema.dim(d), version),
        Definition::Variable(v) => check_variable(schema, version, schema.var(v)),
        Definition::GroupAttribute(..) | Definition::VariableAttribute(..) => {
            let Some(attr) = new.attribute(schema) else { return Ok(()) };
            atomic(schema, version, attr.dtype, "attribute", &attr.name)
        }
    }
}

fn check_dimension(dim: &Dimension, version: Version) -> Result<()> {
    if dim.unlimited {
        if dim.len > version.max_records() {
            return Err(beyond(version, Limit::DimensionLength, format!("{} records", dim.len)));
        }
    } else if dim.len == 0 {
        let what = format!("dimension `{}` of fixed length 0", dim.name);
        return Err(beyond(version, Limit::DimensionLength, what));
    } else if dim.len > version.max_dim_len() {
        let what = format!("dimension `{}` of length {}", dim.name, dim.len);
        return Err(beyond(version, Limit::DimensionLength, what));
    }
    Ok(())
}

fn check_variable(schema: &Schema, version: Version, var: &Variable) -> Result<()> {
    atomic(schema, version, var.dtype, "variable", &var.name)?;
    if var.dims.len() > MAX_RANK {
        let what = format!("variable `{}` of {} dimensions", var.name, var.dims.len());
        return Err(beyond(version, Limit::Rank, what));
    }
    if let Some(dim) = var.dims.iter().find(|d| d.0 >= schema.dims.len()) {
        let what = format!("variable `{}` has dimension {}, which is not defined", var.name, dim.0);
        return Err(Error::BadDimension { dim: dim.0, what });
    }
    if let Some(dim) = var.dims.iter().skip(1).find(|d| schema.dim(**d).unlimited) {
        let dim = &schema.dim(*dim).name;
        let what = format!("variable `{}` whose unlimited dimension `{dim}` is not the first", var.name);
        return Err(beyond(version, Limit::UnlimitedFirst, what));
    }
    Ok(())
}

fn two_are_too_many(version: Version, first: &str, second: &str) -> Error {
    beyond(version, Limit::OneUnlimited, format!("two unlimited dimensions (`{first}`, `{second}`)"))
}

/// The first two unlimited dimensions, if there are two.
fn two_unlimited(schema: &Schema) -> Option<(&str, &str)> {
    let mut unlimited = schema.dims.iter().filter(|d| d.unlimited).map(|d| d.name.as_str());
    Some((unlimited.next()?, unlimited.next()?))
}

/// An error if the variables have too many bytes for the version. Adding variables does not change that.
fn check_bytes(schema: &Schema, version: Version) -> Result<()> {
    // Called for every new variable: the whole layout is computed only if a limit may be near.
    let mut all = 0u64;
    let mut largest = 0u64;
    for var in &schema.vars {
        let DType::Atomic(a) = var.dtype else { continue };
        let fixed = var.dims.iter().map(|d| schema.dim(*d)).filter(|d| !d.unlimited);
        let bytes = shape::product(fixed.map(|d| d.len)).saturating_mul(a.size() as u64);
        all = all.saturating_add(bytes);
        largest = largest.max(bytes);
    }
    if largest <= version.max_var_size() / 2 && all <= version.max_offset() / 2 {
        return Ok(());
    }
    let sizes = sizes(schema, version)?;
    place(schema, version, &sizes, Some(0)).map(drop)
}

fn atomic(schema: &Schema, version: Version, dtype: DType, kind: &str, name: &str) -> Result<()> {
    match dtype {
        DType::Atomic(a) if a.in_classic() || version == Version::V5 => Ok(()),
        other => {
            let what = format!("{kind} `{name}` of type {}", schema.type_name(other));
            Err(beyond(version, Limit::Type, what))
        }
    }
}

fn no_twins<'a>(
    version: Version,
    known: &HashSet<&str>,
    kind: &str,
    names: impl Iterator<Item = &'a String>,
) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) && !known.contains(name.as_str()) {
            return Err(version.cannot(format!("two {kind}s called `{name}`")));
        }
    }
    Ok(())
}

/// The schema as stored in a classic file: contiguous, implicitly big-endian, nothing left out.
pub(super) fn normalise(mut schema: Schema, version: Version) -> Schema {
    schema.format = version.format();
    schema.provenance = None;
    schema.skipped.clear();
    for var in &mut schema.vars {
        var.storage = Storage::Contiguous;
        var.endian = crate::model::Endian::Native;
    }
    schema
}

/// Sizes of the variables, as an error of the writing side.
pub(super) fn sizes(schema: &Schema, version: Version) -> Result<Vec<Extent>> {
    let checked = extents(schema).and_then(|all| check_sizes(schema, version, &all).map(|()| all));
    checked.map_err(|what| beyond(version, Limit::VariableSize, what))
}

/// Computes the layout of a whole dataset, with `padding` bytes of header padding (`None`: depending on the size of the data).
pub(super) fn place(
    schema: &Schema,
    version: Version,
    extents: &[Extent],
    padding: Option<u64>,
) -> Result<Layout> {
    place_behind(schema, version, extents, padding, 0)
}

/// As [`place`], with no data before byte `floor`: up to there the file contains the header of its last sync.
pub(super) fn place_behind(
    schema: &Schema,
    version: Version,
    extents: &[Extent],
    padding: Option<u64>,
    floor: u64,
) -> Result<Layout> {
    let header = emit::header_len(schema, version)?;
    let too_large = || beyond(version, Limit::VariableSize, "data of more than 2^63 bytes".into());
    let records = schema.dims.iter().find(|d| d.unlimited).map_or(0, |d| d.len);
    let tight = Layout::tight(extents, header, header).ok_or_else(too_large)?;
    let data = tight.file_len(records).ok_or_else(too_large)? - header;
    let growing = schema.vars.iter().any(|v| is_record(schema, v));
    let least = if growing { AUTO_PADDING_RECORDS } else { 0 };
    let padding = padding.unwrap_or_else(|| (data / 8).clamp(least, AUTO_PADDING_MAX));
    let mut first = header.checked_add(padding).ok_or_else(too_large)?.max(floor);
    if data >= ALIGN_FROM && padding > 0 {
        first = first.next_multiple_of(PAGE);
    }
    let layout = Layout::tight(extents, header, first).ok_or_else(too_large)?;
    check_offsets(schema, version, &layout)?;
    layout.file_len(records).ok_or_else(too_large)?;
    Ok(layout)
}

/// An error if the version cannot represent the begin of a variable.
pub(super) fn check_offsets(schema: &Schema, version: Version, layout: &Layout) -> Result<()> {
    match layout.vars.iter().position(|e| e.begin > version.max_offset()) {
        Some(i) => {
            let (name, begin) = (&schema.vars[i].name, layout.vars[i].begin);
            let what = format!("variable `{name}`, whose data would begin at byte {begin}");
            Err(beyond(version, Limit::VariableSize, what))
        }
        None => Ok(()),
    }
}

/// The lowest version that can hold the schema, and its layout; or the error of the highest version.
pub(super) fn choose(schema: &Schema, asked: Format, padding: Option<u64>) -> Result<(Version, Layout)> {
    let attempt = |version: Version| {
        check(schema, version, &HashSet::new())?;
        let sizes = sizes(schema, version)?;
        Ok((version, place(schema, version, &sizes, padding)?))
    };
    match Version::of(asked) {
        Some(version) => attempt(version),
        None => attempt(Version::V1).or_else(|_| attempt(Version::V2)).or_else(|_| attempt(Version::V5)),
    }
}
