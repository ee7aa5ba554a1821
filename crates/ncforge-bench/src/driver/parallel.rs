//! Builds of netCDF-C for several processes.

use std::path::PathBuf;

/// Names under which netCDF-C is built for several processes (Debian's among them).
pub(crate) const PARALLEL: [&str; 4] =
    ["libnetcdf_pnetcdf.so.19", "libnetcdf_mpi.so.19", "libnetcdf_pnetcdf.so", "libnetcdf_mpi.so"];

/// The builds of these names in the folders where systems keep libraries.
pub(crate) fn parallel_builds() -> Vec<PathBuf> {
    let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"].map(PathBuf::from);
    let below = folders.iter().flat_map(|f| std::fs::read_dir(f).into_iter().flatten().flatten());
    let all: Vec<PathBuf> =
        folders.iter().cloned().chain(below.map(|e| e.path()).filter(|p| p.is_dir())).collect();
    PARALLEL.iter().filter_map(|name| all.iter().map(|f| f.join(name)).find(|p| p.exists())).collect()
}
