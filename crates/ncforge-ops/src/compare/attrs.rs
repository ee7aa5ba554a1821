//! Attributes of a group or a variable, side by side.

use std::collections::HashMap;

use super::difference::{Comparison, Difference, Kind};
use super::values::element::format_element;
use ncforge::model::agreement::{Offsets, same_type};
use ncforge::model::equality::Equality;
use ncforge::model::{Attribute, DType, Schema, Values};
use ncforge::raw::netcdf4::is_hidden;

/// Compares the attributes of two owners; `path` is the owner's (empty for the root group).
pub(super) fn compare_attributes(
    path: &str,
    (sa, a): (&Schema, &[Attribute]),
    (sb, b): (&Schema, &[Attribute]),
    history_may_grow: bool,
    out: &mut Comparison,
) {
    let theirs: HashMap<&str, &Attribute> = b.iter().map(|x| (x.name.as_str(), x)).collect();
    let ours: HashMap<&str, &Attribute> = a.iter().map(|x| (x.name.as_str(), x)).collect();
    let mut free = Vec::new();
    if history_may_grow && history_grew(ours.get("history").copied(), theirs.get("history").copied()) {
        out.notes.push("`history` has grown; the older text is the same".into());
        free.push("history");
    }
    let full = |name: &str| format!("{path}:{name}");
    for x in a {
        match theirs.get(x.name.as_str()) {
            _ if free.contains(&x.name.as_str()) => {}
            None if cannot_have(sb, x) => out.notes.push(only_in("first", &full(&x.name), "second")),
            None => out.differences.push(
                Difference::new(Kind::Missing, full(&x.name), "only in the first file")
                    .sides(show(sa, x), None),
            ),
            Some(y) => compare_one(full(&x.name), (sa, x), (sb, y), out),
        }
    }
    for y in b.iter().filter(|y| !ours.contains_key(y.name.as_str()) && !free.contains(&y.name.as_str())) {
        if cannot_have(sa, y) {
            out.notes.push(only_in("second", &full(&y.name), "first"));
            continue;
        }
        out.differences.push(
            Difference::new(Kind::Missing, full(&y.name), "only in the second file").sides(None, show(sb, y)),
        );
    }
    let shared = |list: &[Attribute], other: &HashMap<&str, &Attribute>| -> Vec<String> {
        list.iter().map(|x| x.name.clone()).filter(|n| other.contains_key(n.as_str())).collect()
    };
    let (x, y) = (shared(a, &theirs), shared(b, &ours));
    if x != y {
        out.differences.push(
            Difference::new(Kind::Order, format!("{path}:"), "attributes in another order")
                .sides(x.join(" "), y.join(" ")),
        );
    }
}

/// Whether a file cannot have an attribute, which a copy of another leaves out for that.
fn cannot_have(s: &Schema, x: &Attribute) -> bool {
    !s.format.is_classic() && is_hidden(&x.name)
}

fn only_in(which: &str, path: &str, other: &str) -> String {
    format!(
        "the attribute `{path}` is only in the {which} file: the {other} is a netCDF-4 file, which has this name for itself"
    )
}

fn compare_one(
    path: String,
    (sa, x): (&Schema, &Attribute),
    (sb, y): (&Schema, &Attribute),
    out: &mut Comparison,
) {
    if !same_type((sa, x.dtype), (sb, y.dtype), Offsets::MayDiffer) {
        out.differences.push(
            Difference::new(Kind::Type, path, "types differ")
                .sides(sa.type_name(x.dtype).to_string(), sb.type_name(y.dtype).to_string()),
        );
    } else if !Equality::new((sa, x.dtype), (sb, y.dtype), None).same_values(&x.values, &y.values) {
        out.differences
            .push(Difference::new(Kind::Attribute, path, "values differ").sides(show(sa, x), show(sb, y)));
    }
}

/// Whether both are text (or absent), they differ, and they differ only in lines that were put in front: behind
/// the lines that this library's copies make, one ends with the other, or both end with the same oldest line.
fn history_grew(a: Option<&Attribute>, b: Option<&Attribute>) -> bool {
    let text = |x: Option<&Attribute>| match x {
        None => Some((String::new(), None)),
        Some(x) => Some((x.as_text()?.to_string(), Some(x.dtype))),
    };
    let (Some((a, ta)), Some((b, tb))) = (text(a), text(b)) else { return false };
    if a == b && ta.is_some() == tb.is_some() || ta.zip(tb).is_some_and(|(x, y)| x != y) {
        return false;
    }
    let (a, b) = (without_copies(&a), without_copies(&b));
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let oldest = |t: &str| t.lines().last().map(str::to_owned);
    match long.strip_suffix(short) {
        Some(head) if head.is_empty() || short.is_empty() || head.ends_with('\n') => true,
        _ => oldest(short) == oldest(long),
    }
}

/// A history without the lines in front that [`crate::copy::history_line`] made.
fn without_copies(mut text: &str) -> &str {
    const PATTERN: &[u8] = b"0000-00-00T00:00:00Z: ";
    loop {
        let line = text.split('\n').next().unwrap_or_default();
        let made = line.len() > PATTERN.len()
            && line.bytes().zip(PATTERN).all(|(c, &p)| if p == b'0' { c.is_ascii_digit() } else { c == p })
            // Other programs write dates in the same way.
            && line[PATTERN.len()..].contains("ncforge");
        if !made {
            return text;
        }
        text = text[line.len()..].strip_prefix('\n').unwrap_or_default();
    }
}

/// An attribute's values as one short line.
fn show(s: &Schema, x: &Attribute) -> String {
    const MOST: usize = 8;
    const LONGEST: usize = 200;
    let mut text = match (x.as_text(), x.dtype) {
        (Some(t), DType::Atomic(_) | DType::String) => format!("{t:?}"),
        _ => match &x.values {
            Values::Heap(list) => {
                let parts: Vec<String> = list.iter().take(MOST).map(|v| format!("{v:?}")).collect();
                joined(&parts, list.len())
            }
            Values::Fixed(bytes) => {
                let n = s.fixed_size(x.dtype).unwrap_or(1).max(1);
                let parts: Vec<String> =
                    bytes.chunks(n).take(MOST).map(|e| format_element(s, x.dtype, e)).collect();
                joined(&parts, bytes.len() / n)
            }
        },
    };
    if text.len() > LONGEST {
        let cut = (0..=LONGEST).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(cut);
        text.push('…');
    }
    text
}

fn joined(parts: &[String], all: usize) -> String {
    let more = if all > parts.len() { format!(", … ({all} values)") } else { String::new() };
    format!("{}{more}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::Format;

    fn run(a: &[Attribute], b: &[Attribute], grow: bool) -> Comparison {
        let s = Schema::new(Format::Netcdf4);
        let mut out = Comparison::default();
        compare_attributes("", (&s, a), (&s, b), grow, &mut out);
        out
    }

    #[test]
    fn history_may_have_grown_unless_strict() {
        let old = Attribute::text("history", "made");
        let new = Attribute::text("history", "today: ncforge copy a b\nmade");
        let title = Attribute::text("title", "t");
        assert!(run(std::slice::from_ref(&old), std::slice::from_ref(&new), true).is_same());
        assert!(!run(std::slice::from_ref(&old), std::slice::from_ref(&new), false).is_same());
        assert!(run(std::slice::from_ref(&title), &[title.clone(), new.clone()], true).is_same());
        let copies = ["2026-01-02T03:04:05Z: ncforge copy a b", "2025-01-02T03:04:05Z: ncforge copy a c"];
        let [x, y] = copies.map(|t| Attribute::text("history", t));
        assert!(run(&[x], &[y], true).is_same());
        let [x, y] = ["one\nmade", "two\nmade"].map(|t| Attribute::text("history", t));
        assert!(run(&[x], &[y], true).is_same());
        let other = Attribute::text("history", "something else");
        assert!(!run(&[old], &[other], true).is_same());
    }

    #[test]
    fn types_values_and_order_are_told_apart() {
        let (x, y) = (Attribute::text("x", "1"), Attribute::text("y", "2"));
        let z = Attribute::strings("x", ["1"]);
        let d = run(&[x.clone(), y.clone()], &[y.clone(), x.clone()], true);
        assert_eq!(d.differences[0].kind, Kind::Order);
        assert_eq!(run(std::slice::from_ref(&x), &[z], true).differences[0].kind, Kind::Type);
        let d = run(&[x], &[Attribute::text("x", "3")], true);
        assert_eq!(d.differences[0].to_string(), ":x: values differ: \"1\" | \"3\"");
    }
}
