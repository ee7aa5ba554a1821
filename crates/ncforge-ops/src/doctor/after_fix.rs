//! The file after its fix: one command for all that is wrong with a variable, the cost of that, and whether any of
//! it is worth a warning.
//!
//! A variable's chunks and its filters are fixed together: chunks that are good without compression may be bad with it.

use std::sync::Arc;

use super::facts::VarFacts;
use super::finding::Finding;
use super::fix::Fix;
use super::rule::Severity;
use super::{DoctorOptions, Examined, shapes};
use crate::copy::Switches;
use ncforge::model::{Filter, shape};
use ncforge_tune::{Coding, Cost, Grid, Pattern, Slower};

/// Seconds below which no read is worth a warning.
const MOMENT: f64 = 20e-3;
/// The factor by which other filters may make a read slower before chunks change.
const TOLERATED_SLOWDOWN: f64 = 1.25;
/// A read that takes this many times as long is reported.
const REPORTED_SLOWDOWN: f64 = 1.05;

/// Gives the findings of a variable one fix, says what it makes slower, and makes remarks of warnings about what takes a moment.
pub(super) fn weigh(x: &Examined<'_>, options: &DoctorOptions, findings: &mut [Finding]) {
    let facts = x.facts;
    let slowest: Vec<f64> = facts.vars.iter().map(|v| slowest(v, options)).collect();
    let of_all = slowest.iter().copied().fold(0.0, f64::max);
    let place = |path: &str| facts.vars.iter().position(|v| v.path == path);
    let mut seen: Vec<usize> = Vec::new();
    for i in 0..findings.len() {
        let at = findings[i].var.as_deref().and_then(place);
        let f = &mut findings[i];
        // Places of metadata cost a request each, and no read of values.
        let seconds = match f.rule.code {
            "NC402" => f.weight * options.machine.request,
            _ => at.map_or(of_all, |v| slowest[v]),
        };
        f.cost = seconds;
        if f.severity == Severity::Warning && seconds < MOMENT {
            f.severity = Severity::Info;
        }
        if let Some(v) = at.filter(|v| f.fix.as_ref().is_some_and(Fix::stores_anew) && !seen.contains(v)) {
            seen.push(v);
            one_fix(x, &facts.vars[v], options, findings);
        }
    }
}

/// One fix for all findings about a variable, of which nothing is to be said afterwards.
fn one_fix(x: &Examined<'_>, v: &VarFacts, options: &DoctorOptions, findings: &mut [Finding]) {
    let mut fix = Fix::default();
    let is_one =
        |f: &Finding| f.var.as_deref() == Some(&v.path) && f.fix.as_ref().is_some_and(Fix::stores_anew);
    findings.iter().filter(|f| is_one(f)).filter_map(|f| f.fix.as_ref()).for_each(|m| fix.and(m));
    // New chunks may hold nothing else.
    if v.sample.as_ref().is_some_and(|s| s.holds_fill) {
        fix.and(&Fix::switched(Switches { skip_fill: true, ..Switches::default() }));
    }
    let filters = if fix.encodes(&v.path) { &v.target } else { &v.filters };
    let kept = v.chunk.as_ref().filter(|_| !fix.cuts());
    let chosen = v.choice.as_ref().map(|c| &c.chunks);
    let mut slower = kept.or(chosen).map_or_else(Vec::new, |c| slowed(v, c, filters, options));
    if let (Some(_), Some(chosen)) = (kept, chosen) {
        let others = slowed(v, chosen, filters, options);
        let is_slower = worst(&slower) > TOLERATED_SLOWDOWN && worst(&others) < worst(&slower);
        if is_slower || is_cut_badly(x, &encoded(v, filters, options), options) {
            fix.and(&Fix::chunks(&v.path, chosen));
            slower = others;
        }
    }
    for f in findings.iter_mut().filter(|f| is_one(f)) {
        f.fix = Some(fix.clone());
        f.slower.clone_from(&slower);
    }
}

/// A variable in the same chunks, once it is encoded with these filters.
fn encoded(v: &VarFacts, filters: &[Filter], options: &DoctorOptions) -> VarFacts {
    let mut after = VarFacts { filters: filters.to_vec(), index: None, ..v.clone() };
    if let (Some(choice), Some(chunk)) = (&mut after.choice, &v.chunk) {
        for p in &mut Arc::make_mut(choice).predictions {
            p.before = Some(cost_after(v, &p.pattern, chunk, filters, options));
        }
    }
    after
}

/// Whether a rule about chunks asks for others.
fn is_cut_badly(x: &Examined<'_>, v: &VarFacts, options: &DoctorOptions) -> bool {
    let mut found = Vec::new();
    shapes::check_variable(x, v, &mut found);
    found.iter().any(|f| options.wants(f.rule) && f.fix.as_ref().is_some_and(Fix::cuts))
}

/// The cost of a read of a variable that is cut and encoded like this.
fn cost_after(
    v: &VarFacts,
    pattern: &Pattern,
    chunks: &[u64],
    filters: &[Filter],
    options: &DoctorOptions,
) -> Cost {
    let lens: Vec<u64> = v.axes.iter().map(|a| a.len.max(1)).collect();
    // The sample holds for the filters for which it was taken.
    let sampled = v.coding.filter(|_| *filters == *v.target);
    let coding = sampled.unwrap_or_else(|| Coding::written(filters));
    Grid { lens: &lens, chunk: Some(chunks), element: v.element, coding }.read(pattern, &options.machine)
}

fn worst(slower: &[Slower]) -> f64 {
    slower.iter().map(|s| s.then / s.now).fold(1.0, f64::max)
}

/// The usual reads that take longer once a variable is cut and encoded like this.
fn slowed(v: &VarFacts, chunks: &[u64], filters: &[Filter], options: &DoctorOptions) -> Vec<Slower> {
    let mut out = Vec::new();
    for pattern in Pattern::bind(&options.accesses, &v.axes) {
        let prediction =
            v.choice.as_ref().and_then(|c| c.predictions.iter().find(|t| t.pattern.counts == pattern.counts));
        let now = prediction.and_then(|t| t.before).map_or_else(|| now(v, &pattern, options), |c| c.seconds);
        let then = cost_after(v, &pattern, chunks, filters, options).seconds;
        if then > REPORTED_SLOWDOWN * now {
            out.push(Slower { read: pattern.name, now, then });
        }
    }
    out
}

/// Seconds of a read as the variable is stored.
fn now(v: &VarFacts, pattern: &Pattern, options: &DoctorOptions) -> f64 {
    let mut lens: Vec<u64> = v.axes.iter().map(|a| a.len.max(1)).collect();
    let coding = v.coding_now();
    let Some(stride) = v.layout.runs().and_then(|runs| runs.stride) else {
        let grid = Grid { lens: &lens, chunk: v.chunk.as_deref(), element: v.element, coding };
        return grid.read(pattern, &options.machine).seconds;
    };
    // Records of all variables lie one after the other: a run of bytes, of which the read takes a part of each row. No index
    // says where they are, and small gaps are read over.
    let wanted = shape::product(pattern.counts.iter().skip(1).map(|&c| c.max(1)));
    lens.truncate(1);
    lens.push((stride / v.element.max(1)).max(wanted));
    let counts = vec![pattern.counts.first().copied().unwrap_or(1), wanted];
    let rows = Pattern { name: pattern.name.clone(), counts, weight: pattern.weight };
    Grid { lens: &lens, chunk: None, element: v.element, coding }.read(&rows, &options.machine).seconds
}

/// Seconds of the slowest usual read of a variable.
fn slowest(v: &VarFacts, options: &DoctorOptions) -> f64 {
    let patterns = Pattern::bind(&options.accesses, &v.axes);
    patterns.iter().map(|p| now(v, p, options)).fold(0.0, f64::max)
}
