"""Reading selections of a variable as NumPy arrays: hyperslabs, and positions picked one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge._core import File
from ncforge._dataset.values import TypeName, Types

# From this many bytes on, results are in memory of the library, which reuses it when the array is freed: the system must
# clear fresh memory first, which takes a third of the time of reading into it.
_LARGE = 1 << 20

Axes = Sequence[tuple[list[int], npt.NDArray[np.int64]]]
"""For each axis of a result: dimensions of the variable, and positions along them, as an array of shape (n, dimensions)."""


def slab(
    core: File, types: Types, var: int, kind: TypeName, start: list[int], count: list[int], stride: list[int]
) -> npt.NDArray[Any]:
    """A hyperslab."""
    dtype = types.dtype(kind)
    if types.is_heap(kind):
        return types.array(kind, core.read_heap(var, start, count, stride), tuple(count))
    if math.prod(count) * dtype.itemsize >= _LARGE:
        return core.read_new(var, start, count, stride).view(dtype).reshape(count)
    array = np.empty(count, dtype)
    core.read_fixed(var, start, count, stride, array.reshape(-1).view(np.uint8))
    return array


def picks(core: File, types: Types, var: int, kind: TypeName, axes: Axes) -> npt.NDArray[Any]:
    """Picked positions: one axis of the result for each of ``axes``. Every chunk that they touch is decoded once."""
    shape = tuple(len(at) for _, at in axes)
    plain = [(dims, np.ascontiguousarray(at, np.int64).reshape(-1)) for dims, at in axes]
    if types.is_heap(kind):
        return types.array(kind, core.read_picks_heap(var, plain), shape)
    array = np.empty(shape, types.dtype(kind))
    core.read_picks(var, plain, array.reshape(-1).view(np.uint8))
    return array


def as_slice(at: npt.NDArray[np.int64]) -> slice | None:
    """The slice that picks the same positions, if they are evenly spaced upwards."""
    if len(at) == 0:
        return slice(0, 0, 1)
    if len(at) == 1:
        return slice(int(at[0]), int(at[0]) + 1, 1)
    step = int(at[1] - at[0])
    if step > 0 and bool((np.diff(at) == step).all()):
        return slice(int(at[0]), int(at[-1]) + 1, step)
    return None
