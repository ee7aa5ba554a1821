//! Definitions: new dimensions, groups, types, variables; attributes. Each is checked as it is made, and undone if the file's
//! format cannot hold it: what a program defined before stays.

use ncforge::codec::filters;
use ncforge::codec::quantize::Quantize;
use ncforge::dataset::{check_changed, check_new};
use ncforge::model::{
    Atomic, Attribute, DType, Definition, DimId, Dimension, Endian, Field, Fill, Filter, Format, Group,
    GroupId, Schema, Storage, TypeId, UserKind, UserType, VarId, Variable,
};
use ncforge::{Error, Result};
use ncforge_ops::choosing::{Choosing, Cut};
use ncforge_ops::tune::axes_along;
use pyo3::prelude::*;

use crate::describe::code;
use crate::errors::invalid;
use crate::values::checked;

/// A description that is being changed, of a file of this format.
pub(crate) struct Draft<'a> {
    pub(crate) schema: &'a mut Schema,
    pub(crate) format: Format,
}

impl Draft<'_> {
    /// Takes what was just defined, or renamed, or undoes it if the format cannot hold it.
    fn accept(&mut self, new: Definition, undo: impl FnOnce(&mut Schema)) -> Result<()> {
        self.checked(check_new, new, undo)
    }

    /// The same of what got other values, and had its name before.
    fn accept_change(&mut self, changed: Definition, undo: impl FnOnce(&mut Schema)) -> Result<()> {
        self.checked(check_changed, changed, undo)
    }

    fn checked(
        &mut self,
        check: fn(&Schema, Format, Definition) -> Result<()>,
        new: Definition,
        undo: impl FnOnce(&mut Schema),
    ) -> Result<()> {
        let done = check(self.schema, self.format, new);
        if done.is_err() {
            undo(self.schema);
        }
        done
    }
}

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

pub(crate) fn dim(draft: &mut Draft<'_>, group: usize, name: &str, len: Option<u64>) -> Result<usize> {
    let schema = &mut *draft.schema;
    checked(&schema.groups, group, "group")?;
    let group = GroupId(group);
    schema.dims.push(Dimension { name: name.into(), group, len: len.unwrap_or(0), unlimited: len.is_none() });
    let id = schema.dims.len() - 1;
    draft.accept(Definition::Dimension(DimId(id)), |s| s.dims.truncate(id))?;
    Ok(id)
}

pub(crate) fn group(draft: &mut Draft<'_>, parent: usize, name: &str) -> Result<usize> {
    let schema = &mut *draft.schema;
    checked(&schema.groups, parent, "group")?;
    let parent = GroupId(parent);
    if let Some(old) = schema.children(parent).find(|&g| schema.group(g).name == name) {
        return Ok(old.0);
    }
    schema.groups.push(Group { name: name.into(), parent: Some(parent), attrs: Vec::new() });
    let id = schema.groups.len() - 1;
    draft.accept(Definition::Group(GroupId(id)), |s| s.groups.truncate(id))?;
    Ok(id)
}

pub(crate) fn user_type(draft: &mut Draft<'_>, group: usize, name: &str, new: NewType) -> Result<usize> {
    let schema = &mut *draft.schema;
    checked(&schema.groups, group, "group")?;
    let group = GroupId(group);
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
    let id = schema.types.len() - 1;
    draft.accept(Definition::Type(TypeId(id)), |s| s.types.truncate(id))?;
    Ok(id)
}

pub(crate) fn var(
    draft: &mut Draft<'_>,
    group: usize,
    name: &str,
    dtype: &TypeName,
    dims: &[usize],
    storage: NewStorage,
) -> Result<usize> {
    let schema = &mut *draft.schema;
    checked(&schema.groups, group, "group")?;
    for &d in dims {
        checked(&schema.dims, d, "dimension")?;
    }
    let dims: Vec<DimId> = dims.iter().copied().map(DimId).collect();
    let mut var = Variable::new(name, dtype.resolve(schema)?, dims);
    var.group = GroupId(group);
    var.endian = match storage.endian.as_str() {
        "native" => Endian::Native,
        "little" => Endian::Little,
        "big" => Endian::Big,
        other => return Err(invalid(format!("no byte order `{other}`"))),
    };
    var.fill = if storage.fill { Fill::Default } else { Fill::None };
    var.storage = layout(schema, &var, &storage)?;
    schema.vars.push(var);
    let id = schema.vars.len() - 1;
    draft.accept(Definition::Variable(VarId(id)), |s| s.vars.truncate(id))?;
    Ok(id)
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
pub(crate) fn rename(draft: &mut Draft<'_>, what: &str, at: usize, name: &str) -> Result<()> {
    let schema = &mut *draft.schema;
    let new = match what {
        "dimension" => {
            checked(&schema.dims, at, what)?;
            Definition::Dimension(DimId(at))
        }
        "variable" => {
            checked(&schema.vars, at, what)?;
            Definition::Variable(VarId(at))
        }
        "group" => {
            checked(&schema.groups, at, what)?;
            if schema.groups[at].parent.is_none() {
                return Err(invalid("the root group has no name"));
            }
            Definition::Group(GroupId(at))
        }
        other => return Err(invalid(format!("a {other} cannot be renamed"))),
    };
    let old = std::mem::replace(name_mut(schema, new), name.to_owned());
    if old == name {
        return Ok(());
    }
    draft.accept(new, |s| *name_mut(s, new) = old)
}

fn name_mut(schema: &mut Schema, of: Definition) -> &mut String {
    match of {
        Definition::Group(g) => &mut schema.groups[g.0].name,
        Definition::Dimension(d) => &mut schema.dims[d.0].name,
        Definition::Type(t) => &mut schema.types[t.0].name,
        Definition::Variable(v) => &mut schema.vars[v.0].name,
        Definition::GroupAttribute(g, at) => &mut schema.groups[g.0].attrs[at].name,
        Definition::VariableAttribute(v, at) => &mut schema.vars[v.0].attrs[at].name,
    }
}

/// Renames an attribute, which keeps its place.
pub(crate) fn rename_attribute(
    draft: &mut Draft<'_>,
    group: usize,
    var: Option<usize>,
    name: &str,
    to: &str,
) -> Result<()> {
    let list = attributes_mut(draft.schema, group, var)?;
    let at = list.iter().position(|a| a.name == name).ok_or_else(|| no_attribute(name))?;
    if name == to {
        return Ok(());
    }
    to.clone_into(&mut list[at].name);
    let new = attribute(group, var, at);
    draft.accept(new, |s| name.clone_into(name_mut(s, new)))
}

fn attribute(group: usize, var: Option<usize>, at: usize) -> Definition {
    match var {
        Some(v) => Definition::VariableAttribute(VarId(v), at),
        None => Definition::GroupAttribute(GroupId(group), at),
    }
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
    draft: &mut Draft<'_>,
    group: usize,
    var: Option<usize>,
    new: Attribute,
) -> Result<()> {
    let list = attributes_mut(draft.schema, group, var)?;
    let (at, old) = match list.iter().position(|a| a.name == new.name) {
        Some(at) => (at, Some(std::mem::replace(&mut list[at], new))),
        None => {
            list.push(new);
            (list.len() - 1, None)
        }
    };
    let new = attribute(group, var, at);
    match old {
        Some(old) => draft.accept_change(new, |s| {
            if let Ok(list) = attributes_mut(s, group, var) {
                list[at] = old;
            }
        }),
        None => draft.accept(new, |s| {
            if let Ok(list) = attributes_mut(s, group, var) {
                list.truncate(at);
            }
        }),
    }
}

pub(crate) fn delete_attribute(
    draft: &mut Draft<'_>,
    group: usize,
    var: Option<usize>,
    name: &str,
) -> Result<()> {
    let list = attributes_mut(draft.schema, group, var)?;
    let at = list.iter().position(|a| a.name == name);
    let at = at.ok_or_else(|| no_attribute(name))?;
    list.remove(at);
    Ok(())
}
