//! Definitions as Python says them, in the library's terms.

use ncforge::codec::quantize::Quantize;
use ncforge::model::{Atomic, DType, DimId, Endian, Field, GroupId, Schema, TypeId, UserKind, VarId};
use ncforge::{Definer, Error, NewFilter, NewLayout, NewStorage, NewVariable, Owner, Result};
use ncforge_ops::request::{PointsChoice, value};
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
    let found = Atomic::ALL.into_iter().find(|&a| code(a) == name);
    found.ok_or_else(|| Error::BadType(format!("no type `{name}`")))
}

/// A new user-defined type: what its kind needs of the rest.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct UserTypeRequest {
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

impl UserTypeRequest {
    pub(crate) fn kind(self, schema: &Schema) -> Result<UserKind> {
        let base =
            || self.base.as_ref().ok_or_else(|| invalid("the type needs a base type"))?.resolve(schema);
        Ok(match self.kind.as_str() {
            "compound" => {
                let fields = self.fields.into_iter().map(|(name, offset, dtype, shape)| {
                    Ok(Field { name, offset, dtype: dtype.resolve(schema)?, shape })
                });
                UserKind::Compound { size: self.size, fields: fields.collect::<Result<_>>()? }
            }
            "enum" => match base()? {
                DType::Atomic(base) => UserKind::Enum { base, members: self.members },
                _ => return Err(Error::BadType("the base of an enum is an integer type".into())),
            },
            "vlen" => UserKind::Vlen { base: base()? },
            "opaque" => UserKind::Opaque { size: self.size },
            other => return Err(invalid(format!("no kind of type `{other}`"))),
        })
    }
}

/// How a new variable is stored.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct StorageRequest {
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
    /// As the operations take it, in text.
    access_points: String,
}

impl StorageRequest {
    /// The filters in their order; bytes are shuffled for compressors that do not do it themselves.
    pub(crate) fn filters(&self) -> Vec<NewFilter> {
        let codecs = [
            self.deflate.map(NewFilter::Deflate),
            self.zstd.map(NewFilter::Zstd),
            self.bzip2.map(NewFilter::Bzip2),
        ];
        let compressed = self.blosc.is_none() && codecs.iter().any(Option::is_some);
        let shuffle = (self.shuffle && compressed).then_some(NewFilter::Shuffle);
        let blosc =
            self.blosc.map(|(level, shuffle, compressor)| NewFilter::Blosc { level, shuffle, compressor });
        let checksum = self.fletcher32.then_some(NewFilter::Fletcher32);
        shuffle.into_iter().chain(codecs.into_iter().flatten()).chain(blosc).chain(checksum).collect()
    }

    /// The storage in the library's terms, for a variable of this name; `chunked`: whether it can have chunks at all.
    pub(crate) fn storage(self, name: &str, chunked: bool) -> Result<NewStorage> {
        let filters = self.filters();
        let layout = match self.chunks {
            Some(_) if self.contiguous && chunked => {
                let why =
                    "cannot be contiguous: it has chunk sizes, filters or an unlimited dimension".into();
                return Err(Error::BadStorage { variable: name.to_owned(), why });
            }
            Some(chunks) => NewLayout::Chunked(chunks),
            None if self.contiguous => NewLayout::Contiguous,
            None => NewLayout::Automatic,
        };
        let endian = match self.endian.as_str() {
            "native" => Endian::Native,
            "little" => Endian::Little,
            "big" => Endian::Big,
            other => return Err(Error::bad_option("endian", format!("no byte order `{other}`"))),
        };
        let PointsChoice(access_points) = value("access_points", &self.access_points)?;
        Ok(NewStorage { layout, filters, endian, fill: self.fill, access_points })
    }
}

/// Defines a type; returns its position.
pub(crate) fn user_type(d: &mut Definer, group: GroupId, name: &str, new: UserTypeRequest) -> Result<usize> {
    let kind = new.kind(d.schema())?;
    Ok(d.user_type(group, name, kind)?.0)
}

/// Defines a variable; returns its position.
pub(crate) fn variable(
    d: &mut Definer,
    group: GroupId,
    name: &str,
    dtype: &TypeName,
    dims: Vec<usize>,
    storage: StorageRequest,
) -> Result<usize> {
    let dims: Vec<DimId> = dims.into_iter().map(DimId).collect();
    let chunked = !d.schema().format.is_classic() && !dims.is_empty();
    let (dtype, storage) = (dtype.resolve(d.schema())?, storage.storage(name, chunked)?);
    Ok(d.variable(NewVariable { group, name, dtype, dims: &dims, storage })?.0)
}

/// How values of a variable lose bits, by netCDF4-python's name of the way.
pub(crate) fn quantize(mode: &str, digits: u32) -> Result<Quantize> {
    match mode {
        "BitGroom" => Ok(Quantize::BitGroom(digits)),
        "BitRound" => Ok(Quantize::BitRound(digits)),
        "GranularBitRound" => Ok(Quantize::GranularBitRound(digits)),
        other => Err(Error::bad_option("quantize_mode", format!("no quantize mode `{other}`"))),
    }
}

/// A variable, or a group when `var` is `None`.
pub(crate) fn owner(group: usize, var: Option<usize>) -> Owner {
    var.map_or(Owner::Group(GroupId(group)), |v| Owner::Variable(VarId(v)))
}

/// Renames a dimension, variable or group.
pub(crate) fn rename(definer: &mut Definer, what: &str, at: usize, name: &str) -> Result<()> {
    match what {
        "dimension" => definer.rename_dimension(DimId(at), name),
        "variable" => definer.rename_variable(VarId(at), name),
        "group" => definer.rename_group(GroupId(at), name),
        other => Err(invalid(format!("a {other} cannot be renamed"))),
    }
}
