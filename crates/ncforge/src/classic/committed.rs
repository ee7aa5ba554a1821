//! Reads back the state that a sync has left in the store, before the sync reports success.
//!
//! An error in the bookkeeping of offsets would otherwise be detected only when the file is opened next. These checks are
//! always made: the store contains the header, it is as long as the header says, and no data begin
//! before the end of the header or overlap. If assertions are on (tests), the file is also opened as another program would
//! open it, and the result is compared with the state of this writer.

use super::layout::Layout;
use super::reader::ClassicFile;
use crate::error::{Error, Result};
use crate::model::Schema;

/// An error unless the store of `file` contains `header`, and is long enough for all data that it describes.
pub(super) fn check(file: &ClassicFile, header: &[u8]) -> Result<()> {
    let (store, layout) = (&file.store, &file.layout);
    let wrong = |what: String| {
        Error::Verify(format!("`{}` does not hold what was written into it: {what}", store.name()))
    };
    let header_len = header.len() as u64;
    layout.check(&file.schema, header_len).map_err(wrong)?;
    let needed = layout.file_len(file.records()).unwrap_or(u64::MAX).max(header_len);
    if store.len() < needed {
        return Err(wrong(format!("it ends at byte {}, its data at byte {needed}", store.len())));
    }
    let stored = store.read_vec(0, header_len)?;
    if let Some(at) = stored.iter().zip(header).position(|(a, b)| a != b) {
        return Err(wrong(format!("its header differs at byte {at}")));
    }
    if cfg!(debug_assertions) {
        compare(file, layout).map_err(wrong)?;
    }
    Ok(())
}

/// Opens the file again and compares.
fn compare(file: &ClassicFile, layout: &Layout) -> Result<(), String> {
    let found = ClassicFile::open(file.store.clone()).map_err(|e| e.to_string())?;
    if found.records() != file.records() {
        return Err(format!("{} records, not {}", found.records(), file.records()));
    }
    // Without data after the header, there are no offsets to compare.
    if found.layout.vars != layout.vars || found.layout.record_size != layout.record_size {
        return Err(format!("its data lie at {:?}, not at {:?}", found.layout.vars, layout.vars));
    }
    same_description(&found.schema, &file.schema)
}

fn same_description(found: &Schema, meant: &Schema) -> Result<(), String> {
    if found.dims != meant.dims {
        return Err(format!("dimensions {:?}, not {:?}", found.dims, meant.dims));
    }
    if found.groups[0].attrs != meant.groups[0].attrs {
        return Err("its attributes differ".into());
    }
    for (a, b) in found.vars.iter().zip(&meant.vars) {
        if (&a.name, a.dtype, &a.dims, &a.attrs) != (&b.name, b.dtype, &b.dims, &b.attrs) {
            return Err(format!(
                "variable `{}` where `{}` should be, or another shape or attributes",
                a.name, b.name
            ));
        }
    }
    Ok(())
}
