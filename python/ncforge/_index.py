"""Python's index expressions as hyperslabs."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ncforge.errors import SelectionError


@dataclass
class Selection:
    """A hyperslab, and what is to be done with the array that it gives."""

    start: list[int]
    count: list[int]
    stride: list[int]
    """Always positive; a negative step is read forwards and then turned round."""
    flipped: list[bool]
    squeezed: list[bool]
    """Axes chosen by an integer: not part of the result."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(n for n, gone in zip(self.count, self.squeezed, strict=True) if not gone)

    def flips(self) -> tuple[slice, ...]:
        """Turns the axes with negative steps round."""
        return tuple(slice(None, None, -1) if f else slice(None) for f in self.flipped)


def select(key: Any, shape: tuple[int, ...], name: str) -> Selection:
    """The selection of ``variable[key]`` for reading."""
    return _select(key, shape, [False] * len(shape), None, name)


def select_for_writing(
    key: Any, shape: tuple[int, ...], unlimited: list[bool], data_shape: tuple[int, ...], name: str
) -> Selection:
    """The selection of ``variable[key] = data``: on unlimited dimensions it may pass the end.

    An open slice (``:``, ``n:``) on an unlimited dimension takes its length from the data.
    """
    return _select(key, shape, unlimited, data_shape, name)


def _select(
    key: Any, shape: tuple[int, ...], unlimited: list[bool], data_shape: tuple[int, ...] | None, name: str
) -> Selection:
    items = _expand(key, len(shape), name)
    # Lengths of the data along the axes that stay, aligned from the last one as in broadcasting.
    kept = [d for d, item in enumerate(items) if isinstance(item, slice)]
    lengths: dict[int, int] = {}
    for d, n in zip(reversed(kept), reversed(data_shape or ()), strict=False):
        lengths[d] = n
    out = Selection([], [], [], [], [])
    for d, item in enumerate(items):
        grows = unlimited[d]
        if isinstance(item, slice):
            start, count, step = _range(item, shape[d], grows, lengths.get(d), name)
        else:
            start, count, step = _position(item, shape[d], grows, d, name), 1, 1
        out.flipped.append(step < 0)
        out.start.append(start + (count - 1) * step if step < 0 and count else start)
        out.count.append(count)
        out.stride.append(abs(step))
        out.squeezed.append(not isinstance(item, slice))
    return out


def _expand(key: Any, rank: int, name: str) -> list[slice | int]:
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise SelectionError(f"`{name}`: more than one `...` in an index")
    missing = rank - (len(keys) - len(dots))
    if missing < 0:
        raise SelectionError(f"`{name}` has {rank} dimensions, the index has {len(keys) - len(dots)}")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * missing
    out: list[slice | int] = []
    for k in keys:
        if isinstance(k, slice):
            out.append(k)
            continue
        try:
            if isinstance(k, bool):
                raise TypeError
            out.append(operator.index(k))
        except TypeError:
            raise SelectionError(
                f"`{name}`: an index is an integer, a slice or `...`, not {type(k).__name__}; "
                "read a slice and index the array for more"
            ) from None
    return out


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
    if not grows or step < 0:
        start, stop, step = item.indices(length)
        return start, len(range(start, stop, step)), step
    start = 0 if item.start is None else operator.index(item.start)
    if start < 0:
        start = max(start + length, 0)
    if item.stop is None:
        if data is not None and data != 1:
            return start, data, step
        return start, max(len(range(start, length, step)), 1 if data == 1 else 0), step
    stop = operator.index(item.stop)
    if stop < 0:
        stop += length
    return start, len(range(start, stop, step)), step
