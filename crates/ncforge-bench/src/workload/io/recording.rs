//! What came out of a phase, of all ranks, as a result; and what a reader should know about it.

use std::path::PathBuf;

use ncforge_ops::words::many;

use super::data::Verdict;
use super::files::stored;
use super::options::CacheAsk;
use super::result::{PhaseKind, PhaseResult, RankPhase, Span};
use super::run::{Run, takes_hints};
use crate::cache::{CacheState, PROVEN};
use crate::error::Result;
use crate::noise::Look;
use crate::team::{Team, exchange};

/// What this rank has measured in a phase.
pub(super) struct Measured<'m> {
    pub(super) case: usize,
    pub(super) repetition: usize,
    pub(super) kind: PhaseKind,
    pub(super) cache_asked: Option<CacheAsk>,
    /// The cache's state before it.
    pub(super) cache: CacheState,
    pub(super) mine: &'m RankPhase,
    pub(super) verdict: Option<Verdict>,
    pub(super) sync: Option<f64>,
    /// The machine before it.
    pub(super) look: &'m Look,
    pub(super) paths: &'m [PathBuf],
}

/// From the first rank's begin to the last rank's end. Clocks of several machines are not one: there, the longest
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

impl Run<'_> {
    /// Adds what the ranks have measured; every rank calls this.
    pub(super) fn record(&mut self, m: Measured<'_>) -> Result<()> {
        let ranks = exchange(self.team, m.mine)?;
        let verdicts = exchange(self.team, &m.verdict)?;
        let ours: f64 = ranks.iter().map(|r| r.cpu).sum();
        let noise = m.look.since(ours);
        let disturbed = self.options.guard && noise.is_disturbing(self.crowd.is_crowded());
        // One witness for all, so that all do the same next.
        let (noise, disturbed, stored) = exchange(self.team, &(noise, disturbed, stored(m.paths)))?[0];
        let from_storage = ranks.iter().map(|r| r.from_storage).sum::<Option<u64>>();
        let column = |f: &dyn Fn(&RankPhase) -> Span| ranks.iter().map(f).collect::<Vec<_>>();
        let windows = ranks.iter().map(|r| r.io.len()).min().unwrap_or(0);
        let mut io = 0.0;
        let mut skew = 0.0f64;
        for w in 0..windows {
            let spans = column(&|r| r.io[w]);
            io += stretch(self.team, &spans);
            let (first, last, _) = bounds(&spans);
            skew = skew.max(last - first);
        }
        let mut total = None;
        for v in verdicts.iter().flatten() {
            total.get_or_insert_with(Verdict::default).add(v);
        }
        self.phases.push(PhaseResult {
            case: m.case,
            repetition: m.repetition,
            kind: m.kind,
            cache_asked: m.cache_asked,
            cache: proven(m.cache_asked, m.cache, stored, from_storage),
            bytes: ranks.iter().map(|r| r.bytes).sum(),
            stored,
            from_storage,
            open: stretch(self.team, &column(&|r| r.open)),
            io,
            close: stretch(self.team, &column(&|r| r.close)),
            sync: m.sync,
            skew: if self.team.nodes() > 1 { 0.0 } else { skew },
            ranks,
            verdict: total,
            noise,
            disturbed,
        });
        Ok(())
    }

    /// What a reader should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.crowd.is_crowded() {
            notes.push(format!(
                "{} ranks share {}{}: ranks wait for one another, and rates say more about the scheduler than about storage",
                self.crowd.ranks,
                many(self.crowd.processors as u64, "processor"),
                if self.team.nodes() > 1 { " of a node" } else { "" }
            ));
        }
        let disturbed = self.phases.iter().filter(|p| p.disturbed).count();
        if disturbed > 0 {
            let quiet = self.phases.len() - disturbed;
            notes.push(format!(
                "something else used the machine during {disturbed} of {} measurements{}",
                self.phases.len(),
                if quiet < disturbed {
                    ": these numbers are unreliable"
                } else {
                    ", which were made again and are left out where enough others are there"
                }
            ));
        }
        let without = || self.cases.iter().filter(|c| !takes_hints(c, self.team));
        if !self.options.hints.is_empty() && without().next().is_some() {
            let names: Vec<&str> = without().map(|c| c.name.as_str()).collect();
            notes.push(format!(
                "hints do not reach {}, which does without MPI's input and output",
                names.join("; ")
            ));
        }
        if self.phases.iter().any(|p| p.skew > 0.1 * p.io && p.io > 0.0 && !self.crowd.is_crowded()) {
            notes.push("ranks started calls further apart than a tenth of their time: small phases, or a busy machine; rates count from the first start to the last end".to_owned());
        }
        if self
            .phases
            .iter()
            .any(|p| p.cache_asked == Some(CacheAsk::Cold) && p.cache.label != "cold-verified")
        {
            notes.push("not every cold read is proven by bytes from storage".to_owned());
        }
        if !self.options.verify && self.options.read {
            notes.push("values were not checked (--verify)".to_owned());
        }
        notes
    }
}
