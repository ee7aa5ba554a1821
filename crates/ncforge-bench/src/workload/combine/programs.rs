//! Other programs that are given the tiles: tools by their command lines, and `cat`.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use super::phase::Used;
use super::tiles::TileSet;
use super::tool::Tool;
use crate::error::{Error, Result};

/// A word for the shell, whatever it holds.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Runs a tool, and waits for its end.
pub(super) fn run(tool: &Tool, set: &TileSet, (y, x): (u64, u64), output: &Path) -> Result<Option<Used>> {
    let tiles: Vec<String> = set.tiles.iter().map(|t| quoted(&t.path)).collect();
    let line = tool
        .command
        .replace("{tiles}", &tiles.join(" "))
        .replace("{first}", &tiles[0])
        .replace("{base}", &quoted(&set.base))
        .replace("{count}", &set.tiles.len().to_string())
        .replace("{y}", &y.to_string())
        .replace("{x}", &x.to_string())
        .replace("{out}", &quoted(output));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).stdout(Stdio::null());
    wait_for(shell, &line)
}

/// The tiles one behind the other in one file, by the program of that name.
pub(super) fn cat(set: &TileSet, output: &Path) -> Result<Option<Used>> {
    let out = File::create(output).map_err(|e| Error::io("create", output, e))?;
    let mut cat = Command::new("cat");
    cat.args(set.tiles.iter().map(|t| &t.path)).stdout(out);
    wait_for(cat, "cat")
}

/// Runs a program to its end; what it and those that it ran have used.
fn wait_for(mut program: Command, line: &str) -> Result<Option<Used>> {
    let child = program
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Error::io("run", Path::new(program.get_program()), e))?;
    let (mut status, mut used) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: our own child, which nobody else waits for; memory for a number and for the structure, for which all bit
    // patterns are valid.
    let (pid, used) = unsafe {
        let pid = libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, used.as_mut_ptr());
        (pid, used.assume_init())
    };
    if pid < 0 || !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err(Error::Library(format!("`{line}` failed")));
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    Ok(Some(Used {
        cpu: seconds(used.ru_utime) + seconds(used.ru_stime),
        memory: used.ru_maxrss.max(0) as u64 * 1024,
    }))
}
