//! The `ncforge` command: arguments, progress, printing. What it does lives in the library.
//!
//! The rooms: [`args`] declares the command line and nothing else; [`commands`] holds one file a sub-command;
//! [`printer`] does all printing; [`exit`] knows the exit codes and how a failure is told; [`interrupt`]
//! turns Ctrl-C into a request to stop; [`descriptors`] asks for as many open files as may be had. The contracts (streams, exit codes, options) are in
//! `docs/command.md`.

mod args;
mod commands;
mod descriptors;
mod exit;
mod interrupt;
mod panics;
mod printer;
mod progress;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    panics::install();
    descriptors::raise();
    let argv = args::under_its_name(std::env::args_os().collect::<Vec<OsString>>());
    let run = || match args::parse(&argv) {
        Ok(cli) => commands::run(cli, &argv),
        Err(early) => early,
    };
    // A panic is a bug of ours; the hook has told it in one line, what is left is the exit code.
    std::panic::catch_unwind(run).unwrap_or(exit::Exit::Failed).into()
}
