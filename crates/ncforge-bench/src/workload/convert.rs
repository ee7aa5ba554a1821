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
//! What each of them takes longer than `raw` is the *penalty of portability*. Every file is read back and compared.
//!
//! ```
//! use ncforge_bench::rounds::Rounds;
//! use ncforge_bench::workload::convert::{ConvertOptions, run};
//!
//! let rounds = Rounds { repetitions: 1, warmup: 0, guard: false, seed: 1 };
//! let options = ConvertOptions { floats: vec![10_000], rounds, ..ConvertOptions::default() };
//! let report = run(&[], &options, &mut |_| Ok(()))?;
//! assert!(report.rows.iter().all(|r| r.right));
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
use crate::result::Measurement;
use crate::rounds::Rounds;

pub use ways::WayName;

/// What is measured.
#[derive(Clone, Debug, Serialize)]
pub struct ConvertOptions {
    /// How many floats are written; each number is a part of its own.
    pub floats: Vec<u64>,
    /// Floats that are converted and written in one call.
    pub block: usize,
    /// Where the floats start.
    pub seed: u64,
    /// How often.
    pub rounds: Rounds,
    /// Threads of ncforge.
    pub threads: Option<usize>,
    /// Where the file is made; a temporary folder by default.
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

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct ConvertReport {
    /// The machine.
    pub environment: Environment,
    /// What was asked.
    pub options: ConvertOptions,
    /// The measurements, size by size; the first row of each size is `raw`.
    pub rows: Vec<ConvertRow>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// One way to write so many floats.
#[derive(Clone, Debug, Serialize)]
pub struct ConvertRow {
    /// The way.
    pub way: WayName,
    /// Who did it: a library, or "system calls".
    pub engine: String,
    /// Its version, where it has one.
    pub version: String,
    /// How many floats.
    pub floats: u64,
    /// Bytes of the file.
    pub stored: u64,
    /// Seconds from creating to closing, and until the file was on disk.
    pub measurements: Vec<Measurement>,
    /// Whether the file holds the floats.
    pub right: bool,
}

/// Writes the floats in every way, by ncforge and by `libraries`. `progress` is told what is done next; its error ends the work.
///
/// # Errors
/// [`Error::Invalid`] for options that make no sense, and where memory or disk have no room; what writing says.
pub fn run(
    libraries: &[&dyn Driver],
    options: &ConvertOptions,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<ConvertReport> {
    let folder = super::folder(options.folder.as_deref())?;
    check(options, folder.path())?;
    let own = NcforgeDriver::new(options.threads, None);
    let ways = ways::all(&own, libraries);
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for &count in &options.floats {
        progress(&format!("making {count} floats"))?;
        let values = Floats::new(count, options.seed);
        let (found, more) = part(&ways, &values, options, folder.path(), progress)?;
        rows.extend(found);
        notes.extend(more.into_iter().map(|n| format!("{count} floats: {n}")));
    }
    let environment = Environment::capture_for(folder.path());
    Ok(ConvertReport { environment, options: options.clone(), rows, notes })
}

/// One number of floats.
fn part(
    ways: &[Way<'_>],
    values: &Floats,
    options: &ConvertOptions,
    folder: &Path,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<(Vec<ConvertRow>, Vec<String>)> {
    let path = folder.join("floats");
    // Room is made for a block: of all floats, at most.
    let block = options.block.min(values.len());
    let mut stored = vec![0; ways.len()];
    let mut right: Vec<Option<bool>> = vec![None; ways.len()];
    let measured = options.rounds.run(ways.len(), &mut |case, round| {
        let way = &ways[case];
        progress(&format!("{} floats, round {}: {}", values.len(), round + 1, way.name.text()))?;
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
        stored[case] = file.metadata().map_err(|e| Error::io("measure", &path, e))?.len();
        let is_right = match right[case] {
            Some(known) => known,
            None => ways::holds(way, values, block, &path)?,
        };
        right[case] = Some(is_right);
        Ok(Measurement {
            sync: Some(synced - written),
            cpu: Some(cpu),
            right: Some(is_right),
            ..Measurement::of(written - begun)
        })
    });
    let _ = std::fs::remove_file(&path);
    let measured = measured?;
    let notes = options.rounds.notes(&measured);
    let rows = ways
        .iter()
        .zip(measured)
        .enumerate()
        .map(|(i, (way, measurements))| ConvertRow {
            way: way.name.clone(),
            engine: way.engine(),
            version: way.version(),
            floats: values.len() as u64,
            stored: stored[i],
            measurements,
            right: right[i] == Some(true),
        })
        .collect();
    Ok((rows, notes))
}

/// Everything is looked at before a file is made.
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
