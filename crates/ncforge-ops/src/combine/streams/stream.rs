//! A stream that is open: its files as one whole, and the variables that get files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::concat::{ConcatOptions, dimension, whole};
use super::super::mosaic::Mosaic;
use super::making::{Making, is_of_files};
use super::report::BadFile;
use super::variables::{Variables, names};
use crate::copy::CopyOptions;
use crate::intact::{check_undamaged, check_whole};
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

impl Making<'_> {
    /// Opens a stream. Files that cannot be read are left out and noted in `bad`, if the others go on.
    pub(super) fn open(&self, files: &[PathBuf], bad: &mut Vec<BadFile>) -> Result<Stream> {
        let error = match self.open_all(files.to_vec()) {
            Err(e) if self.options.keep_going && is_of_files(&e) => e,
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
        match good.is_empty() || good.len() == files.len() {
            true => Err(error),
            false => self.open_all(good),
        }
    }

    /// Whether a file can be read at all.
    fn probe(&self, file: &Path) -> Result<()> {
        let dataset = Dataset::open_with(file, self.small)?;
        check_whole(&dataset)?;
        check_undamaged(&dataset)
    }

    fn open_all(&self, files: Vec<PathBuf>) -> Result<Stream> {
        let options = &self.options.join;
        let wanted = options.copy.only.as_ref().map(|only| &only.vars[..]);
        let named = files.first().map(|file| file.display().to_string()).unwrap_or_default();
        let (first, dim) = dimension(&files, options.along.as_deref(), self.small).map_err(|e| match e {
            // One of many streams: which one?
            Error::Invalid(what) => Error::Tiles(format!("`{named}`: {what}")),
            e => e,
        })?;
        let only = match wanted {
            None => None,
            Some(_) => {
                let vars = Variables::of(first.schema(), &dim, wanted)?;
                Some(names(first.schema(), &vars.of_files(first.schema())))
            }
        };
        drop(first);
        let join = ConcatOptions { copy: CopyOptions { only, ..CopyOptions::default() }, ..options.clone() };
        let whole = whole(files, &dim, &join, self.engine, self.small)?;
        let vars = Variables::of(&whole.schema, &dim, wanted)?;
        if vars.own.is_empty() && wanted.is_none() {
            return Err(Error::Tiles(format!(
                "`{named}` has no variable along `{dim}` that could have a file"
            )));
        }
        Ok(Stream { data: whole.dataset(), whole, dim, vars })
    }
}
