//! Whole chunks to encoded bytes to their place, in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::chunked;
use super::super::policy::PENDING_CHUNKS;
use super::super::scratch::Lease;
use super::Writer;
use super::gather::Part;
use crate::codec::CodecChain;
use crate::error::{Error, Result};
use crate::layout::{ChunkIndex, Place};
use crate::model::{Fill, VarId};

/// Encoded results that may wait for their turn, per thread, …
const WAITING: usize = 3;
/// … or fewer, where chunks of this many bytes in all are in the making or waiting.
const WAITING_BYTES: u64 = 8 << 20;

/// A chunk as it shall lie in the file.
pub(super) enum Encoded<'a> {
    /// Made by the filters, with its mask.
    Filtered(Vec<u8>, u32),
    /// Gathered, and nothing to be done to it.
    Gathered(Lease<'a>),
    /// The bytes as they are in the caller's memory.
    Plain(&'a [u8]),
    /// Nothing: the chunk is not stored.
    LeftOut,
}

/// The fill value of a variable whose chunks may be left out when they hold nothing else, and its chunks so far.
pub(super) struct Skip {
    fill: Vec<u8>,
    index: Arc<dyn ChunkIndex>,
}

impl Skip {
    /// Whether a chunk is left out.
    pub(super) fn leaves_out(&self, at: &[u64], raw: &[u8]) -> Result<bool> {
        let n = self.fill.len();
        // Every element equals the first when the bytes equal themselves, one element on.
        let all_fill =
            n > 0 && raw.len() >= n && raw[..n] == self.fill[..] && raw[n..] == raw[..raw.len() - n];
        Ok(all_fill && self.index.get(at)?.is_none())
    }
}

impl<'a> Encoded<'a> {
    /// Through the filters, if there are any: a chain of none would copy into fresh memory.
    pub(super) fn of(codecs: &CodecChain, raw: &'a [u8]) -> Result<Self> {
        if codecs.is_empty() {
            return Ok(Self::Plain(raw));
        }
        let (bytes, mask) = codecs.encode(raw)?;
        Ok(Self::Filtered(bytes, mask))
    }

    /// As [`Self::of`], for a block that is not needed afterwards.
    pub(super) fn of_block(codecs: &CodecChain, block: Lease<'a>) -> Result<Self> {
        if codecs.is_empty() {
            return Ok(Self::Gathered(block));
        }
        let (bytes, mask) = codecs.encode(&block)?;
        Ok(Self::Filtered(bytes, mask))
    }

    fn parts(&self) -> (&[u8], u32) {
        match self {
            Self::Filtered(bytes, mask) => (bytes, *mask),
            Self::Gathered(block) => (block, 0),
            Self::Plain(bytes) => (bytes, 0),
            Self::LeftOut => (&[], 0),
        }
    }
}

impl Writer {
    /// Takes a chunk that is to be encoded and placed, after those that came before.
    pub(super) fn enqueue(&mut self, part: Part) -> Result<()> {
        self.gather.pending_bytes += part.block.footprint();
        self.gather.pending.push(part);
        if self.gather.pending.len() as u64 >= PENDING_CHUNKS
            || self.gather.pending_bytes > self.gather.pending_limit
        {
            self.flush_pending()?;
        }
        Ok(())
    }

    /// Enqueues all parts. After an error none is lost.
    pub(super) fn enqueue_all(&mut self) -> Result<()> {
        let mut parts = self.gather.take_all().into_iter();
        while let Some(part) = parts.next() {
            if let Err(e) = self.enqueue(part) {
                parts.for_each(|part| self.gather.put(part));
                return Err(e);
            }
        }
        Ok(())
    }

    /// Encodes and places all chunks that wait. After an error they go on waiting: those that have a place already are placed
    /// once more.
    pub(super) fn flush_pending(&mut self) -> Result<()> {
        if self.gather.pending.is_empty() {
            return Ok(());
        }
        let mut parts = std::mem::take(&mut self.gather.pending);
        let placed = self.place_parts(&mut parts);
        self.gather.is_stuck = placed.is_err();
        if placed.is_err() {
            self.gather.pending = parts;
            return placed;
        }
        self.gather.pending_bytes = 0;
        for part in parts {
            self.engine.inner.scratch.give(part.block);
        }
        Ok(())
    }

    fn place_parts(&mut self, parts: &mut [Part]) -> Result<()> {
        // Chunks of one variable mostly stand together.
        let mut chains: Vec<(VarId, CodecChain, Option<Skip>)> = Vec::new();
        let (mut chain_of, mut heaps) = (Vec::with_capacity(parts.len()), Vec::new());
        for part in &mut *parts {
            let known = chains.iter().rposition(|(v, ..)| *v == part.id.0);
            chain_of.push(match known {
                Some(i) => i,
                None => {
                    chains.push((part.id.0, self.chain(part.id.0)?, self.skip(part.id.0)?));
                    heaps.extend(self.layout(part.id.0)?.element.heap.then_some(part.id.0));
                    chains.len() - 1
                }
            });
            let (var, at) = &part.id;
            if heaps.contains(var) {
                let skip = chains.iter().find(|(v, ..)| v == var).and_then(|(.., skip)| skip.as_ref());
                if !skip.map_or(Ok(false), |skip| skip.leaves_out(at, &part.block))? {
                    self.container.own_elements(*var, &mut part.block)?;
                }
            }
        }
        let parts = &*parts;
        let encode = |i: usize| {
            let (_, codecs, skip) = &chains[chain_of[i]];
            match skip {
                Some(skip) if skip.leaves_out(&parts[i].id.1, &parts[i].block)? => Ok(Encoded::LeftOut),
                _ => Encoded::of(codecs, &parts[i].block),
            }
        };
        let ids: Vec<_> = parts.iter().map(|p| &p.id).collect();
        let largest = parts.iter().map(|p| p.block.footprint()).max().unwrap_or(0);
        if !self.skip_fill && chains.iter().all(|(_, chain, _)| chain.is_empty()) {
            self.container.will_place(parts.iter().map(|p| p.block.len() as u64).sum())?;
        }
        self.place(parts.len(), largest, |i| (ids[i].0, ids[i].1.clone()), encode)
    }

    /// Encodes `n` chunks of up to `bytes_each` bytes on all threads, and places them one after the other.
    pub(super) fn place<'a>(
        &mut self,
        n: usize,
        bytes_each: u64,
        id: impl Fn(usize) -> (VarId, Vec<u64>) + Sync,
        encode: impl Fn(usize) -> Result<Encoded<'a>> + Sync,
    ) -> Result<()> {
        let container = &mut self.container;
        let count = &self.placed;
        let store = container.store().clone();
        let schema = container.schema();
        let names: Vec<String> = schema.var_ids().map(|v| schema.var_path(v)).collect();
        let explain = |e: Error, i: usize| {
            let (var, at) = id(i);
            chunked::explain(e, store.name(), &names[var.0], &at, None)
        };
        let threads = self.engine.threads();
        let few = (WAITING_BYTES / bytes_each.max(1)).min(1 << 16) as usize;
        let window = few.clamp(threads + 1, WAITING * threads + 1);
        let placed = self.engine.ordered(
            n,
            window,
            |i| encode(i).map_err(|e| explain(e, i)),
            |i, encoded| {
                count.fetch_add(bytes_each, Ordering::Relaxed);
                if matches!(encoded, Encoded::LeftOut) {
                    return Ok(());
                }
                let (var, at) = id(i);
                let (bytes, mask) = encoded.parts();
                container.place_chunk(var, &at, bytes, mask).map_err(|e| explain(e, i))
            },
        );
        self.forget();
        placed
    }

    /// The chunks of a variable that may be left out: those with only fill values.
    pub(super) fn skip(&self, var: VarId) -> Result<Option<Skip>> {
        // Of a variable that is not filled, HDF5 leaves to chance what a missing chunk reads as.
        if !self.skip_fill || self.schema().var(var).fill == Fill::None {
            return Ok(None);
        }
        let layout = self.layout(var)?;
        Ok(match (&layout.place, layout.absent.one()) {
            (Place::Chunked { index, .. }, Some(one)) => {
                Some(Skip { fill: one.to_vec(), index: index.clone() })
            }
            _ => None,
        })
    }

    fn chain(&self, var: VarId) -> Result<CodecChain> {
        let layout = self.layout(var)?;
        match &layout.place {
            Place::Chunked { codecs, .. } => Ok(codecs.clone()),
            _ => Err(Error::Internal(format!("`{}` is not stored in chunks any more", layout.name))),
        }
    }
}
