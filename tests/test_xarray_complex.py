"""Complex numbers through xarray: as netCDF4-python and h5netcdf store them, both ways."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ncforge


def field(dtype: str = "c16") -> xr.Dataset:
    """A field of complex numbers, and one of others."""
    rng = np.random.default_rng(3)
    values = (rng.random((6, 4, 5)) + 1j * rng.random((6, 4, 5))).astype(dtype)
    return xr.Dataset(
        {
            "z": (("time", "y", "x"), values, {"units": "1"}),
            "t": (("time",), np.arange(6.0)),
            "one": ((), dtype_of(dtype)),
        },
        {"x": np.arange(5.0)},
    )


def dtype_of(dtype: str) -> Any:
    return np.dtype(dtype).type(3 - 4j)


FORMATS = ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA"]


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("chunks", [None, {"time": 4}])
def test_round_trip(tmp_path: Path, format: str, dtype: str, chunks: Any) -> None:
    path = tmp_path / "z.nc"
    want = field(dtype)
    ncforge.to_netcdf(want if chunks is None else want.chunk(chunks), path, format=format)
    with xr.open_dataset(path, engine="ncforge", auto_complex=True) as ours:
        assert ours["z"].dtype == np.dtype(dtype)
        assert ours["z"].encoding["dtype"] == np.dtype(dtype)
        xr.testing.assert_identical(ours.load(), want)
        ncforge.to_netcdf(ours, tmp_path / "again.nc", format=format)
    with xr.open_dataset(tmp_path / "again.nc", engine="ncforge", auto_complex=True) as again:
        xr.testing.assert_identical(again.load(), want)
    with xr.open_dataset(path, engine="netcdf4", auto_complex=True) as theirs:
        xr.testing.assert_identical(theirs.load(), want)
    if format == "NETCDF4":
        with xr.open_dataset(path, engine="h5netcdf") as theirs:
            xr.testing.assert_identical(theirs.load(), want)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("how", ["netcdf4", "netcdf4 along", "h5netcdf"])
def test_what_others_write(tmp_path: Path, how: str) -> None:
    path = tmp_path / "z.nc"
    want = field()
    if how == "h5netcdf":
        want.to_netcdf(path, engine="h5netcdf", invalid_netcdf=True)
    elif how == "netcdf4":
        want.to_netcdf(path, engine="netcdf4", auto_complex=True)
    else:
        want.to_netcdf(path, engine="netcdf4", auto_complex=True, format="NETCDF3_64BIT")
    with xr.open_dataset(path, engine="ncforge", auto_complex=True) as ours:
        xr.testing.assert_identical(ours.load(), want)
    with xr.open_dataset(path, engine="ncforge") as ours:
        # A last dimension of two may be anything.
        assert ours["z"].dtype.kind == ("f" if how == "netcdf4 along" else "c")
    with xr.open_dataset(path, engine="ncforge", auto_complex=False) as ours:
        assert ours["z"].dtype.kind == ("f" if how == "netcdf4 along" else "V")


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC"])
@pytest.mark.parametrize(
    "key",
    [
        {"time": 3},
        {"time": slice(4, None, -2), "x": [3, 0, 3]},
        {"time": [1, 5], "y": slice(1, 3)},
        {"y": xr.DataArray([0, 3, 1], dims="p"), "x": xr.DataArray([4, 0, 2], dims="p")},
        {"time": slice(3, 3)},
    ],
    ids=str,
)
def test_selections(tmp_path: Path, format: str, key: dict[str, Any]) -> None:
    path = tmp_path / "z.nc"
    want = field()
    coding = {"z": {"zlib": True, "chunksizes": (2, 4, 3)}}
    ncforge.to_netcdf(want, path, format=format, encoding=coding)
    ours = xr.open_dataset(path, engine="ncforge", auto_complex=True, cache=False)
    assert ours["z"].encoding["chunksizes"] == (2, 4, 3)
    for ds in (
        ours,
        pickle.loads(pickle.dumps(ours)),
        xr.open_dataset(path, engine="ncforge", auto_complex=True, chunks={}),
    ):
        np.testing.assert_array_equal(ds["z"].isel(key).values, want["z"].isel(key).values)
        np.testing.assert_array_equal(ds["z"].T.isel(key).values, want["z"].T.isel(key).values)


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC"])
@pytest.mark.parametrize("fill", [complex(-9, -9), complex(np.nan, np.nan)])
def test_missing_numbers(tmp_path: Path, format: str, fill: complex) -> None:
    path = tmp_path / "z.nc"
    want = field()
    want["z"][2, 1] = complex(np.nan, np.nan)
    ncforge.to_netcdf(want, path, format=format, encoding={"z": {"_FillValue": fill}})
    with xr.open_dataset(path, engine="ncforge", auto_complex=True) as ours:
        xr.testing.assert_identical(ours.load(), want)
        np.testing.assert_equal(complex(ours["z"].encoding["_FillValue"]), fill)
    with xr.open_dataset(path, engine="ncforge", auto_complex=True, mask_and_scale=False) as raw:
        np.testing.assert_equal(complex(raw["z"].values[2, 1, 0]), fill)


def test_a_fill_value_of_two_kinds_is_an_error_along_a_dimension(tmp_path: Path) -> None:
    with pytest.raises(ncforge.InvalidError, match="same fill value"):
        ncforge.to_netcdf(field(), tmp_path / "z.nc", format="NETCDF4_CLASSIC", encoding={"z": {"_FillValue": 1 + 2j}})
    assert not (tmp_path / "z.nc").exists()


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT"])
def test_appended_and_chosen_chunks(tmp_path: Path, format: Any) -> None:
    path = tmp_path / "z.nc"
    want = field().drop_vars("one")
    ncforge.to_netcdf(want.isel(time=slice(0, 4)), path, append_dim="time", format=format, for_="series")
    ncforge.to_netcdf(want.isel(time=slice(4, None)), path, append_dim="time")
    ncforge.to_netcdf(want.isel(time=slice(1, 3)), path, region={"time": slice(1, 3)}) if "x" not in want["z"] else None
    with xr.open_dataset(path, engine="ncforge", auto_complex=True) as ours:
        xr.testing.assert_identical(ours.load(), want)


def test_not_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="auto_complex"):
        ncforge.to_netcdf(field(), tmp_path / "z.nc", auto_complex=False)
    assert not (tmp_path / "z.nc").exists()


def test_by_xarrays_own_function_and_many_files(tmp_path: Path) -> None:
    import ncforge.xarray

    ncforge.xarray.register_writer()
    want = field()
    paths = []
    for i in range(6):
        paths.append(tmp_path / f"{i}.nc")
        want.isel(time=[i]).to_netcdf(paths[-1], engine="ncforge", auto_complex=True)  # type: ignore[call-overload]
    how: dict[str, Any] = {"combine": "nested", "concat_dim": "time", "data_vars": "minimal", "coords": "minimal"}
    how |= {"compat": "override", "join": "override"}
    found = ncforge.open_mfdataset(paths, **how)
    xr.testing.assert_identical(found.load(), want)
    other = xr.open_mfdataset(paths, engine="ncforge", **how)
    xr.testing.assert_identical(other.load(), want)
