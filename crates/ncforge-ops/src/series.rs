//! Files of a series, one behind the other along a dimension: which dimension that is, and their order.
//!
//! The coordinate of the dimension decides. Each file is known by the ends of its part: the parts follow each other, in one
//! direction, and do not overlap.

use std::cmp::Ordering;

use ncforge::model::{Atomic, DType, Schema, VarId};
use ncforge::{Dataset, Error, Result};

/// The difference between spacings, as a part of the spacing, that still counts as even: coordinates are often floats.
const EVEN: f64 = 1e-3;
/// The same for spacings by the calendar: months have 28 to 31 days, and their middles lie 29.5 to 31 days apart.
const BY_CALENDAR: f64 = 0.2;
/// A jump of so many usual steps leaves one out.
const GAP: f64 = 1.5;
/// Gaps that a note names.
const MOST_GAPS: usize = 3;

/// The part of a coordinate that one file has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ends {
    /// Its first value.
    pub(crate) first: f64,
    /// Its last value.
    pub(crate) last: f64,
    /// The smallest and the largest step between neighbours, where those are known and there are several values. They are negative where the
    /// coordinate falls.
    pub(crate) steps: Option<(f64, f64)>,
}

/// The name of the dimension along which `count` files follow each other: the given one, else the unlimited one of the first file, else
/// the first whose length differs. `name` is that of the first file, for messages; `open` opens one of them.
pub(crate) fn dimension(
    schema: &Schema,
    name: &str,
    given: Option<&str>,
    count: usize,
    open: impl Fn(usize) -> Result<Dataset>,
) -> Result<String> {
    if let Some(dim) = given {
        return match schema.dims.iter().any(|d| d.name == dim) {
            true => Ok(dim.to_owned()),
            false => Err(schema.no_dimension("dimension", dim, name)),
        };
    }
    if let Some(dim) = schema.dims.iter().find(|d| d.unlimited) {
        return Ok(dim.name.clone());
    }
    for i in 1..count {
        if let Some(dim) = differing(schema, open(i)?.schema()) {
            return Ok(dim);
        }
    }
    Err(Error::bad_option(
        "along",
        "no dimension is unlimited, and none differs in length: name the one along which the files are joined",
    ))
}

fn differing(a: &Schema, b: &Schema) -> Option<String> {
    let other = |name: &str| b.dims.iter().find(|d| d.name == name);
    a.dims.iter().find(|d| other(&d.name).is_some_and(|o| o.len != d.len)).map(|d| d.name.clone())
}

/// Whether a variable is a coordinate of the dimension: numbers along it alone, and of its name.
pub(crate) fn is_coordinate(schema: &Schema, v: VarId, along: &str) -> bool {
    let var = schema.var(v);
    var.name == along
        && schema.coordinate_dim(v).is_some()
        && matches!(var.dtype, DType::Atomic(a) if a != Atomic::Char)
}

/// Whether a variable may hold the dates of the dimension as text, as WRF's `Times` do.
pub(crate) fn may_be_stamps(schema: &Schema, v: VarId, along: &str) -> bool {
    let var = schema.var(v);
    var.dtype == DType::Atomic(Atomic::Char)
        && matches!(var.dims[..], [d, text] if schema.dim(d).name == along && schema.dim(text).name != along)
}

/// Whether a variable has the dimension.
pub(crate) fn lies_along(schema: &Schema, v: VarId, along: &str) -> bool {
    schema.var(v).dims.iter().any(|d| schema.dim(*d).name == along)
}

/// Whether values rise; `None` if they are the same, or no numbers.
fn rise(from: f64, to: f64) -> Option<bool> {
    from.partial_cmp(&to).filter(|o| o.is_ne()).map(Ordering::is_lt)
}

/// Whether the coordinate rises within the first file that tells.
fn rises_within(known: &[Ends]) -> Option<bool> {
    known.iter().find_map(|ends| rise(ends.first, ends.last))
}

/// Whether one part goes on where another ends. Values that are no numbers say nothing.
fn goes_on(rises: bool, before: Ends, after: Ends) -> bool {
    let (end, begin) = (before.last, after.first);
    end.is_nan() || begin.is_nan() || if rises { end < begin } else { end > begin }
}

/// [`Error::Order`], unless the coordinate goes on from file to file in one direction. `ends` are those of the files that have
/// values of it, and `shown` a value in words.
pub(crate) fn check_order(
    coordinate: &str,
    ends: &[(&str, Ends)],
    shown: impl Fn(f64) -> String,
) -> Result<()> {
    let known: Vec<Ends> = ends.iter().map(|e| e.1).collect();
    // Files of one step each that are joined as they are given have a direction only among each other.
    let between = || known.windows(2).find_map(|w| rise(w[0].last, w[1].first));
    let rises = rises_within(&known).or_else(between).unwrap_or(true);
    let wrong = ends.windows(2).find(|pair| !goes_on(rises, pair[0].1, pair[1].1));
    let Some(&[(before, Ends { last: end, .. }), (after, Ends { first: begin, .. })]) =
        wrong.and_then(|pair| pair.first_chunk::<2>())
    else {
        return Ok(());
    };
    Err(Error::Order {
        before: before.to_owned(),
        after: after.to_owned(),
        ends: format!("`{coordinate}` ends at {}, here it begins at {}", shown(end), shown(begin)),
    })
}

/// The order in which the coordinate goes on; `None`: as they are. Files without values of it come last, where there is another order.
/// Without a direction within a file, it rises, in whatever order single steps are given.
pub(crate) fn order(ends: &[Option<Ends>]) -> Option<Vec<usize>> {
    let known: Vec<Ends> = ends.iter().flatten().copied().collect();
    let rises = rises_within(&known).unwrap_or(true);
    if known.windows(2).all(|pair| goes_on(rises, pair[0], pair[1])) {
        return None;
    }
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|&a, &b| match (ends[a], ends[b]) {
        (Some(a), Some(b)) if !rises => b.first.total_cmp(&a.first),
        (Some(a), Some(b)) => a.first.total_cmp(&b.first),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    (!order.is_sorted()).then_some(order)
}

/// A note on the files in which the coordinate turns back, or has a value twice.
pub(crate) fn turns(coordinate: &str, ends: &[(&str, Ends)]) -> Option<String> {
    let turns = |e: &&(&str, Ends)| e.1.steps.is_some_and(|(least, most)| least <= 0.0 && most >= 0.0);
    let (file, _) = ends.iter().find(turns)?;
    let more = match ends.iter().filter(turns).count() - 1 {
        0 => String::new(),
        n => format!(", nor in {n} other files"),
    };
    Some(format!("`{coordinate}` neither rises nor falls throughout in `{file}`{more}"))
}

/// The steps between values, as far as they are regular.
struct Steps {
    least: f64,
    most: f64,
    usual: f64,
    /// How many agree.
    count: usize,
}

impl Steps {
    /// Of files, and the jumps between them that are no larger than a step by the calendar may be.
    fn of(ends: &[(&str, Ends)], jumps: &[f64]) -> Option<Steps> {
        let within: Vec<f64> =
            ends.iter().filter_map(|e| e.1.steps).flat_map(|(a, b)| [a.abs(), b.abs()]).collect();
        let least = within.iter().chain(jumps).copied().fold(f64::INFINITY, f64::min);
        let is_regular = |step: &f64| *step <= least * (1.0 + BY_CALENDAR);
        if !(least > 0.0 && least.is_finite() && within.iter().all(is_regular)) {
            return None;
        }
        let between = jumps.iter().copied().filter(|j| is_regular(j));
        let count = within.len() / 2 + between.clone().count();
        let mut all: Vec<f64> = within.iter().copied().chain(between).collect();
        all.sort_by(f64::total_cmp);
        Some(Steps { least, most: all[all.len() - 1], usual: all[all.len() / 2], count })
    }

    fn is_even(&self) -> bool {
        self.most - self.least <= EVEN * self.least
    }

    /// The steps that a jump leaves out; `None` where it is none of this kind.
    fn left_out(&self, jump: f64) -> Option<f64> {
        let n = (jump / self.usual).round();
        let is_multiple = (jump - n * self.usual).abs() <= EVEN * self.usual;
        match jump <= self.most {
            true => Some(0.0),
            false => (jump >= GAP * self.usual && (is_multiple || !self.is_even())).then_some(n - 1.0),
        }
    }
}

/// A note on the gaps between files of a coordinate that is evenly spaced otherwise, or by the calendar; `ends` are in order, and `shown` tells
/// a value in words.
pub(crate) fn gaps(coordinate: &str, ends: &[(&str, Ends)], shown: impl Fn(f64) -> String) -> Option<String> {
    let jumps: Vec<f64> = ends.windows(2).map(|pair| (pair[1].1.first - pair[0].1.last).abs()).collect();
    let steps = Steps::of(ends, &jumps)?;
    let left_out: Vec<f64> = jumps.iter().map(|&jump| steps.left_out(jump)).collect::<Option<_>>()?;
    let found: Vec<usize> = (0..jumps.len()).filter(|&i| left_out[i] > 0.0).collect();
    // Most of what is known must agree on the step.
    if found.is_empty() || steps.count <= found.len() {
        return None;
    }
    let words = |&i: &usize| {
        let missing = left_out[i];
        format!(
            "{missing} {} between `{}` ({}) and `{}` ({})",
            if missing == 1.0 { "step" } else { "steps" },
            ends[i].0,
            shown(ends[i].1.last),
            ends[i + 1].0,
            shown(ends[i + 1].1.first)
        )
    };
    let named: Vec<String> = found.iter().take(MOST_GAPS).map(words).collect();
    let more = match found.len().saturating_sub(MOST_GAPS) {
        0 => String::new(),
        n => format!(", and in {n} other places"),
    };
    let step = match steps.is_even() {
        true => format!("a step of {}", steps.least),
        false => format!("steps of {} to {}", steps.least, steps.most),
    };
    Some(format!("`{coordinate}`, which has {step}, lacks {}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(parts: &[(f64, f64)]) -> Vec<Ends> {
        let steps = |a: f64, b: f64| (b > a).then_some((1.0, 1.0));
        parts.iter().map(|&(first, last)| Ends { first, last, steps: steps(first, last) }).collect()
    }

    fn named(ends: &[Ends]) -> Vec<(&'static str, Ends)> {
        ["a", "b", "c", "d", "e"].into_iter().zip(ends.iter().copied()).collect()
    }

    #[test]
    fn parts_are_put_in_order() {
        for (parts, expected) in [
            (&[(0.0, 3.0), (4.0, 5.0), (6.0, 6.0)][..], None),
            (&[(4.0, 5.0), (0.0, 3.0), (6.0, 6.0)], Some(vec![1, 0, 2])),
            (&[(6.0, 5.0), (9.0, 7.0)], Some(vec![1, 0])),
            (&[(3.0, 3.0), (2.0, 2.0), (1.0, 1.0)], Some(vec![2, 1, 0])),
            (&[(3.0, 3.0), (1.0, 1.0), (2.0, 2.0)], Some(vec![1, 2, 0])),
            (&[(0.0, 3.0), (3.0, 4.0)], None),
            (&[], None),
        ] {
            let all: Vec<Option<Ends>> = ends(parts).into_iter().map(Some).collect();
            assert_eq!(order(&all), expected, "{parts:?}");
        }
        let second = ends(&[(5.0, 6.0), (1.0, 2.0)]);
        assert_eq!(order(&[None, Some(second[0]), Some(second[1]), None]), Some(vec![2, 1, 0, 3]));
        assert_eq!(order(&[None, Some(second[1]), None, Some(second[0])]), None);
    }

    #[test]
    fn overlaps_name_both_files() {
        let all = ends(&[(0.0, 3.0), (3.0, 5.0)]);
        let said = check_order("time", &named(&all), |x| x.to_string()).unwrap_err().to_string();
        assert!(
            said.contains("`b` cannot follow `a`: there `time` ends at 3, here it begins at 3"),
            "{said}"
        );
        let unknown = named(&ends(&[(0.0, f64::NAN), (1.0, 2.0)]));
        assert!(check_order("time", &unknown, |x| x.to_string()).is_ok());
    }

    #[test]
    fn gaps_are_those_of_even_spacing() {
        let note = |parts: &[(f64, f64)]| gaps("time", &named(&ends(parts)), |x| x.to_string());
        let said = note(&[(0.0, 9.0), (10.0, 19.0), (23.0, 29.0)]).unwrap();
        assert_eq!(said, "`time`, which has a step of 1, lacks 3 steps between `b` (19) and `c` (23)");
        assert!(note(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (4.0, 4.0)]).is_some());
        let months = |days: &[f64]| note(&days.iter().map(|&d| (d, d)).collect::<Vec<_>>());
        let said = months(&[0.0, 31.0, 59.0, 90.0, 151.0, 181.0]).unwrap();
        assert_eq!(said, "`time`, which has steps of 28 to 31, lacks 1 step between `d` (90) and `e` (151)");
        for even in [&[(0.0, 3.0), (4.0, 5.0)][..], &[(0.0, 0.0), (31.0, 31.0), (59.0, 59.0)], &[(0.0, 0.0)]]
        {
            assert_eq!(note(even), None, "{even:?}");
        }
        // Times without a rule.
        assert_eq!(months(&[0.0, 1.0, 7.0, 8.5, 20.0]), None);
    }

    #[test]
    fn a_coordinate_that_turns_is_named() {
        let turning = Ends { first: 0.0, last: 9.0, steps: Some((-3.0, 5.0)) };
        let all = [("a", ends(&[(0.0, 3.0)])[0]), ("b", turning)];
        assert_eq!(turns("time", &all).unwrap(), "`time` neither rises nor falls throughout in `b`");
        assert_eq!(turns("time", &all[..1]), None);
    }
}
