"""Times of files that count from other dates, joined: what is a time, and the ranges of times. netCDF4 and cftime are the judges."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from numpy.ma.testutils import assert_array_equal

import ncforge
from conftest import Run
from datasets import created
from days import part, records

RANGES: list[tuple[str, list[float]]] = [
    ("valid_range", [0.0, 25.0]),
    ("actual_range", [0.0, 25.0]),
    ("valid_min", [0.0]),
    ("valid_max", [25.0]),
]


def file(path: Path, units: str, values: Any, kind: str = "f8", fill: Any = None, **attrs: Any) -> Path:
    """Times without masks or ranges on their way into the file."""
    with created(path, time=None) as ds:
        ds.set_auto_mask(False)
        time = ds.createVariable("time", kind, ("time",), fill_value=fill)
        time.units = units
        time[:] = values
        time.setncatts(attrs)
    return path


def opened(files: list[Path], out: Path, how: str) -> Any:
    """The joined files as a dataset of netCDF4, or one that is none."""
    if how == "open_many":
        return ncforge.open_many(files)
    ncforge.concat(files, out, verify=True, overwrite=True)
    return netCDF4.Dataset(out)


def dates(variable: Any) -> Any:
    """Dates; those that are none are masked."""
    return netCDF4.num2date(variable[:], variable.units, only_use_cftime_datetimes=True)


@pytest.mark.parametrize("how", ["concat", "open_many"])
@pytest.mark.parametrize("kind", ["f8", "f4", "i4"])
@pytest.mark.parametrize(("name", "values"), RANGES)
def test_ranges_are_in_the_units_of_the_whole(
    tmp_path: Path, name: str, values: list[float], kind: str, how: str
) -> None:
    """Also where the numbers of all files are the same, and where those of the later ones are not exactly numbers of their type."""
    attrs: dict[str, Any] = {name: np.array(values, kind)}
    a = file(tmp_path / "a.nc", "hours since 2000-01-01", [0, 1, 25], **attrs)
    b = file(tmp_path / "b.nc", "hours since 2000-01-03", [0, 1, 25], **attrs)
    in_seconds: dict[str, Any] = {name: np.array([3600.0 * x for x in values], kind)}
    c = file(tmp_path / "c.nc", "seconds since 2000-01-05", [0, 1800], **in_seconds)
    files = [a, b] if kind == "i4" else [a, b, c]
    with opened(files, tmp_path / "all.nc", how) as ds:
        found, time = dates(ds["time"]), ds["time"]
        wanted = []
        for path in files:
            with netCDF4.Dataset(path) as one:
                wanted.append(dates(one["time"]))
        assert not np.ma.is_masked(found)
        assert_array_equal(found, np.ma.concatenate(wanted))
        low, high = 0, (96 if c in files else 48) + 25
        held = np.atleast_1d(time.getncattr(name)).astype("f8")
        assert held.tolist() == {"valid_min": [low], "valid_max": [high]}.get(name, [low, high])
        assert np.asarray(time.getncattr(name)).dtype == kind


@pytest.mark.parametrize("how", ["concat", "open_many"])
def test_ranges_of_bounds(tmp_path: Path, how: str) -> None:
    """Bounds without units count as their coordinate does, and so do the ranges that they tell."""
    for i, first in enumerate(["2000-01-01", "2000-02-01"]):
        with created(tmp_path / f"{i}.nc", time=None, two=2) as ds:
            time = ds.createVariable("time", "f8", ("time",))
            time.units, time.bounds = f"days since {first}", "time_bnds"
            time[:] = [0.5, 1.5]
            bounds = ds.createVariable("time_bnds", "f8", ("time", "two"))
            bounds[:] = [[0, 1], [1, 2]]
            bounds.valid_range = [0.0, 2.0]
    with opened([tmp_path / "0.nc", tmp_path / "1.nc"], tmp_path / "all.nc", how) as ds:
        assert ds["time_bnds"][:].tolist() == [[0, 1], [1, 2], [31, 32], [32, 33]]
        assert ds["time_bnds"].valid_range.tolist() == [0, 33]


def test_a_range_that_the_type_does_not_hold_is_noted(tmp_path: Path, run: Run) -> None:
    a = file(tmp_path / "a.nc", "days since 2000-01-01", [0, 1], valid_max=np.int32(1))
    b = file(tmp_path / "b.nc", "hours since 2000-01-03", [0, 12], valid_max=np.int32(12))
    done = run("concat", a, b, "-o", tmp_path / "all.nc", "--verify")
    assert re.search(r"`time:valid_max` differs: 1 in .*a.nc`, 2.5 in .*b.nc`", done.stderr)
    with netCDF4.Dataset(tmp_path / "all.nc") as ds:
        assert ds["time"].valid_max == 1 and ds["time"].valid_max.dtype == "i4"


MISSING: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "several": ({"missing_value": np.array([9999.0, 8888.0])}, [8888, 9999]),
    "both": ({"fill": -1.0, "missing_value": 9999.0}, [9999, -1]),
    "default": ({}, [netCDF4.default_fillvals["f8"]]),
    "other type": ({"missing_value": np.int32(9999)}, [9999]),
    "float": ({"kind": "f4", "missing_value": np.float32(1e20)}, [1e20]),
    "integer": ({"kind": "i4", "missing_value": np.array([-9, -8], "i4")}, [-9, -8]),
}


@pytest.mark.parametrize("how", ["concat", "open_many"])
@pytest.mark.parametrize("missing", MISSING)
def test_what_is_no_time_becomes_none(tmp_path: Path, missing: str, how: str) -> None:
    """Nor does it put a file behind those that follow it."""
    attrs, values = MISSING[missing]
    a = file(tmp_path / "a.nc", "days since 2000-01-01", [0, 1], **attrs)
    b = file(tmp_path / "b.nc", "days since 2000-01-03", [0, *values], **attrs)
    c = file(tmp_path / "c.nc", "days since 2000-01-10", [0, 1], **attrs)
    with opened([a, b, c], tmp_path / "all.nc", how) as ds:
        found = ds["time"][:]
        assert found.tolist() == [0, 1, 2, *[None] * len(values), 9, 10]
        assert_array_equal(found.data[3:-2], np.array(values, found.dtype))


def test_zeros_are_times_where_they_fill_holes(tmp_path: Path, run: Run) -> None:
    a = file(tmp_path / "a.nc", "days since 2000-01-01", [0, 1])
    b = file(tmp_path / "b.nc", "days since 2000-01-03", [0, 1])
    run("concat", a, b, "-o", tmp_path / "all.nc", "--holes", "zero")
    with netCDF4.Dataset(tmp_path / "all.nc") as ds:
        assert ds["time"][:].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "attrs", [{"fill": 9999.0}, {"missing_value": np.array([-1.0, 9999.0])}, {"fill": -1.0, "missing_value": 9999.0}]
)
def test_no_time_becomes_a_missing_one(tmp_path: Path, run: Run, attrs: dict[str, Any]) -> None:
    a = file(tmp_path / "a.nc", "hours since 2000-01-01", [9997, 9998], **attrs)
    b = file(tmp_path / "b.nc", "hours since 2000-01-01 12:00", [9987, 9988], **attrs)
    done = run("concat", a, b, "-o", tmp_path / "all.nc", code=4)
    assert (
        "its type double does not hold the value 9987.0" in done.stderr and "9999.0 stands for no value" in done.stderr
    )
    assert not (tmp_path / "all.nc").exists()
    with ncforge.open_many([a, b]) as ds, pytest.raises(ncforge.InvalidError, match="does not hold"):
        ds["time"][:]


def cells(path: Path, first: str, kind: str = "bare") -> Path:
    """Two days of no leap year with bounds, which say of how they count only what CF lets them."""
    with created(path, time=None, two=2) as ds:
        time = ds.createVariable("time", "f8", ("time",))
        time.units, time.calendar = f"days since {first}", "noleap"
        time[:] = [0.5, 1.5]
        names = {"blank": " time_bnds ", "path": "/g/time_bnds", "relative": "g/time_bnds"}
        if kind != "later" or path.name == "b.nc":
            time.setncattr("climatology" if kind == "climatology" else "bounds", names.get(kind, "time_bnds"))
        group = ds.createGroup("g") if kind in ("path", "relative") else ds
        bounds = group.createVariable("time_bnds", "f8", ("time", "two"))
        bounds[:] = [[0, 1], [1, 2]]
        if kind in ("units", "calendar"):
            bounds.units = time.units
        if kind == "empty":
            bounds.units = ""
        if kind == "calendar" and path.name == "b.nc":
            bounds.calendar = "365_day"
    return path


@pytest.mark.parametrize("how", ["concat", "open_many"])
@pytest.mark.parametrize(
    "kind", ["bare", "climatology", "blank", "path", "relative", "empty", "later", "units", "calendar"]
)
def test_bounds_take_what_they_lack_from_their_coordinate(tmp_path: Path, kind: str, how: str) -> None:
    files = [cells(tmp_path / "a.nc", "2000-01-01", kind), cells(tmp_path / "b.nc", "2001-01-01", kind)]
    with opened(files, tmp_path / "all.nc", how) as ds:
        found = ds["g/time_bnds" if kind in ("path", "relative") else "time_bnds"][:]
        assert found.tolist() == [[0, 1], [1, 2], [365, 366], [366, 367]]
        assert ds["time"][:].tolist() == [0.5, 1.5, 365.5, 366.5]


@pytest.mark.parametrize(("second", "same"), [("2000-01-03", True), ("2001-01-01", False)])
def test_a_time_whose_calendar_is_not_sure(tmp_path: Path, run: Run, second: str, same: bool) -> None:
    """FMS names the calendar at the coordinate alone. CF says that `average_T1` then has the standard one: converted where that is no
    difference, and else refused."""
    for name, first in (("a.nc", "2000-01-01"), ("b.nc", second)):
        with netCDF4.Dataset(cells(tmp_path / name, first), "a") as ds:
            begin = ds.createVariable("average_T1", "f8", ("time",))
            begin.units = ds["time"].units
            begin[:] = [0, 1]
    words = ("concat", tmp_path / "a.nc", tmp_path / "b.nc", "-o", tmp_path / "all.nc")
    done = run(*words, code=0 if same else 4)
    if same:
        with netCDF4.Dataset(tmp_path / "all.nc") as ds:
            assert ds["average_T1"][:].tolist() == [0, 1, 2, 3]
        return
    assert "`average_T1:units` differs" in done.stderr and "names no calendar" in done.stderr
    for name in ("a.nc", "b.nc"):
        with netCDF4.Dataset(tmp_path / name, "a") as ds:
            ds["average_T1"].calendar = "noleap"
    run(*words)
    with netCDF4.Dataset(tmp_path / "all.nc") as ds:
        assert ds["average_T1"][:].tolist() == [0, 1, 365, 366]


def test_a_single_time_is_compared_as_a_moment(tmp_path: Path, run: Run) -> None:
    """`forecast_reference_time` often counts from the date of its file."""
    for name, first, since, hours in (
        ("a.nc", 0, "2000-01-01", 48),
        ("same.nc", 2, "2000-01-03", 0),
        ("other.nc", 2, "2000-01-03", 6),
    ):
        with netCDF4.Dataset(file(tmp_path / name, "days since 2000-01-01", [first, first + 1]), "a") as ds:
            made = ds.createVariable("reftime", "f8", ())
            made.units, made[...] = f"hours since {since}", hours
    a, out = tmp_path / "a.nc", tmp_path / "all.nc"
    run("concat", a, tmp_path / "same.nc", "-o", out, "--verify")
    done = run("concat", a, tmp_path / "other.nc", "-o", tmp_path / "no.nc", code=4)
    assert "`reftime`, which does not lie along `time`, differs" in done.stderr and "--differing first" in done.stderr
    done = run("concat", a, tmp_path / "other.nc", "-o", tmp_path / "first.nc", "--differing", "first", "--verify")
    assert "`reftime` differs" in done.stderr
    for name in ("a.nc", "other.nc"):
        with netCDF4.Dataset(tmp_path / name, "a") as ds:
            made = ds.createVariable("day", "i4", ())
            made.units, made[...] = ("days since 2000-01-01", 2) if name == "a.nc" else ("hours since 2000-01-02", 5)
    words = ("concat", tmp_path / "a.nc", tmp_path / "other.nc", "-o", tmp_path / "day.nc", "--differing")
    run(*words, "first")
    for path in (out, tmp_path / "first.nc"):
        with netCDF4.Dataset(path) as ds:
            assert (ds["reftime"][...], ds["reftime"].units) == (48, "hours since 2000-01-01")


@pytest.mark.parametrize("second", ["days since 2001-01-01", "days since 2000-01-01"])
def test_the_error_names_the_calendar(tmp_path: Path, run: Run, second: str) -> None:
    """Other units of one calendar are converted: they are in nobody's way."""
    for name, units, calendar in (("a", "days since 2000-01-01", "360_day"), ("b", second, "standard")):
        with created(tmp_path / f"{name}.nc", time=None) as ds:
            time = ds.createVariable("time", "f8", ("time",))
            time.units, time.calendar = units, calendar
            time[:] = [1, 2] if name == "a" else [400, 401]
    done = run("concat", tmp_path / "a.nc", tmp_path / "b.nc", "-o", tmp_path / "out.nc", code=4)
    assert "the attribute `time:calendar` differs" in done.stderr, done.stderr


def test_other_units_of_time(tmp_path: Path, run: Run) -> None:
    def bounds(ds: netCDF4.Dataset) -> None:
        ds.createDimension("two", 2)
        ds["time"].bounds = "time_bnds"
        times = ds["time"][:]
        ds.createVariable("time_bnds", "f8", ("time", "two"))[:] = np.stack([times, times + 1], axis=1)

    a = part(tmp_path / "a.nc", 0, 31, units="days since 2001-01-01", change=bounds)
    b = part(tmp_path / "b.nc", 0, 28, units="days since 2001-02-01 00:00:00", change=bounds)
    c = part(tmp_path / "c.nc", 0, 24, units="hours since 2001-03-01T00:00:00Z", change=bounds)
    done = run("concat", b, c, a, "-o", tmp_path / "out.nc", "--verify")
    assert "`time` has other units in 2 of 3 files" in done.stderr
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        times = ds["time"][:]
        assert ds["time"].units == "days since 2001-01-01"
        assert times[:59].tolist() == list(range(59))
        assert np.allclose(times[59:], 59 + np.arange(24) / 24, rtol=1e-14)
        assert ds["time_bnds"][:59, 1].tolist() == list(range(1, 60))
        dates: Any = netCDF4.num2date(times, ds["time"].units)
        assert str(dates[65]) == "2001-03-01 06:00:00"


def test_units_that_are_not_converted(tmp_path: Path, run: Run) -> None:
    def calendar(ds: netCDF4.Dataset) -> None:
        ds["time"].calendar = "noleap"

    a = part(tmp_path / "a.nc", 0, 3, time_type="i4")
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("hours", {"units": "hours since 2000-01-11 06:00", "time_type": "i4"}, "does not hold"),
        ("months", {"units": "months since 2000-02-01", "time_type": "i4"}, "`time:units` differs"),
        ("noleap", {"units": "days since 2000-02-01", "time_type": "i4", "change": calendar}, "differs"),
    ]
    for name, options, says in cases:
        b = part(tmp_path / f"{name}.nc", 0, 3, **options)
        done = run("concat", a, b, "-o", tmp_path / "out.nc", code=4)
        assert says in done.stderr and b.name in done.stderr, name
        assert not (tmp_path / "out.nc").exists()


@pytest.mark.parametrize(
    "names", [("gregorian", "standard"), ("Standard", None), ("noleap", "365_day"), ("all_leap", "366_day")]
)
def test_names_of_one_calendar(tmp_path: Path, run: Run, names: tuple[str | None, ...]) -> None:
    def named(name: str | None) -> Callable[[netCDF4.Dataset], None]:
        return lambda ds: ds["time"].delncattr("calendar") if name is None else ds["time"].setncattr("calendar", name)

    files = [part(tmp_path / f"{i}.nc", 3.0 * i, change=named(name)) for i, name in enumerate(names)]
    run("concat", *files, "-o", tmp_path / "out.nc")
    assert records(tmp_path / "out.nc") == 6
    run("refs", *files, "-o", tmp_path / "out.json")
    if None not in names:
        with ncforge.MFDataset(files) as ds:
            assert ncforge.MFTime(ds["time"]).calendar == names[0]


@pytest.mark.parametrize("given", [(3, 2, 1), (2, None, 1, 3), (1, 3, 2)])
def test_single_steps_rise(tmp_path: Path, given: tuple[int | None, ...]) -> None:
    """In whatever order they are given; files without steps say nothing. ``open_many`` has the same order."""
    files = [part(tmp_path / f"{i}.nc", first or 0, 0 if first is None else 1) for i, first in enumerate(given)]
    ncforge.concat(files, tmp_path / "out.nc")
    with ncforge.Dataset(tmp_path / "out.nc") as joined, ncforge.open_many(files) as many:
        assert joined["time"][:].tolist() == many["time"][:].tolist() == [1, 2, 3]
