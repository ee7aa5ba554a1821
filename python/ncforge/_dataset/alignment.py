"""The alignment of data in new netCDF-4 files, for the whole process, as in netCDF-C."""

from __future__ import annotations

import operator

from ncforge.errors import InvalidError

__all__ = ["alignment", "get_alignment", "set_alignment"]

_MOST = 1 << 40
_now = (1, 1)


def set_alignment(threshold: int, alignment: int) -> None:
    """From now on, data of new netCDF-4 files that take at least ``threshold`` bytes begin at a multiple of ``alignment``.

    Data are a chunk, or a whole contiguous variable. File systems with large blocks, or with stripes, can be faster with
    alignment; the file becomes larger by the gaps. netCDF4-python has a function of this name. The setting holds for ``Dataset``
    in this process; data that are added to a file after it was closed are not aligned.

    Parameters
    ----------
    threshold
        Bytes; 0 and more.
    alignment
        Bytes, from 1 (anywhere) to 2**40.

    Raises
    ------
    ValueError
        If one is out of range.

    Examples
    --------
    >>> set_alignment(65536, 1 << 20)
    >>> get_alignment()
    (65536, 1048576)
    >>> set_alignment(1, 1)
    """
    global _now
    least, multiple = operator.index(threshold), operator.index(alignment)
    if not (0 <= least < 1 << 63 and 1 <= multiple <= _MOST):
        raise InvalidError(f"a threshold from 0 and an alignment from 1 to 2**40 bytes, not {least} and {multiple}")
    _now = least, multiple


def get_alignment() -> tuple[int, int]:
    """Threshold and alignment, in bytes, as given to :func:`set_alignment`; (1, 1) by default."""
    return _now


def alignment() -> tuple[int, int] | None:
    """The alignment as an argument of the extension module."""
    return None if _now[1] == 1 else _now
