//! netCDF's conventions on HDF5.
