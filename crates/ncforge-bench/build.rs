//! Gives the program the versions of its codecs it was built with, as `Cargo.lock` has them.

use std::path::{Path, PathBuf};

/// Packages that encode or decode; those of C libraries carry the library's version.
const CODECS: [&str; 6] = ["libdeflate-sys", "zstd-sys", "lz4-sys", "libbz2-rs-sys", "bzip2", "flate2"];

fn main() {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let lock = folder.ancestors().map(|f| f.join("Cargo.lock")).find(|p| p.is_file());
    println!("cargo::rerun-if-changed=build.rs");
    let found = lock.as_deref().map(versions).unwrap_or_default();
    println!("cargo::rustc-env=NCFORGE_CODECS={}", found.join(", "));
}

/// The codecs of a lock file with their versions; none where it cannot be read.
fn versions(lock: &Path) -> Vec<String> {
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = std::fs::read_to_string(lock).unwrap_or_default();
    let field = |part: &str, key: &str| {
        let line = part.lines().find_map(|l| l.strip_prefix(key))?;
        Some(line.trim_matches([' ', '=', '"']).to_owned())
    };
    let packages =
        text.split("[[package]]").filter_map(|p| Some((field(p, "name ")?, field(p, "version ")?)));
    packages.filter(|p| CODECS.contains(&p.0.as_str())).map(|p| format!("{} {}", p.0, p.1)).collect()
}
