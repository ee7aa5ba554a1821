//! Exit codes, and failures that know theirs.

use ncforge::store::remote::shown_path;
use ncforge::{Error, ErrorClass, Op};
use ncforge_ops::request::RequestError;

use crate::command_line::CommandLine;
use crate::hint;

/// The result of a sub-command.
pub(crate) type Result<T = Exit, E = Failure> = std::result::Result<T, E>;

/// The exit codes of the command; the table is in `docs/command.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Ok = 0,
    /// The operation failed.
    Failed = 1,
    /// The command line is wrong, or would overwrite something.
    Usage = 2,
    /// A check found problems, a comparison differences.
    Differences = 3,
    /// An input cannot be read or is damaged.
    BadInput = 4,
    /// Interrupted; the same command with `--resume` goes on.
    Interrupted = 5,
    /// `run`: the program is there, and cannot be executed; as in a shell.
    NotExecutable = 126,
    /// `run`: there is no such program.
    NoProgram = 127,
    /// Ended by Ctrl-C, nothing to go on with.
    Sigint = 130,
    /// Ended by SIGTERM, nothing to go on with.
    Sigterm = 143,
}

impl Exit {
    /// The code of an error of the library.
    pub(crate) fn of(e: &Error) -> Exit {
        Self::from_code(ncforge_bench::exit_code(e.kind()))
    }

    /// The code after a signal: work that a signal ended does not know which.
    pub(crate) fn after(self, signal: Exit) -> Exit {
        if self == Exit::Sigint { signal } else { self }
    }

    /// The code with this number; 1 for others.
    pub(crate) fn from_code(code: u8) -> Exit {
        match code {
            0 => Exit::Ok,
            2 => Exit::Usage,
            3 => Exit::Differences,
            4 => Exit::BadInput,
            5 => Exit::Interrupted,
            126 => Exit::NotExecutable,
            127 => Exit::NoProgram,
            130 => Exit::Sigint,
            143 => Exit::Sigterm,
            _ => Exit::Failed,
        }
    }
}

/// The failure of a sub-command: one message, a hint, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The failed operation, the place, and the reason. No full stop, no "error:".
    pub(crate) message: String,
    /// The remedy for the user.
    pub(crate) hint: String,
    /// The exit code.
    pub(crate) exit: Exit,
    /// The kind of the library's error, where it is one of that.
    pub(crate) class: Option<ErrorClass>,
}

impl Failure {
    /// A wrong command line (exit code 2).
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { class: None, message: message.into(), hint: hint.into(), exit: Exit::Usage }
    }

    /// An error about options alone, which the command line gave (exit code 2).
    pub(crate) fn usage_of(e: Error) -> Self {
        Failure { exit: Exit::Usage, ..e.into() }
    }

    /// Output that the standard output did not take, unless its reader has gone.
    pub(crate) fn lost_output(e: &std::io::Error) -> Self {
        Failure {
            class: None,
            message: format!("cannot write to the standard output: {e}"),
            hint: hint::of_io(e).to_owned(),
            exit: Exit::Failed,
        }
    }

    /// A failure after a signal, of a command that can `resume` or cannot: code 5 promises that the same command goes on with `--resume`,
    /// others end as a shell tells it of a program that the signal ended.
    pub(crate) fn after(mut self, signal: Exit, resume: bool) -> Self {
        if self.exit == Exit::Interrupted && !resume {
            "run the same command again: it begins anew".clone_into(&mut self.hint);
            self.exit = Exit::Sigint;
        }
        self.exit = self.exit.after(signal);
        self
    }

    /// The system refused to do something with a file (exit code 1).
    pub(crate) fn system(op: Op, path: &std::path::Path, e: std::io::Error) -> Self {
        Failure { exit: Exit::Failed, ..Error::io(op, shown_path(path), e).into() }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        let (hint, exit) = (hint::of(&e).into_owned(), Exit::of(&e));
        Failure { hint, exit, class: Some(e.class()), message: e.to_string() }
    }
}

impl From<RequestError> for Failure {
    fn from(e: RequestError) -> Self {
        let message = e.message(&CommandLine);
        match e.hint(&CommandLine) {
            Some(hint) => Failure::usage(message, hint),
            None => Failure { message, ..Failure::usage_of(e.into()) },
        }
    }
}

impl From<ncforge_bench::Error> for Failure {
    fn from(e: ncforge_bench::Error) -> Self {
        match e {
            ncforge_bench::Error::Ncforge(e) => e.into(),
            other => {
                let hint = hint::of_bench(&other).into_owned();
                Failure {
                    class: None,
                    hint,
                    exit: Exit::from_code(other.exit_code()),
                    message: other.to_string(),
                }
            }
        }
    }
}
