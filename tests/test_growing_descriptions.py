"""The cost of a definition, an attribute, a look at an object or a sync does not depend on how many others there are. Values are judged by
netCDF4 and h5py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import created

Work = Callable[[Path, int], object]


def groups_in_turn(path: Path, count: int) -> None:
    with ncforge.Dataset(path, "w") as ds:
        for i in range(count):
            group = ds.createGroup(f"g{i}")
            group.createDimension("x", 3)
            group.createVariable("v", "f4", ("x",))[:] = i


def dimensions_in_turn(path: Path, count: int) -> None:
    with ncforge.Dataset(path, "w") as ds:
        for i in range(count):
            ds.createDimension(f"x{i}", 3)
            ds.createVariable(f"v{i}", "f4", (f"x{i}",))[:] = i


def attributes_in_turn(path: Path, count: int) -> None:
    kinds: list[Any] = [1, "text", 1.5, "Ångström", np.arange(3, dtype="i2"), ["one", "two"]]
    with created(path, ncforge, x=3) as ds:
        v = ds.createVariable("v", "f4", ("x",))
        for i in range(count):
            v[0] = i
            ds.setncattr(f"a{i}", kinds[i % 6])
            v.setncattr(f"b{i}", kinds[-1 - i % 6])
            assert ds.getncattr(f"a{i // 2}") is not None


def renamed_in_turn(path: Path, count: int) -> None:
    with created(path, ncforge, x=3) as ds:
        for i in range(count):
            ds.createVariable(f"v{i}", "f4", ("x",))
        for i in range(count):
            ds.variables[f"v{i}"][:] = i
            ds.renameVariable(f"v{i}", f"w{i}")


def looked_at(path: Path, count: int) -> None:
    with ncforge.Dataset(path, "w") as ds:
        for i in range(count):
            ds.createDimension(f"x{i}", 2)
            ds.createGroup(f"g{i}")
        for i in range(count):
            assert len(ds.dimensions[f"x{i}"]) == 2
            assert ds.groups[f"g{i}"].parent == ds


def walked(path: Path, count: int) -> None:
    with ncforge.Dataset(path, "w") as ds:
        for i in range(count):
            ds.createGroup(f"g{i}").createDimension("x", 2)
    with ncforge.Dataset(path) as ds:
        for group in ds.groups.values():
            assert list(group.dimensions) == ["x"] and not group.groups and group.parent == ds


def test_what_was_defined_in_turn_is_there(tmp_path: Path) -> None:
    groups_in_turn(tmp_path / "g.nc", 30)
    with netCDF4.Dataset(tmp_path / "g.nc") as nc:
        assert [int(g["v"][2]) for g in nc.groups.values()] == list(range(30))
    dimensions_in_turn(tmp_path / "d.nc", 30)
    with netCDF4.Dataset(tmp_path / "d.nc") as nc:
        assert [int(v[2]) for v in nc.variables.values()] == list(range(30))
        assert list(nc.dimensions) == [f"x{i}" for i in range(30)]
    attributes_in_turn(tmp_path / "a.nc", 60)
    with netCDF4.Dataset(tmp_path / "a.nc") as nc:
        assert nc.ncattrs() == [f"a{i}" for i in range(60)]
        assert nc["v"].ncattrs() == [f"b{i}" for i in range(60)]
        assert (nc.a57, nc.a59) == ("Ångström", ["one", "two"])
    renamed_in_turn(tmp_path / "r.nc", 30)
    with netCDF4.Dataset(tmp_path / "r.nc") as nc:
        assert [(name, int(v[0])) for name, v in nc.variables.items()] == [(f"w{i}", i) for i in range(30)]


@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_refused_names_removed_attributes_and_new_ones_in_turn(tmp_path: Path, fmt: str) -> None:
    path = tmp_path / "t.nc"
    with created(path, ncforge, format=fmt, x=3) as ds:
        v = ds.createVariable("v", "i4", ("x",))
        for i in range(40):
            v[:] = i
            ds.setncattr(f"a{i}", i)
            with pytest.raises(ncforge.errors.InvalidError):
                ds.createVariable("v", "i4", ("x",))
            if i % 3 == 0:
                ds.delncattr(f"a{i}")
            if i % 3 == 1:
                ds.renameAttribute(f"a{i}", f"b{i}")
    want = [f"b{i}" if i % 3 == 1 else f"a{i}" for i in range(40) if i % 3]
    with netCDF4.Dataset(path) as nc:
        assert nc.ncattrs() == want
        assert [int(nc.getncattr(name)) for name in want] == [int(name[1:]) for name in want]
        assert nc["v"][:].tolist() == [39] * 3
    with ncforge.Dataset(path, "a") as ds:
        ds["v"][0] = 7
        ds.b1 = 5
        ds["v"].units = "K"
    with netCDF4.Dataset(path) as nc:
        assert (nc.b1, nc["v"].units, nc["v"][:].tolist()) == (5, "K", [7, 39, 39])


def test_each_sync_of_one_variable_is_read_by_others(tmp_path: Path) -> None:
    path, seen = tmp_path / "t.nc", tmp_path / "seen.nc"
    with created(path, ncforge, t=None, x=4) as ds:
        t = ds.createVariable("t", "f8", ("t",), chunksizes=(8,))
        every = [ds.createVariable(f"v{i}", "f4", ("t", "x"), chunksizes=(3, 4), zlib=i % 2 == 0) for i in range(6)]
        bare = ds.createVariable("bare", "i2", ("t",), fill_value=False)
        words = ds.createVariable("words", str, ("t",))
        for i in range(60):
            one = every[i % 5]
            one[i] = i
            t[i] = i * 10
            if i % 7 == 0:
                bare[i], words[i] = i, f"word {i}"
            ds.sync()
            # The file itself is locked while it is written.
            shutil.copy(path, seen)
            with netCDF4.Dataset(seen) as nc:
                assert len(nc.dimensions["t"]) == i + 1 and nc["t"][:].tolist() == [n * 10 for n in range(i + 1)]
                assert nc[one.name][i].tolist() == [i] * 4
                assert nc["v5"].shape == (i + 1, 4) and np.ma.getmaskarray(nc["v5"][:]).all()
                assert nc["words"][i // 7 * 7] == f"word {i // 7 * 7}" and nc["bare"].shape == (i + 1,)
            with h5py.File(seen) as h:
                assert h[one.name][i].tolist() == [i] * 4 and len(h["t"]) == i + 1
    with h5py.File(path) as h:
        # Once it is closed, all of them have the length of their dimension.
        assert {h[name].shape[0] for name in ("t", "v0", "v3", "v5", "bare", "words")} == {60}
