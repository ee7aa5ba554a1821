"""ncforge's Python package."""

from __future__ import annotations

from typing import Any

import numpy as np

import ncforge
from workers.backends import Backend, Request, lengths

FORMATS = {"cdf5": "NETCDF3_64BIT_DATA", "netcdf4": "NETCDF4"}


class Ncforge(Backend):
    """Threads and memory as the environment says."""

    name = "ncforge (Python)"
    syncs = False

    def version(self) -> str:
        return ncforge.__version__

    def read(self, request: Request) -> np.ndarray:
        with ncforge.Dataset(request["path"]) as data:
            return np.asarray(data.variables[request["var"]][...])

    def write(self, request: Request, values: np.ndarray) -> None:
        level = int(request.get("deflate") or 0)
        chunks = lengths(request, "chunks")
        with ncforge.Dataset(request["path"], "w", format=FORMATS[request["format"]]) as new:
            for i, n in enumerate(values.shape):
                new.createDimension(f"d{i}", n)
            var = new.createVariable(
                request["var"],
                values.dtype,
                [f"d{i}" for i in range(values.ndim)],
                compression="zlib" if level else None,
                complevel=level,
                shuffle=request.get("shuffle") == "1",
                contiguous=chunks is None and request["format"] == "netcdf4",
                chunksizes=chunks,
                fill_value=False,
            )
            var[...] = values

    def attributes(self, request: Request) -> list[Any]:
        with ncforge.Dataset(request["path"]) as data:
            return [var.getncattr(name) for var in data.variables.values() for name in var.ncattrs()]
