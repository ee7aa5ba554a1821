"""ncforge's files in other netCDF tools: netCDF4-python, h5py, h5netcdf, ncdump, NCO, HDF5's tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import pytest

import ncforge
from datasets import created
from peers import KINDS, as_plain, assert_equal, assert_same, open_netcdf4

CLASSIC = ["i1", "S1", "i2", "i4", "f4", "f8"]
EXTENDED = [*CLASSIC, "u1", "u2", "u4", "i8", "u8"]
FORMATS = {
    "NETCDF3_CLASSIC": CLASSIC,
    "NETCDF3_64BIT_OFFSET": CLASSIC,
    "NETCDF3_64BIT_DATA": EXTENDED,
    "NETCDF4_CLASSIC": CLASSIC,
    "NETCDF4": EXTENDED,
}


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values that differ from place to place and reach the ends of the type."""
    n = int(np.prod(shape))
    if dtype == "S1":
        return np.array([b"abcxyz "[i % 7 : i % 7 + 1] for i in range(n)], "S1").reshape(shape)
    out = (np.arange(n) * 7 % 120).astype(dtype)
    if n > 3 and np.dtype(dtype).kind in "iu":
        out[1], out[2] = np.iinfo(dtype).max, np.iinfo(dtype).min
    elif n > 3:
        out[1], out[2] = np.nan, np.inf
    return out.reshape(shape)


def write(path: Path, file_format: str) -> dict[str, np.ndarray]:
    """A file with every atomic type, fixed and with records, scalars, attributes; what was written."""
    written: dict[str, np.ndarray] = {}
    with created(path, ncforge, format=file_format, time=None, x=5) as ds:
        ds.title = "every type"
        ds.empty = ""
        for dtype in FORMATS[file_format]:
            ds.setncattr(f"attr_{dtype}", values(dtype, (3,)) if dtype != "S1" else "text")
            for name, dims, shape in [("fixed", ("x",), (5,)), ("record", ("time", "x"), (3, 5)), ("scalar", (), ())]:
                var = ds.createVariable(f"{name}_{dtype}", dtype, dims)
                var.units = "1"
                var[...] = written[f"{name}_{dtype}"] = values(dtype, shape)
        coordinate = ds.createVariable("x", "f8", ("x",), fill_value=-1.0)
        coordinate[:] = written["x"] = np.arange(5) / 4
    return written


@pytest.mark.parametrize(("file_format", "suffix"), KINDS)
def test_every_type(tmp_path: Path, file_format: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    written = write(path, file_format)
    assert_same(path)
    with open_netcdf4(path) as nc:
        assert nc.data_model == file_format
        assert list(nc.variables) == list(written)
        for name, expected in written.items():
            assert_equal(nc[name][...], expected, name)
        assert nc.title == "every type"
        assert nc.empty == ""
        assert nc["x"]._FillValue == -1.0


def test_every_type_by_hdf5_readers(tmp_path: Path, tool: Callable[..., str]) -> None:
    path = tmp_path / "a.nc"
    written = write(path, "NETCDF4")
    with h5py.File(path) as f:
        for name, expected in written.items():
            assert_equal(f[name][...], expected, name)
        assert f["record_f4"].maxshape == (None, 5)
        assert [s[0].name for s in (d for d in f["record_f4"].dims)] == ["/time", "/x"]
    with h5netcdf.File(path, "r") as h5nc:
        assert h5nc.dimensions["time"].size == 3
        assert h5nc["record_i2"].dimensions == ("time", "x")
        assert_equal(h5nc["record_i2"][...], written["record_i2"], "record_i2")
    assert "record_u8" in tool("h5ls", "-r", path)
    assert "DATASPACE" in tool("h5dump", "-H", path)


@pytest.mark.parametrize(("file_format", "suffix"), KINDS)
def test_text_tools(tmp_path: Path, file_format: str, suffix: str, tool: Callable[..., str]) -> None:
    path = tmp_path / f"a{suffix}"
    write(path, file_format)
    with as_plain(path) as plain:
        text, kind = tool("ncdump", plain), tool("ncdump", "-k", plain).strip()
    assert 'title = "every type"' in text
    assert "fixed_i4 = " in text
    kinds = {
        "NETCDF3_CLASSIC": "classic",
        "NETCDF3_64BIT_OFFSET": "64-bit offset",
        "NETCDF3_64BIT_DATA": "cdf5",
        "NETCDF4_CLASSIC": "netCDF-4 classic model",
        "NETCDF4": "netCDF-4",
    }
    assert kind == kinds[file_format]


@pytest.mark.parametrize(("file_format", "suffix"), KINDS)
def test_nco(tmp_path: Path, file_format: str, suffix: str, tool: Callable[..., str]) -> None:
    path, out = tmp_path / f"a{suffix}", tmp_path / "b.nc"
    written = write(path, file_format)
    with as_plain(path) as plain:
        tool("ncks", "-O", "-d", "time,1,2", plain, out)
    with open_netcdf4(out) as nc:
        for name in ["record_f4", "record_i2", "record_S1"]:
            assert_equal(nc[name][...], written[name][1:], name)
    assert_same(out)
    with as_plain(path, "a") as plain:
        tool("ncatted", "-O", "-a", "units,fixed_f4,o,c,metres", plain)
    with ncforge.Dataset(path) as ds:
        assert ds["fixed_f4"].units == "metres"
    assert_same(path)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"zlib": True},
        {"zlib": True, "complevel": 9, "shuffle": False},
        {"zlib": True, "fletcher32": True},
        {"fletcher32": True},
        {"compression": "zstd", "complevel": 3},
        {"chunksizes": (4, 3, 7)},
        {"chunksizes": (4, 3, 7), "zlib": True, "endian": "big"},
        {"contiguous": True, "endian": "big"},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["i1", "i2", "f4", "f8"])
def test_storage(tmp_path: Path, how: dict[str, Any], dtype: str) -> None:
    path = tmp_path / "a.nc"
    expected = values(dtype, (10, 11, 12))
    with created(path, ncforge, **dict(zip("zyx", expected.shape, strict=True))) as ds:
        ds.createVariable("v", dtype, ("z", "y", "x"), **how)[...] = expected
    with open_netcdf4(path) as nc, ncforge.Dataset(path) as ds:
        theirs, ours = nc["v"], ds["v"]
        assert isinstance(ours, ncforge.Variable)
        if how.get("compression") == "zstd" and not theirs.filters()["zstd"]:
            pytest.skip("this netCDF-C was built without zstd")
        assert_equal(theirs[...], expected, "v")
        filters = theirs.filters()
        assert filters["zlib"] == bool(how.get("zlib"))
        assert filters["fletcher32"] == bool(how.get("fletcher32"))
        assert filters["shuffle"] == (
            bool(how.get("zlib") or how.get("compression")) and how.get("shuffle", "zlib" in how) and dtype != "i1"
        )
        assert theirs.chunking() == ours.chunking()
        if "chunksizes" in how:
            assert theirs.chunking() == list(how["chunksizes"])
        if how.get("endian") == "big" and dtype != "i1":
            assert theirs.endian() == ours.endian() == "big"


def test_strings_groups_and_user_types(tmp_path: Path, tool: Callable[..., str]) -> None:
    path = tmp_path / "a.nc"
    point = np.dtype([("lat", "f4"), ("n", "i4"), ("pair", "i2", (2,))], align=True)
    points = np.array([(1.5, 2, (3, 4)), (-1, -2, (-3, -4))], point)
    rows = np.array([np.array([1, 2, 3], "i4"), np.array([], "i4")], object)
    with created(path, ncforge, x=2) as ds:
        ds.setncattr("names", ["one", "", "dré"])
        ds.createVariable("s", str, ("x",))[:] = np.array(["", "längere Zeichen"], object)
        g = ds.createGroup("deep/down")
        g.note = "below"
        g.createDimension("y", None)
        g.createVariable("v", "i8", ("y", "x"))[0:3] = np.arange(6).reshape(3, 2)
        sky = ds.createEnumType("u1", "sky", {"clear": 0, "cloudy": 7, "none": 255})
        ds.createVariable("e", sky, ("x",), fill_value=255)[:] = [0, 7]
        where = ds.createCompoundType(point, "where")
        ds.createVariable("c", where, ("x",))[:] = points
        ragged = ds.createVLType("i4", "ragged")
        ds.createVariable("r", ragged, ("x",))[:] = rows
    assert_same(path)
    with open_netcdf4(path) as nc:
        assert nc.names == ["one", "", "dré"]
        assert list(nc["s"][:]) == ["", "längere Zeichen"]
        assert nc["deep/down/v"].shape == (3, 2)
        assert nc["deep/down"].note == "below"
        assert nc.enumtypes["sky"].enum_dict == {"clear": 0, "cloudy": 7, "none": 255}
        assert list(nc["e"][:]) == [0, 7]
        assert_equal(nc["c"][:], points, "c")
        assert_equal(nc["r"][:], rows, "r")
    text = tool("ncdump", path)
    assert "e = clear, cloudy ;" in text
    assert "{1.5, 2, {3, 4}}" in text


def test_unwritten_values_read_as_fill(tmp_path: Path) -> None:
    for file_format, suffix in KINDS:
        types = FORMATS[file_format]
        path = tmp_path / f"{file_format}{suffix}"
        with created(path, ncforge, format=file_format, t=None, x=4) as ds:
            for dtype in types:
                ds.createVariable(f"d_{dtype}", dtype, ("t", "x"))
            ds.createVariable("given", "f4", ("t", "x"), fill_value=-9)
            ds.createVariable("fixed", "i2", ("x",))
            driver = ds.createVariable("driver", "i4", ("t",))
            driver[4] = 1
        assert_same(path)
        with open_netcdf4(path) as nc:
            assert nc["given"].shape == (5, 4)
            assert (nc["given"][:] == -9).all()


def test_names_and_dimensions_without_coordinates(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w") as ds:
        for i, name in enumerate(["x", "y", "Länge", "with space", "a.b-c+d@e"]):
            ds.createDimension(name, i + 1)
        # A variable that is called like a dimension and is not its coordinate.
        ds.createVariable("x", "f4", ("y", "x"))[...] = [[1], [2]]
        ds.createVariable("Länge", "i2", ("Länge",))[:] = [1, 2, 3]
        ds.createVariable("both", "i2", ("with space", "with space"))[...] = np.arange(16).reshape(4, 4)
    assert_same(path)


def test_definitions_after_data(tmp_path: Path) -> None:
    for file_format, suffix in KINDS:
        path = tmp_path / f"{file_format}{suffix}"
        with created(path, ncforge, format=file_format, x=3) as ds:
            ds.createVariable("a", "i4", ("x",))[:] = [1, 2, 3]
            ds.createDimension("t", None)
            ds.createVariable("b", "f8", ("t", "x"))[0:2] = [[1, 2, 3], [4, 5, 6]]
            ds.late = "x" * 3000
            ds["a"].setncattr("note", "late")
            ds["a"][1] = 9
        assert_same(path)
        with open_netcdf4(path) as nc:
            assert list(nc["a"][:]) == [1, 9, 3]
            assert nc["b"][1, 2] == 6
