//! A dataset in words: its header as CDL, how it is stored, and both as JSON.
//!
//! * [`dump`] – all of it as `ncdump` prints it, with values;
//! * [`cdl`] – the header byte for byte as `ncdump -h` prints it, or `ncdump -hs` with storage as special
//!   attributes (`_Storage`, `_ChunkSizes`, `_DeflateLevel`, …), after netCDF-C 4.9;
//! * [`storage`] – for every variable its place, sizes, chunks, filters: [`VarStorage`];
//! * [`table`] – the same for people, as CDL comments;
//! * [`json`] – everything, for programs, without loss.
//!
//! But for [`dump`] only metadata is read: the header, and the chunk indexes where sizes are asked for.

mod c_format;
mod calendar;
mod cdl;
mod json;
mod number;
mod special;
mod storage;
mod table;
mod text;
mod values;
mod zipped;

pub use crate::points::Points;
pub(crate) use calendar::Rebase;
pub use cdl::{CdlOptions, DumpOptions, DumpedValues, cdl, cdl_of, dump};
pub use json::json;
pub use number::Digits;
pub use storage::{FileStorage, VarStorage, storage};
pub use table::table;
pub(crate) use values::attribute_words;
pub use zipped::ZippedStorage;
