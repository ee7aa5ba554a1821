//! The measurement in progress: on the last line of a terminal with the seconds, and line by line with `-v`.

use ncforge_bench::Error;
use ncforge_ops::progress::Progress;

use crate::commands::Context;
use crate::interrupt;
use crate::printer::Printer;
use crate::progress::Reporter;

/// Tells the steps of a measurement.
pub(super) struct Steps<'a> {
    printer: &'a Printer,
    reporter: Reporter,
}

impl<'a> Steps<'a> {
    /// The steps of a measurement of this name, which begins now.
    pub(super) fn of(name: &str, cx: &Context<'a>) -> Self {
        Steps { printer: cx.printer, reporter: cx.printer.progress(&format!("bench {name}")) }
    }

    /// The next step.
    pub(super) fn tell(&self, step: &str) {
        self.reporter.item(step);
        self.reporter.aside(|| self.printer.detail(step));
    }

    /// The next step, unless Ctrl-C was pressed.
    pub(super) fn tell_or_stop(&self, step: &str) -> ncforge_bench::Result<()> {
        self.tell(step);
        if interrupt::requested() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Data for stdout in between.
    pub(super) fn data(&self, text: &str) {
        self.reporter.aside(|| self.printer.data(text));
    }

    /// The measurement is over: the terminal is for its results.
    pub(super) fn finish(self) {
        self.reporter.finish();
    }
}
