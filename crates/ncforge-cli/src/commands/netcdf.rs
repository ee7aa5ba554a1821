//! `ncforge run`, `ncforge netcdf`: starts programs with the library `ncforge-netcdf` preloaded, and edits netCDF-C's configuration
//! file.

mod library;
mod rc;

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Context;
use crate::args::{EnableArgs, Netcdf, NetcdfArgs, ProgramArgs, StatusArgs};
use crate::exit::{Exit, Failure, Result};
use crate::printer::Printer;

const PRELOAD: &str = "LD_PRELOAD";
/// The variable with the library's task.
const WISH: &str = "NCFORGE_NETCDF";

/// Replaces this process by the program. The library has ncforge's options from the environment.
pub(crate) fn run(args: &ProgramArgs, cx: &Context<'_>) -> Result {
    let library = library::path()?;
    let (program, rest) = args.command.split_first().expect("clap asks for one word at least");
    let mut command = Command::new(program);
    command.args(rest).env(PRELOAD, preload(&library));
    if let Some(threads) = cx.threads() {
        command.env("NCFORGE_THREADS", threads.to_string());
    }
    if let Some(memory) = cx.memory() {
        command.env("NCFORGE_MEMORY", memory.to_string());
    }
    if cx.global.verbose > 0 && std::env::var_os(WISH).is_none() {
        command.env(WISH, "log");
    }
    Err(not_started(program, &command.exec()))
}

/// The library in front of what is preloaded already.
fn preload(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(PRELOAD).filter(|v| !v.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The failure of a program that did not begin, with the code that a shell gives it.
fn not_started(program: &OsStr, e: &std::io::Error) -> Failure {
    let (exit, hint) = match e.kind() {
        ErrorKind::NotFound => (Exit::NoProgram, "give the name of a program in PATH, or its path"),
        _ => (Exit::NotExecutable, "`ls -l` shows whether it is a file that you may execute"),
    };
    let message = format!("cannot start `{}`: {e}", program.to_string_lossy());
    Failure { class: None, message, hint: hint.to_owned(), exit }
}

/// `ncforge netcdf …`
pub(crate) fn settings(args: &NetcdfArgs, printer: &Printer) -> Result {
    match &args.what {
        Netcdf::Enable(a) => enable(a, printer),
        Netcdf::Disable(a) => disable(a, printer),
        Netcdf::Status(a) => status(a, printer),
    }
}

fn enable(args: &EnableArgs, printer: &Printer) -> Result {
    let library = library::path()?;
    let file = rc_file(args.file.as_deref())?;
    rc::edit(&file, Some(&library))?;
    printer.note(format!("{}: netCDF-C 4.10.1 and later loads {}", file.display(), library.display()));
    Ok(Exit::Ok)
}

fn disable(args: &EnableArgs, printer: &Printer) -> Result {
    let file = rc_file(args.file.as_deref())?;
    let changed = rc::edit(&file, None)?;
    let what =
        if changed { "netCDF-C does not load ncforge any more" } else { "there was nothing to remove" };
    printer.note(format!("{}: {what}", file.display()));
    Ok(Exit::Ok)
}

fn status(args: &StatusArgs, printer: &Printer) -> Result {
    let library = library::path()?;
    printer.data(&format!("library: {}\n", library.display()));
    match rc_file(None) {
        Ok(file) if rc::is_enabled(&file) => {
            printer.data(&format!("{}: netCDF-C 4.10.1 and later loads it\n", file.display()));
        }
        Ok(file) => printer.data(&format!("{}: netCDF-C does not load it by itself\n", file.display())),
        Err(_) => {}
    }
    let Some(program) = &args.program else { return Ok(Exit::Ok) };
    // The library reports when it is loaded, and ends the process before the program begins.
    let output = Command::new(program)
        .env(PRELOAD, preload(&library))
        .env(WISH, "status")
        .output()
        .map_err(|e| not_started(program, &e))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let name = program.to_string_lossy();
    if output.status.success() && text.starts_with("ncforge-netcdf") {
        text.lines().skip(1).for_each(|line| printer.data(&format!("{name}: {line}\n")));
        return Ok(Exit::Ok);
    }
    printer.data(&format!("{name}: not served: {}\n", why_not(&output)));
    Ok(Exit::Ok)
}

/// The reason why the library did not report: what the program, or the loader in its place, said at its end.
fn why_not(output: &Output) -> String {
    let said = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).trim().to_owned());
    let said = said.iter().find(|text| !text.is_empty()).map_or_else(String::new, |text| format!(": {text}"));
    match output.status.success() {
        true => "the system preloads nothing into it (a static program?)".to_owned(),
        false => format!("it ends with {}{said}", output.status),
    }
}

/// The configuration file that netCDF-C reads.
fn rc_file(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let set = |name| std::env::var_os(name).filter(|v: &OsString| !v.is_empty()).map(PathBuf::from);
    let folder = || set("NCRCENV_HOME").or_else(|| set("HOME"));
    set("NCRCENV_RC").or_else(|| Some(folder()?.join(".ncrc"))).ok_or_else(|| {
        Failure::usage("the folder of netCDF-C's configuration file is not known", "give the file: `--file`")
    })
}
