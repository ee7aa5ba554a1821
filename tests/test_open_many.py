"""Files of a series as one dataset: that of the file that ``concat`` makes of them."""

from __future__ import annotations

import glob
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from numpy.ma.testutils import assert_array_equal

import ncforge
from commands import execute
from datasets import created
from ncforge.errors import ChangedError

FORMATS: list[Any] = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC", "NETCDF4"]


def month(path: Path, first: int, steps: int, format: Any = "NETCDF4") -> Path:
    """Days since the first of its own month, a chunked field that is packed, text, and a field without time."""
    rng = np.random.default_rng(first)
    with created(path, format=format, time=None, y=5, letters=3) as ds:
        ds.title = "a month"
        time = ds.createVariable("time", "i4", ("time",))
        time.units, time.calendar = f"days since 2001-01-{1 + first:02}", "standard"
        time[:] = np.arange(steps)
        packing: Any = {"zlib": True, "chunksizes": (2, 5)} if format.startswith("NETCDF4") else {}
        v = ds.createVariable("v", "i2", ("time", "y"), fill_value=-99, **packing)
        v.scale_factor = 0.5
        v[:] = np.ma.masked_less(rng.integers(0, 50, (steps, 5)) * 0.5, 3)
        ds.createVariable("name", "S1", ("time", "letters"))[:] = np.full((steps, 3), "x", "S1")
        ds.createVariable("y", "f8", ("y",))[:] = np.arange(5.0)
        if format == "NETCDF4":
            inner = ds.createGroup("inner")
            inner.createVariable("w", "f4", ("time",))[:] = first + np.arange(steps)
    return path


@pytest.mark.parametrize("format", FORMATS)
def test_the_dataset_is_that_of_the_joined_file(tmp_path: Path, format: Any) -> None:
    """Times of other units are converted, groups are joined, the order is that of the coordinate, chunks are cut by files."""
    paths = [month(tmp_path / f"m{i}.nc", first, n, format) for i, (first, n) in enumerate([(7, 3), (0, 4), (4, 3)])]
    ncforge.concat(paths, tmp_path / "all.nc")
    with ncforge.open_many(paths) as many, netCDF4.Dataset(tmp_path / "all.nc") as one:
        assert list(many.variables) == list(one.variables)
        assert many.data_model == one.data_model
        assert {name: len(dim) for name, dim in many.dimensions.items()} == {
            k: len(d) for k, d in one.dimensions.items()
        }
        assert many.dimensions["time"].isunlimited()
        assert {name: many.getncattr(name) for name in many.ncattrs()} == {
            name: one.getncattr(name) for name in one.ncattrs()
        }
        for name, expected in one.variables.items():
            found = many[name]
            assert (found.shape, found.dimensions) == (expected.shape, expected.dimensions)
            assert found.ncattrs() == expected.ncattrs()
            for key in np.s_[:], np.s_[...], np.s_[-1], np.s_[2:9:3], np.s_[::-1], np.s_[[0, 2, 4]]:
                assert_array_equal(found[key], expected[key])
                assert np.ma.getmaskarray(found[key]).tolist() == np.ma.getmaskarray(expected[key]).tolist()
        if format == "NETCDF4":
            assert many["inner/w"][:].tolist() == one["inner/w"][:].tolist() == list(range(10))


def test_a_part_of_the_files(tmp_path: Path) -> None:
    paths = [month(tmp_path / f"m{i}.nc", 4 * i, 4) for i in range(3)]
    with ncforge.open_many(
        tmp_path / "m*.nc", select={"time": ("2001-01-03", "2001-01-09"), "y": slice(0, 5, 2)}
    ) as ds:
        assert ds["time"][:].tolist() == [2, 3, 4, 5, 6, 7, 8]
        assert ds["y"][:].tolist() == [0, 2, 4]
    with ncforge.open_many(paths[1:], unsorted=True) as ds:
        assert len(ds.dimensions["time"]) == 8


def test_it_is_read_by_other_processes_in_the_same_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = [month(Path(f"m{i}.nc"), first, 3) for i, first in enumerate([3, 0])]
    with ncforge.open_many(["m*.nc"]) as ds:
        sent, here = pickle.dumps((ds, ds["v"])), ds["v"][:]
    monkeypatch.chdir("/")
    again, variable = pickle.loads(sent)
    assert_array_equal(again["v"][:], here)
    assert_array_equal(variable[:], here)
    assert again["time"][:].tolist() == [0, 1, 2, 3, 4, 5]
    again.close()
    with netCDF4.Dataset(tmp_path / paths[0], "a") as changed:
        changed["v"][0, 0] = 7
    os.utime(tmp_path / paths[0], ns=(1, 1))
    with pytest.raises(ChangedError, match=r"m0\.nc"):
        pickle.loads(sent)


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    paths = [month(tmp_path / f"m{i}.nc", 3 * i, 3) for i in range(3)]
    with pytest.raises(ValueError, match="cannot follow"):
        ncforge.open_many([paths[0], paths[1], paths[1]])
    with netCDF4.Dataset(paths[2], "a") as odd:
        odd.renameVariable("v", "u")
    with pytest.raises(ValueError, match=r"`v`.*m2\.nc") as lacks:
        ncforge.open_many(paths)
    assert 'holes="fill"' in str(lacks.value) and "tile" not in str(lacks.value)
    with ncforge.open_many(paths, holes="missing") as ds:
        assert np.ma.getmaskarray(ds["v"][:])[6:].all()
    with pytest.raises(OSError, match="no"):
        ncforge.open_many(tmp_path / "none*.nc")
    with pytest.raises(ValueError, match="holes"):
        ncforge.open_many(paths, holes="none of these")


def test_where_values_lie(tmp_path: Path) -> None:
    paths = [month(tmp_path / f"m{i}.nc", 4 * i, 4) for i in range(2)]
    with ncforge.open_many(paths) as ds:
        layout = ds["v"].layout
        assert (layout.kind, layout.chunk_shape, layout.grid, layout.pieces) == ("virtual", (2, 5), (4, 1), ())
        assert 0 < layout.stored_bytes <= sum(os.path.getsize(path) for path in paths)
        assert "virtual" in ds["v"]._repr_html_()
        with pytest.raises(OSError, match="not one file"):
            ds.tocdl()


def test_fewer_descriptors_than_files(tmp_path: Path) -> None:
    """Of several datasets together."""
    for i in range(120):
        month(tmp_path / f"{i:03}.nc", i % 28, 1)
    program = f"""
import ncforge
sets = [ncforge.open_many({str(tmp_path)!r} + f"/{{i}}*.nc", unsorted=True) for i in (0, 1)]
for _ in range(2):
    print([ds["inner/w"][:].astype(int).tolist() for ds in sets])
"""
    done = execute("bash", "-c", 'ulimit -n 40; exec "$0" -c "$1"', sys.executable, program, code=None)
    assert done.stderr == ""
    expected = [[i % 28 for i in range(100)], [i % 28 for i in range(100, 120)]]
    assert done.stdout == f"{expected}\n" * 2


def test_files_that_may_not_lead_to_others(tmp_path: Path) -> None:
    for i in range(2):
        with h5py.File(tmp_path / f"source{i}.h5", "w") as f:
            f["x"] = np.arange(4.0)
        layout = h5py.VirtualLayout((4,), "f8")
        layout[...] = h5py.VirtualSource(tmp_path / f"source{i}.h5", "x", (4,))
        with h5py.File(tmp_path / f"v{i}.nc", "w") as f:
            f["x"] = np.arange(4.0) + 4 * i
            f["x"].make_scale("x")
            f.create_virtual_dataset("v", layout)
            f["v"].dims[0].attach_scale(f["x"])
    files = sorted(glob.glob(str(tmp_path / "v*.nc")))
    with ncforge.open_many(files, "x") as ds:
        assert ds["v"][:].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    with pytest.raises(OSError, match="follow"):
        ncforge.open_many(files, "x", follow=False)["v"][:]


@pytest.mark.parametrize("key", [slice(2, 2), slice(0, 0), slice(9, None), slice(4, 1)])
def test_nothing_is_read_of_nothing(tmp_path: Path, key: slice) -> None:
    """Numbers, strings, and rows of any length."""
    paths = [tmp_path / f"{i}.nc" for i in range(3)]
    for i, path in enumerate(paths):
        with created(path, time=None, y=2) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = [3 * i, 3 * i + 1, 3 * i + 2]
            ds.createVariable("number", "f4", ("time", "y"))[:] = np.arange(6).reshape(3, 2)
            ds.createVariable("word", str, ("time", "y"))[:] = np.array(list("abcdef"), object).reshape(3, 2)
            rows = ds.createVariable("rows", ds.createVLType("i4", "row"), ("time",))
            for step in range(3):
                rows[step] = np.arange(step, dtype="i4")
    with ncforge.open_many(paths) as many, netCDF4.Dataset(paths[0]) as judge:
        for name in ("number", "word", "rows"):
            assert many[name][key].shape == judge[name][key].shape
        for name in ("number", "word"):
            assert many[name][1:5, 2:].shape == (4, 0) and many[name][key, 1].shape == (0,)
