"""Which of many files are alike: each is opened once and compared with the first of its kind, many in parallel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge import _core
from ncforge._core import File
from ncforge._dataset import handle as _handle
from ncforge._dataset.handle import Handle, adopted
from ncforge._dataset.remote import Access, UrlHandle
from ncforge._xarray.store import OpenFile

_BATCH = 128
"""The largest number of files that are opened at a time."""

_KINDS = 8
"""How many kinds of files are distinguished; files of further kinds are opened one by one."""


@dataclass(eq=False)
class Seen:
    """One file, as it was compared."""

    path: str
    handle: Handle
    like: Seen | None
    """The file that it was compared with; ``None`` if others were compared with it."""
    lens: list[int]
    chunks: int
    attributes: list[tuple[int | None, str]]
    coordinates: dict[int, npt.NDArray[np.uint8]]
    """Bytes of the attributes that differ from those of the file that it was compared with."""

    @property
    def kind(self) -> Seen:
        """The file that all of this kind were compared with."""
        return self.like or self


def batch_size() -> int:
    """How many files are opened at a time: half as many as may stay open."""
    return max(2, min(_BATCH, _handle._most // 2))


def compare(names: Sequence[str], group: Any, how: Access | None = None) -> list[Seen] | None:
    """All files, compared with the first of their kind. ``how`` URLs are accessed; ``None`` for paths."""
    full = [name if how else os.path.abspath(os.path.expanduser(name)) for name in names]
    options = None if how is None else (how[0], dict(how[1]))

    def handle_of(i: int, file: File) -> Handle:
        return adopted(full[i], file) if how is None else UrlHandle.adopted(full[i], how, file)

    seen: dict[int, Seen] = {}
    left = list(range(len(names)))
    for _ in range(_KINDS):
        first = left[0]
        found = _core.look_at([full[first]], None, 0, options)[0]
        if isinstance(found, BaseException):
            return None
        handle = handle_of(first, found[0])
        try:
            at = OpenFile(handle).group(group)
        except (OSError, ValueError):
            return None
        file = handle.file()
        summary = _core.look_at([full[first]], None, at, options)[0] if at else found
        if isinstance(summary, BaseException) or summary[1] is None:
            return None
        seen[first] = reference = _seen(names[first], handle, summary[1], None)
        unlike = []
        batch = batch_size()
        for begin in range(1, len(left), batch):
            part = left[begin : begin + batch]
            for i, one in zip(part, _core.look_at([full[i] for i in part], file, at, options), strict=True):
                if isinstance(one, BaseException):
                    return None
                opened, alike = one
                if alike is None:
                    unlike.append(i)
                else:
                    # Handles close files that were used longest ago.
                    seen[i] = _seen(names[i], handle_of(i, opened), alike, reference)
        left = unlike
        if not left:
            return [seen[i] for i in range(len(names))]
    return None


def _seen(name: str, handle: Handle, alike: Any, like: Seen | None) -> Seen:
    lens, chunks, attributes, coordinates = alike
    known = {var: values for var, values in coordinates if values is not None}
    return Seen(name, handle, like, lens, chunks, attributes, known)


def runs_of(seen: list[Seen], combine: str) -> list[list[Seen]] | None:
    """Files of the same kind that may be opened as one: neighbours, or all if coordinates define the order. ``None`` if
    the order might mix kinds.
    """
    runs: list[list[Seen]] = []
    for one in seen:
        if combine == "by_coords":
            run = next((r for r in runs if r[0].kind is one.kind), None)
        else:
            run = runs[-1] if runs and runs[-1][0].kind is one.kind else None
        if run is None:
            runs.append([one])
        else:
            run.append(one)
    if combine == "by_coords" and len(runs) > 1:
        # xarray joins those with the same variables, in one order.
        names = {frozenset(name for name, *_ in run[0].handle.file().vars()) for run in runs}
        if len(names) < len(runs):
            return None
    return runs
