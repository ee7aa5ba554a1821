//! HDF5 datatypes as netCDF types.
//!
//! netCDF has eleven numeric types, text, strings, and four kinds of user-defined types. User-defined types
//! are committed datatypes; a type that a dataset only carries in itself gets a name here
//! (`_AnonymousCompound1`, …, as netCDF-C makes them since 4.9.1).

use std::collections::HashMap;

use crate::hdf5::datatype::{ByteOrder, Class, Datatype, FloatLayout};
use crate::layout::{Element, Order, SwapField, is_swapped};
use crate::model::{
    Atomic, Cause, DType, Endian, Field, GroupId, Skipped, TypeId, UserKind, UserType, decode_name,
};

/// Runs of swapped numbers that one element may have; more is no real type.
const MAX_SWAPS: usize = 1 << 16;

/// The types of a file.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// The schema's types.
    pub(crate) types: Vec<UserType>,
    /// Address of each committed type's header; `None` for the others.
    pub(crate) addresses: Vec<Option<u64>>,
    committed: HashMap<u64, Committed>,
    /// Known types by normal form, and committed ones that wait for their turn.
    known: HashMap<Datatype, DType>,
    waiting: HashMap<Datatype, FoundType>,
    anonymous: usize,
}

/// A committed type as it was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundType {
    pub(crate) group: GroupId,
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) datatype: Datatype,
}

#[derive(Clone, Debug)]
enum Committed {
    Is(DType),
    Unsupported(String),
}

/// The netCDF type of a member or a ragged row's element: a type and a shape.
type Shaped = (DType, Vec<u32>);

impl Types {
    /// Takes in all committed types, each after those that it uses.
    pub(crate) fn new(
        found: &[FoundType],
        skipped: &mut Vec<Skipped>,
        path: impl Fn(GroupId) -> String,
    ) -> Self {
        let mut types = Types::default();
        for t in found {
            types.waiting.entry(t.datatype.normal()).or_insert_with(|| t.clone());
        }
        for t in found {
            let result = types.commit(t);
            if let Err(why) = &result {
                let path = format!("{}/{}", path(t.group).trim_end_matches('/'), t.name);
                skipped.push(Skipped { path, why: why.clone(), cause: Cause::Foreign });
            }
            let entry = result.map_or_else(Committed::Unsupported, Committed::Is);
            types.committed.insert(t.address, entry);
        }
        types
    }

    fn commit(&mut self, t: &FoundType) -> Result<DType, String> {
        if let Some(Committed::Is(known)) = self.committed.get(&t.address) {
            return Ok(*known);
        }
        let normal = t.datatype.normal();
        self.waiting.remove(&normal);
        let kind = self.kind(&t.datatype, t.group)?;
        let Some(kind) = kind else {
            // A name for an atomic type: legal in HDF5, nothing in netCDF.
            return self.of(&t.datatype, None, t.group);
        };
        let dtype = self.push(UserType { name: t.name.clone(), group: t.group, kind }, Some(t.address));
        self.known.entry(normal).or_insert(dtype);
        self.committed.insert(t.address, Committed::Is(dtype));
        Ok(dtype)
    }

    fn push(&mut self, t: UserType, address: Option<u64>) -> DType {
        self.types.push(t);
        self.addresses.push(address);
        DType::User(TypeId(self.types.len() - 1))
    }

    /// The netCDF type of a datatype, or why it has none. `group` is where a nameless type is put.
    pub(crate) fn of(
        &mut self,
        d: &Datatype,
        committed: Option<u64>,
        group: GroupId,
    ) -> Result<DType, String> {
        match committed.and_then(|a| self.committed.get(&a)) {
            Some(Committed::Is(dtype)) => return Ok(*dtype),
            Some(Committed::Unsupported(why)) => return Err(why.clone()),
            None => {}
        }
        match &d.class {
            Class::Fixed { .. } | Class::Float(_) => {
                atomic(d).map(DType::Atomic).ok_or_else(|| format!("{}, which netCDF has not", d.describe()))
            }
            Class::String { .. } if d.size == 1 => Ok(Atomic::Char.into()),
            Class::String { .. } | Class::VlenString { .. } => Ok(DType::String),
            Class::Opaque { .. } | Class::Compound { .. } | Class::Enum { .. } | Class::Vlen { .. } => {
                self.user(d, group)
            }
            Class::Time { .. }
            | Class::Bitfield { .. }
            | Class::Reference(_)
            | Class::Array { .. }
            | Class::Complex { .. } => Err(format!("{}, which netCDF has not", d.describe())),
        }
    }

    fn user(&mut self, d: &Datatype, group: GroupId) -> Result<DType, String> {
        let normal = d.normal();
        if let Some(known) = self.known.get(&normal) {
            return Ok(*known);
        }
        if let Some(t) = self.waiting.remove(&normal) {
            return self.commit(&t);
        }
        let Some(kind) = self.kind(d, group)? else { return Err(d.describe()) };
        self.anonymous += 1;
        let suffix = match kind {
            UserKind::Compound { .. } => "Compound",
            UserKind::Enum { .. } => "Enum",
            UserKind::Vlen { .. } => "Vlen",
            UserKind::Opaque { .. } => "Opaque",
        };
        let name = format!("_Anonymous{suffix}{}", self.anonymous);
        let dtype = self.push(UserType { name, group, kind }, None);
        self.known.insert(normal, dtype);
        Ok(dtype)
    }

    /// The kind of a user-defined type; `None` for atomic ones.
    fn kind(&mut self, d: &Datatype, group: GroupId) -> Result<Option<UserKind>, String> {
        Ok(Some(match &d.class {
            Class::Opaque { .. } => UserKind::Opaque { size: d.size as usize },
            Class::Enum { base, members } => {
                let atom = atomic(base).filter(|a| !matches!(a, Atomic::Float | Atomic::Double));
                let atom = atom.ok_or_else(|| format!("an enumeration of {}", base.describe()))?;
                let members =
                    members.iter().map(|m| (decode_name(&m.name), integer(base, &m.value))).collect();
                UserKind::Enum { base: atom, members }
            }
            Class::Vlen { base } => match self.shaped(base, group)? {
                (dtype, shape) if shape.is_empty() => UserKind::Vlen { base: dtype },
                _ => return Err(format!("{}, which netCDF has not", d.describe())),
            },
            Class::Compound { members } => {
                let mut fields = Vec::with_capacity(members.len());
                for m in members {
                    let (dtype, shape) = self.shaped(&m.datatype, group)?;
                    fields.push(Field {
                        name: decode_name(&m.name),
                        offset: m.offset as usize,
                        dtype,
                        shape,
                    });
                }
                self.place(fields, d.size as usize)
            }
            _ => return Ok(None),
        }))
    }

    /// A compound's fields where they lie in memory: as in the file when all are of fixed size; else as a C
    /// compiler would put them, because strings and rows have another size in memory than in the file.
    fn place(&self, mut fields: Vec<Field>, size: usize) -> UserKind {
        if fields.iter().any(|f| self.is_heap(f.dtype)) {
            let (mut at, mut widest) = (0usize, 1usize);
            for f in &mut fields {
                let (size, align) = self.memory(f.dtype);
                at = at.next_multiple_of(align);
                f.offset = at;
                at = at.saturating_add(size.saturating_mul(f.count()));
                widest = widest.max(align);
            }
            return UserKind::Compound { size: at.checked_next_multiple_of(widest).unwrap_or(at), fields };
        }
        fields.sort_by_key(|f| f.offset);
        UserKind::Compound { size, fields }
    }

    fn is_heap(&self, dtype: DType) -> bool {
        match dtype {
            DType::Atomic(_) => false,
            DType::String => true,
            DType::User(t) => match &self.types[t.0].kind {
                UserKind::Compound { fields, .. } => fields.iter().any(|f| self.is_heap(f.dtype)),
                UserKind::Vlen { .. } => true,
                UserKind::Enum { .. } | UserKind::Opaque { .. } => false,
            },
        }
    }

    /// Size and alignment in memory.
    fn memory(&self, dtype: DType) -> (usize, usize) {
        match dtype {
            DType::Atomic(a) => (a.size(), a.size()),
            DType::String => (8, 8),
            DType::User(t) => match &self.types[t.0].kind {
                UserKind::Compound { size, fields } => {
                    (*size, fields.iter().map(|f| self.memory(f.dtype).1).max().unwrap_or(1))
                }
                UserKind::Enum { base, .. } => (base.size(), base.size()),
                UserKind::Opaque { size } => (*size, 1),
                UserKind::Vlen { .. } => (16, 8),
            },
        }
    }

    /// The type of a member: arrays become a shape; fixed-length text becomes a row of characters.
    fn shaped(&mut self, d: &Datatype, group: GroupId) -> Result<Shaped, String> {
        match &d.class {
            Class::Array { dims, base } => {
                let (dtype, inner) = self.shaped(base, group)?;
                Ok((dtype, dims.iter().copied().chain(inner).collect()))
            }
            Class::String { .. } if d.size > 1 => Ok((Atomic::Char.into(), vec![d.size])),
            _ => Ok((self.of(d, None, group)?, Vec::new())),
        }
    }
}

/// The atomic type of a datatype that uses all bits of 1, 2, 4 or 8 bytes.
pub(crate) fn atomic(d: &Datatype) -> Option<Atomic> {
    match &d.class {
        Class::Fixed { signed, bit_offset: 0, precision, .. }
            if u64::from(*precision) == 8 * u64::from(d.size) =>
        {
            Some(match (d.size, signed) {
                (1, true) => Atomic::Byte,
                (1, false) => Atomic::UByte,
                (2, true) => Atomic::Short,
                (2, false) => Atomic::UShort,
                (4, true) => Atomic::Int,
                (4, false) => Atomic::UInt,
                (8, true) => Atomic::Int64,
                (8, false) => Atomic::UInt64,
                _ => return None,
            })
        }
        Class::Float(f) if d.size == 4 && *f == FloatLayout::binary32(f.order) => Some(Atomic::Float),
        Class::Float(f) if d.size == 8 && *f == FloatLayout::binary64(f.order) => Some(Atomic::Double),
        Class::String { .. } if d.size == 1 => Some(Atomic::Char),
        _ => None,
    }
    .filter(|_| order(d) != Some(ByteOrder::Vax))
}

/// The byte order of a number.
pub(crate) fn order(d: &Datatype) -> Option<ByteOrder> {
    match &d.class {
        Class::Fixed { order, .. } => Some(*order),
        Class::Float(f) => Some(f.order),
        Class::Enum { base, .. } => order(base),
        _ => None,
    }
}

/// Whether elements of a datatype refer to the heap.
pub(crate) fn holds_heap(d: &Datatype) -> bool {
    match &d.class {
        Class::Vlen { .. } | Class::VlenString { .. } => true,
        Class::Compound { members } => members.iter().any(|m| holds_heap(&m.datatype)),
        Class::Array { base, .. } => holds_heap(base),
        _ => false,
    }
}

/// Byte order of a variable: that of its numbers, when they agree.
pub(crate) fn endian(d: &Datatype) -> Endian {
    fn gather(d: &Datatype, seen: &mut [bool; 2]) {
        match (&d.class, order(d)) {
            (_, Some(_)) if d.size == 1 => {}
            (_, Some(ByteOrder::Little)) => seen[0] = true,
            (_, Some(_)) => seen[1] = true,
            (Class::Compound { members }, _) => members.iter().for_each(|m| gather(&m.datatype, seen)),
            (Class::Array { base, .. } | Class::Vlen { base }, _) => gather(base, seen),
            _ => {}
        }
    }
    if let (Some(o), true) = (order(d), d.size == 1) {
        return if o == ByteOrder::Big { Endian::Big } else { Endian::Little };
    }
    let mut seen = [false; 2];
    gather(d, &mut seen);
    match seen {
        [true, false] => Endian::Little,
        [false, true] => Endian::Big,
        _ => Endian::Native,
    }
}

/// The value of an integer's stored bytes.
fn integer(base: &Datatype, value: &[u8]) -> i128 {
    let big = order(base) == Some(ByteOrder::Big);
    let signed = matches!(base.class, Class::Fixed { signed: true, .. });
    let byte = |i: usize| if big { value[value.len() - 1 - i] } else { value[i] };
    let raw = (0..value.len().min(8)).fold(0i128, |a, i| a | i128::from(byte(i)) << (8 * i));
    let bits = 8 * value.len().min(8) as u32;
    if signed && bits > 0 && raw >> (bits - 1) & 1 == 1 { raw - (1i128 << bits) } else { raw }
}

/// The conversion of a stored element to one in memory; `None` for a type too odd to describe.
pub(crate) fn element(d: &Datatype, heap: bool) -> Option<Element> {
    let size = d.size as usize;
    if heap {
        return Some(Element { size, order: Order::Keep, heap: true });
    }
    let mut fields = Vec::new();
    swaps(d, 0, &mut fields)?;
    let order = match fields.as_slice() {
        [] => Order::Keep,
        [one] if one.offset == 0 && one.count == 1 && one.unit == size => Order::Swap(size),
        _ => Order::Fields(fields),
    };
    Some(Element { size, order, heap: false })
}

fn swaps(d: &Datatype, offset: usize, out: &mut Vec<SwapField>) -> Option<()> {
    if out.len() > MAX_SWAPS {
        return None;
    }
    if let Some(order) = order(d) {
        let endian = if order == ByteOrder::Big { Endian::Big } else { Endian::Little };
        if d.size > 1 && is_swapped(endian) {
            out.push(SwapField { offset, unit: d.size as usize, count: 1 });
        }
        return Some(());
    }
    match &d.class {
        Class::Compound { members } => {
            for m in members {
                swaps(&m.datatype, offset + m.offset as usize, out)?;
            }
        }
        Class::Array { dims, base } => {
            let count = dims.iter().map(|&n| n as usize).product();
            let mut one = Vec::new();
            swaps(base, offset, &mut one)?;
            match one.as_slice() {
                [] => {}
                [run] if run.unit * run.count == base.size as usize => {
                    out.push(SwapField { count: run.count * count, ..*run });
                }
                _ => {
                    for i in 0..count {
                        swaps(base, offset + i * base.size as usize, out)?;
                    }
                }
            }
        }
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::datatype::Charset;
    use crate::hdf5::datatype::{EnumMember, Member, StringPadding};

    const ROOT: GroupId = GroupId(0);

    fn member(name: &str, offset: u32, datatype: Datatype) -> Member {
        Member { name: name.into(), offset, datatype }
    }

    fn string() -> Datatype {
        let class = Class::VlenString { padding: StringPadding::NullTerminated, charset: Charset::Utf8 };
        Datatype { size: 16, class }
    }

    #[test]
    fn a_type_stands_after_those_it_uses() {
        let inner = Datatype {
            size: 6,
            class: Class::Compound {
                members: vec![member("i", 2, Datatype::integer(4, true, ByteOrder::Big))],
            },
        };
        let outer =
            Datatype { size: 8, class: Class::Compound { members: vec![member("in", 1, inner.clone())] } };
        let found =
            |name: &str, address, datatype| FoundType { group: ROOT, name: name.into(), address, datatype };
        let mut skipped = Vec::new();
        let types =
            Types::new(&[found("a_outer", 1, outer), found("b_inner", 2, inner)], &mut skipped, |_| {
                "/".into()
            });
        assert!(skipped.is_empty());
        assert_eq!(types.types.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["b_inner", "a_outer"]);
        assert_eq!(types.addresses, [Some(2), Some(1)]);
    }

    #[test]
    fn compounds_with_strings_lie_in_memory_as_in_c() {
        let members =
            vec![member("n", 0, Datatype::integer(2, true, ByteOrder::Little)), member("s", 2, string())];
        let mut types = Types::default();
        let d = Datatype { size: 18, class: Class::Compound { members } };
        let dtype = types.of(&d, None, ROOT).unwrap();
        assert_eq!(dtype, DType::User(TypeId(0)));
        assert_eq!(types.types[0].name, "_AnonymousCompound1");
        let UserKind::Compound { size, fields } = &types.types[0].kind else { panic!("a compound") };
        assert_eq!((*size, fields[1].offset), (16, 8));
        assert_eq!(types.of(&d, None, ROOT), Ok(dtype), "the same type again is no new one");
    }

    #[test]
    fn enumerations_keep_signs_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let value = if order == ByteOrder::Big { (-2i16).to_be_bytes() } else { (-2i16).to_le_bytes() };
            let members = vec![EnumMember { name: b"low".to_vec(), value: value.to_vec() }];
            let base = Box::new(Datatype::integer(2, true, order));
            let mut types = Types::default();
            types.of(&Datatype { size: 2, class: Class::Enum { base, members } }, None, ROOT).unwrap();
            let UserKind::Enum { base, members } = &types.types[0].kind else { panic!("an enumeration") };
            assert_eq!((*base, members.as_slice()), (Atomic::Short, &[("low".to_owned(), -2)][..]));
        }
    }

    #[test]
    fn numbers_that_netcdf_has_not_are_named() {
        let half = Datatype { size: 2, ..Datatype::f32(ByteOrder::Little) };
        assert!(Types::default().of(&half, None, ROOT).unwrap_err().contains("2-byte float"));
        assert!(Types::default().of(&Datatype::integer(3, true, ByteOrder::Little), None, ROOT).is_err());
    }

    #[test]
    fn only_numbers_of_the_other_order_are_swapped() {
        let big = Datatype::integer(4, true, ByteOrder::Big);
        let array = Datatype { size: 12, class: Class::Array { dims: vec![3], base: Box::new(big.clone()) } };
        let members = vec![
            member("a", 0, Datatype::f64(ByteOrder::Little)),
            member("b", 8, array),
            member("c", 20, big),
        ];
        let d = Datatype { size: 24, class: Class::Compound { members } };
        let swap = |offset, count| SwapField { offset, unit: 4, count };
        if cfg!(target_endian = "little") {
            assert_eq!(element(&d, false).unwrap().order, Order::Fields(vec![swap(8, 3), swap(20, 1)]));
        }
    }
}
