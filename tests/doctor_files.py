"""Files that ``ncforge doctor`` finds something in, or nothing: made by netCDF4-python, h5py and NCO."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from commands import execute, ncforge
from datasets import created

#: The shape of the field.
N, NY, NX = 512, 64, 128


def smooth(n: int = N, ny: int = NY, nx: int = NX, noise: float = 0.01) -> Any:
    """A field that compresses as measured ones do."""
    return _smooth(n, ny, nx, noise).copy()


@functools.lru_cache(8)
def _smooth(n: int, ny: int, nx: int, noise: float) -> Any:
    rng = np.random.default_rng(7)
    t, y, x = np.arange(n) / 20, np.arange(ny) / 10, np.arange(nx) / 15
    field = np.sin(t)[:, None, None] + np.cos(y)[:, None] + np.sin(x) + noise * rng.normal(size=(n, ny, nx))
    return (10 * field).astype("f4")


def field(
    path: Path,
    shape: tuple[int, int, int] = (N, NY, NX),
    *,
    unlimited: bool = True,
    values: Any = None,
    dtype: Any = "f4",
    form: Any = "NETCDF4",
    bounds: int | None = None,
    **storage: Any,
) -> None:
    """A file with a field ``tas(time, lat, lon)``."""
    with created(path, format=form, time=None if unlimited else shape[0], lat=shape[1], lon=shape[2]) as d:
        d.variable_id = "tas"
        chunked = form.startswith("NETCDF4")
        whole: dict[str, Any] = {"chunksizes": (shape[0],)} if chunked else {}
        time = d.createVariable("time", "f8", ("time",), **whole)
        time.units = "days since 2000-01-01"
        if bounds is not None:
            d.createDimension("bnds", 2)
            time.bounds = "time_bnds"
            d.createVariable("time_bnds", "f8", ("time", "bnds"), chunksizes=(bounds, 2))[:] = np.zeros((shape[0], 2))
        v = d.createVariable("tas", dtype, ("time", "lat", "lon"), **storage)
        time[:] = np.arange(shape[0])
        if values is not False:
            v[:] = smooth(*shape) if values is None else values


def z(chunks: tuple[int, ...], **more: Any) -> dict[str, Any]:
    """Deflated chunks."""
    return {"chunksizes": chunks, "zlib": True, "complevel": 1, "shuffle": True, **more}


def contiguous(path: Path, dtype: str = "f4", values: Any = None) -> None:
    """The field in one run."""
    field(path, unlimited=False, dtype=dtype, values=values)


def record_file(path: Path, variables: int) -> None:
    """Series in a classic file."""
    with created(path, format="NETCDF3_64BIT_OFFSET", time=None) as d:
        for i in range(variables):
            d.createVariable(f"s{i}", "f4", ("time",))
        for i in range(variables):
            d[f"s{i}"][:] = np.random.default_rng(i).random(20_000, dtype="f4")


def header_without_room(path: Path) -> None:
    """A classic file as netCDF-C makes it."""
    with created(path, format="NETCDF3_CLASSIC", x=500_000) as d:
        d.createVariable("v", "f4", ("x",))[:] = np.random.default_rng(1).random(500_000, dtype="f4")


def header_with_room(path: Path) -> None:
    """A classic file with header room, by NCO."""
    tight = path.with_name("tight.nc")
    header_without_room(tight)
    execute("ncks", "-h", "--hdr_pad", "4096", tight, path)


def dimensions(path: Path, *, used: bool) -> None:
    """An unlimited dimension with or without a variable."""
    with created(path, time=None, x=3) as d:
        d.createVariable("v", "f4", ("time", "x") if used else ("x",))[:] = np.ones((2, 3) if used else 3)


def maps(path: Path, values: Any = None) -> None:
    """Maps of a megabyte, each a chunk."""
    values = smooth(40, 360, 720, noise=0.1) if values is None else values
    field(path, (40, 360, 720), unlimited=False, values=values, **z((1, 360, 720)))


def masked(path: Path, *, fill: bool) -> None:
    """Chunks of which a part holds nothing but the fill value, stored or not."""
    with h5py.File(path, "w") as f:
        v = f.create_dataset("v", (64, 32, 32), "f4", chunks=(4, 32, 32), compression=1, shuffle=True, fillvalue=-9.0)
        if fill:
            v[...] = -9
        v[:32] = smooth(32, 32, 32)


def big_endian(path: Path, *, big: bool) -> None:
    """A netCDF-4 file of the other byte order."""
    with created(path, x=1000) as d:
        kind: Any = ">f4" if big else "<f4"
        d.createVariable("v", kind, ("x",), endian="big" if big else "little")[:] = np.arange(1000, dtype=kind)


def scattered(path: Path, *, front: bool) -> None:
    """Many variables, each defined after the data of the one before; or copied by ncforge."""
    loose = path if not front else path.with_name("loose.nc")
    with created(loose, x=200_000) as d:
        for i in range(12):
            d.createVariable(f"v{i}", "f4", ("x",))[:] = np.random.default_rng(i).random(200_000, dtype="f4")
            d.sync()
    if front:
        ncforge("copy", "-q", loose, path)


def noise(n: int, ny: int, nx: int) -> Any:
    """Values that nothing compresses."""
    return np.random.default_rng(3).random((n, ny, nx), dtype="f4")


def cmip(path: Path, *, time: int = 160, bounds: int = 160, data: int = 40) -> None:
    """A file as of CMIP, in front of or behind its packing."""
    with created(path, format="NETCDF4_CLASSIC", time=None, lat=90, lon=300, bnds=2) as d:
        d.variable_id = "tas"
        t = d.createVariable("time", "f8", ("time",), chunksizes=(time,))
        t.units, t.bounds = "days since 1850-01-01", "time_bnds"
        b = d.createVariable("time_bnds", "f8", ("time", "bnds"), chunksizes=(bounds, 2))
        v = d.createVariable("tas", "f4", ("time", "lat", "lon"), **z((data, 90, 300)))
        t[:], b[:] = np.arange(160), np.zeros((160, 2))
        v[:] = np.round(smooth(160, 90, 300))


def fixed_cmip(path: Path) -> None:
    """The worst of them, fixed."""
    bad = path.with_name("bad.nc")
    cmip(bad, time=1, bounds=1, data=1)
    ncforge("copy", "-q", "--profile", "cmip7", bad, path)
