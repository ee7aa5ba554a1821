"""Tests of xarray that are expected to fail, each with its reason."""

KNOWN: dict[str, str] = {
    "TestDataTree::test_compute_false": "a new file has its name when it is whole: nobody can open it half-written",
}

KNOWN_NETCDF4: dict[str, str] = {
    # What ncforge does not have.
    r"^test_alignment$": "set_alignment: HDF5's own setting",
    r"^test_multifile2?$": "MFDataset: xarray.open_mfdataset does it",
    r"^test_compression": "imports netCDF4.utils, or has_zstd_filter and its like; quantization()",
    r"^test_cdl\.": "tocdl prints no values, and there is no fromcdl",
    r"^test_complex\.": "complex numbers",
    r"^test_chunk_cache\.": "the size of a variable's chunk cache: there is one cache for all",
    # What is stricter, or told otherwise.
    r"^test_masked2?\.": "fractions and values out of range are refused where integers are stored, without a warning",
    r"^test_types\.": "masked values are refused where no fill value is known",
    r"^test_vlen\.Vlen_ScaledInts": "scaled ragged rows",
    r"^test_vlen\.VlenAppendTestCase": "a new file is being written until it is closed: nobody opens it before",
    # To be mended.
    r"^test_atts\.": "an attribute that a classic file cannot hold is refused at another time",
    r"^test_compoundatt\.": "byte strings in compound types",
    r"^test_compoundvar\.": "CompoundType is not equal to its dtype",
    r"^test_dims\.|^test_get_fill_value\.": "dimensions cannot be iterated over",
    r"^test_enum\.": "an enum type of the same name in the same group",
    r"^test_filepath\.": "filepath(encoding=)",
    r"^test_grps\.": "Group(parent, name) as a constructor",
    r"^test_grps2\.": "names of groups with `.`",
    r"^test_rename\.": "new names in a dataset that is open for reading: another error",
    r"^test_slicing\..*issue300": "booleans longer than an unlimited dimension that grows",
    r"^test_stringarr\.": "strings wider than their dimension are cut",
    r"^test_unicodeatt\.": "getncattr(encoding=)",
    r"^test_vlen\.": "variable-length strings from arrays of fixed width",
}
"""Tests of netCDF4-python that are expected to fail (regular expressions), each with its reason."""
