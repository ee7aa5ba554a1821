//! The files that arguments name: a text that a command writes replaces none of them.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use ncforge::store::place;
use ncforge::store::remote::shown_path;

use crate::exit::Failure;

/// The files that the arguments of a command name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Texts that the command writes: the option, and the file.
    texts: Vec<(String, PathBuf)>,
    others: Vec<PathBuf>,
}

impl Named {
    pub(super) fn of(matches: &ArgMatches) -> Self {
        let mut this = Self::default();
        let mut at = matches.subcommand();
        while let Some((command, m)) = at {
            for id in m.ids().map(clap::Id::as_str) {
                let Ok(Some(paths)) = m.try_get_many::<PathBuf>(id) else { continue };
                let paths = paths.filter(|path| *path != Path::new("-")).cloned();
                match (id, command) {
                    ("csv" | "html" | "json" | "markdown", _) | ("output", "report") => {
                        this.texts.extend(paths.map(|path| (format!("--{id}"), path)));
                    }
                    _ => this.others.extend(paths),
                }
            }
            at = m.subcommand();
        }
        this
    }

    /// Refuses a text in the place of a file that another argument names, or of one of the input files, before any work is done.
    pub(crate) fn check(&self, files: &[PathBuf]) -> Result<(), Failure> {
        for (i, (option, text)) in self.texts.iter().enumerate() {
            let Some(here) = place(text) else { continue };
            let texts = self.texts[..i].iter().map(|(_, path)| path);
            if texts.chain(&self.others).chain(files).any(|path| place(path).as_ref() == Some(&here)) {
                return Err(Failure::usage(
                    format!(
                        "`{option}` would replace `{}`, which the command line names, too",
                        shown_path(text)
                    ),
                    format!("give {option} the name of another file"),
                ));
            }
        }
        Ok(())
    }
}
