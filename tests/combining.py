"""Shared by the tests of ``ncforge combine``: the command, and fields to cut into tiles."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import tiles as tl
from commands import ncforge

CLASSIC = tl.Storage()
DEFLATED = tl.Storage("NETCDF4", zlib=True)
CDF5 = tl.Storage("NETCDF3_64BIT_DATA")
TYPES5 = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
FILL = {"f4": np.float32(9.969209968386869e36), "f8": np.float64(9.969209968386869e36)}


def combine(mosaic: tl.Mosaic, out: Path, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Combines a set, named by one of its tiles."""
    return ncforge("combine", mosaic.paths[0], "-o", out, *words, **options)


def values(shape: tuple[int, ...], dtype: str = "f4", seed: int = 0) -> tl.Array:
    """Values of any type: for integers all bits, for floats also NaN and infinities."""
    rng = np.random.default_rng([seed, *shape])
    if dtype == "S1":
        return rng.integers(97, 123, shape, dtype="u1").view("S1")
    if np.dtype(dtype).kind == "f":
        values = rng.standard_normal(shape).astype(dtype)
        values.flat[:: max(values.size // 3, 1)] = np.nan
        return values
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def ocean(ny: int = 23, nx: int = 31, types: list[str] | None = None) -> tl.Whole:
    """Variables of ranks 0 to 5, along none, one, or both of the split dimensions."""
    fields = {
        "nav_lon": tl.Field(("y", "x"), values((ny, nx)), {"units": "degrees_east"}),
        "t": tl.Field(("t",), np.arange(3, dtype="f8"), {"units": "days since 1958-01-01"}),
        "depth": tl.Field(("z",), np.linspace(5, 50, 4).astype("f4")),
        "votemper": tl.Field(("t", "z", "y", "x"), values((3, 4, ny, nx), seed=1), fill=np.float32(1e20)),
        "row": tl.Field(("y",), values((ny,), "i4", 2)),
        "number": tl.Field((), np.array(7, "i4")),
        "five": tl.Field(("c", "z", "k", "y", "x"), values((2, 4, 2, ny, nx), "f8", 3)),
    }
    for kind in types or ["i2", "f8"]:
        fields[f"v_{kind}"] = tl.Field(("z", "y", "x"), values((4, ny, nx), kind, 4))
    return tl.Whole(fields, attrs={"title": "test"})


def fms_whole(ny: int = 14, nx: int = 18, symmetric: bool = False, dtype: str = "f4") -> tl.Whole:
    """Fields with coordinate variables."""
    fields = {
        "x": tl.Field(("x",), np.arange(nx) * 0.25 - 279.875, {"units": "degrees_E"}),
        "y": tl.Field(("y",), np.arange(ny) * 0.5 - 70.0),
        "t": tl.Field(("t",), np.arange(2.0)),
        "temp": tl.Field(("t", "y", "x"), values((2, ny, nx), dtype), fill=np.dtype(dtype).type(7)),
        "five": tl.Field(("a", "b", "c", "y", "x"), values((2, 2, 2, ny, nx), dtype)),
        "average_T1": tl.Field(("t",), np.arange(2.0)),
    }
    if symmetric:
        fields["xq"] = tl.Field(("xq",), np.arange(nx + 1) * 0.25)
        fields["yq"] = tl.Field(("yq",), np.arange(ny + 1) * 0.5)
        fields["u"] = tl.Field(("t", "y", "xq"), values((2, ny, nx + 1), dtype))
        fields["vort"] = tl.Field(("yq", "xq"), values((ny + 1, nx + 1), dtype))
    return tl.Whole(fields)


def shorten(path: Path, by: int) -> None:
    os.truncate(path, path.stat().st_size - by)


def wholes() -> dict[str, tl.Whole]:
    """A file for each scheme that `split` writes."""
    rng = np.random.default_rng(5)
    ny, nx = 28, 35
    mask = np.ones((ny, nx), "i1")
    mask[14:, :9] = 0
    t = tl.Field(("t",), np.arange(2.0))
    fill = np.float32(1e20)
    temp = np.where(mask == 1, rng.standard_normal((2, 3, ny, nx)), 1e20).astype("f4")
    nemo = tl.Whole(
        {
            "t": t,
            "tmask": tl.Field(("y", "x"), mask, fill=np.int8(0)),
            "votemper": tl.Field(("t", "z", "y", "x"), temp, fill=fill),
        }
    )
    fms = fms_whole(ny, nx, symmetric=True)
    roms = tl.Whole(
        {
            "t": t,
            "rho": tl.Field(("t", "eta_rho", "xi_rho"), values((2, ny, nx))),
            "u": tl.Field(("t", "eta_rho", "xi_u"), values((2, ny, nx - 1), "f8")),
            "v": tl.Field(("t", "eta_v", "xi_rho"), values((2, ny - 1, nx))),
        }
    )
    wrf = tl.Whole(
        {
            "t": t,
            "T": tl.Field(("t", "bottom_top", "south_north", "west_east"), values((2, 3, ny, nx))),
            "U": tl.Field(("t", "bottom_top", "south_north", "west_east_stag"), values((2, 3, ny, nx + 1))),
            "V": tl.Field(("t", "bottom_top", "south_north_stag", "west_east"), values((2, 3, ny + 1, nx))),
        }
    )
    return {"nemo": nemo, "fms": fms, "roms": roms, "wrf": wrf}
