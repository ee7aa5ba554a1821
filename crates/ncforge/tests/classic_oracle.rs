//! Classic files across tools: what ncdump, ncgen and netCDF-C make of ours, and we of theirs.
//!
//! Needs Debian's `netcdf-bin`; a test whose tool is missing says so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ncforge::Container;
use ncforge::store::FileStore;

/// Whether a tool is there; says so if not.
fn have(tool: &str) -> bool {
    let there = Command::new(tool).arg("-h").output().is_ok();
    if !there {
        eprintln!("skipped: `{tool}` is not installed");
    }
    there
}

fn open(path: &Path) -> ncforge::Result<Box<dyn Container>> {
    ncforge::classic::open(Arc::new(FileStore::open(path)?))
}

/// All classic files of Debian's `ferret-datasets`, `libncarg-data` and `gmt-gshhg-low` that are installed.
fn corpus() -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> =
        ["/usr/share/ferret-vis", "/usr/share/ncarg", "/usr/share/gmt-gshhg"].map(PathBuf::from).into();
    let mut files = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let netcdf = path.extension().is_some_and(|e| e == "nc" || e == "cdf");
            match entry.file_type() {
                Ok(t) if t.is_dir() => dirs.push(path),
                Ok(t) if t.is_file() && netcdf => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn is_classic(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 8];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok()
        && ncforge::classic::detect(&magic)
}

#[test]
fn real_files_open_when_ncdump_opens_them() {
    if !have("ncdump") {
        return;
    }
    let mut seen = 0;
    for path in corpus().iter().filter(|p| is_classic(p)) {
        let theirs = Command::new("ncdump").arg("-h").arg(path).output().unwrap().status.success();
        match open(path) {
            Ok(file) => {
                for v in file.schema().var_ids() {
                    file.layout(v).unwrap();
                }
            }
            Err(e) => assert!(!theirs, "ncdump opens {}: {e}", path.display()),
        }
        seen += 1;
    }
    eprintln!("{seen} real files");
}
