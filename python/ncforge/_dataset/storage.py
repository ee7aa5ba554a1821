"""The storage of a new variable, from the arguments of ``createVariable``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ncforge.errors import InvalidError, UnsupportedError

__all__ = ["storage_for"]

_BLOSC = {"blosc_lz": 0, "blosc_lz4": 1, "blosc_lz4hc": 2, "blosc_zlib": 4, "blosc_zstd": 5}
"""Compressors by the numbers that blosc gives them."""
_LEVELS = {"zlib": (0, 9), "bzip2": (0, 9), "zstd": (-131072, 22), **dict.fromkeys(_BLOSC, (0, 9))}
"""The levels of compressions; 0: no compression."""


def _codec(compression: str | None, level: int, blosc_shuffle: int) -> int | tuple[int, int, int] | None:
    """A compression as an argument of the extension module; ``None`` for none."""
    if compression in _LEVELS:
        low, high = _LEVELS[compression]
        if not isinstance(level, int | np.integer) or not low <= level <= high:
            raise InvalidError(f"complevel of {compression} is {low} to {high}, not {level!r}")
        level = int(level)
    match compression:
        case None:
            return None
        case "zlib" | "zstd" | "bzip2":
            return level or None
        case "szip":
            raise UnsupportedError("ncforge reads szip and does not write it: use zlib or zstd")
        case _ if compression in _BLOSC:
            return level, blosc_shuffle, _BLOSC[compression]
    raise InvalidError(f"compression is None, 'zlib', 'zstd', 'bzip2' or one of {sorted(_BLOSC)}, not {compression!r}")


def storage_for(
    compression: str | None = None,
    zlib: bool = False,
    complevel: int = 4,
    shuffle: bool | None = None,
    blosc_shuffle: int = 1,
    fletcher32: bool = False,
    contiguous: bool = False,
    chunksizes: Iterable[int] | None = None,
    endian: str = "native",
    fills: bool = True,
    access_points: str | int | None = None,
    **others: Any,
) -> dict[str, Any]:
    """The storage of a variable for the extension module, from the arguments of ``createVariable``."""
    if zlib and compression is None:
        compression = "zlib"
    codec = _codec(compression, complevel, blosc_shuffle)
    return {
        "contiguous": contiguous,
        "chunks": None if chunksizes is None else [int(c) for c in chunksizes],
        "shuffle": compression == "zlib" if shuffle is None else shuffle,
        "deflate": codec if compression == "zlib" else None,
        "zstd": codec if compression == "zstd" else None,
        "bzip2": codec if compression == "bzip2" else None,
        "blosc": codec if isinstance(codec, tuple) else None,
        "fletcher32": fletcher32,
        "endian": endian,
        "fill": fills,
        "access_points": "auto" if access_points is None else str(access_points),
    }
