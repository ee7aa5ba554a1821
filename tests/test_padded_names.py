"""Names followed by NUL bytes, as in netCDF-C's own ``ref_nctest_classic.nc``: they end before those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from peers import CLASSIC, assert_same


def make(path: Path, file_format: Any) -> None:
    with netCDF4.Dataset(path, "w", format=file_format) as nc:
        nc.createDimension("yyq", 3)
        nc.createDimension("rrrqq", None)
        nc.setncattr("aaq", "x")
        v = nc.createVariable("vvvvvvqqqqqq", "i4", ("rrrqq", "yyq"))
        v.setncattr("bqqq", 2.5)
        v[:] = np.arange(6).reshape(2, 3)
    path.write_bytes(path.read_bytes().replace(b"q", b"\0"))


@pytest.mark.parametrize("file_format", CLASSIC)
def test_names_end_before_nul_bytes(tmp_path: Path, file_format: Any) -> None:
    path = tmp_path / "padded.nc"
    make(path, file_format)
    assert_same(path)
    with ncforge.Dataset(path) as ds:
        assert list(ds.dimensions) == ["yy", "rrr"]
        assert ds.aa == "x"
        assert ds["vvvvvv"].b == 2.5
    before = path.read_bytes()
    with ncforge.Dataset(path, "a") as ds:
        ds["vvvvvv"][0, 0] = 7
    assert len(path.read_bytes()) == len(before)
    assert path.read_bytes()[:100] == before[:100]
    with ncforge.Dataset(path, "a") as ds:
        ds["vvvvvv"][2] = [1, 2, 3]
        ds.title = "a longer header " * 200
        ds.createVariable("new", "f4", ("rrr",))[1] = 9
        ds.renameDimension("yy", "y")
    assert_same(path)
    with netCDF4.Dataset(path) as nc:
        np.testing.assert_array_equal(nc["vvvvvv"][:], [[7, 1, 2], [3, 4, 5], [1, 2, 3]])
        assert list(nc.dimensions) == ["y", "rrr"]
