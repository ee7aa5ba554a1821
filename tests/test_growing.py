"""Files that grow by appends: their size, and how much an append changes. Judged by netCDF4."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from datasets import created
from peers import open_netcdf4

SMALL = 32 << 10
"""Bytes that a variable may take in addition: a chunk of small records, its index, and the metadata, which may stand twice."""

SHAPES = [((180, 240), 1), ((180, 240), 4), ((10,), 1), ((2000,), 3), ((), 1)]
"""Shapes of records, and how many are appended at a time."""


def values(first: int, count: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(first).normal(280, 10, (count, *shape)).astype("f4")


def check(path: Path, whole: np.ndarray, steps: int, shape: tuple[int, ...]) -> None:
    """The values are there, the file is not much larger than they are, and chunks are not longer than what was written first."""
    with open_netcdf4(path) as nc:
        assert np.array_equal(nc["v"][:], whole)
        chunks, variables = nc["v"].chunking(), len(nc.variables)
        record = 4 * math.prod(shape)
        assert chunks[0] <= max(steps, (8 << 10) // record)
    assert path.stat().st_size <= 2 * whole.nbytes + SMALL * variables


@pytest.mark.parametrize("zlib", [False, True])
@pytest.mark.parametrize(("shape", "steps"), SHAPES, ids=str)
def test_a_variable_that_is_appended_to(tmp_path: Path, shape: tuple[int, ...], steps: int, zlib: bool) -> None:
    path = tmp_path / "a.nc"
    names = ["t", *(f"d{i}" for i in range(len(shape)))]
    with created(path, ncforge, **dict(zip(names, (None, *shape), strict=True))) as ds:
        ds.createVariable("v", "f4", names, zlib=zlib)
    parts = [values(i, 1, shape) for i in range(2 * steps)]
    for i, part in enumerate(parts):
        with ncforge.Dataset(path, "a") as ds:
            ds["v"][i : i + 1] = part
    check(path, np.concatenate(parts), 1, shape)


@pytest.mark.parametrize("codec", [None, "zlib"])
@pytest.mark.parametrize(("shape", "steps"), SHAPES, ids=str)
def test_a_dataset_that_is_appended_to(tmp_path: Path, shape: tuple[int, ...], steps: int, codec: Any) -> None:
    xr = pytest.importorskip("xarray")
    path = tmp_path / "a.nc"
    names = ["time", *(f"d{i}" for i in range(len(shape)))]
    parts = [values(i, steps, shape) for i in range(6)]
    for i, part in enumerate(parts):
        time = np.datetime64("2001-01-01", "ns") + (i * steps + np.arange(steps)) * np.timedelta64(86_400, "s")
        ds = xr.Dataset(
            {"v": (names, part)}, {"time": time, **{d: np.arange(n) for d, n in zip(names[1:], shape, strict=True)}}
        )
        ncforge.to_netcdf(ds, path, append_dim="time", codec=codec)
    check(path, np.concatenate(parts), steps, shape)


def test_two_dimensions_that_grow(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with created(path, ncforge, t=None, member=None, x=5000) as ds:
        ds.createVariable("v", "f4", ("t", "member", "x"))[0:3, 0:2] = np.ones((3, 2, 5000))
    with open_netcdf4(path) as nc:
        assert nc["v"].chunking()[:2] == [1, 1] and (nc["v"][:] == 1).all()
    assert path.stat().st_size <= 2 * 3 * 2 * 5000 * 4


def test_files_whose_length_is_known(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    whole = xr.Dataset({"v": (("time", "y", "x"), values(0, 400, (60, 80)))}, {"time": np.arange(400)})
    with_expect: dict[str, Any] = {"for_": "series", "expect": {"time": 400}, "append_dim": "time"}
    ncforge.to_netcdf(whole.isel(time=[0]), tmp_path / "expected.nc", **with_expect)
    ncforge.to_netcdf(whole, tmp_path / "now.nc", unlimited_dims=["time"])
    with open_netcdf4(tmp_path / "expected.nc") as nc:
        assert nc["v"].chunking()[0] == 400
    with open_netcdf4(tmp_path / "now.nc") as nc:
        assert nc["v"].chunking()[0] > 16


def words(step: int, count: int) -> np.ndarray:
    return np.array([f"message {step} of {i}" for i in range(count)], object)


@pytest.mark.parametrize("rewritten", [False, True])
def test_strings_and_a_sync_after_each(tmp_path: Path, rewritten: bool) -> None:
    """What strings take is used again when they are overwritten, and a sync costs no collection of the heap."""
    count = 300 if rewritten else 1
    sizes = []
    for library in (ncforge, pytest.importorskip("netCDF4")):
        path = tmp_path / f"{library.__name__}.nc"
        with created(path, library, t=None) as ds:
            v = ds.createVariable("v", str, ("t",))
            for step in range(60 if rewritten else 400):
                first = 0 if rewritten else step
                v[first : first + count] = words(step, count)
                ds.sync()
                assert list(v[first : first + count]) == list(words(step, count))
        with open_netcdf4(path) as nc:
            last = [str(s) for s in nc["v"][:]]
        assert last == ([*words(59, 300)] if rewritten else [words(i, 1)[0] for i in range(400)])
        sizes.append(path.stat().st_size)
    assert sizes[0] <= 2 * sizes[1] + 8 * SMALL, sizes
