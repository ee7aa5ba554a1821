//! References as data: groups, arrays, chunks.

use serde::Serialize;
use serde_json::Value;

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

/// A variable that is not in the references, or the `_FillValue` of one (`v:_FillValue`), whose missing values are read as data.
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
    /// The locations of the files for readers.
    pub files: Vec<String>,
    /// Groups, parents first.
    pub groups: Vec<RefGroup>,
    /// Variables.
    pub arrays: Vec<Array>,
    /// The dimension along which files were joined.
    pub along: Option<String>,
    /// Variables that references cannot express.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// The report of the references that were made.
#[derive(Clone, Debug, Serialize)]
pub struct RefsReport {
    /// Files that were given.
    pub files: usize,
    /// Variables.
    pub variables: usize,
    /// Chunks that are ranges of bytes; of an aggregation file, fragments.
    pub chunks: u64,
    /// Chunks whose bytes are in the document; of an aggregation file, variables that are stored in it.
    pub inlined: u64,
    /// The dimension along which files were joined.
    pub along: Option<String>,
    /// Variables that references cannot express.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

impl References {
    /// The report of the references that were made.
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
}
