"""Whether values fit the integers that they are packed into: NumPy's conversion, which xarray uses, wraps others around."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from xarray.coding.variables import CFScaleOffsetCoder
from xarray.core.variable import Variable

from ncforge._values import at_place, first_place
from ncforge.errors import InvalidError

_PACKING = ("scale_factor", "add_offset")
_MISSING = ("_FillValue", "missing_value")


def uncut(variable: Variable) -> Variable:
    """The variable, without the length of text in its encoding. xarray takes it from the longest text that a file had, and would
    cut longer text to it; netCDF has no such type."""
    wanted = variable.encoding.get("dtype")
    if wanted is None or wanted is str or np.dtype(wanted).kind != "U":
        return variable
    encoding = {key: value for key, value in variable.encoding.items() if key != "dtype"}
    data: Any = variable._data
    lazy = hasattr(data, "dask")
    if variable.dtype.kind == "O" and not lazy:
        # Missing text is empty, as xarray writes it.
        data = np.where(np.asarray(variable.isnull()), "", variable.values).astype(str)
    elif variable.dtype.kind in "iufbcS" or not variable.size:
        data = variable.data.astype(str)
    return Variable(variable.dims, data, variable.attrs, encoding, fastpath=True)


def fitting(variable: Variable, name: Any) -> Variable:
    """The variable, with values that fit the integers of its encoding; others are an error. Values in memory are checked
    now, blocks of Dask arrays when they are computed.
    """
    kind = _integers(variable)
    if kind is None:
        return variable
    how = {key: variable.encoding[key] for key in (*_PACKING, *_MISSING) if variable.encoding.get(key) is not None}
    if variable.dtype.kind in "iub" and not set(how) & set(_PACKING) and np.can_cast(variable.dtype, kind):
        return variable
    check = functools.partial(_checked, name=name, kind=kind, how=how)
    source: Any = variable._data
    if hasattr(source, "dask"):
        data = source.map_blocks(check, dtype=source.dtype, meta=source._meta)
    else:
        data = check(variable.values)
        if isinstance(source, np.ndarray) or variable.dims == (name,):
            return variable
    return Variable(variable.dims, data, variable.attrs, variable.encoding)


def _integers(variable: Variable) -> np.dtype[Any] | None:
    """The type of integers that numbers are stored as; ``None`` if they are not."""
    wanted = variable.encoding.get("dtype")
    if wanted is None or wanted is str or variable.dtype.kind not in "iufb":
        return None
    kind: np.dtype[Any] = np.dtype(wanted)
    if kind.kind not in "iu":
        return None
    unsigned = variable.encoding.get("_Unsigned", variable.attrs.get("_Unsigned"))
    if unsigned is None:
        return kind
    stored: np.dtype[Any] = np.dtype(f"{'u' if str(unsigned).lower() == 'true' else 'i'}{kind.itemsize}")
    return stored


def _checked(values: Any, name: Any, kind: np.dtype[Any], how: dict[str, Any], block_info: Any = None) -> Any:
    """The values, unchanged. Those that do not fit ``kind`` when they are packed are an error."""
    numbers = np.asarray(values)
    if numbers.size == 0:
        return values
    packed = _packed(numbers, how)
    limits = np.iinfo(kind)
    ends = _whole(np.fmin.reduce(packed, axis=None)), _whole(np.fmax.reduce(packed, axis=None))
    missing = packed.dtype.kind == "f" and not set(how) & set(_MISSING) and bool(np.isnan(packed).any())
    if not missing and all(math.isnan(end) or limits.min <= end <= limits.max for end in ends):
        return values
    with np.errstate(invalid="ignore"):
        rounded = np.around(packed) if packed.dtype.kind == "f" else packed
        # 64-bit limits are no floats: the largest float below is what fits.
        odd = (
            np.isnan(packed)
            if missing
            else ~((rounded >= limits.min) & (rounded < limits.max + 1)) & (packed == packed)
        )
    place = first_place(odd)
    value = numbers[place]
    if block_info is not None:
        place = tuple(i + start for i, (start, _) in zip(place, block_info[0]["array-location"], strict=True))
    if missing:
        raise InvalidError(
            f"`{name}`: {at_place(value, place)} does not fit {kind}: a missing value needs a _FillValue, and none is given"
        )
    more = ""
    if set(how) & set(_PACKING):
        factor, offset = float(how.get("scale_factor", 1)), float(how.get("add_offset", 0))
        low, high = sorted((limits.min * factor + offset, limits.max * factor + offset))
        more = f" after scale_factor and add_offset: only values from {low:.6g} to {high:.6g} do"
    raise InvalidError(f"`{name}`: {at_place(value, place)} does not fit {kind} ({limits.min} to {limits.max}){more}")


def _whole(value: Any) -> float | int:
    """A number that is compared exactly with any integer: floats are rounded to whole numbers first."""
    if isinstance(value, np.floating):
        return int(np.around(value)) if np.isfinite(value) else float(value)
    return int(value)


def _packed(numbers: np.ndarray[Any, Any], how: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The numbers as xarray scales them, with its arithmetic, so that the same ones fit."""
    if not set(how) & set(_PACKING):
        return numbers.astype("u1") if numbers.dtype.kind == "b" else numbers
    if numbers.dtype.kind != "f":
        numbers = numbers.astype("f8")
    dims = tuple(f"d{i}" for i in range(numbers.ndim))
    return np.asarray(CFScaleOffsetCoder().encode(Variable(dims, numbers, {}, dict(how))).data)
