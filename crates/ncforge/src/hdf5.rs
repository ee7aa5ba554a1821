//! The HDF5 file format, with no netCDF in it.
