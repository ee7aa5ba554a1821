//! The same variable in another shape, in a file of its own.

use std::path::{Path, PathBuf};

use ncforge::Format;
use ncforge::engine::Engine;
use ncforge::model::Storage;
use ncforge::ops::copy::{ChunkSpec, Chunks, Codec, CopyOptions, Names, VarChunks, copy};
use ncforge::ops::progress::Silent;
use serde::Serialize;

use crate::error::Result;

/// One way to store the variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Chunk lengths; `None`: a classic file.
    pub chunks: Option<Vec<u64>>,
    /// Level of deflate; 0: not compressed.
    pub deflate: u32,
    /// Whether bytes are shuffled before compression.
    pub shuffle: bool,
}

impl Variant {
    /// A classic file.
    pub fn classic() -> Self {
        Variant { chunks: None, deflate: 0, shuffle: false }
    }

    /// Writes the variable of `source` into a new file of `folder`, and gives its path.
    pub(crate) fn write(&self, source: &Path, var: &str, folder: &Path, name: &str) -> Result<PathBuf> {
        let path = folder.join(format!("{name}.nc"));
        let mut options = CopyOptions {
            only: Some(Names { vars: vec![var.to_owned()], groups: Vec::new() }),
            overwrite: true,
            ..CopyOptions::default()
        };
        match &self.chunks {
            None => {
                options.format = Some(Format::Cdf5);
                options.codec = Codec::None;
            }
            Some(lens) => {
                options.format = Some(Format::Netcdf4);
                let mut spec = ChunkSpec::default();
                spec.vars.push((var.to_owned(), VarChunks::Lens(lens.clone())));
                options.chunks = Chunks::Spec(spec);
                options.codec = if self.deflate == 0 { Codec::None } else { Codec::Deflate };
                options.level = Some(self.deflate);
                options.shuffle = Some(self.shuffle && self.deflate > 0);
            }
        }
        copy(source, &path, &options, &Engine::global(), &Silent)?;
        Ok(path)
    }

    /// The filters of the variable in a file that [`Variant::write`] has written.
    pub(crate) fn filters(path: &Path, var: &str) -> Result<Vec<ncforge::model::Filter>> {
        let dataset = ncforge::Dataset::open(path)?;
        let id = dataset.var(var)?;
        Ok(match &dataset.schema().var(id).storage {
            Storage::Chunked { filters, .. } => filters.clone(),
            _ => Vec::new(),
        })
    }
}
