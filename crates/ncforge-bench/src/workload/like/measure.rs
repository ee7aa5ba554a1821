//! Every layout, written and read by every driver.

use std::path::{Path, PathBuf};

use ncforge::engine::{Engine, EngineOptions};
use ncforge::model::VarId;
use ncforge::tune::Pattern;
use ncforge::{CreateOptions, DatasetMut, Hyperslab};

use super::LikeOptions;
use super::layout::{Layout, Part};
use crate::cache::{self, CacheState};
use crate::clock;
use crate::driver::{Access, Driver, NcforgeDriver, RawDriver};
use crate::error::{Error, Result};
use crate::result::Measurement;
use crate::stats::Positions;

/// One row: a layout, a driver, and what was done.
pub(super) struct Found {
    /// Position of the layout; `None`: plain system calls, without a format.
    pub(super) layout: Option<usize>,
    pub(super) engine: String,
    pub(super) version: String,
    /// Position of the read; `None`: written.
    pub(super) read: Option<usize>,
    pub(super) stored: u64,
    pub(super) measurements: Vec<Measurement>,
}

/// What is done in one case.
enum Work<'a> {
    /// By ncforge, which has every filter.
    Write(usize),
    /// By another library, or by system calls.
    WriteBy(usize, &'a dyn Driver),
    /// Layout, library, read.
    Read(usize, &'a dyn Driver, usize),
}

#[expect(clippy::too_many_arguments, reason = "the parts of one measurement, from one caller")]
pub(super) fn all(
    own: &NcforgeDriver,
    libraries: &[&dyn Driver],
    part: &Part,
    layouts: &[Layout],
    reads: &[Pattern],
    options: &LikeOptions,
    folder: &Path,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Vec<Found>> {
    let engine = Engine::new(EngineOptions { threads: options.threads, memory: options.memory })?;
    let file = |layout: usize| folder.join(format!("layout-{layout}.nc"));
    for (i, layout) in layouts.iter().enumerate() {
        progress(&format!("storing it: {}", layout.name))?;
        write(&file(i), part, layout, &engine)?;
        settled(&file(i))?;
    }
    let mut works: Vec<Work<'_>> = Vec::new();
    for (i, layout) in layouts.iter().enumerate() {
        works.push(Work::Write(i));
        if layout.spec(part).is_some_and(|s| own.refuses(&s, &Access::Alone).is_none()) {
            works.extend(libraries.iter().map(|l| Work::WriteBy(i, *l)));
        }
    }
    let raw = RawDriver;
    works.push(Work::WriteBy(usize::MAX, &raw));
    for read in 0..reads.len() {
        for i in 0..layouts.len() {
            let all = [own as &dyn Driver].into_iter().chain(libraries.iter().copied());
            works.extend(all.filter(|d| reads_it(*d, &file(i), part)).map(|d| Work::Read(i, d, read)));
        }
    }
    let scratch = folder.join("written");
    let mut stored = vec![0; works.len()];
    let measured = options.rounds.run(works.len(), &mut |case, round| {
        progress(&format!("round {}, {} of {}", round + 1, case + 1, stored.len()))?;
        match &works[case] {
            Work::Write(i) => {
                let m = timed(&scratch, || write(&scratch, part, &layouts[*i], &engine))?;
                stored[case] = size(&scratch)?;
                Ok(m)
            }
            Work::WriteBy(i, driver) => {
                let m = timed(&scratch, || write_by(*driver, &scratch, part, layouts.get(*i)))?;
                stored[case] = size(&scratch)?;
                Ok(m)
            }
            Work::Read(i, driver, read) => {
                stored[case] = size(&file(*i))?;
                read_once(*driver, &file(*i), part, &reads[*read], round, options)
            }
        }
    });
    let _ = std::fs::remove_file(&scratch);
    let found = works.iter().zip(measured?).zip(stored).map(|((work, measurements), stored)| {
        let (layout, driver, read): (usize, &dyn Driver, _) = match work {
            Work::Write(i) => (*i, own, None),
            Work::WriteBy(i, d) => (*i, *d, None),
            Work::Read(i, d, read) => (*i, *d, Some(*read)),
        };
        Found {
            layout: (layout < layouts.len()).then_some(layout),
            engine: driver.name().to_owned(),
            version: driver.version(),
            read,
            stored,
            measurements,
        }
    });
    Ok(found.collect())
}

fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(|e| Error::io("measure", path, e))?.len())
}

/// Brings a file to disk, so that it can leave the page cache.
fn settled(path: &Path) -> Result<()> {
    let file = std::fs::File::open(path).map_err(|e| Error::io("open", path, e))?;
    file.sync_data().map_err(|e| Error::io("sync", path, e))
}

/// Times a new file, until it is closed and until it is on disk.
fn timed(path: &Path, write: impl FnOnce() -> Result<()>) -> Result<Measurement> {
    let _ = std::fs::remove_file(path);
    let begun = clock::now();
    write()?;
    let written = clock::now();
    settled(path)?;
    Ok(Measurement { sync: Some(clock::now() - written), ..Measurement::of(written - begun) })
}

fn write(path: &Path, part: &Part, layout: &Layout, engine: &Engine) -> Result<()> {
    let options = CreateOptions {
        overwrite: true,
        engine: Some(engine.clone()),
        fill: false,
        ..CreateOptions::default()
    };
    let mut file = DatasetMut::create(path, layout.schema(part), options)?;
    for (slab, bytes) in part.steps(layout.chunks.as_deref()) {
        file.write_bytes(VarId(0), &slab, &part.values[bytes])?;
    }
    Ok(file.close()?)
}

/// By another driver; without a layout, as plain bytes.
fn write_by(driver: &dyn Driver, path: &Path, part: &Part, layout: Option<&Layout>) -> Result<()> {
    let plain = Layout { name: "", format: ncforge::Format::Netcdf4, chunks: None, filters: Vec::new() };
    let layout = layout.unwrap_or(&plain);
    let spec = layout.spec(part).ok_or_else(|| Error::Invalid("filters that only ncforge has".into()))?;
    let mut file = driver.create(path, &spec, &Access::Alone)?;
    for (slab, bytes) in part.steps(layout.chunks.as_deref()) {
        file.write(0, &slab, &part.values[bytes])?;
    }
    file.close()
}

/// Whether a library reads the file: builds differ in the filters that they have.
fn reads_it(driver: &dyn Driver, path: &Path, part: &Part) -> bool {
    let one = Hyperslab::new(&vec![0; part.shape.len()], &vec![1; part.shape.len()]);
    let mut out = vec![0; part.dtype.size()];
    driver.open(path).and_then(|mut s| s.read("v", &one, &mut out)).is_ok()
}

/// One read at a place that follows from the round, in a file just opened.
fn read_once(
    driver: &dyn Driver,
    path: &Path,
    part: &Part,
    pattern: &Pattern,
    round: usize,
    options: &LikeOptions,
) -> Result<Measurement> {
    const POISON: u8 = 0xA5;
    let mut positions = Positions::new(options.rounds.seed.wrapping_add(round as u64 * 1009));
    let start: Vec<u64> =
        part.shape.iter().zip(&pattern.counts).map(|(&n, &c)| positions.below(n - c + 1)).collect();
    let slab = Hyperslab::new(&start, &pattern.counts);
    let mut out = vec![POISON; slab.len() as usize * part.dtype.size()];
    let files = [PathBuf::from(path)];
    if options.cold {
        cache::make_cold(&files)?;
    } else {
        cache::warm(path)?;
    }
    let before = cache::resident_of(&files);
    let label = if options.cold { "cold-unverified" } else { "warm-verified" };
    let (fetched, begun) = (clock::storage_read(), clock::now());
    let mut session = driver.open(path)?;
    let opened = clock::now();
    session.read("v", &slab, &mut out)?;
    let read = clock::now();
    drop(session);
    let from_storage = fetched.zip(clock::storage_read()).map(|(a, b)| b.saturating_sub(a));
    // A part of a file is read: what came from storage says that it was cold, not how much of it.
    let proven = options.cold && from_storage.is_some_and(|n| n > 0) && before == Some(0.0);
    let cache = CacheState {
        label: if proven { "cold-verified" } else { label }.to_owned(),
        percent: if options.cold { None } else { before.map(|s| s * 100.0) },
    };
    Ok(Measurement {
        open: Some(opened - begun),
        cache: Some(cache),
        from_storage,
        right: Some(is_right(part, &slab, &out)),
        ..Measurement::of(read - opened)
    })
}

/// Whether these are the values of the selection.
fn is_right(part: &Part, slab: &Hyperslab, out: &[u8]) -> bool {
    let size = part.dtype.size();
    let dims = part.shape.len();
    let width = slab.count[dims - 1] as usize * size;
    let outer: Vec<_> = (0..dims - 1).map(|d| slab.start[d]..slab.end(d)).collect();
    ncforge::select::coordinates(&outer).zip(out.chunks(width.max(1))).all(|(at, row)| {
        let index = (0..dims - 1).fold(0, |i, d| i * part.shape[d] + at[d]);
        let first = (index * part.shape[dims - 1] + slab.start[dims - 1]) as usize * size;
        part.values.get(first..first + width) == Some(row)
    })
}
