//! The results of a phase, of all ranks; and notes for the reader.

use ncforge_tune::words::many;

use super::data::Verdict;
use super::options::{CacheAsk, IoOptions};
use super::prepare::Case;
use super::result::{PhaseKind, PhaseResult, RankPhase, Span};
use crate::cache::{CacheState, PROVEN};
use crate::clock::Used;
use crate::error::Result;
use crate::noise::Snapshot;
use crate::result::Measurement;
use crate::stats::{Summary, percentile};
use crate::team::{Crowd, Team, exchange};

/// The measurements of this rank in a phase.
pub(super) struct Measured<'m> {
    pub(super) case: usize,
    pub(super) rep: usize,
    pub(super) kind: PhaseKind,
    pub(super) cache_asked: Option<CacheAsk>,
    /// The cache's state before it.
    pub(super) cache: CacheState,
    pub(super) mine: &'m RankPhase,
    pub(super) verdict: Option<Verdict>,
    pub(super) sync: Option<f64>,
    /// The machine before it.
    pub(super) before: &'m Snapshot,
    /// Bytes of the files.
    pub(super) stored: u64,
}

/// The time from the first rank's beginning to the last rank's end. Clocks of several machines are not one: there, the longest
/// rank counts, all of which begin at a barrier.
pub(super) fn stretch(team: &dyn Team, spans: &[Span]) -> f64 {
    if team.nodes() > 1 {
        return spans.iter().map(Span::seconds).fold(0.0, f64::max);
    }
    let (begin, _, end) = bounds(spans);
    (end - begin).max(0.0)
}

/// The first begin, the last begin, the last end.
fn bounds(spans: &[Span]) -> (f64, f64, f64) {
    let begins = || spans.iter().map(|s| s.begin);
    (
        begins().fold(f64::INFINITY, f64::min),
        begins().fold(f64::NEG_INFINITY, f64::max),
        spans.iter().map(|s| s.end).fold(f64::NEG_INFINITY, f64::max),
    )
}

/// The state of the cache as it was proven: of a cold read by the bytes that came from storage.
fn proven(asked: Option<CacheAsk>, before: CacheState, stored: u64, from_storage: Option<u64>) -> CacheState {
    let named = |word: &str, is_proven: bool, percent| CacheState {
        label: format!("{word}-{}", if is_proven { "verified" } else { "unverified" }),
        percent,
    };
    match asked {
        Some(CacheAsk::Cold) => {
            let share = from_storage.map(|n| n as f64 / stored.max(1) as f64);
            named("cold", share.is_some_and(|s| s >= PROVEN), share.map(|s| (s * 100.0).min(100.0)))
        }
        Some(CacheAsk::Warm) => {
            named("warm", before.percent.is_some_and(|p| p >= PROVEN * 100.0), before.percent)
        }
        Some(CacheAsk::Any) => CacheState { label: "as-is".into(), ..before },
        None => before,
    }
}

/// The measurements of all ranks together; every rank calls this.
pub(super) fn together(team: &dyn Team, guard: bool, crowd: Crowd, m: Measured<'_>) -> Result<PhaseResult> {
    let ranks = exchange(team, m.mine)?;
    let verdicts = exchange(team, &m.verdict)?;
    let used = Used::sum(ranks.iter().map(|r| &r.used));
    let noise = m.before.since(used.user + used.system);
    let disturbed = guard && noise.is_disturbing(crowd.is_crowded());
    // One witness for all, so that all do the same next.
    let (noise, disturbed, stored) = exchange(team, &(noise, disturbed, m.stored))?[0];
    let from_storage = ranks.iter().map(|r| r.from_storage).sum::<Option<u64>>();
    let column = |f: &dyn Fn(&RankPhase) -> Span| ranks.iter().map(f).collect::<Vec<_>>();
    let (mut io, mut skew) = (0.0, 0.0f64);
    for w in 0..ranks.iter().map(|r| r.io.len()).min().unwrap_or(0) {
        let spans = column(&|r| r.io[w]);
        io += stretch(team, &spans);
        let (first, last, _) = bounds(&spans);
        skew = skew.max(last - first);
    }
    let verdict = verdicts.into_iter().flatten().reduce(|mut all, one| {
        all.add(&one);
        all
    });
    let (open, close) = (stretch(team, &column(&|r| r.open)), stretch(team, &column(&|r| r.close)));
    let mut phase = PhaseResult {
        case: m.case,
        kind: m.kind,
        cache_asked: m.cache_asked,
        bytes: ranks.iter().map(|r| r.bytes).sum(),
        measurement: Measurement {
            rep: m.rep,
            disturbed,
            cache: Some(proven(m.cache_asked, m.cache, stored, from_storage)),
            open: Some(open),
            sync: m.sync,
            close: Some(close),
            from_storage,
            stored: Some(stored),
            ranks: Summary::of(&ranks.iter().map(RankPhase::total).collect::<Vec<_>>())
                .map(|s| (s.min, s.median, s.max)),
            cpu: Some(used.user + used.system),
            used: Some(used),
            split: split(
                &ranks,
                [("open", Some(open)), ("io", Some(io)), ("sync", m.sync), ("close", Some(close))],
            ),
            memory: ranks.iter().map(|r| r.peak_memory).max(),
            noise,
            right: verdict.as_ref().map(|v| v.wrong == 0),
            ..Measurement::of(io)
        },
        skew: if team.nodes() > 1 { 0.0 } else { skew },
        ranks,
        verdict,
    };
    let calls = PhaseResult::call_seconds([&phase]);
    phase.measurement.calls = percentile(&calls, 0.5).zip(percentile(&calls, 0.99));
    Ok(phase)
}

/// Seconds of everything that is timed apart, by name: the steps of opening (or `open`), the first call (a part of `io`), `io`,
/// `sync`, `close`. Of the ranks, the slowest in each.
fn split(ranks: &[RankPhase], [open, rest @ ..]: [(&str, Option<f64>); 4]) -> Vec<(String, f64)> {
    let mut out: Vec<(String, f64)> = Vec::new();
    let mut put = |name: &str, seconds: f64| match out.iter_mut().find(|s| s.0 == name) {
        Some(slot) => slot.1 = slot.1.max(seconds),
        None => out.push((name.to_owned(), seconds)),
    };
    ranks.iter().flat_map(|r| &r.steps).for_each(|(name, seconds)| put(name, *seconds));
    if let Some(seconds) = open.1.filter(|_| ranks.iter().all(|r| r.steps.is_empty())) {
        put(open.0, seconds);
    }
    ranks.iter().filter_map(|r| r.calls.first()).for_each(|first| put("first_call", f64::from(*first)));
    rest.into_iter().for_each(|(name, seconds)| seconds.into_iter().for_each(|s| put(name, s)));
    out
}

/// Notes for the reader.
pub(super) fn notes(
    team: &dyn Team,
    options: &IoOptions,
    crowd: Crowd,
    cases: &[Case],
    phases: &[PhaseResult],
) -> Vec<String> {
    let mut notes = Vec::new();
    if crowd.is_crowded() {
        notes.push(format!(
            "{} ranks share {}{}: ranks wait for one another, and rates say more about the scheduler than about storage",
            crowd.ranks,
            many(crowd.processors as u64, "processor"),
            if team.nodes() > 1 { " of a node" } else { "" }
        ));
    }
    let disturbed = phases.iter().filter(|p| p.measurement.disturbed).count();
    notes.extend(crate::rounds::disturbances(disturbed, phases.len()));
    let without: Vec<&str> = cases.iter().filter(|c| !c.takes_hints(team)).map(|c| c.name.as_str()).collect();
    if !options.hints.is_empty() && !without.is_empty() {
        let names = without.join("; ");
        notes.push(format!("hints do not reach {names}, which does without MPI's input and output"));
    }
    let apart = |p: &PhaseResult| p.skew > 0.1 * p.measurement.seconds && p.measurement.seconds > 0.0;
    if !crowd.is_crowded() && phases.iter().any(apart) {
        notes.push("ranks started calls further apart than a tenth of their time: small phases, or a busy machine; rates count from the first start to the last end".to_owned());
    }
    let unproven = |p: &PhaseResult| p.measurement.cache.as_ref().is_none_or(|c| c.label != "cold-verified");
    if phases.iter().any(|p| p.cache_asked == Some(CacheAsk::Cold) && unproven(p)) {
        notes.push("not every cold read is proven by bytes from storage".to_owned());
    }
    if !options.verify && options.read {
        notes.push("values were not checked (--verify)".to_owned());
    }
    notes
}
