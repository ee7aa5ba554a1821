"""xarray by the engine `ncforge`: read lazily, write deflated, append what comes later.

python examples/xarray_engine.py
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import ncforge


def days(first: int, count: int) -> xr.Dataset:
    """Some days of a made-up temperature."""
    time = np.datetime64("2001-01-01") + np.arange(first, first + count) * np.timedelta64(1, "D")
    values = 280 + np.sin(
        (np.arange(count)[:, None, None] + first) / 9 + np.arange(40)[:, None] / 7 + np.arange(80) / 11
    )
    coords = {"time": time.astype("datetime64[ns]"), "lat": np.linspace(-78, 78, 40), "lon": np.arange(80) * 4.5}
    return xr.Dataset({"tas": (("time", "lat", "lon"), values.astype("f4"), {"units": "K"})}, coords)


ncforge.to_netcdf(days(0, 31), "tas.nc", codec="deflate", unlimited_dims=["time"])
# February goes behind January; a reader sees it when it is complete.
ncforge.to_netcdf(days(31, 28), "tas.nc", append_dim="time")

with xr.open_dataset("tas.nc", engine="ncforge") as tas:
    print(tas)
    xr.testing.assert_equal(tas.load(), days(0, 59))

with xr.open_dataset("tas.nc", engine="ncforge") as tas:
    # Twenty places at all times: every chunk that they meet is decoded once.
    places = {"lat": xr.DataArray(np.arange(20), dims="place"), "lon": xr.DataArray(np.arange(20) * 3, dims="place")}
    series = tas["tas"].isel(places)
    assert series.shape == (59, 20)
    print(f"mean at {series.sizes['place']} places: {float(series.mean()):.2f} K")
print("done")
