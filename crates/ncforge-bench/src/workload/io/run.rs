//! Rounds over all cases, in turn.

use std::path::PathBuf;

use ncforge::words::many;

use super::agreement::{self, Agreement};
use super::audit::Audit;
use super::ceilings::Ceilings;
use super::data::{Values, Verdict};
use super::files::{all, remove, stored, sync};
use super::geometry::Geometry;
use super::ops::OpsLog;
use super::options::{AccessKind, CacheAsk, ChunkChoice, DriverAsk, IoOptions};
use super::phase::Bench;
use super::prepare::{Case, cases, safe_to_begin, values};
use super::progress::{Done, Progress};
use super::reading::{order, reading};
use super::result::{CaseResult, IoReport, PhaseKind, PhaseResult, RankPhase, SCHEMA, Span};
use crate::cache::{self, CacheState, PROVEN};
use crate::driver::{ChunkAsk, Driver};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::noise::Look;
use crate::stats::{Positions, Summary, median_interval};
use crate::team::{Crowd, Team, agree, exchange};

/// Runs the workload; every rank of the team calls this with the same options, and gets the same report.
/// `stop` is asked now and then whether to give up.
///
/// # Errors
/// What does not fit together is told before any file is touched. When something fails later, the files that this run
/// has created are removed.
pub fn run(team: &dyn Team, options: &IoOptions, stop: Option<&dyn Fn() -> bool>) -> Result<IoReport> {
    let prepared = (|| {
        let geometry = Geometry::resolve(&options.geometry, team.size() as u64, team.nodes() as u64)?;
        let reads = reading(options, &geometry)?;
        order(options, &geometry)?;
        let (cases, left_out) = cases(options, &geometry, team)?;
        if team.rank() == 0 {
            safe_to_begin(options, &cases, &geometry)?;
        }
        let values = values(options, &geometry)?;
        match team.mpi() {
            Some(mpi) => {
                if !options.hints.is_empty() && !cases.iter().any(|c| takes_hints(c, team)) {
                    return Err(Error::Invalid(NO_TAKER.into()));
                }
                mpi.set_hints(&options.hints)?;
            }
            None if options.hints.is_empty() => {}
            None => {
                let why =
                    "hints are for MPI's input and output; start the command by mpiexec, or leave out --hint";
                return Err(Error::Invalid(why.into()));
            }
        }
        Ok((geometry, reads, cases, left_out, values))
    })();
    let (geometry, reads, cases, left_out, values) = agree(team, prepared).map_err(|e| match e {
        // All ranks found the same; the first one tells it.
        Error::Rank { rank: 0, message, code: 2, told: true } => Error::Invalid(message),
        e => e,
    })?;
    let (progress, done) = Progress::open(team, options, &geometry, &cases)?;
    let ceilings = ceilings(team, options, &values)?;
    let mut run = Run::new(team, options, (&geometry, &reads), &cases, &values, stop, progress)?;
    let mut left_out = left_out;
    if !done.phases.is_empty() {
        left_out.push(format!(
            "{} of these measurements were made by an earlier run, which was interrupted",
            done.phases.len()
        ));
    }
    run.take_up(done);
    run.bench.ops = options.ops_log.as_deref().map(|path| OpsLog::begin(team, path)).transpose()?;
    let outcome = run.rounds();
    let logged = run.bench.ops.take().map_or(Ok(()), |ops| ops.end(team, outcome.is_ok()));
    let outcome = outcome.and(logged);
    run.end(outcome.is_ok());
    let outcome = outcome.and_then(|()| run.agreement());
    let keep = outcome.is_ok() && (options.keep || cases.len() == 1);
    if team.rank() == 0 && options.write && !keep {
        cases.iter().flat_map(|c| c.paths(geometry.ranks())).for_each(|p| remove(&p));
    }
    let agreement = outcome?;
    let notes = [left_out, run.notes()].concat();
    let reading = (reads != geometry).then(|| reads.clone());
    let phases = run.phases;
    let audits = run.audits;
    Ok(IoReport {
        schema: SCHEMA,
        workload: "io".to_owned(),
        environment: environment(team, options, &cases)?,
        team: team.kind(),
        nodes: team.nodes(),
        options: options.clone(),
        cases: cases
            .iter()
            .zip(audits)
            .map(|(c, audit)| CaseResult {
                name: c.name.clone(),
                ask: c.ask.clone(),
                driver: c.driver.name().to_owned(),
                version: c.driver.version(),
                chunks: match (&c.ask.chunks, &c.spec.vars[0].chunks) {
                    (ChunkChoice::Unasked, _) | (_, ChunkAsk::Unasked(_)) => None,
                    (_, ChunkAsk::Lens(l)) => Some(l.clone()),
                },
                audit,
            })
            .collect(),
        geometry,
        reading,
        phases,
        notes,
        agreement,
        ceilings,
        time: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        command: None,
    })
}

const NO_TAKER: &str = "nothing here goes through MPI's input and output, which hints are for: several ranks that share a file do, by a parallel \
    netCDF-C or HDF5, or by ncforge with --io-type coll and without chunks; leave out --hint";

/// Whether a case's file is opened through MPI.
fn takes_hints(case: &Case, team: &dyn Team) -> bool {
    let shared = team.size() > 1 && case.ask.access != AccessKind::File;
    shared
        && match case.ask.driver {
            DriverAsk::Libnetcdf(_) | DriverAsk::MpiIo | DriverAsk::H5(_) => true,
            DriverAsk::Ncforge => case.ask.access == AccessKind::Collective && case.spec.chunks(0).is_none(),
            DriverAsk::Raw => false,
        }
}

/// The machine, and what did the work.
fn environment(team: &dyn Team, options: &IoOptions, cases: &[Case]) -> Result<Environment> {
    let drivers: Vec<&dyn Driver> = cases.iter().map(|c| c.driver.as_ref()).collect();
    let mut found = Environment::capture().completed(&options.file, &drivers);
    if let Some(mpi) = team.mpi() {
        found.libraries.push(format!("MPI: {}", mpi.version()));
        let layer = if team.rank() == 0 { mpi.io_layer(&options.file) } else { None };
        if let Some(layer) = layer {
            (found.mpi_io, found.hints) = (Some(layer.name), layer.hints);
        }
    }
    // All ranks give the report of the first.
    Ok(exchange(team, &found)?.swap_remove(0))
}

/// What the machine could do, measured by rank 0 while the others wait.
fn ceilings(team: &dyn Team, options: &IoOptions, values: &Values) -> Result<Option<Ceilings>> {
    if !options.ceilings {
        return Ok(None);
    }
    let mine = if team.rank() == 0 { Ceilings::measure(options, values).map(Some) } else { Ok(None) };
    let found = agree(team, mine)?;
    Ok(exchange(team, &found)?.swap_remove(0))
}

/// Rounds beyond those that were asked for, where a precision was asked for.
const MORE: usize = 200;

struct Run<'a> {
    team: &'a dyn Team,
    options: &'a IoOptions,
    geometry: &'a Geometry,
    cases: &'a [Case],
    bench: Bench<'a>,
    phases: Vec<PhaseResult>,
    audits: Vec<Option<Audit>>,
    crowd: Crowd,
    out_of_time: bool,
    again: usize,
    /// What goes on after an interruption.
    progress: Progress,
    /// So many of the phases are of an earlier run …
    earlier: usize,
    /// … and so many of cases that were gone through, and count.
    whole: usize,
}

impl<'a> Run<'a> {
    fn new(
        team: &'a dyn Team,
        options: &'a IoOptions,
        (geometry, reads): (&'a Geometry, &'a Geometry),
        cases: &'a [Case],
        values: &Values,
        stop: Option<&'a dyn Fn() -> bool>,
        progress: Progress,
    ) -> Result<Self> {
        Ok(Run {
            bench: Bench::new(team, (geometry, reads), values, options, stop),
            team,
            options,
            geometry,
            cases,
            phases: Vec::new(),
            audits: vec![None; cases.len()],
            crowd: Crowd::of(team)?,
            out_of_time: false,
            again: 0,
            progress,
            earlier: 0,
            whole: 0,
        })
    }

    /// Takes what an earlier run has done.
    fn take_up(&mut self, done: Done) {
        (self.earlier, self.whole) = (done.phases.len(), done.phases.len());
        self.phases = done.phases;
        self.audits = done.audits;
        self.audits.resize(self.cases.len(), None);
    }

    /// Whether an earlier run has measured a case in a round.
    fn is_done(&self, case: usize, repetition: usize) -> bool {
        self.phases[..self.earlier].iter().any(|p| p.case == case && p.repetition == repetition)
    }

    /// Saves what there is when the run did not come to its end, which another one may; else nothing is left to go on with.
    fn end(&mut self, well: bool) {
        if well && !self.out_of_time {
            return self.progress.finish();
        }
        // The run's own outcome says more than that this cannot be written.
        let _ = self.progress.save(&self.phases[..self.whole], &self.audits, true);
    }

    fn rounds(&mut self) -> Result<()> {
        let begun = crate::clock::now();
        let mut random = Positions::new(self.options.seed);
        let planned = self.options.warmup.saturating_add(self.options.repetitions);
        // Disturbed rounds are made again, as many as were planned at most.
        let again = if self.options.guard { self.options.repetitions } else { 0 };
        let more = if self.options.until.is_some() { MORE } else { 0 };
        let most = planned.saturating_add(again).saturating_add(more);
        let mut good = 0;
        for round in 0..most {
            let counted = round >= self.options.warmup;
            let mut order: Vec<usize> = (0..self.cases.len()).collect();
            // A new order in each round: what follows what must not decide (Fisher and Yates' shuffle).
            for i in (1..order.len()).rev() {
                order.swap(i, random.below(i as u64 + 1) as usize);
            }
            let before = self.phases.len();
            let repetition = round.saturating_sub(self.options.warmup);
            for case in order {
                if counted && self.is_done(case, repetition) {
                    continue;
                }
                self.once(case, round)?;
                if counted {
                    self.whole = self.phases.len();
                    if self.options.resume.is_some() {
                        // The first rank writes; that it cannot is told to all.
                        agree(self.team, self.progress.save(&self.phases, &self.audits, false))?;
                    }
                }
            }
            if !counted {
                self.phases.truncate(before);
                continue;
            }
            let parts = self.phases[..self.earlier].iter().chain(&self.phases[before..]);
            let disturbed = parts.into_iter().any(|p| p.repetition == repetition && p.disturbed);
            good += usize::from(!disturbed);
            self.again += usize::from(disturbed);
            // A round that an earlier run has made takes no time.
            let made_now = self.phases.len() > before;
            let late = made_now && self.options.budget.is_some_and(|b| crate::clock::now() - begun > b);
            // Clocks of ranks differ by a little; rank 0 decides.
            let late = exchange(self.team, &late)?[0];
            let made = good >= self.options.repetitions || (!self.options.guard && round + 1 >= planned);
            // Undisturbed ones are not waited for longer than they would be without a precision that is asked for.
            let made = made || round + 1 >= planned.saturating_add(again);
            let enough = made && self.is_precise();
            if late && !enough {
                self.out_of_time = true;
            }
            if enough || late {
                break;
            }
        }
        Ok(())
    }

    /// Whether the medians of all rows are as sure as was asked for. (All ranks know the same, and answer the same.)
    fn is_precise(&self) -> bool {
        let Some(share) = self.options.until else { return true };
        let mut rows: Vec<(usize, PhaseKind, Option<CacheAsk>)> = Vec::new();
        for p in &self.phases {
            let row = (p.case, p.kind, p.cache_asked);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows.into_iter().all(|row| {
            let same = self.phases.iter().filter(|p| (p.case, p.kind, p.cache_asked) == row);
            // Of each byte, for phases that end with the time.
            let seconds: Vec<f64> = same.map(|p| p.io / p.bytes.max(1) as f64).collect();
            let median = Summary::of(&seconds).map_or(0.0, |s| s.median);
            median_interval(&seconds).is_some_and(|(low, high)| (high - low) / 2.0 <= share * median)
        })
    }

    /// Whether all cases hold the same data, where several have written all of it.
    fn agreement(&self) -> Result<Option<Agreement>> {
        let o = self.options;
        let comparable = o.write && o.verify && self.cases.len() > 1 && o.seconds.is_none();
        let files = || self.cases.iter().flat_map(|c| c.paths(self.geometry.ranks()));
        // What an earlier run has measured has left no files.
        let there = comparable && self.team.rank() == 0 && files().all(|p| p.exists());
        if !exchange(self.team, &there)?[0] {
            return Ok(None);
        }
        agreement::find(self.team, self.cases, self.geometry, &self.bench.values).map(Some)
    }

    /// The phases that write, in their order.
    fn writing(&self) -> impl Iterator<Item = PhaseKind> + use<> {
        let o = self.options;
        let all =
            [(PhaseKind::Write, o.write), (PhaseKind::Append, o.append), (PhaseKind::Rewrite, o.rewrite)];
        all.into_iter().filter(|p| p.1).map(|p| p.0)
    }

    /// One repetition of a case: written, then read in every state of the cache.
    fn once(&mut self, number: usize, round: usize) -> Result<()> {
        let case = &self.cases[number];
        if let Some(ops) = &mut self.bench.ops {
            let counted = round >= self.options.warmup;
            ops.next(counted.then(|| (case.name.clone(), round - self.options.warmup)));
        }
        let paths = case.paths(self.geometry.ranks());
        self.bench.reach = None;
        if self.options.write {
            self.remove_old(&paths)?;
            for kind in self.writing() {
                let look = Look::now();
                let phase = self.bench.write(case, kind)?;
                let sync = self.options.sync.then(|| self.sync(&paths)).transpose()?;
                let state = CacheState { label: "written".into(), percent: None };
                self.record(number, round, kind, None, state, &phase, None, sync, &look, &paths)?;
            }
            if self.audits[number].is_none() {
                let values = self.geometry.values(case.is_apart()) * self.options.dtype.size() as u64;
                let fields = &self.geometry.fields;
                let found = Audit::of(&paths[0], &fields[0].name, stored(&paths), values);
                self.audits[number] = Some(Audit { variables: fields.len(), ..found });
            }
        }
        if !self.options.read {
            return Ok(());
        }
        for &asked in &self.options.caches {
            let before = self.bring_into(asked, &paths)?;
            let look = Look::now();
            let (phase, verdict) = self.bench.read(case, asked)?;
            let state = CacheState { label: String::new(), percent: before.map(|s| s * 100.0) };
            self.record(
                number,
                round,
                PhaseKind::Read,
                Some(asked),
                state,
                &phase,
                verdict.as_ref(),
                None,
                &look,
                &paths,
            )?;
        }
        Ok(())
    }

    /// Old files go before the clock starts: giving their pages back is no part of creating new ones.
    fn remove_old(&self, paths: &[PathBuf]) -> Result<()> {
        if self.team.rank() == 0 {
            paths.iter().for_each(|p| remove(p));
        }
        self.team.barrier()
    }

    /// Seconds until the files are on disk.
    fn sync(&self, paths: &[PathBuf]) -> Result<f64> {
        self.team.barrier()?;
        let begin = crate::clock::now();
        let mine = |(i, _): &(usize, &PathBuf)| i % self.team.size() == self.team.rank();
        let done = paths.iter().enumerate().filter(mine).try_for_each(|(_, path)| sync(path));
        let end = crate::clock::now();
        agree(self.team, done)?;
        Ok(self.stretch(&exchange(self.team, &Span { begin, end })?))
    }

    /// Brings the page cache into a state, and gives the share of the files that is in it then.
    fn bring_into(&self, asked: CacheAsk, paths: &[PathBuf]) -> Result<Option<f64>> {
        let paths = &all(paths);
        let done = match asked {
            CacheAsk::Any => Ok(()),
            // Every machine has a cache of its own; who evicts twice does no harm.
            CacheAsk::Cold => cache::make_cold(paths),
            CacheAsk::Warm if self.team.rank() == 0 || self.team.nodes() > 1 => {
                paths.iter().try_for_each(|p| cache::warm(p))
            }
            CacheAsk::Warm => Ok(()),
        };
        agree(self.team, done)?;
        let share = exchange(self.team, &cache::resident_of(paths))?;
        Ok(share[0])
    }

    /// From the first rank's begin to the last rank's end. Clocks of several machines are not one: there, the longest
    /// rank counts, all of which begin at a barrier.
    fn stretch(&self, spans: &[Span]) -> f64 {
        if self.team.nodes() > 1 {
            return spans.iter().map(Span::seconds).fold(0.0, f64::max);
        }
        let begin = spans.iter().map(|s| s.begin).fold(f64::INFINITY, f64::min);
        let end = spans.iter().map(|s| s.end).fold(f64::NEG_INFINITY, f64::max);
        (end - begin).max(0.0)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one result, from one caller")]
    fn record(
        &mut self,
        case: usize,
        repetition: usize,
        kind: PhaseKind,
        cache_asked: Option<CacheAsk>,
        mut cache: CacheState,
        mine: &RankPhase,
        verdict: Option<&Verdict>,
        sync: Option<f64>,
        look: &Look,
        paths: &[PathBuf],
    ) -> Result<()> {
        let ranks = exchange(self.team, mine)?;
        let verdicts = exchange(self.team, &verdict.cloned())?;
        let ours: f64 = ranks.iter().map(|r| r.cpu).sum();
        let noise = look.since(ours);
        let disturbed = self.options.guard && noise.is_disturbing(self.crowd.is_crowded());
        // One witness for all, so that all do the same next.
        let (noise, disturbed, stored) = exchange(self.team, &(noise, disturbed, stored(paths)))?[0];
        let from_storage = ranks.iter().map(|r| r.from_storage).sum::<Option<u64>>();
        let bytes: u64 = ranks.iter().map(|r| r.bytes).sum();
        let apart = self.cases[case].is_apart();
        let whole = self.geometry.values(apart) * self.options.dtype.size() as u64;
        let partial = self.options.seconds.is_some() && bytes < whole;
        let sampled = kind == PhaseKind::Read && self.bench.reading.is_sample();
        let overlap = if kind == PhaseKind::Read && !sampled { bytes.saturating_sub(whole) } else { 0 };
        match cache_asked {
            Some(CacheAsk::Cold) => {
                // Of a part of the array, no more than its own bytes can come from storage.
                let due = if partial || sampled { stored.min(bytes) } else { stored };
                let share = from_storage.map(|n| n as f64 / due.max(1) as f64);
                let proven = share.is_some_and(|s| s >= PROVEN);
                cache.label = if proven { "cold-verified" } else { "cold-unverified" }.into();
                cache.percent = share.map(|s| (s * 100.0).min(100.0));
            }
            Some(CacheAsk::Warm) => {
                let proven = cache.percent.is_some_and(|p| p >= PROVEN * 100.0);
                cache.label = if proven { "warm-verified" } else { "warm-unverified" }.into();
            }
            Some(CacheAsk::Any) => cache.label = "as-is".into(),
            None => {}
        }
        let column = |f: &dyn Fn(&RankPhase) -> Span| ranks.iter().map(f).collect::<Vec<_>>();
        let windows = ranks.iter().map(|r| r.io.len()).min().unwrap_or(0);
        let mut io = 0.0;
        let mut skew = 0.0f64;
        for w in 0..windows {
            let spans = column(&|r| r.io[w]);
            io += self.stretch(&spans);
            let first = spans.iter().map(|s| s.begin).fold(f64::INFINITY, f64::min);
            let last = spans.iter().map(|s| s.begin).fold(f64::NEG_INFINITY, f64::max);
            skew = skew.max(last - first);
        }
        let mut total = None;
        for v in verdicts.iter().flatten() {
            total.get_or_insert_with(Verdict::default).add(v);
        }
        self.phases.push(PhaseResult {
            case,
            repetition: repetition.saturating_sub(self.options.warmup),
            kind,
            cache_asked,
            cache,
            bytes,
            overlap,
            partial,
            sampled,
            stored,
            from_storage,
            open: self.stretch(&column(&|r| r.open)),
            io,
            close: self.stretch(&column(&|r| r.close)),
            sync,
            skew: if self.team.nodes() > 1 { 0.0 } else { skew },
            ranks,
            verdict: total,
            noise,
            disturbed,
        });
        Ok(())
    }

    /// What a reader should know.
    fn notes(&self) -> Vec<String> {
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
        if self.out_of_time {
            notes.push("the time allowed was over before all repetitions were made".to_owned());
        }
        let without = || self.cases.iter().filter(|c| !takes_hints(c, self.team));
        if !self.options.hints.is_empty() && without().next().is_some() {
            let names: Vec<&str> = without().map(|c| c.name.as_str()).collect();
            notes.push(format!(
                "hints do not reach {}, which does without MPI's input and output",
                names.join("; ")
            ));
        }
        if let Some(seconds) = self.options.seconds {
            let partial = self.phases.iter().filter(|p| p.partial).count();
            if partial > 0 {
                notes.push(format!(
                    "{partial} of {} phases ended after {seconds} s, before the whole array was moved; rates are those of what was moved, and where times are compared, those that all of it would take",
                    self.phases.len()
                ));
            }
            if partial < self.phases.len() {
                notes.push(format!(
                    "{} of {} phases had moved the whole array before {seconds} s were over; a larger one (-d) would fill the time",
                    self.phases.len() - partial,
                    self.phases.len()
                ));
            }
        }
        if let Some(share) = self.options.until.filter(|_| !self.is_precise()) {
            notes.push(format!(
                "not every median is as sure as was asked for ({:.1} % to either side): more time, or a quieter machine, is needed",
                share * 100.0
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
