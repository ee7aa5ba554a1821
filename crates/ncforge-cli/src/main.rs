//! The `ncforge` command; all of it is in the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ncforge_cli::main(std::env::args_os().collect(), &[]).into()
}
