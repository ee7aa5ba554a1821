"""Files that ncforge made and netCDF-C extends, and the reverse, in turns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from peers import KINDS, as_plain, assert_equal, assert_same, open_netcdf4


def by_ours(path: Path, mode: str, file_format: str = "NETCDF4") -> Any:
    return ncforge.Dataset(path, mode, format=file_format)


def by_theirs(path: Path, mode: str, file_format: str = "NETCDF4") -> Any:
    return open_netcdf4(path, mode, file_format)


Opener = Callable[..., Any]


def steps(start: int, stop: int) -> np.ndarray:
    return np.arange(start * 12, stop * 12, dtype="f4").reshape(-1, 3, 4)


def create(opener: Opener, path: Path, file_format: str, **how: Any) -> None:
    with opener(path, "w", file_format) as ds:
        ds.title = "made"
        ds.createDimension("t", None)
        ds.createDimension("y", 3)
        ds.createDimension("x", 4)
        t = ds.createVariable("t", "f8", ("t",))
        v = ds.createVariable("v", "f4", ("t", "y", "x"), fill_value=-1.0, **how)
        ds.createVariable("fixed", "i2", ("y",))[:] = [1, 2, 3]
        t[0:2] = [0, 1]
        v[0:2] = steps(0, 2)


def extend(opener: Opener, path: Path, start: int, stop: int) -> None:
    with opener(path, "a") as ds:
        ds["t"][start:stop] = np.arange(start, stop)
        ds["v"][start:stop] = steps(start, stop)
        ds["fixed"][1] = start
        ds.title = f"made, extended to {stop}"
        ds["v"].setncattr(f"step_{start}", "attribute " * start)


def check(path: Path, stop: int) -> None:
    assert_same(path)
    with open_netcdf4(path) as nc:
        assert_equal(nc["v"][...], steps(0, stop), "v")
        assert_equal(nc["t"][...], np.arange(stop, dtype="f8"), "t")
        assert nc.title == f"made, extended to {stop}"


STORAGE: list[dict[str, Any]] = [
    {},
    {"zlib": True, "chunksizes": (2, 2, 3)},
    {"chunksizes": (5, 3, 4), "fletcher32": True},
]


@pytest.mark.parametrize("how", STORAGE, ids=str)
@pytest.mark.parametrize(("file_format", "suffix"), KINDS)
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_extended_in_turns(tmp_path: Path, file_format: str, suffix: str, first: str, how: dict[str, Any]) -> None:
    if how and not file_format.startswith("NETCDF4"):
        pytest.skip("classic files have no chunks")
    path = tmp_path / f"a{suffix}"
    one, other = (by_ours, by_theirs) if first == "ours" else (by_theirs, by_ours)
    create(one, path, file_format, **how)
    extend(other, path, 2, 5)
    check(path, 5)
    extend(one, path, 5, 6)
    check(path, 6)
    extend(other, path, 6, 40)
    check(path, 40)


@pytest.mark.parametrize(("file_format", "suffix"), KINDS)
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_new_definitions_in_turns(tmp_path: Path, file_format: str, suffix: str, first: str) -> None:
    path = tmp_path / f"a{suffix}"
    one, other = (by_ours, by_theirs) if first == "ours" else (by_theirs, by_ours)
    create(one, path, file_format)
    for i, opener in enumerate([other, one, other]):
        with opener(path, "a") as ds:
            ds.createDimension(f"d{i}", i + 2)
            v = ds.createVariable(f"new{i}", "i4", ("t", f"d{i}"))
            v.units = "1"
            v[0:2] = np.full((2, i + 2), i)
            ds.createVariable(f"d{i}", "f8", (f"d{i}",))[:] = np.arange(i + 2)
        assert_same(path)
    with open_netcdf4(path) as nc:
        assert list(nc.variables) == ["t", "v", "fixed", "new0", "d0", "new1", "d1", "new2", "d2"]
        assert_equal(nc["v"][...], steps(0, 2), "v")
        assert (nc["new1"][:] == 1).all()


def test_strings_and_groups_in_turns(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with by_ours(path, "w") as ds:
        ds.createDimension("t", None)
        ds.createVariable("s", str, ("t",))[0:2] = np.array(["a", "bb"], object)
        ds.createGroup("g").createVariable("v", "i4", ("t",))[0:2] = [1, 2]
    with by_theirs(path, "a") as nc:
        nc["s"][2:4] = np.array(["ccc", "dddd"], object)
        nc["g/v"][2:4] = [3, 4]
        nc.createGroup("h").createVariable("w", "f4", ("t",))[:] = [1, 2, 3, 4]
    assert_same(path)
    with by_ours(path, "a") as ds:
        ds["s"][4] = "eeeee"
        ds["s"][0] = "changed, and longer than before"
        ds["g/v"][4] = 5
    assert_same(path)
    with open_netcdf4(path) as nc:
        assert list(nc["s"][:]) == ["changed, and longer than before", "bb", "ccc", "dddd", "eeeee"]
        assert list(nc["g/v"][:]) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("file_format", "suffix"), KINDS)
def test_nco_changes_ours_and_we_go_on(tmp_path: Path, file_format: str, suffix: str, tool: Callable[..., str]) -> None:
    path = tmp_path / f"a{suffix}"
    create(by_ours, path, file_format)
    with as_plain(path, "a") as plain:
        tool("ncatted", "-O", "-h", "-a", "units,v,c,c,K", plain)
        tool("ncrename", "-O", "-h", "-v", "fixed,renamed", plain)
    with by_ours(path, "a") as ds:
        ds["v"][2] = steps(2, 3)[0]
        ds["renamed"][0] = 7
    assert_same(path)
    with open_netcdf4(path) as nc:
        assert nc["v"].units == "K"
        assert_equal(nc["v"][...], steps(0, 3), "v")
        assert nc["renamed"][0] == 7
