//! Values as the bytes that are hashed: numbers little-endian, nothing between them, strings and rows behind their lengths.

use ncforge::model::{DType, Schema, UserKind, Value, Values};

/// How elements of a type become canonical bytes.
pub(super) enum Canonical {
    /// A type of a fixed size in memory.
    Fixed { size: usize, pieces: Vec<Piece> },
    /// A string.
    String,
    /// A ragged row of these.
    Row(Box<Canonical>),
    /// One for each entry of [`Value::Compound`].
    Compound(Vec<Canonical>),
}

/// Bytes of an element that are numbers of one width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    offset: usize,
    len: usize,
    /// Bytes of a number; 1 where their order is canonical.
    width: usize,
}

impl Canonical {
    /// The canonical form of a type.
    pub(super) fn of(schema: &Schema, dtype: DType) -> Canonical {
        if let Some(size) = schema.fixed_size(dtype) {
            let mut pieces = Vec::new();
            add_pieces(schema, dtype, 0, &mut pieces);
            return Canonical::Fixed { size, pieces };
        }
        let DType::User(t) = dtype else { return Canonical::String };
        match &schema.user_type(t).kind {
            UserKind::Vlen { base } => Canonical::Row(Box::new(Canonical::of(schema, *base))),
            UserKind::Compound { fields, .. } => {
                let each = fields.iter().flat_map(|f| (0..f.count()).map(|_| Canonical::of(schema, f.dtype)));
                Canonical::Compound(each.collect())
            }
            // Both have a size.
            UserKind::Enum { .. } | UserKind::Opaque { .. } => Canonical::Compound(Vec::new()),
        }
    }

    /// Bytes of an element in memory, if that is fixed.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Canonical::Fixed { size, .. } => Some(*size),
            _ => None,
        }
    }

    /// Whether elements in memory are canonical as they are.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Canonical::Fixed { size, pieces } => {
                matches!(pieces[..], [Piece { offset: 0, len, width: 1 }] if len == *size)
            }
            _ => false,
        }
    }

    /// Appends elements of a fixed size.
    pub(super) fn fixed(&self, elements: &[u8], out: &mut Vec<u8>) {
        let Canonical::Fixed { size, pieces } = self else { return };
        if self.is_plain() {
            return out.extend_from_slice(elements);
        }
        for element in elements.chunks_exact((*size).max(1)) {
            for piece in pieces {
                let bytes = &element[piece.offset..piece.offset + piece.len];
                match piece.width {
                    1 => out.extend_from_slice(bytes),
                    n => bytes.chunks_exact(n).for_each(|number| out.extend(number.iter().rev())),
                }
            }
        }
    }

    /// Appends an element.
    pub(super) fn value(&self, value: &Value, out: &mut Vec<u8>) {
        let add_len = |len: usize, out: &mut Vec<u8>| out.extend((len as u64).to_le_bytes());
        match (self, value) {
            (Canonical::Fixed { .. }, Value::Fixed(bytes)) => self.fixed(bytes, out),
            (_, Value::String(text)) => {
                let text = text.as_deref().unwrap_or_default();
                add_len(text.len(), out);
                out.extend_from_slice(text);
            }
            (Canonical::Row(each), Value::Row(bytes)) => {
                add_len(bytes.len() / each.size().unwrap_or(1).max(1), out);
                each.fixed(bytes, out);
            }
            (Canonical::Row(each), Value::HeapRow(values)) => {
                add_len(values.len(), out);
                values.iter().for_each(|v| each.value(v, out));
            }
            (Canonical::Compound(entries), Value::Compound(values)) => {
                entries.iter().zip(values).for_each(|(each, v)| each.value(v, out));
            }
            // Values are those of their type.
            _ => {}
        }
    }

    /// All of these values.
    pub(super) fn values(&self, values: &Values) -> Vec<u8> {
        let mut out = Vec::new();
        match values {
            Values::Fixed(bytes) => self.fixed(bytes, &mut out),
            Values::Heap(list) => list.iter().for_each(|v| self.value(v, &mut out)),
        }
        out
    }
}

/// Adds the numbers of an element that begins at `offset`.
fn add_pieces(schema: &Schema, dtype: DType, offset: usize, pieces: &mut Vec<Piece>) {
    let (len, number) = match dtype {
        DType::Atomic(a) => (a.size(), a.size()),
        DType::String => return,
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Enum { base, .. } => (base.size(), base.size()),
            UserKind::Opaque { size } => (*size, 1),
            UserKind::Vlen { .. } => return,
            UserKind::Compound { fields, .. } => {
                for field in fields {
                    let size = schema.memory_size(field.dtype);
                    (0..field.count()).for_each(|i| {
                        add_pieces(schema, field.dtype, offset + field.offset + i * size, pieces);
                    });
                }
                return;
            }
        },
    };
    let width = if cfg!(target_endian = "little") { 1 } else { number };
    match pieces.last_mut() {
        Some(last) if last.offset + last.len == offset && last.width == width => last.len += len,
        _ => pieces.push(Piece { offset, len, width }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Field, Format, TypeId, UserType};

    fn field(name: &str, offset: usize, dtype: DType, shape: &[u32]) -> Field {
        Field { name: name.into(), offset, dtype, shape: shape.to_vec() }
    }

    fn schema(kind: UserKind) -> Schema {
        let mut s = Schema::new(Format::Netcdf4);
        s.types.push(UserType { name: "t".into(), group: Schema::ROOT, kind });
        s
    }

    #[test]
    fn what_lies_between_fields_is_left_out() {
        let fields = vec![
            field("a", 0, Atomic::Byte.into(), &[]),
            field("b", 4, Atomic::Short.into(), &[2]),
            field("c", 8, Atomic::Short.into(), &[]),
        ];
        let s = schema(UserKind::Compound { size: 12, fields });
        let canonical = Canonical::of(&s, DType::User(TypeId(0)));
        assert!(!canonical.is_plain());
        let mut element = vec![1, 9, 9, 9];
        [2i16, 3, 4].iter().for_each(|n| element.extend(n.to_ne_bytes()));
        element.extend([9, 9]);
        let mut out = Vec::new();
        canonical.fixed(&[element.clone(), element].concat(), &mut out);
        assert_eq!(out, [1, 2, 0, 3, 0, 4, 0, 1, 2, 0, 3, 0, 4, 0]);
        assert!(Canonical::of(&s, Atomic::Double.into()).is_plain() == cfg!(target_endian = "little"));
    }

    #[test]
    fn strings_and_rows_stand_behind_their_lengths() {
        let s = schema(UserKind::Vlen { base: Atomic::Short.into() });
        let row = Canonical::of(&s, DType::User(TypeId(0)));
        let mut out = Vec::new();
        row.value(&Value::Row([7i16, 8].iter().flat_map(|n| n.to_ne_bytes()).collect()), &mut out);
        assert_eq!(out, [2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0]);
        let texts = |list: &[Option<&str>]| {
            let list = list.iter().map(|t| Value::String(t.map(|t| t.as_bytes().to_vec()))).collect();
            Canonical::of(&s, DType::String).values(&Values::Heap(list))
        };
        assert_eq!(texts(&[Some("ab"), None])[..11], [2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 0]);
        assert_ne!(texts(&[Some("ab"), Some("c")]), texts(&[Some("a"), Some("bc")]));
        assert_eq!(texts(&[None]), texts(&[Some("")]));
    }
}
