//! The canonical form of a fragment (section 2.8.2): numbers of the type and the units of the aggregation variable, unpacked, with its
//! missing value.

mod units;

use std::sync::Arc;

use crate::codec::unpack::Unpacking;
use crate::container::Container;
use crate::error::Error;
use crate::layout::{Absent, Element, VarLayout};
use crate::model::{Atomic, DType, Endian, Schema, VarId};
use crate::store::{MemoryStore, ReadStore};
use crate::view::{Packing, Unpacked, is_unsigned, missing};

use units::Units;

/// An aggregation variable, as its fragments have to fit it.
#[derive(Debug)]
pub(super) struct Target {
    /// The file, for messages.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) dtype: DType,
    dtype_name: String,
    kind: Option<Atomic>,
    pub(super) element: Element,
    pub(super) absent: Absent,
    /// Which of its numbers are missing, if it holds numbers.
    missing: Option<Unpacking>,
    units: Units,
    is_unsigned: bool,
    /// A store without a byte, for what is in none.
    pub(super) nothing: Arc<dyn ReadStore>,
}

impl Target {
    /// `stored`: the layout of the scalar that the file has.
    pub(super) fn of(schema: &Schema, id: VarId, stored: &VarLayout) -> Self {
        let var = schema.var(id);
        let kind = schema.number_of(var.dtype);
        let missing = kind.map(|kind| missing(schema, var, kind));
        let (element, absent) = match kind {
            Some(kind) => {
                let fill = missing.iter().flat_map(|m| &m.missing).next();
                let fill = fill.cloned().unwrap_or_else(|| kind.default_fill());
                (Element::atomic(kind, Endian::Native), Absent::As(fill))
            }
            None if stored.element.heap => (stored.element.clone(), stored.absent.clone()),
            None => {
                let fill = schema.fill_value(id);
                let fill =
                    if fill.len() == stored.element.size { fill } else { vec![0; stored.element.size] };
                (Element { order: crate::layout::Order::Keep, ..stored.element.clone() }, Absent::As(fill))
            }
        };
        Self {
            file: String::new(),
            name: stored.name.clone(),
            dtype: var.dtype,
            dtype_name: schema.type_name(var.dtype).to_owned(),
            kind,
            element,
            absent,
            missing,
            units: Units::of(var),
            is_unsigned: is_unsigned(schema, var),
            nothing: Arc::new(MemoryStore::new(stored.name.clone(), Vec::new())),
        }
    }

    /// The same, for messages that name the file.
    pub(super) fn in_file(self, file: &dyn Container) -> Self {
        Self { file: file.store().name().to_owned(), ..self }
    }

    pub(super) fn damaged(&self, what: &str) -> Error {
        Error::corrupt(&self.file, None, format!("`{}`: {what}", self.name))
    }

    pub(super) fn unsupported(&self, what: &str) -> Error {
        Error::Unsupported { path: format!("{}: {}", self.file, self.name), what: what.to_owned() }
    }

    fn fill(&self) -> &[u8] {
        self.absent.one().unwrap_or_default()
    }
}

/// How numbers of a fragment become numbers of the aggregation variable; `None` if they are canonical as they are. The error says what
/// cannot be converted.
pub(super) fn canonical(schema: &Schema, id: VarId, target: &Target) -> Result<Option<Unpacked>, String> {
    let var = schema.var(id);
    let units = Units::of(var).to(&target.units)?;
    let (Some(packing), Some(to), Some(known)) = (Packing::of(schema, var)?, target.kind, &target.missing)
    else {
        let is_same = var.dtype == target.dtype && !matches!(var.dtype, DType::User(_));
        let (own, of) = (&target.dtype_name, schema.type_name(var.dtype));
        return match is_same {
            true => Ok(None),
            false => Err(format!("an aggregation variable of type {own} with a fragment of type {of}")),
        };
    };
    // Not of these conventions: the same numbers would have another meaning.
    let is_unsigned = is_unsigned(schema, var);
    if is_unsigned != target.is_unsigned {
        return Err("an attribute `_Unsigned` of only one of a fragment and its aggregation variable".into());
    }
    let own = &packing.0;
    if schema.number_of(var.dtype) == Some(to)
        && !packing.is_packed()
        && units.is_none()
        && own.missing.iter().all(|m| known.missing.contains(m))
        && (own.low.is_none() || own.low == known.low)
        && (own.high.is_none() || own.high == known.high)
    {
        return Ok(None);
    }
    if is_unsigned {
        return Err("converting a fragment with the attribute `_Unsigned`".into());
    }
    let unpacked = Unpacked::new(packing, to, target.fill().to_vec(), &target.name, &target.file);
    Ok(Some(unpacked.in_units(units)))
}
