"""Files to select from, and what NumPy selects of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from conftest import Run

Array = np.ndarray[Any, Any]
#: How large variables are stored.
STORED: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunksizes": (4, 5, 6)},
    "deflated": {"chunksizes": (4, 5, 6), "zlib": True},
    "single": {"chunksizes": (1, 17, 1), "zlib": True, "fletcher32": True},
}


def raw(path: Path) -> dict[str, Array]:
    """All values as they are stored, by path."""
    found = {}
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        d.set_auto_chartostring(False)

        def walk(group: Any, base: str) -> None:
            found.update({base + name: v[...] for name, v in group.variables.items()})
            for name, below in group.groups.items():
                walk(below, f"{base}{name}/")

        walk(d, "")
    return found


def picked(path: Path, where: Mapping[str, Array]) -> dict[str, Array]:
    """The values of a file at indices along dimensions, by NumPy."""
    values, out = raw(path), {}
    with netCDF4.Dataset(path) as d:
        for name, all_of_it in values.items():
            result = all_of_it
            for axis, dim in enumerate(d[name].dimensions):
                if dim in where:
                    result = np.take(result, where[dim], axis=axis)
            out[name] = result
    return out


def same(path: Path, expected: Mapping[str, Array]) -> None:
    found = raw(path)
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name].dtype == values.dtype, name
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def write(path: Path, kind: str, seed: int = 0, shape: tuple[int, int, int] = (23, 17, 30)) -> None:
    """A file of some format and layout: variables of all ranks, one with its dimension twice, strings and a compound if there are such."""
    rng = np.random.default_rng(seed)
    format: Any
    format, layout = kind.split(":")
    chunked = STORED[layout]
    with netCDF4.Dataset(path, "w", format=format) as d:
        d.Conventions = "CF-1.8"
        for name, n in zip(("time", "lat", "lon"), shape, strict=True):
            d.createDimension(name, None if name == "time" and layout != "contiguous" else n)
        d.createDimension("two", 2)
        for name, values, units in (
            ("time", np.arange(shape[0]) + 0.5, "days since 2000-01-20"),
            ("lat", np.linspace(80, -80, shape[1]), "degrees_north"),
            ("lon", np.arange(shape[2]) * (360 / shape[2]), "degrees_east"),
        ):
            v = d.createVariable(name, "f8", (name,))
            v.units, v.bounds = units, f"{name}_bnds"
            v[:] = values
            d.createVariable(f"{name}_bnds", "f8", (name, "two"))[:] = np.stack([values, values + 1], axis=1)
        d["time"].calendar = "noleap"
        tas = d.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=-1e30, **chunked)
        tas[:] = rng.normal(size=shape)
        packed = d.createVariable("packed", "i2", ("time", "lat", "lon"), **chunked)
        packed.scale_factor = 0.5
        packed[:] = rng.integers(-500, 500, shape)
        d.createVariable("area", "f8", ("lat", "lon"))[:] = rng.normal(size=shape[1:])
        d.createVariable("square", "i4", ("lat", "lat"))[:] = rng.integers(0, 99, (shape[1], shape[1]))
        d.createVariable("name", "S1", ("time", "two"))[:] = rng.integers(97, 123, (shape[0], 2), dtype="u1").view("S1")
        d.createVariable("number", "i4", ())[...] = 7
        if format == "NETCDF4":
            g = d.createGroup("g")
            g.createVariable("deep", "i8", ("lon", "time"))[:] = rng.integers(0, 99, (shape[2], shape[0]))
            text = g.createVariable("text", str, ("time",))
            text[:] = np.array([f"step {i}" * (i % 3) for i in range(shape[0])], dtype=object)
            pair = g.createCompoundType(np.dtype([("a", "i2"), ("b", "f8")]), "pair")
            both = np.zeros(shape[1], dtype=[("a", "i2"), ("b", "f8")])
            both["a"], both["b"] = np.arange(shape[1]), rng.normal(size=shape[1])
            g.createVariable("both", pair, ("lat",))[:] = both
            late = g.createVariable("late", "f4", ("time", "lon"), chunksizes=(3, 7), zlib=True)
            late[shape[0] // 3 : shape[0] // 2, 8:20] = 5


def selected(run: Run, path: Path, out: Path, *words: object) -> dict[str, Array]:
    run("copy", "-O", path, out, *[w for word in words for w in ("--select", word)])
    return raw(out)
