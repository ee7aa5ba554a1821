//! The workload `convert`: what it costs to write floats in a portable format.
//!
//! In 1993 a Cray wrote 10 million floats by plain system calls nine times faster than through the portable routines of its time, which
//! converted one value after the other and put it, byte by byte, into a stream. The same is measured here: the same floats
//! go to disk
//!
//! * `raw`: as they lie in memory, by system calls. Nothing can be faster, and nobody else can read it;
//! * `stream`: as big-endian floats, one value after the other through two layers of calls, each of its bytes by `fputc`;
//! * `memory`: the same values through the same layers into memory, which then goes to disk by system calls;
//! * `vectorised`: whole blocks converted at once, then system calls;
//! * by ncforge and by netCDF-C, into classic files (big-endian) and netCDF-4 files (in the machine's own order).
//!
//! The time beyond that of `raw` is the *penalty of portability*. Every file is read back and compared.
//!
//! ```
//! use ncforge_bench::rounds::Rounds;
//! use ncforge_bench::workload::convert::{ConvertOptions, run};
//!
//! let rounds = Rounds { repetitions: 1, warmup: 0, guard: false, seed: 1 };
//! let options = ConvertOptions { floats: vec![10_000], rounds, ..ConvertOptions::default() };
//! let section = run(&[], &options, &mut |_| Ok(()))?;
//! assert!(!section.rows.is_empty() && !section.is_wrong());
//! # Ok::<(), ncforge_bench::Error>(())
//! ```

mod floats;
mod ways;

use std::path::{Path, PathBuf};

use serde::Serialize;

use self::floats::Floats;
use self::ways::{Way, write};
use super::io::free_space;
use crate::clock;
use crate::driver::{Driver, NcforgeDriver};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::result::{Measurement, Row, Section};
use crate::rounds::Rounds;
use crate::stats::ratio_of_medians;

/// Options of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct ConvertOptions {
    /// The numbers of floats that are written; each number is a part of its own.
    pub floats: Vec<u64>,
    /// Floats that are converted and written in one call.
    pub block: usize,
    /// The seed of the floats.
    pub seed: u64,
    /// How often.
    pub rounds: Rounds,
    /// Threads of ncforge.
    pub threads: Option<usize>,
    /// The folder of the file; a temporary one by default.
    pub folder: Option<PathBuf>,
}

impl Default for ConvertOptions {
    /// The two sizes of which the predecessor spoke: 10 million floats measured, hundreds of megabytes in use.
    fn default() -> Self {
        ConvertOptions {
            floats: vec![10_000_000, 100_000_000],
            block: 1 << 20,
            seed: 1,
            rounds: Rounds::default(),
            threads: None,
            folder: None,
        }
    }
}

/// Writes the floats in every way, by ncforge and by `libraries`, and gives the section of it: its rows are those of one size after
/// another, `raw` the first of each. `progress` gets what is done next; its error ends the work.
///
/// # Errors
/// [`Error::Invalid`] for wrong options, and where memory or disk are too small; what writing says.
pub fn run(
    libraries: &[&dyn Driver],
    options: &ConvertOptions,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Section> {
    let folder = super::folder(options.folder.as_deref())?;
    check(options, folder.path())?;
    let own = NcforgeDriver::new(options.threads, None);
    let ways = ways::all(&own, libraries);
    let sizes: Vec<String> = options.floats.iter().map(|&n| shown(n)).collect();
    let title = format!("Conversion: {} floats to disk in a portable format", sizes.join(" and "));
    let mut section = Section::new("convert", title);
    for &count in &options.floats {
        progress(&format!("making {count} floats"))?;
        let values = Floats::new(count, options.seed);
        part(&ways, &values, options, folder.path(), progress, &mut section)?;
    }
    section.notes.push(format!(
        "seconds from creating the file to closing it, {} floats a call; raw is what system calls take for the same floats as they lie in memory, and the penalty is what a way takes longer",
        options.block
    ));
    section.detail = serde_json::json!({ "options": options });
    Ok(section)
}

/// One number of floats.
fn part(
    ways: &[Way<'_>],
    values: &Floats,
    options: &ConvertOptions,
    folder: &Path,
    progress: &mut dyn FnMut(&str) -> Result<()>,
    section: &mut Section,
) -> Result<()> {
    let path = folder.join("floats");
    // Memory is taken for a block: of all floats, at most.
    let block = options.block.min(values.len());
    let mut right: Vec<Option<bool>> = vec![None; ways.len()];
    let measured = options.rounds.run(ways.len(), &mut |case, round| {
        let way = &ways[case];
        progress(&format!("{} floats, round {}: {}", values.len(), round + 1, way.name))?;
        // Giving an old file's pages back is no part of writing a new one.
        let _ = std::fs::remove_file(&path);
        let used = clock::usage().0;
        let begun = clock::now();
        write(way, values, block, &path)?;
        let written = clock::now();
        let cpu = clock::usage().0 - used;
        let file = std::fs::File::open(&path).map_err(|e| Error::io("open", &path, e))?;
        file.sync_data().map_err(|e| Error::io("sync", &path, e))?;
        let synced = clock::now();
        let stored = file.metadata().map_err(|e| Error::io("measure", &path, e))?.len();
        let is_right = match right[case] {
            Some(known) => known,
            None => ways::holds(way, values, block, &path)?,
        };
        right[case] = Some(is_right);
        Ok(Measurement {
            sync: Some(synced - written),
            stored: Some(stored),
            cpu: Some(cpu),
            right: Some(is_right),
            ..Measurement::of(written - begun)
        })
    });
    let _ = std::fs::remove_file(&path);
    let measured = measured?;
    let notes = options.rounds.notes(&measured);
    section.notes.extend(notes.into_iter().map(|n| format!("{} floats: {n}", values.len())));
    let mut rows: Vec<Row> =
        ways.iter().zip(measured).map(|(way, all)| row(way, values.len(), all)).collect();
    let raw = rows[0].seconds();
    let mut penalties = Vec::new();
    for row in &mut rows[1..] {
        let Some((ratio, interval)) = ratio_of_medians(&row.seconds(), &raw) else { continue };
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        row.facts.insert("penalty".into(), format!("{:.1}", percent(ratio)));
        row.of_ceiling = Some(1.0 / ratio);
        let sure =
            interval.map_or_else(String::new, |(l, h)| format!(" [{:.0}, {:.0}]", percent(l), percent(h)));
        penalties.push(format!("{} {:.0} %{sure}", row.case, percent(ratio)));
    }
    section.words.push(format!(
        "{} floats: penalty of portability against raw writing: {}",
        shown(values.len() as u64),
        penalties.join("; ")
    ));
    section.rows.extend(rows);
    Ok(())
}

fn row(way: &Way<'_>, floats: usize, measurements: Vec<Measurement>) -> Row {
    let phase = format!("write {} floats", shown(floats as u64));
    let row = Row::new(&way.name, phase, floats as u64 * 4)
        .with("engine", way.engine())
        .with("floats", floats)
        .with("dtype", "f4")
        .with("pattern", "write")
        .with("format", way.format());
    let stored = measurements.last().and_then(|m| m.stored);
    Row { engine: way.engine(), version: way.version(), stored, measurements, ..row }
}

/// A number as people write it: 10 M.
fn shown(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n.is_multiple_of(100_000) => format!("{} M", n as f64 / 1e6),
        n if n >= 1_000 && n.is_multiple_of(100) => format!("{} k", n as f64 / 1e3),
        n => n.to_string(),
    }
}

/// Everything is checked before a file is made.
fn check(options: &ConvertOptions, folder: &Path) -> Result<()> {
    let invalid = |why: String| Err(Error::Invalid(why));
    if options.floats.is_empty()
        || options.floats.contains(&0)
        || options.block == 0
        || options.rounds.repetitions == 0
    {
        return invalid("a measurement needs floats, blocks and repetitions".into());
    }
    let most = options.floats.iter().copied().max().unwrap_or(0);
    let bytes = most.saturating_mul(4);
    let size = crate::report::bytes;
    if let Some(memory) = Environment::capture().memory.filter(|&m| bytes > m / 2) {
        return invalid(format!(
            "{most} floats take {}, more than half of the machine's {} of memory; take fewer",
            size(bytes),
            size(memory)
        ));
    }
    match free_space(&folder.join("floats")) {
        Some(free) if bytes.saturating_add(bytes / 50) > free => invalid(format!(
            "a file of {} is written, and {} are free in `{}`; name another folder",
            size(bytes),
            size(free),
            folder.display()
        )),
        _ => Ok(()),
    }
}
