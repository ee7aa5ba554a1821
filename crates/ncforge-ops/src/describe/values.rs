//! Attribute values in CDL, of every type that netCDF has.

use super::number::{Digits, integer, push_attribute_number, push_plain_number};
use super::text::{push_attribute_text, push_name, push_nested_chars, push_nested_string, up_to_nul};
use ncforge::model::{Atomic, Attribute, DType, Field, Schema, UserKind, Value, Values};

/// The values of an attribute, one text each, in CDL's spelling. Compounds and rows are kept apart because
/// `ncdump` breaks lines between them; all others are one text.
pub(super) enum Shown {
    /// To be printed as it is.
    Whole(Vec<u8>),
    /// To be printed one after the other, with line breaks where the line would grow too long.
    Pieces(Vec<Vec<u8>>),
}

/// The style of values: the types, and the digits of numbers.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) schema: &'a Schema,
    pub(super) digits: Digits,
}

/// The values of an attribute as CDL writes them, on one line.
pub(crate) fn attribute_words(schema: &Schema, attr: &Attribute) -> String {
    let text = match show(Look { schema, digits: Digits::default() }, attr, false) {
        Shown::Whole(text) => text,
        Shown::Pieces(list) => list.join(&b", "[..]),
    };
    String::from_utf8_lossy(&text).into_owned()
}

/// The values of an attribute in CDL. `breaks`: newlines in text begin a new quoted piece.
pub(super) fn show(look: Look<'_>, attr: &Attribute, breaks: bool) -> Shown {
    let mut out = Vec::new();
    let count = attr.len(look.schema);
    if count == 0 {
        return Shown::Whole(b"\"\"".to_vec());
    }
    match (attr.dtype, &attr.values) {
        (DType::Atomic(Atomic::Char), Values::Fixed(b)) => push_attribute_text(&mut out, b, breaks),
        (DType::Atomic(kind), Values::Fixed(b)) => {
            separated(&mut out, b.chunks_exact(kind.size()), |out, v| {
                push_attribute_number(out, look.digits, kind, v);
            });
        }
        (DType::String, Values::Heap(values)) => separated(&mut out, values, |out, v| match v {
            Value::String(Some(s)) => push_attribute_text(out, up_to_nul(s), breaks),
            _ => out.extend_from_slice(b"NIL"),
        }),
        (DType::User(t), values) => match (&look.schema.user_type(t).kind, values) {
            (UserKind::Opaque { size }, Values::Fixed(b)) => {
                separated(&mut out, b.chunks_exact((*size).max(1)), push_hex);
            }
            (UserKind::Enum { base, members }, Values::Fixed(b)) => {
                separated(&mut out, b.chunks_exact(base.size()), |out, v| {
                    match member(members, integer(*base, v)) {
                        Some(name) => push_name(out, name),
                        None => push_plain_number(out, look.digits, *base, v),
                    }
                });
            }
            _ => return Shown::Pieces(pieces(look, attr, count)),
        },
        // A heap where the type has none, or the reverse: the reader that made it is at fault; show nothing.
        _ => out.extend_from_slice(b"\"\""),
    }
    Shown::Whole(out)
}

fn pieces(look: Look<'_>, attr: &Attribute, count: usize) -> Vec<Vec<u8>> {
    let size = look.schema.fixed_size(attr.dtype).unwrap_or(1).max(1);
    (0..count)
        .map(|i| {
            let mut piece = Vec::new();
            match &attr.values {
                Values::Fixed(b) => push_fixed(&mut piece, look, attr.dtype, &b[i * size..(i + 1) * size]),
                Values::Heap(v) => push_value(&mut piece, look, attr.dtype, &v[i]),
            }
            if i + 1 < count {
                piece.extend_from_slice(b", ");
            }
            piece
        })
        .collect()
}

fn separated<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut Vec<u8>, T),
) {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        push(out, item);
    }
}

fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"0X");
    for b in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]);
    }
}

pub(super) fn member(members: &[(String, i128)], value: i128) -> Option<&str> {
    members.iter().find(|m| m.1 == value).map(|m| m.0.as_str())
}

/// One element of a fixed-size type, inside a compound or a row.
pub(super) fn push_fixed(out: &mut Vec<u8>, look: Look<'_>, dtype: DType, bytes: &[u8]) {
    match dtype {
        // One character of a row is shown bare, as ncdump does.
        DType::Atomic(Atomic::Char) => out.extend(bytes.iter().filter(|&&b| b != 0)),
        DType::Atomic(kind) => push_plain_number(out, look.digits, kind, bytes),
        DType::String => {}
        DType::User(t) => match &look.schema.user_type(t).kind {
            UserKind::Opaque { .. } => push_hex(out, bytes),
            UserKind::Enum { base, members } => match member(members, integer(*base, bytes)) {
                Some(name) => out.extend(ncforge::model::encode_name(name)),
                None => push_plain_number(out, look.digits, *base, bytes),
            },
            UserKind::Vlen { .. } => {}
            UserKind::Compound { fields, .. } => {
                out.push(b'{');
                separated(out, fields, |out, field| {
                    let size = look.schema.fixed_size(field.dtype).unwrap_or(0);
                    let stop = field.offset.saturating_add(size.saturating_mul(field.count()));
                    if let Some(bytes) = bytes.get(field.offset..stop) {
                        push_fixed_field(out, look, field, bytes);
                    }
                });
                out.push(b'}');
            }
        },
    }
}

fn push_fixed_field(out: &mut Vec<u8>, look: Look<'_>, field: &Field, bytes: &[u8]) {
    if field.dtype == DType::Atomic(Atomic::Char) {
        return push_char_field(out, field, bytes);
    }
    let size = look.schema.fixed_size(field.dtype).unwrap_or(0).max(1);
    if field.shape.is_empty() {
        return push_fixed(out, look, field.dtype, bytes);
    }
    out.push(b'{');
    separated(out, bytes.chunks_exact(size), |out, v| push_fixed(out, look, field.dtype, v));
    out.push(b'}');
}

/// Characters of a field: one text a row of its last dimension.
fn push_char_field(out: &mut Vec<u8>, field: &Field, bytes: &[u8]) {
    let Some(&last) = field.shape.last() else { return push_nested_chars(out, bytes) };
    out.push(b'{');
    separated(out, bytes.chunks_exact((last as usize).max(1)), push_nested_chars);
    out.push(b'}');
}

/// One element of a heap type.
pub(super) fn push_value(out: &mut Vec<u8>, look: Look<'_>, dtype: DType, value: &Value) {
    match value {
        Value::Fixed(bytes) => push_fixed(out, look, dtype, bytes),
        Value::String(s) => push_nested_string(out, s.as_deref()),
        Value::Row(bytes) => {
            let base = row_base(look.schema, dtype);
            let size = base.and_then(|b| look.schema.fixed_size(b)).unwrap_or(1).max(1);
            out.push(b'{');
            if let Some(base) = base {
                separated(out, bytes.chunks_exact(size), |out, v| push_fixed(out, look, base, v));
            }
            out.push(b'}');
        }
        Value::HeapRow(values) => {
            out.push(b'{');
            if let Some(base) = row_base(look.schema, dtype) {
                separated(out, values, |out, v| push_value(out, look, base, v));
            }
            out.push(b'}');
        }
        Value::Compound(values) => push_heap_compound(out, look, dtype, values),
    }
}

pub(super) fn row_base(schema: &Schema, dtype: DType) -> Option<DType> {
    let DType::User(t) = dtype else { return None };
    match schema.user_type(t).kind {
        UserKind::Vlen { base } => Some(base),
        _ => None,
    }
}

fn push_heap_compound(out: &mut Vec<u8>, look: Look<'_>, dtype: DType, values: &[Value]) {
    let DType::User(t) = dtype else { return };
    let UserKind::Compound { fields, .. } = &look.schema.user_type(t).kind else { return };
    let mut rest = values;
    out.push(b'{');
    separated(out, fields, |out, field| {
        // A field with a shape is one entry an element, flattened.
        let (mine, after) = rest.split_at(field.count().min(rest.len()));
        rest = after;
        if field.dtype == DType::Atomic(Atomic::Char) {
            let bytes: Vec<u8> = mine.iter().flat_map(leaf).copied().collect();
            push_char_field(out, field, &bytes);
        } else if field.shape.is_empty() {
            separated(out, mine, |out, v| push_value(out, look, field.dtype, v));
        } else {
            out.push(b'{');
            separated(out, mine, |out, v| push_value(out, look, field.dtype, v));
            out.push(b'}');
        }
    });
    out.push(b'}');
}

fn leaf(value: &Value) -> &[u8] {
    match value {
        Value::Fixed(b) => b,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{TypeId, UserType};

    fn schema() -> Schema {
        let mut s = Schema::new(ncforge::Format::Netcdf4);
        let user = |name: &str, kind| UserType { name: name.into(), group: Schema::ROOT, kind };
        let field = |name: &str, offset, dtype: DType, shape: &[u32]| Field {
            name: name.into(),
            offset,
            dtype,
            shape: shape.to_vec(),
        };
        s.types.push(user(
            "obs",
            UserKind::Compound {
                size: 16,
                fields: vec![
                    field("t", 0, Atomic::Double.into(), &[]),
                    field("id", 8, Atomic::Char.into(), &[4]),
                    field("n", 12, Atomic::Short.into(), &[2]),
                ],
            },
        ));
        s.types.push(user("row", UserKind::Vlen { base: Atomic::Float.into() }));
        s.types.push(user(
            "cloud",
            UserKind::Enum {
                base: Atomic::UByte,
                members: vec![("clear sky".into(), 0), ("rain".into(), 9)],
            },
        ));
        s.types.push(user("blob", UserKind::Opaque { size: 3 }));
        s
    }

    fn shown(t: usize, values: Values) -> String {
        let s = schema();
        let a = Attribute { name: "a".into(), dtype: DType::User(TypeId(t)), values };
        let bytes = match show(Look { schema: &s, digits: Digits::default() }, &a, false) {
            Shown::Whole(b) => b,
            Shown::Pieces(p) => p.concat(),
        };
        String::from_utf8(bytes).expect("ASCII")
    }

    #[test]
    fn user_types_are_shown_as_ncdump_shows_them() {
        let mut obs = 1.5f64.to_ne_bytes().to_vec();
        obs.extend(b"ab\0\0");
        obs.extend(7i16.to_ne_bytes());
        obs.extend((-1i16).to_ne_bytes());
        assert_eq!(shown(0, Values::fixed(&obs)), r#"{1.5, {"ab"}, {7, -1}}"#);
        let row = Value::Row([1f32, 2.5].iter().flat_map(|x| x.to_ne_bytes()).collect());
        assert_eq!(shown(1, Values::Heap(vec![row, Value::Row(vec![])])), "{1, 2.5}, {}");
        assert_eq!(shown(2, Values::fixed(&[9, 0])), r"rain, clear\ sky");
        assert_eq!(shown(3, Values::fixed(&[1, 0xAB, 0])), "0X01AB00");
    }
}
