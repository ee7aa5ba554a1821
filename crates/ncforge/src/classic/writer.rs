//! A classic file that is being written or updated.
//!
//! The order of writes: data first, made durable; then the header, which contains the record count.
//! At any moment, the data that the header on disk describes are complete, so a crash leaves the state of the last
//! [`ContainerMut::sync`] (except for overwritten values, which cannot be restored).

use std::sync::Arc;

use super::CreateOptions;
use super::committed;
use super::emit;
use super::fill::Filler;
use super::header::record_dim;
use super::layout::Layout;
use super::limits;
use super::reader::{ClassicFile, stored_fill};
use super::rewrite;
use super::version::Version;
use super::written::{Written, run_count};
use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::layout::VarLayout;
use crate::model::{DimId, Fill, Schema, VarId};
use crate::select::Hyperslab;
use crate::store::{ReadStore, WriteStore};

/// The largest number of written ranges that are recorded for one variable; beyond it, its holes are filled at once.
const MAX_PIECES: u64 = 1 << 18;
/// The space of smaller files is not reserved.
const RESERVE_FROM: u64 = 1 << 20;

/// A classic file open for writing.
#[derive(Debug)]
pub(super) struct ClassicWriter {
    pub(super) file: ClassicFile,
    /// The file's store.
    pub(super) store: Arc<dyn WriteStore>,
    pub(super) options: CreateOptions,
    /// The written parts of each variable.
    pub(super) written: Vec<Written>,
    /// From this byte on, the file is zero wherever this writer has not written.
    pub(super) zero_from: u64,
    /// The header in the file.
    pub(super) on_disk: Vec<u8>,
    /// Whether more than the record count of the header has changed.
    pub(super) redefined: bool,
    /// Whether anything has changed since the last sync.
    pub(super) touched: bool,
    /// A new file that was never synced: its state need not be protected.
    pub(super) fresh: bool,
}

/// Says what lies where, to a store that lays out what it holds by it.
pub(super) fn describe(store: &dyn ReadStore, file: &Layout, schema: &Schema) {
    if let Some(blocks) = store.blocks() {
        blocks.describe(&file.parts(schema));
    }
}

impl ClassicWriter {
    /// Begins a new file: the old contents of the store are dropped, the header is written.
    pub(super) fn create(
        store: Arc<dyn WriteStore>,
        schema: Schema,
        options: &CreateOptions,
    ) -> Result<Self> {
        let (version, layout) = limits::choose(&schema, schema.format, options.header_room)?;
        let schema = limits::normalise(schema, version);
        let on_disk = emit::header(&schema, version, 0, &layout.vars)?;
        store.set_len(0)?;
        describe(&*store, &layout, &schema);
        let file = ClassicFile::new(store.clone(), version, schema, layout, Vec::new());
        let mut writer = ClassicWriter {
            written: vec![Written::default(); file.schema.vars.len()],
            file,
            store,
            options: options.clone(),
            zero_from: 0,
            on_disk,
            redefined: false,
            touched: true,
            fresh: true,
        };
        writer.reserve()?;
        writer.store.write_at(&writer.on_disk, 0)?;
        writer.skip_unfilled();
        Ok(writer)
    }

    /// Opens a file for update.
    pub(super) fn open(store: Arc<dyn WriteStore>) -> Result<Self> {
        let file = ClassicFile::open_for_update(store.clone())?;
        if file.layout.records_overlap() {
            let path = file.store.name().to_owned();
            return Err(Error::Unsupported {
                path,
                what: "updating a file whose record variables reach into their next record".into(),
            });
        }
        let on_disk = file.store.read_vec(0, file.layout.header)?;
        describe(&*store, &file.layout, &file.schema);
        let records = file.records();
        let written = file
            .layout
            .vars
            .iter()
            .map(|e| {
                if e.record {
                    Written::present(e.bytes * records, records)
                } else {
                    Written::present(e.bytes, 1)
                }
            })
            .collect();
        Ok(ClassicWriter {
            zero_from: file.store.len(),
            file,
            store,
            options: CreateOptions::default(),
            written,
            on_disk,
            redefined: false,
            touched: false,
            fresh: false,
        })
    }

    fn cannot(&self, what: String) -> Error {
        self.file.version.cannot(what)
    }

    /// Current bytes of a variable's elements, and its records (1 for a fixed variable).
    fn total(&self, var: usize) -> (u64, u64) {
        let e = &self.file.layout.vars[var];
        let slots = if e.record { self.file.records() } else { 1 };
        (e.bytes * slots, slots)
    }

    /// Reserves space on disk for data that will certainly be written.
    fn reserve(&self) -> Result<()> {
        let is_filled = (0..self.written.len()).all(|var| self.is_filled(var));
        let len = self.file.layout.file_len(self.file.records()).unwrap_or(0);
        if is_filled && len >= RESERVE_FROM {
            self.store.reserve(0, len)?;
        }
        Ok(())
    }

    fn is_filled(&self, var: usize) -> bool {
        self.options.fill && self.file.schema.vars[var].fill != Fill::None
    }

    /// Written parts of variables that are not filled need not be recorded.
    pub(super) fn skip_unfilled(&mut self) {
        for var in 0..self.written.len() {
            if !self.is_filled(var) {
                let (end, slots) = self.total(var);
                self.written[var].settle(end, slots);
            }
        }
    }

    /// Fills the holes of `vars` (given in rising order), and the padding after their data.
    fn fill_holes(&mut self, vars: &[usize]) -> Result<()> {
        let store = &self.store;
        let ClassicFile { schema, layout, .. } = &self.file;
        let records = self.file.records();
        let padded_records = layout.vars.iter().filter(|e| e.record).count() > 1;
        let mut filler = Filler::new(&**store, self.zero_from);
        let element = |var: usize| stored_fill(&schema.vars[var]);
        for &var in vars.iter().filter(|&&v| !layout.vars[v].record) {
            let (e, written) = (&layout.vars[var], &self.written[var]);
            for gap in written.gaps(0..e.bytes) {
                filler.add(e.begin + gap.start..e.begin + gap.end, &element(var))?;
            }
            if written.padded == 0 && e.padded() > e.bytes {
                filler.add(e.begin + e.bytes..e.begin + e.padded(), &element(var))?;
            }
        }
        // Record variables together, record by record: that is their order in the file.
        let mut first = records;
        let mut open = Vec::new();
        for &var in vars.iter().filter(|&&v| layout.vars[v].record) {
            let (e, written) = (&layout.vars[var], &self.written[var]);
            let gap = written.first_gap(e.bytes * records).map_or(records, |at| at / e.bytes);
            let padding = if padded_records && e.padded() > e.bytes { written.padded } else { records };
            if gap.min(padding) < records {
                first = first.min(gap).min(padding);
                open.push((e, written, padding, element(var)));
            }
        }
        for record in first..records {
            for (e, written, padding, element) in &open {
                let at = e.begin + record * layout.record_size;
                let before = record * e.bytes;
                for gap in written.gaps(before..before + e.bytes) {
                    filler.add(at + (gap.start - before)..at + (gap.end - before), element)?;
                }
                if record >= *padding {
                    filler.add(at + e.bytes..at + e.padded(), element)?;
                }
            }
        }
        filler.flush()?;
        for &var in vars {
            let (end, slots) = self.total(var);
            self.written[var].settle(end, slots);
        }
        Ok(())
    }

    /// The header as it should be.
    fn header(&self) -> Result<Vec<u8>> {
        let ClassicFile { schema, version, layout, .. } = &self.file;
        if self.redefined {
            return emit::header(schema, *version, self.file.records(), &layout.vars);
        }
        // Only the count: all other bytes of the file stay the same.
        let mut header = self.on_disk.clone();
        let records = self.file.records();
        match version {
            Version::V5 => header[4..12].copy_from_slice(&records.to_be_bytes()),
            Version::V1 | Version::V2 => header[4..8].copy_from_slice(&(records as u32).to_be_bytes()),
        }
        Ok(header)
    }

    /// Adopts a layout (and the schema that belongs to it).
    pub(super) fn adopt(&mut self, schema: Schema, layout: Layout) {
        self.file.schema = schema;
        self.file.layout = layout;
        self.file.forget_places();
    }
}

impl Container for ClassicWriter {
    fn schema(&self) -> &Schema {
        self.file.schema()
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.file.store()
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.file.layout(var)
    }

    fn notes(&self) -> Vec<String> {
        self.file.notes()
    }

    fn metadata_bytes(&self) -> Option<u64> {
        self.file.metadata_bytes()
    }
}

impl ContainerMut for ClassicWriter {
    fn write_store(&self) -> &Arc<dyn WriteStore> {
        &self.store
    }

    fn redefine(&mut self, schema: Schema) -> Result<()> {
        super::redefine::redefine(self, schema)
    }

    fn grow(&mut self, dim: DimId, len: u64) -> Result<()> {
        if record_dim(&self.file.schema) != Some(dim) {
            let what = format!("dimension {} is not the unlimited one", dim.0);
            return Err(Error::BadDimension { dim: dim.0, what });
        }
        let now = self.file.records();
        if len <= now {
            return Ok(());
        }
        if len > self.file.version.max_records() || self.file.layout.file_len(len).is_none() {
            return Err(self.cannot(format!("{len} records of {} bytes", self.file.layout.record_size)));
        }
        self.file.schema.dims[dim.0].len = len;
        self.file.renew_record_places();
        self.skip_unfilled();
        self.touched = true;
        Ok(())
    }

    fn place_chunk(&mut self, var: VarId, _at: &[u64], _encoded: &[u8], _mask: u32) -> Result<()> {
        let name = self.file.schema.var_path(var);
        Err(Error::not_chunked(name))
    }

    fn is_untouched(&self, var: VarId) -> bool {
        self.written.get(var.0).is_some_and(|w| !w.has_values || self.total(var.0).0 == 0)
    }

    fn will_write(&mut self, var: VarId, region: &Hyperslab) -> Result<()> {
        let layout = self.file.layout(var)?;
        region.check(&layout.shape, &layout.name)?;
        self.touched = true;
        let written = &mut self.written[var.0];
        written.has_values = true;
        if run_count(&layout.shape, region).saturating_add(written.pieces() as u64) > MAX_PIECES {
            return self.settle(var);
        }
        written.add(&layout.shape, region, layout.element.size as u64);
        Ok(())
    }

    fn settle(&mut self, var: VarId) -> Result<()> {
        self.file.layout(var)?;
        self.fill_holes(&[var.0])
    }

    fn sync(&mut self) -> Result<()> {
        if !self.touched {
            return self.store.sync();
        }
        let all: Vec<usize> = (0..self.written.len()).collect();
        self.fill_holes(&all)?;
        let store = &self.store;
        let len = self.file.layout.file_len(self.file.records()).unwrap_or(0);
        if store.len() < len {
            store.set_len(len)?;
        }
        if store.blocks().is_none() {
            store.sync()?;
        }
        let header = self.header()?;
        let same = header == self.on_disk;
        rewrite::header(&**store, &self.on_disk, &header, !self.fresh)?;
        if same && store.blocks().is_some() {
            store.sync()?;
        }
        committed::check(&self.file, &header)?;
        self.fresh = false;
        self.on_disk = header;
        self.redefined = false;
        self.touched = false;
        Ok(())
    }

    fn as_container(&self) -> &dyn Container {
        self
    }
}
