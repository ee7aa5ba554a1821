//! Other programs: whether they are there, what they print, what they think of a file.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a tool is there; says so if not.
pub(crate) fn have(tool: &str) -> bool {
    let there = Command::new(tool).arg("-h").output().is_ok();
    if !there {
        eprintln!("skipped: `{tool}` is not installed");
    }
    there
}

/// Runs a tool that must succeed; gives what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {} {stderr}", String::from_utf8_lossy(&out.stdout));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A Python that has netCDF4.
pub(crate) fn python() -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let asked = std::env::var_os("NCFORGE_TEST_PYTHON").map(PathBuf::from);
    let found = asked.into_iter().chain([venv, "python3".into()]).find(|p| {
        Command::new(p).args(["-c", "import netCDF4"]).output().is_ok_and(|out| out.status.success())
    });
    if found.is_none() {
        eprintln!("skipped: no Python with netCDF4");
    }
    found
}

/// ncdump's output for a file, but for its first line, which has the file's name.
pub(crate) fn dump(path: &Path, header_only: bool) -> String {
    let text = run(Command::new("ncdump").arg(if header_only { "-h" } else { "-p9,17" }).arg(path));
    text.split_once('\n').unwrap_or_default().1.to_owned()
}

/// Like `assert_eq`, but shows only the first line that differs.
pub(crate) fn same_text(ours: &str, theirs: &str) {
    for (a, b) in ours.lines().zip(theirs.lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

/// Equal files; netCDF-C leaves a page of zeros behind a header without variables.
pub(crate) fn same_bytes(ours: &Path, theirs: &Path, what: &str) {
    let (ours, theirs) = (std::fs::read(ours).unwrap(), std::fs::read(theirs).unwrap());
    let first = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert_eq!(first, None, "{what}");
    assert!(ours.len() <= theirs.len() && theirs[ours.len()..].iter().all(|&b| b == 0), "{what}: lengths");
    assert!(ours.len() == theirs.len() || theirs.len() == 4096, "{what}: {} {}", ours.len(), theirs.len());
}

/// ncvalidator is the strictest judge of headers: silent when content.
pub(crate) fn validate(path: &Path) {
    if Command::new("ncvalidator").arg("-h").output().is_ok() {
        run(Command::new("ncvalidator").arg("-q").arg(path));
    }
}
