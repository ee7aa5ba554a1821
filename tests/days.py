"""Files that continue one another along time, and what two files have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from datasets import created

#: Global attributes that say how a file was made.
MADE_BY = {"history", "NCO", "nco_openmp_thread_number"}


def part(
    path: Path,
    first: float = 0.0,
    n: int = 3,
    kind: Any = "NETCDF4",
    units: str = "days since 2000-01-01",
    seed: int = 0,
    change: Callable[[netCDF4.Dataset], None] | None = None,
    time_type: str = "f8",
    **storage: Any,
) -> Path:
    """A file of ``n`` times from ``first`` on."""
    rng = np.random.default_rng([seed, int(first * 4) & 0xFFFF])
    with created(path, format=kind, time=None, lat=4, lon=5, len=8) as ds:
        ds.title = "series"
        ds.history = f"made {path.name}"
        t = ds.createVariable("time", time_type, ("time",))
        t.units, t.calendar = units, "standard"
        t[:] = first + np.arange(n)
        ds.createVariable("lat", "f4", ("lat",))[:] = np.arange(4)
        ds.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
        ds["crs"][...] = 7
        tas = ds.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=np.float32(-9), **storage)
        tas.units = "K"
        count = ds.createVariable("count", "i2", ("time", "lat"), **storage)
        flag = ds.createVariable("flag", "i1", ("time",))
        name = ds.createVariable("name", "S1", ("time", "len"))
        if n:
            tas[:] = rng.normal(size=(n, 4, 5)).astype("f4")
            tas[0, 1] = np.ma.masked
            count[:] = rng.integers(-99, 99, (n, 4))
            flag[:] = rng.integers(0, 9, n)
            name[:] = rng.choice(list(b"abc"), (n, 8)).astype("u1").view("S1")
        if change is not None:
            change(ds)
    return path


def series(folder: Path, lens: list[int], **options: Any) -> list[Path]:
    """Files that follow each other."""
    starts = np.cumsum([0, *lens[:-1]])
    return [
        part(folder / f"p_{i:03}.nc", float(a), n, **options) for i, (a, n) in enumerate(zip(starts, lens, strict=True))
    ]


def described(
    group: netCDF4.Dataset | netCDF4.Group, names: set[str] | None = None, top: bool = True
) -> dict[str, Any]:
    """Everything that a group says; of these variables and their dimensions only."""
    variables = {name: var for name, var in group.variables.items() if names is None or name in names}
    used = {name for var in variables.values() for name in var.dimensions}
    attrs = {k: np.asarray(group.getncattr(k)).tolist() for k in group.ncattrs() if not (top and k in MADE_BY)}
    out: dict[str, Any] = {
        "attrs": attrs,
        "dims": {
            d.name: (len(d), d.isunlimited()) for d in group.dimensions.values() if names is None or d.name in used
        },
    }
    for name, var in variables.items():
        var.set_auto_maskandscale(False)
        var.set_auto_chartostring(False)
        values = var[...]
        raw = values.tolist() if values.dtype == object else (values.dtype.kind, values.shape, values.tobytes())
        out[name] = (var.dimensions, raw, {k: np.asarray(var.getncattr(k)).tolist() for k in var.ncattrs()})
    for name, below in group.groups.items():
        out[f"/{name}"] = described(below, names=None, top=False)
    return out


def records(path: Path) -> int:
    """Records of a file."""
    with netCDF4.Dataset(path) as ds:
        return len(ds.dimensions["time"])


def same(a: Path, b: Path, more: bool = False) -> None:
    """Both files say the same, as netCDF-C reads them; or the first one says ``more``, by other variables."""
    with netCDF4.Dataset(a) as x, netCDF4.Dataset(b) as y:
        assert set(y.variables) <= set(x.variables)
        assert described(x, set(y.variables) if more else None) == described(y)
