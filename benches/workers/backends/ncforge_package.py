"""ncforge's Python package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import ncforge
from ncforge import Dataset  # names are loaded when they are first used
from workers.backends import Backend, Key, Request, lengths

FORMATS = {"cdf5": "NETCDF3_64BIT_DATA", "netcdf4": "NETCDF4"}


class Ncforge(Backend):
    """Threads and memory as the environment says."""

    name = "ncforge (Python)"
    syncs = False
    module = ncforge

    def version(self) -> str:
        return ncforge.__version__

    def read(self, request: Request) -> np.ndarray:
        with Dataset(request["path"]) as data:
            data.set_auto_maskandscale(False)
            return np.asarray(data.variables[request["var"]][...])

    def each(self, request: Request, keys: Iterable[Key]) -> Iterator[np.ndarray]:
        with Dataset(request["path"]) as data:
            data.set_auto_maskandscale(False)
            var = data.variables[request["var"]]
            for key in keys:
                yield var[key]

    def write(self, request: Request, values: np.ndarray) -> None:
        level = int(request.get("deflate") or 0)
        chunks = lengths(request, "chunks")
        by_records = request.get("records") == "1"
        with Dataset(request["path"], "w", format=FORMATS[request["format"]]) as new:
            for i, n in enumerate(values.shape):
                new.createDimension(f"d{i}", None if by_records and i == 0 else n)
            var = new.createVariable(
                request["var"],
                values.dtype,
                [f"d{i}" for i in range(values.ndim)],
                compression="zlib" if level else None,
                complevel=level,
                shuffle=request.get("shuffle") == "1",
                contiguous=chunks is None and request["format"] == "netcdf4" and not by_records,
                chunksizes=chunks,
                fill_value=False,
            )
            if by_records:
                for t, record in enumerate(values):
                    var[t] = record
            else:
                var[...] = values

    def attributes(self, request: Request) -> list[Any]:
        with Dataset(request["path"]) as data:
            return [var.getncattr(name) for var in data.variables.values() for name in var.ncattrs()]
