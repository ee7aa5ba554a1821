//! Copies of a variable in another shape, each in a file of its own.

use std::path::{Path, PathBuf};

use ncforge::codec::filters;
use ncforge::model::Filter;
use ncforge::{Engine, Format};
use ncforge_ops::copy::{ChunkSpec, Chunks, Codec, CopyOptions, Names, VarChunks, copy};
use ncforge_ops::progress::Silent;
use serde::Serialize;

use crate::error::{Error, Result};

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

    /// The filters of elements of `size` bytes.
    pub(crate) fn filters(&self, size: usize) -> Vec<Filter> {
        let mut list = Vec::new();
        if self.deflate > 0 && self.shuffle && size > 1 {
            list.push(filters::shuffle(size));
        }
        if self.deflate > 0 {
            list.push(filters::deflate(self.deflate));
        }
        list
    }

    /// A name for its file.
    fn name(&self) -> String {
        match &self.chunks {
            None => "classic".to_owned(),
            Some(lens) => {
                let lens: Vec<String> = lens.iter().map(u64::to_string).collect();
                format!("{}-d{}{}", lens.join("x"), self.deflate, if self.shuffle { "s" } else { "" })
            }
        }
    }

    /// Writes the variable of `source` into a new file.
    fn write(&self, source: &Path, var: &str, path: &Path) -> Result<()> {
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
        copy(source, path, &options, &Engine::global(), &Silent)?;
        Ok(())
    }
}

/// A folder of variants. One that is there already, and younger than its source, is not written again: so a long
/// comparison can be made in steps.
#[derive(Clone, Debug)]
pub struct Files {
    folder: PathBuf,
    /// Whether files stay when they were measured.
    keep: bool,
    /// The bytes that all copies measured together may take; `None`: a part of the machine's memory.
    pub(super) budget: Option<u64>,
}

impl Files {
    /// Files in a folder that exists, which stay there.
    pub fn new(folder: &Path) -> Self {
        Files { folder: folder.to_owned(), keep: true, budget: None }
    }

    /// Unless `keep`, those that were measured may be removed while others are not yet written.
    pub fn keeping(self, keep: bool) -> Self {
        Files { keep, ..self }
    }

    /// Measures no more than `bytes` of files together. By default that is a quarter of the machine's memory.
    pub fn within(self, bytes: u64) -> Self {
        Files { budget: Some(bytes), ..self }
    }

    /// Makes space in memory for other files, and on the disk unless they stay.
    pub(super) fn done(&self, path: &Path) -> Result<()> {
        match self.keep {
            // Where pages cannot be dropped, the system finds out by itself that nobody needs them.
            true => drop(crate::cache::evict(path)),
            false => std::fs::remove_file(path).map_err(|e| Error::io("remove", path, e))?,
        }
        Ok(())
    }

    /// The file of a variant.
    ///
    /// # Errors
    /// As [`copy`].
    pub fn variant(&self, variant: &Variant, source: &Path, var: &str) -> Result<PathBuf> {
        let stem = source.file_stem().map_or_else(|| "data".into(), |s| s.to_string_lossy());
        let var_name = var.trim_start_matches('/').replace('/', ".");
        let path = self.folder.join(format!("{stem}-{var_name}-{}.nc", variant.name()));
        let made = |p: &Path| std::fs::metadata(p).and_then(|m| m.modified());
        let source_made = made(source).map_err(|e| Error::io("measure", source, e))?;
        if !made(&path).is_ok_and(|m| m > source_made) {
            variant.write(source, var, &path)?;
        }
        Ok(path)
    }
}
