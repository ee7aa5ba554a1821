"""``ncforge.open_mfdataset`` gives what ``xr.open_mfdataset`` gives: values, attributes, encodings, Dask's blocks."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ncforge
from commands import execute
from datasets import created
from ncforge._xarray import kinds, mfdataset

Change = Callable[[xr.Dataset, int], xr.Dataset]
NESTED: dict[str, Any] = {"combine": "nested", "concat_dim": "time"}
ALIKE: dict[str, Any] = {
    **NESTED,
    "data_vars": "minimal",
    "coords": "minimal",
    "compat": "override",
    "join": "override",
}


def day(i: int, steps: int = 4) -> xr.Dataset:
    """One file's worth."""
    rng = np.random.default_rng(i)
    time = np.datetime64("2000-01-01", "ns") + np.arange(steps * i, steps * i + steps) * np.timedelta64(1, "h")
    return xr.Dataset(
        {
            "tas": (("time", "lat", "lon"), rng.random((steps, 3, 5), "f4"), {"units": "K"}),
            "name": (("time",), np.array([f"step {i} {s}" for s in range(steps)], object)),
        },
        {"time": time, "lat": [10.0, 20.0, 30.0], "lon": np.arange(5.0)},
        {"history": f"made as number {i}", "title": "days"},
    )


def save(folder: Path, change: Change = lambda ds, i: ds, count: int = 6, **options: Any) -> list[Path]:
    """Files of a day each."""
    paths = []
    for i in range(count):
        ds = change(day(i), i)
        paths.append(folder / f"day{i}.nc")
        encoding = {k: v for k, v in options.get("encoding", {}).items() if k in ds.variables}
        ds.to_netcdf(paths[-1], engine="netcdf4", **{**options, "encoding": encoding})
    return paths


def check(paths: Any, joined: bool = True, **options: Any) -> xr.Dataset:
    """Both give the same. ``joined``: files were opened as one."""
    with warnings.catch_warnings(record=True) as theirs_said:
        warnings.simplefilter("always")
        theirs = xr.open_mfdataset(paths, engine="ncforge", **options)
    made: list[Any] = []
    inner = mfdataset.open_mfdataset

    def noted(*args: Any) -> Any:
        made.append(inner(*args))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as ours_said:
        warnings.simplefilter("always")
        patch.setattr(mfdataset, "open_mfdataset", noted)
        ours = ncforge.open_mfdataset(paths, **options)
    assert (bool(made) and made[0] is not None) == joined
    if joined:
        assert {str(w.message) for w in ours_said} == {str(w.message) for w in theirs_said}
    xr.testing.assert_identical(ours, theirs)
    assert list(ours.variables) == list(theirs.variables)
    assert ours.encoding == theirs.encoding
    for name, variable in theirs.variables.items():
        mine = ours.variables[name]
        assert mine.chunks == variable.chunks, name
        assert mine.dtype == variable.dtype, name
        assert repr(sorted(mine.encoding.items())) == repr(sorted(variable.encoding.items())), name
    xr.testing.assert_identical(ours.compute(), theirs.compute())
    ours.close()
    return ours


CHANGES: dict[str, Change] = {
    "as they are": lambda ds, i: ds,
    "lengths": lambda ds, i: ds.isel(time=slice(0, 2 + i % 3)),
    "one step each": lambda ds, i: ds.isel(time=[0]),
    "no dimension but theirs": lambda ds, i: ds.drop_vars("name").assign(area=(("lat", "lon"), np.ones((3, 5)))),
    "scalar": lambda ds, i: ds.assign(crs=((), 7, {"grid": "plate"})),
    "coordinates of two dimensions": lambda ds, i: ds.assign_coords(z=(("lat", "lon"), np.arange(15.0).reshape(3, 5))),
    "coordinate along time": lambda ds, i: ds.assign_coords(step=("time", np.arange(ds.sizes["time"]) + 10 * i)),
    "backwards": lambda ds, i: ds.isel(time=slice(None, None, -1)),
    "attributes of a variable": lambda ds, i: ds.assign(tas=ds["tas"].assign_attrs(note=f"file {i}")),
    "characters": lambda ds, i: ds.assign(label=(("lat",), np.array([b"ab", b"cd", b"ef"], "S2"))),
    "time differences": lambda ds, i: ds.assign(lead=("time", np.arange(ds.sizes["time"]) * np.timedelta64(1, "h"))),
}


@pytest.mark.parametrize("options", [{}, NESTED, ALIKE], ids=["by_coords", "nested", "alike"])
@pytest.mark.parametrize("change", CHANGES)
def test_alike(tmp_path: Path, change: str, options: dict[str, Any]) -> None:
    check(save(tmp_path, CHANGES[change], unlimited_dims=["time"]), **options)


@pytest.mark.parametrize("data_vars", ["all", "minimal", "different"])
@pytest.mark.parametrize("coords", ["minimal", "different"])
@pytest.mark.parametrize("compat", ["no_conflicts", "equals", "override"])
def test_options_of_joining(tmp_path: Path, data_vars: str, coords: str, compat: str) -> None:
    paths = save(tmp_path, lambda ds, i: ds.assign(area=("lat", [1.0, np.nan, 3.0])).assign_coords(h=2.0))
    options: dict[str, Any] = {"data_vars": data_vars, "coords": coords, "compat": compat, "join": "outer"}
    if compat == "override" and (coords == "different" or data_vars == "different"):
        with pytest.raises(ValueError, match="compat='override'"):
            ncforge.open_mfdataset(paths, **NESTED, **options)
    else:
        check(paths, **NESTED, **options)


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("chunks", [None, {}, "auto", {"time": 3}, {"time": -1, "lat": 2}, 2])
def test_blocks(tmp_path: Path, format: Any, chunks: Any) -> None:
    def change(ds: xr.Dataset, i: int) -> xr.Dataset:
        return ds.isel(time=slice(0, 2 + i % 3)).drop_vars("name")

    coding = {"tas": {"chunksizes": (2, 3, 2)}} if format == "NETCDF4" else {}
    check(save(tmp_path, change, format=format, encoding=coding), chunks=chunks)


def test_packed(tmp_path: Path) -> None:
    coding = {"tas": {"dtype": "i2", "scale_factor": np.float32(1e-4), "_FillValue": -1}}
    paths = save(tmp_path, encoding=coding)
    check(paths)
    check(paths, mask_and_scale=False)


def test_packed_otherwise_in_each_file(tmp_path: Path) -> None:
    paths = []
    for i in range(5):
        coding = {"tas": {"dtype": "i2", "scale_factor": 1e-4 * (i + 1), "_FillValue": -1}}
        paths.append(tmp_path / f"part{i}.nc")
        day(i).to_netcdf(paths[-1], engine="netcdf4", encoding=coding)
    check(paths, joined=False)


@pytest.mark.parametrize("dtype", ["f8", "i8", "i4"])
@pytest.mark.parametrize("each", [False, True])
def test_times(tmp_path: Path, dtype: str, each: bool) -> None:
    paths = []
    for i in range(5):
        since = f"hours since 2000-01-0{i + 1}" if each else "hours since 1900-01-01"
        coding = {"time": {"units": since, "dtype": dtype}}
        day(i).drop_vars("name").to_netcdf(tmp_path / f"{i}.nc", engine="netcdf4", encoding=coding)
        paths.append(tmp_path / f"{i}.nc")
    for options in ({}, NESTED, {"decode_times": False, **NESTED}, {"decode_cf": False, **NESTED}):
        check(paths, **options)
    check(paths, decode_times=xr.coders.CFDatetimeCoder(time_unit="s"))


def test_times_that_only_cftime_has(tmp_path: Path) -> None:
    pytest.importorskip("cftime")

    def change(ds: xr.Dataset, i: int) -> xr.Dataset:
        return ds.drop_vars("name").assign_coords(
            time=("time", np.arange(4) + 4 * i, {"units": "days since 2000-01-01", "calendar": "360_day"})
        )

    check(save(tmp_path, change), **NESTED)


@pytest.mark.parametrize("text", [False, True])
def test_a_dimension_that_no_decoded_variable_has(tmp_path: Path, text: bool) -> None:
    """Files are put beside each other along a new one."""
    paths = [tmp_path / f"{i}.nc" for i in range(5)]
    for i, path in enumerate(paths):
        with created(path, time=None, x=2) as d:
            d.createVariable("v", "i4", ("x",))[:] = i
            if text:
                d.createVariable("name", "S1", ("time",))[:] = np.frombuffer(b"abc", "S1")
    nested: Any = {"combine": "nested", "concat_dim": "time"}
    with (
        ncforge.open_mfdataset(paths, **nested) as ours,
        xr.open_mfdataset(paths, engine="netcdf4", **nested) as theirs,
    ):
        assert dict(ours.sizes) == dict(theirs.sizes) and ours.sizes["time"] == 5
        xr.testing.assert_identical(ours.load(), theirs.load())


@pytest.mark.parametrize("each", [False, True])
def test_bounds(tmp_path: Path, each: bool) -> None:
    def change(ds: xr.Dataset, i: int) -> xr.Dataset:
        bounds = np.stack([ds["time"].values, ds["time"].values + np.timedelta64(1, "h")], -1)
        ds = ds.drop_vars("name").assign(time_bnds=(("time", "bnds"), bounds))
        ds["lat_bnds"] = ("lat", "bnds"), np.arange(6.0).reshape(3, 2)
        ds["time"].attrs["bounds"] = "time_bnds"
        ds["lat"].attrs["bounds"] = "lat_bnds"
        ds["time"].encoding["units"] = f"hours since 2000-01-0{i + 1}" if each else "hours since 2000-01-01"
        return ds

    paths = save(tmp_path, change, unlimited_dims=["time"])
    check(paths, joined=not each)
    check(paths, joined=not each, **NESTED)


@pytest.mark.filterwarnings("ignore:Can.t decode floating point")
@pytest.mark.parametrize("bounds", ["f8", "f4", "i2", "own"])
def test_bounds_of_times_that_are_floats(tmp_path: Path, bounds: str) -> None:
    # As models of CMIP write them: the bounds have no units of their own.
    paths = []
    for i in range(4):
        paths.append(tmp_path / f"{i}.nc")
        with created(paths[-1], time=None, bnds=2) as nc:
            time = nc.createVariable("time", "f8", ("time",))
            time.setncatts({"units": "days since 1850-01-01", "calendar": "standard", "bounds": "time_bnds"})
            time[:] = 51_000.3 + 3 * i + np.arange(3) / 24
            ends = nc.createVariable("time_bnds", "f8" if bounds == "own" else bounds, ("time", "bnds"), fill_value=-9)
            if bounds == "own":
                ends.units = "days since 1850-01-02"
            if bounds == "i2":
                ends.setncatts({"scale_factor": 0.125, "add_offset": 51_000.0})
            ends[:] = time[:][:, None] + np.array([-0.5, 0.5]) / 24
            if i == 2:
                ends[1, 1] = np.ma.masked
            nc.createVariable("v", "f4", ("time",))[:] = i
    for options in ({}, NESTED, {**NESTED, "decode_times": False}, {"mask_and_scale": False}, {"chunks": {"time": 2}}):
        check(paths, **options)
    check(paths, joined=False, decode_times=xr.coders.CFDatetimeCoder(time_unit="us"))


def test_order_is_that_of_coordinates(tmp_path: Path) -> None:
    paths = save(tmp_path)
    shuffled = [paths[i] for i in (3, 0, 5, 1, 4, 2)]
    check(shuffled)
    check(shuffled, **NESTED)
    check(shuffled, attrs_file=str(shuffled[2]))
    check(str(tmp_path / "day*.nc"))
    check(shuffled, combine_attrs="drop")


@pytest.mark.parametrize("how", ["drop_conflicts", "no_conflicts", "identical"])
def test_attributes_of_all_files(tmp_path: Path, how: Any) -> None:
    paths = save(tmp_path, lambda ds, i: ds.assign_attrs(history="one"))
    check(paths, combine_attrs=how)
    if how == "drop_conflicts":
        check(save(tmp_path), joined=False, combine_attrs=how)


def test_several_kinds(tmp_path: Path) -> None:
    first = save(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    second = save(other, lambda ds, i: ds[["tas"]].rename(tas="pr"))
    check([*first, *second])
    # In the same variables, but of other kinds: in order one after the other, else not.
    third = tmp_path / "third"
    third.mkdir()
    doubles = save(third, lambda ds, i: day(i + 6).assign(tas=day(i + 6)["tas"].astype("f8")))
    check([*first, *doubles], **NESTED)
    check([*first, *doubles], joined=False)


def test_groups_and_dropped(tmp_path: Path) -> None:
    paths = save(tmp_path, group="a/b")
    check(paths, group="a/b")
    check(paths, group="a/b", drop_variables=["tas"], **NESTED)
    check(save(tmp_path), drop_variables="name")


def test_left_to_xarray(tmp_path: Path) -> None:
    paths = save(tmp_path)
    check(paths[:2], joined=False)
    check([paths[:3]], joined=False, combine="nested", concat_dim=["x", "time"])
    check(paths, joined=False, combine="nested", concat_dim="new")
    preprocessed = ncforge.open_mfdataset(paths, preprocess=lambda ds: ds[["tas"]])
    assert list(preprocessed.data_vars) == ["tas"]


def test_errors_are_those_of_xarray(tmp_path: Path) -> None:
    paths = save(tmp_path)
    for wrong in (
        {"paths": [*paths, tmp_path / "none.nc"]},
        {"paths": [paths[0]] * 5},
        {"paths": paths, "concat_dim": "time"},
        {"paths": paths, "attrs_file": "none.nc"},
        {"paths": str(tmp_path / "nothing*.nc")},
        {"paths": paths, "nonsense": 1},
        {"paths": paths, "group": "none"},
    ):
        with pytest.raises((OSError, ValueError, TypeError)) as theirs:
            xr.open_mfdataset(engine="ncforge", **wrong)
        with pytest.raises(type(theirs.value)) as ours:
            ncforge.open_mfdataset(**wrong)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(ValueError, match=r"xr\.open_mfdataset"):
        ncforge.open_mfdataset(paths, engine="netcdf4")
    found = ncforge.open_mfdataset([*paths, tmp_path / "none.nc"], errors="ignore")
    assert found.sizes["time"] == 24


def test_values_that_differ_are_not_taken_for_the_same(tmp_path: Path) -> None:
    check(save(tmp_path, lambda ds, i: ds.assign(area=("lat", [1.0, 2.0, float(i == 4)]))), joined=False)
    check(save(tmp_path, lambda ds, i: ds.assign(run=float(i))), joined=False)
    check(save(tmp_path, lambda ds, i: ds.assign_coords(lat=[1.0, 2.0, 3.0 + i])), joined=False, join="outer", **NESTED)


@pytest.mark.parametrize(
    "key",
    [
        {"time": 5},
        {"time": -1},
        {"time": slice(2, 19, 3)},
        {"time": slice(20, 3, -2)},
        {"time": [0, 23, 7, 7, 12]},
        {"time": slice(5, 5)},
        {"time": np.arange(24) % 3 == 0},
        {"time": [1, 9], "lat": 1, "lon": slice(None, None, 2)},
        {"time": xr.DataArray([1, 9, 22], dims="p"), "lat": xr.DataArray([0, 2, 1], dims="p")},
    ],
    ids=str,
)
def test_selections_of_lazy_arrays(tmp_path: Path, key: dict[str, Any]) -> None:
    from ncforge._dataset.handle import FileHandle
    from ncforge._xarray.many import ManyFiles, ManyStore
    from ncforge._xarray.store import OpenFile

    paths = save(tmp_path)
    handles: list[Any] = [FileHandle(str(p)) for p in paths]
    store = ManyStore(OpenFile(handles[0]), None, ManyFiles(handles, [4] * 6), "time", {})
    want = xr.open_mfdataset(paths, engine="ncforge")["tas"].compute()
    lazy = xr.Dataset({"tas": store.get_variables()["tas"]})
    travelled = pickle.loads(pickle.dumps(lazy))
    for ds in (lazy, travelled):
        np.testing.assert_array_equal(ds["tas"].isel(key).values, want.isel(key).values)


def test_more_files_than_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncforge._dataset.handle._most", 3)
    monkeypatch.setattr(kinds, "_BATCH", 2)
    check(save(tmp_path, count=9), **NESTED)


def test_a_system_that_allows_few_open_files(tmp_path: Path) -> None:
    for i in range(90):
        day(i, steps=1).drop_vars("name").to_netcdf(tmp_path / f"day{i:02}.nc", engine="netcdf4")
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import ncforge
from ncforge._xarray import kinds, mfdataset
made = mfdataset.open_mfdataset({str(tmp_path / "day*.nc")!r}, {{}}, "by_coords", None, {{"combine_attrs": "override"}}, None, {{}})
assert made is not None and made.sizes["time"] == 90
made.load()
"""
    execute(sys.executable, "-W", "ignore", "-c", program)


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    paths = save(tmp_path)
    found = ncforge.open_mfdataset(paths)
    with open(paths[3], "r+b") as file:
        file.seek(0, 2)
        file.write(b"more")
    with pytest.raises(ncforge.ChangedError, match="day3"):
        found["tas"].compute()


def test_one_array_over_all_files(tmp_path: Path) -> None:
    found = ncforge.open_mfdataset(save(tmp_path))
    assert len(found["tas"].data.dask.layers) < 6
    again = ncforge.open_mfdataset([tmp_path / f"day{i}.nc" for i in range(6)])
    assert found["tas"].data.name == again["tas"].data.name
