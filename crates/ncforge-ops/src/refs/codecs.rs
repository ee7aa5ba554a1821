//! Filters of HDF5 as `numcodecs` has them.
//!
//! A filter is expressed only if a codec of `numcodecs` reads the same bytes ([`numcodec`]).

use crate::profile::virtual_stores::{numcodec, obstacle};
use ncforge::model::Filter;
use serde_json::Value;

/// The bits of a filter mask that matter: those of filters that change bytes.
pub(super) fn relevant(list: &[Filter], mask: u32) -> u32 {
    let bits =
        list.iter().take(32).enumerate().filter(|(_, f)| !f.is_identity()).fold(0, |b, (i, _)| b | 1 << i);
    mask & bits
}

/// Filters without those that a mask skips, and without those that change no byte.
pub(super) fn applied(list: &[Filter], mask: u32) -> Vec<Filter> {
    let on = |i: usize| i >= 32 || mask & (1 << i) == 0;
    list.iter().enumerate().filter(|(i, f)| on(*i) && !f.is_identity()).map(|(_, f)| f.clone()).collect()
}

/// The configurations of codecs, in writing order; a reason if chunks cannot be decoded with any.
pub(super) fn numcodecs(list: &[Filter], element: usize, chunk_bytes: u64) -> Result<Vec<Value>, String> {
    match obstacle(list, element, chunk_bytes) {
        Some(why) => Err(why),
        None => list.iter().map(|f| numcodec(f, element)).collect(),
    }
}
