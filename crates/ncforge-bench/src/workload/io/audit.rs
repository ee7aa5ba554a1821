//! The real contents of a file, read back by ncforge, whichever library wrote it.

use std::path::Path;

use ncforge::Dataset;
use ncforge::codec::filter_name;
use ncforge::model::{DType, Endian, Storage};
use serde::Serialize;

use crate::driver::{Rounding, stored_in_zarr};

/// The storage of the variable, as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// The format, as `ncdump -k` names it; "bytes" for plain ones.
    pub format: String,
    /// Chunk lengths; `None`: one run of bytes, or records.
    pub chunks: Option<Vec<u64>>,
    /// Names of the filters.
    pub filters: Vec<String>,
    /// The order of the bytes of a value: "little", "big"; `None` for values of one byte, and where it is not known.
    pub endian: Option<String>,
    /// The lost bits as the variable describes them: "bitround=9".
    pub rounding: Option<Rounding>,
    /// Whether the first dimension is unlimited.
    pub unlimited: bool,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of the values.
    pub values: u64,
}

impl Audit {
    /// Examines a file (the first one, where every rank has its own).
    pub(super) fn of(path: &Path, var: &str, bytes: u64, values: u64) -> Audit {
        let plain = Audit { format: "bytes".into(), bytes, values, ..Audit::default() };
        if let Some(found) = stored_in_zarr(path, var) {
            let order = found.little.map(|little| if little { "little" } else { "big" }.to_owned());
            let (chunks, filters) = (Some(found.chunks), found.filters);
            return Audit { format: "zarr".into(), chunks, filters, endian: order, ..plain };
        }
        let Ok(dataset) = Dataset::open(path) else { return plain };
        let Ok(id) = dataset.var(var) else { return plain };
        let schema = dataset.schema();
        let v = schema.var(id);
        let (chunks, filters) = match &v.storage {
            Storage::Chunked { chunks, filters } => {
                (Some(chunks.clone()), filters.iter().map(|f| filter_name(f.id).to_owned()).collect())
            }
            _ => (None, Vec::new()),
        };
        let order = match v.endian {
            _ if schema.format.is_classic() => Endian::Big,
            Endian::Native if cfg!(target_endian = "big") => Endian::Big,
            Endian::Native => Endian::Little,
            known => known,
        };
        let one = matches!(v.dtype, DType::Atomic(t) if t.size() == 1);
        Audit {
            endian: (!one).then(|| if order == Endian::Little { "little" } else { "big" }.to_owned()),
            rounding: ncforge::model::quantization_of(v).map(Rounding),
            format: schema.format.kind().to_owned(),
            chunks,
            filters,
            unlimited: v.dims.first().is_some_and(|d| schema.dim(*d).unlimited),
            bytes,
            values,
        }
    }

    /// The audit in words: "chunks 1:100:100:10 + deflate, little-endian".
    pub fn describe(&self) -> String {
        let mut text = match &self.chunks {
            Some(c) => format!("chunks {}", super::written(c)),
            None if self.unlimited => "records".to_owned(),
            None => "contiguous".to_owned(),
        };
        for f in &self.filters {
            text.push_str(" + ");
            text.push_str(f);
        }
        if let Some(r) = self.rounding {
            text.push_str(&format!(" + {r}"));
        }
        if let Some(order) = &self.endian {
            text.push_str(&format!(", {order}-endian"));
        }
        if self.unlimited && self.chunks.is_some() {
            text.push_str(", unlimited");
        }
        text
    }
}
