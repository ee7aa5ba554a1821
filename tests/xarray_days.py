"""Datasets of xarray that ``ncforge.to_netcdf`` writes and appends, and what xarray reads of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
DAY = np.timedelta64(86_400, "s")
PACKED = {"dtype": "i2", "scale_factor": 0.001, "add_offset": 280.0, "_FillValue": -32768}


def dataset(begin: int = 0, days: int = 12) -> Any:
    """Days of a plain and a packed variable, with text."""
    random = np.random.default_rng(begin)
    time = np.datetime64("2000-01-01", "ns") + (begin + np.arange(days)) * np.timedelta64(1, "D")
    ds = xr.Dataset(
        {
            "t2m": (("time", "y", "x"), random.normal(280, 10, (days, 20, 30)).astype("f4"), {"units": "K"}),
            "packed": (("time", "y"), np.round(random.random((days, 20)), 3)),
            "name": (("y",), np.array([f"row {i}" for i in range(20)], dtype=object)),
        },
        coords={"time": time, "y": np.arange(20.0), "x": np.arange(30)},
        attrs={"title": "a test"},
    )
    ds["packed"].encoding = {"dtype": "i2", "scale_factor": 1e-3, "_FillValue": -9}
    ds["time"].encoding = {"units": "hours since 1990-01-01", "dtype": "f8"}
    return ds


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
