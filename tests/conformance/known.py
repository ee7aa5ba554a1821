"""Tests of xarray that are expected to fail, each with its reason."""

KNOWN: dict[str, str] = {
    "TestDataTree::test_compute_false": "a new file has its name when it is whole: nobody can open it half-written",
}

KNOWN_NETCDF4: dict[str, str] = {
    "test_atts.VariablesTestCase.runTest": "_FillValue can be set by `setncattr` until the variable's first value is written",
    "test_multifile.NonuniformTimeTestCase": "`standard` and `gregorian` are two names of one calendar (CF 1.13, section 4.4.1)",
}
"""Tests of netCDF4-python that are expected to fail (regular expressions), each with its reason."""
