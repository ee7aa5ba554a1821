//! How to show an element.

use ncforge::model::{Atomic, DType, Number, Schema, UserKind, Value};

/// A fixed-size element as text.
pub(in crate::compare) fn format_element(s: &Schema, t: DType, bytes: &[u8]) -> String {
    match t {
        DType::Atomic(Atomic::Char) => format!("{:?}", char::from(bytes.first().copied().unwrap_or(0))),
        DType::Atomic(kind) => Number::read(kind, bytes).map_or_else(|| hex(bytes), |x| x.to_string()),
        DType::String => hex(bytes),
        DType::User(id) => match &s.user_type(id).kind {
            UserKind::Enum { base, members } => {
                let value = Number::read(*base, bytes).and_then(Number::integer);
                let name = members.iter().find(|(_, v)| Some(*v) == value).map(|(n, _)| n.as_str());
                format!("{} ({})", name.unwrap_or("?"), value.unwrap_or_default())
            }
            UserKind::Compound { fields, .. } => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|f| {
                        let n = s.memory_size(f.dtype);
                        let items: Vec<String> = (0..f.count())
                            .filter_map(|i| bytes.get(f.offset + i * n..f.offset + (i + 1) * n))
                            .map(|e| format_element(s, f.dtype, e))
                            .collect();
                        format!("{}: {}", f.name, items.join(" "))
                    })
                    .collect();
                format!("{{{}}}", parts.join(", "))
            }
            _ => hex(bytes),
        },
    }
}

/// A heap value as text.
pub(in crate::compare) fn format_value(v: &Value) -> String {
    match v {
        Value::String(None) => "NIL".into(),
        Value::String(Some(s)) => format!("{:?}", String::from_utf8_lossy(s)),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("0x{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Field, Format, TypeId, UserType};

    #[test]
    fn compounds_are_shown_by_field() {
        let mut s = Schema::new(Format::Netcdf4);
        let field = |name: &str, offset, a: Atomic| Field {
            name: name.into(),
            offset,
            dtype: a.into(),
            shape: vec![],
        };
        let fields = vec![field("a", 0, Atomic::Byte), field("b", 4, Atomic::Int)];
        let kind = UserKind::Compound { size: 8, fields };
        s.types.push(UserType { name: "t".into(), group: Schema::ROOT, kind });
        assert_eq!(format_element(&s, DType::User(TypeId(0)), &[1, 0, 0, 0, 2, 0, 0, 0]), "{a: 1, b: 2}");
    }
}
