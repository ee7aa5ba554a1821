//! Rounds over all cases, in turn.

use std::path::PathBuf;

use super::audit::Audit;
use super::files::{all, remove, stored, sync};
use super::geometry::{Geometry, VARIABLE};
use super::options::{CacheAsk, ChunkChoice, IoOptions};
use super::phase::Bench;
use super::prepare::{Case, cases, safe_to_begin, values};
use super::recording::{Measured, notes, stretch, together};
use super::result::{CaseResult, IoReport, PhaseKind, PhaseResult, Span};
use crate::cache::{self, CacheState};
use crate::driver::{ChunkAsk, Driver};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::noise::Snapshot;
use crate::rounds::shuffled;
use crate::stats::Positions;
use crate::team::{Crowd, Team, agree, exchange};

/// Runs the workload; every rank of the team calls this with the same options, and gets the same report.
/// `stop` is asked now and then whether to give up.
///
/// # Errors
/// A contradiction in the options is an error before any file is touched. When something fails later, the files that this run
/// has created are removed.
pub fn run(team: &dyn Team, options: &IoOptions, stop: Option<&dyn Fn() -> bool>) -> Result<IoReport> {
    let prepared = (|| {
        let geometry = Geometry::resolve(&options.geometry, team.size() as u64, team.nodes() as u64)?;
        let (cases, left_out) = cases(options, &geometry, team)?;
        if team.rank() == 0 {
            safe_to_begin(options, &cases, &geometry)?;
        }
        let values = values(options, &geometry)?;
        match team.mpi() {
            Some(mpi) => {
                if !options.hints.is_empty() && !cases.iter().any(|c| c.takes_hints(team)) {
                    return Err(Error::bad_option("hint", NO_TAKER));
                }
                mpi.set_hints(&options.hints)?;
            }
            None if options.hints.is_empty() => {}
            None => {
                let why =
                    "hints are for MPI's input and output; start the command by mpiexec, or leave out --hint";
                return Err(Error::bad_option("hint", why));
            }
        }
        Ok((geometry, cases, left_out, values))
    })();
    let (geometry, cases, left_out, values) = agree(team, prepared).map_err(|e| match e {
        // All ranks found the same; the first one reports it.
        Error::Rank { rank: 0, message, code: 2, reported_here: true } => Error::Invalid(message),
        e => e,
    })?;
    let mut run = Run::new(team, options, &geometry, &cases, values, stop)?;
    let outcome = run.rounds();
    if outcome.is_err() && team.rank() == 0 && options.write {
        cases.iter().flat_map(|c| c.paths(geometry.ranks())).for_each(|p| remove(&p));
    }
    outcome?;
    let notes = [left_out, notes(team, options, run.crowd, &cases, &run.phases)].concat();
    let (phases, audits) = (run.phases, run.audits);
    let result = |(c, audit): (&Case, Option<Audit>)| CaseResult {
        name: c.name.clone(),
        ask: c.ask.clone(),
        driver: c.driver.name().to_owned(),
        version: c.driver.version(),
        chunks: match (&c.ask.chunks, &c.spec.var.chunks) {
            (ChunkChoice::Unasked, _) | (_, ChunkAsk::Unasked(_)) => None,
            (_, ChunkAsk::Lens(l)) => Some(l.clone()),
        },
        audit,
    };
    Ok(IoReport {
        environment: environment(team, options, &cases)?,
        team: team.kind(),
        nodes: team.nodes(),
        options: options.clone(),
        cases: cases.iter().zip(audits).map(result).collect(),
        files: match options.write {
            true => cases.iter().flat_map(|c| c.paths(geometry.ranks())).collect(),
            false => Vec::new(),
        },
        geometry,
        phases,
        notes,
    })
}

const NO_TAKER: &str = "nothing here goes through MPI's input and output, which hints are for: several ranks that share a file do, by a parallel \
    netCDF-C or HDF5, or by ncforge with --io-type coll and without chunks; leave out --hint";

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

/// The seed of the order of cases.
const SEED: u64 = 1;

/// A run, and what it has measured so far.
struct Run<'a> {
    team: &'a dyn Team,
    options: &'a IoOptions,
    cases: &'a [Case],
    geometry: &'a Geometry,
    bench: Bench<'a>,
    phases: Vec<PhaseResult>,
    audits: Vec<Option<Audit>>,
    crowd: Crowd,
}

impl<'a> Run<'a> {
    fn new(
        team: &'a dyn Team,
        options: &'a IoOptions,
        geometry: &'a Geometry,
        cases: &'a [Case],
        values: super::data::Values,
        stop: Option<&'a dyn Fn() -> bool>,
    ) -> Result<Self> {
        Ok(Run {
            bench: Bench::new(team, geometry, values, options, stop),
            team,
            options,
            geometry,
            cases,
            phases: Vec::new(),
            audits: vec![None; cases.len()],
            crowd: Crowd::of(team)?,
        })
    }

    fn rounds(&mut self) -> Result<()> {
        let mut random = Positions::new(SEED);
        let planned = self.options.warmup.saturating_add(self.options.repetitions);
        // Disturbed rounds are made again, as many as were planned at most.
        let again = if self.options.guard { self.options.repetitions } else { 0 };
        let mut good = 0;
        for round in 0..planned.saturating_add(again) {
            let before = self.phases.len();
            for case in shuffled(self.cases.len(), &mut random) {
                self.once(case, round.saturating_sub(self.options.warmup))?;
            }
            if round < self.options.warmup {
                self.phases.truncate(before);
                continue;
            }
            let disturbed = self.phases[before..].iter().any(|p| p.measurement.disturbed);
            good += usize::from(!disturbed);
            if good >= self.options.repetitions {
                break;
            }
        }
        Ok(())
    }

    /// One repetition of a case: written, then read in every state of the cache.
    fn once(&mut self, number: usize, rep: usize) -> Result<()> {
        let case = &self.cases[number];
        let paths = case.paths(self.geometry.ranks());
        if self.options.write {
            self.remove_old(&paths)?;
            let before = Snapshot::now();
            let phase = self.bench.write(case)?;
            let sync = self.options.sync.then(|| self.sync(&paths)).transpose()?;
            let cache = CacheState { label: "written".into(), percent: None };
            self.record(Measured {
                case: number,
                rep,
                kind: PhaseKind::Write,
                cache_asked: None,
                cache,
                mine: &phase,
                verdict: None,
                sync,
                before: &before,
                stored: stored(&paths),
            })?;
            if self.audits[number].is_none() {
                let values = self.geometry.values() * self.options.dtype.size() as u64;
                self.audits[number] = Some(Audit::of(&paths[0], VARIABLE, stored(&paths), values));
            }
        }
        if !self.options.read {
            return Ok(());
        }
        for &asked in &self.options.caches {
            let resident = self.bring_into(asked, &paths)?;
            let before = Snapshot::now();
            let (phase, verdict) = self.bench.read(case)?;
            self.record(Measured {
                case: number,
                rep,
                kind: PhaseKind::Read,
                cache_asked: Some(asked),
                cache: CacheState { label: String::new(), percent: resident.map(|s| s * 100.0) },
                mine: &phase,
                verdict,
                sync: None,
                before: &before,
                stored: stored(&paths),
            })?;
        }
        Ok(())
    }

    fn record(&mut self, measured: Measured<'_>) -> Result<()> {
        self.phases.push(together(self.team, self.options.guard, self.crowd, measured)?);
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
        Ok(stretch(self.team, &exchange(self.team, &Span { begin, end })?))
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
}
