//! References to chunks: a Zarr view of netCDF files, whose chunks are ranges of bytes of those files.
//!
//! The document is version 1 of kerchunk's reference specification with metadata of Zarr version 2 inside. Readers
//! (`fsspec`'s file system `reference`, zarr-python, VirtualiZarr) need neither ncforge nor an HDF5 library. Several files
//! are joined along one dimension.
//!
//! What is guaranteed: a reader gets the values that ncforge reads, bit for bit. What ranges of bytes cannot express
//! (strings of variable length, filters that `numcodecs` lacks, chunk grids that do not fit together) is stored in the
//! document itself if it is small, and left out or refused otherwise, with the name of the variable and the reason. Files
//! that are joined agree in everything but the dimension: if not, the error names the file and what differs.
//!
//! | part | about |
//! |---|---|
//! | `gather` | the variables of one file as they are stored |
//! | `kinds`, `attributes`, `codecs` | types, attributes and filters in Zarr's terms |
//! | `agree` | what must be the same in files that are joined |
//! | `pieces` | the chunk grid that all files share, and the range of bytes of each chunk |
//! | `inline` | values in the document itself |
//! | `document` | the JSON text |
//!
//! ```
//! use ncforge::Engine;
//! use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable, VarId};
//! use ncforge::{CreateOptions, DatasetMut, Hyperslab};
//! use ncforge_ops::progress::Silent;
//! use ncforge_ops::refs::{RefsOptions, references};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("a.nc");
//! let mut schema = Schema::new(Format::Cdf2);
//! schema.dims.push(Dimension { name: "x".into(), group: Schema::ROOT, len: 3, unlimited: false });
//! schema.vars.push(Variable::new("v", Atomic::Int, vec![DimId(0)]));
//! let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
//! new.write_bytes(VarId(0), &Hyperslab::all(&[3]), &[0; 12])?;
//! new.close()?;
//!
//! let options = RefsOptions { inline: 0, base: Some("s3://bucket".into()), ..RefsOptions::default() };
//! let made = references(&[&path], &options, &Engine::global(), &Silent)?;
//! assert!(made.json().contains("\"v/0\":[\"s3://bucket/a.nc\","));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agree;
mod attributes;
mod base64;
mod build;
mod codecs;
mod document;
mod gather;
mod inline;
mod kinds;
mod pieces;
mod request;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use crate::alike::side_by_side;
use crate::progress::{Progress, Silent, check_stop};
use ncforge::{Dataset, Engine, Error, Result};

use self::gather::{FileArrays, Wanted};

pub use request::RefsRequest;

/// How references are made.
#[derive(Clone, Debug)]
pub struct RefsOptions {
    /// The dimension along which several files are joined. `None`: the unlimited one, else the first whose length
    /// differs.
    pub along: Option<String>,
    /// A variable of at most this many bytes is stored in the document.
    pub inline: u64,
    /// The folder or URL under which readers find the files. `None`: where they are read from.
    pub base: Option<String>,
    /// Only these variables, by path. `None`: all.
    pub vars: Option<Vec<String>>,
    /// What the fill value of an array means to its readers.
    pub fills: Fills,
}

impl Default for RefsOptions {
    fn default() -> Self {
        RefsOptions { along: None, inline: 64 << 10, base: None, vars: None, fills: Fills::Masked }
    }
}

/// What the fill value of an array means to its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fills {
    /// It is `_FillValue`, and masked, as xarray reads arrays of Zarr version 2.
    Masked,
    /// It is the value of chunks that were never written, and `_FillValue` is an attribute (Zarr version 3).
    Stored,
}

/// The bytes of one chunk.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// A range of bytes of a file.
    Range {
        /// The number of the file.
        file: usize,
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// The encoded bytes themselves.
    Inline(Vec<u8>),
}

/// A variable as a Zarr array.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its path without a leading slash.
    pub path: String,
    /// Names of its dimensions.
    pub dims: Vec<String>,
    /// Lengths of its dimensions.
    pub shape: Vec<u64>,
    /// Chunk lengths, each at least 1.
    pub chunks: Vec<u64>,
    /// NumPy's name of its type: `<f4`, `|S1`, `|O`.
    pub dtype: String,
    /// The fill value as Zarr version 2 writes it.
    pub fill: Value,
    /// The configurations of its filters as `numcodecs` writes them, in writing order.
    pub filters: Vec<Value>,
    /// Its attributes, with their values as JSON text.
    pub attrs: Vec<(String, String)>,
    /// Its chunks by position in the chunk grid. Those that are absent read as the fill value.
    pub stored: Vec<(Vec<u64>, Chunk)>,
}

/// A group.
#[derive(Clone, Debug)]
pub struct RefGroup {
    /// Its path without a leading slash; empty for the root.
    pub path: String,
    /// Its attributes, with their values as JSON text.
    pub attrs: Vec<(String, String)>,
}

/// A variable that is not in the references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its path.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// The references of one file, or of several that are joined.
#[derive(Clone, Debug)]
pub struct References {
    /// Where readers find the files.
    pub files: Vec<String>,
    /// Groups, parents first.
    pub groups: Vec<RefGroup>,
    /// Variables.
    pub arrays: Vec<Array>,
    /// The dimension along which files were joined.
    pub along: Option<String>,
    /// Variables that references cannot express.
    pub left_out: Vec<LeftOut>,
    /// What a user should know.
    pub notes: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What was done, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct RefsReport {
    /// Files that are referred to.
    pub files: usize,
    /// Variables.
    pub variables: usize,
    /// Chunks that are ranges of bytes.
    pub chunks: u64,
    /// Chunks whose bytes are in the document.
    pub inlined: u64,
    /// The dimension along which files were joined.
    pub along: Option<String>,
    /// Variables that references cannot express.
    pub left_out: Vec<LeftOut>,
    /// What a user should know.
    pub notes: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

impl References {
    /// What was done.
    pub fn report(&self) -> RefsReport {
        let all = || self.arrays.iter().flat_map(|a| &a.stored);
        let inlined = all().filter(|(_, c)| matches!(c, Chunk::Inline(_))).count() as u64;
        RefsReport {
            files: self.files.len(),
            variables: self.arrays.len(),
            chunks: all().count() as u64 - inlined,
            inlined,
            along: self.along.clone(),
            left_out: self.left_out.clone(),
            notes: self.notes.clone(),
            seconds: self.seconds,
        }
    }

    /// The document, as version 1 of kerchunk's specification has it.
    pub fn json(&self) -> String {
        document::text(self)
    }
}

/// The files, as they are opened.
struct Inputs<'a> {
    /// Their names, for messages.
    names: Vec<String>,
    /// Opens one of them.
    open: &'a (dyn Fn(usize) -> Result<Dataset> + Sync),
}

/// Makes the references of files, joined along a dimension if there are several.
///
/// # Errors
/// As opening; [`Error::Unsupported`] for a packed file; [`Error::Invalid`] where files do not agree, or where they have no
/// dimension along which they can be joined.
pub fn references<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &RefsOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<References> {
    let files = paths.iter().map(|p| location(p.as_ref(), options.base.as_deref())).collect::<Result<_>>()?;
    let open = |i: usize| Dataset::open_with(paths[i].as_ref(), engine);
    let names = paths.iter().map(|p| p.as_ref().display().to_string()).collect();
    let made = joined(&Inputs { names, open: &open }, options, engine.threads(), progress)?;
    Ok(References { files, ..made })
}

/// Makes the references of one open dataset, which readers find at `location`.
///
/// # Errors
/// As [`references`].
pub fn references_of(dataset: &Dataset, location: &str, options: &RefsOptions) -> Result<References> {
    let open = |_: usize| Ok(dataset.clone());
    let names = vec![dataset.path().display().to_string()];
    let made = joined(&Inputs { names, open: &open }, options, 1, &Silent)?;
    Ok(References { files: vec![location.to_owned()], ..made })
}

fn joined(
    inputs: &Inputs<'_>,
    options: &RefsOptions,
    threads: usize,
    progress: &dyn Progress,
) -> Result<References> {
    let begun = Instant::now();
    let count = inputs.names.len();
    if count == 0 {
        return Err(Error::Invalid("no file to make references of".into()));
    }
    progress.begin("references", count as u64);
    let along = match count {
        1 => None,
        _ => Some(agree::dimension(inputs, options.along.as_deref())?),
    };
    let wanted = Wanted { along: along.as_deref(), files: count as u64, options };
    let found = side_by_side(threads, count, |i| {
        check_stop(progress, "making references")?;
        let found = gather::file(&(inputs.open)(i)?, &wanted);
        progress.advance(1);
        found
    });
    let all = found.into_iter().collect::<Result<Vec<FileArrays>>>()?;
    let made = build::all(inputs, &all, along.as_deref(), options)?;
    Ok(References { seconds: begun.elapsed().as_secs_f64(), ..made })
}

/// Where readers find a file: an absolute path, or a URL.
fn location(path: &Path, base: Option<&str>) -> Result<String> {
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| Error::Invalid(format!("`{}` is not text that JSON can hold", path.display())))
    };
    if let Some(base) = base {
        let name = path.file_name().map_or(path, Path::new);
        return Ok(format!("{}/{}", base.trim_end_matches('/'), text(name)?));
    }
    let given = text(path)?;
    if given.contains("://") {
        return Ok(given);
    }
    text(&std::path::absolute(path).map_err(|e| Error::io("find", given, e))?)
}
