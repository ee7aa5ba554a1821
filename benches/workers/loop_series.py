"""One file for each variable by other means: ``loop_series.py WAY FOLDER OUT``.

``netCDF4``: a loop over variables and files in Python, as GenTS and PyReshaper do it; ``ncrcat``: a command for each variable."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4

way, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
out.mkdir(exist_ok=True)
files = sorted(folder.glob("*.nc"))
with netCDF4.Dataset(files[0]) as first:
    names = [name for name in first.variables if name.startswith("V")]


def define(first: netCDF4.Dataset, new: netCDF4.Dataset, names: list[str]) -> None:
    """Defines these variables as the first file has them."""
    new.setncatts({name: first.getncattr(name) for name in first.ncattrs()})
    for dim in first.dimensions.values():
        new.createDimension(dim.name, None if dim.isunlimited() else len(dim))
    for name in names:
        var = first[name]
        filters: dict[str, Any] = var.filters() or {}
        how: dict[str, Any] = {"zlib": True, "complevel": filters["complevel"]} if filters.get("zlib") else {}
        chunks = var.chunking()
        new.createVariable(
            name, var.dtype, var.dimensions, **how, chunksizes=None if chunks in (None, "contiguous") else chunks
        )
        new[name].setncatts({k: var.getncattr(k) for k in var.ncattrs()})


def loop(name: str) -> None:
    """One variable, file by file."""
    with netCDF4.Dataset(files[0]) as first, netCDF4.Dataset(out / f"{name}.nc", "w", format=first.data_model) as new:
        taken = ["time", "time_bnds", "lat", "lon", name]
        define(first, new, taken)
        for fixed in ("lat", "lon"):
            new[fixed][:] = first[fixed][:]
        for at, file in enumerate(files):
            with netCDF4.Dataset(file) as source:
                for along in ("time", "time_bnds", name):
                    new[along][at] = source[along][0]


for name in names:
    if way == "netCDF4":
        loop(name)
    else:
        command = ["ncrcat", "-h", "-O", "-v", name, *map(str, files), str(out / f"{name}.nc")]
        subprocess.run(command, check=True, capture_output=True)
