//! The input of the rules: how every variable is stored, what reads of it cost, where the metadata lie.

use std::sync::Arc;

use crate::points::Points;
use ncforge::model::{Filter, Schema, Storage, VarId, Variable, shape};
use ncforge::raw::{ChunkGrid, ChunkRecord, Chunks, VarLayout, few};
use ncforge::store::RecordedStore;
use ncforge::{Dataset, Result};
use ncforge_tune::keep::sharing;
use ncforge_tune::rates::SEGMENT_BYTES;
use ncforge_tune::{Axis, Choice, Coding, Prediction, Roles, Row};

/// Bytes that are read of a file, at most: indexes …
pub(super) const INDEX_BYTES: u64 = 40 << 20;
/// … and values.
pub(super) const VALUE_BYTES: u64 = 16 << 20;
/// Chunks that are remembered of an index, to be sampled.
const PICKS: usize = 6;

/// A file under examination.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) dataset: Dataset,
    pub(super) watched: Arc<RecordedStore>,
    /// True for a zipped file: its bytes are compressed, and lie otherwise than the format says.
    pub(super) zipped: bool,
    pub(super) vars: Vec<VarFacts>,
    /// Structures that opening the file reads.
    pub(super) metadata: Vec<(u64, u64)>,
    /// Notes for the user on the examination.
    pub(super) notes: Vec<String>,
}

/// One variable.
#[derive(Clone, Debug)]
pub(super) struct VarFacts {
    pub(super) id: VarId,
    pub(super) path: String,
    pub(super) axes: Vec<Axis>,
    pub(super) layout: Arc<VarLayout>,
    /// Stored bytes of an element.
    pub(super) element: u64,
    /// Bytes of all values.
    pub(super) bytes: u64,
    pub(super) filters: Vec<Filter>,
    /// Chunk lengths.
    pub(super) chunk: Option<Vec<u64>>,
    pub(super) index: Option<Index>,
    /// The cost of the usual (or the asked-for) reads now, and with better chunks.
    pub(super) choice: Option<Arc<Choice>>,
    /// The chunks of that, also where reads cost little.
    pub(super) best_chunks: Option<Vec<u64>>,
    /// The filters that it shall have, …
    pub(super) target: Vec<Filter>,
    /// … and what a sample says of values that are encoded with them.
    pub(super) coding: Option<Coding>,
    pub(super) sample: Option<Sample>,
}

/// The results of encoding and decoding parts of a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Bytes looked at.
    pub(super) raw: u64,
    /// Their size with the variable's own filters, as encoded here.
    pub(super) now: u64,
    /// Their size with shuffle and deflate 1.
    pub(super) shuffled: u64,
    /// Their size with shuffle before the variable's own filters, where it has none.
    pub(super) with_shuffle: Option<u64>,
    /// The part by which the variable's level of deflate makes them smaller than level 1 does, and how many times as long that takes:
    /// both with shuffle, if shuffle makes them smaller.
    pub(super) above_level_one: Option<(f64, f64)>,
    /// Bytes of the values in a segment of a chunk that has no access points, encoded anew; all of the chunk if it would get none.
    pub(super) segment: Option<u64>,
    /// Chunks looked at among the smallest, and how many of them held fill values only.
    pub(super) fill_only: (u64, u64),
    /// Whether the fill value is among the values that were looked at.
    pub(super) holds_fill: bool,
}

/// A variable's chunks, from its index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// Chunks stored.
    pub(super) chunks: u64,
    /// Their stored bytes.
    pub(super) bytes: u64,
    /// Nodes of the index, and where they lie.
    pub(super) nodes: Vec<(u64, u64)>,
    /// Chunks for which filters were skipped.
    pub(super) masked: u64,
    /// The chunks with access points, where there may be some.
    pub(super) points: Option<Points>,
    /// The place of the first chunk.
    pub(super) first: Option<u64>,
    /// Stored bytes of the smallest chunks, their number, and some of them.
    pub(super) smallest: (u64, u64, Vec<(Vec<u64>, ChunkRecord)>),
}

impl VarFacts {
    /// Bytes of a chunk's values.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.bytes_of(self.chunk.as_deref().unwrap_or_default())
    }

    /// Bytes of the values of a chunk of these lengths.
    pub(super) fn bytes_of(&self, chunk: &[u64]) -> u64 {
        shape::bytes(chunk, self.element)
    }

    /// Whether chunks must be decoded whole.
    pub(super) fn is_filtered(&self) -> bool {
        self.chunk.is_some() && !self.filters.is_empty()
    }

    /// Chunks that the shape has.
    pub(super) fn chunks_possible(&self) -> u64 {
        self.chunk.as_ref().map_or(0, |chunk| self.chunks_of(chunk))
    }

    /// Chunks of these lengths that the shape has.
    pub(super) fn chunks_of(&self, chunk: &[u64]) -> u64 {
        shape::product(self.axes.iter().zip(chunk).map(|(a, &c)| a.len.div_ceil(c.max(1))))
    }

    /// Chunks that the file holds, as far as that is known.
    pub(super) fn chunks_stored(&self) -> u64 {
        self.index.as_ref().map_or_else(|| self.chunks_possible(), |i| i.chunks)
    }

    /// The present coding of its chunks, as far as a sample tells.
    pub(super) fn coding_now(&self) -> Coding {
        let sampled = self.coding.filter(|_| self.target == self.filters);
        let coding = sampled.unwrap_or_else(|| Coding::of_chain(&self.filters));
        Coding { points: self.has_points().then_some(SEGMENT_BYTES), ..coding }
    }

    /// Whether most of its chunks have access points.
    pub(super) fn has_points(&self) -> bool {
        self.index.as_ref().and_then(|i| i.points).is_some_and(|p| 2 * p.chunks > p.looked_at)
    }

    /// The chunks that reads of this kind share, if they were of lengths `chunk`.
    pub(super) fn row(&self, prediction: &Prediction, chunk: &[u64]) -> Row {
        Row::of(&prediction.pattern.counts, &self.lens(), chunk, self.element)
    }

    /// The chunks that reads of this kind share now.
    pub(super) fn row_now(&self, prediction: &Prediction) -> Row {
        self.row(prediction, self.chunk.as_deref().unwrap_or_default())
    }

    /// Reads like this, side by side, that the same chunks serve.
    pub(super) fn sharing(&self, prediction: &Prediction) -> u64 {
        sharing(&prediction.pattern.counts, &self.lens(), self.chunk.as_deref().unwrap_or_default())
    }

    fn lens(&self) -> Vec<u64> {
        self.axes.iter().map(|a| a.len).collect()
    }
}

impl Facts {
    /// Gathers what the metadata of a watched file tell.
    pub(super) fn gather(dataset: Dataset, watched: Arc<RecordedStore>, zipped: bool) -> Self {
        let metadata = watched.take_metadata();
        let mut facts = Facts { dataset, watched, zipped, vars: Vec::new(), metadata, notes: Vec::new() };
        let schema = facts.dataset.schema().clone();
        let roles = Roles::of(&schema);
        for id in schema.var_ids() {
            match facts.variable(&schema, &roles, id) {
                Ok(Some(v)) => facts.vars.push(v),
                Ok(None) => {}
                Err(e) => facts.notes.push(e.to_string()),
            }
        }
        match facts.elsewhere() {
            Ok(notes) => facts.notes.extend(notes),
            Err(e) => facts.notes.push(e.to_string()),
        }
        facts
    }

    /// Notes on values that lie in other files: nothing is known of how they are stored.
    fn elsewhere(&self) -> Result<Vec<String>> {
        let mut found: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for v in &self.vars {
            let (files, name) = (v.layout.other_files()?, format!("`{}`", v.path));
            match found.iter_mut().find(|(known, _)| *known == files) {
                _ if files.is_empty() => {}
                Some((_, names)) => names.push(name),
                None => found.push((files, vec![name])),
            }
        }
        let note = |(files, names): (Vec<String>, Vec<String>)| {
            // A control character in a name must not reach the terminal.
            let files = few(files.iter().map(|file| format!("`{}`", file.escape_debug())));
            format!(
                "the values of {} lie in other files ({files}): look at those to know how they are stored; a copy of this \
                 file would hold them",
                few(names)
            )
        };
        Ok(found.into_iter().map(note).collect())
    }

    pub(super) fn schema(&self) -> &Schema {
        self.dataset.schema()
    }

    pub(super) fn var(&self, v: &VarFacts) -> &Variable {
        self.schema().var(v.id)
    }

    fn variable(&mut self, schema: &Schema, roles: &Roles, id: VarId) -> Result<Option<VarFacts>> {
        let layout = self.dataset.container().layout(id)?;
        let var = schema.var(id);
        let path = schema.var_path(id);
        if let Some(what) = layout.place.unsupported() {
            self.notes.push(format!("`{path}` was not looked at: {what} is not supported"));
            return Ok(None);
        }
        let axes = roles.axes_of(schema, id);
        let element = layout.element.size as u64;
        let (filters, chunk) = match (layout.place.chunks(), &var.storage) {
            (Some(Chunks { chunk, .. }), Storage::Chunked { filters, .. }) => {
                (filters.clone(), Some(chunk.to_vec()))
            }
            _ => (Vec::new(), None),
        };
        let bytes = shape::product(axes.iter().map(|a| a.len)).saturating_mul(element);
        let mut facts = VarFacts {
            id,
            path,
            axes,
            element,
            bytes,
            target: filters.clone(),
            coding: None,
            filters,
            chunk,
            index: None,
            choice: None,
            best_chunks: None,
            sample: None,
            layout,
        };
        facts.index = self.index(schema, &facts)?;
        Ok(Some(facts))
    }

    /// Reads a variable's index, unless that would be too much.
    fn index(&mut self, schema: &Schema, v: &VarFacts) -> Result<Option<Index>> {
        let Some(Chunks { index, chunk, codecs }) = v.layout.place.chunks() else { return Ok(None) };
        let possible = ChunkGrid::new(&schema.shape(v.id), chunk).len();
        // A key of a B-tree holds 8 bytes, and 8 for each axis and one more; nodes may be half empty, and pages are
        // read whole.
        let expected = possible.saturating_mul(2 * (24 + 8 * chunk.len() as u64));
        let available = INDEX_BYTES.saturating_sub(self.watched.bytes_read());
        if expected > available {
            self.notes
                .push(format!("the index of `{}` was not read: it has room for {possible} chunks", v.path));
            return Ok(None);
        }
        self.watched.take_metadata();
        let list = index.list()?;
        let nodes = self.watched.take_metadata();
        let least = list.iter().map(|c| c.1.len).min().unwrap_or(0);
        let small: Vec<_> = list.iter().filter(|c| c.1.len == least).collect();
        Ok(Some(Index {
            chunks: list.len() as u64,
            bytes: list.iter().map(|c| c.1.len).fold(0, u64::saturating_add),
            masked: list.iter().filter(|c| c.1.mask != 0).count() as u64,
            nodes,
            points: Points::of(&*self.watched, codecs, &list),
            first: list.iter().map(|c| c.1.offset).min(),
            smallest: (least, small.len() as u64, spread(&small).into_iter().cloned().collect()),
        }))
    }
}

/// Some of a list, from its whole length.
fn spread<T: Clone>(list: &[T]) -> Vec<T> {
    let n = list.len().min(PICKS);
    (0..n).map(|i| list[(2 * i + 1) * list.len() / (2 * n)].clone()).collect()
}
