"""Chunk lengths of variables for Dask."""

from __future__ import annotations

import math
import re
from typing import Literal

Preferred = Literal["disk", "auto"] | str | int
"""The stored chunks ("disk"), multiples of them of a good size ("auto"), or of about this many bytes (a number, "64MiB")."""

_AUTO = 64 << 20
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


def size_of(text: str | int) -> int:
    """Bytes of a size such as 1000000, "64MiB" or "100 MB"."""
    if isinstance(text, int):
        bytes_ = text
    else:
        found = re.fullmatch(r"\s*([0-9.]+)\s*([KMG]?I?)B?\s*", text.upper())
        if found is None:
            raise ValueError(f"a size is a number of bytes, or text such as '64MiB', not {text!r}")
        bytes_ = int(float(found[1]) * _UNITS[found[2]]) if found[2] in _UNITS else 0
    if bytes_ <= 0:
        raise ValueError(f"no size of chunks: {text!r}")
    return bytes_


def preferred(how: Preferred, chunks: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunk lengths for Dask: whole stored chunks each, so that no two tasks decode the same one.

    They grow along the last dimension first, where neighbours are likely to be adjacent in the file, up to the length of
    the dimension.

    >>> preferred("1MiB", (1, 100, 100), (365, 400, 400), 4)
    (1, 400, 400)
    >>> preferred("disk", (1, 100, 100), (365, 400, 400), 4)
    (1, 100, 100)
    """
    if how == "disk":
        return chunks
    want = size_of(_AUTO if how == "auto" else how)
    out = list(chunks)
    for d in reversed(range(len(out))):
        bytes_ = math.prod(out) * itemsize
        times = max(1, want // max(1, bytes_))
        out[d] = min(out[d] * times, max(shape[d], 1))
        if out[d] < shape[d] and times > 1:
            break
    return tuple(out)
