"""Python's index expressions as hyperslabs, and as lists of positions.

Each list or array of integers, and each one-dimensional array of booleans, selects along its own axis (orthogonal
indexing), as in netCDF4-python; not point by point, as in NumPy.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge._dataset.read import as_slice
from ncforge.errors import SelectionError

Positions = npt.NDArray[np.int64]
Item = slice | int | Positions
Part = tuple[slice | EllipsisType, ...]
"""An index expression for a part of an array."""


@dataclass
class Selection:
    """A hyperslab, and the postprocessing of the array that it gives."""

    start: list[int]
    count: list[int]
    stride: list[int]
    """Always positive; a negative step is read forwards and then reversed."""
    flipped: list[bool]
    squeezed: list[bool]
    """Axes chosen by an integer: not part of the result."""

    @property
    def lengths(self) -> list[int]:
        """How many positions along each dimension."""
        return self.count

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(n for n, gone in zip(self.count, self.squeezed, strict=True) if not gone)

    def flips(self) -> tuple[slice, ...]:
        """Reverses the axes with negative steps."""
        return tuple(slice(None, None, -1) if f else slice(None) for f in self.flipped)


@dataclass
class Picked:
    """Positions on every axis, one by one."""

    at: list[Positions]
    squeezed: list[bool]
    """Axes chosen by an integer: not part of the result."""

    @property
    def lengths(self) -> list[int]:
        """How many positions along each dimension."""
        return [len(at) for at in self.at]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(len(at) for at, gone in zip(self.at, self.squeezed, strict=True) if not gone)

    def axes(self) -> list[tuple[list[int], Positions]]:
        """For each axis of the result, its dimension and the positions along it as a column."""
        return [([d], at[:, None]) for d, at in enumerate(self.at)]

    def plain(self) -> list[tuple[list[int], Positions]]:
        """The index as an argument of the extension module."""
        return [([d], np.ascontiguousarray(at)) for d, at in enumerate(self.at)]


def select(key: Any, shape: tuple[int, ...], name: str) -> Selection | Picked:
    """The selection of ``variable[key]`` for reading."""
    items = expand(key, shape, name)
    if not any(isinstance(item, np.ndarray) for item in items):
        return _select(items, shape, [False] * len(shape), None, name)
    at: list[Positions] = []
    for d, (item, n) in enumerate(zip(items, shape, strict=True)):
        if isinstance(item, slice):
            at.append(np.arange(*item.indices(n), dtype=np.int64))
        elif isinstance(item, int):
            at.append(np.array([_position(item, n, False, d, name)], np.int64))
        else:
            at.append(_wrapped(item, n, False, d, name))
    simple = [as_slice(positions) for positions in at]
    squeezed = [isinstance(item, int) for item in items]
    if all(s is not None for s in simple):
        known = [s for s in simple if s is not None]
        out = Selection([], [], [], [False] * len(shape), squeezed)
        for s in known:
            count = len(range(s.start, s.stop, s.step))
            out.start.append(s.start if count else 0)
            out.count.append(count)
            out.stride.append(s.step)
        return out
    return Picked(at, squeezed)


@dataclass
class Destination:
    """Where ``variable[key] = data`` writes."""

    shape: tuple[int, ...]
    """The shape of all data."""
    given: tuple[int, ...]
    """The shape from which they are broadcast to it."""
    parts: Iterable[tuple[Selection, Part]]
    """Hyperslabs, and the part of the data for each."""


def select_for_writing(
    key: Any, shape: tuple[int, ...], unlimited: list[bool], data_shape: tuple[int, ...], name: str
) -> Destination:
    """The selections of ``variable[key] = data``: on unlimited dimensions they may pass the end.

    An open slice (``:``, ``n:``, ``::-1``) on an unlimited dimension takes its length from the data, as in netCDF4-python: data
    of one record are written to the first one only. A single value is written to all.
    """
    items = expand(key, shape, name, unlimited)
    data_shape = _aligned(items, shape, unlimited, data_shape, name)
    if not any(isinstance(item, np.ndarray) for item in items):
        selection = _select(items, shape, unlimited, data_shape, name)
        return Destination(selection.shape, data_shape, [(selection, (...,))])
    # Every list as runs of evenly spaced positions: a hyperslab for every combination of them.
    whole = [item if isinstance(item, slice | int) else slice(0, len(item)) for item in items]
    longer = [grows or isinstance(item, np.ndarray) for item, grows in zip(items, unlimited, strict=True)]
    frame = _select(whole, shape, longer, data_shape, name)
    runs: list[list[tuple[Item, slice]]] = []
    for d, item in enumerate(items):
        if isinstance(item, np.ndarray):
            runs.append(_runs(_wrapped(item, shape[d], unlimited[d], d, name)))
        else:
            runs.append([(item, slice(None))])

    def parts() -> Iterator[tuple[Selection, Part]]:
        for combined in itertools.product(*runs):
            part = tuple(part for (item, part), gone in zip(combined, frame.squeezed, strict=True) if not gone)
            yield _select([item for item, _ in combined], shape, unlimited, data_shape, name), part

    return Destination(frame.shape, data_shape, parts())


def _aligned(
    items: list[Item], shape: tuple[int, ...], unlimited: list[bool], data_shape: tuple[int, ...], name: str
) -> tuple[int, ...]:
    """The shape of data with their axes of length 1 where the selection has them: as in netCDF4-python, a row of n values
    fits n rows of one value. Data that fit as they are, or in no way, keep their shape."""
    if not data_shape:
        return data_shape
    # The length of each axis of the selection; `None` where the data say it.
    lengths: list[int | None] = []
    for item, n, grows in zip(items, shape, unlimited, strict=True):
        if isinstance(item, np.ndarray):
            lengths.append(len(item))
        elif isinstance(item, slice):
            lengths.append(None if grows and item.stop is None else _range(item, n, grows, None, name)[1])
    # As in netCDF4-python, axes of length 1 before the selection's own say nothing.
    while len(data_shape) > len(lengths) and data_shape[0] == 1:
        data_shape = data_shape[1:]
    ends = lengths[len(lengths) - len(data_shape) :] if len(data_shape) <= len(lengths) else None
    if ends is not None and all(n == 1 or have in (n, None) for n, have in zip(data_shape, ends, strict=True)):
        return data_shape
    rest = [n for n in data_shape if n != 1]
    wide = [have for have in lengths if have != 1]
    if len(rest) != len(wide) or any(have not in (n, None) for n, have in zip(rest, wide, strict=True)):
        return data_shape
    given = iter(rest)
    return tuple(1 if have == 1 else next(given) for have in lengths)


def _runs(at: Positions) -> list[tuple[Item, slice]]:
    """Positions as slices, with the parts of the list that they cover."""
    out: list[tuple[Item, slice]] = []
    first = 0
    while first < len(at):
        last = first + 1
        step = int(at[last] - at[first]) if last < len(at) else 1
        if step > 0:
            while last < len(at) and at[last] - at[last - 1] == step:
                last += 1
        else:
            step = 1
        out.append((slice(int(at[first]), int(at[last - 1]) + 1, step), slice(first, last)))
        first = last
    return out


def _wrapped(at: Positions, length: int, grows: bool, axis: int, name: str) -> Positions:
    at = np.where(at < 0, at + length, at)
    if at.size and (at.min() < 0 or (at.max() >= length and not grows)):
        raise SelectionError(f"`{name}`: index out of range on dimension {axis} of length {length}")
    return at


def _select(
    items: list[Any], shape: tuple[int, ...], unlimited: list[bool], data_shape: tuple[int, ...] | None, name: str
) -> Selection:
    # Lengths of the data along the remaining axes, aligned from the last one as in broadcasting.
    remaining = [d for d, item in enumerate(items) if isinstance(item, slice)]
    lengths: dict[int, int] = {}
    for d, n in zip(reversed(remaining), reversed(data_shape or ()), strict=False):
        lengths[d] = n
    out = Selection([], [], [], [], [])
    for d, item in enumerate(items):
        grows = unlimited[d]
        if isinstance(item, slice):
            start, count, step = _range(item, shape[d], grows, lengths.get(d), name)
            if grows and item.stop is None and count == 0 and data_shape is not None:
                makes_one = unlimited[-1] and _range(item, 1, False, None, name)[1] == 1
                start, count = max(start, 0), _first_record(d, makes_one, d in lengths, data_shape, name)
        else:
            start, count, step = _position(item, shape[d], grows, d, name), 1, 1
        out.flipped.append(step < 0)
        if step < 0:
            # Read forwards. For an empty slice, Python's first position may be -1.
            start = start + (count - 1) * step if count else 0
        out.start.append(start)
        out.count.append(count)
        out.stride.append(abs(step))
        out.squeezed.append(not isinstance(item, slice))
    return out


def _first_record(axis: int, makes_one: bool, is_given: bool, data_shape: tuple[int, ...], name: str) -> int:
    """How many records an open slice without any gets from data that do not have its dimension: as in netCDF4-python, a
    single value makes the first one if it is in a list, or the last dimension is unlimited. An error where values would be
    written nowhere."""
    if is_given or 0 in data_shape:
        return 0
    if not data_shape:
        return 1 if makes_one else 0
    if all(n == 1 for n in data_shape):
        return 1
    raise SelectionError(
        f"`{name}`: the open slice of dimension {axis} is empty, and data of shape {data_shape} do not say how many records "
        "to write: give the slice an end, or the data a length for this dimension"
    )


def expand(key: Any, shape: tuple[int, ...], name: str, unlimited: list[bool] | None = None) -> list[Item]:
    """The selection along each dimension, from an index expression."""
    rank = len(shape)
    keys = list(key) if isinstance(key, tuple) else [key]
    if rank == 0 and len(keys) == 1 and keys[0] is not Ellipsis:
        # Programs write `v[:]` and `v[0]` for scalars, too: as for a dimension of length 1.
        if select(keys[0], (1,), name).lengths != [1]:
            raise SelectionError(f"`{name}` has one value, the index takes another number of them")
        return []
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise SelectionError(f"`{name}`: more than one `...` in an index")
    missing = rank - (len(keys) - len(dots))
    if missing < 0:
        raise SelectionError(f"`{name}` has {rank} dimensions, the index has {len(keys) - len(dots)}")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * missing
    return [_item(k, d, shape[d], unlimited is not None and unlimited[d], name) for d, k in enumerate(keys)]


def _item(k: Any, d: int, length: int, grows: bool, name: str) -> Item:
    if isinstance(k, slice):
        return k
    if not isinstance(k, bool):
        try:
            return operator.index(k)
        except TypeError:
            pass
    if isinstance(k, str | float | np.floating):
        # Numbers may be text or floats: "2" and 2.0 are positions, 2.5 is not.
        with contextlib.suppress(ValueError, OverflowError):
            if int(k) == float(k):
                return int(k)
    if isinstance(k, list | tuple | range | np.ndarray):
        array = np.asarray(k)
        if array.ndim == 1 and array.size == 0:
            array = array.astype(np.int64)
        if array.ndim == 1 and array.dtype.kind == "b":
            if len(array) != length and not (grows and len(array) > length):
                raise SelectionError(f"`{name}`: {len(array)} booleans for dimension {d} of length {length}")
            return np.flatnonzero(array)
        if array.ndim == 1 and array.dtype.kind in "iu":
            # The largest unsigned 64-bit numbers would become positions from the end.
            if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
                raise SelectionError(f"`{name}`: index out of range on dimension {d} of length {length}")
            return array.astype(np.int64)
    raise SelectionError(
        f"`{name}`: an index is an integer, a slice, `...`, or a list or one-dimensional array of integers or "
        f"booleans, not {type(k).__name__}"
    )


def _position(at: int, length: int, grows: bool, axis: int, name: str) -> int:
    if at < 0:
        at += length
    if at < 0 or (at >= length and not grows):
        raise SelectionError(f"`{name}`: index out of range on dimension {axis} of length {length}")
    return at


def _range(item: slice, length: int, grows: bool, data: int | None, name: str) -> tuple[int, int, int]:
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise SelectionError(f"`{name}`: a slice's step cannot be zero")
    if step < 0 and grows and item.stop is None and data is not None:
        # Down to the first record, from that at which the slice begins, or from the last one that the data have.
        begin = 0 if item.start is None else operator.index(item.start)
        length = length if begin < 0 else begin + data
    if not grows or step < 0:
        start, stop, step = item.indices(length)
        return start, len(range(start, stop, step)), step
    start = 0 if item.start is None else operator.index(item.start)
    if start < 0:
        start = max(start + length, 0)
    if item.stop is None:
        return start, len(range(start, length, step)) if data is None else data, step
    stop = operator.index(item.stop)
    if stop < 0:
        stop += length
    return start, len(range(start, stop, step)), step
