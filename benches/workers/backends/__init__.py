"""Libraries behind one interface. Each is imported by its own worker process only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from importlib import import_module
from io import UnsupportedOperation
from typing import Any

import numpy as np

Request = dict[str, str]
# The key in brackets: a number for one value of an axis, a slice for several.
Key = tuple[int | slice, ...]

BACKENDS = {
    "ncforge-python": "ncforge_package:Ncforge",
    "netCDF4": "netcdf4_python:Netcdf4",
    "h5py": "h5py_library:H5py",
    "hidefix": "hidefix_library:Hidefix",
    "virtualizarr": "virtual_stores:Theirs",
    "virtualizarr-ncforge": "virtual_stores:Ours",
    "xarray-ncforge": "xarray_engines:Ours",
    "xarray-netcdf4": "xarray_engines:Netcdf4",
    "numpy": "system:Fromfile",
    "system": "system:System",
}


class Backend(ABC):
    """The tasks of a library; it says which ones it cannot do."""

    name = ""
    # Whether a file is on disk when it is closed.
    syncs = False
    # A module with netCDF4-python's interface.
    module: Any = None

    @abstractmethod
    def version(self) -> str:
        """Its version, with that of the libraries below."""

    def prepare(self, request: Request) -> None:  # noqa: B027 - most have nothing to prepare
        """Preparations that shall not be timed."""

    def read(self, request: Request) -> np.ndarray:
        """Opens a file, reads a whole variable, closes."""
        raise UnsupportedOperation(f"{self.name} does not read here")

    def each(self, request: Request, keys: Iterable[Key]) -> Iterator[np.ndarray]:
        """Opens a file, reads one selection of a variable after the other, closes."""
        raise UnsupportedOperation(f"{self.name} does not read selections here")

    def native(self, values: np.ndarray, request: Request) -> np.ndarray:
        """The values, in the machine's byte order."""
        return values

    def write(self, request: Request, values: np.ndarray) -> None:
        """Creates a file with one variable and writes all of it."""
        raise UnsupportedOperation(f"{self.name} does not write here")

    def attributes(self, request: Request) -> list[Any]:
        """Opens a file and gets the values of all attributes of all variables."""
        raise UnsupportedOperation(f"{self.name} does not open here")

    def references(self, request: Request) -> tuple[int, int]:
        """Makes references to all files of a folder; how many files, and with ``check`` a checksum of the references."""
        raise UnsupportedOperation(f"{self.name} makes no references")

    def reduce(self, request: Request) -> list[np.ndarray]:
        """Opens all files of a folder as one; means of years, and of months over all years."""
        raise UnsupportedOperation(f"{self.name} computes nothing")


def load_backend(name: str) -> Backend:
    """The backend of a name."""
    module, cls = BACKENDS[name].split(":")
    backend = getattr(import_module(f"workers.backends.{module}"), cls)()
    assert isinstance(backend, Backend)
    return backend


def lengths(request: Request, key: str) -> list[int] | None:
    """Numbers separated by commas; ``None`` when there are none."""
    return [int(n) for n in request[key].split(",")] if request.get(key) else None
