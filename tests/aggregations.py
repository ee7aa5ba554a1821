"""Aggregation variables (CF conventions, section 2.8), made by netCDF4."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

import ncforge
from datasets import created

FILL = -99.0


def fragment(
    path: Path,
    values: Any,
    name: str = "tas",
    dims: Sequence[str] = ("time", "x"),
    data_model: Any = "NETCDF4",
    attrs: dict[str, Any] | None = None,
    dtype: Any = None,
) -> None:
    """A file with one variable."""
    values = np.asarray(values)
    attrs = dict(attrs or {})
    with created(path, format=data_model, **dict(zip(dims, values.shape, strict=True))) as ds:
        fill = attrs.pop("_FillValue", None)
        v = ds.createVariable(name, dtype or values.dtype, dims, fill_value=fill)
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        v[...] = values


def archive(
    path: Path,
    sizes: Sequence[Sequence[int]],
    uris: Any = None,
    identifiers: Any = "tas",
    unique: Any = None,
    dims: Sequence[str] = ("time", "x"),
    attrs: dict[str, Any] | None = None,
    dtype: Any = "f8",
    data_model: Any = "NETCDF4",
    fill: Any = FILL,
) -> None:
    """A file with one aggregation variable, `tas`, and a coordinate of its first dimension."""
    with netCDF4.Dataset(path, "w", format=data_model) as ds:
        lens = [sum(row) for row in sizes]
        for dim, n in zip(dims, lens, strict=True):
            ds.createDimension(dim, n)
        v = ds.createVariable("tas", dtype, (), fill_value=fill)
        v.setncatts(attrs or {})
        v.aggregated_dimensions = " ".join(dims)
        names = [f"f_{dim}" for dim in dims]
        for name, row in zip(names, sizes, strict=True):
            ds.createDimension(name, len(row))
        if dims:
            ds.createVariable(dims[0], "f8", dims[:1])[:] = np.arange(lens[0])
            ds.createDimension("j", len(dims))
            ds.createDimension("i", max(map(len, sizes)))
            m = ds.createVariable("fragment_map", "i4", ("j", "i"), fill_value=-1)
            for j, row in enumerate(sizes):
                m[j, : len(row)] = row
        else:
            ds.createVariable("fragment_map", "i4", ())[...] = 1

        def text(name: str, values: Any, of: Sequence[str]) -> None:
            if data_model == "NETCDF4":
                made = ds.createVariable(name, str, of)
                made[...] = values if of == [] else np.array(values, object)
                return
            ds.createDimension(f"{name}_len", 40)
            made = ds.createVariable(name, "S1", (*of, f"{name}_len"))
            made[...] = netCDF4.stringtochar(np.array(values, "S40"))

        if unique is None:
            text("fragment_uris", uris, names)
            text("fragment_identifiers", identifiers, [] if isinstance(identifiers, str) else names)
            v.aggregated_data = "map: fragment_map uris: fragment_uris identifiers: fragment_identifiers"
        else:
            unique = np.asarray(unique)
            if unique.dtype == object:
                ds.createVariable("fragment_values", str, names)[...] = unique
            else:
                ds.createVariable("fragment_values", unique.dtype, names, fill_value=fill)[...] = unique
            v.aggregated_data = "unique_values: fragment_values map: fragment_map"


def read(path: Path, name: str = "tas", **options: Any) -> Any:
    with ncforge.Dataset(path, **options) as ds:
        return ds[name][...]
