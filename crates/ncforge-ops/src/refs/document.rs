//! The JSON text: version 1 of kerchunk's reference specification, with metadata of Zarr version 2 inside.
//!
//! `{"version":1,"refs":{KEY: TEXT | [URL, OFFSET, LENGTH]}}`: metadata are JSON as text, bytes are `base64:…`. No templates:
//! not every reader knows them.

use std::fmt::Write;

use super::attributes::{object, quoted};
use super::model::{Array, Chunk, RefGroup, References};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

/// The document.
fn text(refs: &References) -> String {
    let mut out = String::from("{\"version\":1,\"refs\":{");
    let files: Vec<String> = refs.files.iter().map(|f| quoted(f)).collect();
    for (i, group) in refs.groups.iter().enumerate() {
        let at = if group.path.is_empty() { String::new() } else { format!("{}/", group.path) };
        if i > 0 {
            out.push(',');
        }
        member(&mut out, &format!("{at}.zgroup"), "{\"zarr_format\":2}");
        out.push(',');
        member(&mut out, &format!("{at}.zattrs"), &group.zattrs());
    }
    for array in &refs.arrays {
        out.push(',');
        member(&mut out, &format!("{}/.zarray", array.path), &array.zarray());
        out.push(',');
        member(&mut out, &format!("{}/.zattrs", array.path), &array.zattrs());
        for (at, chunk) in &array.stored {
            out.push_str(",\n");
            out.push_str(&quoted(&format!("{}/{}", array.path, key(at))));
            out.push(':');
            match chunk {
                // Writing to a String cannot fail.
                Chunk::Range { file, offset, len } => {
                    let _ = write!(out, "[{},{offset},{len}]", files[*file]);
                }
                Chunk::Inline(bytes) => {
                    out.push_str("\"base64:");
                    BASE64_STANDARD.encode_string(bytes, &mut out);
                    out.push('"');
                }
            }
        }
    }
    out.push_str("}}\n");
    out
}

fn member(out: &mut String, key: &str, text: &str) {
    out.push('\n');
    out.push_str(&quoted(key));
    out.push(':');
    out.push_str(&quoted(text));
}

/// The key of a chunk: its position with dots; a scalar's is 0.
fn key(at: &[u64]) -> String {
    if at.is_empty() {
        return "0".into();
    }
    at.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

impl References {
    /// The document, as version 1 of kerchunk's specification has it.
    pub fn json(&self) -> String {
        text(self)
    }
}

impl RefGroup {
    /// The text of `.zattrs`.
    pub fn zattrs(&self) -> String {
        object(&self.attrs)
    }
}

impl Array {
    /// The text of `.zarray`.
    pub fn zarray(&self) -> String {
        let filters = if self.filters.is_empty() { json!(null) } else { json!(self.filters) };
        json!({
            "chunks": self.chunks,
            "compressor": null,
            "dtype": self.dtype,
            "fill_value": self.fill,
            "filters": filters,
            "order": "C",
            "shape": self.shape,
            "zarr_format": 2,
        })
        .to_string()
    }

    /// The text of `.zattrs`: the attributes, and the names of the dimensions as xarray expects them.
    pub fn zattrs(&self) -> String {
        const DIMS: &str = "_ARRAY_DIMENSIONS";
        let mut attrs: Vec<(String, String)> =
            self.attrs.iter().filter(|(name, _)| name != DIMS).cloned().collect();
        attrs.push((DIMS.into(), json!(self.dims).to_string()));
        object(&attrs)
    }
}
