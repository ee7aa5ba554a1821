"""xarray with Dask, by ncforge's engine and by that of netCDF4-python."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import netCDF4
import numpy as np
import xarray as xr

import ncforge
from workers.backends import Backend, Request


class _Engine(Backend):
    open: Callable[..., xr.Dataset]

    def version(self) -> str:
        return f"xarray {xr.__version__}, Dask {dask.__version__}"

    def reduce(self, request: Request) -> list[np.ndarray]:
        paths = sorted(map(str, Path(request["path"]).iterdir()))
        threads = int(os.environ["NCFORGE_THREADS"])
        with dask.config.set(scheduler="threads", num_workers=threads), type(self).open(paths) as data:
            yearly: Any = data["v"].resample(time="YS").mean()
            climatology: Any = data["v"].groupby("time.month").mean()
            return [yearly.values, climatology.values]


class Ours(_Engine):
    """``ncforge.open_mfdataset``."""

    name = "ncforge (xarray)"
    open = staticmethod(ncforge.open_mfdataset)

    def version(self) -> str:
        return f"{ncforge.__version__}, {super().version()}"


def _netcdf4(paths: list[str]) -> xr.Dataset:
    return xr.open_mfdataset(paths, engine="netcdf4")


class Netcdf4(_Engine):
    """``xr.open_mfdataset`` with netCDF4-python."""

    name = "netcdf4 (xarray)"
    open = staticmethod(_netcdf4)

    def version(self) -> str:
        return f"netCDF4-python {netCDF4.__version__}, {super().version()}"
