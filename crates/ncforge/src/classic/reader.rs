//! A classic file that is open for reading.

use std::sync::{Arc, OnceLock};

use super::header::{Header, parse, record_dim};
use super::layout::{Layout, check_sizes, extents};
use super::order::swap_stored;
use super::version::Version;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::{Absent, Element, Place, VarLayout};
use crate::model::{Atomic, DType, Endian, Schema, VarId, Variable};
use crate::store::ReadStore;

/// A file may lack this many bytes of a variable, or …
const SHORT_BYTES: u64 = 64 << 20;
/// … this many times its own length, and they read as zero. If it lacks more, the header is not trusted.
const SHORT_TIMES: u64 = 1024;

/// An open classic file: its header, and the layouts of its variables.
#[derive(Debug)]
pub(super) struct ClassicFile {
    pub(super) store: Arc<dyn ReadStore>,
    pub(super) version: Version,
    pub(super) schema: Schema,
    pub(super) layout: Layout,
    /// Length of the file when it was opened for reading; `None` when it is being written.
    read_len: Option<u64>,
    /// Missing bytes of the file when it was opened.
    missing: u64,
    notes: Vec<String>,
    /// Created on first use: files may have thousands of variables.
    places: Vec<OnceLock<Arc<VarLayout>>>,
}

impl ClassicFile {
    /// Reads and checks the header.
    pub(super) fn open(store: Arc<dyn ReadStore>) -> Result<Self> {
        let header = parse(&*store)?;
        let corrupt = |what: String| Error::corrupt(store.name(), None, what);
        let Header { version, records, len, file_len, .. } = header;
        // A length beyond any file may never have been written: not damage.
        let too_large = |what| Error::Unsupported { path: store.name().to_owned(), what };
        let sizes = extents(&header.schema).map_err(too_large)?;
        let layout = Layout::of_file(sizes, &header.begins, len)
            .ok_or_else(|| too_large("records of more than 2^63 bytes".into()))?;
        layout.check(&header.schema, len).map_err(corrupt)?;
        let count = records.unwrap_or_else(|| layout.records_in(file_len).min(version.max_records()));
        let data_end = layout
            .data_end(count)
            .ok_or_else(|| too_large(format!("{count} records of {} bytes", layout.record_size)))?;
        let record_dim = header.record_dim();
        let Header { mut schema, mut notes, .. } = header;
        if let Some(dim) = record_dim {
            schema.dims[dim.0].len = count;
        }
        describe(&mut notes, &layout, records, count, file_len, data_end);
        if let Err(what) = check_sizes(&schema, version, &layout.vars) {
            notes.push(format!(
                "{what}: {} does not allow that, and netCDF-C reads no such file",
                version.name()
            ));
        }
        let mut file = Self::new(store, version, schema, layout, notes);
        file.read_len = Some(file_len);
        file.missing = data_end.saturating_sub(file_len);
        Ok(file)
    }

    /// As [`ClassicFile::open`], for a file whose data may still be written.
    pub(super) fn open_for_update(store: Arc<dyn ReadStore>) -> Result<Self> {
        let mut file = Self::open(store)?;
        file.read_len = None;
        Ok(file)
    }

    pub(super) fn new(
        store: Arc<dyn ReadStore>,
        version: Version,
        schema: Schema,
        layout: Layout,
        notes: Vec<String>,
    ) -> Self {
        let places = schema.vars.iter().map(|_| OnceLock::new()).collect();
        ClassicFile { store, version, schema, layout, read_len: None, missing: 0, notes, places }
    }

    /// Current number of records.
    pub(super) fn records(&self) -> u64 {
        record_dim(&self.schema).map_or(0, |d| self.schema.dim(d).len)
    }

    /// Discards the layouts of variables after the schema or the layout of the file has changed.
    pub(super) fn forget_places(&mut self) {
        self.places = self.schema.vars.iter().map(|_| OnceLock::new()).collect();
    }

    /// Updates the layouts of record variables after the number of records has changed. A program that writes record by record
    /// calls this for each record.
    pub(super) fn renew_record_places(&mut self) {
        let records = self.records();
        // A file that is read may be too short for more records, which is checked when its layouts are created.
        let keep = self.read_len.is_none();
        for (place, _) in self.places.iter_mut().zip(&self.layout.vars).filter(|(_, extent)| extent.record) {
            match place.get_mut().and_then(Arc::get_mut).and_then(|p| p.shape.first_mut()) {
                Some(len) if keep => *len = records,
                _ => _ = place.take(),
            }
        }
    }

    /// An error if the file is extremely short compared with the size of a variable in its header: a few bytes that
    /// declare terabytes would be read as that many zeros.
    fn check_proportion(&self, id: VarId) -> Result<()> {
        let (Some(len), e) = (self.read_len, &self.layout.vars[id.0]) else { return Ok(()) };
        let before = match (e.record, self.records()) {
            (false, _) => 0,
            (true, 0) => return Ok(()),
            (true, n) => (n - 1) * self.layout.record_size,
        };
        let missing = (e.begin + before + e.bytes).saturating_sub(len);
        if missing > SHORT_BYTES && missing / SHORT_TIMES > len {
            let what = format!(
                "the data of `{}` should reach to byte {}, the file ends at byte {len}",
                self.schema.var(id).name,
                len + missing
            );
            return Err(Error::corrupt(self.store.name(), e.begin, what));
        }
        Ok(())
    }

    fn place(&self, id: VarId) -> VarLayout {
        let var = self.schema.var(id);
        let extent = &self.layout.vars[id.0];
        let place = if extent.record {
            Place::Records { begin: extent.begin, stride: self.layout.record_size }
        } else {
            Place::Contiguous { offset: extent.begin }
        };
        VarLayout {
            name: var.name.clone(),
            shape: self.schema.shape(id),
            element: Element::atomic(atomic(var), Endian::Big),
            absent: Absent::As(stored_fill(var)),
            place,
        }
    }
}

/// The notes that `info` shows.
fn describe(
    notes: &mut Vec<String>,
    layout: &Layout,
    stored: Option<u64>,
    records: u64,
    file_len: u64,
    data_end: u64,
) {
    if stored.is_none() {
        notes.push(format!(
            "the record count is left open (a stream); {records} whole records were counted from the file's size"
        ));
    }
    if data_end > file_len {
        notes.push(format!(
            "the file is {} bytes shorter than its header says; missing values read as zero",
            data_end - file_len
        ));
    }
    let there = layout.records_in(file_len);
    if stored.is_some() && there > records {
        notes.push(format!(
            "{} whole records follow after the last one that the header counts (an interrupted append?)",
            there - records
        ));
    }
}

impl Container for ClassicFile {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        let cell = self.places.get(var.0).ok_or_else(|| Error::NotFound {
            kind: "variable",
            name: format!("number {}", var.0),
            path: self.store.name().to_owned(),
            nearest: None,
        })?;
        if let Some(place) = cell.get() {
            return Ok(place.clone());
        }
        self.check_proportion(var)?;
        let place = Arc::new(self.place(var));
        Ok(cell.get_or_init(|| place).clone())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn missing_bytes(&self) -> u64 {
        self.missing
    }

    fn metadata_bytes(&self) -> Option<u64> {
        Some(self.layout.header)
    }
}

/// The type of a variable of a classic schema, which has no others.
fn atomic(var: &Variable) -> Atomic {
    match var.dtype {
        DType::Atomic(a) => a,
        DType::String | DType::User(_) => Atomic::Byte,
    }
}

/// One fill element in stored form: the `_FillValue` attribute if it is one value of the variable's type (as
/// netCDF-C requires), else the type's default.
pub(super) fn stored_fill(var: &Variable) -> Vec<u8> {
    let dtype = atomic(var);
    let mut fill = var
        .attr("_FillValue")
        .filter(|a| a.dtype == var.dtype)
        .and_then(|a| a.values.bytes())
        .filter(|b| b.len() == dtype.size())
        .map_or_else(|| dtype.default_fill(), <[u8]>::to_vec);
    swap_stored(&mut fill, dtype.size());
    fill
}
