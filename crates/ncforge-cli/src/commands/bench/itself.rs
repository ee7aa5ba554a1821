//! How this very command is started once more. In a wheel the running program is Python, so that its file says nothing.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// The program, and the first words of its command line.
pub(super) struct Itself {
    pub(super) program: PathBuf,
    pub(super) first: Vec<OsString>,
}

impl Itself {
    /// As whoever runs it has said; else the file of the running program.
    pub(super) fn of(cx: &Context<'_>) -> Result<Itself, Failure> {
        if let Some((program, first)) = cx.again.split_first() {
            return Ok(Itself { program: program.into(), first: first.to_vec() });
        }
        let own = std::env::current_exe().map_err(|e| Failure {
            class: None,
            message: format!("cannot find the program itself: {e}"),
            hint: "the command must still be where it was when it began".into(),
            exit: Exit::Failed,
        })?;
        Ok(Itself { program: own, first: Vec::new() })
    }

    /// All words after the program's name, if the command line goes on with these.
    pub(super) fn arguments(&self, words: &[OsString]) -> Vec<OsString> {
        [&self.first[..], words].concat()
    }

    /// A process of it, to which words can be added.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.first);
        command
    }
}
