//! Digests of what files say, not of how it is stored: equal for classic, netCDF-4 and zipped files, with any chunks, filters and
//! byte order, whatever the order of definitions.
//!
//! The values of a variable are hashed in tiles that only its shape decides, so that each chunk is decoded about once whatever its
//! shape, on all threads and in bounded memory. Types, dimensions, attributes and the names of all of it are hashed as a
//! [`record`]. `docs/reference/digest.md` specifies both; a test computes the same with netCDF4-python.

mod canonical;
mod check;
mod fold;
mod line;
mod record;
mod tiles;

use ncforge::store::remote::{public_name, queries_are_kept};
use std::collections::HashMap;
use std::path::Path;

use blake3::Hash;
use serde::Serialize;

use crate::boxes::work_bytes;
use crate::intact::{check_undamaged, check_whole};
use crate::progress::Progress;
use ncforge::model::VarId;
use ncforge::raw::{Remark, remarks};
use ncforge::{Dataset, Engine, Result};

pub use check::{Checked, check};
pub use line::{Line, line};

/// The separator between the name of a file and that of a variable.
pub const PART: char = '#';

/// The digests of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableDigest {
    /// The variable's path.
    pub name: String,
    /// The digest of type, dimensions, attributes and values. Its name is the file's.
    pub digest: String,
    /// The digest of the values alone.
    pub values: String,
}

/// The digests of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DigestReport {
    /// The file.
    pub file: String,
    /// The digest of the whole file.
    pub digest: String,
    /// Its variables, in the order of the file.
    pub variables: Vec<VariableDigest>,
    /// Bytes of values.
    pub bytes: u64,
    /// Objects in the file that do not count, as netCDF has no equivalent of them; sources of values that are not there.
    pub notes: Vec<String>,
}

/// The digests of a file and of its variables.
///
/// ```
/// use ncforge::Engine;
/// use ncforge_ops::progress::Silent;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("a.nc");
/// # std::fs::write(&path, [b"CDF\x01".as_slice(), &[0; 28]].concat())?;
/// let report = ncforge_ops::digest::digest(&path, &Engine::global(), &Silent)?;
/// assert!(report.variables.is_empty());
/// assert_eq!(report.digest.len(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Of opening and reading. A file of which a part is damaged or missing has no digest.
pub fn digest(path: &Path, engine: &Engine, progress: &dyn Progress) -> Result<DigestReport> {
    let mut digests = Digests::open(path, engine, progress)?;
    let digest = digests.file()?.to_hex().to_string();
    let schema = digests.data.schema();
    let variables = schema.var_ids().filter_map(|v| digests.known.get(&v)).map(|d| d.told(schema)).collect();
    let left_out = schema.skipped.iter().map(|s| format!("`{}` does not count: {}", s.path, s.why));
    let absent = remarks(digests.data.container()).into_iter();
    let absent = absent.filter(Remark::is_absence).map(|r| r.to_string());
    Ok(DigestReport {
        // `--check` opens the file by this name.
        file: public_name(&path.display().to_string()),
        digest,
        variables,
        bytes: total(&digests.data),
        notes: left_out.chain(absent).chain(queries_are_kept([path])).collect(),
    })
}

/// Bytes of values that all variables have.
fn total(data: &Dataset) -> u64 {
    let schema = data.schema();
    schema.var_ids().map(|v| work_bytes(schema, v)).fold(0, u64::saturating_add)
}

/// A variable's digests.
struct Known {
    var: VarId,
    digest: Hash,
    values: Hash,
}

impl Known {
    fn told(&self, schema: &ncforge::Schema) -> VariableDigest {
        VariableDigest {
            name: schema.var_path(self.var),
            digest: self.digest.to_hex().to_string(),
            values: self.values.to_hex().to_string(),
        }
    }
}

/// An open file, and those digests of it that were asked for.
struct Digests<'a> {
    data: Dataset,
    progress: &'a dyn Progress,
    known: HashMap<VarId, Known>,
}

impl<'a> Digests<'a> {
    fn open(path: &Path, engine: &Engine, progress: &'a dyn Progress) -> Result<Self> {
        let data = Dataset::open_with(path, engine)?;
        check_undamaged(&data)?;
        check_whole(&data)?;
        progress.begin("digest", total(&data));
        Ok(Digests { data, progress, known: HashMap::new() })
    }

    /// The digest of a variable.
    fn variable(&mut self, var: VarId) -> Result<Hash> {
        if let Some(known) = self.known.get(&var) {
            return Ok(known.digest);
        }
        let data: &Dataset = &self.data;
        self.progress.item(&data.schema().var_path(var));
        let values = tiles::values(data, var, self.progress)?;
        let digest = record::variable(data.schema(), var, &values);
        self.known.insert(var, Known { var, digest, values });
        Ok(digest)
    }

    /// The digest of the file.
    fn file(&mut self) -> Result<Hash> {
        let vars: Vec<VarId> = self.data.schema().var_ids().collect();
        vars.iter().try_for_each(|&var| self.variable(var).map(drop))?;
        Ok(record::file(self.data.schema(), |var| self.known[&var].digest))
    }
}
