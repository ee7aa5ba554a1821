//! Attributes in several tiles: some must agree, some span, the rest is the first tile's.

use super::clock::{Change, Clock, said};
use crate::calendar::Rebase;
use crate::unlike::Unlike;
use ncforge::model::agreement::{Class, Origin, Policy, Verdict, differences};
use ncforge::model::{Atomic, Attribute, BOUNDS, DType, Number, Schema, Values, VarId};

/// What differences of tiles are. Whether the files of a series were published is known to its scheme.
const POLICY: Policy =
    Policy { meaning: Verdict::Refuse, span: Verdict::Join, origin: Origin::Run, other: Verdict::Note };

/// Attributes of a tile's variables that differ from the first tile's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflicts {
    /// The first attribute in which the meaning differs.
    pub(crate) meaning: Option<Unlike>,
    /// `valid_min`, `valid_max`, `valid_range` or `actual_range`, in the units of the first tile's variable, whose own is to be widened.
    pub(crate) ranges: Vec<(VarId, Attribute)>,
    /// Times that count from another date, and how they become the first tile's.
    pub(crate) times: Vec<(VarId, Rebase, Unlike)>,
    /// Bounds that only this tile names, by their path.
    pub(crate) bounds: Vec<(VarId, String)>,
    /// The other attributes.
    pub(crate) others: Vec<Unlike>,
}

impl Conflicts {
    /// The attribute by which the tiles do not go together, if times `may_change`.
    pub(crate) fn refused(&self, may_change: bool) -> Option<&Unlike> {
        let times = || self.times.first().filter(|_| !may_change).map(|(.., unlike)| unlike);
        self.meaning.as_ref().or_else(times)
    }
}

/// Compares the attributes of the `chosen` variables of the first that both have. `same`: variables have the same numbers.
pub(crate) fn compare_attributes(
    first: &Schema,
    tile: &Schema,
    same: bool,
    chosen: impl Fn(VarId) -> bool,
) -> Conflicts {
    let mut found = Conflicts::default();
    for v in first.var_ids().filter(|v| chosen(*v)) {
        let other = if same { Some(v) } else { tile.find_var(&first.var_path(v)) };
        if let Some(other) = other {
            compare_one((first, v), (tile, other), &mut found);
        }
    }
    found
}

/// Compares the attributes of one variable.
pub(super) fn compare_one(
    (first, v): (&Schema, VarId),
    (tile, other): (&Schema, VarId),
    found: &mut Conflicts,
) {
    let is_range = |a: &Attribute| Class::of_variable(&a.name) == Class::Span;
    let ranges: Vec<&Attribute> = tile.var(other).attrs.iter().filter(|a| is_range(a)).collect();
    let mut differing = differences((first, v), (tile, other));
    // Where calendars differ, other units are not what is in the way.
    differing.sort_by_key(|d| d.name != "calendar");
    if differing.iter().any(|d| BOUNDS.contains(&d.name)) {
        found.bounds.extend(tile.bounds_of(other).map(|b| (v, tile.var_path(b))));
    }
    let counts_as_another = || !ranges.is_empty() && said(tile, other, "units").is_none();
    let may_change = differing.iter().any(|d| d.class == Class::Units) || counts_as_another();
    let clocks = may_change.then(|| clocks((first, v), (tile, other)));
    let change = clocks.as_ref().map_or(Change::None, |(wanted, own)| own.to(wanted));
    let mut joined: Vec<(&str, Option<&Attribute>)> = Vec::new();
    for d in differing {
        let is_one = |name: &str| clocks.as_ref().is_some_and(|(a, b)| a.agrees(b, name));
        let verdict = match POLICY.verdict(d.class) {
            Verdict::Refuse if d.class == Class::Units && is_one(d.name) => Verdict::Note,
            verdict => verdict,
        };
        match verdict {
            Verdict::Ignore => {}
            Verdict::Refuse => {
                let unlike = Unlike::of_var((first, v), d.name, (tile, d.other));
                match &change {
                    Change::By(change) if d.name == "units" => found.times.push((v, *change, unlike)),
                    Change::Unsure(calendar) if d.name == "units" => {
                        _ = found.meaning.get_or_insert(unlike.because(format!(
                            "it names no calendar, and other days lie between them in that of other variables, {calendar}"
                        )));
                    }
                    _ => _ = found.meaning.get_or_insert(unlike),
                }
            }
            Verdict::Join => joined.push((d.name, d.other)),
            Verdict::Note => found.others.push(Unlike::of_var((first, v), d.name, (tile, d.other))),
        }
    }
    let change = change.known();
    // The same numbers in other units are another range.
    for same in ranges.into_iter().filter(|_| change.is_some()) {
        if joined.iter().all(|(name, _)| *name != same.name) {
            joined.push((&same.name, Some(same)));
        }
    }
    for (name, own) in joined {
        let own = own.map(|own| change.map_or_else(|| own.clone(), |change| converted(own, change)));
        let is_held = |own: &Attribute| first.var(v).attr(name).is_some_and(|a| widened(a, own).is_some());
        match own {
            Some(own) if is_held(&own) => found.ranges.push((v, own)),
            own => found.others.push(Unlike::of_var((first, v), name, (tile, own.as_ref()))),
        }
    }
}

/// How a variable of the first file counts, and that of another one: bounds as the variable that either file says they are bounds of.
fn clocks((first, v): (&Schema, VarId), (tile, other): (&Schema, VarId)) -> (Clock, Clock) {
    let (here, there) = (first.parent_of(v), tile.parent_of(other));
    let same = |(a, parent): (&Schema, Option<VarId>), b: &Schema| b.find_var(&a.var_path(parent?));
    let here_too = here.or_else(|| same((tile, there), first));
    let there_too = there.or_else(|| same((first, here), tile));
    (Clock::of(first, v, here_too), Clock::of(tile, other, there_too))
}

/// A range in other units: in its own type where that holds it, and never less than it.
fn converted(range: &Attribute, change: Rebase) -> Attribute {
    let DType::Atomic(kind) = range.dtype else { return range.clone() };
    let is_other = kind != Atomic::Char && !change.is_identity();
    let Some(bytes) = range.values.bytes().filter(|_| is_other) else { return range.clone() };
    let double = |one: &[u8]| {
        let x = Number::read_f64(kind, one);
        let exact = change.element(Atomic::Double, &x.to_ne_bytes());
        exact.map_or_else(|| change.about(x), |y| Number::read_f64(Atomic::Double, &y))
    };
    let elements = || bytes.chunks_exact(kind.size()).enumerate();
    let own = elements().map(|(i, one)| match kind {
        Atomic::Float => outward(kind, double(one), is_low(&range.name, i)),
        Atomic::Double => Some(double(one).to_ne_bytes().to_vec()),
        _ => change.element(kind, one),
    });
    let (kind, values) = match own.collect::<Option<Vec<_>>>() {
        Some(own) => (kind, own),
        None => (Atomic::Double, elements().map(|(_, one)| double(one).to_ne_bytes().to_vec()).collect()),
    };
    Attribute { dtype: kind.into(), values: Values::fixed(&values.concat()), ..range.clone() }
}

/// Whether the `i`-th number of a range is its lower end.
fn is_low(name: &str, i: usize) -> bool {
    name == "valid_min" || (name.ends_with("range") && i == 0)
}

/// Widens the range that an attribute tells by another tile's.
pub(crate) fn widen(own: &mut Attribute, other: &Attribute) {
    if let Some(values) = widened(own, other) {
        own.values = values;
    }
}

/// The range that holds both, in the type of the first; `None` where that cannot hold the other's numbers. A NaN is no end of a range.
fn widened(own: &Attribute, other: &Attribute) -> Option<Values> {
    let (DType::Atomic(kind), DType::Atomic(theirs)) = (own.dtype, other.dtype) else { return None };
    let (a, b) = (own.values.bytes()?, other.values.bytes()?);
    let (a, b) = (a.chunks_exact(kind.size()), b.chunks_exact(theirs.size()));
    if kind == Atomic::Char || theirs == Atomic::Char || a.len() != b.len() {
        return None;
    }
    let pick = |i: usize, x: &[u8], y: &[u8]| -> Option<Vec<u8>> {
        let low = is_low(&own.name, i);
        let (p, q) = (Number::read_f64(kind, x), Number::read_f64(theirs, y));
        let other_wins = (p.is_nan() && !q.is_nan()) || if low { q < p } else { q > p };
        match other_wins {
            false => Some(x.to_vec()),
            true => Number::read(theirs, y)?.exactly(kind).or_else(|| outward(kind, q, low)),
        }
    };
    let joined: Option<Vec<Vec<u8>>> = a.zip(b).enumerate().map(|(i, (x, y))| pick(i, x, y)).collect();
    joined.map(|joined| Values::fixed(&joined.concat()))
}

/// The next float that a range must begin or end with to hold a double; `None` for integers, which are other numbers.
fn outward(kind: Atomic, x: f64, low: bool) -> Option<Vec<u8>> {
    let near = x as f32;
    let beyond = if low { f64::from(near) > x } else { f64::from(near) < x };
    let moved = if low { near.next_down() } else { near.next_up() };
    (kind == Atomic::Float).then(|| if beyond { moved } else { near }.to_ne_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(name: &str, values: &[f32]) -> Attribute {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
        Attribute { name: name.into(), dtype: Atomic::Float.into(), values: Values::fixed(&bytes) }
    }

    #[test]
    fn ranges_are_widened() {
        let widened = |name: &str, a: &[f32], b: &[f32]| {
            let mut own = attr(name, a);
            widen(&mut own, &attr(name, b));
            own
        };
        assert_eq!(widened("valid_min", &[1.0], &[-2.0]), attr("valid_min", &[-2.0]));
        assert_eq!(widened("valid_max", &[1.0], &[-2.0]), attr("valid_max", &[1.0]));
        assert_eq!(widened("actual_range", &[1.0, 3.0], &[0.0, 2.0]), attr("actual_range", &[0.0, 3.0]));
        assert_eq!(
            widened("actual_range", &[f32::NAN, 3.0], &[0.0, f32::NAN]),
            attr("actual_range", &[0.0, 3.0])
        );
    }

    #[test]
    fn ranges_in_other_units_hold_as_much() {
        let change =
            Rebase::between(("hours since 2000-01-02", None), ("days since 2000-01-01", None)).unwrap();
        let range = converted(&attr("valid_range", &[1.0, 25.0]), change);
        let ends: Vec<f64> =
            range.values.bytes().unwrap().chunks(4).map(|x| Number::read_f64(Atomic::Float, x)).collect();
        assert!(
            ends[0] <= 25.0 / 24.0 && ends[1] >= 49.0 / 24.0 && ends[1] - ends[0] < 1.000_001,
            "{ends:?}"
        );
        let hours = |n: i32| Attribute {
            dtype: Atomic::Int.into(),
            values: Values::fixed(&n.to_ne_bytes()),
            ..attr("valid_max", &[])
        };
        let days = |n: f64| Attribute {
            dtype: Atomic::Double.into(),
            values: Values::fixed(&n.to_ne_bytes()),
            ..hours(0)
        };
        assert_eq!(converted(&hours(48), change), hours(3));
        assert_eq!(converted(&hours(12), change), days(1.5));
        // No end of any time: so far out, only about.
        let far = converted(&Attribute { name: "valid_max".into(), ..days(1e30) }, change);
        assert!(
            (Number::read_f64(Atomic::Double, far.values.bytes().unwrap()) * 24.0 / 1e30 - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn ranges_of_other_types_are_held() {
        let doubles = |values: [f64; 2]| Attribute {
            dtype: Atomic::Double.into(),
            values: Values::fixed(&values.map(f64::to_ne_bytes).concat()),
            ..attr("valid_range", &[])
        };
        let mut own = attr("valid_range", &[0.5, 1.0]);
        widen(&mut own, &doubles([0.1, 3.3]));
        let held: Vec<f64> =
            own.values.bytes().unwrap().chunks(4).map(|x| Number::read_f64(Atomic::Float, x)).collect();
        assert!(held[0] <= 0.1 && held[1] >= 3.3 && held[1] < 3.300_001, "{held:?}");
        let bytes = Attribute {
            dtype: Atomic::Byte.into(),
            values: Values::fixed(&[0, 1]),
            ..attr("valid_range", &[])
        };
        assert!(widened(&bytes, &doubles([0.0, 300.0])).is_none());
        assert_eq!(widened(&bytes, &doubles([0.0, 100.0])), Some(Values::fixed(&[0, 100])));
    }
}
