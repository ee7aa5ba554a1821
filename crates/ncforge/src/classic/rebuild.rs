//! Moves the data of a file to make space: a new file is written and replaces the old one in one step.
//!
//! Moving within the file would save one copy of the data on disk, but a crash in between would leave
//! a file that is neither old nor new.

use super::committed;
use super::emit;
use super::fill::{Filler, read_or_zero};
use super::layout::{Extent, Layout};
use super::reader::stored_fill;
use super::rewrite::copy;
use super::writer::ClassicWriter;
use super::written::Written;
use crate::container::ContainerMut;
use crate::error::Result;
use crate::model::{Fill, Schema};
use crate::store::{ReadStore, WriteStore};

/// Bytes of records moved at once.
const BLOCK: u64 = 4 << 20;

/// Gives the file of `w` the schema `schema` and the layout `layout`, with as many records as it has.
/// New variables are filled, and those in `refilled`, whose fill values have changed. Durable on return; pending changes are
/// made durable first.
pub(super) fn rebuild(
    w: &mut ClassicWriter,
    schema: Schema,
    layout: Layout,
    refilled: &[usize],
) -> Result<()> {
    w.sync()?;
    let records = w.file.records();
    let header = emit::header(&schema, w.file.version, records, &layout.vars)?;
    let fill = w.options.fill;
    let fills: Vec<Option<Vec<u8>>> =
        schema.vars.iter().map(|v| (fill && v.fill != Fill::None).then(|| stored_fill(v))).collect();
    let store = w.store.clone();
    let mover = Mover { from: &*store, old: &w.file.layout, new: &layout, fills: &fills, refilled };
    store.replace(&mut |to| {
        to.set_len(layout.file_len(records).unwrap_or(0).max(header.len() as u64))?;
        to.write_at(&header, 0)?;
        mover.fixed(to)?;
        mover.records(to, records)
    })?;
    w.on_disk = header;
    w.zero_from = store.len();
    let slots = |e: &Extent| if e.record { records } else { 1 };
    let written = layout.vars.iter().enumerate().map(|(i, e)| {
        let has_values = w.written.get(i).is_some_and(|old| old.has_values);
        let make = if has_values { Written::present } else { Written::filled };
        make(e.bytes * slots(e), slots(e))
    });
    w.written = written.collect();
    w.redefined = false;
    w.adopt(schema, layout);
    committed::check(&w.file, &w.on_disk)
}

struct Mover<'a> {
    from: &'a dyn ReadStore,
    old: &'a Layout,
    new: &'a Layout,
    /// How new variables are filled; `None` for those that are not.
    fills: &'a [Option<Vec<u8>>],
    /// Old variables that contain only fill values, and get other ones.
    refilled: &'a [usize],
}

impl Mover<'_> {
    /// Extents of all variables of one kind: in the old file, if they exist there, and in the new one.
    fn vars(&self, record: bool) -> impl Iterator<Item = (usize, Option<&Extent>, &Extent)> {
        let old = |i: usize| self.old.vars.get(i).filter(|_| !self.refilled.contains(&i));
        let pairs = self.new.vars.iter().enumerate().map(move |(i, e)| (i, old(i), e));
        pairs.filter(move |(_, _, e)| e.record == record)
    }

    fn fixed(&self, to: &dyn WriteStore) -> Result<()> {
        for (var, old, new) in self.vars(false) {
            self.slot(to, var, old.map(|e| e.begin), new.begin, new)?;
        }
        Ok(())
    }

    /// One variable, or one record of one.
    fn slot(&self, to: &dyn WriteStore, var: usize, from_at: Option<u64>, at: u64, e: &Extent) -> Result<()> {
        let mut filler = Filler::new(to, 0);
        let padding = if e.record && !self.is_padded() { e.bytes } else { e.padded() };
        let mut hole = at..at + padding;
        if let Some(from_at) = from_at {
            copy(self.from, from_at, to, at, e.bytes)?;
            hole.start = at + e.bytes;
        }
        if let Some(element) = &self.fills[var] {
            filler.add(hole, element)?;
        }
        filler.flush()
    }

    /// Whether the new file's records are padded.
    fn is_padded(&self) -> bool {
        self.new.vars.iter().filter(|e| e.record).count() > 1
    }

    fn records(&self, to: &dyn WriteStore, records: u64) -> Result<()> {
        let (old_size, new_size) = (self.old.record_size, self.new.record_size);
        if new_size == 0 {
            return Ok(());
        }
        if new_size > BLOCK {
            for r in 0..records {
                for (var, old, new) in self.vars(true) {
                    let from_at = old.map(|e| e.begin + r * old_size);
                    self.slot(to, var, from_at, new.begin + r * new_size, new)?;
                }
            }
            return Ok(());
        }
        let block = BLOCK / new_size;
        let mut r = 0;
        while r < records {
            let n = block.min(records - r);
            let mut source = vec![0; (n * old_size) as usize];
            read_or_zero(self.from, &mut source, self.old.records_begin + r * old_size)?;
            let mut image = vec![0; (n * new_size) as usize];
            for (var, old, new) in self.vars(true) {
                self.column(&source, &mut image, n, var, old, new);
            }
            to.write_at(&image, self.new.records_begin + r * new_size)?;
            r += n;
        }
        Ok(())
    }

    /// One variable in `n` records in memory.
    fn column(
        &self,
        source: &[u8],
        image: &mut [u8],
        n: u64,
        var: usize,
        old: Option<&Extent>,
        new: &Extent,
    ) {
        let (old_size, new_size) = (self.old.record_size, self.new.record_size);
        let slot = if self.is_padded() { new.padded() } else { new.bytes } as usize;
        let bytes = new.bytes as usize;
        for r in 0..n {
            let at = (new.begin - self.new.records_begin + r * new_size) as usize;
            let out = &mut image[at..at + slot];
            if let Some(element) = &self.fills[var] {
                for part in out.chunks_mut(element.len()) {
                    part.copy_from_slice(&element[..part.len()]);
                }
            }
            if let Some(old) = old {
                let at = (old.begin - self.old.records_begin + r * old_size) as usize;
                out[..bytes].copy_from_slice(&source[at..at + bytes]);
            }
        }
    }
}
