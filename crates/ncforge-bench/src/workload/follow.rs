//! The workload `follow`: one process appends records to a file, others read them as they come.
//!
//! Rank 0 produces, all others consume. Every repetition of a case has two parts: records are appended while nobody looks, then once more while
//! consumers look again and again, and read what is new. It tells what being read costs the producer, and how long a record takes from its
//! commit to a consumer's memory. What is read is compared with what was written, every value, when the clock stands.
//!
//! ```
//! use ncforge_bench::team::Alone;
//! use ncforge_bench::workload::follow::{FollowOptions, run};
//!
//! // One process cannot follow itself.
//! assert!(run(&Alone, &FollowOptions::new("/tmp"), None).is_err());
//! ```

mod parts;

use std::path::{Path, PathBuf};

use ncforge::Atomic;
use ncforge::words::many;
use serde::{Deserialize, Serialize};

use self::parts::{Consumed, Plan, Produced};
use super::io::{DriverAsk, Values, content_of, free_space, named_driver, type_name};
use crate::driver::{Driver, RecordFile};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::noise::Look;
use crate::result::Measurement;
use crate::stats::{Positions, percentile};
use crate::team::{Crowd, Team, agree, exchange};

pub use self::parts::Container;

/// Bytes that a process may hold of records.
const MOST: u64 = 512 << 20;

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FollowOptions {
    /// Libraries …
    pub drivers: Vec<DriverAsk>,
    /// … and the containers that each of them writes.
    pub containers: Vec<Container>,
    /// Records that are appended.
    pub records: u64,
    /// Type of the values.
    #[serde(with = "type_name", default = "float")]
    pub dtype: Atomic,
    /// Shape of a record.
    pub shape: Vec<u64>,
    /// Records that are appended before a commit.
    pub batch: u64,
    /// Seconds between two commits, as of an instrument or a model.
    pub interval: f64,
    /// Seconds between two looks of a consumer.
    pub poll: f64,
    /// Repetitions that count.
    pub repetitions: usize,
    /// Repetitions before them that do not.
    pub warmup: usize,
    /// Where values, and the order of cases, start.
    pub seed: u64,
    /// Where the file lies.
    pub folder: PathBuf,
    /// Threads of a process of ncforge.
    pub threads: Option<usize>,
}

/// The only one of older results.
fn float() -> Atomic {
    Atomic::Float
}

impl FollowOptions {
    /// Bytes of all records; `None` when that is no number.
    fn bytes(&self) -> Option<u64> {
        let values = self.shape.iter().try_fold(self.records, |a, &n| a.checked_mul(n));
        values.and_then(|n| n.checked_mul(self.dtype.size() as u64))
    }

    /// 200 records of 64 KiB, a commit each.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        FollowOptions {
            drivers: vec![DriverAsk::Ncforge],
            containers: vec![Container::Cdf5, Container::Packed],
            records: 200,
            dtype: Atomic::Float,
            shape: vec![128, 128],
            batch: 1,
            interval: 0.0,
            poll: 0.001,
            repetitions: 3,
            warmup: 1,
            seed: 1,
            folder: folder.into(),
            threads: None,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FollowReport {
    /// The machine.
    pub environment: Environment,
    /// What held the processes together.
    pub team: String,
    /// How many processes there were.
    pub ranks: usize,
    /// What was asked.
    pub options: FollowOptions,
    /// A library and a container each.
    pub cases: Vec<FollowCase>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A library and a container.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FollowCase {
    /// Its name.
    pub name: String,
    /// The library.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// The container's name.
    pub container: String,
    /// Bytes of the file at the end.
    pub stored: u64,
    /// Appending while nobody looks.
    pub alone: Vec<Measurement>,
    /// Appending while others read.
    pub followed: Vec<Measurement>,
    /// Reading, from the first append to the last record that the last consumer has.
    pub following: Vec<Measurement>,
    /// Seconds from a commit's end to a consumer's memory, of all records, repetitions and consumers, sorted.
    pub lags: Vec<f32>,
    /// Looks that consumers took, in all repetitions.
    pub looks: u64,
    /// The most records that a consumer found at once.
    pub behind: u64,
}

struct Case {
    name: String,
    driver: Box<dyn Driver>,
    container: Container,
    file: RecordFile,
    path: PathBuf,
}

/// Runs the workload; every rank of the team calls this with the same options, and gets the same report. `stop` is asked now and then whether to
/// give up.
///
/// # Errors
/// [`Error::Invalid`] for what does not fit, before a file is touched. Files are removed, however it ends.
pub fn run(
    team: &dyn Team,
    options: &FollowOptions,
    stop: Option<&dyn Fn() -> bool>,
) -> Result<FollowReport> {
    let prepared =
        agree(team, check(options, team.size()).and_then(|()| one_node(team)).and_then(|()| cases(options)));
    let (all, left_out) = prepared.map_err(|e| match e {
        Error::Rank { rank: 0, message, code: 2, told: true } => Error::Invalid(message),
        e => e,
    })?;
    let crowd = Crowd::of(team)?;
    let found = measure(team, options, &all, stop, crowd);
    if team.rank() == 0 {
        all.iter().for_each(|c| remove(&c.path));
    }
    let mut cases = found?;
    cases.iter_mut().for_each(|c| c.lags.sort_by(f32::total_cmp));
    let mut notes = left_out;
    if crowd.is_crowded() {
        notes.push(format!(
            "{} processes share {}: lags say more about the scheduler than about files",
            crowd.ranks,
            many(crowd.processors as u64, "processor")
        ));
    }
    let disturbed: usize =
        cases.iter().flat_map(|c| c.alone.iter().chain(&c.followed)).filter(|m| m.disturbed).count();
    if disturbed > 0 {
        notes.push(format!("something else used the machine during {disturbed} measurements"));
    }
    let drivers: Vec<&dyn Driver> = all.iter().map(|c| c.driver.as_ref()).collect();
    let environment = Environment::capture().completed(&options.folder.join("follow"), &drivers);
    Ok(FollowReport {
        environment: exchange(team, &environment)?.swap_remove(0),
        team: team.kind(),
        ranks: team.size(),
        options: options.clone(),
        cases,
        notes,
    })
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(ncforge::dataset::partial_path(path));
}

/// What a run would do, in words, after all checks; nothing is written.
///
/// # Errors
/// As [`run`].
pub fn plan(options: &FollowOptions, processes: usize) -> Result<String> {
    check(options, processes)?;
    let (cases, left_out) = cases(options)?;
    let size = crate::report::bytes;
    let bytes = options.bytes().unwrap_or(u64::MAX);
    let rounds = options.warmup.saturating_add(options.repetitions);
    let commits = options.records.div_ceil(options.batch);
    let mut out = format!(
        "records  {} of {} ({} as {}), {} in all\ncommits  {commits} of {} each, at least {} apart\n",
        options.records,
        size(bytes / options.records.max(1)),
        type_name::of(options.dtype),
        super::io::written(&options.shape),
        size(bytes),
        options.batch,
        crate::report::seconds(options.interval),
    );
    out += &format!(
        "ranks    a producer, {} that read and look every {}\n",
        processes - 1,
        crate::report::seconds(options.poll)
    );
    for (number, case) in cases.iter().enumerate() {
        let head = if number == 0 { "cases   " } else { "        " };
        out += &format!("{head} {} {}\n", number + 1, case.name);
    }
    // Appended twice in each: while nobody looks, and while others read.
    let work = rounds.saturating_mul(cases.len()).saturating_mul(2) as u64;
    out += &format!(
        "work     {rounds} rounds of {} cases, each appended twice: {} written, {} committed\n",
        cases.len(),
        size(bytes.saturating_mul(work)),
        commits.saturating_mul(work),
    );
    let between = options.interval * commits.saturating_sub(1) as f64 * work as f64;
    out +=
        &format!("time     {} between commits; the disk takes the rest\n", crate::report::seconds(between));
    if let Some(free) = free_space(&options.folder.join("follow")) {
        out += &format!("space    {} for the file, {} free\n", size(bytes), size(free));
    }
    left_out.iter().for_each(|note| out += &format!("note: {note}\n"));
    Ok(out)
}

fn one_node(team: &dyn Team) -> Result<()> {
    match team.nodes() {
        0 | 1 => Ok(()),
        _ => Err(Error::Invalid(
            "clocks of several machines are not one, and lags could not be told; run on one node".into(),
        )),
    }
}

fn check(options: &FollowOptions, processes: usize) -> Result<()> {
    let invalid = |why: String| Err(Error::Invalid(why));
    if processes < 2 {
        return invalid("a producer needs a consumer: two processes at least".into());
    }
    if options.records == 0 || options.batch == 0 || options.shape.contains(&0) || options.repetitions == 0 {
        return invalid("a measurement needs records, values in them, and repetitions".into());
    }
    if options.drivers.is_empty() || options.containers.is_empty() {
        return invalid("a measurement needs a library and a container".into());
    }
    for (what, seconds) in [("--interval", options.interval), ("--poll", options.poll)] {
        if !(seconds.is_finite() && (0.0..=3600.0).contains(&seconds)) {
            return invalid(format!("{what} takes seconds, 0 to 3600"));
        }
    }
    let Some(bytes) = options.bytes().filter(|&b| b <= MOST) else {
        return invalid(format!(
            "records of {} in all are held in memory at most; take fewer, or smaller ones",
            crate::report::bytes(MOST)
        ));
    };
    match free_space(&options.folder.join("follow")) {
        Some(free) if bytes > free => invalid(format!(
            "a file of {} is written, and {} are free in `{}`; name another folder",
            crate::report::bytes(bytes),
            crate::report::bytes(free),
            options.folder.display()
        )),
        _ => Ok(()),
    }
}

/// The cases, and what is to be said about those that no library can do.
fn cases(options: &FollowOptions) -> Result<(Vec<Case>, Vec<String>)> {
    let mut cases: Vec<Case> = Vec::new();
    let mut left_out = Vec::new();
    for ask in &options.drivers {
        let mut plain = false;
        for &container in &options.containers {
            let driver = named_driver(ask, options.threads)?;
            let file = RecordFile {
                format: container.format(),
                packed: container.is_packed(),
                dtype: options.dtype,
                shape: options.shape.clone(),
            };
            if let Some(why) = driver.refuses_following(&file) {
                left_out.push(format!("left out: {}, {}: {why}", driver.name(), container.name()));
                continue;
            }
            // System calls know no containers: one is enough.
            if std::mem::replace(&mut plain, ask.is_plain()) {
                continue;
            }
            let name = match ask.is_plain() {
                true => driver.name().to_owned(),
                false => {
                    format!("{}, {}", driver.name().rsplit('/').next().unwrap_or_default(), container.name())
                }
            };
            let ending = if container.is_packed() { "ncz" } else { driver.extension().unwrap_or("nc") };
            let path = options.folder.join(format!("follow.{}.{ending}", cases.len() + 1));
            if std::fs::symlink_metadata(&path).is_ok() {
                return Err(Error::Invalid(format!("`{}` exists; name another folder", path.display())));
            }
            cases.push(Case { name, driver, container, file, path });
        }
    }
    match cases.is_empty() {
        true => Err(Error::Invalid(left_out.join("; "))),
        false => Ok((cases, left_out)),
    }
}

fn measure(
    team: &dyn Team,
    options: &FollowOptions,
    cases: &[Case],
    stop: Option<&dyn Fn() -> bool>,
    crowd: Crowd,
) -> Result<Vec<FollowCase>> {
    let mut found: Vec<FollowCase> = cases
        .iter()
        .map(|c| FollowCase {
            name: c.name.clone(),
            engine: c.driver.name().to_owned(),
            version: c.driver.version(),
            container: if c.driver.extension().is_some() { "bytes" } else { c.container.name() }.to_owned(),
            stored: 0,
            alone: Vec::new(),
            followed: Vec::new(),
            following: Vec::new(),
            lags: Vec::new(),
            looks: 0,
            behind: 0,
        })
        .collect();
    let shape: Vec<u64> = std::iter::once(options.records).chain(options.shape.iter().copied()).collect();
    let values = Values { dtype: options.dtype, ..content_of(&shape, options.seed) };
    let mut all = vec![0u8; options.records as usize * cases[0].file.record()];
    values.fill(&ncforge::Hyperslab::all(&shape), 0, &mut all);
    let mut random = Positions::new(options.seed);
    for round in 0..options.warmup.saturating_add(options.repetitions) {
        let mut order: Vec<usize> = (0..cases.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        for number in order {
            let (case, counted) = (&cases[number], round >= options.warmup);
            let plan = Plan {
                team,
                options,
                driver: case.driver.as_ref(),
                file: &case.file,
                path: &case.path,
                all: &all,
                stop,
                crowded: crowd.is_crowded(),
            };
            let (alone, _, first) = part(&plan, false)?;
            let (produced, consumed, second) = part(&plan, true)?;
            let stored = std::fs::metadata(&case.path).map_or(0, |m| m.len());
            let stored = exchange(team, &stored)?[0];
            // The next repetition makes a file of its own.
            team.barrier()?;
            if team.rank() == 0 {
                remove(&case.path);
            }
            if !counted {
                continue;
            }
            let slot = &mut found[number];
            let rep = round - options.warmup;
            slot.stored = stored;
            slot.alone.push(Measurement { rep, stored: Some(stored), ..alone.measurement(first) });
            slot.followed.push(Measurement { rep, stored: Some(stored), ..produced.measurement(second) });
            let mut lags: Vec<f64> = consumed.iter().flat_map(|c| c.lags(&produced)).collect();
            lags.sort_by(f64::total_cmp);
            let end = consumed.iter().filter_map(|c| c.seen.last()).copied().fold(produced.begun, f64::max);
            slot.following.push(Measurement {
                rep,
                calls: percentile(&lags, 0.5).zip(percentile(&lags, 0.99)),
                cpu: Some(consumed.iter().map(|c| c.cpu).sum()),
                right: Some(consumed.iter().all(|c| c.wrong == 0)),
                noise: second.0,
                disturbed: second.1,
                ..Measurement::of(end - produced.begun)
            });
            slot.lags.extend(lags.iter().map(|&s| s as f32));
            slot.looks += consumed.iter().map(|c| c.looks).sum::<u64>();
            slot.behind = consumed.iter().map(|c| c.most).max().unwrap_or(0).max(slot.behind);
        }
    }
    Ok(found)
}

/// One part: what was produced, what consumers did, what else went on.
fn part(plan: &Plan<'_>, followed: bool) -> Result<(Produced, Vec<Consumed>, (crate::noise::Noise, bool))> {
    let team = plan.team;
    let look = Look::now();
    let (mut produced, mut consumed) = (Produced::default(), Consumed::default());
    plan.part(followed, &mut produced, &mut consumed)?;
    let produced = exchange(team, &produced)?.swap_remove(0);
    let consumed: Vec<Consumed> = exchange(team, &consumed)?.split_off(1);
    let ours = produced.cpu + consumed.iter().map(|c| c.cpu).sum::<f64>();
    let noise = look.since(ours);
    let seen = exchange(team, &(noise, noise.is_disturbing(plan.crowded)))?[0];
    Ok((produced, consumed, seen))
}
