//! Special attributes: facts about storage that `ncdump -s` shows as if they were attributes.

use std::io::Write;

use super::text::push_attribute_text;
use ncforge::codec::filters;
use ncforge::model::{Atomic, DType, Endian, Fill, Filter, Format, Schema, Storage, VarId};
use ncforge::raw::Container;

/// One special attribute: its name and its value in CDL.
pub(super) struct Special {
    /// `_Storage`, `_ChunkSizes`, …
    pub(super) name: &'static str,
    /// As CDL shows it, quotes included.
    pub(super) value: Vec<u8>,
}

fn quoted(name: &'static str, text: &str) -> Special {
    Special { name, value: format!("\"{text}\"").into_bytes() }
}

fn number(name: &'static str, n: impl std::fmt::Display) -> Special {
    Special { name, value: n.to_string().into_bytes() }
}

/// The special attributes of a variable, in the order of `ncdump`. None in CDF-1 and CDF-2 files.
pub(super) fn of_variable(schema: &Schema, id: VarId) -> Vec<Special> {
    let var = schema.var(id);
    let mut all = Vec::new();
    if matches!(schema.format, Format::Cdf1 | Format::Cdf2) {
        return all;
    }
    let no_filters = Vec::new();
    let filters = match &var.storage {
        Storage::Contiguous => {
            all.push(quoted("_Storage", "contiguous"));
            &no_filters
        }
        Storage::Compact => {
            all.push(quoted("_Storage", "compact"));
            &no_filters
        }
        Storage::Chunked { chunks, filters } => {
            all.push(quoted("_Storage", "chunked"));
            let sizes: Vec<String> = chunks.iter().map(u64::to_string).collect();
            all.push(number("_ChunkSizes", sizes.join(", ")));
            filters
        }
    };
    let find = |id: u16| filters.iter().find(|f| f.id == id);
    if find(filters::FLETCHER32).is_some() {
        all.push(quoted("_Fletcher32", "true"));
    }
    if find(filters::SHUFFLE).is_some() {
        all.push(quoted("_Shuffle", "true"));
    }
    if let Some(deflate) = find(filters::DEFLATE) {
        all.push(number("_DeflateLevel", deflate.params.first().copied().unwrap_or(0)));
    }
    let others: Vec<String> = filters
        .iter()
        .filter(|f| ![filters::FLETCHER32, filters::SHUFFLE, filters::DEFLATE].contains(&f.id))
        .map(spelled)
        .collect();
    if !others.is_empty() {
        all.push(quoted("_Filter", &others.join("|")));
    }
    if let Some(codecs) = var.attr("_Codecs").and_then(|a| a.as_text()) {
        let mut value = Vec::new();
        push_attribute_text(&mut value, codecs.as_bytes(), false);
        all.push(Special { name: "_Codecs", value });
    }
    if schema.memory_size(var.dtype) > 1 {
        match endian(schema, id) {
            Endian::Little => all.push(quoted("_Endianness", "little")),
            Endian::Big => all.push(quoted("_Endianness", "big")),
            Endian::Native => {}
        }
    }
    if var.fill == Fill::None {
        all.push(quoted("_NoFill", "true"));
    }
    all
}

/// The byte order that `ncdump` shows: only plain numbers have one, and in classic files it is always big.
fn endian(schema: &Schema, id: VarId) -> Endian {
    let var = schema.var(id);
    match var.dtype {
        DType::Atomic(Atomic::Char | Atomic::Byte | Atomic::UByte) => Endian::Native,
        DType::Atomic(_) if schema.format.is_classic() => Endian::Big,
        DType::Atomic(_) => var.endian,
        DType::String | DType::User(_) => Endian::Native,
    }
}

/// A filter as `_Filter` spells it: number and parameters with commas. Of szip's four parameters netCDF-C
/// shows the two that a user gives: the coding (entropy 4, nearest neighbour 32), and pixels per block.
fn spelled(filter: &Filter) -> String {
    const SZIP_CODING: u32 = 4 | 32;
    let mut text = filter.id.to_string();
    let params = match filter.params[..] {
        [mask, pixels, _, _] if filter.id == filters::SZIP => vec![mask & SZIP_CODING, pixels],
        _ => filter.params.clone(),
    };
    for p in params {
        text.push(',');
        text.push_str(&p.to_string());
    }
    text
}

/// The special attributes of a file, in the order of `ncdump`.
pub(super) fn of_file(schema: &Schema, superblock: Option<u8>) -> Vec<Special> {
    let mut all = Vec::new();
    if !schema.format.is_classic() {
        if let Some(text) = &schema.provenance {
            let mut value = Vec::new();
            let _ = write!(value, "\"{text}\"");
            all.push(Special { name: "_NCProperties", value });
        }
        if let Some(version) = superblock {
            all.push(number("_SuperblockVersion", version));
        }
        all.push(number("_IsNetcdf4", u8::from(has_netcdf4_marks(schema))));
    }
    all.push(quoted("_Format", schema.format.kind()));
    all
}

/// Whether netCDF-C would find its own marks (dimension scales, coordinate lists) in an HDF5 file. Where a
/// file has none, its dimensions are made up by the reader and called `phony_dim_…`. The classic-model mark
/// makes netCDF-C answer no before it looks.
fn has_netcdf4_marks(schema: &Schema) -> bool {
    schema.format == Format::Netcdf4 && schema.dims.iter().any(|d| !d.name.starts_with("phony_dim_"))
}

/// The version of an HDF5 file's superblock; `None` for other files.
///
/// HDF5 file format specification, III.A: the signature stands at byte 0, 512, 1024, 2048, …; the version is
/// the byte behind it.
pub(super) fn superblock_version(container: &dyn Container) -> Option<u8> {
    const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";
    if container.schema().format.is_classic() {
        return None;
    }
    let store = container.store();
    let mut at = 0u64;
    while at.checked_add(9)? <= store.len() {
        let mut head = [0; 9];
        store.read_at(&mut head, at).ok()?;
        if &head[..8] == SIGNATURE {
            return Some(head[8]);
        }
        at = if at == 0 { 512 } else { at.checked_mul(2)? };
    }
    None
}
