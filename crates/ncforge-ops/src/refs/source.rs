//! What references are made of: a file, several that are joined, or what is selected of either.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::options::RefsOptions;
use crate::combine::{ConcatOptions, Joined, join_noted};
use crate::copy::{CopyOptions, Names, part_of};
use crate::series;
use ncforge::store::ReadStore;
use ncforge::store::remote::{queries_are_kept, shown_path};
use ncforge::{Dataset, Engine, Error, Result};

/// Variables of more bytes that do not lie along the joined dimension are taken from the first file without comparing their values.
const MOST_COMPARED: u64 = 4 << 20;

/// The dataset that references are made of.
pub(super) struct Source {
    pub(super) dataset: Dataset,
    /// The dimension along which files are joined.
    pub(super) along: Option<String>,
    /// The files.
    pub(super) files: Vec<PathBuf>,
    /// Notes for the user, on the files and on what is selected.
    pub(super) notes: Vec<String>,
    /// The number of a file, by the name of its store; none where several have that name.
    numbers: HashMap<String, Option<usize>>,
}

impl Source {
    /// The file, or all files joined; of either what is selected.
    pub(super) fn open<P: AsRef<Path>>(paths: &[P], options: &RefsOptions, engine: &Engine) -> Result<Self> {
        match paths {
            [] => return Err(Error::NoInput("files")),
            [file] => return Self::of(&Dataset::open_with(file, engine)?, options),
            _ => {}
        }
        let is_found = options.base.is_none();
        let files = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        let options = ConcatOptions {
            along: options.along.clone(),
            unsorted: options.unsorted,
            compared: MOST_COMPARED,
            copy: wanted(options),
            ..ConcatOptions::default()
        };
        let Joined { dataset, along, notes } = join_noted(files, &options, engine).map_err(|e| match e {
            // References have no option that would allow it.
            Error::TilesUnless { what, .. } => Error::Tiles(what),
            other => other,
        })?;
        Ok(Self::new(dataset, Some(along), notes, is_found))
    }

    /// One file.
    pub(super) fn of(file: &Dataset, options: &RefsOptions) -> Result<Self> {
        refuse_zipped(&**file.container().store())?;
        let along = options.along.as_deref();
        let along = along
            .map(|dim| series::dimension(file.schema(), &file.name(), Some(dim), 1, |_| Ok(file.clone())));
        let part = part_of(file, &wanted(options))?;
        Ok(Self::new(part, along.transpose()?, Vec::new(), options.base.is_none()))
    }

    /// `by_own_names`: readers find the files by the names that they have here.
    fn new(dataset: Dataset, along: Option<String>, mut notes: Vec<String>, by_own_names: bool) -> Self {
        let files = dataset.files();
        notes.extend(queries_are_kept(&files).filter(|_| by_own_names));
        notes
            .extend(dataset.schema().skipped.iter().map(|s| format!("`{}` was left out: {}", s.path, s.why)));
        notes.extend(dataset.remarks().iter().map(ToString::to_string));
        let mut numbers: HashMap<String, Option<usize>> = HashMap::new();
        for (i, file) in files.iter().enumerate() {
            let known = numbers.entry(shown_path(file)).or_insert(Some(i));
            // URLs that differ in what is not shown are no file's.
            *known = known.filter(|&first| files[first] == *file);
        }
        Source { dataset, along, files, notes, numbers }
    }

    /// The number of the file with the bytes of this store.
    pub(super) fn number(&self, store: &dyn ReadStore) -> Option<usize> {
        match self.files.len() {
            1 => Some(0),
            _ => self.numbers.get(store.name()).copied().flatten(),
        }
    }

    /// The name of a file, for messages.
    pub(super) fn name(&self, file: usize) -> String {
        shown_path(&self.files[file])
    }

    /// Whether several files have a part of a variable with these dimensions.
    pub(super) fn is_joined(&self, dims: &[String]) -> bool {
        self.files.len() > 1 && self.along.as_ref().is_some_and(|along| dims.contains(along))
    }
}

/// What is wanted of the files.
fn wanted(options: &RefsOptions) -> CopyOptions {
    let only = options.vars.clone().map(|vars| Names { vars, groups: Vec::new() });
    CopyOptions { only, select: options.select.clone(), ..CopyOptions::default() }
}

/// An error for a file whose bytes are compressed in blocks: no range of it holds values.
pub(super) fn refuse_zipped(store: &dyn ReadStore) -> Result<()> {
    match store.blocks() {
        None => Ok(()),
        Some(_) => Err(Error::Unsupported {
            path: store.name().to_owned(),
            what: "making references to a zipped file, whose bytes are compressed in blocks,".into(),
        }),
    }
}
