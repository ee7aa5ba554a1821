"""Makes a folder of files as a climate model writes them, all variables of a month each:
``make_history.py FOLDER FORMAT MONTHS,VARIABLES,LAT,LON DEFLATE``."""

import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

folder, form, shape, deflate = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
months, count, *grid = map(int, shape.split(","))
folder.mkdir()
rng = np.random.default_rng(20090301)
noise = rng.standard_normal((16, *grid), np.float32).round(2)
storage: dict[str, Any] = {"zlib": True, "complevel": deflate, "chunksizes": (1, *grid)} if deflate else {}
kind: Any = {"cdf5": "NETCDF3_64BIT_DATA", "netcdf4": "NETCDF4"}[form]
for month in range(months):
    first, last = (365 * month // 12, 365 * (month + 1) // 12)
    with netCDF4.Dataset(folder / f"case.cam.h0.{month // 12 + 1:04}-{month % 12 + 1:02}.nc", "w", format=kind) as new:
        new.case = "case"
        for name, length in (("time", None), ("lat", grid[0]), ("lon", grid[1]), ("nbnd", 2)):
            new.createDimension(name, length)
        variables: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
            "time": ("f8", ("time",), {}),
            "time_bnds": ("f8", ("time", "nbnd"), {}),
        }
        variables |= {name: ("f8", (name,), {}) for name in ("lat", "lon")}
        variables |= {f"V{n:03}": ("f4", ("time", "lat", "lon"), storage) for n in range(count)}
        made = {name: new.createVariable(name, t, dims, **how) for name, (t, dims, how) in variables.items()}
        made["time"].setncatts({"units": "days since 0001-01-01", "calendar": "noleap", "bounds": "time_bnds"})
        made["time"][:], made["time_bnds"][:] = [last], [[first, last]]
        for n in range(count):
            made[f"V{n:03}"].units = "K"
            made[f"V{n:03}"][0] = noise[(month + n) % 16] + np.float32(n)
