"""Random lives of files of every kind, changed by several libraries in turn (see `lives`), and those that were lost before."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import created
from lives import KINDS, live, lives, superblock_end

#: Sessions in all; `make soak` lives far more of them.
SESSIONS = int(os.environ.get("NCFORGE_LIVES", "540"))
LENGTH = 12
#: One test for so many lives, for several processes to share.
AT_ONCE = 9


@pytest.mark.parametrize("part", range(-(-SESSIONS // (LENGTH * AT_ONCE))))
def test_nothing_is_lost(part: int, tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    for kind, seed in list(lives(SESSIONS, 1, LENGTH))[part * AT_ONCE : (part + 1) * AT_ONCE]:
        done += live(kind, seed, LENGTH, tmp_path)
    assert done["ncforge"] > 0


def test_every_kind_lives() -> None:
    assert {kind for kind, _ in lives(SESSIONS, 1, LENGTH)} == set(KINDS)


def assert_ends_where_it_says(path: Path) -> None:
    assert superblock_end(path) == path.stat().st_size


def test_a_history_that_grows_every_day(tmp_path: Path) -> None:
    path = tmp_path / "days.nc"
    with created(path, ncforge, time=None, x=1200) as ds:
        ds.createVariable("v", "f4", ("time", "x"), zlib=True, chunksizes=(30, 1200))
        ds.history = ""
    values = np.random.default_rng(0).normal(size=(40, 1200)).astype("f4")
    for i, row in enumerate(values):
        with ncforge.Dataset(path, "a") as ds:
            ds["v"][i] = row
            ds.history = f"{ds.history}{i} {60 * 'x'}\n"
        assert_ends_where_it_says(path)
    with netCDF4.Dataset(path) as ds:
        assert np.array_equal(ds["v"][:], values)


def test_a_new_file_that_is_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "twice.nc"
    numbers = np.random.default_rng(0)
    for i in range(60):
        size = int(numbers.integers(1, 200))
        with created(path, ncforge, x=None if i % 2 else size) as ds:
            v = ds.createVariable("v", "f8", ("x",), zlib=True)
            v[0:size] = numbers.random(size)
            if i % 3:
                ds.sync()
            v[0:size] = want = np.round(numbers.random(size), 2)
        assert_ends_where_it_says(path)
        with netCDF4.Dataset(path) as ds:
            assert np.array_equal(ds["v"][:], want)


def test_text_in_one_run_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "text.nc"
    with created(path, x=4) as ds:
        ds.createVariable("s", str, ("x",))[:] = np.array(["first"] * 4, object)
    with ncforge.Dataset(path, "a") as ds:
        ds["s"][1] = "changed"
    assert_ends_where_it_says(path)
    with netCDF4.Dataset(path, "a") as ds:
        assert list(ds["s"][:]) == ["first", "changed", "first", "first"]
        ds.createDimension("y", 3000)
        ds.createVariable("w", "f8", ("y",))[:] = 1.0
    for module in (ncforge, netCDF4):
        with module.Dataset(path) as ds:
            assert list(ds["s"][:]) == ["first", "changed", "first", "first"]


def test_what_is_not_filled_from_here_on(tmp_path: Path) -> None:
    path = tmp_path / "fill.nc"
    with created(path, x=9) as ds:
        ds.createVariable("old", "i2", ("x",), zlib=True, fill_value=-7)
    with ncforge.Dataset(path, "a") as ds:
        before = ds.createVariable("before", "i2", ("x",))
        ds.set_fill_off()
        ds.createVariable("after", "i2", ("x",))[:] = random.randint(0, 9)
        ds.title = "changed"
        del before
    with netCDF4.Dataset(path) as ds:
        ds.set_auto_mask(False)
        assert (ds["old"][:] == -7).all()
        assert (ds["before"][:] == netCDF4.default_fillvals["i2"]).all()
