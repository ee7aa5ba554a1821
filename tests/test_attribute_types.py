"""Attributes have the types that netCDF4-python gives them, of every type a file can have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge

TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT_DATA", "NETCDF3_CLASSIC"])
def test_same_values_and_types(tmp_path: Path, format: Any) -> None:
    kinds = TYPES if format != "NETCDF3_CLASSIC" else ("i1", "i2", "i4", "f4", "f8")
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=format) as new:
        new.createDimension("x", 2)
        for name in ("one", "other"):
            var = new.createVariable(name, "f4", ("x",))
            for kind in kinds:
                var.setncattr(f"{kind}_scalar", np.array(7, kind)[()])
                var.setncattr(f"{kind}_list", np.arange(3).astype(kind))
            var.setncattr("text", "wörds")
            var.setncattr("empty", "")
            var.setncattr("nan", np.float32(np.nan))
            var.setncattr("most", np.iinfo("i4").min * np.ones(1, "i4"))
    with netCDF4.Dataset(path) as theirs, ncforge.Dataset(path) as ours:
        assert [v.name for v in ours.variables.values()] == list(theirs.variables)
        assert [(n, v.name) for n, v in ours.variables.items()] == [(n, n) for n in theirs.variables]
        for name, found in ours.variables.items():
            want = theirs[name]
            assert found.ncattrs() == want.ncattrs()
            for attr in want.ncattrs():
                mine, other = found.getncattr(attr), want.getncattr(attr)
                assert type(mine) is type(other), attr
                if isinstance(other, np.ndarray | np.generic):
                    assert mine.dtype == other.dtype, attr
                np.testing.assert_array_equal(mine, other)


def test_who_changes_a_value_changes_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w") as new:
        var = new.createVariable("v", "f4")
        var.setncattr("levels", np.arange(3))
        var.setncattr("names", ["a", "b"])
    with ncforge.Dataset(path) as ds:
        ds["v"].getncattr("levels")[0] = 9
        ds["v"].getncattr("names").append("c")
        assert ds["v"].getncattr("levels").tolist() == [0, 1, 2]
        assert ds["v"].getncattr("names") == ["a", "b"]
        with pytest.raises(AttributeError, match="none"):
            ds["v"].getncattr("none")
