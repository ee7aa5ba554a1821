"""``--select``: which subset indices, values of coordinates and dates mean. NumPy, xarray, cftime and ncks say what is in them."""

from __future__ import annotations

import datetime
import random
import shutil
from pathlib import Path
from typing import Any

import cftime
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
from commands import execute
from conftest import Run
from datasets import created
from selecting import Array, picked, raw, same, selected, write

CALENDARS = ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"]


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
    with created(path, lat=12) as d:
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


def test_indices_and_ends_that_are_not_there(tmp_path: Path) -> None:
    """Indices one by one are all there, or an error, as a single one is; infinity is an end, no number is none."""
    path = tmp_path / "a.nc"
    with created(path, ncforge, x=6) as ds:
        ds.createVariable("x", "f8", ("x",))[:] = np.arange(6)
    for indices in ([4, 6], [-8, -7], range(4, 10, 4), np.array([6])):
        with pytest.raises(ncforge.InvalidError, match="there is no index"):
            ncforge.copy(path, tmp_path / "no.nc", select={"x": indices})
    for ends in ((np.nan, 2.0), (2.0, np.nan)):
        with pytest.raises(ncforge.InvalidError, match="neither a number nor a date"):
            ncforge.copy(path, tmp_path / "no.nc", select={"x": ends})
    for pick, found in {
        (np.inf, 2.0): [2, 3, 4, 5],
        (2.0, -np.inf): [0, 1, 2],
        (-np.inf, np.inf): [*range(6)],
        (4, None): [4, 5],
    }.items():
        ncforge.copy(path, tmp_path / "o.nc", select={"x": pick}, overwrite=True)
        assert ncforge.open_many([path], along="x", select={"x": pick})["x"][:].tolist() == found
        with netCDF4.Dataset(tmp_path / "o.nc") as ds:
            assert ds["x"][:].tolist() == found
    ncforge.copy(path, tmp_path / "o.nc", select={"x": np.array(3)}, overwrite=True)
    with netCDF4.Dataset(tmp_path / "o.nc") as ds:
        assert ds["x"][:].tolist() == [3]


def test_a_coordinate_in_a_group(tmp_path: Path) -> None:
    """A dimension of the root may have its coordinate in one group; of two nobody knows which one is meant."""
    path = tmp_path / "a.nc"
    for groups in (["g"], ["g", "h"]):
        with created(path, ncforge, time=4) as ds:
            for group in groups:
                v = ds.createGroup(group).createVariable("time", "f8", ("time",))
                v.units, v[:] = "days since 2000-01-01", range(4)
        if len(groups) == 1:
            ncforge.copy(path, tmp_path / "o.nc", select={"time": "2000-01-02..2000-01-03"})
            with netCDF4.Dataset(tmp_path / "o.nc") as ds:
                assert ds["g/time"][:].tolist() == [1, 2]
    with pytest.raises(ncforge.InvalidError, match="several groups have a coordinate"):
        ncforge.copy(path, tmp_path / "no.nc", select={"time": "2000-01-02"})


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
        with created(path, time=None) as d:
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
        with created(path, lon=len(values)) as d:
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
        execute("ncks", "-O", "-d", "lon,300.,40.", "-d", "lat,-20.,20.", path, theirs)
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
