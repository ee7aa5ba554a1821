//! Sub-commands: one file each. They turn arguments into the library's options, call it, and
//! print what it returns.

mod bench;
mod combine;
mod compare;
mod concat;
mod copy;
mod digest;
mod doctor;
mod document;
mod dump;
mod info;
mod inputs;
mod nccopy;
mod ncrcat;
mod netcdf;
mod old;
mod page;
mod refs;
mod report;
mod requests;
mod series;
mod shell;
mod split;
mod tune;
mod verify;
mod zip;

use std::ffi::OsString;
use std::path::PathBuf;

use ncforge::store::RemoteOptions;
use ncforge::{Engine, EngineOptions};
use ncforge_tune::words::quoted;

use crate::args::{Cli, Command, GlobalArgs};
use crate::descriptors;
use crate::exit::{Exit, Failure, Result};
use crate::printer::Printer;
use crate::{command_line, interrupt};

/// The context of a sub-command besides its own arguments.
pub(crate) struct Context<'a> {
    /// Options of every command.
    pub(crate) global: &'a GlobalArgs,
    /// The command line as given, program name first: for `history`.
    pub(crate) argv: &'a [OsString],
    /// The words that start the command again, see [`crate::main`].
    pub(crate) again: &'a [OsString],
    /// The receiver of output.
    pub(crate) printer: &'a Printer,
    /// The paths that the command line names, and the files that patterns among them stand for.
    pub(crate) named: &'a [PathBuf],
}

impl Context<'_> {
    /// The engine, with the threads and the memory that were asked for.
    pub(crate) fn engine(&self) -> Result<Engine> {
        let options = EngineOptions { threads: self.threads(), memory: self.memory() };
        // A value that cannot be obeyed stands on the command line or in the environment.
        Engine::new(options).map_err(Failure::usage_of)
    }

    /// The worker threads that were asked for.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.global.threads.map(usize::from)
    }

    /// The bytes of memory that were asked for.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.global.memory.map(|size| size.0)
    }

    /// Words of the command line as others may see them: the only ones that are written or printed.
    pub(crate) fn public(&self, words: &[OsString]) -> Vec<String> {
        command_line::public(words, &self.global.storage_options)
    }

    /// The command line for `history`: words of this command as others may see them, on one line that a shell would accept.
    pub(crate) fn history(&self, words: &[OsString]) -> String {
        self.public(words).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The whole command line for `history`.
    pub(crate) fn command_line(&self) -> String {
        self.history(self.argv)
    }
}

/// Runs a sub-command, reports its failure, gives its exit code.
pub(crate) fn run(cli: Cli, argv: &[OsString], again: &[OsString]) -> Exit {
    let printer = Printer::new(&cli.global);
    RemoteOptions::set_default(cli.global.remote());
    if cli.global.no_follow {
        ncforge::set_follow(false);
    }
    // A program that is run gets the limit that its caller gave it.
    if !matches!(cli.command, Command::Run(_) | Command::Netcdf(_)) {
        descriptors::raise();
    }
    let cx = Context { global: &cli.global, argv, again, printer: &printer, named: &cli.named };
    let done = dispatch(cli.command, &cx).map_err(|failure| failure.after(interrupt::exit(), cli.can_resume));
    for warning in ncforge::store::take_warnings() {
        printer.warn(warning.to_string());
    }
    let lost = printer.lost_output().map(|e| Failure::lost_output(&e));
    let failed = match (done, lost) {
        (Ok(exit), None) => return exit.after(interrupt::exit()),
        (Err(failure), _) | (Ok(_), Some(failure)) => failure,
    };
    printer.failure(&failed);
    failed.exit
}

/// Does what the sub-command does.
fn dispatch(mut command: Command, cx: &Context<'_>) -> Result {
    let mut named = cx.named.to_owned();
    if let Some((files, inputs)) = command.files() {
        let found = inputs::expanded(&files[..inputs], cx)?;
        named.extend_from_slice(&found);
        files.splice(..inputs, found);
    }
    let cx = &Context { named: &named, ..*cx };
    if let Some(written) = command.written() {
        document::check(written, cx.named)?;
    }
    match command {
        Command::Copy(a) => copy::run(&a, cx),
        Command::Rechunk(a) => copy::run(&a.rechunking(), cx),
        Command::Combine(a) => combine::run(&a, cx),
        Command::Concat(a) => concat::run(&a, cx),
        Command::Series(a) => series::run(&a, cx),
        Command::Split(a) => split::run(&a, cx),
        Command::Refs(a) => refs::run(&a, cx),
        Command::Info(a) => info::run(&a, cx),
        Command::Dump(a) => dump::run(&a, cx),
        Command::Compare(a) => compare::run(&a, cx),
        Command::Digest(a) => digest::run(&a, cx),
        Command::Doctor(a) => doctor::run(&a, cx),
        Command::Zip(a) => zip::run(&a, cx),
        Command::Unzip(a) => zip::run_unzip(&a, cx),
        Command::Compact(a) => zip::run_compact(&a, cx),
        Command::Verify(a) => verify::run(&a, cx),
        Command::Tune(a) => tune::run(&a, cx),
        Command::Bench(a) => bench::run(&a, cx),
        Command::Report(a) => report::run(&a, cx),
        Command::Run(a) => netcdf::run(&a, cx),
        Command::Netcdf(a) => netcdf::settings(&a, cx.printer),
        Command::Mppnccombine(a) => old::mppnccombine(&a, cx),
        Command::Nocscombine(a) => old::nocscombine(&a, cx),
        Command::RebuildNemo(a) => old::rebuild_nemo(&a, cx),
        Command::Nccopy(a) => nccopy::run(&a, cx),
        Command::Ncrcat(a) => ncrcat::run(&a, cx),
        Command::Completions(a) => shell::completions(&a, cx.printer),
        Command::Man(a) => shell::man(&a, cx.printer),
    }
}
