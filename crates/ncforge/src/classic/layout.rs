//! The layout of the data: sizes, records and begins.
//!
//! Fixed variables are stored one after the other, each padded to four bytes; then come the records, each with
//! one padded slice of every record variable. If there is exactly one record variable, nothing is padded, which
//! matters for types of one and two bytes. Source: NetCDF Classic format specification, "Computing File
//! Offsets"; limits: NUG, "Large File Support".

use super::version::Version;
use crate::model::{DType, Schema, Variable};
use crate::store::Part;

/// Size of one variable, or of one record of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Byte offset of the (first record's) first element.
    pub(super) begin: u64,
    /// Bytes of the elements: of all, or of one record.
    pub(super) bytes: u64,
    /// Whether the variable has records.
    pub(super) record: bool,
}

impl Extent {
    /// Bytes with padding.
    pub(super) fn padded(&self) -> u64 {
        self.bytes.next_multiple_of(4)
    }
}

/// The offsets of all variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of the header.
    pub(super) header: u64,
    /// One for every variable.
    pub(super) vars: Vec<Extent>,
    /// The first byte of the records; the end of the fixed variables when there are none.
    pub(super) records_begin: u64,
    /// Bytes from one record to the next; 0 when there are no record variables.
    pub(super) record_size: u64,
}

/// Whether a variable has the record dimension.
pub(super) fn is_record(schema: &Schema, var: &Variable) -> bool {
    var.dims.first().is_some_and(|d| schema.dim(*d).unlimited)
}

/// Sizes of all variables, with begins of zero. The error names a variable that is larger than any file.
pub(super) fn extents(schema: &Schema) -> Result<Vec<Extent>, String> {
    let mut out = Vec::with_capacity(schema.vars.len());
    for var in &schema.vars {
        let DType::Atomic(atomic) = var.dtype else {
            return Err(format!("variable `{}` of type {}", var.name, schema.type_name(var.dtype)));
        };
        let record = is_record(schema, var);
        let bytes = var.dims[usize::from(record)..]
            .iter()
            .try_fold(atomic.size() as u64, |n, d| n.checked_mul(schema.dim(*d).len))
            .filter(|&n| n <= Version::V5.max_var_size())
            .ok_or_else(|| format!("variable `{}` of more than 2^63 bytes", var.name))?;
        out.push(Extent { begin: 0, bytes, record });
    }
    Ok(out)
}

/// Only the very last variable of the file may pass the version's limit: nothing begins after it. That is a rule for writers:
/// where the data of a file begin, its header says.
pub(super) fn check_sizes(schema: &Schema, version: Version, extents: &[Extent]) -> Result<(), String> {
    let records = extents.iter().any(|e| e.record);
    let last = extents.iter().rposition(|e| e.record == records);
    for (i, e) in extents.iter().enumerate() {
        if e.padded() > version.max_var_size() && Some(i) != last {
            let per = if e.record { " a record" } else { "" };
            return Err(format!(
                "variable `{}` of {} bytes{per}, which is not the last one (limit {})",
                schema.vars[i].name,
                e.bytes,
                version.max_var_size()
            ));
        }
    }
    Ok(())
}

/// Bytes from one record to the next. `None` if they pass 2^63.
pub(super) fn record_size(extents: &[Extent]) -> Option<u64> {
    let mut records = extents.iter().filter(|e| e.record);
    match (records.next(), records.next()) {
        (None, _) => Some(0),
        (Some(only), None) => Some(only.bytes),
        _ => extents
            .iter()
            .filter(|e| e.record)
            .try_fold(0u64, |n, e| n.checked_add(e.padded()))
            .filter(|&n| n <= i64::MAX as u64),
    }
}

impl Layout {
    /// The layout of variables of these sizes that a file's begins describe; `None` if records have more than 2^63 bytes.
    pub(super) fn of_file(mut vars: Vec<Extent>, begins: &[u64], header: u64) -> Option<Layout> {
        for (e, &begin) in vars.iter_mut().zip(begins) {
            e.begin = begin;
        }
        let record_size = record_size(&vars)?;
        let mut layout = Layout { header, vars, records_begin: 0, record_size };
        let first_record = layout.vars.iter().find(|e| e.record);
        layout.records_begin = first_record.map_or_else(|| layout.fixed_end(), |e| e.begin);
        Some(layout)
    }

    /// Whether a file may be laid out so, with a header that reaches to byte `header`. The error is a sentence that
    /// names the variable to blame.
    ///
    /// As netCDF-C does, it refuses begins that overlap or do not rise, among the fixed variables and among
    /// the record variables, and records that begin before the fixed variables end. Gaps are legal.
    pub(super) fn check(&self, schema: &Schema, header: u64) -> Result<(), String> {
        let mut free = header.max(self.header);
        let mut after = None;
        for record in [false, true] {
            for (i, e) in self.vars.iter().enumerate().filter(|(_, e)| e.record == record) {
                let name = &schema.vars[i].name;
                if e.begin < free {
                    let after = after.map_or_else(|| "the header".to_owned(), |a| format!("`{a}`"));
                    return Err(format!(
                        "the data of `{name}` begin at byte {}, before the end of {after} at {free}",
                        e.begin
                    ));
                }
                free =
                    e.begin.checked_add(e.padded()).filter(|&f| f <= i64::MAX as u64).ok_or_else(|| {
                        format!("the data of `{name}` begin at byte {} and take {}", e.begin, e.bytes)
                    })?;
                after = Some(name);
            }
        }
        Ok(())
    }

    /// Places variables one after the other from byte `first` on: fixed ones, then records. `None` if an
    /// offset passes 2^63.
    pub(super) fn tight(extents: &[Extent], header: u64, first: u64) -> Option<Layout> {
        let mut vars = extents.to_vec();
        let mut at = first.checked_next_multiple_of(4)?;
        let mut records_begin = at;
        for record in [false, true] {
            records_begin = at;
            for e in vars.iter_mut().filter(|e| e.record == record) {
                e.begin = at;
                at = at.checked_add(e.padded()).filter(|&a| a <= i64::MAX as u64)?;
            }
        }
        let record_size = record_size(&vars)?;
        Some(Layout { header, vars, records_begin, record_size })
    }

    /// The parts of the file, for stores that use them: the header, the fixed variables, those of the first record.
    pub(super) fn parts(&self, schema: &Schema) -> Vec<Part> {
        let width = |var: &Variable| schema.fixed_size(var.dtype).map_or(1, |n| n as u16);
        let mut parts = vec![Part { start: 0, width: 1, stride: 0 }];
        let vars = || schema.vars.iter().zip(&self.vars);
        let fixed = vars().filter(|(_, e)| !e.record && e.bytes > 0);
        parts.extend(fixed.map(|(v, e)| Part { start: e.begin, width: width(v), stride: 0 }));
        let stride = u32::try_from(self.record_size).unwrap_or(0);
        let records = vars().filter(|(_, e)| e.record && e.bytes > 0);
        parts.extend(records.map(|(v, e)| Part { start: e.begin, width: width(v), stride }));
        parts.sort_by_key(|p| p.start);
        parts.dedup_by_key(|p| p.start);
        parts
    }

    /// End of the fixed variables with their padding; the header's end when there are none.
    pub(super) fn fixed_end(&self) -> u64 {
        self.vars.iter().filter(|e| !e.record).map(|e| e.begin + e.padded()).max().unwrap_or(self.header)
    }

    /// One past the last data byte (not counting padding) with `records` records. `None` past 2^63.
    pub(super) fn data_end(&self, records: u64) -> Option<u64> {
        self.end(records, |e| e.bytes)
    }

    /// Length of a whole file with `records` records, padding included. `None` past 2^63.
    pub(super) fn file_len(&self, records: u64) -> Option<u64> {
        let padded = self.vars.iter().filter(|e| e.record).count() > 1;
        self.end(records, |e| if padded || !e.record { e.padded() } else { e.bytes })
    }

    fn end(&self, records: u64, size: impl Fn(&Extent) -> u64) -> Option<u64> {
        let mut end = self.header;
        for e in &self.vars {
            let before = match (e.record, records) {
                (false, _) => 0,
                (true, 0) => continue,
                (true, n) => (n - 1).checked_mul(self.record_size)?,
            };
            end = end.max(e.begin.checked_add(before)?.checked_add(size(e))?);
        }
        (end <= i64::MAX as u64).then_some(end)
    }

    /// Whole records in a file of `len` bytes; the padding at the end of the last one may be missing.
    pub(super) fn records_in(&self, len: u64) -> u64 {
        if self.record_size == 0 {
            return 0;
        }
        let last = self.vars.iter().rfind(|e| e.record);
        let padding = match last {
            Some(e) if self.vars.iter().filter(|e| e.record).count() > 1 => e.padded() - e.bytes,
            _ => 0,
        };
        (len + padding).saturating_sub(self.records_begin) / self.record_size
    }

    /// Whether a record variable reaches into the next record (begins with gaps that other writers left).
    pub(super) fn records_overlap(&self) -> bool {
        self.vars.iter().any(|e| e.record && e.begin + e.bytes > self.records_begin + self.record_size)
    }
}
