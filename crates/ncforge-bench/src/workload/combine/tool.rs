//! Other programs that combine tiles, told by their command lines.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use super::tiles::TileSet;
use super::{Phase, Used};
use crate::error::{Error, Result};

/// A program, written `PHASE:NAME=COMMAND`. In the command, `{tiles}` stands for all tiles, `{first}` for the first,
/// `{base}` for what their names begin with, `{count}` for their number, `{out}` for the output, `{y}` and `{x}` for the
/// chunk lengths of re-encoded output. A shell runs it. The tiles tell their place as NEMO's do and as FMS's do, so that
/// tools of either will do.
///
/// ```
/// use ncforge_bench::workload::combine::{Phase, Tool};
/// let tool: Tool = "plain:mppnccombine=mppnccombine -64 {out} {tiles}".parse()?;
/// assert_eq!((tool.phase, tool.name.as_str()), (Phase::Plain, "mppnccombine"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// What it does.
    pub phase: Phase,
    /// Its name in results.
    pub name: String,
    /// The command.
    pub command: String,
}

/// Programs that people use, and how they are told to do the work of a phase.
const KNOWN: [(&str, Phase, &str); 8] = [
    ("mppnccombine", Phase::Plain, "mppnccombine -64 {out} {tiles}"),
    ("mppnccombine", Phase::Deflate, "mppnccombine -n4 -d 1 -s {out} {tiles}"),
    ("mppnccombine", Phase::Inflate, "mppnccombine -64 {out} {tiles}"),
    ("mppnccombine", Phase::Recode, "mppnccombine -n4 -d 1 -s {out} {tiles}"),
    ("rebuild_nemo", Phase::Plain, "rebuild_nemo -m {base} {count} && mv {base}.nc {out}"),
    (
        "rebuild_nemo",
        Phase::Deflate,
        "rebuild_nemo -m -d 1 -x {x} -y {y} -z 1 -t 1 {base} {count} && mv {base}.nc {out}",
    ),
    (
        "rebuild_nemo",
        Phase::Recode,
        "rebuild_nemo -m -d 1 -x {x} -y {y} -z 1 -t 1 {base} {count} && mv {base}.nc {out}",
    ),
    ("nocscombine", Phase::Plain, "nocscombine -f {first} -o {out}"),
];

impl Tool {
    /// Those of the programs that people use (mppnccombine, rebuild_nemo, nocscombine) that are installed here.
    pub fn installed() -> Vec<Tool> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        KNOWN
            .into_iter()
            .filter(|(name, ..)| is_there(name))
            .map(|(name, phase, command)| Tool { phase, name: name.to_owned(), command: command.to_owned() })
            .collect()
    }
}

impl FromStr for Tool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            let phases = Phase::ALL.map(Phase::name).join(", ");
            format!("`{text}` is not PHASE:NAME=COMMAND; phases are {phases}")
        };
        let (head, command) = text.split_once('=').ok_or_else(bad)?;
        let (phase, name) = head.split_once(':').ok_or_else(bad)?;
        let phase = Phase::ALL.into_iter().find(|p| p.name() == phase.trim()).ok_or_else(bad)?;
        if name.trim().is_empty() || !command.contains("{out}") && !command.contains("{base}") {
            return Err(bad());
        }
        Ok(Tool { phase, name: name.trim().to_owned(), command: command.trim().to_owned() })
    }
}

/// A word for the shell, whatever it holds.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

impl Tool {
    /// Runs it, and waits for its end.
    pub(super) fn run(&self, set: &TileSet, (y, x): (u64, u64), output: &Path) -> Result<Option<Used>> {
        let tiles: Vec<String> = set.tiles.iter().map(|t| quoted(&t.path)).collect();
        let line = self
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
    // SAFETY: our own child, which nobody else waits for; room for a number and for the structure, for which all bit
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
