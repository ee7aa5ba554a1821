"""Times of files that count from other dates, joined: what is a time, and the ranges of times. netCDF4 and cftime are the judges."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from numpy.ma.testutils import assert_array_equal

import ncforge
from conftest import Run

RANGES: list[tuple[str, list[float]]] = [
    ("valid_range", [0.0, 25.0]),
    ("actual_range", [0.0, 25.0]),
    ("valid_min", [0.0]),
    ("valid_max", [25.0]),
]


def file(path: Path, units: str, values: Any, kind: str = "f8", fill: Any = None, **attrs: Any) -> Path:
    """Times without masks or ranges on their way into the file."""
    with netCDF4.Dataset(path, "w") as ds:
        ds.set_auto_mask(False)
        ds.createDimension("time", None)
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
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "w") as ds:
            ds.createDimension("time", None)
            ds.createDimension("two", 2)
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
