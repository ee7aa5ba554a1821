"""Whether values fit the integers that they are packed into: NumPy's conversion, which xarray uses, wraps others around."""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from typing import Any

import numpy as np
from xarray.coding.strings import create_vlen_dtype
from xarray.coding.times import CFDatetimeCoder, CFTimedeltaCoder
from xarray.coding.variables import CFMaskCoder, CFScaleOffsetCoder
from xarray.core.common import contains_cftime_datetimes
from xarray.core.duck_array_ops import isnull
from xarray.core.variable import Variable

from ncforge._dataset.masking import default_fill
from ncforge._dataset.values import at_place, first_place
from ncforge._xarray.decoding import is_no_time
from ncforge.errors import InvalidError

_PACKING = ("scale_factor", "add_offset")
_MISSING = ("_FillValue", "missing_value")
_TIME = ("units", "calendar")
_STRING = create_vlen_dtype(str)
_NAT = np.iinfo("i8").min
"""The number of a missing time, in NumPy and in xarray."""


def packable(variable: Variable) -> Variable:
    """The variable, as xarray packs it without a loss: it calculates by the types of the values, of a factor and of an offset, cannot
    divide integers, and takes Python's floats for less precise than those of a file.

    Integers from which nothing but an integer is subtracted remain integers, of 64 bits; all else are NumPy's floats.
    """
    given = _packing(variable)
    if not given:
        return variable
    encoding, data, own = dict(variable.encoding), variable._data, variable.dtype
    # Without the key of a fill value, xarray makes floats itself.
    keeps = any(key in encoding for key in _MISSING)
    whole = set(given) == {"add_offset"} and bool(whole_packing(variable)) and own.kind in "iu"
    if keeps and encoding.get("dtype") is None and (whole or own.kind == "f"):
        encoding["dtype"] = own
    wanted, wide = encoding.get("dtype"), np.iinfo("u8" if own == "u8" else "i8")
    whole = whole and wanted is not None and wanted is not str and np.dtype(wanted).kind in "iu"
    if whole and wide.min <= int(given["add_offset"]) <= wide.max:
        encoding.setdefault("_FillValue", None)
        # `fitting` refuses what has no place in its type, of which these integers are the bits.
        data = variable.data.astype(wide.dtype)
        given = {"add_offset": wide.dtype.type(given["add_offset"])}
    else:
        data = variable.data.astype("f8") if keeps and own.kind in "iub" else data
        given = {k: v if np.asarray(v).dtype == np.float32 else np.asarray(v, "f8")[()] for k, v in given.items()}
    return Variable(variable.dims, data, variable.attrs, {**encoding, **given}, fastpath=True)


def whole_packing(variable: Variable) -> dict[str, Any]:
    """The factor and the offset of an encoding that are integers."""
    return {key: value for key, value in _packing(variable).items() if np.asarray(value).dtype.kind in "iu"}


def _packing(variable: Variable) -> dict[str, Any]:
    return {key: variable.encoding[key] for key in _PACKING if variable.encoding.get(key) is not None}


def uncut(variable: Variable, name: Any) -> Variable:
    """The variable, without the length of text in its encoding. xarray takes it from the longest text that a file had, and would
    cut longer text to it; netCDF has no such type. Values become text here, after missing ones have become the fill value."""
    wanted = variable.encoding.get("dtype")
    if wanted is None or wanted is str or np.dtype(wanted).kind != "U":
        return variable
    data: Any = variable._data
    if variable.dtype.kind in "OiufbcS":
        variable = CFMaskCoder().encode(variable, name)
        if hasattr(data, "dask"):
            meta = np.empty((0,) * variable.ndim, _STRING)
            data = variable.data.map_blocks(_text, dtype=_STRING, meta=meta)
        else:
            data = _text(variable.values)
    encoding = {key: value for key, value in variable.encoding.items() if key != "dtype"}
    return Variable(variable.dims, data, variable.attrs, encoding, fastpath=True)


def _text(values: Any) -> np.ndarray[Any, Any]:
    """Values as text of any length. Missing objects that no fill value stands for are empty, as xarray writes them."""
    plain = np.asarray(values)
    text = plain.astype(str)
    return (np.where(isnull(plain), "", text) if plain.dtype.kind == "O" else text).astype(_STRING)


def fitting(variable: Variable, name: Any, rounds: bool) -> Variable:
    """The variable, with values that fit the integers of its encoding; others are an error. Values in memory are checked
    now, blocks of Dask arrays when they are computed.

    ``rounds``: whether fractions fit integers, too, where nothing is packed. xarray rounds them, because a new variable is what
    its encoding asks for. One that is in the file is what it is.
    """
    kind = _integers(variable)
    if kind is None:
        return variable
    keys = (*_PACKING, *_MISSING, *(() if variable.dtype.kind in "iufb" else _TIME))
    how = {key: variable.encoding[key] for key in keys if variable.encoding.get(key) is not None}
    plain = not set(how) & set(_PACKING) and not _members(kind)
    if variable.dtype.kind in "iub" and plain and np.can_cast(variable.dtype, kind):
        return variable
    numbered = _are_times(variable, how)
    check = functools.partial(_checked, name=name, kind=kind, how=how, rounds=rounds or not plain, numbered=numbered)
    source: Any = variable._data
    if hasattr(source, "dask"):
        data = source.map_blocks(check, dtype=source.dtype, meta=source._meta)
    else:
        data = check(variable.values)
        if isinstance(source, np.ndarray) or variable.dims == (name,):
            return variable
    return Variable(variable.dims, data, variable.attrs, variable.encoding)


def _are_times(variable: Variable, how: dict[str, Any]) -> bool:
    """Whether integers are times to xarray, as those of a file that it did not decode are: it stores a fill value for the number of a
    missing time."""
    units = variable.attrs.get("units")
    if variable.dtype.kind not in "iu" or set(how) & set(_PACKING) or units is None or is_no_time(units):
        return False
    encoding = {**how, "dtype": variable.encoding["dtype"]}
    one = Variable(("x",), np.array([_NAT]), {"units": units}, encoding)
    return bool(CFMaskCoder().encode(one).values[0] != _NAT)


def _integers(variable: Variable) -> np.dtype[Any] | None:
    """The type of integers that numbers or times are stored as; ``None`` if they are not."""
    wanted = variable.encoding.get("dtype")
    if wanted is None or wanted is str or variable.dtype.kind not in "iufbmMO":
        return None
    kind: np.dtype[Any] = np.dtype(wanted)
    if kind.kind not in "iu" or (variable.dtype.kind == "O" and not contains_cftime_datetimes(variable)):
        return None
    unsigned = variable.encoding.get("_Unsigned")
    if unsigned is None and variable.dtype != kind:
        # As an attribute of values of the stored type, it says that they are as they are stored.
        unsigned = variable.attrs.get("_Unsigned")
    # Spelt otherwise, it means nothing to xarray.
    other = {("i", "true"): "u", ("u", "false"): "i"}.get((kind.kind, str(unsigned)))
    return kind if other is None else np.dtype(f"{other}{kind.itemsize}")


def _checked(
    values: Any,
    name: Any,
    kind: np.dtype[Any],
    how: dict[str, Any],
    rounds: bool,
    numbered: bool,
    block_info: Any = None,
) -> Any:
    """The values, unchanged. Those that do not fit ``kind`` when they are packed are an error."""
    numbers = np.asarray(values)
    if numbers.size == 0:
        return values
    is_time = numbers.dtype.kind not in "iufb"
    units = None
    if is_time:
        packed, units = _of_times(numbers, how, lazy=block_info is not None)
    shift = 0 if _members(kind) else _shift(numbers, how)
    packed = numbers if shift else _packed(packed if is_time else numbers, how)
    limits = np.iinfo(kind)
    low, high = int(limits.min) + shift, int(limits.max) + shift
    if numbered:
        packed = np.where(packed == _NAT, limits.min, packed)
    ends = _whole(np.fmin.reduce(packed, axis=None)), _whole(np.fmax.reduce(packed, axis=None))
    # xarray stores and reads a missing time as the smallest 64-bit integer.
    marked = set(how) & set(_MISSING) or (is_time and kind == np.dtype("i8") and not set(how) & set(_PACKING))
    missing = packed.dtype.kind == "f" and not marked and bool(np.isnan(packed).any())
    if not missing and all(math.isnan(end) or low <= end <= high for end in ends):
        if not (rounds or is_time):
            _check_whole(name, packed, kind, block_info)
        _check_members(name, packed, kind, how, block_info)
        return values
    with np.errstate(invalid="ignore"):
        rounded = np.around(packed) if packed.dtype.kind == "f" else packed
        # The limits of 64 bits are no floats: the largest float below is what fits.
        odd = np.isnan(packed) if missing else ~((rounded >= low) & (rounded < high + 1)) & (packed == packed)
    place = first_place(odd)
    value = numbers[place]
    place = _in_all(place, block_info)
    if missing:
        raise InvalidError(
            f"`{name}`: {at_place(value, place)} does not fit {kind}: a missing value needs a _FillValue, and none is given"
        )
    more = f" in the units {units!r}" if "units" in how and units else ""
    if more and units != how["units"]:
        more += f": in {how['units']!r}, some values have fractions"
    if set(how) & set(_PACKING):
        factor, offset = float(how.get("scale_factor", 1)), float(how.get("add_offset", 0))
        least, most = sorted((limits.min * factor + offset, limits.max * factor + offset))
        more += f" after scale_factor and add_offset: only values from {least:.6g} to {most:.6g} do"
    raise InvalidError(f"`{name}`: {at_place(value, place)} does not fit {kind} ({limits.min} to {limits.max}){more}")


def _in_all(place: tuple[int, ...], block_info: Any) -> tuple[int, ...]:
    """A place in the whole array, from that in a block of it."""
    if block_info is None:
        return place
    return tuple(i + start for i, (start, _) in zip(place, block_info[0]["array-location"], strict=True))


def _check_whole(name: Any, numbers: np.ndarray[Any, Any], kind: np.dtype[Any], block_info: Any) -> None:
    """Whether numbers have no fractions."""
    if numbers.dtype.kind != "f":
        return
    odd = (numbers != np.around(numbers)) & (numbers == numbers)
    if odd.any():
        place = first_place(odd)
        what = at_place(numbers[place], _in_all(place, block_info))
        raise InvalidError(f"`{name}`: {what} is not a whole number, and the file has {kind} without scale_factor")


def _check_members(
    name: Any, packed: np.ndarray[Any, Any], kind: np.dtype[Any], how: dict[str, Any], block_info: Any
) -> None:
    """Whether numbers are members of an enum, or values of elements that are missing or were never written."""
    members = _members(kind)
    if not members:
        return
    others = [how[key] for key in _MISSING if key in how] + [default_fill(kind)]
    odd = ~np.isin(packed, [*members.values(), *others]) & (packed == packed)
    if odd.any():
        place = first_place(odd)
        known = ", ".join(f"{value} ({member})" for member, value in members.items())
        what = at_place(packed[place], _in_all(place, block_info))
        raise InvalidError(f"`{name}`: {what} is not in the enum, which has {known}")


def _members(kind: np.dtype[Any]) -> dict[str, int]:
    """The names and values of an enum; none for other types."""
    found: Any = kind.metadata
    return found.get("enum", {}) if found else {}


def _of_times(times: np.ndarray[Any, Any], how: dict[str, Any], lazy: bool) -> tuple[np.ndarray[Any, Any], Any]:
    """Times as the numbers that xarray stores, in floats, with their units; missing ones are NaN."""
    encoding = {key: how[key] for key in _TIME if key in how}
    coder = CFTimedeltaCoder() if times.dtype.kind == "m" else CFDatetimeCoder()
    dims = tuple(f"d{i}" for i in range(times.ndim))
    wanted = np.dtype("f8" if set(how) & set(_PACKING) else "i8")
    # xarray warns again where it encodes. (Filters of warnings are not those of one thread.)
    with contextlib.nullcontext() if lazy else warnings.catch_warnings():
        if not lazy:
            warnings.simplefilter("ignore")
        encoded = coder.encode(Variable(dims, times, {}, {**encoding, "dtype": wanted}))
    numbers = np.asarray(encoded.data)
    found: np.ndarray[Any, Any] = numbers.astype("f8")
    if numbers.dtype.kind == "i":
        found[numbers == _NAT] = np.nan
    return found, encoded.attrs.get("units")


def _whole(value: Any) -> float | int:
    """A number that is compared exactly with any integer: floats are rounded to whole numbers first."""
    if isinstance(value, np.floating):
        return int(np.around(value)) if np.isfinite(value) else float(value)
    return int(value)


def _shift(numbers: np.ndarray[Any, Any], how: dict[str, Any]) -> int:
    """The integer that is subtracted from integers, as :func:`packable` leaves them; 0 if they are packed otherwise."""
    offset = np.asarray(how.get("add_offset", 0))
    return int(offset) if numbers.dtype.kind in "iu" and offset.dtype.kind in "iu" and "scale_factor" not in how else 0


def _packed(numbers: np.ndarray[Any, Any], how: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The numbers as xarray scales them, with its arithmetic, so that the same ones fit."""
    if not set(how) & set(_PACKING):
        return numbers.astype("u1") if numbers.dtype.kind == "b" else numbers
    if numbers.dtype.kind != "f":
        numbers = numbers.astype("f8")
    dims = tuple(f"d{i}" for i in range(numbers.ndim))
    return np.asarray(CFScaleOffsetCoder().encode(Variable(dims, numbers, {}, dict(how))).data)
