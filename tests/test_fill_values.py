"""Fill values: set while there is no value, of every type, and what they make of elements that nobody wrote."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from conftest import Run
from datasets import FORMATS, by_both, created, of_both


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("way", ["setncatts", "attribute", "setncattr"])
def test_the_recipe_that_copies_attributes(tmp_path: Path, fmt: str, way: str) -> None:
    old_path, path = tmp_path / "old.nc", tmp_path / "new.nc"
    with created(old_path, x=4) as nc:
        nc.createVariable("v", "f4", ("x",), fill_value=-5)[:] = 1
        nc["v"].units = "m"
        nc.createVariable("w", "i2", ("x",), fill_value=9).units = "s"
    with netCDF4.Dataset(old_path) as old, created(path, ncforge, format=fmt, t=None, x=4) as new:
        # A value of another variable comes between: the file exists then.
        new.createVariable("first", "i4", ("t",))[0:3] = [1, 2, 3]
        where = new.createGroup("g") if fmt == "NETCDF4" else new
        for name in ("v", "w"):
            for dims in (("x",), ("t", "x")):
                v = where.createVariable(f"{name}{len(dims)}", old[name].dtype, dims)
                if len(dims) == 2:
                    new.sync()
                attributes = old[name].__dict__
                if way == "setncatts":
                    v.setncatts(attributes)
                elif way == "setncattr":
                    for key, value in attributes.items():
                        v.setncattr(key, value)
                else:
                    v._FillValue = attributes["_FillValue"]
                    v.units = attributes["units"]
        new["g/v1" if fmt == "NETCDF4" else "v1"][1] = 3
        # More header than there is room for: the data move.
        new.history = "long " * 5000
    with netCDF4.Dataset(path) as nc:
        at = nc["g"] if fmt == "NETCDF4" else nc
        nc.set_auto_mask(False)
        assert at["v1"][:].tolist() == [-5, 3, -5, -5] and at["v1"].units == "m"
        assert at["w1"][:].tolist() == [9] * 4
        assert at["v2"][:].tolist() == [[-5] * 4] * 3 and at["w2"][:].tolist() == [[9] * 4] * 3
        assert at["v1"]._FillValue == -5 and nc["first"][:].tolist() == [1, 2, 3]


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_fill_value_of_values(tmp_path: Path, fmt: str) -> None:
    path = tmp_path / "f.nc"
    with created(path, ncforge, format=fmt, x=3) as ds:
        v = ds.createVariable("v", "i2", ("x",))
        v[0] = 1
        for change in (
            lambda: v.setncatts({"units": "m", "_FillValue": np.int16(3)}),
            lambda: setattr(v, "_FillValue", 3),
        ):
            with pytest.raises(AttributeError, match="has values"):
                change()
        w = ds.createVariable("w", "i2", ("x",))
        with pytest.raises(ValueError, match=r"fill value of `w`: 70000 does not fit int16"):
            w._FillValue = 70000
        w._FillValue = 7.0
        assert w._FillValue == 7 and w._FillValue.dtype == "i2"
        # Once more, and another.
        w._FillValue = 8
        w[1] = 5
        w._FillValue = 8
    with netCDF4.Dataset(path) as nc:
        assert nc["v"][:].tolist() == [1, None, None] and nc["v"].ncattrs() == ["units"]
        assert nc["w"]._FillValue == 8 and nc["w"][:].tolist() == [None, 5, None]
    with ncforge.Dataset(path, "a") as ds, pytest.raises(AttributeError):
        ds["w"]._FillValue = 9


@pytest.mark.parametrize("fill", [b"", "", b"X", "text", b"\0"])
def test_fill_values_of_characters(tmp_path: Path, fill: Any) -> None:
    for ds in by_both(tmp_path, x=2):
        ds.createVariable("v", "S1", ("x",), fill_value=fill)
        with pytest.raises((ValueError, RuntimeError)):
            ds.createVariable("w", "i4", ("x",), fill_value=np.array([1, 2], "i4"))
    theirs, ours = ((ds["v"]._FillValue, ds["v"][:].tolist()) for ds in of_both(tmp_path))
    assert ours == theirs


def test_fill_values_of_all_types(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    pair = np.dtype([("a", "i4"), ("b", "f8")])
    with created(path, ncforge, x=2) as ds:
        kinds = {
            "s": str,
            "c": "S1",
            "e": ds.createEnumType("u1", "e_t", {"a": 1, "b": 2}),
            "p": ds.createCompoundType(pair, "p_t"),
        }
        fills = {"s": "none", "c": b"?", "e": np.uint8(2), "p": np.array((3, 4.5), pair)}
        ds.createVariable("other", "i4", ("x",))[:] = 1
        for name, kind in kinds.items():
            ds.createVariable(name, kind, ("x",)).setncatts({"_FillValue": fills[name]})
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        assert nc["s"][:].tolist() == ["none"] * 2 and nc["c"][:].tolist() == [b"?"] * 2
        assert nc["e"][:].tolist() == [2, 2] and nc["p"][:].tolist() == [(3, 4.5)] * 2


@pytest.mark.parametrize("base", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_enums_that_nobody_wrote(tmp_path: Path, base: str) -> None:
    seen = []
    for ds in by_both(tmp_path, x=4, t=None):
        kind = ds.createEnumType(base, "cloud", {"Clear": 0, "Cumulus": 1})
        ds.createVariable("v", kind, ("x",))[0] = 1
        ds.createVariable("w", kind, ("t",))[2:3] = 1
        ds.createVariable("never", kind, ("x",))
    for path in (tmp_path / "netCDF4.nc", tmp_path / "ncforge.nc"):
        for reader in (netCDF4, ncforge):
            with reader.Dataset(path) as ds, warnings.catch_warnings():
                ds.set_auto_mask(False)
                seen.append([ds[name][:].tolist() for name in ("v", "w", "never")])
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert seen[0][0][1] == netCDF4.default_fillvals[base]


@pytest.mark.parametrize("by", [netCDF4, ncforge])
def test_unwritten_elements_stay_when_the_attribute_goes(tmp_path: Path, by: Any) -> None:
    """netCDF-4 files hold the fill value beside the attribute ``_FillValue``."""
    path = tmp_path / "a.nc"
    with created(path, by, x=10) as ds:
        ways: dict[str, dict[str, Any]] = {"none": {}, "part": {"chunksizes": (2,)}, "zlib": {"zlib": True}}
        for name, how in ways.items():
            v = ds.createVariable(name, "i4", ("x",), fill_value=100, **how)
            if name == "part":
                v[:2] = [1, 2]
    with ncforge.Dataset(path, "a") as ds:
        for v in ds.variables.values():
            v.delncattr("_FillValue")
        ds["zlib"][5] = 7
    for reader in (netCDF4, ncforge):
        with reader.Dataset(path) as ds:
            ds.set_auto_mask(False)
            found = {name: v[:].tolist() for name, v in ds.variables.items()}
        wanted = [100] * 10
        assert found["none"] == wanted
        assert found["part"] == [1, 2, *wanted[2:]]
        assert found["zlib"] == [*wanted[:5], 7, *wanted[6:]]


@pytest.mark.parametrize("off", ["variable", "dataset"])
def test_classic_variables_that_are_not_filled_take_no_space(tmp_path: Path, off: str) -> None:
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as ds:
        if off == "dataset":
            ds.set_fill_off()
        ds.createDimension("a", 1 << 30)
        v = ds.createVariable("v", "f4", ("a",), fill_value=False if off == "variable" else None)
        v[5], v[-1] = 3, 4
    assert path.stat().st_blocks * 512 < 1 << 20 < 4 << 30 <= path.stat().st_size
    with netCDF4.Dataset(path) as ds:
        assert (ds["v"][5], ds["v"][-1]) == (3, 4)


def test_absent_chunks_that_are_written_are_planned(tmp_path: Path, run: Run) -> None:
    """Chunks that read as a value which is not ``_FillValue`` are in the copy, in its plan, and in a note."""
    path, out = tmp_path / "in.h5", tmp_path / "out.nc"
    with h5py.File(path, "w") as f:
        f.create_dataset("v", (100, 100, 10), chunks=(10, 10, 10), dtype="f8", fillvalue=7)[0, 0, 0] = 1
    plan = json.loads(run("copy", path, out, "--dry-run", "--json").stdout)
    assert plan["totals"]["written"] == 100 * 100 * 10 * 8
    done = run("copy", path, out, "--skip-fill")
    for text in [done.stderr, *plan["notes"]]:
        assert "`v`: 99 chunks, which the source does not have, are written" in text
    assert out.stat().st_size > plan["totals"]["written"]


def test_the_fill_value_of_a_file_without_an_attribute(tmp_path: Path) -> None:
    """HDF5 has fill values of its own. They are read where nothing was written, so the question for them has the same answer."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        for name, kind, fill in (("i", "i4", 42), ("f", "f4", np.nan), ("big", ">i2", 7), ("plain", "f8", None)):
            f.create_dataset(name, (8,), kind, chunks=(4,), fillvalue=fill)[:4] = 1
    with netCDF4.Dataset(path) as theirs, ncforge.Dataset(path) as ours:
        for name in ("i", "f", "big"):
            theirs[name].set_auto_mask(False)
            found = ours[name].get_fill_value()
            np.testing.assert_equal(found, theirs[name][-1])
            # netCDF4 gives that of big-endian numbers with its bytes turned.
            if name != "big":
                np.testing.assert_equal(found, theirs[name].get_fill_value())


@pytest.mark.parametrize("fill", [None, "miss"])
@pytest.mark.parametrize("first", [netCDF4, ncforge], ids=lambda m: m.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_strings_that_nobody_wrote_are_no_null_pointers(tmp_path: Path, fill: Any, first: Any, seed: int) -> None:
    """Each has an object of its own in the heap: HDF5 frees that of an element which it overwrites. The last writer is ncforge: HDF5 up to
    2.0 cannot read a variable of which netCDF-C stored some chunks."""
    path, rng = tmp_path / "a.nc", np.random.default_rng(seed)
    kinds: dict[str, Any] = {
        "plain": (("x",), {}),
        "chunked": (("x",), {"chunksizes": (4,)}),
        "deflated": (("x",), {"chunksizes": (7,), "zlib": True}),
        "records": (("t",), {}),
        "table": (("t", "x"), {"chunksizes": (3, 5)}),
        "single": ((), {}),
        "untouched": (("x",), {}),
    }
    with created(path, first, t=None, x=11) as ds:
        for name, (dims, options) in kinds.items():
            ds.createVariable(name, str, dims, fill_value=fill, **options)
    # Elements that were written, by name and position.
    written: dict[tuple[str, tuple[int, ...]], str] = {}
    length = 0

    def check(ds: Any, *names: str) -> None:
        ds.set_auto_mask(False)
        for name in names:
            expected = np.full([length if d == "t" else 11 for d in kinds[name][0]], fill or "", dtype=object)
            for (of, at), value in written.items():
                if of == name:
                    expected[at] = value
            assert np.array_equal(np.asarray(ds[name][...], dtype=object), expected), (type(ds).__module__, name)

    for turn in range(7):
        with (ncforge, netCDF4)[turn % 2].Dataset(path, "a") as ds:
            for name in list(kinds)[:-1]:
                dims = kinds[name][0]
                at = tuple(int(rng.integers(9 if d == "t" else 11)) for d in dims)
                length = max([length, *(i + 1 for i, d in zip(at, dims, strict=True) if d == "t")])
                written[name, at] = f"{turn} {name}"
                ds[name][at or ...] = written[name, at]
                check(ds, name)
                if rng.random() < 0.3:
                    ds.sync()
                    check(ds, name)
    for reader in (netCDF4, ncforge):
        with reader.Dataset(path) as ds:
            check(ds, *kinds)
    assert not re.search(r"\bNULL\b", execute("h5dump", path).stdout)
    assert "NIL" not in execute("ncdump", path).stdout
