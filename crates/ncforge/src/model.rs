//! The contents of a file in the netCDF data model: groups, dimensions, variables, attributes, types and values.
//!
//! A [`Schema`] is one flat arena per kind of object; ids ([`DimId`], [`VarId`], [`GroupId`], [`TypeId`]) are
//! positions in those arenas, in the order in which the file defines them. The same schema describes files that are
//! read and files that are written: it includes storage (chunk shape, filters, byte order).
//!
//! References: NetCDF Enhanced Data Model (NUG, "The netCDF data model").

mod absent;
pub mod agreement;
pub mod calendar;
mod changes;
mod definition;
mod dtype;
mod element;
pub mod equality;
mod fill;
mod id;
mod members;
mod name;
mod names;
mod number;
mod quantized;
mod reference;
mod schema;
pub mod shape;
mod skipped;
mod value;

pub(crate) use absent::no_attribute;
pub use changes::Changes;
pub use definition::Definition;
pub use dtype::{Atomic, DType, Field, UserKind, UserType};
pub use element::element_of;
pub use fill::ExactFill;
pub use id::{DimId, GroupId, TypeId, VarId};
pub use members::Members;
pub use name::{check_name, decode_name, encode_name, normalized_name};
pub use names::{Names, Scope};
pub use number::Number;
pub use quantized::{QuantizationClaims, quantization_attribute, quantization_of};
pub use reference::BOUNDS;
pub use schema::{
    Attribute, Dimension, Endian, Fill, Filter, Format, Group, Schema, Segments, Storage, Variable,
};
pub use skipped::{Cause, Skipped};
pub use value::{Value, Values};
