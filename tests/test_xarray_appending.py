"""What ``ncforge.to_netcdf`` must not append: values at other places, times that the file has, text that would be cut."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from peers import open_netcdf4
from xarray_days import DAY, back, day, made, refused

xr = pytest.importorskip("xarray")
dask = pytest.importorskip("dask")


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


@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day"])
@pytest.mark.parametrize("cftime", [False, True])
def test_regions_are_found_in_the_calendar_of_the_file(tmp_path: Path, calendar: str, cftime: bool) -> None:
    times = xr.date_range("2000-01-28", periods=5, freq="6h", use_cftime=cftime)
    ds = xr.Dataset({"v": ("time", np.arange(5))}, {"time": times})
    encoding = {"time": {"units": "hours since 2000-01-01", "calendar": calendar, "dtype": "f8"}}
    ncforge.to_netcdf(ds, tmp_path / "a.nc", append_dim="time", encoding=encoding)
    part = ds.isel(time=slice(1, 3)) + 10
    ncforge.to_netcdf(part, tmp_path / "a.nc", region="auto")
    assert back(tmp_path / "a.nc")["v"].values.tolist() == [0, 11, 12, 3, 4]
    with pytest.raises(KeyError):
        ncforge.to_netcdf(part.drop_vars("time"), tmp_path / "a.nc", region={"time": "auto"})  # type: ignore[dict-item]
