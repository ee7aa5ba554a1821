//! A file taken apart, for those who draw it: what every byte is for, how every chunk came out, and what the usual
//! reads touch.

use super::facts::{Facts, VarFacts};
use super::{DoctorOptions, Report, gather, report};
use crate::points::Points;
use ncforge::model::shape;
use ncforge::raw::ChunkGrid;
use ncforge::{Engine, Hyperslab, Result};
use ncforge_tune::codec::Method;
use ncforge_tune::{Cost, Grid, Pattern};
use std::collections::HashMap;
use std::path::Path;

/// Runs of bytes that are listed one by one; more of them (records of many variables) are listed together.
const MOST_RUNS: usize = 400_000;

/// The use of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Headers, indexes, descriptions.
    Metadata,
    /// Values of the variable with this place in [`Anatomy::variables`].
    Data(usize),
    /// Records of several variables, one after the other, too many to be listed apart.
    Records,
    /// Nothing that was looked at: free space, padding, heaps of strings.
    Nothing,
}

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first one.
    pub from: u64,
    /// How many.
    pub len: u64,
    /// The use of the bytes.
    pub what: Use,
}

/// A chunk as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// Its place in the grid.
    pub at: Vec<u64>,
    /// Its first byte.
    pub offset: u64,
    /// Its stored bytes.
    pub len: u64,
}

/// A read in the middle of a variable, and what it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The name of the read, and how many elements of each axis it takes.
    pub pattern: Pattern,
    /// The first element on each axis.
    pub start: Vec<u64>,
    /// Chunks that it touches; 0 where there are none.
    pub chunks: u64,
    /// Bytes that were asked for.
    pub wanted: u64,
    /// Bytes that are fetched from the file: stored, so perhaps compressed ones.
    pub fetched: u64,
    /// Bytes that are decoded; 0 without filters.
    pub decoded: u64,
    /// Its predicted cost, as stored, at a random place.
    pub before: Cost,
    /// The cost with [`VariableAnatomy::better`] chunks.
    pub after: Option<Cost>,
}

impl Read {
    /// The bytes that are handled for each wanted one.
    pub fn amplification(&self) -> f64 {
        self.decoded.max(self.fetched) as f64 / self.wanted.max(1) as f64
    }
}

/// A variable as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableAnatomy {
    /// Its path.
    pub path: String,
    /// Names and lengths of its dimensions, slowest first.
    pub axes: Vec<(String, u64)>,
    /// Bytes of all values in memory.
    pub bytes: u64,
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Chunk lengths; `None` if it is not stored in chunks.
    pub chunk: Option<Vec<u64>>,
    /// Its filters, as `info` names them; empty without.
    pub filters: Vec<&'static str>,
    /// The chunks with access points, where there may be some.
    pub points: Option<Points>,
    /// Chunks in the order in which they lie in the file. Empty also where the index was too long to be read.
    pub chunks: Vec<StoredChunk>,
    /// The reads that were asked for.
    pub reads: Vec<Read>,
    /// Chunk lengths that serve the reads better, where there are such.
    pub better: Option<Vec<u64>>,
    /// Predicted seconds that a copy into such chunks takes this variable, where its filters' rate is known: reading all of
    /// it, and encoding it by all threads.
    pub copying: Option<f64>,
}

impl VariableAnatomy {
    /// The number of reads of this kind after which a copy has paid for itself; `None` where it never does.
    pub fn breaks_even(&self, read: &Read) -> Option<u64> {
        let saved = read.before.seconds - read.after?.seconds;
        let reads = self.copying? / saved;
        (saved > 0.0 && reads.is_finite() && reads < 1e15).then_some(reads.ceil() as u64)
    }
}

/// A file taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// The file.
    pub file: String,
    /// Its format, as `ncdump -k` calls it.
    pub format: &'static str,
    /// Bytes of the file; of a zipped file, those of the image that it holds.
    pub bytes: u64,
    /// All bytes from the first to the last, each once.
    pub runs: Vec<Run>,
    /// Its variables, in the order of the file.
    pub variables: Vec<VariableAnatomy>,
}

impl Anatomy {
    /// Bytes that are for `what`.
    pub fn bytes_for(&self, what: Use) -> u64 {
        self.runs.iter().filter(|r| r.what == what).map(|r| r.len).sum()
    }
}

/// Looks at one file, as [`super::examine`] does, and takes it apart.
///
/// ```
/// use ncforge::Engine;
/// use ncforge_ops::doctor::{DoctorOptions, anatomy};
/// # use ncforge::{Dimension, DatasetMut, CreateOptions, Format, Hyperslab, Schema, Variable};
/// # use ncforge::model::{Atomic, DimId};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("t.nc");
/// # let mut schema = Schema::new(Format::Cdf2);
/// # schema.dims.push(Dimension::new("x", 300, false));
/// # schema.vars.push(Variable::new("v", Atomic::Short, vec![DimId(0)]));
/// # let id = schema.find_var("v").unwrap();
/// # let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
/// # new.write_bytes(id, &Hyperslab::all(&[300]), &[7; 600])?;
/// # new.close()?;
/// let (report, anatomy) = anatomy(&path, &DoctorOptions::default(), &Engine::global())?;
/// assert_eq!(report.variables, 1);
/// // Every byte of the file is listed, once.
/// assert_eq!(anatomy.runs.iter().map(|r| r.len).sum::<u64>(), anatomy.bytes);
/// assert_eq!(anatomy.variables[0].stored, 600);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`super::examine`].
pub fn anatomy(path: &Path, options: &DoctorOptions, engine: &Engine) -> Result<(Report, Anatomy)> {
    let (report, facts) = report(gather(path, options, engine)?, options);
    let variables: Vec<VariableAnatomy> =
        facts.vars.iter().map(|v| variable(v, options)).collect::<Result<_>>()?;
    let container = facts.dataset.container();
    let bytes = container.store().len();
    let anatomy = Anatomy {
        file: report.file.clone(),
        format: facts.schema().format.kind(),
        bytes,
        runs: runs(&facts, &variables, bytes),
        variables,
    };
    Ok((report, anatomy))
}

fn variable(v: &VarFacts, options: &DoctorOptions) -> Result<VariableAnatomy> {
    let chunks = match (v.layout.place.chunks(), &v.index) {
        (Some(stored), Some(_)) => {
            let mut list: Vec<StoredChunk> = (stored.index.list()?.into_iter())
                .map(|(at, r)| StoredChunk { at, offset: r.offset, len: r.len })
                .collect();
            list.sort_by_key(|c| c.offset);
            list
        }
        _ => Vec::new(),
    };
    let stored = match v.layout.place.chunks() {
        Some(_) => chunks.iter().map(|c| c.len).sum(),
        None => v.layout.stored_bytes(u64::MAX)?,
    };
    let lens: Vec<u64> = v.axes.iter().map(|a| a.len).collect();
    let choice = v.choice.as_ref().filter(|c| v.chunk.as_ref() != Some(&c.chunks));
    let machine = &options.machine;
    let grid = Grid { lens: &lens, chunk: v.chunk.as_deref(), element: v.element, coding: v.coding_now() };
    let patterns = match &v.choice {
        Some(choice) => choice.predictions.iter().map(|t| t.pattern.clone()).collect(),
        None => Pattern::bind(&options.accesses, &v.axes),
    };
    let by_place: HashMap<&[u64], u64> = chunks.iter().map(|c| (&c.at[..], c.len)).collect();
    let empty = lens.contains(&0) || v.layout.element.heap;
    let mut reads = Vec::new();
    for pattern in if empty { Vec::new() } else { patterns } {
        let start: Vec<u64> = lens.iter().zip(&pattern.counts).map(|(&l, &n)| (l - n.min(l)) / 2).collect();
        let exact = grid.at(&start, &pattern.counts, machine);
        let prediction =
            v.choice.as_ref().and_then(|c| c.predictions.iter().find(|t| t.pattern.counts == pattern.counts));
        let (touched, fetched) = match &v.chunk {
            Some(chunk) if v.is_filtered() && !chunks.is_empty() => {
                let cells = ChunkGrid::new(&lens, chunk);
                let ranges = cells.touched(&Hyperslab::new(&start, &pattern.counts));
                // A read of very much is described by the mean: nobody counts a million chunks for a picture.
                let n = shape::product(ranges.iter().map(|r| r.end - r.start));
                let fetched = if n <= MOST_RUNS as u64 {
                    let all: u64 =
                        ncforge::raw::coordinates(&ranges).filter_map(|at| by_place.get(&at[..])).sum();
                    // Of chunks that are decoded in part, a part is fetched.
                    if exact.decoded < exact.chunks * v.chunk_bytes() as f64 {
                        all.min(exact.fetched as u64)
                    } else {
                        all
                    }
                } else {
                    exact.fetched as u64
                };
                (n, fetched)
            }
            Some(_) => (exact.chunks as u64, exact.fetched as u64),
            None => (0, exact.fetched as u64),
        };
        reads.push(Read {
            wanted: pattern.len().saturating_mul(v.element),
            start,
            chunks: touched,
            fetched,
            decoded: if v.is_filtered() { exact.decoded as u64 } else { 0 },
            before: prediction.and_then(|t| t.before).unwrap_or_else(|| grid.read(&pattern, machine)),
            after: prediction.filter(|_| choice.is_some()).map(|t| t.chosen),
            pattern,
        });
    }
    let all = Pattern { name: "full".into(), counts: lens.clone(), weight: 1.0 };
    let copying = choice.filter(|_| !empty).and(Method::of_chain(&v.filters)).map(|method| {
        grid.read(&all, machine).seconds
            + v.bytes as f64 / (method.rates().encode_bytes_per_second * machine.threads.max(1.0))
    });
    Ok(VariableAnatomy {
        path: v.path.clone(),
        axes: v.axes.iter().map(|a| (a.name.clone(), a.len)).collect(),
        bytes: v.bytes,
        stored,
        element: v.element,
        chunk: v.chunk.clone(),
        filters: v.filters.iter().map(|f| ncforge::codec::filter_name(f.id)).collect(),
        points: v.index.as_ref().and_then(|i| i.points),
        chunks,
        reads,
        better: choice.map(|c| c.chunks.clone()),
        copying,
    })
}

/// The use of every byte.
fn runs(facts: &Facts, variables: &[VariableAnatomy], bytes: u64) -> Vec<Run> {
    let mut known: Vec<Run> = Vec::new();
    let mut add = |from: u64, len: u64, what: Use| {
        if len > 0 && from < bytes {
            known.push(Run { from, len: len.min(bytes - from), what });
        }
    };
    let mut records: Option<(u64, u64)> = None;
    let record_runs: u64 = facts.vars.iter().filter_map(record_count).sum();
    for (i, (v, prediction)) in facts.vars.iter().zip(variables).enumerate() {
        let what = Use::Data(i);
        match v.layout.runs() {
            Some(runs) if runs.stride.is_some() && record_runs > MOST_RUNS as u64 => {
                let end = runs.range(runs.number).start;
                let (from, to) = records.unwrap_or((runs.begin, end));
                records = Some((from.min(runs.begin), to.max(end)));
            }
            Some(runs) => (0..runs.number).for_each(|i| add(runs.range(i).start, runs.each, what)),
            None => prediction.chunks.iter().for_each(|c| add(c.offset, c.len, what)),
        }
    }
    if let Some((from, to)) = records {
        add(from, to - from, Use::Records);
    }
    // Bytes that were read as structures of metadata; a classic file has one, at its beginning.
    let first_data = known.iter().map(|r| r.from).min().unwrap_or(bytes);
    if facts.metadata.is_empty() {
        let header = facts.dataset.container().metadata_bytes().unwrap_or(0);
        known.push(Run { from: 0, len: header.min(first_data), what: Use::Metadata });
    } else {
        let nodes = facts.vars.iter().filter_map(|v| v.index.as_ref()).flat_map(|i| &i.nodes);
        for &(from, len) in facts.metadata.iter().chain(nodes) {
            if from < bytes {
                known.push(Run { from, len: len.min(bytes - from), what: Use::Metadata });
            }
        }
    }
    laid_out(known, bytes)
}

fn record_count(v: &VarFacts) -> Option<u64> {
    v.layout.runs().filter(|runs| runs.stride.is_some()).map(|runs| runs.number)
}

/// Runs side by side without overlaps, and what lies between them.
fn laid_out(mut known: Vec<Run>, bytes: u64) -> Vec<Run> {
    known.sort_by_key(|r| (r.from, std::cmp::Reverse(r.len)));
    let mut out: Vec<Run> = Vec::new();
    let mut at = 0;
    let mut push = |run: Run| match out.last_mut() {
        Some(last) if last.what == run.what => last.len += run.len,
        _ if run.len > 0 => out.push(run),
        _ => {}
    };
    for run in known {
        let end = run.from.saturating_add(run.len);
        if end <= at {
            continue;
        }
        let from = run.from.max(at);
        push(Run { from: at, len: from - at, what: Use::Nothing });
        push(Run { from, len: end - from, what: run.what });
        at = end;
    }
    push(Run { from: at, len: bytes.saturating_sub(at), what: Use::Nothing });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_once() {
        let run = |from, len, what| Run { from, len, what };
        let known = vec![
            run(50, 10, Use::Data(1)),
            run(0, 20, Use::Metadata),
            run(10, 30, Use::Data(0)),
            run(12, 3, Use::Metadata),
            run(60, 5, Use::Data(1)),
        ];
        assert_eq!(
            laid_out(known, 100),
            [
                run(0, 20, Use::Metadata),
                run(20, 20, Use::Data(0)),
                run(40, 10, Use::Nothing),
                run(50, 15, Use::Data(1)),
                run(65, 35, Use::Nothing),
            ]
        );
        assert_eq!(laid_out(Vec::new(), 7), [run(0, 7, Use::Nothing)]);
        assert_eq!(laid_out(Vec::new(), 0), []);
    }
}
