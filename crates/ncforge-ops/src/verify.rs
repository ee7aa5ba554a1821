//! Reading everything that a file has stored, and saying what cannot be read.
//!
//! Every value is read as a program would read it: chunks are decoded, and what has checksums is checked against them (zipped
//! blocks, chunks with Fletcher-32, streams of zlib, zstd's where they have one, metadata of newer HDF5 files). Of chunks with access
//! points each segment is decoded alone, too, and compared with the whole. Bytes without
//! a checksum, such as those of classic files and contiguous variables, are only shown to be there.
//!
//! Values in other files are read, too, unless these must not be opened: then nothing is known of them, which is a problem. A source
//! that is not there is none, as it reads as the fill value by the rules of HDF5 and CF; it is a note.

mod points;
mod report;
mod zipped;

use std::collections::BTreeSet;
use std::path::Path;

use crate::boxes::{HEAP_BATCH, Side, Walk, check_chunk, choose, work_bytes};
use crate::progress::{Progress, check_stop};
use crate::written;
use ncforge::model::{VarId, shape};
use ncforge::raw::{self, ChunkGrid, ChunkRecord, remarks};
use ncforge::store::remote::shown_path;
use ncforge::{Buffer, Dataset, Engine, Error, Hyperslab, Result};
use ncforge_tune::words::many;

use points::{Chunks, Fault};
pub use report::{Note, NoteKind, Problem, ProblemKind, VerifyReport};

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
    let file = shown_path(path);
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    for s in &schema.skipped {
        match ProblemKind::of_skipped(s) {
            Some(kind) => {
                problems.push(Problem::of(kind, s.error(&file).to_string(), Some(s.path.clone())));
            }
            None => notes.push(Note::of_skipped(s)),
        }
    }
    problems.extend(Problem::of_missing(data.container().missing_bytes()));
    let (mut variables, mut bytes) = (0, 0);
    schema.var_ids().filter(|&v| data.layout(v).is_ok()).try_for_each(|v| check_chunk(&data, v))?;
    for var in schema.var_ids() {
        progress.item(&schema.var_path(var));
        let mut reading = Reading::of(&data, var, progress);
        match reading.all().and_then(|()| reading.points()).and_then(|()| reading.index()) {
            Ok(()) => {}
            Err(e) if is_damage(&e) => reading.values.note(&[], e),
            Err(e) => return Err(e),
        }
        variables += 1;
        bytes += reading.bytes;
        problems.extend(reading.problems());
    }
    notes.extend(remarks(data.container()).into_iter().filter_map(Note::of));
    Ok(VerifyReport { file, commit: None, blocks: None, variables, bytes, problems, notes })
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
    /// Chunks that cannot be read, …
    values: Damage,
    /// … and those whose access points disagree with what can.
    points: Damage,
    /// Chunks that the index has outside of the array.
    outside: u64,
}

/// Damaged chunks of a variable.
#[derive(Default)]
struct Damage {
    /// The beginnings of the chunks; empty for the variable as a whole.
    starts: BTreeSet<Vec<u64>>,
    /// The fault of the first of them.
    first: Option<Error>,
}

impl Damage {
    fn note(&mut self, start: &[u64], error: Error) {
        // Boxes are not visited in the order of their elements.
        if self.starts.first().is_none_or(|first| start < first.as_slice()) {
            self.first = Some(error);
        }
        self.starts.insert(start.to_vec());
    }
}

impl<'a> Reading<'a> {
    fn of(data: &'a Dataset, var: VarId, progress: &'a dyn Progress) -> Self {
        let (values, points) = (Damage::default(), Damage::default());
        Reading { data, var, progress, bytes: 0, values, points, outside: 0 }
    }

    /// Reads all values, and notes which chunks cannot be read.
    fn all(&mut self) -> Result<()> {
        let (data, var): (&Dataset, VarId) = (self.data, self.var);
        let schema = data.schema();
        let (shape, size) = (schema.shape(var), schema.fixed_size(schema.var(var).dtype));
        let layout = data.layout(var)?;
        if let Some(why) = layout.place.unsupported() {
            return Err(Error::Unsupported { path: schema.var_path(var), what: why.to_owned() });
        }
        let unit = layout.place.chunks().map(|c| c.chunk);
        if shape.contains(&0) || size == Some(0) {
            return Ok(());
        }
        let (element, budget) = match size {
            Some(size) => (size as u64, BOX.min(data.engine().memory() / 4)),
            None => (1, HEAP_BATCH),
        };
        let walk = choose(&shape, element, &[Side::of(&layout)], &vec![1; shape.len()], budget);
        let boxes: Box<dyn Iterator<Item = u64>> = match written::boxes(data, var, &walk.grid)? {
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
        let data: &Dataset = self.data;
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
            None => {
                // A run is cut off behind its first missing byte.
                let Some(unit) = unit else { return Err(error) };
                let begin: Vec<u64> = slab.start.iter().zip(unit).map(|(s, n)| s / n * n).collect();
                self.values.note(&begin, error);
                Ok(())
            }
        }
    }

    /// Compares the access points of all chunks with their streams.
    fn points(&mut self) -> Result<()> {
        let container = self.data.container();
        let (schema, layout) = (container.schema(), container.layout(self.var)?);
        let Some(raw::Chunks { chunk, codecs, index }) = layout.place.chunks() else { return Ok(()) };
        if codecs.segmented(0).is_none() {
            return Ok(());
        }
        self.progress.item(&format!("{}: access points", schema.var_path(self.var)));
        let counts = ChunkGrid::new(&schema.shape(self.var), chunk).counts();
        let mut list = index.list()?;
        list.retain(|(at, _)| written::is_inside(at, &counts));
        let records: Vec<ChunkRecord> = list.iter().map(|c| c.1).collect();
        let bytes = shape::bytes(chunk, layout.element.size as u64);
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        let (values, points, progress) = (&mut self.values, &mut self.points, self.progress);
        Chunks { store: &**container.store(), codecs, len }.check(self.data.engine(), &records, |i, fault| {
            check_stop(progress, "verifying")?;
            let start = || list[i].0.iter().zip(chunk).map(|(at, n)| at * n).collect::<Vec<_>>();
            match fault {
                Some(Fault::Values(e)) => values.note(&start(), e),
                Some(Fault::Points(e)) => points.note(&start(), e),
                None => {}
            }
            Ok(())
        })
    }

    /// Counts the chunks that no read reaches.
    fn index(&mut self) -> Result<()> {
        let layout = self.data.layout(self.var)?;
        if let Some(chunks) = layout.place.chunks() {
            self.outside = chunks.index.outside()?;
        }
        Ok(())
    }

    /// The faults of the variable, if there are any.
    fn problems(self) -> impl Iterator<Item = Problem> {
        let schema = self.data.schema();
        let path = schema.var_path(self.var);
        let layout = self.data.container().layout(self.var).ok();
        let place = layout.as_ref().map(|layout| &layout.place);
        let all = place.and_then(|p| Some(ChunkGrid::new(&schema.shape(self.var), p.chunks()?.chunk).len()));
        let is_elsewhere = place.is_some_and(|p| p.not_followed().is_some());
        let kinds = [
            (self.values, is_elsewhere.then_some(ProblemKind::NotFollowed), "chunks cannot be read"),
            (self.points, Some(ProblemKind::AccessPoints), "chunks have damaged access points"),
        ];
        let outside = (self.outside > 0).then(|| {
            let chunks = many(self.outside, "chunk");
            let what = format!("`{path}`: {chunks} stored outside of the array, where nothing reads them");
            Problem::of(ProblemKind::Corrupt, what, Some(path.clone()))
        });
        let damaged = kinds.into_iter().filter_map(move |(damage, kind, what)| {
            let (start, error) = (damage.starts.first()?, damage.first?);
            let kind = kind.unwrap_or_else(|| ProblemKind::of(&error));
            let what = match all.filter(|_| !start.is_empty()) {
                Some(all) => {
                    format!(
                        "`{path}`: {} of {all} {what}, the first at {start:?}: {error}",
                        damage.starts.len()
                    )
                }
                None => match &error {
                    Error::Unsupported { what, .. } => {
                        format!("`{path}` cannot be read: {what} is not supported")
                    }
                    _ => format!("`{path}` cannot be read: {error}"),
                },
            };
            Some(Problem::of(kind, what, Some(path.clone())))
        });
        damaged.chain(outside)
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
