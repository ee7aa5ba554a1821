"""Selections of an array that lies in several files, one after the other along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge._dataset.index import Item
from ncforge.errors import SelectionError

__all__ = ["gathered"]


def gathered(
    items: Sequence[Item],
    axis: int,
    starts: Sequence[int],
    read: Callable[[int, tuple[Item, ...]], Any],
    name: str,
) -> Any:
    """The elements that ``items`` select, one for each axis. Each file of the selection is read once.

    ``starts`` are the positions along ``axis`` at which files begin, and the length of all; ``read`` gives the elements that a
    selection has in one of the files.
    """
    n, item = starts[-1], items[axis]

    def of(at: int, within: Item) -> Any:
        return read(at, (*items[:axis], within, *items[axis + 1 :]))

    one = isinstance(item, int)
    positions = np.arange(*item.indices(n)) if isinstance(item, slice) else np.atleast_1d(np.asarray(item, np.int64))
    positions = np.where(positions < 0, positions + n, positions)
    if positions.size and (positions.min() < 0 or positions.max() >= n):
        raise SelectionError(f"`{name}`: index out of range on dimension {axis} of length {n}")
    files = np.searchsorted(starts[1:], positions, side="right")
    if one:
        return of(int(files[0]), int(positions[0]) - starts[files[0]])
    if not len(positions):
        return of(0, slice(0, 0))
    order = np.argsort(files, kind="stable")
    cuts = [0, *(np.flatnonzero(np.diff(files[order])) + 1).tolist(), len(order)]
    pieces = [
        of(at, _as_slice(positions[order[a:b]] - starts[at]))
        for a, b in pairwise(cuts)
        for at in (int(files[order[a]]),)
    ]
    if len(pieces) == 1:
        return pieces[0]
    # Integers remove their axes.
    place = sum(not isinstance(i, int) for i in items[:axis])
    masked = [piece for piece in pieces if isinstance(piece, np.ma.MaskedArray)]
    joined: Any = (np.ma if masked else np).concatenate(pieces, axis=place)  # type: ignore[no-untyped-call]
    if (np.diff(order) < 0).any():
        joined = joined.take(np.argsort(order), axis=place)
    if masked:
        joined.fill_value = masked[0].fill_value
    return joined


def _as_slice(positions: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """Positions as a slice if they form one, so that hyperslabs stay hyperslabs."""
    step = int(positions[1] - positions[0]) if len(positions) > 1 else 1
    if step == 0 or (np.diff(positions) != step).any():
        return positions
    first, last = int(positions[0]), int(positions[-1])
    stop = last + (1 if step > 0 else -1)
    return slice(first, None if stop < 0 else stop, step)
