//! The judges: h5dump and its kin, ncdump, netCDF4-python, h5py.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a program; `None` (with a word on stderr) if it is not installed.
fn run(program: &Path, args: &[&str]) -> Option<Output> {
    match Command::new(program).args(args).output() {
        Ok(out) => Some(out),
        Err(e) => {
            eprintln!("SKIPPED a check: cannot run {}: {e}", program.display());
            None
        }
    }
}

/// Runs a tool, which must succeed; gives what it printed.
pub(crate) fn tool(name: &str, args: &[&str]) -> Option<String> {
    let out = run(Path::new(name), args)?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name} {args:?} failed:\n{text}\n{errors}");
    assert!(!errors.contains("HDF5-DIAG"), "{name} {args:?} complains:\n{errors}");
    Some(text)
}

/// The Python that has netCDF4 and h5py.
fn python() -> PathBuf {
    if let Some(path) = std::env::var_os("NCFORGE_TEST_PYTHON") {
        return path.into();
    }
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    if venv.exists() { venv } else { "python3".into() }
}

/// Runs `check.py` with a check's name and a file. `false` if Python or its packages are missing.
pub(crate) fn check(name: &str, file: &Path) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netcdf4_write/check.py");
    let python = python();
    let Some(out) = run(&python, &[script.to_str().unwrap(), name, file.to_str().unwrap()]) else {
        return false;
    };
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    if out.status.code() == Some(77) {
        eprintln!("SKIPPED check `{name}`: {text}");
        return false;
    }
    assert!(out.status.success(), "check `{name}` of {} failed:\n{text}", file.display());
    true
}

/// Checks that every tool can read a file.
///
/// `h5diff` of HDF5 1.10 fails on strings in files of any origin ("infinite loop closing library").
pub(crate) fn tools_accept(file: &Path, strings: bool) {
    let path = file.to_str().unwrap();
    tool("h5dump", &["-p", "-H", path]);
    tool("h5ls", &["-rv", path]);
    tool("h5stat", &[path]);
    tool("ncdump", &["-hs", path]);
    let copy = file.with_extension("repacked.h5");
    let copied = copy.to_str().unwrap();
    if tool("h5repack", &["-L", path, copied]).is_some() {
        if !strings {
            tool("h5diff", &[path, copied]);
        }
        std::fs::remove_file(copy).unwrap();
    }
}
