//! Whether a version of the format can hold a schema, and where its data would lie.

use std::collections::HashSet;

use super::layout::{Extent, Layout, extents, is_record};
use super::version::Version;
use super::{emit, names};
use crate::error::{Error, Result};
use crate::model::{Attribute, DType, Format, Schema, Storage};

/// netCDF's `NC_MAX_VAR_DIMS`.
const MAX_RANK: usize = 1024;

/// The most header room that is reserved unasked.
const AUTO_ROOM_MAX: u64 = 8 << 10;
/// The least header room that is reserved unasked in a file with records, which will be opened again to grow.
const AUTO_ROOM_RECORDS: u64 = 1 << 10;
/// From this many bytes of data on, they begin on a page, so that large aligned requests stay aligned.
const ALIGN_FROM: u64 = 1 << 20;
const PAGE: u64 = 4096;

fn cannot(version: Version, what: impl Into<String>) -> Error {
    Error::NotRepresentable { format: version.name(), what: what.into() }
}

/// An error unless `version` can hold the schema. `known` are names that the file holds already: they are not
/// held against the rules for new names.
pub(super) fn check(schema: &Schema, version: Version, known: &HashSet<&str>) -> Result<()> {
    if schema.groups.len() > 1 {
        return Err(cannot(version, format!("groups (`{}`)", schema.groups[1].name)));
    }
    if let Some(t) = schema.types.first() {
        return Err(cannot(version, format!("user-defined types (`{}`)", t.name)));
    }
    let name = |kind: &str, name: &str| {
        if name.is_empty() {
            return Err(cannot(version, format!("a {kind} without a name")));
        }
        match names::problem(name) {
            Some(why) if !known.contains(name) => {
                Err(cannot(version, format!("{kind} `{name}`: its name {why}")))
            }
            _ => Ok(()),
        }
    };
    let mut record = None;
    for dim in &schema.dims {
        name("dimension", &dim.name)?;
        if dim.unlimited {
            if let Some(first) = record.replace(&dim.name) {
                return Err(cannot(version, format!("two unlimited dimensions (`{first}`, `{}`)", dim.name)));
            }
            if dim.len > version.max_records() {
                return Err(cannot(version, format!("{} records", dim.len)));
            }
        } else if dim.len == 0 {
            return Err(cannot(version, format!("dimension `{}` of fixed length 0", dim.name)));
        } else if dim.len > version.max_dim_len() {
            return Err(cannot(version, format!("dimension `{}` of length {}", dim.name, dim.len)));
        }
    }
    let attributes = |attrs: &[Attribute]| {
        for attr in attrs {
            name("attribute", &attr.name)?;
            atomic(schema, version, attr.dtype, "attribute", &attr.name)?;
        }
        no_twins(version, known, "attribute", attrs.iter().map(|a| &a.name))
    };
    attributes(&schema.groups[0].attrs)?;
    for var in &schema.vars {
        name("variable", &var.name)?;
        atomic(schema, version, var.dtype, "variable", &var.name)?;
        attributes(&var.attrs)?;
        if var.dims.len() > MAX_RANK {
            return Err(cannot(version, format!("variable `{}` of {} dimensions", var.name, var.dims.len())));
        }
        if let Some(dim) = var.dims.iter().find(|d| d.0 >= schema.dims.len()) {
            return Err(Error::Invalid(format!(
                "variable `{}` has dimension {}, which is not defined",
                var.name, dim.0
            )));
        }
        if let Some(dim) = var.dims.iter().skip(1).find(|d| schema.dim(**d).unlimited) {
            let dim = &schema.dim(*dim).name;
            return Err(cannot(
                version,
                format!("variable `{}` whose unlimited dimension `{dim}` is not the first", var.name),
            ));
        }
    }
    no_twins(version, known, "dimension", schema.dims.iter().map(|d| &d.name))?;
    no_twins(version, known, "variable", schema.vars.iter().map(|v| &v.name))
}

fn atomic(schema: &Schema, version: Version, dtype: DType, kind: &str, name: &str) -> Result<()> {
    match dtype {
        DType::Atomic(a) if a.in_classic() || version == Version::V5 => Ok(()),
        other => Err(cannot(version, format!("{kind} `{name}` of type {}", schema.type_name(other)))),
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
            return Err(cannot(version, format!("two {kind}s called `{name}`")));
        }
    }
    Ok(())
}

/// The schema as a classic file holds it: contiguous, big-endian without saying so, nothing left out.
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
    extents(schema, version).map_err(|what| cannot(version, what))
}

/// Places a whole dataset afresh, with `room` bytes free after the header (`None`: as the data's size suggests).
pub(super) fn place(
    schema: &Schema,
    version: Version,
    extents: &[Extent],
    room: Option<u64>,
) -> Result<Layout> {
    place_behind(schema, version, extents, room, 0)
}

/// The same, with no data before byte `floor`: up to there the file holds the header of its last sync.
pub(super) fn place_behind(
    schema: &Schema,
    version: Version,
    extents: &[Extent],
    room: Option<u64>,
    floor: u64,
) -> Result<Layout> {
    let header = emit::header_len(schema, version)?;
    let too_large = || cannot(version, "data of more than 2^63 bytes");
    let records = schema.dims.iter().find(|d| d.unlimited).map_or(0, |d| d.len);
    let tight = Layout::packed(extents, header, header).ok_or_else(too_large)?;
    let data = tight.file_len(records).ok_or_else(too_large)? - header;
    let growing = schema.vars.iter().any(|v| is_record(schema, v));
    let least = if growing { AUTO_ROOM_RECORDS } else { 0 };
    let room = room.unwrap_or_else(|| (data / 8).clamp(least, AUTO_ROOM_MAX));
    let mut first = header.checked_add(room).ok_or_else(too_large)?.max(floor);
    if data >= ALIGN_FROM && room > 0 {
        first = first.next_multiple_of(PAGE);
    }
    let layout = Layout::packed(extents, header, first).ok_or_else(too_large)?;
    check_offsets(schema, version, &layout)?;
    layout.file_len(records).ok_or_else(too_large)?;
    Ok(layout)
}

/// An error if a variable begins where the version cannot say.
pub(super) fn check_offsets(schema: &Schema, version: Version, layout: &Layout) -> Result<()> {
    match layout.vars.iter().position(|e| e.begin > version.max_offset()) {
        Some(i) => {
            let (name, begin) = (&schema.vars[i].name, layout.vars[i].begin);
            Err(cannot(version, format!("variable `{name}`, whose data would begin at byte {begin}")))
        }
        None => Ok(()),
    }
}

/// The first version that can hold the schema, and the layout there; or the last one's reason why not.
pub(super) fn choose(schema: &Schema, asked: Format, room: Option<u64>) -> Result<(Version, Layout)> {
    let attempt = |version: Version| {
        check(schema, version, &HashSet::new())?;
        let sizes = sizes(schema, version)?;
        Ok((version, place(schema, version, &sizes, room)?))
    };
    match Version::of(asked) {
        Some(version) => attempt(version),
        None => attempt(Version::V1).or_else(|_| attempt(Version::V2)).or_else(|_| attempt(Version::V5)),
    }
}
