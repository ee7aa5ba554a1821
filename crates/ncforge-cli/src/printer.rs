//! All printing of the command: data to stdout, everything else to stderr.
//!
//! Messages follow one grammar: `ncforge: what failed, where, why`, then a line `hint: …` with
//! what can be done about it. Colour is used on terminals only, unless `--color` says otherwise;
//! `NO_COLOR` is obeyed. When the reader of stdout goes away early (`ncforge info x.nc | head`), the rest of
//! the output is dropped and the work goes on: that is not a failure.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use ncforge_ops::doctor::Severity;

use crate::args::{ColorWhen, GlobalArgs, ProgressKind};
use crate::exit::Failure;
use crate::progress::Reporter;
use crate::stderr::to_stderr;

/// The receiver and the style of output.
#[derive(Debug)]
pub(crate) struct Printer {
    quiet: bool,
    verbose: u8,
    color_out: bool,
    color_err: bool,
    progress: ProgressKind,
    progress_asked: bool,
    stdout_closed: AtomicBool,
    /// The reason why output was lost, if somebody still waits for it.
    lost: Mutex<Option<std::io::Error>>,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

impl Printer {
    /// A printer as the global options ask for it.
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let color = |terminal: bool| match global.color {
            Some(ColorWhen::Always) => true,
            Some(ColorWhen::Never) => false,
            Some(ColorWhen::Auto) | None => terminal && !no_color,
        };
        let on_terminal = std::io::stderr().is_terminal();
        let progress = match global.progress.unwrap_or(ProgressKind::Auto) {
            _ if global.quiet => ProgressKind::None,
            ProgressKind::Auto if on_terminal => ProgressKind::Bar,
            ProgressKind::Auto => ProgressKind::Plain,
            asked => asked,
        };
        Printer {
            quiet: global.quiet,
            verbose: global.verbose,
            color_out: color(std::io::stdout().is_terminal()),
            color_err: color(on_terminal),
            progress,
            progress_asked: global.progress.is_some(),
            stdout_closed: AtomicBool::new(false),
            lost: Mutex::new(None),
        }
    }

    /// Shows how far a piece of work has come that begins now, in the way of `--progress`.
    pub(crate) fn progress(&self, work: &str) -> Reporter {
        Reporter::new(self.progress, work)
    }

    /// Progress for users who know the command as another tool, which is silent in logs: unless they ask, only a terminal shows it.
    pub(crate) fn progress_on_terminal(&self, work: &str) -> Reporter {
        match self.progress {
            ProgressKind::Plain if !self.progress_asked => Reporter::new(ProgressKind::None, work),
            kind => Reporter::new(kind, work),
        }
    }

    /// Text for stdout, as it is.
    pub(crate) fn data(&self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Bytes for stdout, as they are: text of old files need not be UTF-8. Whether somebody still reads them.
    pub(crate) fn bytes(&self, text: &[u8]) -> bool {
        if self.stdout_closed.load(Ordering::Relaxed) {
            return false;
        }
        let mut out = std::io::stdout().lock();
        if let Err(e) = out.write_all(text).and_then(|()| out.flush()) {
            self.stdout_closed.store(true, Ordering::Relaxed);
            if e.kind() != std::io::ErrorKind::BrokenPipe {
                *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            }
            return false;
        }
        true
    }

    /// The reason why the standard output did not take all of the output, unless its reader has gone.
    pub(crate) fn lost_output(&self) -> Option<std::io::Error> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// One line for stdout.
    pub(crate) fn line(&self, text: impl Display) {
        self.data(&format!("{text}\n"));
    }

    /// A message for the user; silent under `--quiet`.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            self.err(format_args!("{text}"));
        }
    }

    /// Whether only results are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether details were asked for.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose > 0 && !self.quiet
    }

    /// A message for the curious: only with `-v`.
    pub(crate) fn detail(&self, text: impl Display) {
        if self.is_verbose() {
            self.err(format_args!("{}", self.dim(text)));
        }
    }

    /// A warning; silent under `--quiet`.
    pub(crate) fn warn(&self, text: impl Display) {
        if !self.quiet {
            self.caution(text);
        }
    }

    /// A warning without which the exit code would not be understood: printed under `--quiet`, too.
    pub(crate) fn caution(&self, text: impl Display) {
        self.err(format_args!("ncforge: {} {text}", paint(self.color_err, YELLOW, "warning:")));
    }

    /// Tells a failure: what, and what to do about it.
    pub(crate) fn failure(&self, f: &Failure) {
        self.err(format_args!("{} {}", paint(self.color_err, RED, "ncforge:"), f.message));
        self.err(format_args!("{} {}", paint(self.color_err, CYAN, "hint:"), f.hint));
    }

    /// A heading on stdout, bold where colours are allowed.
    pub(crate) fn heading(&self, text: impl Display) -> String {
        paint(self.color_out, BOLD, text)
    }

    /// Text of a check that passes, green where colours are allowed.
    pub(crate) fn good(&self, text: impl Display) -> String {
        paint(self.color_out, GREEN, text)
    }

    /// Text on stdout in the colour of a severity.
    pub(crate) fn severity(&self, severity: Severity, text: impl Display) -> String {
        let style = match severity {
            Severity::Error => RED,
            Severity::Warning => YELLOW,
            Severity::Info => CYAN,
        };
        paint(self.color_out, style, text)
    }

    /// A command on stdout that the user may type.
    pub(crate) fn command(&self, text: impl Display) -> String {
        paint(self.color_out, GREEN, text)
    }

    fn dim(&self, text: impl Display) -> String {
        paint(self.color_err, DIM, text)
    }

    fn err(&self, text: std::fmt::Arguments<'_>) {
        to_stderr(format_args!("{text}\n"));
    }
}

fn paint(on: bool, style: Style, text: impl Display) -> String {
    if on { format!("{style}{text}{style:#}") } else { text.to_string() }
}
