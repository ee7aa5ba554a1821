//! The workload `combine`: the tiles of a model put together, by every library and tool, to every kind of file.
//!
//! One four-dimensional float variable of an ocean-like field with land, cut into tiles, twice: as classic files, and as
//! deflated netCDF-4 ones with a chunk for every level of a tile. [`Phase`] names the work on them. All do the
//! same work in a phase: the same tiles, the same output format, chunks and compression; the program `cat`, which only moves
//! the tiles' bytes, is the measure. Every output's values are compared with the field.
//!
//! ```
//! use ncforge_bench::workload::combine::{Options, run};
//!
//! let options = Options { shape: [2, 3, 40, 60], tiles: (2, 2), repetitions: 1, ..Options::default() };
//! let section = run(&[], &options, &mut |_| {})?;
//! assert!(!section.is_wrong());
//! assert!(section.rows.iter().any(|r| r.engine == "ncforge" && r.phase == "move"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod field;
mod options;
mod outputs;
mod phase;
mod programs;
mod tiles;
mod tool;

use std::path::Path;

use ncforge::{Engine, EngineOptions};

use crate::clock::{forget_peak, now, peak, usage};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::noise::Snapshot;
use crate::result::{Measurement, PublishedFigure, Row, Section};

use self::field::Field;
pub use self::options::Options;
use self::options::{USUAL, check};
use self::outputs::Job;
pub use self::phase::Phase;
use self::phase::Used;
use self::tiles::TileSet;
pub use self::tool::Tool;

/// Seconds that rebuild_nemo and mppnccombine took to re-encode the default set, where `cat` takes 0.11 s.
const PUBLISHED: [(&str, f64); 2] =
    [("rebuild_nemo, 2 processors", 17.3), ("mppnccombine, 2 processors", 15.4)];

/// Makes the tiles, and combines them by ncforge, by `libraries` and by the tools of the options. `progress` gets what
/// is going on.
///
/// # Errors
/// [`Error::Invalid`] for wrong options; what reading and writing say.
pub fn run(libraries: &[&dyn Driver], options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Section> {
    check(options)?;
    let folder = super::folder(options.folder.as_deref())?;
    let field = Field::new(options);
    // An engine for every piece of work, so that none finds, or is charged with, what an earlier one has in memory.
    let engine = || Engine::new(EngineOptions { threads: options.threads, memory: options.memory });
    progress("making the tiles");
    let make = |name: &str, deflated| {
        TileSet::make(&folder.path().join(name), &field, options.tiles, deflated, &engine()?)
    };
    let (classic, deflated) = (make("classic", false)?, make("deflated", true)?);
    let output = folder.path().join("whole.nc");
    let mut section = Section::new("combine", title(options));
    let even =
        options.shape[3].is_multiple_of(options.tiles.0) && options.shape[2].is_multiple_of(options.tiles.1);
    if !even {
        section
            .notes
            .push("tiles are not of one size, and so are their chunks: none is moved as it is".into());
    }
    for phase in Phase::ALL.into_iter().filter(|p| even || *p != Phase::Move) {
        let set = if phase.takes_classic() { &classic } else { &deflated };
        let job = Job { phase, set, field: &field, options, output: &output };
        let mut rows = vec![
            row("cat", "cat", "", phase, set.bytes),
            row("ncforge", "ncforge", env!("CARGO_PKG_VERSION"), phase, field.bytes()),
        ];
        // No library's interface moves chunks as they are.
        let others: &[&dyn Driver] = if phase == Phase::Move { &[] } else { libraries };
        rows.extend(others.iter().map(|d| row(d.name(), d.name(), &d.version(), phase, field.bytes())));
        let tools: Vec<&Tool> = options.tools.iter().filter(|t| t.phase == phase).collect();
        rows.extend(tools.iter().map(|t| row(&t.name, &t.name, "", phase, field.bytes())));
        for rep in 0..options.repetitions {
            for (i, row) in rows.iter_mut().enumerate() {
                progress(&format!("{}: {}", phase.words(), row.case));
                let measured = match i {
                    0 => measure(&output, rep, || programs::cat(set, &output)),
                    1 => measure(&output, rep, || job.by_ncforge()),
                    i if i < 2 + others.len() => measure(&output, rep, || job.by_library(others[i - 2])),
                    i => measure(&output, rep, || {
                        programs::run(tools[i - 2 - others.len()], set, options.chunks, &output)
                    }),
                };
                match measured {
                    Ok(mut m) => {
                        // Every repetition writes the same.
                        m.right =
                            if i > 0 && rep == 0 { Some(field.is_in(&output, &engine()?)?) } else { None };
                        row.measurements.push(m);
                    }
                    // A library or a tool that cannot do it is noted, and left out.
                    Err(e) if i > 1 => {
                        let note = format!("{} cannot do `{}`: {e}", row.case, phase.name());
                        if !section.notes.contains(&note) {
                            section.notes.push(note);
                        }
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        rows.retain(|r| !r.measurements.is_empty());
        finish(&mut rows, phase, options, &mut section);
        section.rows.extend(rows);
    }
    sizes(&mut section);
    against_classic(&mut section);
    Ok(section)
}

fn title(options: &Options) -> String {
    let [t, z, y, x] = options.shape;
    let land = match (options.land * 100.0, options.floor * 100.0) {
        (a, b) if (a - b).abs() < 0.5 => format!("{a:.0}"),
        (a, b) => format!("{a:.0} to {b:.0}"),
    };
    format!("{t} x {z} x {y} x {x} floats, {land} % land, in {} x {} tiles", options.tiles.0, options.tiles.1)
}

fn row(case: &str, engine: &str, version: &str, phase: Phase, bytes: u64) -> Row {
    let mut row = Row::new(case, phase.name(), bytes).with("what", phase.words());
    row.engine = engine.to_owned();
    row.version = version.to_owned();
    row
}

/// Runs one repetition, beginning without an output, with the page cache as it is: warm.
fn measure(output: &Path, rep: usize, work: impl FnOnce() -> Result<Option<Used>>) -> Result<Measurement> {
    let _ = std::fs::remove_file(output);
    reset_peak();
    let (noise, (cpu, _), begin) = (Snapshot::now(), usage(), now());
    let used = work()?;
    let (seconds, (after, _)) = (now() - begin, usage());
    let own = after - cpu;
    let (cpu, memory) = match used {
        Some(used) => (used.cpu, used.memory),
        None => (own, peak()),
    };
    let noise = noise.since(cpu);
    let meta = std::fs::metadata(output).map_err(|e| Error::io("measure", output, e))?;
    Ok(Measurement {
        rep,
        disturbed: noise.is_disturbing(false),
        stored: Some(meta.len()),
        cpu: Some(cpu),
        memory: Some(memory),
        noise,
        ..Measurement::of(seconds)
    })
}

/// Gives back what nobody uses any more, and lets the system forget the most memory that this process had. (A program
/// that is started begins with the memory of the one that starts it, and that would count as its own.)
fn reset_peak() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: frees pages that the allocator holds but nobody uses.
    unsafe {
        libc::malloc_trim(0);
    }
    forget_peak();
}

/// Sets the rows of a phase against `cat`, and says how they stand.
fn finish(rows: &mut [Row], phase: Phase, options: &Options, section: &mut Section) {
    let median = |r: &Row| r.summary().map(|s| s.median);
    let Some(cat) = rows.first().and_then(median) else { return };
    for row in rows.iter_mut().skip(1) {
        let Some(seconds) = median(row) else { continue };
        row.facts.insert("times_cat".into(), format!("{:.2}", seconds / cat));
        row.stored = row.measurements.first().and_then(|m| m.stored);
    }
    let Some(ours) = rows.get(1).and_then(median) else { return };
    let mut words = format!("{}: {:.2} times `cat`", phase.words(), ours / cat);
    for other in &rows[2..] {
        if let Some(theirs) = median(other) {
            words.push_str(&format!(", {:.1} times as fast as {}", theirs / ours, other.case));
        }
    }
    if phase == Phase::Recode && options.shape == USUAL && options.tiles == (4, 4) {
        let (source, value) = PUBLISHED[1];
        rows[1].published = Some(PublishedFigure {
            source: source.into(),
            value,
            ours,
            unit: "s".into(),
            more_is_better: false,
        });
        for (source, value) in PUBLISHED {
            words.push_str(&format!(
                ", {:.1} times as fast as the published {value} s of {source}",
                value / ours
            ));
        }
    }
    section.words.push(words);
}

/// Deflated output by ncforge against classic output through each library: the first is smaller, and is it sooner there?
fn against_classic(section: &mut Section) {
    let median = |r: &Row| r.summary().map(|s| s.median);
    let mut words = Vec::new();
    for (ours, theirs) in [("deflate", "plain"), ("recode", "inflate")] {
        let rows = |phase: &'static str| section.rows.iter().filter(move |r| r.phase == phase);
        let Some(our) = rows(ours).find(|r| r.case == "ncforge") else { continue };
        for their in rows(theirs).filter(|r| r.case != "ncforge" && r.case != "cat") {
            if let (Some(a), Some(b)) = (median(our), median(their)) {
                words.push(format!(
                    "`{ours}` by ncforge takes {:.2} times the time of `{theirs}` by {}",
                    a / b,
                    their.case
                ));
            }
        }
    }
    section.words.extend(words);
}

/// The size of every output against the classic one.
fn sizes(section: &mut Section) {
    let classic =
        section.rows.iter().find(|r| r.case == "ncforge" && r.phase == "plain").and_then(|r| r.stored);
    let Some(classic) = classic else { return };
    for row in section.rows.iter_mut().filter(|r| r.case != "cat") {
        if let Some(stored) = row.stored.filter(|&n| n > 0) {
            row.facts.insert("smaller".into(), format!("{:.2}", classic as f64 / stored as f64));
        }
    }
}
