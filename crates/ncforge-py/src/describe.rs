//! The description of a file as plain Python data.
//!
//! A type is a string for the atomic types (NumPy's codes: "i1", "S1", "f4", …), "str" for strings, and an
//! integer, its position among the user-defined types, for those.

use ncforge::Result;
use ncforge::codec::filter_name;
use ncforge::model::{Atomic, DType, Endian, Format, Schema, Storage, UserKind, UserType, VarId, Variable};
use ncforge::raw::{Chunks, Container};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::values::checked;

/// NumPy's code of an atomic type.
pub(crate) fn code(atomic: Atomic) -> &'static str {
    match atomic {
        Atomic::Byte => "i1",
        Atomic::Char => "S1",
        Atomic::Short => "i2",
        Atomic::Int => "i4",
        Atomic::Float => "f4",
        Atomic::Double => "f8",
        Atomic::UByte => "u1",
        Atomic::UShort => "u2",
        Atomic::UInt => "u4",
        Atomic::Int64 => "i8",
        Atomic::UInt64 => "u8",
    }
}

/// Name and parent of every group; the root is first.
pub(crate) fn groups(schema: &Schema) -> Vec<(String, Option<usize>)> {
    schema.groups.iter().map(|g| (g.name.clone(), g.parent.map(|p| p.0))).collect()
}

/// Name, group and whether it is unlimited, of every dimension.
pub(crate) fn dims(schema: &Schema) -> Vec<(String, usize, bool)> {
    schema.dims.iter().map(|d| (d.name.clone(), d.group.0, d.unlimited)).collect()
}

/// The facts about one dimension.
pub(crate) fn dim(schema: &Schema, dim: usize) -> Result<(String, usize, bool)> {
    checked(&schema.dims, dim, "dimension")?;
    let d = &schema.dims[dim];
    Ok((d.name.clone(), d.group.0, d.unlimited))
}

/// Current length of a dimension.
pub(crate) fn dim_len(schema: &Schema, dim: usize) -> Result<u64> {
    checked(&schema.dims, dim, "dimension")?;
    Ok(schema.dims[dim].len)
}

/// Current shape of a variable.
pub(crate) fn shape(schema: &Schema, var: usize) -> Result<Vec<u64>> {
    checked(&schema.vars, var, "variable")?;
    Ok(schema.shape(VarId(var)))
}

/// A type as Python sees it.
pub(crate) fn dtype<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    Ok(match dtype {
        DType::Atomic(a) => code(a).into_pyobject(py)?.into_any(),
        DType::String => "str".into_pyobject(py)?.into_any(),
        DType::User(t) => t.0.into_pyobject(py)?.into_any(),
    })
}

/// A user-defined type: a dictionary with `name`, `group`, `kind` and what the kind needs.
pub(crate) fn user_type<'py>(py: Python<'py>, t: &UserType) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("name", &t.name)?;
    out.set_item("group", t.group.0)?;
    match &t.kind {
        UserKind::Compound { size, fields } => {
            out.set_item("kind", "compound")?;
            out.set_item("size", size)?;
            let list = PyList::empty(py);
            for f in fields {
                list.append((&f.name, f.offset, dtype(py, f.dtype)?, f.shape.clone()))?;
            }
            out.set_item("fields", list)?;
        }
        UserKind::Enum { base, members } => {
            out.set_item("kind", "enum")?;
            out.set_item("base", code(*base))?;
            out.set_item("members", members.clone())?;
        }
        UserKind::Vlen { base } => {
            out.set_item("kind", "vlen")?;
            out.set_item("base", dtype(py, *base)?)?;
        }
        UserKind::Opaque { size } => {
            out.set_item("kind", "opaque")?;
            out.set_item("size", size)?;
        }
    }
    Ok(out)
}

/// The identity of a variable: name, group, type, dimensions.
pub(crate) struct VarFacts(String, usize, DType, Vec<usize>);

impl VarFacts {
    pub(crate) fn of(var: &Variable) -> Self {
        VarFacts(var.name.clone(), var.group.0, var.dtype, var.dims.iter().map(|d| d.0).collect())
    }
}

/// A variable's name; its position, type and dimensions.
type Found<'py> = (String, (usize, Bound<'py, PyAny>, Vec<usize>));

impl VarFacts {
    /// Its name; position, type and dimensions.
    pub(crate) fn found(self, py: Python<'_>, at: usize) -> PyResult<Found<'_>> {
        let VarFacts(name, _, of, dims) = self;
        Ok((name, (at, dtype(py, of)?, dims)))
    }
}

/// The variables of a file: a list of tuples.
pub(crate) fn vars(py: Python<'_>, vars: Vec<VarFacts>) -> PyResult<Bound<'_, PyList>> {
    let out = PyList::empty(py);
    for VarFacts(name, group, of, dims) in vars {
        out.append((name, group, dtype(py, of)?, dims))?;
    }
    Ok(out)
}

/// How a variable is stored: a dictionary.
pub(crate) fn storage<'py>(py: Python<'py>, format: Format, var: &Variable) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let (kind, chunks, filters): (_, Option<Vec<u64>>, &[_]) = match &var.storage {
        Storage::Contiguous => ("contiguous", None, &[]),
        Storage::Compact => ("compact", None, &[]),
        Storage::Chunked { chunks, filters } => ("chunked", Some(chunks.clone()), filters),
    };
    out.set_item("kind", kind)?;
    out.set_item("chunks", chunks)?;
    let list = PyList::empty(py);
    for f in filters {
        list.append((f.id, filter_name(f.id), f.params.clone()))?;
    }
    out.set_item("filters", list)?;
    let endian = match var.endian {
        _ if format.is_classic() => "big",
        Endian::Native => "native",
        Endian::Little => "little",
        Endian::Big => "big",
    };
    out.set_item("endian", endian)?;
    Ok(out)
}

/// Grid coordinates, byte offset, stored bytes, mask of skipped filters.
pub(crate) type Chunk = (Vec<u64>, u64, u64, u32);

/// What lies where: "records" or "virtual" if it is one of these; bytes; where a variable that is stored row by row begins, and the bytes from
/// one record to the next (0 if it has no records); the stored chunks.
pub(crate) type Stored = (Option<&'static str>, u64, Option<(u64, u64)>, Vec<Chunk>);

/// Where a variable lies.
pub(crate) fn stored(container: &dyn Container, var: VarId) -> Result<Stored> {
    checked(&container.schema().vars, var.0, "variable")?;
    let layout = container.layout(var)?;
    let bytes = layout.stored_bytes(container.store().len())?;
    if layout.place.parts().is_some() {
        return Ok((Some("virtual"), bytes, None, Vec::new()));
    }
    let rows = layout.runs().map(|runs| (runs.begin, runs.stride.unwrap_or(0)));
    let mut list: Vec<Chunk> = match layout.place.chunks() {
        Some(Chunks { index, .. }) => {
            index.list()?.into_iter().map(|(at, r)| (at, r.offset, r.len, r.mask)).collect()
        }
        None => Vec::new(),
    };
    list.sort_unstable_by_key(|&(_, offset, ..)| offset);
    let kind = rows.and_then(|(_, stride)| (stride > 0).then_some("records"));
    Ok((kind, bytes, rows, list))
}
