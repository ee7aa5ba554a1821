"""Writing to a selection of a variable: values of a program as the variable stores them, and their place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ncforge._dataset.index import expand, select_for_writing
from ncforge._dataset.masking import Switches, default_fill
from ncforge._dataset.text import chars, encoded
from ncforge._dataset.values import (
    TypeName,
    Types,
    UnfitError,
    at_place,
    exact,
    first_place,
    is_masked_array,
    naming,
    unmasked,
)

if TYPE_CHECKING:
    from ncforge.variable import Variable


def assign(variable: Variable, key: Any, value: Any) -> None:
    """Writes values as ``variable[key] = value`` does: masked and scaled by its attributes, unless that is switched off."""
    how, kind = variable._switches, variable._kind
    packs = False
    if isinstance(kind, str) and kind not in ("S1", "str"):
        packs = how.scale and variable._rules.scales
    with naming(f"`{variable.name}`", ", after scale_factor and add_offset" if packs else ""):
        if isinstance(kind, int):
            value = _of_user_type(variable, value, how)
        elif kind == "S1":
            value = _characters(variable, key, value, how)
        elif kind != "str":
            value = variable._rules.take(value, how)
        variable._put(key, value, truncate=True)


def put(variable: Variable, key: Any, value: Any, truncate: bool) -> None:
    """Writes values in their stored types."""
    types, kind, ident = variable._types, variable._kind, variable._var_id
    unlimited = [variable._contents.dim(d)[2] for d in variable._dims]
    heap = types.is_heap(kind)
    data = _objects(types, kind, value) if heap else exact(value, types.dtype(kind), truncate)
    data = encoded(data, variable._string_encoding)
    to = select_for_writing(key, variable.shape, unlimited, data.shape, variable.name)
    try:
        full = data.reshape(to.given)
        # NumPy takes its time for it.
        full = full if full.shape == to.shape else np.broadcast_to(full, to.shape)
    except ValueError:
        raise UnfitError(f"shape {data.shape} cannot be broadcast to the selection's, {to.shape}") from None
    for s, part in to.parts:
        if 0 in s.count:
            continue
        core = variable._changing()
        some = full[part].reshape(s.count)
        if any(s.flipped):
            some = some[s.flips()]
        if heap:
            core.write_heap(ident, s.start, s.count, s.stride, types.plain(kind, some))
        else:
            flat = np.ascontiguousarray(some).reshape(-1).view(np.uint8)
            core.write_fixed(ident, s.start, s.count, s.stride, flat)


def plain_fill(types: Types, kind: TypeName, name: str, value: Any) -> Any:
    """A fill value for a variable of a type, as an argument of the extension module; "default" is netCDF's own."""
    if isinstance(value, str) and value == "default" and kind != "str":
        value = default_fill(types.dtype(kind))
    if kind == "S1" and isinstance(value, str | bytes):
        # The first character of a text, as in NumPy; NUL if it is empty.
        text = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        value = text[:1] or b"\0"
    with naming(f"the fill value of `{name}`"):
        if not types.is_heap(kind) and np.size(value) != 1:
            raise UnfitError(f"{np.size(value)} values instead of one")
        return types.plain(kind, [value] if types.is_heap(kind) else value)


def _characters(variable: Variable, key: Any, value: Any, how: Switches) -> Any:
    """Values for a variable of characters: text is split into characters if there is an encoding, and complete rows of characters
    are written, in any order. Single characters go anywhere."""
    rules = variable._rules
    if is_masked_array(value):
        if value.dtype.kind != "S":
            value = np.ma.MaskedArray(value.data.astype("S1"), np.ma.getmaskarray(value))
        return rules.take(value, Switches(scale=False))
    text = np.asarray(value)
    if text.dtype.kind in "iufb":
        return text.astype("S1")
    if text.dtype.kind not in "US" or not variable._dims:
        return value
    if rules.encoding is None or not how.chartostring:
        is_text = text.ndim == 0 and text.dtype.itemsize > np.dtype(f"{text.dtype.kind}1").itemsize
        if is_text and variable._contents.dim(variable._dims[-1])[2]:
            # netCDF4-python writes its first character.
            raise UnfitError("text does not fit an unlimited dimension of characters: write an array of single ones")
        return value
    shape = variable.shape
    at = expand(key, shape, variable.name)
    if _chosen(at[-1], shape[-1]) != shape[-1]:
        if text.dtype.itemsize > np.dtype(f"{text.dtype.kind}1").itemsize:
            raise UnfitError(f"text does not fit a part of a row of `{variable.name}`: write whole rows, or characters")
        return value
    # An array of single bytes has characters, as in netCDF4-python. A list does not tell: it has text if it lacks the dimension
    # of the characters.
    lacks = not isinstance(value, np.ndarray | np.generic) and text.ndim < sum(not isinstance(k, int) for k in at)
    return chars(text, rules.encoding, shape[-1]) if text.dtype != "S1" or lacks else value


def _chosen(key: Any, length: int) -> int | None:
    """How many positions of a dimension a key has; ``None`` if it is one position."""
    if isinstance(key, slice):
        return len(range(*key.indices(length)))
    if np.ndim(key) == 0:
        return None
    return int(np.sum(key)) if np.asarray(key).dtype.kind == "b" else np.size(key)


def _of_user_type(variable: Variable, value: Any, how: Switches) -> Any:
    """Values for a variable of a user-defined type: rows are packed, and values of an enum are checked."""
    base = variable._row_type()
    if base is not None:
        return _rows(variable, value, base, how)
    assert isinstance(variable._kind, int)
    info = variable._types.info(variable._kind)
    if info["kind"] != "enum":
        return value
    if is_masked_array(value):
        value = variable._rules.take(value, Switches(scale=False))
    given = np.asarray(value)
    odd = ~np.isin(given, [number for _, number in info["members"]])
    if odd.any():
        place = first_place(odd)
        raise UnfitError(f"{at_place(given[place], place)} is a value that the enum `{info['name']}` does not have")
    return value


def _rows(variable: Variable, value: Any, base: np.dtype[Any], how: Switches) -> Any:
    """Ragged rows with masked elements filled, and packed if the attributes say so."""
    rows = _objects(variable._types, variable._kind, value)
    packs = how.scale and variable._rules.scales
    if not packs and not any(is_masked_array(row) for row in rows.flat):
        return rows
    out = np.empty(rows.shape, object)
    for at, row in np.ndenumerate(rows):
        out[at] = row if row is None else exact(variable._rules.take(row, how), base, truncate=True)
    return out


def _objects(types: Types, kind: TypeName, value: Any) -> np.ndarray:
    """The values of a heap type as an array, without splitting a string or a single ragged row."""
    dtype = types.dtype(kind)
    is_rows = dtype == np.dtype("O") and kind != "str"
    if not is_rows or (isinstance(value, np.ndarray) and value.dtype == dtype):
        # Only the elements of rows are filled, one row at a time.
        value = unmasked(value)
    if isinstance(value, np.ndarray) and (value.dtype == dtype or kind == "str"):
        return value.astype(dtype, copy=False)
    if is_rows and isinstance(value, np.ndarray) and value.ndim > 1:
        # Each row along the last dimension is one element.
        out = np.empty(value.shape[:-1], dtype)
        for at in np.ndindex(out.shape):
            out[at] = value[at]
        return out
    if isinstance(value, str | bytes) or (_is_row(value) if is_rows else isinstance(value, tuple)):
        out = np.empty((), dtype)
        out[()] = value
        return out
    if is_rows:
        out = np.empty(len(value), dtype)
        for i, row in enumerate(value):
            out[i] = row
        return out
    return np.asarray(value, dtype)


def _is_row(value: Any) -> bool:
    """Whether this is one ragged row, not several: a one-dimensional array or list of plain numbers or text."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype != np.dtype("O"))
    return np.isscalar(value) or not any(isinstance(v, list | tuple | np.ndarray) for v in value)
