"""Values that ``ncforge.to_netcdf`` must not write: they would be read back as others, or at other places."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from peers import open_netcdf4

xr = pytest.importorskip("xarray")
dask = pytest.importorskip("dask")

DAY = np.timedelta64(86_400, "s")
PACKED = {"dtype": "i2", "scale_factor": 0.001, "add_offset": 280.0, "_FillValue": -32768}


def day(first: int = 0, days: int = 2, base: float = 280.0) -> Any:
    """Days of a packed and a plain variable on a small grid."""
    shape = (days, 4, 6)
    values = base + np.arange(np.prod(shape)).reshape(shape) / 100
    ds = xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), values, {"units": "K"}),
            "rain": (("time", "lat", "lon"), (values - base).astype("f4")),
            "mask": (("lat", "lon"), np.ones((4, 6), "i1")),
        },
        coords={
            "time": np.datetime64("2001-01-01", "ns") + (first + np.arange(days)) * DAY,
            "lat": np.linspace(-30, 30, 4),
            "lon": np.arange(0.0, 360, 60),
            "area": (("lat", "lon"), np.full((4, 6), 2.0)),
            "height": 2.0,
        },
    )
    ds["t2m"].encoding = dict(PACKED)
    ds["time"].encoding = {"units": "days since 2000-01-01", "dtype": "i4"}
    ds["lat"].encoding = ds["lon"].encoding = {"dtype": "f4"}
    return ds


def made(path: Path) -> Path:
    ncforge.to_netcdf(day(), path, append_dim="time")
    return path


def back(path: Path, **how: Any) -> Any:
    with xr.open_dataset(path, engine="netcdf4", **how) as ds:
        return ds.load()


def refused(path: Path, ds: Any, match: str, **how: Any) -> None:
    """The call fails, and the file is unchanged."""
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(ValueError, match=match):
        ncforge.to_netcdf(ds, path, **(how or {"append_dim": "time"}))
    assert (path.read_bytes() if path.exists() else None) == before
    assert [p.name for p in path.parent.iterdir()] == ([path.name] if before else [])


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


def test_coordinates_of_other_places(tmp_path: Path) -> None:
    path = made(tmp_path / "a.nc")
    new = day(2)
    for wrong, name in (
        (new.isel(lat=slice(None, None, -1)), "lat"),
        (new.assign_coords(lat=new["lat"] + 1), "lat"),
        (new.roll(lon=3, roll_coords=True), "lon"),
        (new.assign_coords(area=new["area"] * 2), "area"),
        (new.isel(lon=slice(0, 5)), "lon"),
    ):
        refused(path, wrong, f"'{name}'")
        there = wrong.assign_coords(time=day()["time"]).drop_vars("mask")
        refused(path, there, f"'{name}'", region={"time": slice(0, 2)})
    # Coordinates along the region, too.
    refused(path, new.drop_vars("mask"), "coordinate 'time'", region={"time": slice(0, 2)})
    for name, other in (("mask", new["mask"] * 0), ("height", xr.Variable((), 10.0))):
        with pytest.warns(UserWarning, match=f"'{name}' differs") as caught:
            ncforge.to_netcdf(day(caught_at(path)).assign({name: other}), path, append_dim="time")
        assert [w.filename for w in caught if "differs" in str(w.message)] == [__file__]
    found = back(path)
    assert (found["mask"] == 1).all() and found["height"] == 2


def caught_at(path: Path) -> int:
    """The next day of a file."""
    return int(back(path).sizes["time"])


@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_64BIT"])
def test_coordinates_are_compared_as_the_file_stores_them(tmp_path: Path, fmt: str) -> None:
    def named(first: int) -> Any:
        ds = day(first)
        # No float32, no short decimal; text; times that are no index of what is appended; packed.
        return ds.assign_coords(
            lat=np.array([-0.1, 0.1, 0.2, 0.3]) + 1 / 3,
            name=("lat", ["a", "bb", "", "dddd"]),
            start=("lon", np.datetime64("2001-01-01", "ns") + np.arange(6) * DAY),
            level=("lon", np.arange(6) / 10, {}, {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -1}),
        )

    path = tmp_path / "a.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for first in (0, 2, 4):
            ncforge.to_netcdf(named(first), path, append_dim="time", format=fmt)
    assert back(path).sizes["time"] == 6
    refused(path, named(6).assign_coords(name=("lat", ["a", "b", "", "dddd"])), "'name'")
    refused(path, named(6).assign_coords(start=("lon", named(6)["start"].values + DAY)), "'start'")


def test_a_region_whose_coordinates_were_never_written(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with open_netcdf4(path, "w") as nc:
        nc.createDimension("x", 4)
        nc.createVariable("x", "f8", ("x",), fill_value=np.nan)
        nc.createVariable("v", "f8", ("x",), fill_value=np.nan)
    whole = xr.Dataset({"v": ("x", np.arange(4.0))}, {"x": [1.0, 2.0, 3.0, 4.0]})
    for part in (slice(0, 2), slice(2, 4)):
        ncforge.to_netcdf(whole.isel(x=part), path, region={"x": part})
    xr.testing.assert_identical(back(path), whole)


def test_variables_that_are_missing(tmp_path: Path) -> None:
    path = made(tmp_path / "a.nc")
    refused(path, day(2).drop_vars("rain"), "lacks 'rain'")
    refused(path, day(2).drop_vars(["rain", "time"]), "lacks .*'time'|lacks 'time'")
    # Those without the dimension need not be there.
    ncforge.to_netcdf(day(2).drop_vars(["mask", "lat", "height"]), path, append_dim="time")
    xr.testing.assert_allclose(back(path), xr.concat([day(), day(2)], "time", data_vars="minimal"), atol=6e-4)


def test_times_that_the_file_has(tmp_path: Path) -> None:
    path = made(tmp_path / "a.nc")
    ncforge.to_netcdf(day(2), path, append_dim="time")
    for first in (2, 3, -5):
        refused(path, day(first), "'time': 200.*does not follow 2001-01-04")
    ncforge.to_netcdf(day(3, 1), path, append_dim="time", allow_overlap=True)
    assert [str(t)[:10] for t in back(path)["time"].values[-2:]] == ["2001-01-04", "2001-01-04"]
    # Not in order any more: only what is there already.
    refused(path, day(1, 1), "the file has 2001-01-02")
    ncforge.to_netcdf(day(-5, 1), path, append_dim="time")


@pytest.mark.parametrize("values", [["a", "b"], [30.0, 20.0]], ids=["text", "falling"])
def test_other_coordinates_that_the_file_has(tmp_path: Path, values: Any) -> None:
    path = tmp_path / "a.nc"
    ds = xr.Dataset({"v": ("m", [1.0, 2.0])}, {"m": values})
    ncforge.to_netcdf(ds, path, append_dim="m")
    refused(path, ds.isel(m=[1]), "'m'", append_dim="m")
    later = ds.isel(m=[0]).assign_coords(m=[10.0] if values[0] == 30 else ["c"])
    ncforge.to_netcdf(later, path, append_dim="m")
    assert list(back(path)["v"]) == [1, 2, 1]


def test_units_that_the_file_cannot_have_are_one_error(tmp_path: Path) -> None:
    path = made(tmp_path / "a.nc")
    noon = day(2).assign_coords(time=day(2)["time"] + np.timedelta64(1, "h"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(path, noon, "'time' cannot be expressed in 'days since 2000-01-01'")


def test_a_codec_of_the_call_precedes_that_of_a_source(tmp_path: Path) -> None:
    source, path = tmp_path / "source.nc", tmp_path / "new.nc"
    values = xr.Dataset({"v": (("y", "x"), np.arange(4000.0).reshape(50, 80)), "w": ("x", np.arange(80.0))})
    values.to_netcdf(
        source,
        engine="netcdf4",
        encoding={"v": {"zlib": True, "complevel": 1, "fletcher32": True, "chunksizes": (10, 80)}, "w": {"zlib": True}},
    )
    with xr.open_dataset(source, engine="netcdf4") as ds:
        ncforge.to_netcdf(ds, path, codec="zstd", level=7, encoding={"w": {"zlib": True, "complevel": 2}})
        with ncforge.Dataset(path) as nc:
            assert nc["v"].filters()["zstd"] and not nc["v"].filters()["zlib"] and nc["v"].filters()["complevel"] == 7
            assert nc["v"].filters()["fletcher32"] and nc["v"].chunking() == [10, 80]
        ncforge.to_netcdf(ds, path, codec="zlib", level=9, encoding={"w": {"zlib": True, "complevel": 2}})
        with open_netcdf4(path) as nc:
            assert nc["v"].filters()["complevel"] == 9 and nc["w"].filters()["complevel"] == 2
        ncforge.to_netcdf(ds, path, codec="none")
        with open_netcdf4(path) as nc:
            assert not any(nc[v].filters()[k] for v in "vw" for k in ("zlib", "shuffle"))
        ncforge.to_netcdf(ds, path)
        with open_netcdf4(path) as nc:
            assert nc["v"].filters()["complevel"] == 1
    xr.testing.assert_identical(back(path), values)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"chunks": {"tim": 3}}, "no dimension 'tim'.*did you mean `time`"),
        ({"chunks": {"t2m": (2, 9, 9)}}, "'t2m' is a variable.*chunksizes"),
        ({"chunks": {"time": 0}}, "length of 'time' is a number from 1, not 0"),
        ({"chunks": {"time": "all"}}, "not 'all'"),
        ({"chunks": "time/2"}, "chunks is 'auto' or lengths"),
        ({"codec": "zlib", "level": 12}, "levels 0 to 9, not 12"),
        ({"codec": "zlib", "level": -3}, "levels 0 to 9, not -3"),
        ({"codec": "zstd", "level": 23}, "levels 1 to 22"),
        ({"codec": "zlip"}, "did you mean `zlib`"),
        ({"append_dim": "tim"}, "did you mean `time`"),
        ({"encoding": {"t2m": {"zlib": True, "complevel": 12}}}, "complevel of zlib is 0 to 9, not 12"),
    ],
)
def test_arguments_that_make_no_sense(tmp_path: Path, wrong: Any, match: str) -> None:
    refused(tmp_path / "a.nc", day(), match, **wrong)


def test_an_open_dataset_replaces_its_own_file(tmp_path: Path) -> None:
    path = made(tmp_path / "a.nc")
    with xr.open_dataset(path, engine="ncforge") as ds:
        ncforge.to_netcdf(ds, path, codec="zlib")
    xr.testing.assert_allclose(back(path), day(), atol=6e-4)


def text_in(path: Path) -> list[str]:
    with open_netcdf4(path) as nc:
        nc.set_auto_chartostring(False)
        values = np.ma.getdata(nc["name"][:])
        chars = values.dtype.kind == "S"
        return [b"".join(row).rstrip(b"\0").decode() for row in values] if chars else values.tolist()


@pytest.mark.parametrize("kind", [object, "U"])
def test_text_longer_than_that_of_the_file(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "s.nc"
    first = xr.Dataset({"name": ("t", np.array(["a", "bcd"], kind))})
    longer = xr.Dataset({"name": ("t", np.array(["quite long"], kind))})
    ncforge.to_netcdf(first, path, unlimited_dims=["t"])
    ncforge.to_netcdf(longer, path, append_dim="t")
    ncforge.to_netcdf(longer, path, region={"t": slice(0, 1)})
    missing = xr.Dataset({"name": ("t", np.array([None, "é" * 9], object))})
    ncforge.to_netcdf(missing, path, append_dim="t")
    ncforge.to_netcdf(missing.isel(t=slice(0, 1)), path, append_dim="t")
    assert text_in(path) == ["quite long", "bcd", "quite long", "", "é" * 9, ""]
    # A new file, with the encoding that xarray gave to text from a file.
    for fmt in ("NETCDF4", "NETCDF3_64BIT"):
        longer["name"].encoding = {"dtype": np.dtype("U3")}
        ncforge.to_netcdf(longer, path, format=fmt)
        assert text_in(path) == ["quite long"]


@pytest.mark.parametrize("fmt", ["NETCDF3_64BIT", "NETCDF4_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize("lazy", [False, True])
def test_text_shorter_than_that_of_the_file(tmp_path: Path, fmt: str, lazy: bool) -> None:
    # Characters: the end of the old text goes.
    path = tmp_path / "c.nc"
    ncforge.to_netcdf(
        xr.Dataset({"name": ("t", np.array(["abcdef", "ghijkl"], "S6"))}), path, format=fmt, unlimited_dims=["t"]
    )
    short = xr.Dataset({"name": ("t", np.array(["xy"], "S2"))})
    short = short.chunk() if lazy else short
    ncforge.to_netcdf(short, path, region={"t": slice(1, 2)})
    ncforge.to_netcdf(short, path, append_dim="t")
    assert text_in(path) == ["abcdef", "xy", "xy"]
    with open_netcdf4(path) as nc:
        nc.set_auto_chartostring(False)
        assert np.ma.getdata(nc["name"][1:]).tolist() == [[b"x", b"y", b"", b"", b"", b""]] * 2


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


def months(n: int) -> Any:
    """Monthly means with bounds, which have no units of their own."""
    edges = xr.date_range("2000-01-01", periods=n + 1, freq="MS")
    bounds = np.stack([edges[:-1], edges[1:]], 1)
    variables = {"tas": ("time", np.arange(n, dtype="f8")), "time_bnds": (("time", "b"), bounds)}
    made = xr.Dataset(variables, coords={"time": ("time", edges[:n], {"bounds": "time_bnds"})})
    made.time.encoding.update(units="days since 2000-01-01", dtype="f8")
    made.tas.encoding.update(dtype="i2", scale_factor=0.5, add_offset=1.0, _FillValue=-1)
    return made


@pytest.mark.parametrize("first", [ncforge.to_netcdf, xr.Dataset.to_netcdf])
def test_bounds_of_times_have_the_units_of_their_coordinate(tmp_path: Path, first: Any) -> None:
    path, whole = tmp_path / "months.nc", months(5)
    first(whole.isel(time=[0]), path, unlimited_dims=["time"])
    for i in (1, 2):
        ncforge.to_netcdf(whole.isel(time=[i]), path, append_dim="time")
    ncforge.to_netcdf(whole.isel(time=[3, 4]), tmp_path / "rest.nc", unlimited_dims=["time"])
    # As they are stored: numbers, their units and their packing as attributes.
    with xr.open_dataset(tmp_path / "rest.nc", decode_times=False, mask_and_scale=False) as rest:
        other = rest.load().copy()
        ncforge.to_netcdf(rest, path, append_dim="time")
    ncforge.to_netcdf(whole.isel(time=slice(1, 3)), path, region={"time": slice(1, 3)})
    with open_netcdf4(path) as ds:
        assert "units" not in ds["time_bnds"].ncattrs()
    with xr.open_dataset(path) as read:
        xr.testing.assert_equal(read, whole)
    other["time"] = other.time + 1000
    for name, attribute, value in (("time", "units", "hours since 1999-01-01"), ("tas", "scale_factor", 0.25)):
        wrong = other.copy()
        wrong[name].attrs[attribute] = value
        with pytest.raises(ValueError, match=f"'{name}'"):
            ncforge.to_netcdf(wrong, path, append_dim="time")
