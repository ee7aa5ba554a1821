"""Vectorized keys of xarray, taken apart into selections along single dimensions.

xarray makes a vectorized key of each lazy transposition, and of each selection after one: an index array for each dimension. Most of
these arrays change along axes of their own. Then the result is an outer selection with its axes in another order, and none of its
points has to be looked up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge.errors import SelectionError

Positions = npt.NDArray[np.int64]


@dataclass
class Group:
    """Dimensions whose positions change together, along axes of the result that are theirs alone."""

    dims: list[int]
    axes: list[int]
    """In rising order; none of a single position."""
    arrays: list[Positions]
    """The positions in each dimension, to be broadcast against each other."""

    @property
    def lengths(self) -> list[int]:
        """Lengths of the axes."""
        shape = np.broadcast_shapes(*(a.shape for a in self.arrays))
        return [shape[axis] for axis in self.axes]

    @property
    def points(self) -> int:
        """How many they are."""
        return math.prod(self.lengths)

    def table(self, start: int, stop: int) -> Positions:
        """Points from ``start`` to ``stop``, as an array of shape (points, dimensions)."""
        # A broadcast array is as long as the result when it is copied: iterators copy a part of it.
        return np.stack([a.flat[start:stop] for a in np.broadcast_arrays(*self.arrays)], axis=-1)

    def along(self) -> Positions | slice:
        """The positions in the only dimension, as a slice if they are evenly spaced in either direction."""
        at = self.arrays[0].reshape(-1)
        if len(at) == 0:
            return slice(0, 0, 1)
        step = int(at[1] - at[0]) if len(at) > 1 else 1
        if step == 0 or not (np.diff(at) == step).all():
            return at
        stop = int(at[-1]) + (1 if step > 0 else -1)
        return slice(int(at[0]), stop if stop >= 0 else None, step)


@dataclass
class Separated:
    """A vectorized key as groups of dimensions."""

    shape: tuple[int, ...]
    """The shape of the result."""
    groups: list[Group]
    """In the order of their axes."""

    @property
    def is_outer(self) -> bool:
        """Whether no two dimensions change together."""
        return all(len(g.dims) == 1 for g in self.groups)

    def outer(self) -> tuple[Positions | slice, ...]:
        """The key of the outer selection, in which a single position is a slice."""
        return tuple(g.along() for g in self._by_dimension())

    def of_outer(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The result, of the outer selection."""
        return self._arranged(array, self._by_dimension())

    def of_points(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The result, of an array with an axis for each group."""
        return self._arranged(array, self.groups)

    def _by_dimension(self) -> list[Group]:
        return sorted(self.groups, key=lambda g: g.dims)

    def _arranged(self, array: npt.NDArray[Any], read: list[Group]) -> npt.NDArray[Any]:
        order = [axis for g in read for axis in g.axes]
        array = array.reshape([n for g in read for n in g.lengths]).transpose(np.argsort(np.array(order, int)))
        array = np.expand_dims(array, [axis for axis in range(len(self.shape)) if axis not in order])
        # Nothing changes along the other axes.
        return array if array.shape == self.shape else np.array(np.broadcast_to(array, self.shape))


def separated(key: tuple[Any, ...], shape: tuple[int, ...], name: str) -> Separated:
    """The groups of a vectorized key of a variable, whose positions are checked."""
    groups: list[Group] = []
    arrays = _as_arrays(key, shape)
    for d, full in enumerate(arrays):
        k = positions(_changing(full), shape[d], name)
        new = Group([d], [axis for axis, n in enumerate(k.shape) if n != 1], [k])
        for g in [g for g in groups if set(g.axes) & set(new.axes)]:
            groups.remove(g)
            new = Group(g.dims + new.dims, sorted({*g.axes, *new.axes}), g.arrays + new.arrays)
        groups.append(new)
    return Separated(np.broadcast_shapes(*(k.shape for k in arrays)), sorted(groups, key=lambda g: g.axes))


def positions(at: npt.NDArray[Any], n: int, name: str) -> Positions:
    """Positions along a dimension of a variable, none of them negative; of booleans, those of what is true."""
    if at.dtype.kind == "b":
        at = np.flatnonzero(at)
    at = at.astype(np.int64, copy=False)
    if at.size and at.min() < 0:
        at = np.where(at < 0, at + n, at)
    if at.size and (at.min() < 0 or at.max() >= n):
        raise SelectionError(f"`{name}`: index out of range on a dimension of length {n}")
    return at


def _as_arrays(key: tuple[Any, ...], shape: tuple[int, ...]) -> list[npt.NDArray[Any]]:
    """The arrays of a vectorized key, with another one for each slice: the axes of slices come last."""
    slices = [d for d, k in enumerate(key) if isinstance(k, slice)]
    rank = max((k.ndim for k in key if not isinstance(k, slice)), default=0)
    found = []
    for d, k in enumerate(key):
        if isinstance(k, slice):
            before = slices.index(d)
            k = np.arange(*k.indices(shape[d])).reshape(
                (1,) * (rank + before) + (-1,) + (1,) * (len(slices) - before - 1)
            )
        else:
            k = k.reshape(k.shape + (1,) * len(slices))
        found.append(k)
    return found


def _changing(k: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An index array, with length 1 along each axis on which it does not change."""
    if k.size == 0:
        return k
    for axis in range(k.ndim):
        first = k[(slice(None),) * axis + (slice(1),)]
        # A single line tells of most arrays that they change: only where it does not, all of it is compared.
        line = k[tuple(slice(None) if a == axis else 0 for a in range(k.ndim))]
        if k.strides[axis] == 0 or ((line == line[0]).all() and (k == first).all()):
            k = first
    return k
