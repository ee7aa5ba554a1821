"""Conversion between plain values of the extension module and NumPy arrays."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

import numpy as np

from ncforge._core import File, load_numpy
from ncforge.errors import InvalidError

load_numpy()

TypeName = str | int
"""The name of a type in the extension module: NumPy's code, "str", or the position of a user-defined type."""

ATOMIC = ("i1", "S1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8")
NUMBERS = frozenset(ATOMIC) - {"S1"}


def aligned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The fields at the offsets of a C compiler, text of fixed length as arrays of characters, and other text as pointers.

    >>> aligned(np.dtype([("a", "i2"), ("t", "S3"), ("b", "i4")]))
    dtype([('a', '<i2'), ('t', 'S1', (3,)), ('b', '<i4')], align=True)
    """
    if dtype.names is None or dtype.fields is None:
        base, shape = dtype.subdtype or (dtype, ())
        if base.names is not None:
            base = aligned(base)
        elif base.kind == "S" and base.itemsize > 1:
            base, shape = np.dtype("S1"), (*shape, base.itemsize)
        elif base.kind in "SU" and base != np.dtype("S1"):
            # Strings: pointers, of whatever width NumPy thinks them (``str`` is ``U0``).
            base = np.dtype("O")
        return np.dtype((base, shape)) if shape else base
    formats = [aligned(dtype.fields[name][0]) for name in dtype.names]
    return np.dtype({"names": list(dtype.names), "formats": formats}, align=True)


def text_view(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type with text of fixed length for arrays of characters in structures. The opposite of what
    :func:`aligned` does to text.
    """
    base, shape = dtype.subdtype or (dtype, ())
    if base.names is None or base.fields is None:
        if base in (np.dtype("S1"), np.dtype("U1")) and shape:
            text = np.dtype(f"{base.kind}{shape[-1]}")
            return np.dtype((text, shape[:-1])) if shape[:-1] else text
        return dtype
    parts = [base.fields[name] for name in base.names]
    inner = np.dtype(
        {
            "names": list(base.names),
            "formats": [text_view(part[0]) for part in parts],
            "offsets": [part[1] for part in parts],
            "itemsize": base.itemsize,
        }
    )
    return np.dtype((inner, shape)) if shape else inner


class Types:
    """The types of one open file."""

    def __init__(self, core: File | None, known: list[dict[str, Any]] | None = None) -> None:
        self._core = core
        self._list = known or []

    @classmethod
    def settled(cls, core: File) -> Types:
        """Those of a file that does not change. They do not hold it open."""
        return cls(None, core.types())

    def info(self, ident: int) -> dict[str, Any]:
        """The description of a user-defined type."""
        if ident >= len(self._list) and self._core is not None:
            self._list = self._core.types()
        return self._list[ident]

    def compound_like(self, dtype: np.dtype[Any]) -> int | None:
        """The compound type whose values are such structures."""
        if self._core is not None:
            self._list = self._core.types()
        for i, info in enumerate(self._list):
            if info["kind"] == "compound" and self.dtype(i) in (dtype, aligned(dtype)):
                return i
        return None

    def dtype(self, name: TypeName) -> np.dtype[Any]:
        """The NumPy type of an array of such values; objects for strings and ragged rows."""
        if isinstance(name, str):
            return np.dtype("O") if name == "str" else np.dtype(name)
        info = self.info(name)
        match info["kind"]:
            case "enum":
                return np.dtype(str(info["base"]))
            case "opaque":
                return np.dtype((np.void, info["size"]))
            case "vlen":
                return np.dtype("O")
            case _:
                return self._compound(info)

    def _compound(self, info: dict[str, Any]) -> np.dtype[Any]:
        fields = info["fields"]
        formats = [(self.dtype(t), tuple(shape)) for _, _, t, shape in fields]
        names = [n for n, _, _, _ in fields]
        if any(self.is_heap(t) for _, _, t, _ in fields):
            # Objects are pointers at NumPy's own offsets; the file's offsets do not apply here.
            return aligned(np.dtype(list(zip(names, (f[0] for f in formats), (f[1] for f in formats), strict=True))))
        layout: Any = {
            "names": names,
            "formats": formats,
            "offsets": [offset for _, offset, _, _ in fields],
            "itemsize": info["size"],
        }
        made: np.dtype[Any]
        try:
            made = np.dtype(layout, align=True)
        except ValueError:
            # Fields at offsets that no C compiler uses.
            made = np.dtype(layout)
        return made

    def is_heap(self, name: TypeName) -> bool:
        """Whether values are strings, ragged rows, or compounds of them."""
        if isinstance(name, str):
            return name == "str"
        info = self.info(name)
        match info["kind"]:
            case "vlen":
                return True
            case "compound":
                return any(self.is_heap(t) for _, _, t, _ in info["fields"])
            case _:
                return False

    # Reading

    def array(self, name: TypeName, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        """An array from values of the extension module."""
        if isinstance(values, np.ndarray):
            return values.reshape(shape)
        dtype = self.dtype(name)
        if not self.is_heap(name):
            return np.frombuffer(values, dtype).reshape(shape).copy()
        out = np.empty(len(values), dtype)
        for i, value in enumerate(values):
            out[i] = self.item(name, value)
        return out.reshape(shape)

    def item(self, name: TypeName, value: Any) -> Any:
        """One value."""
        if name == "str":
            return "" if value is None else value.decode("utf-8", "surrogateescape")
        if not self.is_heap(name):
            return np.frombuffer(value, self.dtype(name))[0]
        assert isinstance(name, int)
        info = self.info(name)
        if info["kind"] == "vlen":
            base = info["base"]
            count = len(value) if self.is_heap(base) else len(value) // self.dtype(base).itemsize
            return self.array(base, value, (count,))
        items = iter(value)
        return tuple(self._field(t, shape, items) for _, _, t, shape in info["fields"])

    def _field(self, name: TypeName, shape: list[int], items: Iterator[Any]) -> Any:
        if not shape:
            return self.item(name, next(items))
        values = [self.item(name, next(items)) for _ in range(int(np.prod(shape)))]
        out = np.empty(len(values), self.dtype(name))
        for i, value in enumerate(values):
            out[i] = value
        return out.reshape(shape)

    # Writing

    def plain(self, name: TypeName, values: Any) -> Any:
        """Values for the extension module: bytes for fixed-size types, else a list."""
        if not self.is_heap(name):
            return exact(values, self.dtype(name)).tobytes()
        items = _flat(unmasked(values))
        if name == "str" and isinstance(items, np.ndarray):
            plain = items.tolist()
            if set(map(type, plain)) <= {str, bytes}:
                return plain
        base = self._numbers_of_rows(name)
        if base is None:
            return [self.plain_item(name, v) for v in items]
        return [
            v.tobytes() if type(v) is np.ndarray and v.dtype == base and v.ndim == 1 else self.plain_item(name, v)
            for v in items
        ]

    def _numbers_of_rows(self, name: TypeName) -> np.dtype[Any] | None:
        """The type of the elements of ragged rows, where each row is nothing but its elements."""
        if not isinstance(name, int) or (info := self.info(name))["kind"] != "vlen" or self.is_heap(info["base"]):
            return None
        return self.dtype(info["base"])

    def plain_item(self, name: TypeName, value: Any) -> Any:
        """One value."""
        if name == "str":
            if isinstance(value, bytes):
                return value
            # An element of an array of objects that was never assigned.
            return b"" if value is None else str(unmasked(value)).encode("utf-8", "surrogateescape")
        if not self.is_heap(name):
            return exact(value, self.dtype(name)).tobytes()
        assert isinstance(name, int)
        info = self.info(name)
        if info["kind"] == "vlen":
            row: Any = [] if value is None else value
            base = None if self.is_heap(info["base"]) else self.dtype(info["base"])
            # In lists, tuples are structures: they are converted when the type is known.
            if base is not None and (base.names is None or isinstance(row, np.ndarray)):
                row = np.asarray(unmasked(row))
                row = row if row.size else row.astype(base)
                if row.ndim > 1:
                    raise UnfitError(f"a row of `{info['name']}` has one dimension, not {row.ndim}")
            return self.plain(info["base"], row)
        items: list[Any] = []
        for part, (_, _, t, shape) in zip(value, info["fields"], strict=True):
            items += [self.plain_item(t, v) for v in (_flat(part) if shape else [part])]
        return tuple(items)


def plain_attributes(types: Types, values: dict[str, Any], odd: list[str]) -> dict[str, Any]:
    """Attributes from the extension module, with those decoded that need the file's types."""
    for name in odd:
        kind, plain = values[name]
        count = len(plain) if types.is_heap(kind) else len(plain) // types.dtype(kind).itemsize
        array = types.array(kind, plain, (count,))
        if array.dtype.names is not None and not types.is_heap(kind):
            array = array.view(text_view(array.dtype))
        values[name] = array[0] if count == 1 else array
    return values


def _flat(values: Any) -> Iterable[Any]:
    if isinstance(values, np.ndarray):
        return values.reshape(-1)
    return np.asarray(values, object).reshape(-1) if isinstance(values, str | bytes) else values


class UnfitError(InvalidError):
    """Values that a variable or an attribute cannot take."""


@contextlib.contextmanager
def naming(what: str, more: str = "") -> Iterator[None]:
    """Adds the variable or attribute to errors about values; ``more`` is appended."""
    try:
        yield
    except UnfitError as e:
        raise InvalidError(f"{what}: {e}{more}") from None


def first_place(odd: Any) -> tuple[int, ...]:
    """The index of the first true element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(odd)), np.shape(odd))) if np.ndim(odd) else ()


def at_place(value: Any, place: tuple[int, ...]) -> str:
    """A value, and its index among those that were given."""
    return f"{value} at [{', '.join(map(str, place))}]" if place else f"{value}"


def is_masked_array(value: Any) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Whether a value is a masked array. Who made one has imported ``numpy.ma``, which takes 7 ms; nobody else need do so.

    >>> is_masked_array(np.zeros(3)), is_masked_array(np.ma.zeros(3))
    (False, True)
    """
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def unmasked(values: Any) -> Any:
    """The values without their mask; an error if it hides some."""
    if not is_masked_array(values):
        return values
    hidden = _hidden(values)
    if hidden.any():
        where = at_place("a masked value", first_place(hidden))
        raise UnfitError(f"{where}: fill masked values before writing (`.filled(value)`)")
    return values.data


def _hidden(values: np.ma.MaskedArray[Any, Any]) -> np.ndarray:
    """Which elements are masked; a structure is where one of its fields is."""
    mask = np.asarray(np.ma.getmask(values))
    if mask.dtype.names is None:
        return mask
    if not mask.size:
        return np.zeros(mask.shape, bool)
    return np.asarray(np.ascontiguousarray(mask).view(bool).reshape(*mask.shape, -1).any(axis=-1))


def exact(values: Any, dtype: np.dtype[Any], truncate: bool = False) -> np.ndarray:
    """The values converted to this type. A conversion to integers that would change a value is an error; with ``truncate``,
    fractions are removed, as in NumPy.
    """
    values = unmasked(values)
    if dtype.kind == "S" and isinstance(values, str):
        values = values.encode()
    if dtype.kind == "S" and isinstance(values, bytes):
        # One character is a single value: it has no dimension along which records could be counted.
        return np.frombuffer(values, "S1").reshape(() if len(values) == 1 else -1)
    array = _structures(values, dtype) if dtype.names is not None else np.asarray(values)
    if array.dtype == dtype:
        return np.asarray(array, order="C")
    if dtype.names is not None:
        return np.asarray(array, order="C").view(dtype)
    if array.dtype.kind == "c" and dtype.kind in "iuf":
        odd = array.imag != 0
        if np.any(odd):
            place = first_place(odd)
            raise UnfitError(
                f"{at_place(array[place], place)} is complex, {dtype} is not: write `.real`, or a complex variable"
            )
        array = array.real
    if dtype.kind == "S" and array.dtype.kind == "U":
        return np.char.encode(array, "utf-8").astype(dtype)
    if dtype.kind not in "iu" or array.dtype.kind not in "iufb" or np.can_cast(array.dtype, dtype):
        return _converted(array, dtype)
    # The least and the greatest value tell of most arrays that all values fit. Comparing all of them takes memory, and twice the time.
    if (truncate or array.dtype.kind != "f") and _all_between(array, np.iinfo(dtype)):
        return np.asarray(array.astype(dtype), order="C")
    with np.errstate(invalid="ignore"):
        out = array.astype(dtype)
        # Signs and values are compared: a round trip of a large unsigned number through a signed one would not change it.
        expected = np.trunc(array) if truncate and array.dtype.kind == "f" else array
        same = (out == expected) & ((out < 0) == (expected < 0))
    if not np.all(same):
        limits = np.iinfo(dtype)
        place = first_place(~np.asarray(same))
        raise UnfitError(
            f"{at_place(array[place], place)} does not fit {dtype} ({limits.min} to {limits.max}) unchanged"
        )
    return np.asarray(out, order="C")


def _all_between(array: np.ndarray, limits: np.iinfo[Any]) -> bool:
    """Whether all numbers are between the limits of a type of integers, without their fraction; NaN is not."""
    if array.size == 0:
        return True
    with np.errstate(invalid="ignore"):
        least, greatest = array.min().item(), array.max().item()
    # Numbers of Python are compared exactly.
    return bool(limits.min - 1 < least and greatest < limits.max + 1)


def _structures(values: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Structures of this type, with text in the form of :func:`text_view`. A tuple is one structure, as in NumPy."""
    if isinstance(values, np.ndarray | np.generic) and values.dtype == dtype:
        return np.asarray(values)
    # Text is written into arrays of characters as text: NumPy would put the whole text into each character, and take the
    # first of several characters for text.
    view = text_view(dtype)
    try:
        joined = _joined(values)
        return joined.astype(view) if isinstance(joined, np.ndarray) else np.array(joined, view)
    except (ValueError, TypeError, OverflowError) as e:
        raise UnfitError(f"{values!r:.200} cannot be converted to {view}: {e}") from e


def _joined(values: Any) -> Any:
    """Values with text in the form of :func:`text_view`, also in the structures of lists and tuples."""
    if isinstance(values, np.ndarray | np.generic) and values.dtype != np.dtype("O"):
        return np.asarray(values).view(text_view(values.dtype))
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(plain, list | tuple):
        return plain
    return tuple(map(_joined, plain)) if isinstance(plain, tuple) else list(map(_joined, plain))


def _converted(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The values converted by NumPy, or an error that names the first one that it cannot convert."""
    try:
        return np.asarray(array.astype(dtype), order="C")
    except (ValueError, TypeError, OverflowError) as e:
        for at, value in np.ndenumerate(array):
            try:
                np.asarray(value).astype(dtype)
            except (ValueError, TypeError, OverflowError):
                shown = repr(value.item() if isinstance(value, np.generic) else value)
                raise UnfitError(f"{at_place(shown, at)} cannot be converted to {dtype}") from e
        raise
