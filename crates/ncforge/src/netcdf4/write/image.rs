//! Converts a netCDF schema to the HDF5 objects that store it, with netCDF's conventions.

use std::collections::HashSet;
use std::sync::Arc;

use super::attached::{Users, rows};
use super::facts::{FileFacts, Owner, Target};
use super::scales::{Lead, Member, Scales, check_links, links};
use super::state::{PlaceState, VarState};
use super::types::{atomic_type, byte_order, stored_type, string_type};
use super::values::Encoder;
use crate::error::{Error, Result};
use crate::hdf5::dataspace::{Dataspace, UNLIMITED};
use crate::hdf5::datatype::{ByteOrder, Class, Datatype, Member as Field, ReferenceKind};
use crate::hdf5::emit::{
    Attribute, Blob, ChunkSource, Dataset, Image, Kind, Layout, Link, Object, ObjectId, Planned,
};
use crate::hdf5::fill::{FillKind, FillValue};
use crate::model::{
    self, Atomic, DType, DimId, Endian, Format, GroupId, Schema, TypeId, Values, VarId, encode_name,
};
use crate::netcdf4::read::attrs::is_hidden;

/// The beginning of the `NAME` of a dimension without a variable.
const NOT_A_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable.";

/// Builds the image of a file.
pub(super) struct Builder<'a> {
    pub(super) schema: &'a Schema,
    pub(super) vars: &'a [VarState],
    pub(super) facts: &'a FileFacts,
    /// The number of chunks that each variable will have, while sizes are planned; else the present one.
    pub(super) planned: Option<&'a [u64]>,
}

/// The object of each part of the schema. That of a dimension is its coordinate variable, if it has one.
#[derive(Debug)]
pub(super) struct Ids {
    groups: Vec<ObjectId>,
    types: Vec<ObjectId>,
    pub(super) vars: Vec<ObjectId>,
    pub(super) dims: Vec<ObjectId>,
}

/// The part of the schema at a position of the image.
#[derive(Clone, Copy)]
enum Part {
    Group(GroupId),
    Type(TypeId),
    Member(Member),
}

impl Builder<'_> {
    pub(super) fn build(&self) -> Result<(Image, Ids)> {
        check_links(self.schema, self.facts)?;
        let scales = Scales::of(self.schema, self.facts.phony(self.schema));
        let (parts, ids) = self.number(&scales);
        let (attached, users) = self.attached(&scales, &ids);
        let mut image = Image::default();
        for part in parts {
            image.objects.push(match part {
                Part::Group(g) => self.group(g, &scales, &ids)?,
                Part::Type(t) => self.user_type(t)?,
                Part::Member(Member::Dim(d)) => self.dimension(d, users.of(ids.dims[d.0]))?,
                Part::Member(Member::Var(v)) => {
                    self.variable(v, &scales, &attached[v.0], users.of(ids.vars[v.0]))?
                }
            });
        }
        Ok((image, ids))
    }

    /// Groups first, then each group's types and datasets.
    fn number(&self, scales: &Scales) -> (Vec<Part>, Ids) {
        let s = self.schema;
        let mut parts: Vec<Part> = (0..s.groups.len()).map(|g| Part::Group(GroupId(g))).collect();
        let none = ObjectId(0);
        let mut ids = Ids {
            groups: (0..s.groups.len()).map(ObjectId).collect(),
            types: vec![none; s.types.len()],
            vars: vec![none; s.vars.len()],
            dims: vec![none; s.dims.len()],
        };
        for g in 0..s.groups.len() {
            for &t in scales.members.types(GroupId(g)).iter().filter(|t| !self.facts.nameless.contains(*t)) {
                ids.types[t.0] = ObjectId(parts.len());
                parts.push(Part::Type(t));
            }
            for m in scales.datasets(GroupId(g)) {
                match m {
                    Member::Dim(d) => ids.dims[d.0] = ObjectId(parts.len()),
                    Member::Var(v) => ids.vars[v.0] = ObjectId(parts.len()),
                }
                parts.push(Part::Member(m));
            }
        }
        for (d, v) in scales.coordinate.iter().enumerate() {
            if let Some(v) = v {
                ids.dims[d] = ids.vars[v.0];
            }
        }
        (parts, ids)
    }

    /// The scales that are attached to each variable, and the uses of every scale.
    fn attached(&self, scales: &Scales, ids: &Ids) -> (Vec<Vec<Vec<ObjectId>>>, Users) {
        let mut users = Users::default();
        let object = |t: Target| match t {
            Target::Dim(d) => ids.dims[d.0],
            Target::Var(v) => ids.vars[v.0],
        };
        let all = self.schema.var_ids().map(|v| {
            let rows = rows(self.schema, scales, self.facts, v);
            let rows = rows.into_iter().map(|row| row.into_iter().map(object).collect());
            let rows: Vec<Vec<ObjectId>> = rows.collect();
            users.add(ids.vars[v.0], &rows);
            rows
        });
        (all.collect(), users)
    }

    fn group(&self, id: GroupId, scales: &Scales, ids: &Ids) -> Result<Object> {
        let (s, owner) = (self.schema, Owner::Group(id));
        let links = links(s, id, scales, self.facts).into_iter().map(|(name, lead)| {
            let target = match lead {
                Lead::Type(t) => ids.types[t.0],
                Lead::Group(g) => ids.groups[g.0],
                Lead::Member(Member::Dim(d)) => ids.dims[d.0],
                Lead::Member(Member::Var(v)) => ids.vars[v.0],
            };
            Link { name, target }
        });
        let links = links.collect();
        let root = id == Schema::ROOT;
        let mut attrs = Vec::new();
        if root && s.format == Format::Netcdf4Classic {
            attrs.push(int_attribute("_nc3_strict", Dataspace::Scalar, &[1]));
        }
        self.user_attributes(&s.group(id).attrs, owner, &mut attrs)?;
        attrs.extend_from_slice(self.facts.hidden(owner));
        if let Some(text) = s.provenance.as_deref().filter(|t| root && !t.is_empty()) {
            attrs.push(text_attribute("_NCProperties", text.as_bytes().to_vec()));
        }
        Ok(Object { kind: Kind::Group(links), attrs })
    }

    fn user_type(&self, id: TypeId) -> Result<Object> {
        let t = match self.facts.committed.get(&id) {
            Some(stored) => stored.clone(),
            None => stored_type(self.schema, DType::User(id), byte_order(Endian::Native))?,
        };
        Ok(Object { kind: Kind::Type(t), attrs: Vec::new() })
    }

    /// A dimension without a variable.
    fn dimension(&self, id: DimId, users: &[(ObjectId, u32)]) -> Result<Object> {
        let (dataset, name) = self.length(id)?;
        let mut attrs = vec![scale_class(), name];
        attrs.push(int_attribute("_Netcdf4Dimid", Dataspace::Scalar, &[self.facts.number(id)]));
        attrs.extend(reference_list(users));
        Ok(Object { kind: Kind::Dataset(Box::new(dataset)), attrs })
    }

    /// The dataset and the `NAME` that give the length of such a dimension.
    pub(super) fn length(&self, id: DimId) -> Result<(Dataset, Attribute)> {
        let dim = self.schema.dim(id);
        let max = if dim.unlimited { UNLIMITED } else { dim.len };
        let layout = if dim.unlimited {
            Layout::Chunked { chunk: vec![1], element_size: 4, chunks: Arc::new(Planned(0)) }
        } else {
            let size = dim.len.checked_mul(4).ok_or_else(|| Error::NotRepresentable {
                format: "netCDF-4",
                what: format!("dimension `{}` of length {}", dim.name, dim.len),
            })?;
            Layout::Contiguous { address: None, size }
        };
        let alloc_time = if dim.unlimited { 3 } else { 2 };
        let dataset = Dataset {
            datatype: Datatype::f32(ByteOrder::Big),
            space: Dataspace::Simple { dims: vec![dim.len], max: vec![max] },
            fill: FillValue { alloc_time, write_time: 2, value: FillKind::Default },
            filters: Vec::new(),
            layout,
        };
        // netcdf-c prints the length as "%10d" of an `int`.
        let name = format!("{NOT_A_VARIABLE}{:10}", dim.len as i32);
        Ok((dataset, scale_name(name.into_bytes())))
    }

    fn variable(
        &self,
        id: VarId,
        scales: &Scales,
        attached: &[Vec<ObjectId>],
        users: &[(ObjectId, u32)],
    ) -> Result<Object> {
        let (var, state, owner) = (self.schema.var(id), &self.vars[id.0], Owner::Var(id));
        if let PlaceState::Compact(bytes) = &state.place
            && bytes.len() as u64 != state.bytes(&self.schema.shape(id))
        {
            let path = self.schema.var_path(id);
            return Err(Error::Internal(format!("`{path}` has another size than its compact storage")));
        }
        let mut attrs = Vec::new();
        let named = !var.dims.iter().any(|d| scales.phony.contains(d));
        let numbers =
            self.facts.coordinates.get(&id).map_or(if named { &var.dims[..] } else { &[] }, Vec::as_slice);
        if !numbers.is_empty() {
            let dimids: Vec<i32> = numbers.iter().map(|d| self.facts.number(*d)).collect();
            let space = Dataspace::fixed(&[dimids.len() as u64]);
            attrs.push(int_attribute("_Netcdf4Coordinates", space, &dimids));
        }
        if let Some(dim) = scales.scale_of[id.0] {
            attrs.push(scale_class());
            let name = || Some(scale_name(encode_name(&var.name)));
            attrs.extend(self.facts.scale_names.get(&id).cloned().unwrap_or_else(name));
            attrs.push(int_attribute("_Netcdf4Dimid", Dataspace::Scalar, &[self.facts.number(dim)]));
        }
        self.user_attributes(&var.attrs, owner, &mut attrs)?;
        let is_taken = |a: &&Attribute| attrs.iter().any(|other| other.name == a.name);
        let hidden: Vec<_> = self.facts.hidden(owner).iter().filter(|a| !is_taken(a)).cloned().collect();
        attrs.extend(hidden);
        attrs.extend(reference_list(users));
        attrs.extend(dimension_list(attached));
        Ok(Object { kind: Kind::Dataset(Box::new(self.dataset(id))), attrs })
    }

    /// The storage of a variable, and its lengths.
    pub(super) fn dataset(&self, id: VarId) -> Dataset {
        let (var, state) = (self.schema.var(id), &self.vars[id.0]);
        let shape = self.schema.shape(id);
        // A dataset may have been made to grow along a dimension that netCDF does not let grow.
        let most = |i: usize| state.found.as_ref().and_then(|f| f.max.get(i)).copied().unwrap_or(0);
        let max = var.dims.iter().map(|d| self.schema.dim(*d)).enumerate();
        let max = max.map(|(i, d)| if d.unlimited { UNLIMITED } else { d.len.max(most(i)) });
        let dims = state.extents(&shape);
        let space = match shape.is_empty() {
            true => Dataspace::Scalar,
            false => Dataspace::Simple { dims: dims.to_vec(), max: max.collect() },
        };
        let (layout, filters) = match &state.place {
            PlaceState::Compact(bytes) => (Layout::Compact(bytes.clone()), Vec::new()),
            PlaceState::Contiguous { offset, .. } => {
                (Layout::Contiguous { address: *offset, size: state.bytes(&shape) }, Vec::new())
            }
            PlaceState::Chunked { chunk, filters, table, .. } => {
                let (chunk, element_size) = (chunk.clone(), state.stored.size);
                let chunks: Arc<dyn ChunkSource> = match self.planned {
                    Some(counts) => Arc::new(Planned(counts[id.0])),
                    None => table.clone(),
                };
                (Layout::Chunked { chunk, element_size, chunks }, filters.clone())
            }
        };
        Dataset { datatype: state.stored.clone(), space, fill: state.fill.clone(), filters, layout }
    }

    fn user_attributes(
        &self,
        attrs: &[model::Attribute],
        owner: Owner,
        out: &mut Vec<Attribute>,
    ) -> Result<()> {
        let (own, mut seen) = (out.len(), HashSet::new());
        for a in attrs {
            let refuse = |why: &str| {
                let owner = match owner {
                    Owner::Group(g) => self.schema.group_path(g),
                    Owner::Var(v) => self.schema.var_path(v),
                };
                let what = format!("attribute `{}` of `{owner}`: {why}", a.name);
                Error::NotRepresentable { format: "netCDF-4", what }
            };
            if is_hidden(a.name.as_bytes()) {
                return Err(refuse("the name belongs to the format"));
            }
            let name = encode_name(&a.name);
            if name.is_empty() || name.contains(&0) {
                return Err(refuse("the name cannot be stored"));
            }
            if out[..own].iter().any(|o| o.name == name) || !seen.insert(&a.name) {
                return Err(refuse("the name is there twice"));
            }
            out.push(self.facts.attribute(owner, a).map_or_else(|| self.attribute(a), Ok)?);
        }
        Ok(())
    }

    /// An attribute as netcdf-c stores it: text is one string of fixed length, everything else a row.
    fn attribute(&self, a: &model::Attribute) -> Result<Attribute> {
        let name = encode_name(&a.name);
        if let (DType::Atomic(Atomic::Char), Values::Fixed(text)) = (a.dtype, &a.values) {
            if text.is_empty() {
                let (datatype, space) = (Datatype::string(1), Dataspace::Null);
                return Ok(Attribute { name, datatype, space, data: Blob::default() });
            }
            return Ok(text_attribute(&a.name, text.to_vec()));
        }
        let encoder = Encoder { schema: self.schema, endian: Endian::Native };
        let datatype = match a.dtype {
            DType::String => string_type(),
            other => stored_type(self.schema, other, byte_order(Endian::Native))?,
        };
        let data = encoder.values(a.dtype, &datatype, &a.values)?;
        let n = data.bytes.len() as u64 / u64::from(datatype.size);
        let space = if n == 0 { Dataspace::Null } else { Dataspace::fixed(&[n]) };
        Ok(Attribute { name, datatype, space, data })
    }
}

fn int_attribute(name: &str, space: Dataspace, values: &[i32]) -> Attribute {
    let order = byte_order(Endian::Native);
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let datatype = atomic_type(Atomic::Int, order);
    Attribute { name: name.into(), datatype, space, data: bytes.into() }
}

fn text_attribute(name: &str, text: Vec<u8>) -> Attribute {
    let datatype = Datatype::string(text.len() as u32);
    Attribute { name: encode_name(name), datatype, space: Dataspace::Scalar, data: text.into() }
}

/// The attribute that makes a dataset a dimension scale (HDF5 Dimension Scale Specification).
fn scale_class() -> Attribute {
    text_attribute("CLASS", b"DIMENSION_SCALE\0".to_vec())
}

/// The name of a dimension scale.
fn scale_name(mut name: Vec<u8>) -> Attribute {
    name.push(0);
    text_attribute("NAME", name)
}

/// On a scale: the datasets that use it, and as which dimension.
fn reference_list(users: &[(ObjectId, u32)]) -> Option<Attribute> {
    if users.is_empty() {
        return None;
    }
    let order = byte_order(Endian::Native);
    let member = |name: &[u8], offset, datatype| Field { name: name.to_vec(), offset, datatype };
    let members = vec![
        member(b"dataset", 0, object_reference()),
        member(b"dimension", 8, Datatype::integer(4, false, order)),
    ];
    let datatype = Datatype { size: 16, class: Class::Compound { members } };
    let mut data = Blob::default();
    for &(id, dimension) in users {
        data.references.push((data.bytes.len(), id));
        data.bytes.extend([0; 8]);
        data.bytes.extend(dimension.to_ne_bytes());
        data.bytes.extend([0; 4]);
    }
    let space = Dataspace::fixed(&[users.len() as u64]);
    Some(Attribute { name: b"REFERENCE_LIST".to_vec(), datatype, space, data })
}

/// On a variable: the scales of each of its dimensions.
fn dimension_list(attached: &[Vec<ObjectId>]) -> Option<Attribute> {
    if attached.is_empty() {
        return None;
    }
    let datatype = Datatype { size: 16, class: Class::Vlen { base: Box::new(object_reference()) } };
    let mut data = Blob::default();
    for scales in attached {
        let at = data.bytes.len();
        data.bytes.extend([0; 16]);
        if !scales.is_empty() {
            let references = scales.iter().enumerate().map(|(i, id)| (8 * i, *id)).collect();
            let target = Blob { bytes: vec![0; 8 * scales.len()], references, heap: Vec::new() };
            data.bytes[at..at + 4].copy_from_slice(&(scales.len() as u32).to_le_bytes());
            data.heap.push((at + 4, target));
        }
    }
    let space = Dataspace::fixed(&[attached.len() as u64]);
    Some(Attribute { name: b"DIMENSION_LIST".to_vec(), datatype, space, data })
}

fn object_reference() -> Datatype {
    Datatype { size: 8, class: Class::Reference(ReferenceKind::Object) }
}
