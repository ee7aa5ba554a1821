//! The metadata of a variable and of a file as JSON without spaces, whose bytes are hashed: lists alone, sorted by name where
//! the order of definition has no meaning.

use blake3::Hash;
use serde_json::{Value as Json, json};

use super::canonical::Canonical;
use ncforge::model::{Atomic, Attribute, DType, DimId, GroupId, Schema, UserKind, Value, Values, VarId};
use ncforge::raw::netcdf4::is_hidden;

/// The first entry of the record of a file.
const VERSION: &str = "ncforge-digest-1";
/// Attributes that tell how a file is stored, as ncdump and ncgen have them.
const STORAGE: [&str; 8] = [
    "_ChunkSizes",
    "_DeflateLevel",
    "_Endianness",
    "_Filter",
    "_Fletcher32",
    "_NoFill",
    "_Shuffle",
    "_Storage",
];
/// Attributes of a file in which programs note what they did to it.
const PROVENANCE: [&str; 4] = ["CDI", "CDO", "NCO", "history"];

/// The digest of a variable with values of this digest.
pub(super) fn variable(schema: &Schema, var: VarId, values: &Hash) -> Hash {
    let v = schema.var(var);
    let dims: Vec<Json> = v.dims.iter().map(|&d| json!([dim_path(schema, d), schema.dim(d).len])).collect();
    hash(&json!([
        schema.type_name(v.dtype),
        structure(schema, v.dtype),
        dims,
        attributes(schema, &v.attrs, false),
        hex(values),
    ]))
}

/// The digest of a file with variables of these digests.
pub(super) fn file(schema: &Schema, digest: impl Fn(VarId) -> Hash) -> Hash {
    let group = |g: GroupId| {
        json!([
            schema.group_path(g),
            sorted(schema.dims_in(g).map(|d| json!([schema.dim(d).name, schema.dim(d).len]))),
            sorted(
                schema
                    .types_in(g)
                    .map(|t| { json!([schema.user_type(t).name, structure(schema, DType::User(t))]) })
            ),
            attributes(schema, &schema.group(g).attrs, g == Schema::ROOT),
            sorted(schema.vars_in(g).map(|v| json!([schema.var(v).name, hex(&digest(v))]))),
        ])
    };
    hash(&json!([VERSION, sorted((0..schema.groups.len()).map(GroupId).map(group))]))
}

fn hash(record: &Json) -> Hash {
    blake3::hash(record.to_string().as_bytes())
}

fn hex(hash: &Hash) -> String {
    hash.to_hex().to_string()
}

/// Entries by their names, which stand in front.
fn sorted(entries: impl Iterator<Item = Json>) -> Vec<Json> {
    let mut entries: Vec<Json> = entries.collect();
    entries.sort_by(|a, b| a[0].as_str().cmp(&b[0].as_str()));
    entries
}

fn dim_path(schema: &Schema, d: DimId) -> String {
    let dim = schema.dim(d);
    format!("{}/{}", schema.group_path(dim.group).trim_end_matches('/'), dim.name)
}

/// The structure of a type, whatever its name, and wherever its fields lie.
fn structure(schema: &Schema, dtype: DType) -> Json {
    let DType::User(t) = dtype else { return json!(schema.type_name(dtype)) };
    match &schema.user_type(t).kind {
        UserKind::Enum { base, members } => {
            let members = members.iter().map(|(name, value)| json!([name, number(*value)]));
            json!(["enum", base.cdl_name(), sorted(members)])
        }
        UserKind::Compound { fields, .. } => {
            let field = |f: &ncforge::model::Field| json!([f.name, structure(schema, f.dtype), f.shape]);
            json!(["compound", fields.iter().map(field).collect::<Vec<_>>()])
        }
        UserKind::Vlen { base } => json!(["vlen", structure(schema, *base)]),
        UserKind::Opaque { size } => json!(["opaque", size]),
    }
}

/// An integer of any of netCDF's types.
fn number(value: i128) -> Json {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(n), _) => json!(n),
        (_, Ok(n)) => json!(n),
        _ => json!(value.to_string()),
    }
}

/// The attributes that count, each with its type and the hash of its values.
fn attributes(schema: &Schema, list: &[Attribute], of_file: bool) -> Vec<Json> {
    let is_left_out =
        |name: &str| is_hidden(name) || STORAGE.contains(&name) || of_file && PROVENANCE.contains(&name);
    sorted(list.iter().filter(|a| !is_left_out(&a.name)).map(|a| {
        let (kind, bytes) = match text(a) {
            Some(text) => (json!("text"), text.to_vec()),
            None => (structure(schema, a.dtype), Canonical::of(schema, a.dtype).values(&a.values)),
        };
        json!([a.name, kind, hex(&blake3::hash(&bytes))])
    }))
}

/// The text of an attribute: `char` and one string say the same, and many programs end it with NUL.
fn text(a: &Attribute) -> Option<&[u8]> {
    let bytes: &[u8] = match (&a.values, a.dtype) {
        (Values::Fixed(bytes), DType::Atomic(Atomic::Char)) => bytes,
        (Values::Heap(list), DType::String) => match &list[..] {
            [Value::String(text)] => text.as_deref().unwrap_or_default(),
            _ => return None,
        },
        _ => return None,
    };
    let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    Some(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Dimension, Format, Variable};

    fn schema() -> Schema {
        let mut s = Schema::new(Format::Cdf1);
        for (name, len) in [("t", 3), ("x", 4)] {
            s.dims.push(Dimension::new(name, len, false));
        }
        s.vars.push(Variable::new("t", Atomic::Double, vec![DimId(0)]));
        s.vars.push(Variable::new("v", Atomic::Float, vec![DimId(0), DimId(1)]));
        s.vars[1].attrs = vec![Attribute::text("units", "K"), Attribute::text("long_name", "v")];
        s.groups[0].attrs = vec![Attribute::text("title", "a")];
        s
    }

    fn of(s: &Schema) -> Hash {
        let values = blake3::hash(b"");
        file(s, |v| variable(s, v, &values))
    }

    #[test]
    fn storage_order_and_provenance_do_not_count() {
        let first = of(&schema());
        let mut s = schema();
        s.format = Format::Netcdf4;
        s.dims[0].unlimited = true;
        s.vars.swap(0, 1);
        s.vars[0].attrs.swap(0, 1);
        s.groups[0].attrs.extend(["history", "NCO", "_NCProperties"].map(|name| Attribute::text(name, "z")));
        s.vars[0].attrs.push(Attribute::text("_Storage", "chunked"));
        assert_eq!(of(&s), first);
        // One string is text, and so is text with a NUL at its end.
        s.vars[0].attrs[1] = Attribute::strings("units", ["K"]);
        assert_eq!(of(&s), first);
        s.vars[0].attrs[1] = Attribute::text("units", "K\0");
        assert_eq!(of(&s), first);
    }

    #[test]
    fn names_types_lengths_and_attributes_count() {
        type Change = fn(&mut Schema);
        let changes: [Change; 11] = [
            |s| s.dims[1].name = "y".into(),
            |s| s.dims[1].len = 5,
            |s| s.vars[0].name = "time".into(),
            |s| s.vars[0].dtype = Atomic::Float.into(),
            |s| s.vars[1].dims.swap(0, 1),
            |s| s.vars[1].attrs[0] = Attribute::text("units", "C"),
            |s| s.vars[1].attrs[0] = Attribute::text("unit", "K"),
            |s| s.vars[1].attrs[0] = Attribute::strings("units", ["K", ""]),
            |s| drop(s.vars[1].attrs.pop()),
            |s| s.vars[1].attrs.push(Attribute::text("history", "of a variable")),
            |s| s.groups[0].attrs[0] = Attribute::text("title", "b"),
        ];
        let mut seen = vec![of(&schema())];
        for change in changes {
            let mut s = schema();
            change(&mut s);
            let digest = of(&s);
            assert!(!seen.contains(&digest));
            seen.push(digest);
        }
    }
}
