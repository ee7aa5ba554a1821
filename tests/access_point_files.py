"""Files whose deflate chunks have access points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

import access_points
import ncforge
from commands import execute

SHAPE = (3, 300, 410)


def field(dtype: str, seed: int = 0) -> np.ndarray:
    """Maps with structure, noise and plateaus."""
    rng = np.random.default_rng(seed)
    t, y, x = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    values = 100 * np.sin(y / 40 + t) * np.cos(x / 60) + rng.normal(size=SHAPE)
    values[:, 100:160, 200:] = 5
    if np.dtype(dtype).itemsize == 1:
        # Counts of an image; what repeats within 32 KiB only makes a chunk small that has no access points.
        values[:, :100] = 20 * rng.normal(size=(3, 100, 410)).clip(-5, 5)
        values[:, 160:] = 20 * rng.normal(size=(3, 140, 410)).clip(-5, 5)
    return (values * (100 if np.dtype(dtype).kind in "iu" else 1)).astype(dtype)


def write(path: Path, dtype: str, chunks: tuple[int, ...] = (1, 300, 410), **how: Any) -> np.ndarray:
    values = field(dtype)
    with ncforge.Dataset(path, "w") as d:
        for name, n in zip("tyx", SHAPE, strict=True):
            d.createDimension(name, n)
        v = d.createVariable("v", dtype, ("t", "y", "x"), chunksizes=chunks, **{"zlib": True, "complevel": 1, **how})
        v.set_auto_maskandscale(False)
        v[:] = values
    return values


def raw_chunk(path: Path, at: tuple[int, ...] = (), checksum: bool = False, name: str = "v") -> bytes:
    with h5py.File(path) as f:
        _, chunk = f[name].id.read_direct_chunk(at or (0,) * f[name].ndim)
    return chunk[:-4] if checksum else chunk


def segments(path: Path, name: str = "v") -> int:
    """How many segments the first chunk has; 0 without access points."""
    with h5py.File(path) as f:
        v = f[name]
        elements = int(np.prod(v.chunks)) * (1 if v.shuffle else v.dtype.itemsize)
    table = access_points.table_of(raw_chunk(path, name=name), elements)
    return len(table[1]) if table else 0


def check_peers(path: Path, values: np.ndarray, name: str = "v") -> None:
    """That netCDF4-python, h5py and the system's netCDF-C read these values."""
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        assert np.array_equal(d[name][:], values)
    with h5py.File(path) as f:
        assert np.array_equal(f[name][:], values)
    plain = path.with_name("plain.nc")
    execute("nccopy", "-d", "0", "-V", name, path, plain)
    with netCDF4.Dataset(plain) as d:
        d.set_auto_maskandscale(False)
        assert np.array_equal(d[name][:], values)
    plain.unlink()
