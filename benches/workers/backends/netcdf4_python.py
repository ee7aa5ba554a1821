"""netCDF4-python, with masks and scaling off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import netCDF4
import numpy as np

from workers.backends import Backend, Key, Request, lengths

FORMATS: dict[str, Any] = {"cdf5": "NETCDF3_64BIT_DATA", "netcdf4": "NETCDF4"}


class Netcdf4(Backend):
    """The wheel, which brings its own netcdf-c and HDF5."""

    name = "netCDF4-python"
    module = netCDF4

    def version(self) -> str:
        c = netCDF4.__netcdf4libversion__.split()[0]
        return f"{netCDF4.__version__} (netcdf-c {c}, HDF5 {netCDF4.__hdf5libversion__})"

    def read(self, request: Request) -> np.ndarray:
        with netCDF4.Dataset(request["path"]) as data:
            data.set_auto_maskandscale(False)
            return np.asarray(data[request["var"]][...])

    def each(self, request: Request, keys: Iterable[Key]) -> Iterator[np.ndarray]:
        with netCDF4.Dataset(request["path"]) as data:
            data.set_auto_maskandscale(False)
            var = data[request["var"]]
            for key in keys:
                yield var[key]

    def write(self, request: Request, values: np.ndarray) -> None:
        level: Any = int(request.get("deflate") or 0)
        chunks = lengths(request, "chunks")
        by_records = request.get("records") == "1"
        with netCDF4.Dataset(request["path"], "w", format=FORMATS[request["format"]]) as new:
            new.set_fill_off()
            for i, n in enumerate(values.shape):
                new.createDimension(f"d{i}", None if by_records and i == 0 else n)
            create: Any = new.createVariable
            var = create(
                request["var"],
                values.dtype.str[1:],
                [f"d{i}" for i in range(values.ndim)],
                compression="zlib" if level else None,
                complevel=level,
                shuffle=request.get("shuffle") == "1",
                contiguous=chunks is None and request["format"] == "netcdf4" and not by_records,
                chunksizes=chunks,
            )
            var.set_auto_maskandscale(False)
            if by_records:
                for t, record in enumerate(values):
                    var[t] = record
            else:
                var[...] = values

    def attributes(self, request: Request) -> list[Any]:
        with netCDF4.Dataset(request["path"]) as data:
            return [var.getncattr(name) for var in data.variables.values() for name in var.ncattrs()]
