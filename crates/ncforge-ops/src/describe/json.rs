//! Everything about a dataset but its data, as JSON for programs.
//!
//! Nothing is lost on the way:
//! * integers are JSON integers of any size; a reader that keeps 64 bits (Python does, JavaScript does not)
//!   gets them exactly;
//! * floats are the shortest decimal that reads back to the same bits; what JSON has no number for is a
//!   string: `"NaN"`, `"Infinity"`, `"-Infinity"`, and for a NaN with other bits than the usual
//!   `"NaN:0x7fc00001"`;
//! * text (`char`) is one string, NULs included; text that is not UTF-8 is `{"bytes": "<base 16>"}`;
//! * a null string is `null`; opaque values are strings of base 16; rows are arrays; compounds are objects;
//! * an enum value is its name; a value that has none is its number;
//! * attributes stand in a list, because their order counts.

use serde_json::{Map, Value as Json, json as object};

use super::number::integer;
use super::special;
use super::storage::{FileStorage, VarStorage, storage};
use super::values::member;
use ncforge::codec::filters::filter_name;
use ncforge::model::{
    Atomic, Attribute, DType, Endian, Fill, Number, Schema, Storage, UserKind, UserType, Value, Values,
};
use ncforge::raw::{Container, Remark};

/// Everything about a dataset: format, sizes, dimensions, types, attributes with their values, variables with
/// their storage, notes.
pub fn json(container: &dyn Container) -> Json {
    let schema = container.schema();
    let facts = storage(container);
    object!({
        "file": container.store().name(),
        "format": schema.format.kind(),
        "superblock_version": special::superblock_version(container),
        "provenance": schema.provenance,
        "file_bytes": facts.file_bytes,
        "metadata_bytes": facts.metadata_bytes,
        "stored_bytes": facts.stored_bytes,
        "logical_bytes": facts.logical_bytes,
        "ratio": facts.ratio(),
        "groups": (0..schema.groups.len()).map(|g| group(schema, g)).collect::<Vec<_>>(),
        "types": schema.types.iter().map(|t| user_type(schema, t)).collect::<Vec<_>>(),
        "dimensions": schema.dims.iter().map(|d| object!({
            "name": d.name,
            "group": schema.group_path(d.group),
            "length": d.len,
            "unlimited": d.unlimited,
        })).collect::<Vec<_>>(),
        "variables": variables(schema, &facts),
        "zipped": facts.zipped,
        "notes": facts.remarks.iter().map(Remark::to_string).collect::<Vec<_>>(),
        "skipped": schema.skipped.iter()
            .map(|s| object!({ "path": s.path, "why": s.why, "damaged": s.is_damaged() }))
            .collect::<Vec<_>>(),
    })
}

fn group(schema: &Schema, g: usize) -> Json {
    object!({
        "path": schema.group_path(ncforge::model::GroupId(g)),
        "attributes": attributes(schema, &schema.groups[g].attrs),
    })
}

fn user_type(schema: &Schema, t: &UserType) -> Json {
    let mut entry = object!({ "name": t.name, "group": schema.group_path(t.group) });
    let detail = match &t.kind {
        UserKind::Compound { size, fields } => object!({
            "class": "compound",
            "size": size,
            "fields": fields.iter().map(|f| object!({
                "name": f.name,
                "offset": f.offset,
                "type": schema.type_name(f.dtype),
                "shape": f.shape,
            })).collect::<Vec<_>>(),
        }),
        UserKind::Enum { base, members } => object!({
            "class": "enum",
            "base": base.cdl_name(),
            "members": members.iter()
                .map(|(name, value)| object!({ "name": name, "value": whole(*value) }))
                .collect::<Vec<_>>(),
        }),
        UserKind::Vlen { base } => object!({ "class": "vlen", "base": schema.type_name(*base) }),
        UserKind::Opaque { size } => object!({ "class": "opaque", "size": size }),
    };
    if let (Json::Object(entry), Json::Object(detail)) = (&mut entry, detail) {
        entry.extend(detail);
    }
    entry
}

fn variables(schema: &Schema, facts: &FileStorage) -> Vec<Json> {
    let one = |v: &VarStorage| {
        let var = schema.var(v.var);
        object!({
            "name": var.name,
            "path": schema.var_path(v.var),
            "group": schema.group_path(var.group),
            "type": schema.type_name(var.dtype),
            "dimensions": var.dims.iter().map(|d| &schema.dim(*d).name).collect::<Vec<_>>(),
            "shape": schema.shape(v.var),
            "attributes": attributes(schema, &var.attrs),
            "storage": var_storage(schema, v),
        })
    };
    facts.vars.iter().map(one).collect()
}

fn var_storage(schema: &Schema, v: &VarStorage) -> Json {
    let var = schema.var(v.var);
    object!({
        "layout": match var.storage {
            Storage::Contiguous => "contiguous",
            Storage::Compact => "compact",
            Storage::Chunked { .. } => "chunked",
        },
        "place": v.place,
        "offset": v.offset,
        "endian": match var.endian {
            _ if schema.format.is_classic() => "big",
            Endian::Native => "native",
            Endian::Little => "little",
            Endian::Big => "big",
        },
        "filled": var.fill != Fill::None,
        "chunks": v.chunks,
        "filters": v.filters.iter().map(|f| object!({
            "id": f.id,
            "name": filter_name(f.id),
            "params": f.params,
            "optional": f.optional,
        })).collect::<Vec<_>>(),
        "chunks_stored": v.chunks_stored,
        "chunks_possible": v.chunks_possible,
        "smallest_chunk_bytes": v.chunk_bytes.map(|b| b.0),
        "largest_chunk_bytes": v.chunk_bytes.map(|b| b.1),
        "access_points": v.points.map(|p| object!({
            "chunks_looked_at": p.looked_at,
            "chunks": p.chunks,
            "table_bytes": p.table_bytes,
        })),
        "stored_bytes": v.stored_bytes,
        "logical_bytes": v.logical_bytes,
        "ratio": v.ratio(),
        "trouble": v.trouble,
    })
}

fn attributes(schema: &Schema, attrs: &[Attribute]) -> Vec<Json> {
    let one = |a: &Attribute| {
        object!({
            "name": a.name,
            "type": schema.type_name(a.dtype),
            "length": a.len(schema),
            "value": attribute_value(schema, a),
        })
    };
    attrs.iter().map(one).collect()
}

/// The values of an attribute: one string for text, else a list.
fn attribute_value(schema: &Schema, a: &Attribute) -> Json {
    match &a.values {
        Values::Fixed(b) if a.dtype == DType::Atomic(Atomic::Char) => text(b),
        Values::Fixed(b) => {
            let size = schema.fixed_size(a.dtype).unwrap_or(0).max(1);
            b.chunks_exact(size).map(|v| fixed(schema, a.dtype, v)).collect()
        }
        Values::Heap(values) => values.iter().map(|v| heap(schema, a.dtype, v)).collect(),
    }
}

/// Bytes of text.
fn text(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(s) => Json::from(s),
        Err(_) => object!({ "bytes": base16(bytes) }),
    }
}

fn base16(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// An integer of any of netCDF's types.
fn whole(x: i128) -> Json {
    i64::try_from(x).map(Json::from).or_else(|_| u64::try_from(x).map(Json::from)).unwrap_or(Json::Null)
}

fn real(x: f64, bits: u64, usual_nan: u64, short: f64) -> Json {
    match serde_json::Number::from_f64(short) {
        Some(n) => Json::Number(n),
        None if x.is_nan() && bits == usual_nan => Json::from("NaN"),
        None if x.is_nan() => Json::from(format!("NaN:{bits:#x}")),
        None => Json::from(if x > 0.0 { "Infinity" } else { "-Infinity" }),
    }
}

fn fixed(schema: &Schema, dtype: DType, bytes: &[u8]) -> Json {
    match dtype {
        DType::Atomic(Atomic::Char) => text(bytes),
        DType::Atomic(kind) => match Number::read(kind, bytes) {
            // The shortest decimal of the float, not the long one of its double.
            Some(Number::Float(x)) => {
                let short = x.to_string().parse().unwrap_or(f64::from(x));
                real(f64::from(x), u64::from(x.to_bits()), u64::from(f32::NAN.to_bits()), short)
            }
            Some(Number::Double(x)) => real(x, x.to_bits(), f64::NAN.to_bits(), x),
            Some(Number::Integer(n)) => whole(n),
            None => Json::Null,
        },
        DType::String => Json::Null,
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Enum { base, members } => {
                let value = integer(*base, bytes);
                member(members, value).map_or_else(|| whole(value), Json::from)
            }
            UserKind::Opaque { .. } => Json::from(base16(bytes)),
            UserKind::Vlen { .. } => Json::Null,
            UserKind::Compound { fields, .. } => {
                let mut entry = Map::new();
                for f in fields {
                    let size = schema.fixed_size(f.dtype).unwrap_or(0).max(1);
                    let stop = f.offset.saturating_add(size.saturating_mul(f.count()));
                    let Some(bytes) = bytes.get(f.offset..stop) else { continue };
                    let values = bytes.chunks_exact(size).map(|v| fixed(schema, f.dtype, v)).collect();
                    entry.insert(f.name.clone(), field_value(f.dtype, &f.shape, values, bytes));
                }
                Json::Object(entry)
            }
        },
    }
}

/// A field's value: alone without a shape, else a flat list; characters are one string.
fn field_value(dtype: DType, shape: &[u32], mut values: Vec<Json>, bytes: &[u8]) -> Json {
    match dtype {
        DType::Atomic(Atomic::Char) if !shape.is_empty() => text(bytes),
        _ if shape.is_empty() => values.pop().unwrap_or(Json::Null),
        _ => Json::Array(values),
    }
}

fn heap(schema: &Schema, dtype: DType, value: &Value) -> Json {
    let user = match dtype {
        DType::User(t) => Some(&schema.user_type(t).kind),
        _ => None,
    };
    match (value, user) {
        (Value::Fixed(b), _) => fixed(schema, dtype, b),
        (Value::String(None), _) => Json::Null,
        (Value::String(Some(s)), _) => text(s),
        (Value::Row(b), Some(UserKind::Vlen { base })) => {
            let size = schema.fixed_size(*base).unwrap_or(0).max(1);
            b.chunks_exact(size).map(|v| fixed(schema, *base, v)).collect()
        }
        (Value::HeapRow(values), Some(UserKind::Vlen { base })) => {
            values.iter().map(|v| heap(schema, *base, v)).collect()
        }
        (Value::Compound(values), Some(UserKind::Compound { fields, .. })) => {
            let mut entry = Map::new();
            let mut rest = values.as_slice();
            for f in fields {
                let (mine, after) = rest.split_at(f.count().min(rest.len()));
                rest = after;
                let bytes: Vec<u8> = mine
                    .iter()
                    .filter_map(|v| if let Value::Fixed(b) = v { Some(&b[..]) } else { None })
                    .flatten()
                    .copied()
                    .collect();
                let values = mine.iter().map(|v| heap(schema, f.dtype, v)).collect();
                entry.insert(f.name.clone(), field_value(f.dtype, &f.shape, values, &bytes));
            }
            Json::Object(entry)
        }
        // A value that does not fit its type: the reader that made it is at fault.
        _ => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        let s = Schema::new(ncforge::Format::Netcdf4);
        let one = |kind: Atomic, bytes: &[u8]| fixed(&s, kind.into(), bytes).to_string();
        assert_eq!(one(Atomic::UInt64, &u64::MAX.to_ne_bytes()), "18446744073709551615");
        assert_eq!(one(Atomic::Int64, &i64::MIN.to_ne_bytes()), "-9223372036854775808");
        assert_eq!(one(Atomic::Float, &0.1f32.to_ne_bytes()), "0.1");
        assert_eq!(one(Atomic::Float, &1e20f32.to_ne_bytes()), "1e+20");
        assert_eq!(one(Atomic::Double, &(-0.0f64).to_ne_bytes()), "-0.0");
        assert_eq!(one(Atomic::Float, &f32::NAN.to_ne_bytes()), "\"NaN\"");
        assert_eq!(one(Atomic::Float, &0x7fc0_0001u32.to_ne_bytes()), "\"NaN:0x7fc00001\"");
        assert_eq!(one(Atomic::Double, &f64::NEG_INFINITY.to_ne_bytes()), "\"-Infinity\"");
        assert_eq!(text(b"a\0").to_string(), "\"a\\u0000\"");
        assert_eq!(text(&[0xE9]).to_string(), r#"{"bytes":"e9"}"#);
    }
}
