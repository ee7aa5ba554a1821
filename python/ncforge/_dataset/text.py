"""Strings as rows of characters, and back: for variables, and as functions with netCDF4-python's names."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge.errors import InvalidError

__all__ = ["chars", "chartostring", "decoded", "encoded", "normalized", "strings", "stringtoarr", "stringtochar"]

NO_ENCODING = ("none", "None", "bytes")
"""The encodings with which netCDF4-python leaves text as bytes."""

_ASCII = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "iso-8859-1")
"""Encodings in which bytes below 128 are the characters of ASCII."""


def normalized(name: str) -> str:
    """A name in Unicode's form C, in which netCDF stores names."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def strings(data: Any, encoding: str) -> npt.NDArray[Any]:
    """Rows of characters as an array of strings with one dimension less. Trailing NULs are removed.

    >>> strings(np.array([[b"a", b"b"], [b"c", b""]], "S1"), "utf-8")
    array(['ab', 'c'], dtype='<U2')
    """
    plain = np.ascontiguousarray(np.ma.getdata(data))
    width = plain.shape[-1]
    joined = plain.reshape(-1, width).view(f"S{max(width, 1)}") if width else np.zeros((plain[..., :0].size, 1), "S1")
    if encoding in NO_ENCODING:
        return joined.reshape(plain.shape[:-1])
    if encoding in _ASCII and not (joined.view("u1") & 0x80).any():
        return joined.reshape(plain.shape[:-1]).astype(f"U{max(width, 1)}")
    decoded = np.char.decode(joined, encoding).reshape(plain.shape[:-1])
    return np.asarray(decoded, f"U{max(width, 1)}")


def chars(data: npt.NDArray[Any], encoding: str, width: int) -> npt.NDArray[Any]:
    """Strings as rows of ``width`` characters; 0: of as many as the longest has.

    >>> chars(np.array(["ab", "c"]), "utf-8", 3).tolist()
    [[b'a', b'b', b''], [b'c', b'', b'']]
    """
    if data.dtype.kind == "U":
        data = np.char.encode(data, "utf-8" if encoding in NO_ENCODING else encoding)
    width = width or max(data.dtype.itemsize, 1)
    fixed = np.ascontiguousarray(data.astype(f"S{width}"))
    return fixed.reshape(-1).view("S1").reshape((*data.shape, width))


def decoded(data: Any, encoding: str | None) -> Any:
    """A string, or an array of strings, whose bytes were taken for UTF-8 and are of this encoding; ``None``: it is UTF-8.

    >>> decoded(b"\\xe9t\\xe9".decode("utf-8", "surrogateescape"), "latin-1")
    'été'
    """
    if encoding is None:
        return data
    if isinstance(data, str):
        return data.encode("utf-8", "surrogateescape").decode(encoding)
    return _each(data, lambda text: decoded(text, encoding))


def encoded(data: npt.NDArray[Any], encoding: str | None) -> npt.NDArray[Any]:
    """The bytes of the strings in an array of objects; other objects remain what they are. ``None``: all do."""
    if encoding is None:
        return data
    return _each(data, lambda text: text.encode(encoding) if isinstance(text, str) else text)


def _each(data: npt.NDArray[Any], of: Callable[[Any], Any]) -> npt.NDArray[Any]:
    out = np.empty(data.shape, object)
    out.reshape(-1)[:] = [of(item) for item in data.reshape(-1)]
    return out


def stringtochar(a: npt.ArrayLike, encoding: str = "utf-8", n_strlen: int | None = None) -> npt.NDArray[Any]:
    """Strings as single characters, along a new last dimension.

    Parameters
    ----------
    a
        An array of NumPy's type ``S`` or ``U``, of any shape.
    encoding
        The encoding in which ``U`` becomes bytes; ``S`` is not changed.
    n_strlen
        How many bytes a string gets: longer ones are cut, shorter ones filled with NUL. The default is the type's size in bytes
        (which is four bytes a character for ``U``, as in netCDF4-python).

    Returns
    -------
    An array of type ``S1`` and shape ``(*a.shape, n_strlen)``.

    Raises
    ------
    ValueError
        If it is no array of strings.

    Examples
    --------
    >>> stringtochar(np.array(["ab", "c"], "S3")).tolist()
    [[b'a', b'b', b''], [b'c', b'', b'']]
    """
    text = np.asarray(a)
    if text.dtype.kind not in "SU":
        raise InvalidError(f"strings are of NumPy's type S or U, not {text.dtype}")
    return chars(text, encoding, n_strlen or max(text.dtype.itemsize, 1))


def chartostring(b: npt.ArrayLike, encoding: str = "utf-8") -> npt.NDArray[Any]:
    """Single characters as strings, with one dimension less: the last.

    Parameters
    ----------
    b
        An array of type ``S1`` or ``U1`` and at least one dimension.
    encoding
        Of the bytes; "none" or "bytes" leaves them as they are.

    Returns
    -------
    An array of type ``U`` (``S`` for "bytes") and shape ``b.shape[:-1]``.

    Raises
    ------
    ValueError
        If it is no array of characters, or its bytes are not of this encoding.

    Examples
    --------
    >>> chartostring(np.array([[b"a", b"b"], [b"c", b""]])).tolist()
    ['ab', 'c']
    """
    text = np.asarray(b)
    if text.dtype not in ("S1", "U1") or text.ndim == 0:
        raise InvalidError(f"characters are of NumPy's type S1 or U1, in rows, not {text.dtype} of shape {text.shape}")
    if text.dtype == "U1":
        joined = np.ascontiguousarray(text).view(f"U{max(text.shape[-1], 1)}")[..., 0]
        return np.char.encode(joined, "utf-8") if encoding in NO_ENCODING else joined
    return strings(text, encoding)


def stringtoarr(string: str | bytes, NUMCHARS: int, dtype: str = "S") -> npt.NDArray[Any]:
    """A string as an array of its characters.

    Parameters
    ----------
    string
        The string.
    NUMCHARS
        The length of the array; the rest of it is empty.
    dtype
        "S" for bytes, "U" for characters.

    Returns
    -------
    An array of type ``S1`` or ``U1`` and shape ``(NUMCHARS,)``.

    Raises
    ------
    ValueError
        If the string is longer, or ``dtype`` is another.

    Examples
    --------
    >>> stringtoarr("ab", 3).tolist()
    [b'a', b'b', b'']
    """
    if dtype not in ("S", "U"):
        raise InvalidError(f"dtype is 'S' or 'U', not {dtype!r}")
    parts = np.array(
        list(string) if isinstance(string, str) else [string[i : i + 1] for i in range(len(string))], f"{dtype}1"
    )
    if len(parts) > NUMCHARS:
        raise InvalidError(f"{len(parts)} characters do not fit {NUMCHARS}")
    out = np.zeros(NUMCHARS, parts.dtype)
    out[: len(parts)] = parts
    return out
