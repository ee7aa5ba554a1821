//! Runs the command as a user would, in an empty folder.

#![allow(dead_code)] // Each test file uses its own part of this.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder that goes away with the test, in which commands run.
pub(crate) struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    /// A new one.
    pub(crate) fn new() -> Self {
        Folder { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A path inside.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file with these bytes.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }

    /// A copy of one of the real files in `data/`.
    pub(crate) fn real(&self, name: &str) -> PathBuf {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name);
        let to = self.path(name);
        std::fs::copy(&from, &to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
        to
    }

    /// Runs `ncforge` with the words of a line.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `ncforge` with these words.
    pub(crate) fn run_words(&self, words: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ncforge"));
        command.args(words).current_dir(self.dir.path());
        for name in ["NCFORGE_THREADS", "NCFORGE_MEMORY", "NO_COLOR", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        // Not the calibration of whoever runs the tests.
        command.env("NCFORGE_MACHINE", self.path("machine.json"));
        Ran::of(words.join(" "), &command.output().expect("the command starts"))
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).expect("the folder is there");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// The result of a command.
pub(crate) struct Ran {
    line: String,
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// The data that it printed.
    pub(crate) out: String,
    /// The messages that it printed.
    pub(crate) err: String,
}

impl Ran {
    /// Of a finished process.
    pub(crate) fn of(line: String, output: &Output) -> Self {
        Ran {
            line,
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts the exit code; shows everything when it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "`ncforge {}`\n-- stdout\n{}\n-- stderr\n{}",
            self.line,
            self.out,
            self.err
        );
        self
    }

    /// Asserts that the messages contain a text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "`ncforge {}` does not say {text:?}:\n{}", self.line, self.err);
        self
    }

    /// Asserts that the data contains a text.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(self.out.contains(text), "`ncforge {}` does not print {text:?}:\n{}", self.line, self.out);
        self
    }

    /// The data as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("`ncforge {}` prints no JSON ({e}):\n{}", self.line, self.out))
    }
}
