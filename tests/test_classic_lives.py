"""Sessions of ncforge and netCDF4 in turn on one classic file, or of ncforge on a packed one; netCDF4 judges each."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from classic_lives import Chooser, Model, after_kill, difference, in_process, run
from peers import CLASSIC, as_plain, open_netcdf4

SESSIONS = 12


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("suffix", [".nc", ".ncz"])
@pytest.mark.parametrize("file_format", CLASSIC)
def test_lives(tmp_path: Path, file_format: Any, suffix: str, seed: int) -> None:
    chooser = Chooser(seed)
    path = tmp_path / f"life{suffix}"
    ours = functools.partial(ncforge.Dataset, format=file_format)
    theirs = functools.partial(netCDF4.Dataset, format=file_format)
    model = Model(file_format)
    for number in range(SESSIONS):
        by_ours = suffix == ".ncz" or chooser.rng.random() < 0.6
        ops, states = chooser.session(model, int(chooser.rng.integers(1, 10)))
        kill = by_ours and number > 0 and bool(chooser.rng.random() < 0.15)
        mode = "a" if number else "w"
        session = functools.partial(run, ours if by_ours else theirs, path, mode, ops, kill)
        where = f"session {number}: {ops}"
        assert in_process(session) == (-9 if kill else 0), where
        with open_netcdf4(path) as ds:
            found, why = after_kill(ds, states, ops) if kill else (states[-1], difference(ds, states[-1]))
        assert found is not None and not why, f"{where}: {why}"
        model = found

    def we_read_the_same() -> None:
        with ncforge.Dataset(path) as ds:
            assert difference(ds, model) is None

    assert in_process(we_read_the_same) == 0


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
