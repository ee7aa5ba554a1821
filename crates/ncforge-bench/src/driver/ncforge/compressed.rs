//! Compressed chunks of one file by several ranks.
//!
//! Where a compressed chunk goes is known only when its length is. In every call each rank compresses the chunks of its
//! block; the ranks exchange the lengths; rank 0, which holds the file's description, gives every chunk its
//! place; and each rank writes its own. Nothing but lengths and places travels. Calls are collective: every rank makes the same
//! number of them.

use std::os::unix::fs::FileExt;
use std::path::Path;

use ncforge::codec::quantize::Quantize;
use ncforge::raw::{ChunkGrid, coordinates};
use ncforge::store::partial_path;
use ncforge::{Atomic, CreateOptions, DatasetMut, Hyperslab};

use super::spec::{VAR, rounded, rounds, schema};
use crate::driver::{BlockFile, FileSpec, Opened};
use crate::error::{Error, Result};
use crate::team::{Team, agree, exchange};

/// The facts about a variable's chunks that need no file.
struct Chunks {
    grid: ChunkGrid,
    codecs: ncforge::codec::CodecChain,
    size: usize,
    rounds: Option<(Quantize, Atomic)>,
}

struct Compressed<T> {
    team: T,
    path: std::path::PathBuf,
    /// Rank 0 alone.
    head: Option<DatasetMut>,
    file: std::fs::File,
    chunks: Chunks,
}

/// Creates the file; every rank calls this.
pub(super) fn create<'a>(
    path: &Path,
    spec: &FileSpec,
    team: &'a dyn Team,
    options: CreateOptions,
) -> Opened<'a> {
    let begin = || -> Result<DatasetMut> {
        let mut head = DatasetMut::create(path, schema(spec), options)?;
        for (d, dim) in spec.dims.iter().enumerate().filter(|(_, dim)| dim.unlimited) {
            head.grow(ncforge::model::DimId(d), dim.len)?;
        }
        Ok(head)
    };
    let head = agree(team, if team.rank() == 0 { begin().map(Some) } else { Ok(None) })?;
    let partial = partial_path(path);
    let file = std::fs::File::options().write(true).open(&partial);
    let file = agree(team, file.map_err(|e| Error::io("open", &partial, e)))?;
    let Some(chunk) = spec.chunks() else {
        return Err(Error::WrongKind(format!("`{}` has no chunks", spec.var.name)));
    };
    let size = spec.var.dtype.size();
    let codecs = ncforge::codec::CodecChain::new(&spec.filters(), size)?;
    let chunks = Chunks { grid: ChunkGrid::new(&spec.shape(), &chunk), codecs, size, rounds: rounds(spec) };
    Ok(Box::new(Compressed { team, path: path.to_owned(), head, file, chunks }))
}

/// A chunk: grid coordinates, encoded bytes, mask of skipped filters.
type Encoded = (Vec<u64>, Vec<u8>, u32);

/// The request for a chunk's space: grid coordinates, encoded length, mask of skipped filters.
type Request = (Vec<u64>, u64, u32);

impl BlockFile for Compressed<&dyn Team> {
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        self.put(self.chunks.encode(slab, bytes))
    }

    fn read(&mut self, _slab: &Hyperslab, _out: &mut [u8]) -> Result<()> {
        Err(Error::WrongKind("compressed chunks are read when the file is complete".into()))
    }

    fn close(self: Box<Self>) -> Result<()> {
        // Every rank has written before the file gets its name.
        self.team.barrier()?;
        let done = self.head.map_or(Ok(()), |head| head.close().map_err(Error::from));
        agree(self.team, done)
    }
}

impl Compressed<&dyn Team> {
    /// Gives the chunks of all ranks their places, and writes this one's.
    fn put(&mut self, encoded: Result<Vec<Encoded>>) -> Result<()> {
        let encoded = agree(self.team, encoded)?;
        let mine: Vec<Request> =
            encoded.iter().map(|(at, e, mask)| (at.clone(), e.len() as u64, *mask)).collect();
        let all = exchange(self.team, &mine)?;
        // Rank 0 gives the places, in the order of the ranks: the file does not depend on who was first.
        let places = |head: &mut DatasetMut| -> Result<Vec<Vec<u64>>> {
            let place = |(at, len, mask): &Request, head: &mut DatasetMut| -> Result<u64> {
                Ok(head.writer().reserve_chunk(VAR, at, *len, *mask)?.offset)
            };
            all.iter().map(|rank| rank.iter().map(|r| place(r, head)).collect()).collect()
        };
        let places = match &mut self.head {
            Some(head) => places(head),
            None => Ok(Vec::new()),
        };
        let given = exchange(self.team, &agree(self.team, places)?)?;
        let mine = given.first().and_then(|all| all.get(self.team.rank()));
        let mine = mine.ok_or_else(|| Error::Team("rank 0 gave no places".into()))?;
        for ((_, e, _), &offset) in encoded.iter().zip(mine) {
            self.file.write_all_at(e, offset).map_err(|e| Error::io("write", &self.path, e))?;
        }
        Ok(())
    }
}

impl Chunks {
    /// The chunks of a block, encoded.
    fn encode(&self, slab: &Hyperslab, bytes: &[u8]) -> Result<Vec<Encoded>> {
        let dims = slab.rank();
        let chunk = &self.grid.chunk;
        let bytes: &[u8] = &rounded(self.rounds, bytes);
        let mut raw = vec![0u8; self.grid.chunk_len() as usize * self.size];
        let mut out = Vec::new();
        for at in coordinates(&self.grid.touched(slab)) {
            let (corner, count) = self.grid.region(&at);
            if (0..dims).any(|d| corner[d] < slab.start[d] || corner[d] + count[d] > slab.end(d)) {
                return Err(Error::Misfit(format!(
                    "a block holds only a part of chunk {at:?}; chunks must divide blocks"
                )));
            }
            raw.fill(0);
            let rows: Vec<_> = count[..dims - 1].iter().map(|&n| 0..n).collect();
            let width = count[dims - 1] as usize * self.size;
            for row in coordinates(&rows) {
                let index = |lens: &[u64], from: &dyn Fn(usize) -> u64| {
                    (0..dims).fold(0u64, |i, d| i * lens[d] + row.get(d).copied().unwrap_or(0) + from(d))
                        as usize
                        * self.size
                };
                let to = index(chunk, &|_| 0);
                let from = index(&slab.count, &|d| corner[d] - slab.start[d]);
                raw[to..to + width].copy_from_slice(&bytes[from..from + width]);
            }
            let (encoded, mask) = self.codecs.encode(&raw)?;
            out.push((at, encoded, mask));
        }
        Ok(out)
    }
}
