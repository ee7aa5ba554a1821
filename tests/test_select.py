"""``--select``: subsets by index, by values of coordinates and by dates. NumPy, xarray, cftime and ncks say what is in them."""

from __future__ import annotations

import datetime
import json
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cftime
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
import tiles as tl
from combining import ocean
from conftest import Run
from stopping import interrupt

Array = np.ndarray[Any, Any]
#: How large variables are stored.
STORED: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunksizes": (4, 5, 6)},
    "deflated": {"chunksizes": (4, 5, 6), "zlib": True},
    "single": {"chunksizes": (1, 17, 1), "zlib": True, "fletcher32": True},
}
CALENDARS = ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"]


def raw(path: Path) -> dict[str, Array]:
    """All values as they are stored, by path."""
    found = {}
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        d.set_auto_chartostring(False)

        def walk(group: Any, base: str) -> None:
            found.update({base + name: v[...] for name, v in group.variables.items()})
            for name, below in group.groups.items():
                walk(below, f"{base}{name}/")

        walk(d, "")
    return found


def picked(path: Path, where: Mapping[str, Array]) -> dict[str, Array]:
    """The values of a file at indices along dimensions, by NumPy."""
    values, out = raw(path), {}
    with netCDF4.Dataset(path) as d:
        for name, all_of_it in values.items():
            result = all_of_it
            for axis, dim in enumerate(d[name].dimensions):
                if dim in where:
                    result = np.take(result, where[dim], axis=axis)
            out[name] = result
    return out


def same(path: Path, expected: Mapping[str, Array]) -> None:
    found = raw(path)
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name].dtype == values.dtype, name
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def write(path: Path, kind: str, seed: int = 0, shape: tuple[int, int, int] = (23, 17, 30)) -> None:
    """A file of some format and layout: variables of all ranks, one with its dimension twice, strings and a compound if there are such."""
    rng = np.random.default_rng(seed)
    format: Any
    format, layout = kind.split(":")
    chunked = STORED[layout]
    with netCDF4.Dataset(path, "w", format=format) as d:
        d.Conventions = "CF-1.8"
        for name, n in zip(("time", "lat", "lon"), shape, strict=True):
            d.createDimension(name, None if name == "time" and layout != "contiguous" else n)
        d.createDimension("two", 2)
        for name, values, units in (
            ("time", np.arange(shape[0]) + 0.5, "days since 2000-01-20"),
            ("lat", np.linspace(80, -80, shape[1]), "degrees_north"),
            ("lon", np.arange(shape[2]) * (360 / shape[2]), "degrees_east"),
        ):
            v = d.createVariable(name, "f8", (name,))
            v.units, v.bounds = units, f"{name}_bnds"
            v[:] = values
            d.createVariable(f"{name}_bnds", "f8", (name, "two"))[:] = np.stack([values, values + 1], axis=1)
        d["time"].calendar = "noleap"
        tas = d.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=-1e30, **chunked)
        tas[:] = rng.normal(size=shape)
        packed = d.createVariable("packed", "i2", ("time", "lat", "lon"), **chunked)
        packed.scale_factor = 0.5
        packed[:] = rng.integers(-500, 500, shape)
        d.createVariable("area", "f8", ("lat", "lon"))[:] = rng.normal(size=shape[1:])
        d.createVariable("square", "i4", ("lat", "lat"))[:] = rng.integers(0, 99, (shape[1], shape[1]))
        d.createVariable("name", "S1", ("time", "two"))[:] = rng.integers(97, 123, (shape[0], 2), dtype="u1").view("S1")
        d.createVariable("number", "i4", ())[...] = 7
        if format == "NETCDF4":
            g = d.createGroup("g")
            g.createVariable("deep", "i8", ("lon", "time"))[:] = rng.integers(0, 99, (shape[2], shape[0]))
            text = g.createVariable("text", str, ("time",))
            text[:] = np.array([f"step {i}" * (i % 3) for i in range(shape[0])], dtype=object)
            pair = g.createCompoundType(np.dtype([("a", "i2"), ("b", "f8")]), "pair")
            both = np.zeros(shape[1], dtype=[("a", "i2"), ("b", "f8")])
            both["a"], both["b"] = np.arange(shape[1]), rng.normal(size=shape[1])
            g.createVariable("both", pair, ("lat",))[:] = both
            late = g.createVariable("late", "f4", ("time", "lon"), chunksizes=(3, 7), zlib=True)
            late[shape[0] // 3 : shape[0] // 2, 8:20] = 5


KINDS = [
    "NETCDF3_CLASSIC:contiguous",
    "NETCDF3_64BIT_DATA:chunked",
    "NETCDF4:contiguous",
    "NETCDF4:chunked",
    "NETCDF4:deflated",
    "NETCDF4:single",
    "NETCDF4_CLASSIC:deflated",
]


@pytest.mark.parametrize("kind", KINDS)
def test_random_selections_are_those_of_numpy(tmp_path: Path, kind: str) -> None:
    """Indices with steps, and longitudes that wrap, in any combination; each copy is verified, too."""
    rng = random.Random(kind)
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, kind)
    lens = {"time": 23, "lat": 17, "lon": 30}
    for turn in range(14):
        select: dict[str, Any] = {}
        where: dict[str, Array] = {}
        for dim in rng.sample(sorted(lens), rng.randint(1, 3)):
            n = lens[dim]
            if dim == "lon" and rng.random() < 0.4:
                first, width = rng.randint(-200, 350), rng.randint(20, 340)
                select[dim] = (float(first), float(first + width))
                around = [(i * 12 - first) % 360 for i in range(n)]
                inside = [i for i in range(n) if around[i] <= width]
                where[dim] = np.array(sorted(inside, key=lambda i: around[i]))
                continue
            # At edges of chunks as often as not.
            edges = [0, 4, 5, 6, 8, 10, 12, 15, n]
            first, end = sorted(rng.sample(sorted({e for e in edges if e <= n}), 2))
            if rng.random() < 0.4:
                first, end = sorted(rng.sample(range(n + 1), 2))
            part = slice(first, end, rng.choice([None, None, None, 2, 3, 7]))
            if rng.random() < 0.3:
                part = slice(first - n if first < n else first, end - n or None if end > 0 else end, part.step)
            select[dim] = part
            where[dim] = np.arange(n)[part]
        options: dict[str, Any] = rng.choice(
            [{}, {"format": "NETCDF4"}, {"chunks": "time/3,lat/4,lon/9", "format": "NETCDF4"}]
        )
        if kind.startswith("NETCDF4_CLASSIC") or not kind.startswith("NETCDF4"):
            options = {**options, "memory": rng.choice(["8M", "64M"])}
        ncforge.copy(path, out, select=select, overwrite=True, verify=True, **options)
        same(out, picked(path, where))
        with netCDF4.Dataset(path) as old, netCDF4.Dataset(out) as new:
            assert new.dimensions["time"].isunlimited() == old.dimensions["time"].isunlimited(), turn
            assert new.ncattrs() == old.ncattrs() and new["tas"].ncattrs() == old["tas"].ncattrs()


def selected(run: Run, path: Path, out: Path, *words: object) -> dict[str, Array]:
    run("copy", "-O", path, out, *[w for word in words for w in ("--select", word)])
    return raw(out)


def test_words(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:chunked")
    where = {"time": np.array([22]), "lat": np.arange(3, 17, 2)}
    selected(run, path, out, "time=-1,lat=3::2")
    same(out, picked(path, where))
    selected(run, path, out, "time=-1", "lat=3::2")
    same(out, picked(path, where))
    # Both ends are included, in either order; four digits are a number of what is no time.
    for text in ("lat=-20..40", "lat=40..-20.0", "lat=-20..40.0,lon=:"):
        assert selected(run, path, out, text)["lat"].tolist() == [40, 30, 20, 10, 0, -10, -20]
    assert selected(run, path, out, "lat=..-60")["lat"].tolist() == [-60, -70, -80]
    assert selected(run, path, out, "lon=336..")["lon"].tolist() == [336, 348]
    assert selected(run, path, out, "time=20..22.5")["time"].tolist() == [20.5, 21.5, 22.5]


def test_a_coordinate_in_other_packing(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as d:
        for name, kind, attrs, stored in (
            ("float", "f4", {}, np.arange(100) / np.float32(10)),
            ("packed", "i2", {"scale_factor": 0.1, "add_offset": 5.0}, np.arange(100)),
            ("narrow", "i2", {"scale_factor": np.float32(0.1)}, np.arange(100)),
            ("bytes", "i1", {"_Unsigned": "true"}, np.arange(100, 200).astype("u1").view("i1")),
            ("whole", "i8", {}, 2**60 + np.arange(100)),
            ("unsigned", "u8", {}, np.uint64(2**64 - 200) + np.arange(100, dtype="u8")),
            ("level", "f8", {"units": "Pa"}, np.arange(100) * 100.0),
        ):
            d.createDimension(name, 100)
            v = d.createVariable(name, kind, (name,))
            v.setncatts(attrs)
            v.set_auto_maskandscale(False)
            v[:] = stored
    for name, pick, first, end in (
        ("float", (1.1, 2.3), 11, 24),
        ("packed", (5.3, 5.7), 3, 8),
        ("narrow", (0.3, 0.7), 3, 8),
        ("bytes", (120, 160), 20, 61),
        ("whole", (2.0**60, 2.0**60), 0, 1),
        ("whole", (2**60 + 7, 2**60 + 9), 7, 10),
        ("whole", f"{2**60 + 7}..{2**60 + 9}", 7, 10),
        ("whole", f"={2**60 + 7}..{2**60 + 7}", 7, 8),
        ("unsigned", (2**64 - 103, 2**64 - 102), 97, 99),
        ("level", "1000..2000", 10, 21),
        ("level", "1000", None, None),
    ):
        if first is None:
            with pytest.raises(ncforge.InvalidError, match="0 to 99"):
                ncforge.copy(path, out, select={name: pick}, overwrite=True)
            continue
        ncforge.copy(path, out, select={name: pick}, overwrite=True)
        np.testing.assert_array_equal(raw(out)[name], raw(path)[name][first:end], err_msg=name)


@pytest.mark.parametrize("kind", [list, np.array, iter, lambda at: at])
def test_indices_one_by_one(tmp_path: Path, kind: Any) -> None:
    """They were taken as the three numbers of a slice, or as two values of the coordinate."""
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("lat", 12)
        d.createVariable("lat", "f4", ("lat",))[:] = np.arange(12)
    at: Any
    for at in ([2, 5, 8], [2, 5], [4], range(2, 9, 3), range(0, 6, 3), [1, 2, 3, 4], range(-3, 0)):
        ncforge.copy(path, out, select={"lat": kind(at)}, overwrite=True)
        assert raw(out)["lat"].tolist() == np.arange(12)[np.array(at)].tolist(), at
    for at in ([2, 5, 9], [8, 5, 2], [-1, 0], [], [True, False], range(8, 2, -3)):
        with pytest.raises(ncforge.InvalidError, match="in even steps"):
            ncforge.copy(path, out, select={"lat": kind(at)}, overwrite=True)
    ncforge.copy(path, out, select={"lat": (2, 5)}, overwrite=True)
    assert raw(out)["lat"].tolist() == [2, 3, 4, 5], "a tuple has two values"


def test_an_index_that_is_a_value_elsewhere_is_noted(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "in.nc"
    with netCDF4.Dataset(path, "w") as ds:
        for name, values in (("lat", np.arange(-89.5, 90)), ("lev", np.arange(30.0)), ("time", np.arange(12.0))):
            ds.createDimension(name, len(values))
            ds.createVariable(name, "f8", (name,))[:] = values
        ds["time"].units = "days since 2000-01-01"
    noted = run("copy", path, tmp_path / "lat.nc", "--select", "lat=45")
    assert "`lat=45` is the index 45, where `lat` is -44.5; `lat=45..45` is the value" in noted.stderr + noted.stdout
    for select in ("lat=45..46", "lat=100", "lat=-3", "lat=45:46:2", "lev=7", "time=3"):
        done = run("copy", path, tmp_path / f"{select}.nc", "--select", select)
        assert "is the index" not in done.stderr + done.stdout, select


@pytest.mark.parametrize("calendar", CALENDARS)
def test_dates_are_those_of_cftime(tmp_path: Path, calendar: str) -> None:
    """Spans of dates in each calendar, in units of several kinds, by cftime's dates of all elements."""
    rng = random.Random(calendar)
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    old = calendar in ("standard", "julian", "proleptic_gregorian")
    for turn in range(12):
        year = rng.choice([1582, 1899, 2000]) if old else rng.choice([1, 1850, 2000])
        unit, step = rng.choice([("days", 1), ("hours", 6), ("minutes", 1440), ("seconds", 21600), ("days", 0.25)])
        units = f"{unit} since {year:04}-0{rng.randint(1, 9)}-0{rng.randint(1, 9)}" + rng.choice(
            ["", " 06:00:00", "T00:00:00Z"]
        )
        n = rng.randint(300, 900)
        numbers = np.arange(n) * step + rng.choice([0, 3]) * step
        kind = "f8" if unit == "days" and step < 1 else rng.choice(["i4", "i8", "f8"])
        if unit == "days" and rng.random() < 0.5:
            # So far from the reference date a float holds quarters of days, but no minutes.
            kind, numbers = "f4", numbers + 56000
        with netCDF4.Dataset(path, "w", format="NETCDF4") as d:
            d.createDimension("time", None)
            v = d.createVariable("time", kind, ("time",))
            v.units, v.calendar = units, calendar
            v[:] = numbers
        dates = cftime.num2date(numbers, units, calendar)
        texts = [date.isoformat() for date in dates]
        a, b = sorted(rng.sample(range(n), 2))
        for cut in (4, 7, 10, 13, 16):
            low, high = texts[a][:cut], texts[b][:cut]
            inside = [i for i in range(n) if low <= texts[i][:cut] <= high]
            ncforge.copy(path, out, select={"time": (low, high)}, overwrite=True)
            np.testing.assert_array_equal(raw(out)["time"], numbers[inside], err_msg=f"{turn} {units} {low} {high}")
            inside = [i for i in range(n) if texts[i][:cut] == low]
            ncforge.copy(path, out, select={"time": low}, overwrite=True)
            np.testing.assert_array_equal(raw(out)["time"], numbers[inside], err_msg=f"{turn} {units} {low}")
        ncforge.copy(path, out, select={"time": (dates[a], None)}, overwrite=True)
        np.testing.assert_array_equal(raw(out)["time"], numbers[a:])


def test_dates_of_python(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:contiguous")
    for low, high in (
        ("2000-01-25", "2000-01-27"),
        (datetime.date(2000, 1, 25), datetime.date(2000, 1, 27)),
        (datetime.datetime(2000, 1, 25), datetime.datetime(2000, 1, 27, 12)),
        (np.datetime64("2000-01-25", "ns"), np.datetime64("2000-01-27T12:00", "ns")),
        (cftime.DatetimeNoLeap(2000, 1, 25), cftime.DatetimeNoLeap(2000, 1, 27, 12)),
    ):
        ncforge.copy(path, out, select={"time": (low, high)}, overwrite=True)
        assert raw(out)["time"].tolist() == [5.5, 6.5, 7.5], low
        ncforge.copy(path, out, select={"time": slice(low, high)}, overwrite=True)
        assert raw(out)["time"].tolist() == [5.5, 6.5, 7.5], low
    ncforge.copy(path, out, select="time=2000-02,lat=0", overwrite=True)
    assert raw(out)["tas"].shape == (11, 1, 30)


def test_longitudes_wrap(tmp_path: Path, run: Run) -> None:
    """East of 0 to 360, and of -180 to 180, also falling; ncks wraps as well."""
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"

    def lons(values: list[float], text: str, kind: str = "f4") -> list[float]:
        with netCDF4.Dataset(path, "w") as d:
            d.createDimension("lon", len(values))
            v = d.createVariable("lon", kind, ("lon",))
            v.units = "degrees_east"
            v[:] = values
            d.createVariable("v", "i4", ("lon",))[:] = np.arange(len(values))
        found = selected(run, path, out, f"lon={text}")
        assert [values[i] for i in found["v"]] == found["lon"].tolist()
        return [float(x) for x in found["lon"]]

    east = [float(x) for x in range(0, 360, 10)]
    both = [float(x) for x in range(-180, 180, 10)]
    assert lons(east, "350..10") == [350, 0, 10]
    assert lons(east, "-10..10") == [350, 0, 10]
    assert lons(east, "0..360") == east
    assert lons(east, "-180..180") == [*range(180, 360, 10), *range(0, 180, 10)]
    assert lons(east, "370..380") == [10, 20]
    assert lons(both, "350..10") == [-10, 0, 10]
    assert lons(both, "170..190") == [170, -180, -170]
    assert lons(both, "170..-170") == [170, -180, -170]
    # Both ends are one meridian: what is stored as it was asked for stays, the other end is left out.
    for first, kind in ((-180, "f4"), (0, "f8"), (-180, "i2"), (0.1, "f4")):
        whole = [float(x) for x in np.linspace(first, first + 360, 9).astype(kind)]
        west, east_of_it = whole[0], whole[-1]
        assert lons(whole, f"{west}..{east_of_it}", kind) == whole
        assert lons(whole, f"{whole[6]}..{east_of_it}", kind) == whole[6:]
        assert lons(whole, f"{west}..{whole[2]}", kind) == whole[:3]
        assert lons(whole, f"{whole[7]}..{whole[1]}", kind) == [*whole[7:], whole[1]]
        assert lons(whole, f"{whole[7] - 360}..{whole[1]}", kind) == [whole[7], *whole[:2]]
        assert lons(whole[::-1], f"{west}..{east_of_it}", kind) == whole[::-1]
        assert lons(whole[::-1], f"{whole[6]}..{east_of_it}", kind) == whole[:5:-1]
    assert lons([float(x) for x in range(0, 721, 90)], "-90..450") == [270, 0, 90, 180]
    assert lons(both, "-180..180") == both
    assert lons(both[::-1], "170..-170") == [-170, -180, 170]
    assert lons(east[::-1], "-10..10") == [10, 0, 350]
    # An end that is a stored value is inside, whatever 360 degrees more are rounded to.
    tenths = [float(x) for x in np.round(np.arange(3600) * 0.1, 1)]
    for end in tenths[3:400:57]:
        assert lons(tenths, f"350..{end}", "f8")[-1] == end
    assert lons([0.0, 0.1, 349.9, 350.1], "-10.1..-9.9", "f8") == [349.9, 350.1]
    assert lons(east, "350..10")
    assert (
        "goes from 350 to 350, and on from 0 to 10"
        in run("copy", path, tmp_path / "x.nc", "--select", "lon=350..10").stderr
    )
    write(path, "NETCDF3_CLASSIC:contiguous")
    run("copy", "-O", path, out, "--select", "lon=300..40,lat=-20..20")
    if shutil.which("ncks"):
        theirs = tmp_path / "theirs.nc"
        subprocess.run(["ncks", "-O", "-d", "lon,300.,40.", "-d", "lat,-20.,20.", path, theirs], check=True)
        mine = raw(out)
        for name, values in raw(theirs).items():
            np.testing.assert_array_equal(mine[name], values, err_msg=name)


@pytest.mark.filterwarnings("ignore:Duplicate dimension")
def test_xarray_selects_the_same(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    ncforge.copy(path, out, select={"lat": (45.0, -45.0), "lon": (100.0, 200.0), "time": ("2000-01-30", "2000-02-03")})
    with xr.open_dataset(path) as whole, xr.open_dataset(out) as part:
        wanted = whole.sel(lat=slice(45, -45), lon=slice(100, 200), time=slice("2000-01-30", "2000-02-03"))
        # xarray cannot select along a dimension that a variable has twice.
        xr.testing.assert_identical(part.drop_vars("square"), wanted.drop_vars("square"))


def chunks_of(path: Path, name: str) -> dict[tuple[int, ...], bytes]:
    with h5py.File(path) as f:
        d = f[name].id
        return {
            d.get_chunk_info(i).chunk_offset: d.read_direct_chunk(d.get_chunk_info(i).chunk_offset)[1]
            for i in range(d.get_num_chunks())
        }


def test_chunks_are_moved_where_edges_fall_on_theirs(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    old = chunks_of(path, "tas")
    plan = ncforge.plan_copy(path, out, select={"time": slice(8, 20), "lon": slice(6, 24)})
    assert {v["name"].strip("/"): v["route"] for v in plan.raw["variables"]}["tas"] == "raw"
    ncforge.copy(path, out, select={"time": slice(8, 20), "lon": slice(6, 24)})
    new = chunks_of(out, "tas")
    assert len(new) == 3 * 4 * 3
    for (t, y, x), stored in new.items():
        assert stored == old[t + 8, y, x + 6]
    # Where a longitude wraps at edges of chunks, both parts are moved.
    ncforge.copy(path, out, select={"lon": (288.0, 60.0)}, overwrite=True)
    new = chunks_of(out, "tas")
    for (t, y, x), stored in new.items():
        assert stored == old[t, y, (x + 24) % 30]
    # A chunk that the end cuts is encoded again: what was not selected is not in the file.
    ncforge.copy(path, out, select={"time": slice(4, 10)}, overwrite=True)
    new, moved = chunks_of(out, "tas"), 0
    for (t, y, x), stored in new.items():
        moved += stored == old[t + 4, y, x]
        assert t == 4 or stored == old[t + 4, y, x]
    with netCDF4.Dataset(out, "a") as d:
        d["time"][7] = 99
        assert np.ma.getmaskarray(d["tas"][6:8]).all()
    assert moved == len(new) // 2


def test_steps_of_single_chunks_are_moved(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:single")
    ncforge.copy(path, out, select={"time": slice(1, None, 5), "lon": slice(None, None, 4)})
    old, new = chunks_of(path, "tas"), chunks_of(out, "tas")
    assert {at: old[at[0] * 5 + 1, at[1], at[2] * 4] for at in new} == new and len(new) == 5 * 8


def test_what_cannot_be_selected(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:contiguous")
    with netCDF4.Dataset(path, "a") as d:
        for name, values in (("mixed", [1, 3, 2]), ("holes", np.ma.masked_equal([1, 9, 3], 9)), ("months", [1, 2, 3])):
            d.createDimension(name, 3)
            d.createVariable(name, "f8", (name,), fill_value=-1.0)[:] = values
        d["months"].units = "months since 2000-01-01"
        d.createDimension("bare", 4)
    for text, *words in (
        ("tiem=3", "did you mean `time`"),
        ("time=50:60", "0 to 22"),
        ("time=2010", "2000-01-20", "2000-02-11"),
        # One date within another is no reversed range.
        ("time=2000..2000-01-05", "2000-01-20", "2000-02-11"),
        ("time=2000-01..2000-01-05", "2000-01-20", "2000-02-11"),
        ("lat=85..90", "80 to -80"),
        ("lat=2000-01-01", "is a date"),
        ("mixed=1..2", "neither rises nor falls", "indices can"),
        ("holes=1..2", "no value at index 1"),
        ("months=2000-02", "length"),
        ("bare=1..2", "no coordinate"),
        ("time=2000-02-30", "2000-02-30"),
        ("time=3,time=4", "twice"),
        ("time=3:2:0", "step"),
        ("time", "DIM="),
    ):
        said = run("copy", path, out, "--select", text, code=(1, 2)).stderr
        assert all(word in said for word in words), (text, said)
        assert not out.exists()
    for text in ("mixed=1:", "holes=:2", "months=1", "bare=1:3", "months=1..2"):
        run("copy", "-O", path, out, "--select", text)


def test_dimensions_of_groups(tmp_path: Path, run: Run) -> None:
    """A name is every dimension of that name, each with its own coordinate; a path is one."""
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as d:
        for at, begin in (("/", 0), ("/a", 10), ("/b", 20)):
            g = d if at == "/" else d.createGroup(at)
            g.createDimension("x", 10)
            g.createVariable("x", "i4", ("x",))[:] = np.arange(10) + begin
    assert {k: v.tolist() for k, v in selected(run, path, out, "x=8:").items()} == {
        "x": [8, 9],
        "a/x": [18, 19],
        "b/x": [28, 29],
    }
    assert {k: len(v) for k, v in selected(run, path, out, "/a/x=12..15").items()} == {"x": 10, "a/x": 4, "b/x": 10}
    assert "`a/x`" in run("copy", "-O", path, out, "--select", "x=0..5", code=(1, 2)).stderr
    # Dimensions of variables that are not copied do not matter.
    run("copy", "-O", path, out, "--select", "x=0..5", "--vars", "x")
    assert raw(out)["x"].tolist() == [0, 1, 2, 3, 4, 5]


def test_resuming_knows_the_selection(tmp_path: Path, run: Run) -> None:
    """A finished output of another selection is none of this one, where the few values that are looked at are the same, too."""
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("x", 40_000)
        v = d.createVariable("v", "i4", ("x",))
        v[:] = 0
        v[4500] = 1
    run("copy", path, out, "--select", "x=:20000", "--no-history")
    made = out.stat()
    assert "complete already" in run("copy", path, out, "--select", "x=0:20000", "--no-history", "--resume").stderr
    assert "exists" in run("copy", path, out, "--select", "x=20000:", "--no-history", "--resume", code=2).stderr
    assert out.stat() == made and raw(out)["v"][4500] == 1
    run("copy", path, out, "--select", "x=20000:", "--no-history", "--resume", "-O")
    assert raw(out)["v"].tolist() == [0] * 20_000


def test_an_interrupted_copy_of_another_selection_is_refused(tmp_path: Path, run: Run) -> None:
    path, folder = tmp_path / "in.nc", tmp_path / "made"
    folder.mkdir()
    out = folder / "out.nc"
    write(path, "NETCDF4:deflated", shape=(240, 60, 90))
    words = ("--chunks", "time/1,lat/60,lon/90", "--codec", "deflate", "--level", 9, "--memory", "8M", "--no-history")
    interrupt(out, "copy", path, out, *words, "--select", "time=0:120")
    assert "other options" in run("copy", path, out, *words, "--select", "time=1:121", "--resume", code=2).stderr
    run("copy", path, out, *words, "--select", "time=:120", "--resume")
    same(out, picked(path, {"time": np.arange(120)}))


def test_a_short_classic_file_gives_what_it_has(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF3_64BIT_DATA:chunked")
    whole = raw(path)
    with path.open("r+b") as f:
        f.truncate(path.stat().st_size * 3 // 4)
    assert "ends here" in run("copy", path, out, "--select", "lat=3:5", code=4).stderr
    run("copy", path, out, "--select", "time=:12")
    np.testing.assert_array_equal(raw(out)["tas"], whole["tas"][:12])


def test_dry_run_and_json(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    plan = json.loads(run("copy", "-n", "--json", path, out, "--select", "time=:2,lat=0..20").stdout)
    shapes = {v["name"].strip("/"): v["shape"] for v in plan["variables"]}
    assert shapes["tas"] == [2, 3, 30] and not out.exists()
    digest = run("copy", path, out, "--select", "time=:2", "--digest", "--no-history").stdout
    assert ncforge.digest(out).digest in digest


def test_compare(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    run("copy", path, out, "--select", "time=3:9,lon=20..130", "--no-history")
    assert not ncforge.compare(path, out)
    run("compare", path, out, "--select", "lon=20..130", code=3)
    # Each file by its own coordinates.
    run("compare", path, out, "--select", "time=2000-01-23..2000-01-28,lon=20..130")
    assert ncforge.compare(path, out, select={"time": (3.5, 8.5), "lon": (20.0, 130.0)})
    with netCDF4.Dataset(out, "a") as d:
        d["tas"][0, 0, 0] = 9
    assert not ncforge.compare(path, out, select={"time": (3.5, 8.5), "lon": (20.0, 130.0)})
    assert ncforge.compare(path, out, select={"time": (4.5, 8.5), "lon": (20.0, 130.0)}, vars=["tas"])


@pytest.mark.parametrize("storage", [tl.Storage(), tl.Storage("NETCDF4", zlib=True)])
def test_combine(tmp_path: Path, run: Run, storage: tl.Storage) -> None:
    """A part of the whole that tiles make: what is copied of the whole."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (3, 2), storage=storage)
    all_of_it, out, part = (tmp_path / f"{name}.nc" for name in ("all", "out", "part"))
    run("combine", mosaic.paths[0], "-o", all_of_it, "--no-history")
    for select in ("x=5:20", "y=3::4,x=::3", "x=-1", "y=8:16"):
        run("combine", mosaic.paths[0], "-o", out, "-O", "--no-history", "--verify", "--select", select)
        run("copy", "-O", all_of_it, part, "--select", select, "--no-history")
        assert ncforge.compare(out, part), select
    said = run("combine", mosaic.paths[0], "-o", out, "-O", "--select", "x=5:20", "--verify", "--delete-tiles").stderr
    assert all(path.exists() for path in mosaic.paths), said
    run("combine", mosaic.paths[0], "-o", out, "--append", "--select", "x=5:20", code=(1, 2))


def referred(refs: Any) -> xr.Dataset:
    return xr.open_dataset(
        "reference://",
        engine="zarr",
        backend_kwargs={"consolidated": False, "storage_options": {"fo": refs, "remote_protocol": "file"}},
    )


@pytest.mark.parametrize("kind", ["NETCDF4:deflated", "NETCDF4:contiguous", "NETCDF3_64BIT_DATA:chunked"])
@pytest.mark.filterwarnings("ignore")
def test_references(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "in.nc"
    write(path, kind)
    for select in (
        {"time": slice(8, 19)},
        {"time": slice(8, None), "lon": slice(6, 20)},
        {"lat": (-45.0, 45.0)},
        {"lon": (-36.0, 60.0)},
    ):
        refs = ncforge.references(path, inline=0, select=select)
        out = tmp_path / "out.nc"
        ncforge.copy(path, out, select=select, overwrite=True)
        with referred(refs) as found, xr.open_dataset(out) as wanted:
            xr.testing.assert_equal(found.load(), wanted[list(found.variables)].load())
            assert "tas" in found


@pytest.mark.filterwarnings("ignore")
def test_references_of_several_files(tmp_path: Path) -> None:
    paths = []
    for i in range(5):
        paths.append(tmp_path / f"{i}.nc")
        write(paths[-1], "NETCDF4:deflated", 0, (8, 17, 30))
        with netCDF4.Dataset(paths[-1], "a") as d:
            d["time"][:] = d["time"][:] + 8 * i
            d["tas"][:] = d["tas"][:] + i
    with xr.open_mfdataset(
        paths,
        combine="nested",
        concat_dim="time",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        decode_times=False,
    ) as all_of_it:
        tas = all_of_it["tas"].load()
    for select, first, end in (
        ({"time": slice(12, 30)}, 12, 30),
        ({"time": ("2000-02-01", "2000-02-13")}, 12, 25),
        ({"time": slice(16, 20)}, 16, 20),
    ):
        refs = ncforge.references(paths, along="time", select=select)
        with referred(refs) as found:
            np.testing.assert_array_equal(found["tas"], tas[first:end])
            assert found.sizes["time"] == end - first
    refs = ncforge.references(paths, along="time", select=select, inline=0)
    used = {chunk[0] for chunk in refs["refs"].values() if isinstance(chunk, list)}
    # What does not lie along `time` is the first file's.
    assert used == {str(paths[0]), str(paths[2])}


@pytest.mark.parametrize("where", ["x=3:10", "y=0:400:2", "x=1:"])
def test_chunks_that_a_subset_cuts(tmp_path: Path, run: Run, where: str) -> None:
    """Values are those of the chunks, written or not; a chunk that passes the memory is an error that says so."""
    source, out = tmp_path / "a.nc", tmp_path / "b.nc"
    with netCDF4.Dataset(source, "w") as d:
        d.createDimension("y", 400)
        d.createDimension("x", 4096)
        some = d.createVariable("some", "f4", ("y", "x"), zlib=True, chunksizes=(50, 64), fill_value=-1)
        some[100:150, :900] = np.arange(45000).reshape(50, 900)
        large = d.createVariable("large", "f4", ("y", "x"), zlib=True, chunksizes=(400, 4096))
        large[:] = 1
    dim, _, indices = where.partition("=")
    cut = slice(*(int(n) if n else None for n in indices.split(":")))
    index = {"x": (slice(None), cut), "y": (cut, slice(None))}[dim]
    run("copy", source, out, "--select", where, "--vars", "some", "--chunks", "y/50,x/64", "--verify")
    with netCDF4.Dataset(source) as a, netCDF4.Dataset(out) as b:
        assert np.array_equal(a["some"][index].filled(), b["some"][:].filled())
    run("compare", source, source, "--select", where)
    done = run("copy", source, out, "-O", "--select", where, "--memory", "4M", code=2)
    assert "needs 655" in done.stderr and "bytes of memory, the budget is" in done.stderr
    done = run("compare", source, source, "--select", where, "--memory", "4M", code=2)
    assert "needs 655" in done.stderr and "bytes of memory, the budget is" in done.stderr


@pytest.mark.parametrize(
    "where", ["lon=300..10", "lon=200..100", "lon=180..135", "lon==315..45", "lon=3", "lon=2:6", "lon=:"]
)
def test_a_part_is_compared_with_the_selection_of_the_whole(tmp_path: Path, run: Run, where: str) -> None:
    whole, out = tmp_path / "whole.nc", tmp_path / "part.nc"
    with netCDF4.Dataset(whole, "w") as ds:
        ds.createDimension("lon", 8)
        lon = ds.createVariable("lon", "f8", ("lon",))
        lon.units, lon[:] = "degrees_east", np.arange(8) * 45.0
        ds.createVariable("v", "i4", ("lon",))[:] = np.arange(8)
    run("copy", whole, out, "--select", where)
    run("compare", whole, out, "--select", where)
    run("compare", whole, whole, "--select", where)
    with netCDF4.Dataset(out, "a") as ds:
        ds["v"][0] = 99
    run("compare", whole, out, "--select", where, code=3)
