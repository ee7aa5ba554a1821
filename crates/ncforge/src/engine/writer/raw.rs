//! Chunks and regions that come as they are stored.

use super::Writer;
use crate::error::{Error, Result};
use crate::layout::{ChunkRecord, Place, VarLayout};
use crate::model::VarId;
use crate::select::{ChunkGrid, Hyperslab};

/// Encoded chunks that lie side by side are written in requests of this many bytes.
const JOINED: usize = 1 << 20;

impl Writer {
    /// Stores one chunk that is encoded already (see [`Engine::raw_chunk`]); parts of it gathered so far are
    /// dropped. Its grid coordinates must lie inside the variable's shape.
    pub fn write_chunk_raw(&mut self, var: VarId, at: &[u64], encoded: &[u8], mask: u32) -> Result<()> {
        let var = self.known(var)?;
        self.container.write_store().check()?;
        self.unstick()?;
        let region = check_chunk(&*self.layout(var)?, &self.schema().shape(var), at)?;
        let done = self.place_encoded(var, &region, at, encoded, mask);
        self.forget();
        self.lost.note(var, &region, done)
    }

    /// Stores several such chunks (coordinates, encoded bytes, mask), in this order, those that come to lie side by side in
    /// one request.
    pub fn write_chunks_raw(&mut self, var: VarId, chunks: &[(&[u64], &[u8], u32)]) -> Result<()> {
        if chunks.is_empty() {
            return Ok(());
        }
        let var = self.known(var)?;
        self.container.write_store().check()?;
        self.unstick()?;
        let (layout, shape) = (self.layout(var)?, self.schema().shape(var));
        self.flush_tail()?;
        self.flush_pending()?;
        let all: usize = chunks.iter().map(|(_, encoded, _)| encoded.len()).sum();
        let mut joined: Vec<u8> = Vec::with_capacity(all.min(JOINED));
        let mut begin = 0u64;
        for &(at, encoded, mask) in chunks {
            check_chunk(&layout, &shape, at)?;
            self.gather.drop_chunk(&self.engine, var, at);
            let record = self.container.reserve_chunk(var, at, encoded.len() as u64, mask)?;
            if begin + joined.len() as u64 != record.offset || joined.len() + encoded.len() > JOINED {
                self.container.write_store().write_at(&joined, begin)?;
                joined.clear();
                begin = record.offset;
            }
            joined.extend_from_slice(encoded);
        }
        self.container.write_store().write_at(&joined, begin)?;
        self.forget();
        Ok(())
    }

    /// Takes over a chunk whose encoded bytes lie in the file already, see [`ContainerMut::adopt_chunk`].
    pub fn adopt_chunk(&mut self, var: VarId, at: &[u64], record: ChunkRecord) -> Result<()> {
        let var = self.known(var)?;
        self.flush_tail()?;
        self.container.adopt_chunk(var, at, record)
    }

    /// Takes over a region of a variable without chunks: its values are in the file already.
    pub fn adopt_region(&mut self, var: VarId, region: &Hyperslab) -> Result<()> {
        let var = self.known(var)?;
        self.flush_tail()?;
        self.container.will_write(var, region)
    }
}

/// The elements of a chunk; an error unless a variable of this shape has one at these grid coordinates.
fn check_chunk(layout: &VarLayout, shape: &[u64], at: &[u64]) -> Result<Hyperslab> {
    let Place::Chunked { chunk, .. } = &layout.place else {
        return Err(Error::not_chunked(&layout.name));
    };
    let begins_inside = |((&i, &c), &n): ((&u64, &u64), &u64)| i.checked_mul(c).is_some_and(|s| s < n);
    if at.len() != chunk.len() || !at.iter().zip(chunk).zip(shape).all(begins_inside) {
        return Err(Error::NoChunk { variable: layout.name.clone(), at: at.to_vec() });
    }
    let (start, count) = ChunkGrid::new(shape, chunk).region(at);
    Ok(Hyperslab::new(&start, &count))
}
