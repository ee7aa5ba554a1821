//! Types of values: the eleven fixed-size atomic types, strings, and the user-defined types of netCDF-4.

use super::id::{GroupId, TypeId};

pub use ncforge_codec::Atomic;

/// The type of a variable, an attribute or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// A fixed-size atomic type.
    Atomic(Atomic),
    /// `NC_STRING`: a string of any length (netCDF-4 only).
    String,
    /// A user-defined type of the same [`super::Schema`].
    User(TypeId),
}

/// The atomic type, where it is one: what filters and kernels work on.
impl From<DType> for Option<Atomic> {
    fn from(t: DType) -> Self {
        match t {
            DType::Atomic(a) => Some(a),
            DType::String | DType::User(_) => None,
        }
    }
}

impl From<Atomic> for DType {
    fn from(a: Atomic) -> Self {
        DType::Atomic(a)
    }
}

/// A user-defined type of netCDF-4, named, in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct UserType {
    /// Its name, unique in its group.
    pub name: String,
    /// The group that contains it.
    pub group: GroupId,
    /// Its kind and contents.
    pub kind: UserKind,
}

/// The four kinds of user-defined types.
#[derive(Clone, Debug, PartialEq)]
pub enum UserKind {
    /// `NC_COMPOUND`: fields at byte offsets of a fixed-size record.
    Compound {
        /// Bytes of one value in memory. Fields of type string take 8 bytes, of vlen 16 (as in C).
        size: usize,
        /// The fields, by rising offset.
        fields: Vec<Field>,
    },
    /// `NC_ENUM`: named integers.
    Enum {
        /// The integer type.
        base: Atomic,
        /// Names and values, in the order of definition.
        members: Vec<(String, i128)>,
    },
    /// `NC_VLEN`: a ragged row of values.
    Vlen {
        /// The type of one value of the row.
        base: DType,
    },
    /// `NC_OPAQUE`: a blob of fixed size.
    Opaque {
        /// Bytes of one value.
        size: usize,
    },
}

/// One field of a compound type.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name, unique in the type.
    pub name: String,
    /// Byte offset in the record.
    pub offset: usize,
    /// Type of one element.
    pub dtype: DType,
    /// Shape of the field, slowest dimension first; empty for a scalar.
    pub shape: Vec<u32>,
}

impl Field {
    /// Elements in the field: the product of its shape.
    pub fn count(&self) -> usize {
        self.shape.iter().map(|&n| n as usize).product()
    }
}
