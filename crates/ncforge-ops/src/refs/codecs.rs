//! Filters of HDF5 as `numcodecs` has them.
//!
//! A filter is expressed only if the codec of `numcodecs` reads the same bytes: HDF5's LZ4 and bitshuffle put headers of
//! their own in front, and szip, nbit, scale-offset and LZF have no codec there ([`obstacle`]).

use crate::profile::virtual_stores::{is_identity, obstacle};
use ncforge::codec::{filter_name, filters};
use ncforge::model::Filter;
use serde_json::{Value, json};

/// The bits of a filter mask that matter: those of filters that change bytes.
pub(super) fn relevant(list: &[Filter], mask: u32) -> u32 {
    let bits =
        list.iter().take(32).enumerate().filter(|(_, f)| !is_identity(f)).fold(0, |b, (i, _)| b | 1 << i);
    mask & bits
}

/// Filters without those that a mask skips, and without those that change no byte.
pub(super) fn applied(list: &[Filter], mask: u32) -> Vec<Filter> {
    let on = |i: usize| i >= 32 || mask & (1 << i) == 0;
    list.iter().enumerate().filter(|(i, f)| on(*i) && !is_identity(f)).map(|(_, f)| f.clone()).collect()
}

/// The configurations of codecs, in writing order; a reason if chunks cannot be decoded with any.
pub(super) fn numcodecs(list: &[Filter], element: usize, chunk_bytes: u64) -> Result<Vec<Value>, String> {
    match obstacle(list, element, chunk_bytes) {
        Some(why) => Err(why),
        None => list.iter().map(|f| config(f, element)).collect(),
    }
}

fn config(filter: &Filter, element: usize) -> Result<Value, String> {
    let param = |i: usize| filter.params.get(i).copied();
    Ok(match filter.id {
        filters::SHUFFLE => {
            json!({ "id": "shuffle", "elementsize": param(0).map_or(element, |n| n as usize) })
        }
        filters::DEFLATE => json!({ "id": "zlib", "level": param(0).unwrap_or(6).min(9) }),
        filters::FLETCHER32 => json!({ "id": "fletcher32" }),
        filters::ZSTD => json!({ "id": "zstd", "level": param(0).unwrap_or(3).cast_signed() }),
        filters::BZIP2 => json!({ "id": "bz2", "level": param(0).unwrap_or(9).clamp(1, 9) }),
        // Decoding needs none of these parameters: the bytes say them.
        filters::BLOSC => {
            let names = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
            let name = names.get(param(6).unwrap_or(0) as usize).copied().unwrap_or("blosclz");
            let (level, shuffle) = (param(4).unwrap_or(5).min(9), param(5).unwrap_or(1).min(2));
            json!({ "id": "blosc", "cname": name, "clevel": level, "shuffle": shuffle, "blocksize": 0 })
        }
        id => return Err(format!("numcodecs has no codec for filter {id} ({})", filter_name(id))),
    })
}
