//! Checks of definitions: of a whole schema when a file is created or changed, and of one part when it is defined.

use std::collections::HashSet;

use super::scales::NON_COORDINATE;
use super::state::VarState;
use super::types::{byte_order, stored_type};
use super::values::Encoder;
use crate::error::{Error, Limit, Result};
use crate::hdf5::datatype::MAX_DEPTH;
use crate::hdf5::emit::encode_datatype;
use crate::hdf5::fill::FillKind;
use crate::model::{
    Atomic, Attribute, DType, Definition, Dimension, Endian, Format, GroupId, Names, Schema, Scope, TypeId,
    UserKind, VarId,
};
use crate::netcdf4::read::attrs::is_hidden;
use crate::netcdf4::read::scan::MAX_GROUPS;

/// Most dimensions of an HDF5 dataset (`H5S_MAX_RANK`).
const MAX_RANK: usize = 32;
/// Most bytes of a message in an object header.
const MAX_MESSAGE: usize = 65_500;
/// Most attributes of an object. HDF5 counts them in 16 bits, and some are the conventions' own.
const MAX_ATTRIBUTES: usize = 65_500;

/// Checks that a schema is consistent, and that the format can hold it.
pub(super) fn check_schema(s: &Schema) -> Result<()> {
    let broken = |what: String| Err(Error::BadSchema(what));
    let groups = s.groups.len();
    if groups == 0 || s.groups[0].parent.is_some() {
        return broken("a schema without a root group".into());
    }
    for (i, g) in s.groups.iter().enumerate().skip(1) {
        if g.parent.is_none_or(|p| p.0 >= i) {
            return broken(format!("group `{}` stands before its parent", g.name));
        }
    }
    let mut names = HashSet::new();
    for d in &s.dims {
        if d.group.0 >= groups {
            return broken(format!("dimension `{}` is in no group", d.name));
        }
        if !names.insert((d.group, d.name.as_str())) {
            return broken(format!("two dimensions `{}` in one group", d.name));
        }
    }
    for (i, t) in s.types.iter().enumerate() {
        if t.group.0 >= groups || types_used(s, i).any(|u| u >= i) {
            return broken(format!("type `{}` stands before a type that it uses", t.name));
        }
    }
    for v in &s.vars {
        if v.group.0 >= groups || v.dims.iter().any(|d| d.0 >= s.dims.len()) {
            return broken(format!("variable `{}` names a group or dimension that is not there", v.name));
        }
        let attrs = v.attrs.iter().map(|a| a.dtype);
        if attrs.chain([v.dtype]).any(|t| matches!(t, DType::User(t) if t.0 >= s.types.len())) {
            return broken(format!("variable `{}` has a type that is not there", v.name));
        }
    }
    if s.groups
        .iter()
        .flat_map(|g| &g.attrs)
        .any(|a| matches!(a.dtype, DType::User(t) if t.0 >= s.types.len()))
    {
        return broken("a group's attribute has a type that is not there".into());
    }
    if s.format == Format::Netcdf4Classic { check_classic(s) } else { Ok(()) }
}

/// The types of which a type consists.
fn types_used(s: &Schema, t: usize) -> impl Iterator<Item = usize> + '_ {
    let used: Vec<DType> = match &s.types[t].kind {
        UserKind::Compound { fields, .. } => fields.iter().map(|f| f.dtype).collect(),
        UserKind::Vlen { base } => vec![*base],
        UserKind::Enum { .. } | UserKind::Opaque { .. } => Vec::new(),
    };
    used.into_iter().filter_map(|d| match d {
        DType::User(u) => Some(u.0),
        _ => None,
    })
}

/// An error if no netCDF-4 file of the schema's format can hold a new definition, whatever is defined later. Its
/// name must be legal, and unique among objects of its kind.
pub(crate) fn check_new(s: &Schema, names: &Names, new: Definition) -> Result<()> {
    check_shared_name(s, names, new)?;
    if s.format == Format::Netcdf4Classic {
        check_classic_part(s, new)?;
        if matches!(new, Definition::Dimension(d) if s.dim(d).unlimited) {
            check_one_unlimited(s)?;
        }
    }
    match new {
        Definition::Group(g) => check_depth(s, g),
        Definition::Dimension(d) => check_dimension(s.dim(d)),
        Definition::Type(t) => check_type(s, t),
        Definition::Variable(v) => check_variable(s, v),
        Definition::GroupAttribute(g, at) => check_attribute(s, &s.group(g).attrs, at),
        Definition::VariableAttribute(v, at) => check_attribute(s, &s.var(v).attrs, at),
    }
}

/// Groups and types share their names with everything else in their group; a variable and a dimension may have one name.
fn check_shared_name(s: &Schema, names: &Names, new: Definition) -> Result<()> {
    let (group, name) = match new {
        Definition::Group(g) => (s.group(g).parent.unwrap_or(Schema::ROOT), &s.group(g).name),
        Definition::Dimension(d) => (s.dim(d).group, &s.dim(d).name),
        Definition::Type(t) => (s.user_type(t).group, &s.user_type(t).name),
        Definition::Variable(v) => (s.var(v).group, &s.var(v).name),
        Definition::GroupAttribute(..) | Definition::VariableAttribute(..) => return Ok(()),
    };
    let shares = matches!(new, Definition::Variable(_) | Definition::Dimension(_));
    if shares && name.starts_with(NON_COORDINATE) {
        // Readers would remove the prefix.
        let what = format!("the name `{name}`: `{NON_COORDINATE}` belongs to the format");
        return Err(Error::NotRepresentable { format: "netCDF-4", what });
    }
    let kinds = [
        (Scope::Groups(group), "group"),
        (Scope::Types(group), "type"),
        (Scope::Variables(group), "variable"),
        (Scope::Dimensions(group), "dimension"),
    ];
    let kinds = &kinds[..if shares { 2 } else { 4 }];
    let own = new.scope(s).map(|(scope, _)| scope);
    let has = |scope: Scope| Some(scope) != own && names.find(s, scope, name).is_some();
    let Some(&(_, other)) = kinds.iter().find(|(scope, _)| has(*scope)) else { return Ok(()) };
    let path = s.group_path(group);
    Err(Error::NameInUse { kind: new.kind(), name: name.clone(), holder: other, group: path })
}

fn check_dimension(d: &Dimension) -> Result<()> {
    // A dimension without a variable is a dataset of four bytes a position.
    match d.len.checked_mul(4).filter(|&n| i64::try_from(n).is_ok()) {
        Some(_) => Ok(()),
        None => Err(Error::Limit {
            format: "netCDF-4",
            limit: Limit::DimensionLength,
            what: format!("dimension `{}` of length {}", d.name, d.len),
        }),
    }
}

/// Refuses groups at a depth that could not be read back.
fn check_depth(s: &Schema, group: GroupId) -> Result<()> {
    let above = std::iter::successors(Some(group), |&g| s.group(g).parent).take(MAX_GROUPS + 1).count();
    match above > MAX_GROUPS {
        true => Err(too_deep("group", &s.group(group).name, MAX_GROUPS)),
        false => Ok(()),
    }
}

fn too_deep(kind: &str, name: &str, most: usize) -> Error {
    Error::Unsupported { path: format!("{kind} {name}"), what: format!("nesting more than {most} deep") }
}

fn check_type(s: &Schema, t: TypeId) -> Result<()> {
    let stored = stored_type(s, DType::User(t), byte_order(Endian::Native))?;
    if stored.depth() > MAX_DEPTH {
        return Err(too_deep("type", &s.user_type(t).name, MAX_DEPTH as usize));
    }
    let bytes = encode_datatype(&stored)?.len();
    if bytes <= MAX_MESSAGE {
        return Ok(());
    }
    Err(Error::NotRepresentable {
        format: "netCDF-4",
        what: format!(
            "type `{}`: its description of {bytes} bytes is larger than the {MAX_MESSAGE} that HDF5 allows",
            s.user_type(t).name
        ),
    })
}

fn check_variable(s: &Schema, v: VarId) -> Result<()> {
    let refuse = |why: String| {
        Err(Error::NotRepresentable {
            format: "netCDF-4",
            what: format!("variable `{}` {why}", s.var_path(v)),
        })
    };
    let rank = s.var(v).dims.len();
    if rank > MAX_RANK {
        let what = format!("variable `{}` of {rank} dimensions (HDF5 has at most {MAX_RANK})", s.var_path(v));
        return Err(Error::Limit { format: "netCDF-4", limit: Limit::Rank, what });
    }
    let state = VarState::new(s, v)?;
    match &state.fill.value {
        FillKind::User(bytes) if bytes.len() > MAX_MESSAGE => {
            refuse(format!("with a fill value of {} bytes (HDF5 allows {MAX_MESSAGE})", bytes.len()))
        }
        _ => Ok(()),
    }
}

fn check_attribute(s: &Schema, list: &[Attribute], at: usize) -> Result<()> {
    let Some(a) = list.get(at) else { return Ok(()) };
    let refuse = |why: &str| {
        Err(Error::NotRepresentable { format: "netCDF-4", what: format!("attribute `{}`: {why}", a.name) })
    };
    if is_hidden(a.name.as_bytes()) {
        return refuse("the name belongs to the format");
    }
    if list.len() > MAX_ATTRIBUTES {
        let what = format!("attribute `{}`: an object has at most {MAX_ATTRIBUTES} attributes", a.name);
        return Err(Error::Limit { format: "netCDF-4", limit: Limit::Attributes, what });
    }
    let stored = stored_type(s, a.dtype, byte_order(Endian::Native))?;
    Encoder { schema: s, endian: Endian::Native }.values(a.dtype, &stored, &a.values).map(drop)
}

/// The name in messages.
const CLASSIC_MODEL: &str = "the netCDF-4 classic model";

fn classic_refuses(what: String) -> Result<()> {
    Err(Error::NotRepresentable { format: CLASSIC_MODEL, what })
}

/// The classic model: one group, six types, one unlimited dimension.
fn check_classic(s: &Schema) -> Result<()> {
    s.definitions().try_for_each(|part| check_classic_part(s, part))?;
    check_one_unlimited(s)
}

fn check_one_unlimited(s: &Schema) -> Result<()> {
    match s.dims.iter().filter(|d| d.unlimited).nth(1) {
        Some(d) => Err(Error::Limit {
            format: CLASSIC_MODEL,
            limit: Limit::OneUnlimited,
            what: format!("a second unlimited dimension, `{}`", d.name),
        }),
        None => Ok(()),
    }
}

fn check_classic_part(s: &Schema, part: Definition) -> Result<()> {
    let classic = |t: DType| matches!(t, DType::Atomic(a) if Atomic::in_classic(a));
    match part {
        Definition::Group(g) => classic_refuses(format!("group `{}`", s.group(g).name)),
        Definition::Type(t) => classic_refuses(format!("user-defined type `{}`", s.user_type(t).name)),
        Definition::Variable(v) if !classic(s.var(v).dtype) => {
            classic_refuses(format!("variable `{}` (type {})", s.var(v).name, s.type_name(s.var(v).dtype)))
        }
        Definition::GroupAttribute(..) | Definition::VariableAttribute(..) => match part.attribute(s) {
            Some(a) if !classic(a.dtype) => {
                let owner =
                    if let Definition::VariableAttribute(v, _) = part { &s.var(v).name } else { "the file" };
                classic_refuses(format!("attribute `{}` of {owner} (type {})", a.name, s.type_name(a.dtype)))
            }
            _ => Ok(()),
        },
        Definition::Variable(_) | Definition::Dimension(_) => Ok(()),
    }
}
