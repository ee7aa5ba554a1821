//! Findings on a terminal.

use ncforge_ops::doctor::{Commands, Repair, Severity, Style};

use crate::command_line::CommandLine;
use crate::printer::Printer;

impl Commands for Printer {
    fn copy(&self, repair: &Repair<'_>) -> String {
        CommandLine.copy(repair)
    }
}

/// The printer's colours; details with `-v`.
impl Style for Printer {
    fn heading(&self, text: &str) -> String {
        Printer::heading(self, text)
    }

    fn severity(&self, severity: Option<Severity>, text: &str) -> String {
        match severity {
            Some(severity) => Printer::severity(self, severity, text),
            None => self.good(text),
        }
    }

    fn command(&self, text: &str) -> String {
        Printer::command(self, text)
    }

    fn detailed(&self) -> bool {
        self.is_verbose()
    }
}
