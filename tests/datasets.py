"""New datasets of netCDF4-python, of ncforge, and of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import netCDF4

import ncforge

CLASSIC = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
FORMATS = [*CLASSIC, "NETCDF4_CLASSIC", "NETCDF4"]


@contextmanager
def created(path: Path, library: Any = netCDF4, /, format: Any = "NETCDF4", **dims: int | None) -> Iterator[Any]:
    """A new dataset with these dimensions, in their order; those of None are unlimited."""
    with library.Dataset(path, "w", format=format) as ds:
        for name, length in dims.items():
            ds.createDimension(name, length)
        yield ds


def by_both(folder: Path, **options: Any) -> Iterator[Any]:
    """New datasets of netCDF4-python and of ncforge, each open until the next is asked for; ``options`` are those of :func:`created`."""
    for library in (netCDF4, ncforge):
        with created(folder / f"{library.__name__}.nc", library, **options) as ds:
            yield ds


def of_both(folder: Path) -> Iterator[Any]:
    """The datasets of :func:`by_both` as netCDF4-python reads them, values as they are in the files."""
    for library in (netCDF4, ncforge):
        with netCDF4.Dataset(folder / f"{library.__name__}.nc") as ds:
            ds.set_auto_maskandscale(False)
            ds.set_auto_chartostring(False)
            yield ds
