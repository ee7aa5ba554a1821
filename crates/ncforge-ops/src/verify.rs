//! Reading everything that a file has stored, and saying what cannot be read.
//!
//! Every value is read as a program would read it: chunks are decoded, and what has checksums is checked against them (zipped
//! blocks, chunks with Fletcher-32, streams of zlib, zstd's where they have one, metadata of newer HDF5 files). Bytes without
//! a checksum, such as those of classic files and contiguous variables, are only shown to be there.

mod report;
mod zipped;

use std::path::Path;

use crate::boxes::{Side, Walk, choose};
use crate::compare::work_bytes;
use crate::progress::{Progress, check_stop};
use crate::source::Source;
use crate::written;
use ncforge::model::VarId;
use ncforge::raw::{ChunkGrid, Place};
use ncforge::{Buffer, Dataset, Engine, Error, Hyperslab, Result};

pub use report::{Problem, VerifyReport};

/// Elements of a heap type that are read at a time.
const HEAP_BATCH: u64 = 1 << 14;
/// Bytes of a box, at most: all threads have chunks to decode, and progress is shown often.
const BOX: u64 = 64 << 20;

/// Reads everything in a file: a zipped one's index and blocks, the values of any other.
///
/// ```
/// use ncforge::Engine;
/// use ncforge_ops::progress::Silent;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("a.nc");
/// # std::fs::write(&path, [b"CDF\x01".as_slice(), &[0; 28]].concat())?;
/// let report = ncforge_ops::verify::verify(&path, &Engine::global(), &Silent)?;
/// assert!(report.problems.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Of opening and reading; damage in variables is in the report, and no error.
pub fn verify(path: &Path, engine: &Engine, progress: &dyn Progress) -> Result<VerifyReport> {
    let data = Dataset::open_with(path, engine)?;
    if data.container().store().blocks().is_some() {
        return zipped::verify(path, engine, progress);
    }
    let schema = data.schema();
    let sizes = || schema.var_ids().map(|v| work_bytes(schema, v));
    progress.begin("verify", sizes().fold(0, u64::saturating_add));
    let file = path.display().to_string();
    let damaged = schema.skipped.iter().filter(|s| s.is_damaged());
    let mut problems: Vec<Problem> =
        damaged.map(|s| problem(s.error(&file).to_string(), s.path.clone())).collect();
    let missing = data.container().missing_bytes();
    if missing > 0 {
        let what = format!("{missing} bytes are missing at the end; their values are read as zeros");
        problems.push(Problem { what, image: None, every: None, touches: Vec::new() });
    }
    let (mut variables, mut bytes) = (0, 0);
    for var in schema.var_ids() {
        progress.item(&schema.var_path(var));
        let mut reading = Reading { data: &data, var, progress, bytes: 0, damaged: 0, first: None };
        match reading.all() {
            Ok(()) => {}
            Err(e) if is_damage(&e) => reading.note(&[], e),
            Err(e) => return Err(e),
        }
        variables += 1;
        bytes += reading.bytes;
        problems.extend(reading.problem());
    }
    Ok(VerifyReport { file, commit: None, blocks: None, variables, bytes, problems })
}

fn problem(what: String, touches: String) -> Problem {
    Problem { what, image: None, every: None, touches: vec![touches] }
}

/// Whether the file is to blame, and not the way to it.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } | Error::Unsupported { .. } => true,
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

/// The reading of one variable.
struct Reading<'a> {
    data: &'a Dataset,
    var: VarId,
    progress: &'a dyn Progress,
    /// Bytes of values read.
    bytes: u64,
    /// Pieces that cannot be read.
    damaged: u64,
    /// Where the first of them begins, and why.
    first: Option<(Vec<u64>, Error)>,
}

impl Reading<'_> {
    /// Reads all values, and notes which chunks cannot be read.
    fn all(&mut self) -> Result<()> {
        let (data, var): (&dyn Source, VarId) = (self.data, self.var);
        let schema = data.schema();
        let (shape, size) = (schema.shape(var), schema.fixed_size(schema.var(var).dtype));
        let layout = data.layout(var)?;
        if let Place::Unsupported(why) = &layout.place {
            return Err(Error::Unsupported { path: schema.var_path(var), what: why.clone() });
        }
        let unit = match &layout.place {
            Place::Chunked { chunk, .. } => Some(chunk.as_slice()),
            _ => None,
        };
        if shape.contains(&0) || size == Some(0) {
            return Ok(());
        }
        let (element, budget) = match size {
            Some(size) => (size as u64, BOX.min(data.engine().memory() / 4)),
            None => (1, HEAP_BATCH),
        };
        let walk = choose(&shape, element, &[Side::of(&layout.place)], &vec![1; shape.len()], budget);
        let boxes: Box<dyn Iterator<Item = u64>> = match written::boxes(data, var, &walk)? {
            Some(boxes) => {
                self.progress.advance(written::elements_outside(&walk, &boxes).saturating_mul(element));
                Box::new(boxes.into_iter())
            }
            None => Box::new(0..walk.len()),
        };
        let mut buffer = Buffer::try_zeroed(size.map_or(0, |size| largest(&walk) * size))?;
        for i in boxes {
            check_stop(self.progress, "verifying")?;
            let slab = walk.box_at(i);
            self.piece(&slab, unit, &mut buffer)?;
            self.progress.advance(self.bytes_of(&slab));
        }
        Ok(())
    }

    /// Bytes that a box counts for.
    fn bytes_of(&self, slab: &Hyperslab) -> u64 {
        let schema = self.data.schema();
        slab.len().saturating_mul(schema.fixed_size(schema.var(self.var).dtype).unwrap_or(16) as u64)
    }

    /// Reads a box; one that cannot be read is halved until the chunks are known that are to blame.
    fn piece(&mut self, slab: &Hyperslab, unit: Option<&[u64]>, buffer: &mut [u8]) -> Result<()> {
        let data: &dyn Source = self.data;
        let size = data.schema().fixed_size(data.schema().var(self.var).dtype);
        let read = match size {
            Some(size) => data.read_bytes(self.var, slab, &mut buffer[..slab.len() as usize * size]),
            None => data.read(self.var, slab).map(drop),
        };
        let Err(error) = read else {
            self.bytes += self.bytes_of(slab);
            return Ok(());
        };
        // Every chunk of a filter that is not supported fails for the same reason.
        if !is_damage(&error) || matches!(error, Error::Unsupported { .. }) {
            return Err(error);
        }
        match unit.and_then(|unit| halves(slab, unit)) {
            Some(parts) => parts.iter().try_for_each(|part| self.piece(part, unit, buffer)),
            None if unit.is_some() => {
                self.note(&slab.start, error);
                Ok(())
            }
            // What lies in one run is cut off behind its first missing byte.
            None => Err(error),
        }
    }

    fn note(&mut self, start: &[u64], error: Error) {
        self.damaged += 1;
        // Boxes are not visited in the order of their elements.
        if self.first.as_ref().is_none_or(|(first, _)| start < first.as_slice()) {
            self.first = Some((start.to_vec(), error));
        }
    }

    /// What is wrong with the variable, if anything is.
    fn problem(self) -> Option<Problem> {
        let (start, error) = self.first?;
        let schema = self.data.schema();
        let path = schema.var_path(self.var);
        let layout = self.data.container().layout(self.var).ok();
        let what = match layout.as_ref().map(|layout| &layout.place) {
            Some(Place::Chunked { chunk, .. }) if !start.is_empty() => {
                let all = ChunkGrid::new(&schema.shape(self.var), chunk).len();
                format!(
                    "`{path}`: {} of {all} chunks cannot be read, the first at {start:?}: {error}",
                    self.damaged
                )
            }
            _ => format!("`{path}` cannot be read: {error}"),
        };
        Some(problem(what, path))
    }
}

fn largest(walk: &Walk) -> usize {
    if walk.len() == 0 { 0 } else { usize::try_from(walk.box_at(0).len()).expect("a box is within memory") }
}

/// The two halves of a box, cut between chunks; `None` for what lies in one chunk.
fn halves(slab: &Hyperslab, unit: &[u64]) -> Option<[Hyperslab; 2]> {
    let chunks = |d: usize| (slab.start[d] / unit[d], (slab.start[d] + slab.count[d] - 1) / unit[d]);
    let longest = (0..unit.len()).max_by_key(|&d| chunks(d).1 - chunks(d).0)?;
    let (from, to) = chunks(longest);
    if from == to {
        return None;
    }
    let cut = (from + to).div_ceil(2) * unit[longest];
    let (mut low, mut high) = (slab.clone(), slab.clone());
    low.count[longest] = cut - slab.start[longest];
    high.start[longest] = cut;
    high.count[longest] -= low.count[longest];
    Some([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_halved_between_chunks() {
        let cut = |start: &[u64], count: &[u64]| halves(&Hyperslab::new(start, count), &[4, 10]);
        let [a, b] = cut(&[2, 0], &[7, 10]).expect("three chunks");
        assert_eq!((a.start, a.count), (vec![2, 0], vec![2, 10]));
        assert_eq!((b.start, b.count), (vec![4, 0], vec![5, 10]));
        assert!(cut(&[4, 10], &[4, 10]).is_none() && cut(&[5, 11], &[1, 3]).is_none());
        let [a, b] = cut(&[0, 15], &[4, 10]).expect("two chunks");
        assert_eq!((a.start[1], a.count[1], b.start[1], b.count[1]), (15, 5, 20, 5));
    }
}
