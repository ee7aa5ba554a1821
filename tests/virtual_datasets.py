"""HDF5's virtual datasets, made by h5py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
from h5py import h5d, h5p, h5s, h5t

import ncforge
from commands import ncforge as command

UNLIMITED = h5s.UNLIMITED
#: Start, count, stride and block along each dimension.
Blocks = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
FILL = -7


def space(dims: Sequence[int], selected: Blocks | None = None) -> h5s.SpaceID:
    """A dataspace, of which blocks are selected, or all."""
    unlimited = selected is not None and UNLIMITED in (*selected[1], *selected[3])
    made = h5s.create_simple(tuple(dims), (UNLIMITED,) * len(dims) if unlimited else None)
    if selected is not None:
        start, count, stride, block = map(tuple, selected)
        made.select_hyperslab(start, count, stride, block)
    return made


def adjacent(start: int, count: int) -> Blocks:
    """Adjacent elements along one dimension."""
    return [start], [1], [1], [count]


def virtual(
    file: h5py.File,
    name: str,
    shape: Sequence[int],
    mappings: Sequence[tuple[h5s.SpaceID, str, str, h5s.SpaceID]],
    dtype: Any = "i4",
    fill: Any = FILL,
    grows: bool = False,
) -> None:
    """A virtual dataset of mappings: elements here, file, dataset, elements there."""
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_layout(h5d.VIRTUAL)
    if fill is not None:
        plist.set_fill_value(np.array(fill, dtype))
    for here, path, dataset, there in mappings:
        plist.set_virtual(here, path.encode(), dataset.encode(), there)
    most = (UNLIMITED,) * len(shape) if grows else None
    of = h5t.py_create(dtype if isinstance(dtype, h5t.TypeID) else np.dtype(dtype), logical=True)
    h5d.create(file.id, name.encode(), of, h5s.create_simple(tuple(shape), most), plist)


def source(path: Path, values: np.ndarray, name: str = "d", **options: Any) -> np.ndarray:
    with h5py.File(path, "a") as f:
        f.create_dataset(name, data=values, **options)
    return values


def expected(path: Path, name: str = "v") -> np.ndarray:
    with h5py.File(path) as f:
        return f[name][...]


def check(path: Path, name: str = "v", want: np.ndarray | None = None) -> None:
    """ncforge reads what h5py reads (or what is wanted), whole and in part; and so does netCDF4 from a copy."""
    want = expected(path, name) if want is None else want
    with ncforge.Dataset(path) as ds:
        ds.set_auto_maskandscale(False)
        v = ds[name]
        assert v.shape == want.shape
        np.testing.assert_array_equal(v[...], want)
        rng = np.random.default_rng(want.size)
        for _ in range(12):
            box = tuple(any_slice(rng, n) for n in want.shape)
            np.testing.assert_array_equal(v[box], want[box], err_msg=str(box))
        for d, n in enumerate(want.shape):
            if n:
                at = np.sort(rng.choice(n, size=rng.integers(1, n + 1), replace=False))
                key: tuple[Any, ...] = (*(slice(None),) * d, at)
                np.testing.assert_array_equal(v[key], want[key], err_msg=str(key))
    new = path.with_name("copy-" + path.name)
    command("copy", "-O", path, new)
    with netCDF4.Dataset(new) as ds:
        ds.set_auto_maskandscale(False)
        np.testing.assert_array_equal(ds[name][...], want)


def any_slice(rng: np.random.Generator, n: int) -> slice:
    start = int(rng.integers(0, n + 1))
    stop = int(rng.integers(start, n + 1))
    return slice(start, stop, int(rng.integers(1, 4)))
