//! Two descriptions side by side: groups, dimensions, types, variables, attributes.

use std::collections::{HashMap, HashSet};

use super::attrs::compare_attributes;
use super::difference::{Comparison, Difference, Kind};
use ncforge::model::agreement::{Offsets, same_type};
use ncforge::model::{DType, GroupId, Schema, TypeId, VarId};

/// Compares everything but values and storage.
pub(crate) fn compare_schemas(a: &Schema, b: &Schema, strict: bool) -> Comparison {
    let mut out = Comparison::default();
    let paths = |s: &Schema| (0..s.groups.len()).map(|g| s.group_path(GroupId(g))).collect::<Vec<_>>();
    let (ours, theirs) = (paths(a), paths(b));
    let places: HashMap<&String, usize> = theirs.iter().zip(0..).collect();
    let missing =
        |path: &str, which| Difference::new(Kind::Missing, path, format!("group only in the {which} file"));
    for (g, path) in ours.iter().enumerate() {
        match places.get(path) {
            None => out.differences.push(missing(path, "first")),
            Some(&h) => compare_group(a, GroupId(g), b, GroupId(h), strict, &mut out),
        }
    }
    let ours: HashSet<&String> = ours.iter().collect();
    let others = theirs.iter().filter(|path| !ours.contains(path));
    out.differences.extend(others.map(|path| missing(path, "second")));
    out
}

/// Compares pairs of variables: types, dimensions, attributes.
pub(super) fn compare_variables(a: &Schema, b: &Schema, pairs: &[(VarId, VarId)]) -> Comparison {
    let mut out = Comparison::default();
    for &(v, w) in pairs {
        compare_variable(a, v, b, w, &mut out);
    }
    out
}

fn compare_group(a: &Schema, g: GroupId, b: &Schema, h: GroupId, strict: bool, out: &mut Comparison) {
    let prefix = if g == Schema::ROOT { String::new() } else { a.group_path(g) };
    let join = |name: &str| if prefix.is_empty() { name.to_string() } else { format!("{prefix}/{name}") };

    let types = |s: &Schema, g| s.types_in(g).map(|t| (s.user_type(t).name.clone(), t)).collect::<Vec<_>>();
    for (t, u) in matched("type", &join, &types(a, g), &types(b, h), out) {
        compare_type(&join, a, t, b, u, out);
    }

    let dims = |s: &Schema, g| s.dims_in(g).map(|d| (s.dim(d).name.clone(), d)).collect::<Vec<_>>();
    for (d, e) in matched("dimension", &join, &dims(a, g), &dims(b, h), out) {
        let (d, e) = (a.dim(d), b.dim(e));
        let show =
            |len: u64, unlimited: bool| format!("{len}{}", if unlimited { " (unlimited)" } else { "" });
        if (d.len, d.unlimited) != (e.len, e.unlimited) {
            let what = if d.len == e.len { "unlimited or not" } else { "dimension lengths differ" };
            out.differences.push(
                Difference::new(Kind::Dimension, join(&d.name), what)
                    .sides(show(d.len, d.unlimited), show(e.len, e.unlimited)),
            );
        }
    }

    compare_attributes(
        &prefix,
        (a, &a.group(g).attrs),
        (b, &b.group(h).attrs),
        !strict && g == Schema::ROOT,
        out,
    );

    let vars = |s: &Schema, g| s.vars_in(g).map(|v| (s.var(v).name.clone(), v)).collect::<Vec<_>>();
    for (v, w) in matched("variable", &join, &vars(a, g), &vars(b, h), out) {
        compare_variable(a, v, b, w, out);
    }

    let groups = |s: &Schema, g| s.children(g).map(|c| (s.group(c).name.clone(), c)).collect::<Vec<_>>();
    order("groups", &join, &groups(a, g), &groups(b, h), out);
}

/// Pairs objects of one kind by name, and reports those without a partner and another order.
fn matched<Id: Copy>(
    kind: &str,
    join: &dyn Fn(&str) -> String,
    a: &[(String, Id)],
    b: &[(String, Id)],
    out: &mut Comparison,
) -> Vec<(Id, Id)> {
    let by_name = |list: &[(String, Id)]| list.iter().cloned().collect::<HashMap<String, Id>>();
    let (ours, theirs) = (by_name(a), by_name(b));
    let mut missing = |name: &str, which: &str| {
        let what = format!("{kind} only in the {which} file");
        out.differences.push(Difference::new(Kind::Missing, join(name), what));
    };
    let mut pairs = Vec::new();
    for (name, id) in a {
        match theirs.get(name) {
            Some(other) => pairs.push((*id, *other)),
            None => missing(name, "first"),
        }
    }
    b.iter().filter(|(name, _)| !ours.contains_key(name)).for_each(|(name, _)| missing(name, "second"));
    // Types have no order that a reader could see.
    if kind != "type" {
        order(&format!("{kind}s"), join, a, b, out);
    }
    pairs
}

fn order<Id>(
    kinds: &str,
    join: &dyn Fn(&str) -> String,
    a: &[(String, Id)],
    b: &[(String, Id)],
    out: &mut Comparison,
) {
    let shared = |list: &[(String, Id)], other: &[(String, Id)]| -> Vec<String> {
        let other: HashSet<&String> = other.iter().map(|(name, _)| name).collect();
        list.iter().map(|(name, _)| name).filter(|n| other.contains(n)).cloned().collect()
    };
    let (x, y) = (shared(a, b), shared(b, a));
    if let Some(i) = x.iter().zip(&y).position(|(p, q)| p != q) {
        out.differences.push(
            Difference::new(Kind::Order, join(&x[i]), format!("{kinds} in another order"))
                .sides(x[i].clone(), y[i].clone()),
        );
    }
}

fn compare_type(
    join: &dyn Fn(&str) -> String,
    a: &Schema,
    t: TypeId,
    b: &Schema,
    u: TypeId,
    out: &mut Comparison,
) {
    if !same_type((a, DType::User(t)), (b, DType::User(u)), Offsets::MayDiffer) {
        let (t, u) = (a.user_type(t), b.user_type(u));
        out.differences.push(
            Difference::new(Kind::Type, join(&t.name), "user-defined types differ")
                .sides(format!("{:?}", t.kind), format!("{:?}", u.kind)),
        );
    }
}

fn compare_variable(a: &Schema, v: VarId, b: &Schema, w: VarId, out: &mut Comparison) {
    let path = a.var_path(v);
    let (x, y) = (a.var(v), b.var(w));
    if !same_type((a, x.dtype), (b, y.dtype), Offsets::MayDiffer) {
        out.differences.push(
            Difference::new(Kind::Type, path.clone(), "types differ")
                .sides(a.type_name(x.dtype).to_string(), b.type_name(y.dtype).to_string()),
        );
    }
    let dims = |s: &Schema, v: VarId| {
        let names: Vec<String> = s
            .var(v)
            .dims
            .iter()
            .map(|&d| {
                let dim = s.dim(d);
                // Another group may have a dimension of this name.
                match s.group_path(dim.group).as_str() {
                    "/" => dim.name.clone(),
                    group => format!("{group}/{}", dim.name),
                }
            })
            .collect();
        format!("({})", names.join(", "))
    };
    let (p, q) = (dims(a, v), dims(b, w));
    if p != q {
        out.differences.push(Difference::new(Kind::Dimension, path.clone(), "dimensions differ").sides(p, q));
    }
    compare_attributes(&path, (a, &x.attrs), (b, &y.attrs), false, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Variable};

    fn schema() -> Schema {
        let mut s = Schema::new(Format::Cdf1);
        for (name, len, unlimited) in [("t", 3, true), ("x", 4, false)] {
            s.dims.push(Dimension::new(name, len, unlimited));
        }
        s.vars.push(Variable::new("t", Atomic::Double, vec![DimId(0)]));
        s.vars.push(Variable::new("v", Atomic::Float, vec![DimId(0), DimId(1)]));
        s.vars[1].attrs.push(Attribute::text("units", "K"));
        s
    }

    fn kinds(a: &Schema, b: &Schema) -> Vec<Kind> {
        compare_schemas(a, b, false).differences.iter().map(|d| d.kind).collect()
    }

    #[test]
    fn storage_and_format_are_not_compared() {
        let mut b = schema();
        b.format = Format::Netcdf4;
        b.provenance = Some("version=2".into());
        b.vars[0].storage = ncforge::model::Storage::Chunked { chunks: vec![512], filters: vec![] };
        assert!(compare_schemas(&schema(), &b, true).is_same());
    }

    #[test]
    fn each_kind_is_seen() {
        let a = schema();
        let mut b = schema();
        b.dims[1].len = 5;
        assert_eq!(kinds(&a, &b), [Kind::Dimension]);
        let mut b = schema();
        b.dims[0].unlimited = false;
        assert_eq!(kinds(&a, &b), [Kind::Dimension]);
        let mut b = schema();
        b.vars[1].dtype = Atomic::Double.into();
        assert_eq!(kinds(&a, &b), [Kind::Type]);
        let mut b = schema();
        b.vars[1].dims.swap(0, 1);
        assert_eq!(kinds(&a, &b), [Kind::Dimension]);
        let mut b = schema();
        b.vars.swap(0, 1);
        assert_eq!(kinds(&a, &b), [Kind::Order]);
        let mut b = schema();
        b.vars[0].name = "time".into();
        assert_eq!(kinds(&a, &b), [Kind::Missing, Kind::Missing]);
        let mut b = schema();
        b.vars[1].attrs[0] = Attribute::text("units", "C");
        assert_eq!(kinds(&a, &b), [Kind::Attribute]);
    }
}
