//! A stream that is open: its files as one whole, and the variables that get files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::concat::{ConcatOptions, dimension, whole};
use super::super::mosaic::Mosaic;
use super::making::{Making, is_of_files};
use super::report::BadFile;
use super::variables::{Variables, names};
use crate::copy::{CopyOptions, Names};
use crate::intact::{check_undamaged, check_whole};
use crate::progress::{Silent, check_stop};
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Result};

/// A stream.
pub(super) struct Stream {
    /// All files as one.
    pub(super) whole: Arc<Mosaic>,
    /// As a dataset.
    pub(super) data: Dataset,
    /// The dimension along which they follow each other.
    pub(super) dim: String,
    pub(super) vars: Variables,
}

/// A variable whose parts do not go together.
pub(super) struct Refused {
    pub(super) variable: String,
    pub(super) error: Error,
}

impl Making<'_> {
    /// Opens a stream. Files that cannot be read are left out and noted in `bad`, if the others go on, and variables that differ between
    /// files in `refused`, if others do not.
    pub(super) fn open(
        &self,
        files: &[PathBuf],
        bad: &mut Vec<BadFile>,
        refused: &mut Vec<Refused>,
    ) -> Result<Stream> {
        let wanted = self.wanted();
        let mut error = match self.open_all(files.to_vec(), wanted) {
            Err(e) if self.goes_on(&e) => e,
            other => return other,
        };
        let probed = files.iter().map(|file| (file, self.probe(file)));
        let mut good = Vec::new();
        for (file, found) in probed {
            match found {
                Ok(()) => good.push(file.clone()),
                Err(e) => {
                    bad.push(BadFile { file: file.clone(), error: e.to_string(), error_kind: e.class() });
                }
            }
        }
        if good.is_empty() {
            return Err(error);
        }
        if good.len() < files.len() {
            error = match self.open_all(good.clone(), wanted) {
                Err(e) if self.goes_on(&e) => e,
                other => return other,
            };
        }
        // What is in every output must agree.
        let all = self.all_of(&good, wanted)?;
        if all.len() < 2 || self.open_all(good.clone(), Some(&[])).is_err() {
            return Err(error);
        }
        let fitting = self.fitting(&good, &all, refused)?;
        if fitting.is_empty() {
            refused.clear();
            return Err(error);
        }
        self.open_all(good, Some(&fitting))
    }

    /// The variables with files of their own in any of these files.
    fn all_of(&self, files: &[PathBuf], wanted: Option<&[String]>) -> Result<Vec<String>> {
        let (_, dim) = self.dimension(files)?;
        let mut all = Vec::new();
        for file in files {
            let dataset = Dataset::open_with(file, self.small)?;
            all.append(&mut Variables::of(dataset.schema(), &dim, wanted)?.paths(dataset.schema()));
        }
        let mut seen = BTreeSet::new();
        all.retain(|name| seen.insert(name.clone()));
        Ok(all)
    }

    /// The variables among these whose parts go together, halved until those are found that do not.
    fn fitting(&self, files: &[PathBuf], all: &[String], refused: &mut Vec<Refused>) -> Result<Vec<String>> {
        check_stop(self.progress, "making series")?;
        match (self.open_all(files.to_vec(), Some(all)), all) {
            (Ok(_), _) => Ok(all.to_vec()),
            (Err(error), [variable]) if self.goes_on(&error) => {
                refused.push(Refused { variable: variable.clone(), error });
                Ok(Vec::new())
            }
            (Err(error), _) if self.goes_on(&error) => {
                let (one, other) = all.split_at(all.len() / 2);
                let mut fitting = self.fitting(files, one, refused)?;
                fitting.append(&mut self.fitting(files, other, refused)?);
                Ok(fitting)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Whether the work goes on after this error.
    fn goes_on(&self, error: &Error) -> bool {
        self.options.keep_going && is_of_files(error)
    }

    /// The variables that were asked for.
    fn wanted(&self) -> Option<&[String]> {
        self.options.join.copy.only.as_ref().map(|only| &only.vars[..])
    }

    /// The first file, and those that are the first to have one of the `missing` variables, which are no longer missing then.
    pub(super) fn having(&self, files: &[PathBuf], missing: &mut Vec<&str>) -> Result<Vec<Dataset>> {
        let mut found = Vec::new();
        for file in files {
            if missing.is_empty() && !found.is_empty() {
                break;
            }
            let dataset = match Dataset::open_with(file, self.small) {
                Err(_) if self.options.keep_going => continue,
                other => other?,
            };
            let count = missing.len();
            missing.retain(|name| dataset.schema().find_var(name).is_none());
            if missing.len() < count || found.is_empty() {
                found.push(dataset);
            }
        }
        Ok(found)
    }

    /// Whether a file can be read at all.
    fn probe(&self, file: &Path) -> Result<()> {
        let dataset = Dataset::open_with(file, self.small)?;
        check_whole(&dataset)?;
        check_undamaged(&dataset)
    }

    /// The first file, and the dimension along which all of them follow each other.
    fn dimension(&self, files: &[PathBuf]) -> Result<(Dataset, String)> {
        let named = files.first().map(shown_path).unwrap_or_default();
        dimension(files, self.options.join.along.as_deref(), self.small).map_err(|e| match e {
            // One of many streams: which one?
            Error::Invalid(what) => Error::Tiles(format!("`{named}`: {what}")),
            e => e,
        })
    }

    fn open_all(&self, files: Vec<PathBuf>, wanted: Option<&[String]>) -> Result<Stream> {
        let options = &self.options.join;
        let (first, dim) = self.dimension(&files)?;
        let named = shown_path(first.path());
        drop(first);
        let only = match wanted {
            None => None,
            Some(wanted) => {
                let mut missing = wanted.iter().map(String::as_str).collect();
                let mut only = Names::default();
                for file in self.having(&files, &mut missing)? {
                    let schema = file.schema();
                    let vars = Variables::of(schema, &dim, Some(wanted))?;
                    only.vars.append(&mut names(schema, &vars.of_files(schema)).vars);
                }
                Some(only)
            }
        };
        let join = ConcatOptions { copy: CopyOptions { only, ..CopyOptions::default() }, ..options.clone() };
        let whole = whole(files, &dim, &join, (self.engine, self.small), &Silent)?;
        let vars = Variables::of(&whole.schema, &dim, wanted)?;
        if vars.own.is_empty() && wanted.is_none() {
            return Err(Error::Tiles(format!(
                "`{named}` has no variable along `{dim}` that could have a file"
            )));
        }
        Ok(Stream { data: whole.dataset(), whole, dim, vars })
    }
}
