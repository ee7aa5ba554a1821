//! Other programs that combine tiles, by their command lines.

use std::str::FromStr;

use super::phase::Phase;

/// A program, written `PHASE:NAME=COMMAND`. In the command, `{tiles}` stands for all tiles, `{first}` for the first,
/// `{base}` for what their names begin with, `{count}` for their number, `{out}` for the output, `{y}` and `{x}` for the
/// chunk lengths of re-encoded output. A shell runs it. The tiles have their position as NEMO's do and as FMS's do, so that
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
    /// The phase that the tool does.
    pub phase: Phase,
    /// Its name in results.
    pub name: String,
    /// The command.
    pub command: String,
}

/// Programs that people use, and their command lines for the work of a phase.
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
    /// The installed ones of the usual programs (mppnccombine, rebuild_nemo, nocscombine).
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
