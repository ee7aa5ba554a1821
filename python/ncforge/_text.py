"""Strings as rows of characters, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["chars", "strings"]


def strings(data: Any, encoding: str) -> npt.NDArray[Any]:
    """Rows of characters as an array of strings with one dimension less. Trailing NULs go.

    >>> strings(np.array([[b"a", b"b"], [b"c", b""]], "S1"), "utf-8")
    array(['ab', 'c'], dtype='<U2')
    """
    plain = np.ascontiguousarray(np.ma.getdata(data))
    width = plain.shape[-1]
    joined = plain.reshape(-1, width).view(f"S{max(width, 1)}") if width else np.zeros((plain[..., :0].size, 1), "S1")
    if encoding in ("none", "None", "bytes"):
        return joined.reshape(plain.shape[:-1])
    decoded = np.char.decode(joined, encoding).reshape(plain.shape[:-1])
    return np.asarray(decoded, f"U{max(width, 1)}")


def chars(data: npt.NDArray[Any], encoding: str, width: int) -> npt.NDArray[Any]:
    """Strings as rows of ``width`` characters.

    >>> chars(np.array(["ab", "c"]), "utf-8", 3).tolist()
    [[b'a', b'b', b''], [b'c', b'', b'']]
    """
    if data.dtype.kind == "U":
        data = np.char.encode(data, "utf-8" if encoding in ("none", "None", "bytes") else encoding)
    fixed = np.ascontiguousarray(data.astype(f"S{width}"))
    return fixed.reshape(-1).view("S1").reshape((*data.shape, width))
