"""Classic and zipped files that ncforge changes in place; netCDF4 judges them (random sessions of both: `test_lives`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from peers import CLASSIC, as_plain, open_netcdf4


@pytest.mark.parametrize("how", ["deleted", "shorter"])
@pytest.mark.parametrize("what", ["written", "written and synced", "not written"])
@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("suffix", [".nc", ".ncz"])
@pytest.mark.parametrize("file_format", CLASSIC)
def test_variable_in_place_of_an_attribute(
    tmp_path: Path, file_format: Any, suffix: str, record: bool, what: str, how: str
) -> None:
    path = tmp_path / f"f{suffix}"
    with open_netcdf4(path, "w", file_format) as theirs:
        theirs.createDimension("t", None)
        theirs.createDimension("x", 100)
        theirs.history = "x" * 300
    with ncforge.Dataset(path, "a") as ours:
        if how == "deleted":
            del ours.history
        else:
            ours.history = "short"
        v = ours.createVariable("v", "i2", ("t", "x") if record else ("x",))
        values = np.arange(1, 101, dtype="i2")
        key = 0 if record else slice(None)
        if what != "not written":
            v[key] = values
        if "synced" in what:
            ours.sync()
    with as_plain(path) as plain, open_netcdf4(plain) as theirs:
        if what != "not written":
            np.testing.assert_array_equal(theirs["v"][key], values)
        elif not record:
            np.testing.assert_array_equal(theirs["v"][:], np.full(100, netCDF4.default_fillvals["i2"]))
