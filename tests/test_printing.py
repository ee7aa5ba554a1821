"""``print`` shows what netCDF4-python's shows, and errors about values name the variable and the value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import FORMATS, created


def make(path: Path, fmt: Any) -> None:
    with created(path, format=fmt, x=3, t=None) as nc:
        nc.title = "a title"
        nc.numbers = np.arange(3, dtype="i4")
        nc.version = np.float32(6.28)
        nc.createVariable("f", "f4", ("t", "x")).units = "m"
        nc.createVariable("b", "i1", ())
        nc.createVariable("ch", "S1", ("x",))
        nc.createVariable("unfilled", "f8", ("x",), fill_value=False)
        nc.createVariable("filled", "i2", ("x",), fill_value=7)[:] = [1, 2, 3]
        if fmt != "NETCDF4":
            return
        group = nc.createGroup("g")
        group.createDimension("y", 2)
        group.note = "in a group"
        group.createVariable("w", "i8", ("t", "y"))
        nc.createVariable("s", str, ("x",))
        pair = nc.createCompoundType(np.dtype([("a", "f4"), ("text", "S3")]), "pair")
        nc.createVariable("c", pair, ("x",))
        nc.createVariable("e", nc.createEnumType("u1", "sky", {"clear": 0, "cloudy": 1}), ("x",))
        nc.createVariable("rows", nc.createVLType("i4", "row"), ("x",))


@pytest.mark.parametrize("fmt", FORMATS)
def test_print_as_netcdf4_does(tmp_path: Path, fmt: str) -> None:
    path = tmp_path / "p.nc"
    make(path, fmt)

    def shown(ds: Any) -> list[str]:
        things = [ds, *ds.variables.values(), *ds.dimensions.values(), *ds.groups.values(), ds.dimensions]
        for group in ds.groups.values():
            things += group.variables.values()
        things += [*ds.cmptypes.values(), *ds.enumtypes.values(), *ds.vltypes.values()]
        return [str(thing) for thing in things] + [repr(thing) for thing in things]

    with netCDF4.Dataset(path) as nc:
        theirs = [text.replace("netCDF4", "ncforge") for text in shown(nc)]
    for mode in ("r", "a"):
        with ncforge.Dataset(path, mode) as ds:
            assert shown(ds) == theirs


def test_print_of_many_files(tmp_path: Path) -> None:
    for i in range(2):
        make(tmp_path / f"{i}.nc", "NETCDF4_CLASSIC")
    with ncforge.MFDataset([tmp_path / "0.nc", tmp_path / "1.nc"]) as ds:
        text = str(ds).splitlines()
        assert text[:2] == ["<class 'ncforge.MFDataset'>", "root group (NETCDF4_CLASSIC data model, file format HDF5):"]
        assert str(ds.dimensions["t"]) == "\"<class 'ncforge.Dimension'>\" (unlimited): name = 't', size = 0"


def test_print_of_what_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "p.nc"
    make(path, "NETCDF4")
    with ncforge.Dataset(path) as ds:
        things = [ds, ds["f"], ds.dimensions["x"], ds["g"]]
    for thing in things:
        assert "closed" in repr(thing)


def test_errors_about_values_say_which(tmp_path: Path) -> None:
    with created(tmp_path / "v.nc", ncforge, x=3) as ds:
        v = ds.createVariable("level", "i1", ("x",))
        with pytest.raises(ValueError, match=r"`level`: 300 at \[1\] does not fit int8 \(-128 to 127\)"):
            v[:] = [1, 300, 400]
        with pytest.raises(ValueError, match=r"`level`: 1000 does not fit int8"):
            v[0] = 1000
        with pytest.raises(ValueError, match=r"`level`: nan at \[2\] does not fit int8"):
            v[:] = [1.0, 2.0, np.nan]
        with pytest.raises(ValueError, match=r"`level`: .*'b'.* at \[1\] cannot be converted to int8"):
            v[:] = ["1", "b", "c"]
        with pytest.raises(ValueError, match=r"`level`: shape \(2,\) cannot be broadcast to the selection's, \(3,\)"):
            v[:] = [1, 2]
        packed = ds.createVariable("packed", "i2", ("x",))
        packed.scale_factor = 0.01
        with pytest.raises(ValueError, match=r"`packed`: 100000.0 at \[2\] does not fit int16 .* after scale_factor"):
            packed[:] = [1, 2, 1000]
        sky = ds.createVariable("sky", ds.createEnumType("i1", "cover", {"clear": 0}), ("x",))
        with pytest.raises(ValueError, match=r"`sky`: 4 at \[2\] is a value that the enum `cover` does not have"):
            sky[:] = [0, 0, 4]
        with pytest.raises(ValueError, match=r"fill value of `z`: -999 does not fit int8"):
            ds.createVariable("z", "i1", ("x",), fill_value=-999)
        assert "z" not in ds.variables
        with pytest.raises(ValueError, match=r"attribute `table`: an attribute has one dimension"):
            ds.table = [[1], [2]]
        v[:] = [1, 2, 3]
    with netCDF4.Dataset(tmp_path / "v.nc") as nc:
        assert nc["level"][:].tolist() == [1, 2, 3]
