"""Several files as one dataset, compared with netCDF4-python's."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from datasets import created
from ncforge import multifile
from programs import python


@pytest.fixture(autouse=True)
def of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of other tests that are still open take no places."""
    monkeypatch.setattr(multifile, "_all", weakref.WeakSet())


KEYS: list[Any] = [
    np.s_[:],
    np.s_[...],
    np.s_[0],
    np.s_[-1],
    np.s_[5],
    np.s_[2:9],
    np.s_[1:12:3],
    np.s_[8:9],
    np.s_[3:3],
    np.s_[4, 1],
    np.s_[4:9, 1, 2],
    np.s_[..., 2],
    np.s_[2:9, ::2, 1:],
    np.s_[np.array([0, 4, 5, 11])],
    np.s_[np.arange(12) % 2 == 0],
]


def three(folder: Path, format: Any = "NETCDF4_CLASSIC", unlimited: bool = True) -> list[Path]:
    """Files of 4, 1 and 7 steps, each packed in its own way, with some values missing in the last."""
    paths = []
    rng = np.random.default_rng(1)
    for at, steps in enumerate((4, 1, 7)):
        paths.append(folder / f"part_{at}.nc")
        with created(paths[-1], format=format, time=None if unlimited else steps, y=3, x=4) as nc:
            nc.title = f"part {at}"
            time = nc.createVariable("time", "i4", "time")
            time.units, time.calendar = f"days since 2000-01-{1 + 10 * at:02}", "standard"
            time[:] = np.arange(steps)
            v = nc.createVariable("v", "i2", ("time", "y", "x"), fill_value=-99)
            v.scale_factor, v.add_offset = 0.5 * (at + 1), float(at)
            values = np.ma.MaskedArray(rng.integers(0, 40, (steps, 3, 4)) * v.scale_factor + at)
            if at == 2:
                values[::3] = np.ma.masked
            v[:] = values
            nc.createVariable("still", "f8", ("y", "x"))[:] = at
            nc.createVariable("name", "S1", ("time", "x"))[:] = np.full((steps, 4), f"{at}", "S1")
    return paths


def same(ours: Any, theirs: Any) -> None:
    assert isinstance(ours, np.ma.MaskedArray) == isinstance(theirs, np.ma.MaskedArray)
    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(theirs))
    np.testing.assert_array_equal(np.ma.filled(ours, 0), np.ma.filled(theirs, 0))


@pytest.mark.parametrize("format", ["NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_reads_what_netcdf4_python_reads(tmp_path: Path, format: str) -> None:
    paths = list(map(str, three(tmp_path, format)))
    with netCDF4.MFDataset(paths) as theirs, ncforge.MFDataset(paths, check=True) as ours:
        assert list(ours.variables) == list(theirs.variables)
        assert ours["v"].shape == theirs["v"].shape == (12, 3, 4)
        assert len(ours.dimensions["time"]) == ours.dimensions["time"].size == len(theirs.dimensions["time"])
        assert (ours.data_model, ours.disk_format) == (theirs.data_model, theirs.disk_format)
        assert ours.title == theirs.title == "part 0" and ours.ncattrs() == theirs.ncattrs()
        for key in KEYS:
            same(ours["v"][key], theirs["v"][key])
        for name in ("time", "still", "name"):
            same(ours[name][:], theirs[name][:])
        ours["v"].set_auto_maskandscale(False)
        theirs["v"].set_auto_maskandscale(False)
        for key in KEYS:
            same(ours["v"][key], theirs["v"][key])


def test_does_what_one_file_does(tmp_path: Path) -> None:
    paths = three(tmp_path, "NETCDF4")
    whole = np.concatenate([ncforge.Dataset(p)["v"].read() for p in paths])
    with ncforge.MFDataset(str(tmp_path / "part_*.nc")) as ds:
        v = ds["v"]
        assert isinstance(ds, ncforge.Dataset) and isinstance(v, ncforge.Variable)
        assert (v.size, v.ndim, len(v), v.dtype, v.dimensions) == (144, 3, 12, np.dtype("i2"), ("time", "y", "x"))
        assert [d.size for d in v.get_dims()] == [12, 3, 4]
        for key in (np.s_[::-1], np.s_[9:1:-2, 1], np.s_[[7, 1, 1, 11]], np.s_[-3:], np.s_[..., [2, 0]]):
            np.testing.assert_array_equal(v.read(key), whole[key])
        out = np.empty((3, 4), "i2")
        assert v.read_into(out, 6) is out
        np.testing.assert_array_equal(out, whole[6])
        np.testing.assert_array_equal(v.read(7, out=out), whole[7])
        assert ds["v"] is v and ds.get_variables_by_attributes(add_offset=0.0) == [v]
        ds.set_auto_mask(False)
        assert type(v[:]) is np.ndarray
        assert "title" in (ds._repr_html_() or "")
        with pytest.raises(IndexError):
            v[12]
        with pytest.raises(IndexError):
            v[[0, -13]]
        with pytest.raises(ValueError, match="selection"):
            v.read_into(np.empty(3, "i2"))
        with pytest.raises(OSError, match="several files"):
            v.layout  # noqa: B018
        with pytest.raises(RuntimeError, match="reading only"):
            v[0] = 1
        with pytest.raises(RuntimeError, match="reading only"):
            ds.createDimension("new", 1)
        assert ds.isopen()
    assert not ds.isopen()


def test_travels(tmp_path: Path) -> None:
    three(tmp_path)
    with ncforge.MFDataset(str(tmp_path / "*.nc"), exclude=["name"]) as ds:
        ds["v"].set_auto_scale(False)
        there = pickle.loads(pickle.dumps(ds["v"]))
        same(there[:], ds["v"][:])
        there = pickle.loads(pickle.dumps(ncforge.MFTime(ds["time"], "hours since 2000-01-01")))
        same(there[:], ncforge.MFTime(ds["time"], "hours since 2000-01-01")[:])
        assert pickle.loads(pickle.dumps(ds))["name"].shape == (4, 4)


def test_the_dimension_and_the_master_can_be_said(tmp_path: Path) -> None:
    paths = list(map(str, three(tmp_path, unlimited=False)))
    with pytest.raises(OSError, match="no dimension"):
        ncforge.MFDataset(paths)
    with ncforge.MFDataset(paths, aggdim="time", master_file=paths[2], exclude=["name"]) as ds:
        assert ds.title == "part 2" and ds["still"][0, 0] == 2 and ds["name"].shape == (7, 4)
        with netCDF4.MFDataset(paths, aggdim="time", master_file=paths[2], exclude=["name"]) as theirs:
            same(ds["v"][:], theirs["v"][:])
    # Along a dimension that is not the first one, which netCDF4-python cannot.
    with ncforge.MFDataset([paths[0], paths[0]], aggdim="x") as ds:
        once = ncforge.Dataset(paths[0])["v"]
        np.testing.assert_array_equal(ds["v"][1:3, 0, 2:7:2], np.ma.concatenate([once[:]] * 2, axis=2)[1:3, 0, 2:7:2])
        assert ds["time"].shape == (4,)


@pytest.mark.parametrize("what", ["type", "length", "absent", "dimension"])
def test_files_that_differ_are_reported(tmp_path: Path, what: str) -> None:
    paths = three(tmp_path, "NETCDF3_CLASSIC")
    with netCDF4.Dataset(tmp_path / "odd.nc", "w", format="NETCDF3_CLASSIC") as nc:
        if what != "dimension":
            nc.createDimension("time", None)
        nc.createDimension("y", 2 if what == "length" else 3)
        nc.createDimension("x", 4)
        if what not in ("absent", "dimension"):
            nc.createVariable("v", "f4" if what == "type" else "i2", ("time", "y", "x"))[:] = np.zeros(
                (2, 2 if what == "length" else 3, 4)
            )
    paths = [*paths, tmp_path / "odd.nc"]
    with pytest.raises(OSError, match=r"odd\.nc"):
        ncforge.MFDataset(paths, check=True)
    if what in ("type", "length"):
        with ncforge.MFDataset(paths) as ds:
            assert ds["time"].shape == ds["v"].shape[:1]
            ds["v"][:5]
            with pytest.raises(OSError, match=r"odd\.nc"):
                ds["v"][:]


def test_no_files() -> None:
    with pytest.raises(OSError, match="no files"):
        ncforge.MFDataset("/nowhere/*.nc")
    with pytest.raises(OSError, match="no files"):
        ncforge.MFDataset([])
    with pytest.raises(FileNotFoundError):
        ncforge.MFDataset(["/nowhere/a.nc"])
    with pytest.raises(ValueError, match="not one of the files"):
        ncforge.MFDataset(["a.nc"], master_file="b.nc")


def test_times_in_one_unit(tmp_path: Path) -> None:
    paths = list(map(str, three(tmp_path)))
    with netCDF4.MFDataset(paths) as theirs, ncforge.MFDataset(paths) as ours:
        for options in ({}, {"units": "days since 1999-12-01"}, {"calendar": "noleap"}):
            a, b = ncforge.MFTime(ours["time"], **options), netCDF4.MFTime(theirs["time"], **options)
            assert (a.units, a.calendar, a.shape, a.dimensions) == (b.units, b.calendar, b.shape, b.dimensions)
            for key in (np.s_[:], np.s_[5], np.s_[2:9]):
                same(a[key], b[key])
        times = ncforge.MFTime(ours["time"])
        dates = ncforge.num2date(times[:], times.units, times.calendar)
        assert ncforge.date2index(dates[6], times) == 6
        # Other steps, which netCDF4-python adds up as they are.
        hours = ncforge.MFTime(ours["time"], "hours since 2000-01-01")
        assert hours[:].tolist() == [0, 24, 48, 72, 240, *range(480, 480 + 7 * 24, 24)]
        with pytest.raises(ValueError, match="several files"):
            ncforge.MFTime(ncforge.Dataset(paths[0])["time"])


def test_times_need_their_calendar(tmp_path: Path) -> None:
    paths = three(tmp_path)
    with netCDF4.Dataset(paths[1], "a") as nc:
        nc["time"].calendar = "noleap"
    with ncforge.MFDataset(paths) as ds, pytest.raises(ValueError, match="several calendars"):
        ncforge.MFTime(ds["time"])
    with netCDF4.Dataset(paths[1], "a") as nc:
        del nc["time"].calendar
    with ncforge.MFDataset(paths) as ds:
        with pytest.raises(ValueError, match="no attribute `calendar`"):
            ncforge.MFTime(ds["time"])
        assert ncforge.MFTime(ds["time"], calendar="standard")[4] == 10


def test_times_say_what_they_need() -> None:
    program = """
        import sys
        sys.modules["cftime"] = None
        import ncforge
        try:
            ncforge.num2date
        except ImportError as error:
            print(error)
    """
    assert "pip install cftime" in python(program)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize(("name", "given"), [("S", np.array([b"foo", b"ab"])), ("U", np.array(["foo", "ab"]))])
def test_text_as_netcdf4_python_makes_it(encoding: str, name: str, given: np.ndarray) -> None:
    if (name, encoding) != ("S", "utf-8"):  # which it cannot
        ours, theirs = ncforge.stringtochar(given, encoding), netCDF4.stringtochar(given, encoding)
        assert ours.shape == theirs.shape if (name, encoding) != ("U", "ascii") else ours.shape == (2, 12)
        if theirs.dtype == "S1":
            np.testing.assert_array_equal(ours, theirs)
    chars = ncforge.stringtochar(given, encoding, n_strlen=3)
    assert chars.shape == (2, 3)
    for how in (encoding, "bytes"):
        ours, theirs = ncforge.chartostring(chars, how), netCDF4.chartostring(chars, how)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ncforge.chartostring(np.array([["a", "ä"], ["b", ""]])), ["aä", "b"])
    for kind in ("S", "U"):
        np.testing.assert_array_equal(ncforge.stringtoarr("abc", 5, kind), netCDF4.stringtoarr("abc", 5, kind))


def test_text_that_is_none() -> None:
    wrong: list[Callable[[], Any]] = [
        lambda: ncforge.stringtochar(np.arange(3)),
        lambda: ncforge.chartostring(np.array(["ab"])),
        lambda: ncforge.chartostring(np.array("a")),
        lambda: ncforge.chartostring(np.array([b"\xff"])),
        lambda: ncforge.stringtoarr("abc", 2),
        lambda: ncforge.stringtoarr("abc", 5, "i4"),
    ]
    for call in wrong:
        with pytest.raises(ValueError):  # noqa: PT011
            call()


def test_fill_values_are_netcdf4_pythons() -> None:
    assert ncforge.default_fillvals == netCDF4.default_fillvals


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    for at in range(80):
        with created(tmp_path / f"{at:03}.nc", format="NETCDF4" if at % 2 else "NETCDF3_CLASSIC", time=None) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = [79 - at]
            ds.createVariable("v", "i4", ("time",))[:] = [79 - at]
    program = f"""
import os, pickle, ncforge
files = sorted(os.path.join({str(tmp_path)!r}, name) for name in os.listdir({str(tmp_path)!r}))
with ncforge.MFDataset(files) as ds:
    for _ in range(2):
        assert ds["v"][::-1].tolist() == ds["time"][::-1].tolist() == list(range(80))
    assert pickle.loads(pickle.dumps(ds))["v"][70:].tolist() == list(range(9, -1, -1)) and ds.isopen()
    ds["v"].set_auto_mask(False)
    os.replace(files[1], files[0])
for at in (0, 79):
    try:
        ds["v"][at]
    except ValueError as e:
        assert "closed" in str(e)
    else:
        raise AssertionError("it is closed")
assert not ds.isopen()
"""
    execute("bash", "-c", 'ulimit -n 40; exec "$0" -c "$1"', sys.executable, program)


def parts_of(folder: Path, count: int) -> list[Path]:
    """Files of two steps each, which count on."""
    paths = [folder / f"{at:03}.nc" for at in range(count)]
    for at, path in enumerate(paths):
        with created(path, ncforge, format="NETCDF4" if at % 2 else "NETCDF3_CLASSIC", time=None) as ds:
            ds.createVariable("v", "i4", ("time",))[:] = [2 * at, 2 * at + 1]
    return paths


@pytest.mark.parametrize("descriptors", [24, 40])
def test_threads_read_more_files_than_descriptors(tmp_path: Path, descriptors: int) -> None:
    parts_of(tmp_path, 60)
    program = f"""
import concurrent.futures, faulthandler, os, sys, ncforge
sys.setswitchinterval(1e-6)
faulthandler.dump_traceback_later(200, exit=True)
before = len(os.listdir("/proc/self/fd"))
for _ in range(4):
    with ncforge.MFDataset({str(tmp_path / "*.nc")!r}) as ds, concurrent.futures.ThreadPoolExecutor(8) as threads:
        read = threads.map(lambda i: ds["v"][i : i + 20 : 3].tolist() == list(range(i, i + 20, 3)), range(0, 100, 3))
        assert all(read)
assert len(os.listdir("/proc/self/fd")) == before, "files are open after close()"
"""
    execute("bash", "-c", f'ulimit -n {descriptors}; exec "$0" -c "$1"', sys.executable, program)


def test_a_part_is_open_once_however_many_threads_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more parts are open than there are places, also while threads read."""
    monkeypatch.setattr(multifile, "_PLACES", 3)
    opened: list[ncforge.Dataset] = []
    wrong: list[str] = []

    def opens(path: Path) -> ncforge.Dataset:
        are_open = [one.filepath() for one in opened if one.isopen()]
        if len(are_open) >= 3 or str(path) in are_open:
            wrong.append(f"{are_open}, and then {path}")
        opened.append(ncforge.Dataset(path))
        return opened[-1]

    parts = multifile.Parts([(opens, (path,)) for path in parts_of(tmp_path, 6)])
    ready = threading.Barrier(2)

    def reads(first: int) -> None:
        ready.wait(60)
        for i in range(first, first + 60):
            with parts.reading(i % 6) as part:
                assert part["v"][:].tolist() == [i % 6 * 2, i % 6 * 2 + 1]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(reads, (0, 1)))
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert sum(one.isopen() for one in opened) == 3
    parts.close()
    assert not any(one.isopen() for one in opened)


def test_a_part_that_is_read_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = parts_of(tmp_path, 5)
    monkeypatch.setattr(multifile, "_PLACES", 2)
    parts = multifile.Parts.of(map(str, paths))
    with parts.reading(1) as one, parts.reading(2) as two, parts.reading(1) as same:
        assert [part["v"][0] for part in parts] == [0, 2, 4, 6, 8]
        assert (one is same, one["v"][1], two["v"][1]) == (True, 3, 5)
    assert [part["v"][0] for part in parts] == [0, 2, 4, 6, 8]
    assert len(parts._open) == 2
    parts.close()
    with pytest.raises(RuntimeError, match="closed"), parts.reading(1):
        pass


def test_no_part_stays_open_that_is_opened_while_the_dataset_closes(tmp_path: Path) -> None:
    opened = []

    def opens(path: Path) -> ncforge.Dataset:
        opened.append(ncforge.Dataset(path))
        parts.close()
        return opened[0]

    parts = multifile.Parts([(opens, (path,)) for path in parts_of(tmp_path, 1)])
    with pytest.raises(RuntimeError, match="closed"):
        parts.held(0)
    assert not opened[0].isopen()


def test_datasets_share_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multifile, "_PLACES", 4)
    paths = parts_of(tmp_path, 4)
    first, second = ncforge.MFDataset(paths), ncforge.MFDataset(paths)
    for ds in (first, second, first):
        assert ds["v"][:].tolist() == list(range(8))
        assert len(first._parts._open) + len(second._parts._open) == 4
    del ds, first
    gc.collect()
    assert second["v"][:].tolist() == list(range(8))
    assert len(second._parts._open) == 4


def test_a_replaced_file_is_noticed_when_it_is_opened_again(tmp_path: Path) -> None:
    """By the dataset of either kind with the same error, where few files may be open."""
    for i in range(90):
        with created(tmp_path / f"{i:02}.nc", time=None) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = [i]
    program = f"""
import pathlib, resource, shutil
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import ncforge
files = sorted(pathlib.Path({str(tmp_path)!r}).glob("*.nc"))
for opens in (ncforge.open_many, ncforge.MFDataset):
    with opens([str(f) for f in files]) as ds:
        assert ds["time"][:].tolist() == list(range(90))
        shutil.copy(files[40], files[40].with_suffix(".new"))
        files[40].with_suffix(".new").replace(files[40])
        try:
            ds["time"][:]
        except ncforge.ChangedError as e:
            assert "has changed since it was opened" in str(e), e
        else:
            raise AssertionError("not noticed")
"""
    execute(sys.executable, "-c", program)
