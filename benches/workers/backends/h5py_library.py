"""h5py."""

from __future__ import annotations

import h5py
import numpy as np

from workers.backends import Backend, Request, lengths


class H5py(Backend):
    """Plain HDF5, without netCDF's conventions: less work than a netCDF library has."""

    name = "h5py"

    def version(self) -> str:
        return f"{h5py.__version__} (HDF5 {h5py.version.hdf5_version})"

    def read(self, request: Request) -> np.ndarray:
        with h5py.File(request["path"], "r") as data:
            return np.asarray(data[request["var"]][...])

    def write(self, request: Request, values: np.ndarray) -> None:
        level = int(request.get("deflate") or 0)
        chunks = lengths(request, "chunks")
        with h5py.File(request["path"], "w") as new:
            new.create_dataset(
                request["var"],
                values.shape,
                values.dtype,
                values,
                chunks=tuple(chunks) if chunks else None,
                compression="gzip" if level else None,
                compression_opts=level or None,
                shuffle=request.get("shuffle") == "1" if chunks else None,
            )
