//! The `ncforge` command: arguments, progress, printing. The work is done by the library.
//!
//! The rooms: `args` declares the command line and nothing else; `commands` holds one file a sub-command; `printer`
//! does all printing; `command_line` writes options and commands; `exit` knows the exit codes and how a failure is reported; `interrupt` turns Ctrl-C into a request to
//! stop; `descriptors` asks for as many open files as may be had. The contracts (streams, exit codes, options) are in `docs/command.md`.
//!
//! Two programs are this command: the one of this crate, and the script that comes with the Python package.
//!
//! ```
//! let exit_code = ncforge_cli::main(vec!["ncforge".into(), "--version".into()], &[]);
//! assert_eq!(exit_code, 0);
//! ```

mod args;
mod command_line;
mod commands;
mod descriptors;
mod exit;
mod hint;
mod interrupt;
mod panics;
mod printer;
mod progress;
mod stderr;

use std::ffi::OsString;

pub use command_line::CommandLine;

/// Runs the command line `argv` (the program's name first) and gives the exit code. `again` are the program and its first
/// arguments by which this very command can be started again (`bench io` starts ranks); empty: the running program.
///
/// Data goes to the standard output and messages to the standard error of the process. Commands that write take over
/// SIGINT and SIGTERM. Never panics.
pub fn main(argv: Vec<OsString>, again: &[OsString]) -> u8 {
    panics::install();
    let argv = args::under_its_name(argv);
    let run = || {
        let given = argv;
        let argv = match args::expanded(given.clone()) {
            Ok(argv) => argv,
            Err(failure) => {
                printer::Printer::new(&args::GlobalArgs::default()).failure(&failure);
                return failure.exit;
            }
        };
        match args::parse(&argv) {
            Ok(cli) => commands::run(cli, &argv, again),
            Err(early) => {
                if early == exit::Exit::Usage {
                    args::name_empty(&given);
                }
                early
            }
        }
    };
    // A panic is a bug of ours; the hook has reported it in one line, what is left is the exit code.
    std::panic::catch_unwind(run).unwrap_or(exit::Exit::Failed) as u8
}
