//! The checks, one by one.

use std::path::Path;

use super::Try;
use super::faulty::{Faults, FaultyDriver};
use super::pair::{Member, Place};
use crate::clock;
use crate::driver::Driver;
use crate::environment::{Filesystem, processors};
use crate::error::{Error, Result};
use crate::noise::Look;
use crate::report::io::io_results;
use crate::report::seconds;
use crate::result::{Results, Row, compare};
use crate::stats::{outliers, ratio_of_medians};
use crate::team::{Alone, Team};
use crate::workload::io::{
    CacheAsk, CaseAsk, DriverAsk, GeometryRequest, IoOptions, IoReport, PhaseKind, PhaseResult, run_with,
};

/// The delay of a call: ten of them are short against the time that a busy system gives a process at once …
const CALL: f64 = 0.000_2;
/// … of one where times are compared, so that most repetitions are not interrupted at all …
const BRIEF: f64 = CALL / 4.0;
/// … of opening and closing …
const ONCE: f64 = 0.002;
/// … and what may be measured beyond a delay: the work itself, on a slow machine.
const BESIDE: f64 = 0.000_8;
/// Repetitions, of which some are not interrupted even where others work.
const OFTEN: usize = 25;
/// The array: ten calls of one step.
const SHAPE: [u64; 4] = [10, 8, 6, 4];
const CALLS: f64 = SHAPE[0] as f64;
const STEP: u64 = SHAPE[1] * SHAPE[2] * SHAPE[3];

/// Where, and whether faults are made at all.
pub(super) struct Bench<'a> {
    pub(super) folder: &'a Path,
    pub(super) inject: bool,
}

impl Bench<'_> {
    pub(super) fn check(&self, name: &str) -> Result<Try> {
        match name {
            "clock" => Ok(self.clock()),
            "calls" | "latency" | "open" | "close" => self.delay(name),
            "ranks" => self.ranks(),
            "clean" => self.verifier(None),
            "one-bit" | "lost-write" | "no-read" | "swapped" => self.verifier(Some(name)),
            "alike" => self.alike(),
            "ratio" => self.ratio(),
            "regression" => self.regression(),
            "outlier" => self.outlier(),
            "cold" | "warm" => self.cache(name == "cold"),
            "neighbour" => Ok(self.neighbour()),
            other => Err(Error::Invalid(format!("no check `{other}`"))),
        }
    }

    /// The faults, if any are to be made.
    fn faults(&self, faults: Faults) -> Faults {
        if self.inject { faults } else { Faults::default() }
    }

    fn options(&self, cases: usize, repetitions: usize) -> IoOptions {
        let data = SHAPE.map(|n| n.to_string()).join(":");
        IoOptions {
            geometry: GeometryRequest { data: data.parse().ok(), ..GeometryRequest::default() },
            // The drivers are given by hand; this tells cases apart.
            cases: (0..cases)
                .map(|i| CaseAsk {
                    driver: DriverAsk::Libnetcdf(Some(format!("{i}").into())),
                    ..CaseAsk::default()
                })
                .collect(),
            repetitions,
            warmup: 0,
            sync: false,
            guard: false,
            read: true,
            overwrite: true,
            ..IoOptions::new(self.folder.join("selftest"))
        }
    }

    /// Runs the workload with these drivers, one a case.
    fn run(&self, team: &dyn Team, options: &IoOptions, faults: &[Faults]) -> Result<IoReport> {
        run_with(team, options, None, &|_, ask| {
            let DriverAsk::Libnetcdf(Some(number)) = ask else { return unknown() };
            let number = number.to_str().and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
            let Some(faults) = faults.get(number) else { return unknown() };
            let driver: Box<dyn Driver> =
                Box::new(FaultyDriver::new(format!("faulty {number}"), faults.clone()));
            Ok(driver)
        })
    }

    fn clock(&self) -> Try {
        const SPAN: f64 = 0.02;
        let (wall, ours) = (std::time::SystemTime::now(), clock::now());
        if self.inject {
            std::thread::sleep(std::time::Duration::from_secs_f64(SPAN));
        }
        let ours = clock::now() - ours;
        let theirs = wall.elapsed().map_or(0.0, |d| d.as_secs_f64());
        let found = ours >= SPAN && (ours - theirs).abs() < 0.05 * SPAN;
        (Some(found), format!("{} asked for, {} and {}", seconds(SPAN), seconds(ours), seconds(theirs)))
    }

    fn delay(&self, which: &str) -> Result<Try> {
        let mut faults = Faults::default();
        match which {
            "open" => faults.open = ONCE,
            "close" => faults.close = ONCE,
            _ => faults.call = CALL,
        }
        let report = self.run(&Alone, &self.options(1, OFTEN), &[self.faults(faults)])?;
        let mut found = true;
        let mut told = Vec::new();
        for kind in [PhaseKind::Write, PhaseKind::Read] {
            let fastest = |f: &dyn Fn(&PhaseResult) -> f64| {
                report.phases.iter().filter(|p| p.kind == kind).map(f).fold(f64::INFINITY, f64::min)
            };
            let calls = fastest(&|p| p.io);
            let (expected, measured) = match which {
                "open" => (ONCE, fastest(&|p| p.open)),
                "close" => (ONCE, fastest(&|p| p.close)),
                "latency" => (CALL, fastest(&median_call)),
                _ => (CALL * CALLS, calls),
            };
            found &= measured >= expected && measured <= expected * 1.1 + BESIDE;
            found &= !matches!(which, "open" | "close") || calls < ONCE / 2.0;
            told.push(format!(
                "{}: {} put in, {} measured",
                kind.name(),
                seconds(expected),
                seconds(measured)
            ));
        }
        Ok((Some(found), told.join("; ")))
    }

    fn ranks(&self) -> Result<Try> {
        let options = self.options(1, 3 * OFTEN);
        let place = Place::for_ranks(2);
        let slow = |rank: usize| {
            let call = if rank == 1 { 2.0 * CALL } else { CALL };
            self.faults(Faults { call, ..Faults::default() })
        };
        let reports = std::thread::scope(|scope| {
            let (place, options) = (&place, &options);
            let threads = [0, 1].map(|rank| {
                let faults = slow(rank);
                scope.spawn(move || self.run(&Member { place, rank }, options, &[faults]))
            });
            threads.map(|t| t.join().unwrap_or_else(|_| Err(Error::Invalid("a rank fell over".into()))))
        });
        let [first, second] = reports;
        second?;
        let report = first?;
        let slowest = 2.0 * CALL * CALLS;
        let (mut least, mut right) = (f64::INFINITY, true);
        for p in report.phases.iter().filter(|p| p.kind == PhaseKind::Write) {
            least = least.min(p.io);
            let rate = (SHAPE[0] * STEP * 4) as f64 / p.io;
            right &= (p.rate_io() / rate - 1.0).abs() < 1e-9 && p.ranks.len() == 2;
        }
        let found = right && least >= slowest && least <= slowest * 1.1 + BESIDE;
        Ok((
            Some(found),
            format!("the slower rank takes {}, {} measured for both", seconds(slowest), seconds(least)),
        ))
    }

    fn verifier(&self, which: Option<&str>) -> Result<Try> {
        let at = vec![3, 2, 5, 1];
        let (faults, wrong) = match which {
            Some("one-bit") => (Faults { wrong: Some(at.clone()), ..Faults::default() }, 1),
            Some("lost-write") => (Faults { lost: Some(4), ..Faults::default() }, STEP),
            Some("no-read") => (Faults { no_read: true, ..Faults::default() }, SHAPE[0] * STEP),
            Some(_) => (Faults { swapped: Some((2, 7)), ..Faults::default() }, 2 * STEP),
            // Here, leaving out means: make a fault where none should be.
            None if self.inject => (Faults::default(), 0),
            None => (Faults { wrong: Some(at.clone()), ..Faults::default() }, 0),
        };
        let faults = if which.is_some() { self.faults(faults) } else { faults };
        let report = self.run(&Alone, &self.options(1, 1), &[faults])?;
        let verdict = report.phases.iter().find_map(|p| p.verdict.clone()).unwrap_or_default();
        let all = SHAPE[0] * STEP;
        let place = which != Some("one-bit") || verdict.first.first().is_some_and(|m| m.at == at);
        // Hashes of different places can be the same by chance, once in four thousand million.
        let found = verdict.checked == all && verdict.wrong == wrong && place;
        let first = verdict.first.first().map_or_else(String::new, |m| format!(", the first at {:?}", m.at));
        Ok((Some(found), format!("{wrong} wrong of {all}, {} told{first}", verdict.wrong)))
    }

    fn alike(&self) -> Result<Try> {
        // Plain bytes are read by plain calls, too.
        let asks = [DriverAsk::Raw, DriverAsk::MpiIo];
        let cases = asks.map(|driver| CaseAsk { driver, ..CaseAsk::default() });
        let options = IoOptions { cases: cases.to_vec(), ..self.options(0, 1) };
        let report = run_with(&Alone, &options, None, &|_, ask| {
            let turned = *ask == DriverAsk::MpiIo;
            let faults = self.faults(Faults { turned, ..Faults::default() });
            let driver: Box<dyn Driver> = Box::new(FaultyDriver::new(ask.title(), faults));
            Ok(driver)
        })?;
        // By its own reading everything is right.
        let trusted = report.wrong().is_none();
        let readings = report.agreement.map(|a| a.readings).unwrap_or_default();
        let problems: Vec<_> = readings.iter().filter(|r| r.problem.is_some()).collect();
        let found = trusted && readings.len() == 3 && problems.len() == 1 && problems[0].case == 1;
        Ok((Some(found), format!("1 of 3 readings of 2 files finds other values, {} told", problems.len())))
    }

    /// Seconds of the calls of every repetition, case by case.
    fn written(&self, faults: &[Faults], repetitions: usize) -> Result<(Results, Vec<Vec<f64>>)> {
        let mut options = self.options(faults.len(), repetitions);
        options.read = false;
        let results = io_results(&self.run(&Alone, &options, faults)?);
        let times = results.sections[0].rows.iter().map(Row::seconds).collect();
        Ok((results, times))
    }

    fn ratio(&self) -> Result<Try> {
        let slow = if self.inject { 1.5 * BRIEF } else { BRIEF };
        let delays = [BRIEF, slow].map(|call| Faults { call, ..Faults::default() });
        let (_, times) = self.written(&delays, OFTEN)?;
        let Some((ratio, Some((low, high)))) = ratio_of_medians(&times[1], &times[0]) else {
            return Ok((Some(false), "no interval".into()));
        };
        let found = (1.3..1.7).contains(&ratio) && low > 1.0;
        Ok((Some(found), format!("1.50 put in, {ratio:.2} [{low:.2}, {high:.2}] measured")))
    }

    fn regression(&self) -> Result<Try> {
        let slow = if self.inject { 1.3 * BRIEF } else { BRIEF };
        let [before, after] =
            [BRIEF, slow].map(|call| self.written(&[Faults { call, ..Faults::default() }], OFTEN));
        let (before, after) = (before?.0, after?.0);
        let (worse, better) = (compare(&before, &after), compare(&after, &before));
        let found = worse.slower(0.1).len() == 1 && better.slower(0.1).is_empty();
        let ratio = worse.changes.first().map_or(0.0, |c| c.ratio);
        Ok((Some(found), format!("1.30 put in, {ratio:.2} found; limit 1.10")))
    }

    fn outlier(&self) -> Result<Try> {
        const LATE: usize = 4;
        let late = self.inject.then_some(LATE);
        let (_, times) = self.written(&[Faults { call: CALL, late, ..Faults::default() }], 9)?;
        let far = outliers(&times[0]);
        Ok((Some(far.contains(&LATE)), format!("repetition {LATE} of 9 was slow, far out are {far:?}")))
    }

    fn cache(&self, cold: bool) -> Result<Try> {
        let mut options = self.options(1, 2);
        // 8 MB: enough for what a system reads ahead to be little.
        options.geometry.data = "8:128:128:16".parse().ok();
        options.caches = vec![if cold == self.inject { CacheAsk::Cold } else { CacheAsk::Warm }];
        // What is still to be written cannot leave the cache.
        options.sync = true;
        let in_memory = Filesystem::of(self.folder).is_some_and(|f| f.in_memory);
        match self.run(&Alone, &options, &[Faults::default()]) {
            Err(Error::Invalid(why)) if cold && in_memory => {
                Ok((Some(true), format!("refused, as it must be: {why}")))
            }
            Err(Error::Invalid(why)) if cold => Ok((None, why)),
            Err(e) => Err(e),
            Ok(_) if cold && in_memory => Ok((Some(false), "not refused".into())),
            Ok(report) => {
                let reads: Vec<&PhaseResult> =
                    report.phases.iter().filter(|p| p.kind == PhaseKind::Read).collect();
                if reads.iter().any(|p| p.from_storage.is_none()) {
                    return Ok((None, "the system does not tell what comes from storage".into()));
                }
                let fetched: Vec<u64> = reads.iter().filter_map(|p| p.from_storage).collect();
                let stored = reads.iter().map(|p| p.stored).max().unwrap_or(0);
                let found = if cold {
                    reads.iter().all(|p| p.cache.label == "cold-verified")
                        && fetched.iter().all(|&n| n as f64 >= 0.99 * stored as f64)
                } else {
                    reads.iter().all(|p| p.cache.label == "warm-verified") && fetched.iter().all(|&n| n == 0)
                };
                let told = format!(
                    "{stored} bytes in the file, {fetched:?} from storage: {}",
                    reads[0].cache.text()
                );
                Ok((Some(found), told))
            }
        }
    }

    /// Threads of this process work as a neighbour would: their time is not told to the guard.
    fn neighbour(&self) -> Try {
        const SPAN: f64 = 0.4;
        let look = Look::now();
        let until = clock::now() + SPAN;
        if self.inject {
            std::thread::scope(|scope| {
                for _ in 0..processors() {
                    scope.spawn(|| {
                        while clock::now() < until {
                            std::hint::spin_loop();
                        }
                    });
                }
            });
        }
        let noise = look.since(0.0);
        match noise.others.filter(|_| self.inject) {
            None if self.inject => (None, "the system does not tell who uses its processors".into()),
            others => {
                let share = others.map_or_else(|| "nothing".to_owned(), |s| format!("{:.0} %", s * 100.0));
                (
                    Some(self.inject && noise.is_disturbing(false)),
                    format!("all processors busy, {share} seen"),
                )
            }
        }
    }
}

fn unknown<T>() -> Result<T> {
    Err(Error::Invalid("no such case".into()))
}

fn median_call(p: &PhaseResult) -> f64 {
    let mut calls: Vec<f64> = p.ranks.iter().flat_map(|r| &r.calls).map(|&s| f64::from(s)).collect();
    calls.sort_by(f64::total_cmp);
    crate::stats::percentile(&calls, 0.5).unwrap_or(0.0)
}
