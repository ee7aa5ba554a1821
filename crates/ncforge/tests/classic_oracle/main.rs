//! Classic files across tools: what netCDF-C (ncdump, ncgen, netCDF4-python) and PnetCDF's ncvalidator make of
//! ours, and we of theirs.
//!
//! Needs Debian's `netcdf-bin`, and for single tests a Python with netCDF4 (`NCFORGE_TEST_PYTHON`, the
//! workspace's `.venv`, or `python3`) and `pnetcdf-bin`. A test whose tool is missing says so and passes.

mod copies;
mod datasets;
mod definitions;
mod stored;
mod tools;
