//! Chunks that are moved as they are stored, or get access points on the way.

use super::super::planned::{Route, VarWork};
use super::{Run, chunk_grid};
use ncforge::codec::CodecChain;
use ncforge::raw::{ChunkGrid, RawChunk, Writer, coordinates};
use ncforge::{Buffer, Dataset, Hyperslab, Result};

/// Chunks up to this are moved by the box: a request for each would cost more than its bytes. From a store with latency,
/// all are.
const SMALL_CHUNK: u64 = 64 << 10;

/// A variable whose chunks are moved.
struct Moving<'a> {
    source: &'a Dataset,
    work: &'a VarWork,
    grid: ChunkGrid,
    /// The extents of the source, and its filters.
    stored: Vec<u64>,
    codecs: Option<CodecChain>,
    /// The chain that gives chunks access points, where they shall have some.
    points: Option<CodecChain>,
}

impl Run<'_> {
    /// Moves encoded chunks as they are. A chunk that is not there is written as fill, unless the output reads
    /// the same without it.
    pub(super) fn raw(&mut self, work: &VarWork, slab: &Hyperslab) -> Result<()> {
        let Some(grid) = chunk_grid(self.task.plan, work) else { return Ok(()) };
        let (source, engine, from) = (self.task.source, self.task.engine, work.moved.from);
        let points = match work.route {
            Route::Points => self.writer.container().layout(work.moved.to)?.place.codecs().cloned(),
            _ => None,
        };
        let layout = source.layout(from)?;
        let (stored, codecs) = (layout.shape.clone(), layout.place.codecs().cloned());
        let moving = Moving { source, work, grid, stored, codecs, points };
        let touched = moving.grid.touched(slab);
        let at: Vec<Vec<u64>> = coordinates(&touched).collect();
        let chunk_bytes = moving.grid.chunk_len().saturating_mul(work.element);
        let space = self.task.memory.boxes;
        let writer = &mut self.writer;
        self.writing = true;
        if (chunk_bytes <= SMALL_CHUNK || source.container().store().io_profile().has_latency())
            && moving.points.is_none()
            && (at.len() as u64).saturating_mul(chunk_bytes) <= space
            && at.iter().all(|at| moving.is_whole(at))
            // An error comes again where each chunk is asked for by itself, and says there which one it is.
            && let Ok(Some(chunks)) = source.engine().raw_chunks(source.container(), from, &touched, space)
        {
            let chunks: Vec<_> = chunks.into_iter().map(|chunk| moving.checked(chunk)).collect();
            return moving.place_together(writer, &at, &chunks);
        }
        // A chunk that gets access points is there three times.
        let held = chunk_bytes.saturating_mul(if moving.points.is_some() { 3 } else { 1 }).max(1);
        let window = (space / held).clamp(1, 2 * engine.threads() as u64);
        engine.ordered(
            at.len(),
            window as usize,
            |i| match moving.is_whole(&at[i]) {
                true => Ok(moving.with_points(moving.checked(source.raw_chunk(from, &at[i])?))),
                false => Ok(RawChunk::Pieces),
            },
            |i, chunk| match chunk.encoded() {
                Some((bytes, mask)) => writer.write_chunk_raw(work.moved.to, &at[i], bytes, mask),
                None if moving.stays_unwritten(&chunk) => Ok(()),
                None => moving.place_values(writer, &at[i]),
            },
        )
    }
}

impl Moving<'_> {
    /// Whether a chunk may be moved as it is. Where the source ends inside a chunk that the output fills further, the rest
    /// of the stored chunk is anything; such chunks go by their values.
    fn is_whole(&self, at: &[u64]) -> bool {
        let start = |d: usize| at[d] * self.grid.chunk[d];
        let end = |d: usize| (start(d) + self.grid.chunk[d]).min(self.grid.shape[d]);
        (0..at.len()).all(|d| end(d) <= self.stored[d]) || (0..at.len()).any(|d| start(d) >= self.stored[d])
    }

    /// A chunk whose checksum agrees, if it has one. Reading the values of any other says what is wrong with it, and where.
    fn checked(&self, chunk: RawChunk) -> RawChunk {
        let is_intact = match (&self.codecs, chunk.encoded()) {
            (Some(codecs), Some((bytes, mask))) => codecs.is_intact(bytes, mask),
            _ => true,
        };
        if is_intact { chunk } else { RawChunk::Pieces }
    }

    /// A chunk with access points, if it shall have some.
    fn with_points(&self, chunk: RawChunk) -> RawChunk {
        let len = self.grid.chunk_len().saturating_mul(self.work.element);
        let (Some(codecs), Some((bytes, mask)), Ok(len)) =
            (&self.points, chunk.encoded(), usize::try_from(len))
        else {
            return chunk;
        };
        codecs.add_segments(bytes, mask, len).map_or(chunk, |(bytes, mask)| RawChunk::Encoded(bytes, mask))
    }

    /// Places the chunks of a box that are there as they are in as few requests as may be, the others by their values.
    fn place_together(&self, writer: &mut Writer, at: &[Vec<u64>], chunks: &[RawChunk]) -> Result<()> {
        let to = self.work.moved.to;
        let mut run: Vec<(&[u64], &[u8], u32)> = Vec::new();
        for (at, chunk) in at.iter().zip(chunks) {
            if let Some((bytes, mask)) = chunk.encoded() {
                run.push((at, bytes, mask));
                continue;
            }
            if self.stays_unwritten(chunk) {
                continue;
            }
            writer.write_chunks_raw(to, &run)?;
            run.clear();
            self.place_values(writer, at)?;
        }
        writer.write_chunks_raw(to, &run)
    }

    /// Whether the output reads the same without the chunk.
    fn stays_unwritten(&self, chunk: &RawChunk) -> bool {
        self.work.sparse && matches!(chunk, RawChunk::Unwritten)
    }

    /// Places a chunk by its values.
    fn place_values(&self, writer: &mut Writer, at: &[u64]) -> Result<()> {
        let (start, count) = self.grid.region(at);
        let slab = Hyperslab::new(&start, &count);
        let mut values = Buffer::try_zeroed((slab.len() * self.work.element) as usize)?;
        self.source.read_bytes(self.work.moved.from, &slab, &mut values)?;
        writer.write_bytes(self.work.moved.to, &slab, &values)
    }
}
