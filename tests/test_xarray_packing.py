"""Values and times that ``ncforge.to_netcdf`` packs, and those that the type of a file does not hold, which it must not write."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from peers import open_netcdf4
from xarray_days import PACKED, back, day, made, refused

xr = pytest.importorskip("xarray")
dask = pytest.importorskip("dask")


@pytest.mark.parametrize("lazy", [False, True])
def test_values_that_do_not_fit_the_packing(tmp_path: Path, lazy: bool) -> None:
    path = made(tmp_path / "a.nc")
    wrong = day(2)
    wrong["t2m"][1, 2, 3] = 313.0
    place = r"`t2m`: 313.0 at \[1, 2, 3\] does not fit int16 \(-32768 to 32767\).* from 247.232 to 312.767"
    if lazy:
        wrong = wrong.chunk(time=1, lat=2)
    refused(path, wrong, place)
    assert back(path).sizes["time"] == 2
    refused(path, wrong.assign_coords(time=day()["time"]).drop_vars("mask"), place, region={"time": slice(0, 2)})
    # A new file, with the encoding of the dataset and of the call; what was there survives.
    wrong["t2m"].encoding = dict(PACKED)
    refused(path, wrong, place, mode="w")
    wrong["t2m"].encoding = {}
    refused(path, wrong, place, encoding={"t2m": PACKED})
    (tmp_path / "a.nc").unlink()
    refused(path, wrong, place, encoding={"t2m": PACKED})


def test_the_largest_and_the_smallest_that_fit(tmp_path: Path) -> None:
    path = made(tmp_path / "a.nc")
    ends = day(2)
    ends["t2m"][0, 0] = 280 + 32.767
    ends["t2m"][1, 0] = 280 - 32.767
    ends["t2m"][1, 1, 1] = np.nan
    ncforge.to_netcdf(ends, path, append_dim="time")
    with open_netcdf4(path) as nc:
        nc.set_auto_mask(False)
        nc.set_auto_scale(False)
        assert nc["t2m"][2:].max() == 32767 and (nc["t2m"][3, 0] == -32767).all() and nc["t2m"][3, 1, 1] == -32768
    xr.testing.assert_allclose(back(path), xr.concat([day(), ends], "time", data_vars="minimal"), atol=6e-4)


@pytest.mark.parametrize(
    ("values", "encoding", "match"),
    [
        (np.array([1, 70_000]), {"dtype": "i2"}, r"70000 at \[1\] does not fit int16"),
        (np.array([1, -1]), {"dtype": "u1"}, r"-1 at \[1\] does not fit uint8"),
        (np.array([1.0, 255.6]), {"dtype": "u1"}, r"255.6 at \[1\]"),
        (np.array([1.0, np.inf]), {"dtype": "i4", "_FillValue": -1}, r"inf at \[1\]"),
        (np.array([1.0, 2.0**63]), {"dtype": "i8"}, r"9.22.*e\+18 at \[1\]"),
        (np.array([1.0, 300.0]), {"dtype": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)}, r"300.0 at \[1\]"),
        (np.array([1.0, np.nan]), {"dtype": "i2", "scale_factor": 0.1}, r"nan at \[1\].*needs a _FillValue"),
    ],
)
def test_integers_of_an_encoding(tmp_path: Path, values: Any, encoding: Any, match: str) -> None:
    refused(tmp_path / "i.nc", xr.Dataset({"v": ("x", values)}), f"`v`: {match}", encoding={"v": encoding})


def test_integers_that_fit(tmp_path: Path) -> None:
    values = {"a": [0.0, 254.0], "b": [-128.4, 127.4], "c": [0, 2**63 - 1], "d": [True, False], "e": [np.nan, 3.0]}
    # Not what xarray reads as unsigned.
    values["f"] = [-5.0, 3.0]
    ds = xr.Dataset({name: ("x", np.array(v)) for name, v in values.items()})
    encoding: dict[str, Any] = {
        "a": {"dtype": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)},
        "b": {"dtype": "i1", "_FillValue": 0},
        "c": {"dtype": "u8"},
        "d": {"dtype": "i1"},
        "e": {"dtype": "i2", "_FillValue": -1},
        "f": {"dtype": "i1", "_Unsigned": "True", "_FillValue": -1},
    }
    ncforge.to_netcdf(ds, tmp_path / "i.nc", encoding=encoding)
    found = back(tmp_path / "i.nc")
    for name, v in values.items():
        assert np.array_equal(found[name].values, np.around(np.array(v)), equal_nan=name == "e"), name


HOURS = {"dtype": "i2", "units": "hours since 2000-01-01"}
SECONDS = {"dtype": "i4", "units": "seconds since 1900-01-01"}
STEPS = {"dtype": "i2", "units": "seconds"}


@pytest.mark.parametrize(
    ("value", "encoding", "match"),
    [
        ("2000-01-03", SECONDS, r"2000-01-03.* at \[1\] does not fit int32 .* 'seconds since 1900-01-01'"),
        ("2010-01-01", HOURS, r"2010-01-01.* does not fit int16"),
        ("NaT", HOURS, r"NaT at \[1\] does not fit int16: a missing value needs a _FillValue"),
        (np.timedelta64(10**6, "s"), STEPS, r"1000000 seconds at \[1\] does not fit int16"),
        (np.timedelta64("NaT"), STEPS, r"NaT at \[1\]"),
        (10, {"dtype": "i2", "units": "seconds since 2000-01-01", "calendar": "noleap"}, r"2000-01-11 .* at \[1\]"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_times_that_do_not_fit(tmp_path: Path, value: Any, encoding: Any, match: str, lazy: bool) -> None:
    first: Any
    if isinstance(value, int):
        days = xr.date_range("2000-01-01", periods=value + 1, calendar="noleap", use_cftime=True).values
        first, wrong = days[:1], days[[0, -1]]
    elif isinstance(value, str):
        first = np.array(["1955-01-01" if encoding is SECONDS else "2000-01-02"], "M8[ns]")
        wrong = np.append(first, np.datetime64(value, "ns"))
    else:
        first = np.array([5], "m8[s]")
        wrong = np.append(first, value.astype("m8[s]"))
    path = tmp_path / "t.nc"
    ds = xr.Dataset({"b": ("t", wrong)})
    ds = ds.chunk() if lazy else ds
    refused(path, ds, f"`b`: {match}", encoding={"b": encoding})
    ncforge.to_netcdf(xr.Dataset({"b": ("t", first)}), path, unlimited_dims=["t"], encoding={"b": encoding})
    refused(path, ds, f"`b`: {match}", append_dim="t")


def test_missing_times_that_have_a_value(tmp_path: Path) -> None:
    times = np.array(["2000-01-03", "NaT"], "M8[ns]")
    for encoding in ({"dtype": "i8"}, {"dtype": "i2", "_FillValue": -1}):
        given = {"b": {"units": "days since 2000-01-01", **encoding}}
        ncforge.to_netcdf(xr.Dataset({"b": ("t", times)}), tmp_path / "t.nc", encoding=given)
        assert np.array_equal(back(tmp_path / "t.nc")["b"].values, times, equal_nan=True)


def refused_values(path: Path, values: Any, match: str) -> None:
    ds = xr.Dataset({"b": ("t", np.asarray(values))})
    refused(path, ds, match, append_dim="t")
    refused(path, ds.chunk(t=1), match, append_dim="t")
    refused(path, ds.isel(t=slice(0, 1)), match, region={"t": slice(0, 1)})


TWO = {"missing_value": np.array([-9, -99], "i2")}


@pytest.mark.parametrize(
    ("kind", "fill", "attrs", "stored"),
    [
        ("f8", np.nan, {"missing_value": -9.0}, np.nan),
        ("f8", None, {"missing_value": [-9.0, -99.0]}, -9),
        ("f8", None, {"missing_value": [np.nan, -99.0]}, np.nan),
        ("f8", -1, {"missing_value": "none"}, -1),
        ("f8", None, {"missing_value": "-9"}, np.nan),
        ("f4", None, {"missing_value": 1e300}, np.nan),
        ("f4", np.nan, {"missing_value": np.int32(-9)}, np.nan),
        ("f4", -1, {"_Unsigned": "true"}, -1),
        ("i2", -1, {"missing_value": np.int16(-9)}, -1),
        ("i2", -1, {"missing_value": np.nan}, -1),
        ("i2", -1, {**TWO, "scale_factor": 0.5}, -1),
        ("i2", None, {**TWO, "scale_factor": 0.5}, -9),
        ("i4", None, {"missing_value": [1e30, -9]}, -9),
        ("i1", -1, {"missing_value": np.int8(-2), "_Unsigned": "true"}, -1),
        ("i1", None, {"missing_value": np.int16(255), "_Unsigned": "true"}, -1),
        ("i1", -1, {"_Unsigned": "True"}, -1),
        ("i4", -1, {**TWO, "units": "days since 2000-01-01"}, -1),
        ("f8", np.nan, {**TWO, "units": "days since 2000-01-01"}, np.nan),
        ("i4", -1, {**TWO, "units": "seconds"}, -1),
    ],
)
def test_missing_values_become_what_the_file_says(
    tmp_path: Path, kind: str, fill: Any, attrs: Any, stored: Any
) -> None:
    """xarray writes one value for missing ones, and refused what a file may have, or changed values for it."""
    path = tmp_path / "m.nc"
    with open_netcdf4(path, "w") as nc:
        nc.createDimension("t", None)
        made = nc.createVariable("v", kind, ("t",), fill_value=fill)
        made.setncatts(attrs)
        made.set_auto_maskandscale(False)
        made[:] = [1, 2, 3]
    read = {"decode_timedelta": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xr.SerializationWarning)
        old = back(path, **read)
        undecoded = back(path, mask_and_scale=False, decode_times=False)
    new = old.where(np.arange(3) != 1)
    if kind in ("f4", "f8") and "units" not in attrs:
        new["v"][2] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ncforge.to_netcdf(new, path, append_dim="t")
        ncforge.to_netcdf(new.chunk(t=2), path, append_dim="t")
        ncforge.to_netcdf(new, path, region={"t": slice(0, 3)})
        ncforge.to_netcdf(undecoded, path, append_dim="t")
    with open_netcdf4(path) as nc:
        nc.set_auto_maskandscale(False)
        assert np.array_equal(nc["v"][[1, 4, 7, 10]], [stored] * 3 + [2], equal_nan=True)
        for name, value in attrs.items():
            assert np.array_equal(nc["v"].getncattr(name), value, equal_nan=np.asarray(value).dtype.kind == "f")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xr.SerializationWarning)
        xr.testing.assert_equal(back(path, **read), xr.concat([new] * 3 + [old], "t"))


def test_missing_values_that_the_file_has_no_integer_for(tmp_path: Path) -> None:
    path = tmp_path / "m.nc"
    with open_netcdf4(path, "w") as nc:
        nc.createDimension("t", None)
        nc.createVariable("b", "i2", ("t",)).setncatts({"missing_value": 1e30, "scale_factor": 0.5})
        nc["b"][:] = [1, 2]
    refused_values(path, [np.nan], r"`b`: nan at \[0\] does not fit int16: a missing value needs a _FillValue")


def test_numbers_where_the_file_has_true_and_false(tmp_path: Path) -> None:
    path = tmp_path / "b.nc"
    ncforge.to_netcdf(xr.Dataset({"b": ("t", [True, False])}), path, unlimited_dims=["t"])
    for wrong in ([5, 0], [0.5, np.nan]):
        refused_values(path, wrong, "'b' is (int|float)64, in the file true or false; use `astype")
    ncforge.to_netcdf(xr.Dataset({"b": ("t", [False, True])}), path, append_dim="t")
    assert back(path)["b"].values.tolist() == [True, False, False, True]


def test_times_where_the_file_has_numbers(tmp_path: Path) -> None:
    path = tmp_path / "n.nc"
    with open_netcdf4(path, "w") as nc:
        nc.createDimension("t", None)
        nc.createVariable("b", "f8", ("t",))[:] = [1, 2]
    days = xr.date_range("2000-01-01", periods=2, calendar="noleap", use_cftime=True).values
    for wrong in (np.array(["2000-01-01"], "M8[ns]"), np.array([5], "m8[s]"), days):
        refused_values(path, wrong, "'b' has times, in the file numbers without units")


def test_values_that_are_not_in_the_enum(tmp_path: Path) -> None:
    path = tmp_path / "e.nc"
    with open_netcdf4(path, "w") as nc:
        nc.createDimension("t", None)
        kind = nc.createEnumType("u1", "sky", {"clear": 0, "cloudy": 3})
        nc.createVariable("b", kind, ("t",))[:] = [0, 3]
    refused_values(path, [7, 0], r"`b`: 7 at \[0\] is not in the enum, which has 0 \(clear\), 3 \(cloudy\)")
    # 255 is read where nothing was written.
    ncforge.to_netcdf(xr.Dataset({"b": ("t", np.array([3, 255], "u1"))}), path, append_dim="t")
    with xr.open_dataset(path, engine="ncforge") as ds:
        ds = ds.load()
    assert ds["b"].values.tolist() == [0, 3, 3, 255]
    ds["b"][0] = 7
    path.unlink()
    refused(path, ds, "`b`: 7 at", mode="w")


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("fill", [-9, None])
def test_fractions_do_not_go_into_integers(tmp_path: Path, lazy: bool, fill: int | None) -> None:
    """They were rounded. A new variable is what its encoding asks for, and is rounded as xarray does it."""
    path = tmp_path / "i.nc"

    def numbers(values: Any, first: int) -> Any:
        ds = xr.Dataset({"v": ("t", np.array(values, "f4"))}, {"t": first + np.arange(len(values)) * 1.0})
        return ds.chunk({"t": 1}) if lazy else ds

    how = {"dtype": "i4"} if fill is None else {"dtype": "i4", "_FillValue": fill}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ncforge.to_netcdf(numbers([1, 2.5], 0), path, encoding={"v": how}, unlimited_dims=["t"])
        match = r"`v`: 0.25 at \[1\] is not a whole number, and the file has int32"
        refused(path, numbers([3, 0.25], 2), match, append_dim="t")
        refused(path, numbers([3, 0.25], 0), match, region={"t": slice(0, 2)})
        ncforge.to_netcdf(numbers([3, 4], 2), path, append_dim="t")
        ncforge.to_netcdf(numbers([5, 6], 0), path, region={"t": slice(0, 2)})
    with open_netcdf4(path) as nc:
        assert nc["v"][:].tolist() == [5, 6, 3, 4]


@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "i2"])
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize(
    "factors", [{"scale_factor": 0.01}, {"add_offset": 273.15}, {"scale_factor": 0.01, "add_offset": 273.15}]
)
@pytest.mark.parametrize("of", [float, np.float64, np.float32])
def test_packing_is_the_same_in_every_write(
    tmp_path: Path, kind: str, filled: bool, factors: dict[str, float], of: Any
) -> None:
    """Python's factors were calculated with in the precision of the data, those of a file in double precision."""
    packing = {"dtype": "i2", **{key: of(value) for key, value in factors.items()}}
    if filled:
        packing["_FillValue"] = -32768
    low, high = (0, 300) if "add_offset" in factors else (-300, 300)
    values = np.random.default_rng(3).uniform(low, high, 4000).astype(kind)
    ds = xr.Dataset({"v": ("t", values)}, {"t": np.arange(4000.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ncforge.to_netcdf(ds, tmp_path / "all.nc", encoding={"v": packing}, unlimited_dims=["t"])
        again = tmp_path / "again.nc"
        ncforge.to_netcdf(ds.isel(t=slice(0, 10)), again, encoding={"v": packing}, unlimited_dims=["t"])
        ncforge.to_netcdf(ds.isel(t=slice(10, 3000)), again, append_dim="t")
        ncforge.to_netcdf(ds.isel(t=slice(3000, 4000)), again, append_dim="t")
        ncforge.to_netcdf(ds.isel(t=slice(5, 500)), again, region={"t": slice(5, 500)})
    stored = []
    for path in (tmp_path / "all.nc", again):
        with open_netcdf4(path) as nc:
            nc["v"].set_auto_maskandscale(False)
            stored.append((nc["v"][:].tolist(), {name: nc["v"].getncattr(name) for name in nc["v"].ncattrs()}))
    assert stored[0] == stored[1]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("fill", [{}, {"_FillValue": None}, {"_FillValue": -1}, {"missing_value": -1}])
@pytest.mark.parametrize("kind", ["i1", "i4", "i8", "u8"])
def test_an_integer_offset_is_subtracted_from_integers(
    tmp_path: Path, kind: str, fill: dict[str, Any], lazy: bool
) -> None:
    """As floats, integers above 2 ** 53 were stored as others; bytes without a fill value were an error of NumPy's."""
    values = np.array([1, 5, {"i1": 100, "i4": 2**30, "i8": 2**60 + 3, "u8": 2**63 + 3}[kind]], kind)
    ds = xr.Dataset({"v": ("x", values)})
    ds = ds.chunk(x=2) if lazy else ds
    wanted = {"dtype": "u8" if kind == "u8" else "i8"} if kind == "i8" or not fill else {}
    fill = {name: 99 if kind == "u8" and value else value for name, value in fill.items()}
    offset = 1 if kind == "u8" else -3
    ncforge.to_netcdf(ds, tmp_path / "a.nc", encoding={"v": {"add_offset": offset, **fill, **wanted}})
    with open_netcdf4(tmp_path / "a.nc") as nc:
        v = nc["v"]
        assert v.dtype == np.dtype(wanted.get("dtype", kind)) and v.add_offset == offset
        assert [int(n) for n in v[:]] == [int(n) - offset for n in values]


def test_integers_that_an_offset_takes_out_of_their_type_are_refused(tmp_path: Path) -> None:
    limits = np.iinfo("i8")
    for values, kind, offset in (
        ([1, 127], "i1", -3),
        ([1, 2], "u8", 2),
        ([1, limits.min], "i8", 1),
        ([limits.max], "i8", -1),
    ):
        ds = xr.Dataset({"v": ("x", np.array(values, kind))})
        with pytest.raises(ValueError, match=r"`v`: -?\d+ at \[\d\] does not fit u?int"):
            ncforge.to_netcdf(ds, tmp_path / "a.nc", encoding={"v": {"add_offset": offset, "_FillValue": 99}})


@pytest.mark.parametrize("kind", ["i2", "f4", "f8"])
def test_floats_with_an_integer_factor_are_read_as_they_were(tmp_path: Path, kind: str) -> None:
    """xarray reads floats with an integer as the factor as integers."""
    ds = xr.Dataset({"v": ("x", np.array([3, 5], kind))})
    ncforge.to_netcdf(ds, tmp_path / "a.nc", encoding={"v": {"scale_factor": 2, "_FillValue": None}})
    for engine in ("netcdf4", "ncforge"):
        with xr.open_dataset(tmp_path / "a.nc", engine=engine) as read:
            assert read["v"].values.tolist() == [3, 5]


def test_units_that_xarray_changed_are_named(tmp_path: Path) -> None:
    ds = xr.Dataset({"t": ("x", np.array(["2000-01-01T00:00:10"], "M8[ns]"))})
    with pytest.raises(ValueError, match=r"in the units 'seconds since 1990-01-01': in 'days since 1990-01-01', some"):
        ncforge.to_netcdf(ds, tmp_path / "a.nc", encoding={"t": {"dtype": "i2", "units": "days since 1990-01-01"}})
