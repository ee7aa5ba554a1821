//! Definitions: new dimensions, groups, types, variables; attributes.

use ncforge::codec::filters;
use ncforge::codec::quantize::Quantize;
use ncforge::container::put_attribute;
use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Endian, Field, Fill, Filter, Format, Group, GroupId, Schema,
    Storage, TypeId, UserKind, UserType, VarId, Variable,
};
use ncforge::ops::choosing::{Choosing, Cut};
use ncforge::tune::axes_along;
use ncforge::{Error, Result, Values};
use pyo3::prelude::*;

use crate::describe::code;
use crate::errors::invalid;
use crate::values::checked;

/// A type as Python names it.
#[derive(FromPyObject)]
pub(crate) enum TypeName {
    User(usize),
    Named(String),
}

impl TypeName {
    pub(crate) fn resolve(&self, schema: &Schema) -> Result<DType> {
        match self {
            TypeName::User(t) => {
                checked(&schema.types, *t, "type")?;
                Ok(DType::User(TypeId(*t)))
            }
            TypeName::Named(name) if name == "str" => Ok(DType::String),
            TypeName::Named(name) => Ok(DType::Atomic(atomic(name)?)),
        }
    }
}

fn atomic(name: &str) -> Result<Atomic> {
    Atomic::ALL.into_iter().find(|&a| code(a) == name).ok_or_else(|| invalid(format!("no type `{name}`")))
}

/// The kind of a new user-defined type.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NewType {
    kind: String,
    #[pyo3(default)]
    size: usize,
    #[pyo3(default)]
    fields: Vec<(String, usize, TypeName, Vec<u32>)>,
    #[pyo3(default)]
    base: Option<TypeName>,
    #[pyo3(default)]
    members: Vec<(String, i128)>,
}

/// How a new variable is stored.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NewStorage {
    contiguous: bool,
    chunks: Option<Vec<u64>>,
    shuffle: bool,
    deflate: Option<u32>,
    zstd: Option<i32>,
    bzip2: Option<u32>,
    /// Level, shuffle (0 none, 1 bytes, 2 bits) and compressor, as the filter numbers them.
    blosc: Option<(u32, u32, u32)>,
    fletcher32: bool,
    endian: String,
    fill: bool,
}

/// How values of a variable lose bits, by netCDF4-python's name of the way.
pub(crate) fn quantize(mode: &str, digits: u32) -> Result<Quantize> {
    match mode {
        "BitGroom" => Ok(Quantize::BitGroom(digits)),
        "BitRound" => Ok(Quantize::BitRound(digits)),
        "GranularBitRound" => Ok(Quantize::GranularBitRound(digits)),
        other => Err(invalid(format!("no quantize mode `{other}`"))),
    }
}

pub(crate) fn dim(schema: &mut Schema, group: usize, name: &str, len: Option<u64>) -> Result<usize> {
    checked(&schema.groups, group, "group")?;
    let group = GroupId(group);
    if schema.dims_in(group).any(|d| schema.dim(d).name == name) {
        return Err(invalid(format!("there is a dimension `{name}` already")));
    }
    schema.dims.push(Dimension { name: name.into(), group, len: len.unwrap_or(0), unlimited: len.is_none() });
    Ok(schema.dims.len() - 1)
}

pub(crate) fn group(schema: &mut Schema, parent: usize, name: &str) -> Result<usize> {
    checked(&schema.groups, parent, "group")?;
    let parent = GroupId(parent);
    if schema.format != Format::Netcdf4 {
        return Err(cannot_hold(schema, format!("group `{name}`: it has no groups")));
    }
    if let Some(old) = schema.children(parent).find(|&g| schema.group(g).name == name) {
        return Ok(old.0);
    }
    schema.groups.push(Group { name: name.into(), parent: Some(parent), attrs: Vec::new() });
    Ok(schema.groups.len() - 1)
}

pub(crate) fn user_type(schema: &mut Schema, group: usize, name: &str, new: NewType) -> Result<usize> {
    checked(&schema.groups, group, "group")?;
    let group = GroupId(group);
    if schema.format != Format::Netcdf4 {
        return Err(cannot_hold(schema, format!("type `{name}`: it has no user-defined types")));
    }
    if schema.types_in(group).any(|t| schema.user_type(t).name == name) {
        return Err(invalid(format!("there is a type `{name}` already")));
    }
    let base = || new.base.as_ref().ok_or_else(|| invalid("the type needs a base type"))?.resolve(schema);
    let kind = match new.kind.as_str() {
        "compound" => {
            let fields = new.fields.iter().map(|(name, offset, dtype, shape)| {
                Ok(Field {
                    name: name.clone(),
                    offset: *offset,
                    dtype: dtype.resolve(schema)?,
                    shape: shape.clone(),
                })
            });
            UserKind::Compound { size: new.size, fields: fields.collect::<Result<_>>()? }
        }
        "enum" => match base()? {
            DType::Atomic(base) => UserKind::Enum { base, members: new.members },
            _ => return Err(invalid("the base of an enum is an integer type")),
        },
        "vlen" => UserKind::Vlen { base: base()? },
        "opaque" => UserKind::Opaque { size: new.size },
        other => return Err(invalid(format!("no kind of type `{other}`"))),
    };
    schema.types.push(UserType { name: name.into(), group, kind });
    Ok(schema.types.len() - 1)
}

pub(crate) fn var(
    schema: &mut Schema,
    group: usize,
    name: &str,
    dtype: &TypeName,
    dims: &[usize],
    storage: NewStorage,
) -> Result<usize> {
    checked(&schema.groups, group, "group")?;
    let group = GroupId(group);
    if schema.vars_in(group).any(|v| schema.var(v).name == name) {
        return Err(invalid(format!("there is a variable `{name}` already")));
    }
    for &d in dims {
        checked(&schema.dims, d, "dimension")?;
    }
    let dtype = dtype.resolve(schema)?;
    check_type(schema, dtype, "variable", name)?;
    let dims: Vec<DimId> = dims.iter().copied().map(DimId).collect();
    let mut var = Variable::new(name, dtype, dims);
    var.group = group;
    var.endian = match storage.endian.as_str() {
        "native" => Endian::Native,
        "little" => Endian::Little,
        "big" => Endian::Big,
        other => return Err(invalid(format!("no byte order `{other}`"))),
    };
    var.fill = if storage.fill { Fill::Default } else { Fill::None };
    var.storage = layout(schema, &var, &storage)?;
    schema.vars.push(var);
    Ok(schema.vars.len() - 1)
}

/// Refuses at once what the file's format has no type for, and not when the file is completed.
fn check_type(schema: &Schema, dtype: DType, what: &str, name: &str) -> Result<()> {
    let fits = match (schema.format, dtype) {
        (Format::Netcdf4, _) | (Format::Cdf5, DType::Atomic(_)) => true,
        (_, DType::Atomic(a)) => a.in_classic(),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(cannot_hold(schema, format!("{what} `{name}` of type {}", schema.type_name(dtype))))
}

fn cannot_hold(schema: &Schema, what: String) -> Error {
    Error::NotRepresentable { format: schema.format.kind(), what }
}

fn layout(schema: &Schema, var: &Variable, new: &NewStorage) -> Result<Storage> {
    if schema.format.is_classic() || var.dims.is_empty() {
        return Ok(Storage::Contiguous);
    }
    let size = schema.fixed_size(var.dtype).unwrap_or_else(|| schema.memory_size(var.dtype));
    let unlimited = var.dims.iter().any(|&d| schema.dim(d).unlimited);
    let chunked = new.chunks.is_some() || unlimited || new.is_filtered();
    if new.contiguous && chunked {
        return Err(invalid(format!(
            "`{}` cannot be contiguous: it has chunk sizes, filters or an unlimited dimension",
            var.name
        )));
    }
    if !chunked {
        return Ok(Storage::Contiguous);
    }
    let axes = axes_along(schema, &var.dims);
    let chunks = match new.chunks.clone() {
        Some(chunks) if chunks.len() != axes.len() => {
            return Err(invalid(format!("{} chunk sizes for {} dimensions", chunks.len(), axes.len())));
        }
        Some(chunks) if chunks.contains(&0) => return Err(invalid("chunk sizes are at least 1")),
        Some(chunks) => chunks,
        None => {
            // Which filters there are decides; their parameters depend on the chunk's size.
            let list = filter_list(new, size, 1 << 20);
            let cut = Cut { axes: &axes, element: size as u64, filters: &list, sampled: None, before: None };
            let choice = cut.choose(&Choosing::default())?.ok_or_else(|| {
                invalid(format!("`{}` has a dimension of length 0 and cannot be chunked", var.name))
            })?;
            choice.chunks
        }
    };
    let bytes = chunks.iter().fold(size as u64, |n, &c| n.saturating_mul(c));
    Ok(Storage::Chunked { chunks, filters: filter_list(new, size, bytes as usize) })
}

impl NewStorage {
    fn is_compressed(&self) -> bool {
        self.deflate.is_some() || self.zstd.is_some() || self.bzip2.is_some() || self.blosc.is_some()
    }

    fn is_filtered(&self) -> bool {
        self.is_compressed() || self.fletcher32
    }
}

/// The filters of a new variable with elements of `size` bytes and chunks of about so many.
pub(crate) fn filter_list(new: &NewStorage, size: usize, chunk_bytes: usize) -> Vec<Filter> {
    let mut list = Vec::new();
    let compressed = new.is_compressed() && new.blosc.is_none();
    if new.shuffle && compressed && size > 1 {
        list.push(filters::shuffle(size));
    }
    list.extend(new.deflate.map(filters::deflate));
    list.extend(new.zstd.map(filters::zstd));
    list.extend(new.bzip2.map(filters::bzip2));
    list.extend(
        new.blosc.map(|(level, shuffle, compressor)| {
            filters::blosc(size, chunk_bytes, level, shuffle, compressor)
        }),
    );
    if new.fletcher32 {
        list.push(filters::fletcher32());
    }
    list
}

/// Renames a dimension, variable or group.
pub(crate) fn rename(schema: &mut Schema, what: &str, at: usize, name: &str) -> Result<()> {
    let taken = || invalid(format!("there is a {what} `{name}` already"));
    match what {
        "dimension" => {
            checked(&schema.dims, at, what)?;
            if schema.dims_in(schema.dims[at].group).any(|d| d.0 != at && schema.dim(d).name == name) {
                return Err(taken());
            }
            name.clone_into(&mut schema.dims[at].name);
        }
        "variable" => {
            checked(&schema.vars, at, what)?;
            if schema.vars_in(schema.vars[at].group).any(|v| v.0 != at && schema.var(v).name == name) {
                return Err(taken());
            }
            name.clone_into(&mut schema.vars[at].name);
        }
        "group" => {
            checked(&schema.groups, at, what)?;
            let Some(parent) = schema.groups[at].parent else {
                return Err(invalid("the root group has no name"));
            };
            if schema.children(parent).any(|g| g.0 != at && schema.group(g).name == name) {
                return Err(taken());
            }
            name.clone_into(&mut schema.groups[at].name);
        }
        other => return Err(invalid(format!("a {other} cannot be renamed"))),
    }
    Ok(())
}

/// Renames an attribute, which keeps its place.
pub(crate) fn rename_attribute(
    schema: &mut Schema,
    group: usize,
    var: Option<usize>,
    name: &str,
    to: &str,
) -> Result<()> {
    let list = attributes_mut(schema, group, var)?;
    if name != to && list.iter().any(|a| a.name == to) {
        return Err(invalid(format!("there is an attribute `{to}` already")));
    }
    let found = list.iter_mut().find(|a| a.name == name).ok_or_else(|| no_attribute(name))?;
    to.clone_into(&mut found.name);
    Ok(())
}

fn no_attribute(name: &str) -> Error {
    Error::NotFound { kind: "attribute", name: name.into(), path: "the dataset".into() }
}

/// The attributes of a variable, or of a group when `var` is `None`.
pub(crate) fn attributes(schema: &Schema, group: usize, var: Option<usize>) -> Result<&Vec<Attribute>> {
    match var {
        Some(v) => {
            checked(&schema.vars, v, "variable")?;
            Ok(&schema.var(VarId(v)).attrs)
        }
        None => {
            checked(&schema.groups, group, "group")?;
            Ok(&schema.group(GroupId(group)).attrs)
        }
    }
}

fn attributes_mut(schema: &mut Schema, group: usize, var: Option<usize>) -> Result<&mut Vec<Attribute>> {
    attributes(schema, group, var)?;
    Ok(match var {
        Some(v) => &mut schema.vars[v].attrs,
        None => &mut schema.groups[group].attrs,
    })
}

pub(crate) fn set_attribute(
    schema: &mut Schema,
    group: usize,
    var: Option<usize>,
    name: &str,
    dtype: DType,
    values: Values,
) -> Result<()> {
    check_type(schema, dtype, "attribute", name)?;
    let attr = Attribute { name: name.into(), dtype, values };
    put_attribute(attributes_mut(schema, group, var)?, attr);
    Ok(())
}

pub(crate) fn delete_attribute(
    schema: &mut Schema,
    group: usize,
    var: Option<usize>,
    name: &str,
) -> Result<()> {
    let list = attributes_mut(schema, group, var)?;
    let at = list.iter().position(|a| a.name == name);
    let at = at.ok_or_else(|| no_attribute(name))?;
    list.remove(at);
    Ok(())
}
