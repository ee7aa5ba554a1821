//! What is done of a long measurement, in a file, so that it can go on after an interruption.
//!
//! A checkpoint belongs to one measurement: everything that results depend on is its *key*, and what was saved under another key is not
//! gone on with. It is written whole or not at all.
//!
//! ```
//! use ncforge_bench::checkpoint::Checkpoint;
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("progress.json");
//! let saved = Checkpoint::new(&path, serde_json::json!({"seed": 1}));
//! assert_eq!(saved.load::<u32>()?, None);
//! saved.save(&7u32)?;
//! assert_eq!(saved.load::<u32>()?, Some(7));
//! let other = Checkpoint::new(&path, serde_json::json!({"seed": 2}));
//! assert!(other.load::<u32>().unwrap_err().to_string().contains("seed"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::{Path, PathBuf};

use ncforge::store::OutputFile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::result::SCHEMA;

/// What wrote such a file.
const MADE_BY: &str = "ncforge bench, unfinished";

/// The file of one measurement.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    key: Value,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    made_by: String,
    schema: u32,
    key: Value,
    done: Value,
}

impl Checkpoint {
    /// At a path, of a measurement that this key tells from others: an object, whose parts are named when they differ.
    pub fn new(path: &Path, key: Value) -> Self {
        Checkpoint { path: path.to_owned(), key }
    }

    /// What is done; `None`: nothing yet.
    ///
    /// # Errors
    /// [`Error::Unreadable`] for a file that is no checkpoint, [`Error::Invalid`] for one of another measurement.
    pub fn load<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let shown = self.path.display();
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::Unreadable(format!("cannot read `{shown}`: {e}"))),
        };
        let damaged = |e: serde_json::Error| {
            Error::Unreadable(format!("`{shown}` is no unfinished measurement that can go on: {e}"))
        };
        let kept: Kept = serde_json::from_slice(&bytes).map_err(damaged)?;
        if kept.made_by != MADE_BY || kept.schema != SCHEMA {
            return Err(Error::Unreadable(format!(
                "`{shown}` is no unfinished measurement of this version of the program"
            )));
        }
        if kept.key != self.key {
            return Err(Error::Invalid(format!(
                "`{shown}` is of another measurement ({}); remove it, or take another name",
                differing(&kept.key, &self.key)
            )));
        }
        serde_json::from_value(kept.done).map(Some).map_err(damaged)
    }

    /// Saves what is done.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save<T: Serialize>(&self, done: &T) -> Result<()> {
        let value = |e: serde_json::Error| Error::Invalid(format!("what is done cannot be told: {e}"));
        let kept = Kept {
            made_by: MADE_BY.to_owned(),
            schema: SCHEMA,
            key: self.key.clone(),
            done: serde_json::to_value(done).map_err(value)?,
        };
        Ok(OutputFile::write_scratch(&self.path, &serde_json::to_vec(&kept).map_err(value)?)?)
    }

    /// Removes the file: everything is done.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Which parts of two keys are not the same: the names, with points between those of parts of parts.
fn differing(a: &Value, b: &Value) -> String {
    fn walk(a: &Value, b: &Value, name: &str, out: &mut Vec<String>) {
        match (a, b) {
            (Value::Object(x), Value::Object(y)) => {
                let names: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
                for part in names {
                    let path = if name.is_empty() { part.clone() } else { format!("{name}.{part}") };
                    let of = |o: &serde_json::Map<String, Value>| o.get(part).cloned().unwrap_or_default();
                    walk(&of(x), &of(y), &path, out);
                }
            }
            _ if a != b => out.push(name.to_owned()),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(a, b, "", &mut out);
    format!("not the same: {}", out.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_not_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p");
        let key = serde_json::json!({"options": {"seed": 1, "write": true}, "ranks": 2});
        let saved = Checkpoint::new(&path, key.clone());
        for text in ["", "{}", r#"{"made_by": "me", "schema": 2, "key": {}, "done": 1}"#] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(saved.load::<u32>().unwrap_err().exit_code(), 4, "{text}");
        }
        saved.save(&1u32).unwrap();
        assert_eq!(saved.load::<String>().unwrap_err().exit_code(), 4);
        let mut other = key;
        other["options"]["seed"] = 2.into();
        other["ranks"] = 3.into();
        let e = Checkpoint::new(&path, other).load::<u32>().unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("options.seed, ranks)"), "{e}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        saved.remove();
        assert_eq!(saved.load::<u32>().unwrap(), None);
    }
}
