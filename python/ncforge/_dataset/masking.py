"""Masking and scaling of values by attributes.

The rules are netCDF4-python's: ``missing_value``, ``_FillValue`` (or the default fill value of the type),
``valid_range``, ``valid_min``, ``valid_max`` mask; ``scale_factor``, ``add_offset`` and ``_Unsigned`` scale.
"""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ncforge._dataset.text import NO_ENCODING
from ncforge._dataset.unpack import Plan, plan_of
from ncforge._dataset.values import UnfitError, exact, is_masked_array, unmasked
from ncforge.errors import InvalidError

DEFAULT_FILL: dict[str, Any] = {
    "S1": b"\0",
    "i1": -127,
    "u1": 255,
    "i2": -32767,
    "u2": 65535,
    "i4": -2147483647,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
    "f4": 9.969209968386869e36,
    "f8": 9.969209968386869e36,
}
"""The default fill values: those of elements that were never written (netCDF-C, netcdf.h)."""

default_fillvals: dict[str, Any] = {**DEFAULT_FILL, "S1": "\0", "c8": DEFAULT_FILL["f4"], "c16": DEFAULT_FILL["f8"]}
"""Default fill values in the form of netCDF4-python: with text, and for the parts of complex numbers."""


def default_fill(dtype: np.dtype[Any]) -> Any:
    """netCDF's own fill value of a type. ``InvalidError`` if it has none."""
    code = dtype.str[1:]
    if code not in DEFAULT_FILL:
        raise InvalidError(f"netCDF has no fill value of type {dtype}")
    return np.array(DEFAULT_FILL[code], dtype)[()]


def text_encoding(value: Any) -> str | None:
    """The encoding that an attribute ``_Encoding`` names; ``None`` if it names none that Python has: characters stay what
    they are."""
    if not isinstance(value, str):
        return None
    if value not in NO_ENCODING:
        try:
            codecs.lookup(value)
        except LookupError:
            return None
    return value


IN_TYPE = frozenset({"missing_value", "valid_min", "valid_max", "valid_range"})
"""Attributes that are compared with stored values, and get their type where they are assigned (``variable.valid_min = 0``)."""


def in_type(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """The value of such an attribute in the type of the variable, as in netCDF4-python. Where that would change it, it keeps
    its own type, with a warning."""
    value = unmasked(value)
    try:
        with np.errstate(all="ignore"):
            given, typed = np.array(value), np.array(value, dtype)
    except (TypeError, ValueError, OverflowError) as e:
        raise UnfitError(f"{value!r} cannot be converted to {dtype}: {e}") from e
    if np.all((given == typed) | ((given != given) & (typed != typed))):
        return typed
    warnings.warn(
        f"{name} = {value!r} keeps its own type: {dtype}, that of the variable, would change it", stacklevel=3
    )
    return value


@dataclass
class Switches:
    """How a variable's values are converted in reads and writes."""

    mask: bool = True
    scale: bool = True
    always_mask: bool = True
    chartostring: bool = True


class Rules:
    """The rules of one variable."""

    def __init__(self, attrs: Mapping[str, Any], dtype: np.dtype[Any], fills: bool) -> None:
        self.dtype = dtype
        self.encoding = text_encoding(attrs.get("_Encoding"))
        self.string_encoding = None if self.encoding in (*NO_ENCODING, "utf-8") else self.encoding
        self.unsigned = dtype.kind == "i" and str(attrs.get("_Unsigned")) in ("true", "True")
        self.missing = self._safe(attrs, "missing_value")
        self.fill = self._safe(attrs, "_FillValue")
        if self.fill is not None:
            self.fill = self.fill.reshape(-1)[:1].reshape(())
        code = dtype.str[1:]
        default = DEFAULT_FILL.get(code)
        self.default = None if default is None else np.array(default, dtype)
        # Without filling, the default fill values of bytes are ordinary values.
        self.default_masks = self.fill is None and default is not None and (fills or code not in ("i1", "u1"))
        self.low, self.high = self._limits(attrs)
        self.factor, self.offset = attrs.get("scale_factor"), attrs.get("add_offset")
        self.scales = self._scalable()
        self.digits = attrs.get("least_significant_digit")
        self._plans: dict[tuple[bool, bool], Plan | None] = {}

    def _safe(self, attrs: Mapping[str, Any], name: str) -> Any:
        """An attribute converted to the variable's type, if that does not change its value; ``None`` if it has no value."""
        value = attrs.get(name)
        if value is None:
            return None
        plain = np.array(value)
        if plain.size == 0:
            return None
        if self.dtype.kind == "S":
            text = value.encode() if isinstance(value, str) else value
            return np.array(text, self.dtype) if isinstance(text, bytes) and len(text) <= 1 else None
        try:
            with np.errstate(all="ignore"):
                typed = plain.astype(self.dtype)
            same = typed == plain
            if plain.dtype.kind in "fc":
                same = same | (np.isnan(plain) if self.dtype.kind in "fc" else False)
                # Written with more digits than the variable's type has.
                same = same | ((self.dtype.kind == "f") & np.isclose(typed, plain, equal_nan=True))
        except (TypeError, ValueError, OverflowError):
            same, typed = np.False_, None
        if np.all(same):
            return typed
        warnings.warn(f"{name} not used since it\ncannot be safely cast to variable data type", stacklevel=5)
        return None

    def _limits(self, attrs: Mapping[str, Any]) -> tuple[Any, Any]:
        if self.dtype.kind == "S":
            return None, None
        both = self._safe(attrs, "valid_range")
        if both is not None and both.size == 2:
            return both.reshape(-1)[0], both.reshape(-1)[1]
        low, high = self._safe(attrs, "valid_min"), self._safe(attrs, "valid_max")
        low, high = (None if v is None or v.size != 1 else v.reshape(()) for v in (low, high))
        return low, high

    def _scalable(self) -> bool:
        try:
            for value in (self.factor, self.offset):
                if value is not None:
                    float(value)
        except (TypeError, ValueError):
            warnings.warn("invalid scale_factor or add_offset attribute, no unpacking done...", stacklevel=5)
            return False
        return self.factor is not None or self.offset is not None

    # Reading

    def plan(self, how: Switches) -> Plan | None:
        """How values are unpacked while they are decoded; ``None`` where :meth:`give` unpacks them."""
        key = how.mask, how.scale
        if key not in self._plans:
            self._plans[key] = plan_of(self, *key)
        return self._plans[key]

    def dressed(self, values: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None, how: Switches) -> Any:
        """The result of a plan for the program: the same as :meth:`give` of the stored numbers."""
        if not how.mask:
            return values
        if mask is None:
            return np.ma.MaskedArray(values) if how.always_mask else values
        stored = self.dtype
        if self.unsigned and how.scale:
            stored = np.dtype(f"u{stored.itemsize}")
        fill: Any = None
        if self.missing is not None:
            # Missing ones are unchanged: were some of them these?
            candidates = self.missing.reshape(-1).view(stored)
            masked = values[mask]
            found = np.isin(masked, candidates.astype(values.dtype))
            if stored.kind == "f" and np.isnan(candidates).any():
                found = found | np.isnan(masked)
            if found.any():
                fill = candidates[0]
        for other in (self.fill, self.default):
            if fill is None and other is not None:
                fill = other.view(stored)[()]
        return np.ma.MaskedArray(values, mask=mask, fill_value=fill)

    def give(self, data: npt.NDArray[Any], how: Switches) -> Any:
        """Converts stored values to those that a program gets."""
        unsigned = self.unsigned and how.scale
        if unsigned:
            data = data.view(f"u{data.dtype.itemsize}")
        out: Any = self._masked(data, how, unsigned) if how.mask else data
        return self.scaled(out) if how.scale and self.scales else out

    def _masked(self, data: npt.NDArray[Any], how: Switches, unsigned: bool) -> Any:
        def same(value: Any) -> Any:
            value = np.asarray(value)
            return value.view(f"u{value.dtype.itemsize}") if unsigned else value

        mask: npt.NDArray[np.bool_] | None = None
        fill: Any = None

        def note(found: Any, value: Any) -> None:
            nonlocal mask, fill
            if found.any():
                mask = np.asarray(found) if mask is None else mask | found
                fill = value if fill is None else fill

        if self.missing is not None:
            values = same(self.missing).reshape(-1)
            for value in values:
                note(_equal(data, value), values[0])
        if self.fill is not None:
            value = same(self.fill)[()]
            note(_equal(data, value), value)
        elif self.default_masks and self.default is not None and not unsigned:
            # The fill value of a signed type is negative: no number of an unsigned one equals it.
            value = self.default[()]
            note(_equal(data, value), value)
        with np.errstate(invalid="ignore"):
            if self.low is not None:
                note(data < same(self.low), None)
            if self.high is not None:
                note(data > same(self.high), None)
        if mask is None:
            return np.ma.MaskedArray(data) if how.always_mask else data
        if mask.ndim == 0:
            return np.ma.masked
        for other in (self.fill, self.default):
            if fill is None and other is not None:
                fill = same(other)[()]
        return np.ma.MaskedArray(data, mask=mask, fill_value=fill)

    def scaled(self, data: Any) -> Any:
        """Numbers times the factor, plus the offset."""
        factor, offset = self.factor, self.offset
        if factor is not None and offset is not None:
            if offset == 0.0 and factor == 1.0:
                return data.astype(np.asarray(factor).dtype)
            return data * factor + offset
        if factor is not None:
            return data * factor if factor != 1.0 else data
        return data + offset if offset != 0.0 else data

    # Writing

    def take(self, data: Any, how: Switches) -> Any:
        """Converts values of a program to stored ones."""
        if is_masked_array(data):
            return self._filled(data, how)
        data = self.rounded(self._numbers(data, how, None))
        return self._packed(np.asarray(data)) if how.scale else data

    def _numbers(self, data: Any, how: Switches, mask: npt.NDArray[np.bool_] | None) -> Any:
        """Values as numbers where they are calculated with: text that is a number, objects, complex numbers without an imaginary
        part. Others are converted as they are stored. What is masked may be no number."""
        calculates = self.digits is not None or (how.scale and (self.scales or self.unsigned))
        if not calculates or self.dtype.kind not in "iuf":
            return data
        array = np.asarray(data)
        if array.dtype.kind in "iufb":
            return array
        if mask is not None and mask.any():
            array = array.astype(object)
            array[mask] = 0
        return exact(array, np.dtype("f8"))

    def _filled(self, data: Any, how: Switches) -> Any:
        mask = np.ma.getmaskarray(data)
        plain = np.asarray(self.rounded(self._numbers(data.data, how, mask)))
        if not mask.any():
            return self._packed(plain) if how.scale else plain
        fill: Any = self.missing.reshape(-1)[0] if self.missing is not None else self.fill
        if fill is None:
            fill = self.default if self.default is not None else data.fill_value
        numeric = plain.dtype.kind in "iuf"
        fill = np.asarray(fill)
        if numeric and self.dtype.kind == "f" and not (how.scale and (self.scales or self.unsigned)):
            # The wider type of both holds the fill value and the values.
            packed = np.where(mask, fill.astype(np.promote_types(plain.dtype, self.dtype)), plain)
        else:
            # Masked values are arbitrary, and it may be impossible to pack them.
            plain = np.where(mask, plain.dtype.type(self._any()) if numeric else plain.dtype.type(), plain)
            packed = np.asarray(self._packed(plain) if how.scale else plain)
            if packed.dtype != self.dtype and self.dtype.kind in "iuf" and packed.dtype.kind in "iufb":
                # For example masked floats for an integer variable: the fill value must not be converted to a float.
                packed = exact(packed, self.dtype, truncate=True)
            packed = np.where(mask, fill.astype(packed.dtype), packed)
        # Below the mask of an array that was read are the values that were stored: each stays the missing value that it was.
        several = self.missing is not None and self.missing.size > 1 and data.dtype.kind in "iuf"
        for one in self.missing.reshape(-1) if several else ():
            stored = one.view(f"u{one.dtype.itemsize}") if self.unsigned and how.scale else one
            packed[mask & _equal(data.data, stored)] = one.astype(packed.dtype)
        return packed

    def _any(self) -> Any:
        """A value that can be packed."""
        return (self.offset or 0) if self.scales and self.offset is not None else 0

    def _in_range(self, packed: Any, data: npt.NDArray[Any]) -> Any:
        """Packed values; a missing value that cannot be packed is not changed."""
        kind = np.dtype(f"u{self.dtype.itemsize}") if self.unsigned else self.dtype
        limits = np.iinfo(kind)
        # Whole numbers in this range are converted unchanged; the limits of eight bytes are no floats.
        if kind.itemsize < 8 and packed.size and limits.min <= packed.min() and packed.max() <= limits.max:
            return np.asarray(packed).astype(kind).view(self.dtype)
        with np.errstate(invalid="ignore"):
            outside = ~((packed >= limits.min) & (packed <= limits.max))
        if not outside.any():
            return packed
        packed = np.array(packed)
        for value in (self.fill, self.missing):
            for one in () if value is None else value.reshape(-1):
                packed[outside & (data == one)] = one
        return packed

    def rounded(self, data: Any) -> Any:
        """Values rounded to ``least_significant_digit``: those of the program, before they are packed, and also where that
        is switched off, as in netCDF4-python. Missing ones stay."""
        if self.digits is None:
            return data
        data, digits = np.asarray(data), int(self.digits)
        if data.dtype.kind != "f" and (data.dtype.kind not in "iu" or digits >= 0):
            return data
        found = quantized(data, digits)
        for value in (self.fill, self.missing):
            for one in () if value is None else value.reshape(-1):
                found = np.where(data == one, data, found)
        return found

    def _packed(self, data: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Packed values: integers block by block, so that what is calculated on the way stays in the processor's cache."""
        if not self.scales or self.dtype.kind not in "iu" or data.size <= _BLOCK:
            return self._packed_block(data)
        flat, out = data.reshape(-1), np.empty(data.shape, self.dtype)
        for first in range(0, data.size, _BLOCK):
            block = self._packed_block(flat[first : first + _BLOCK])
            if block.dtype != self.dtype:
                # Some cannot be packed, which is said of all of them.
                return self._packed_block(data)
            out.reshape(-1)[first : first + _BLOCK] = block
        return out

    def _packed_block(self, data: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.scales and data.dtype.kind in "iufb":
            out: Any = data
            if self.offset is not None:
                out = out - self.offset
            if self.factor is not None:
                out = out / self.factor
            if self.dtype.kind in "iu":
                out = self._in_range(np.around(out), data)
            data = np.asarray(out)
        if self.unsigned and data.dtype.kind in "iuf":
            kind = np.dtype(f"u{self.dtype.itemsize}")
            if data.dtype.kind != "i" or data.dtype.itemsize != self.dtype.itemsize:
                data = exact(data, kind, truncate=True).view(self.dtype)
        return data


_BLOCK = 1 << 15
"""Values that are packed at a time."""


def quantized(data: npt.NDArray[Any], digits: int) -> npt.NDArray[Any]:
    """Numbers rounded to a number of decimals, on a binary scale, so that trailing bits are zero."""
    bits = np.ceil(np.log2(10.0**digits))
    scale = 2.0**bits
    return np.asarray(np.around(scale * data) / scale, data.dtype)


def _equal(data: npt.NDArray[Any], value: Any) -> Any:
    if np.asarray(value).dtype.kind == "f" and np.isnan(value):
        return np.isnan(data)
    if data.dtype == "S1":
        # NumPy compares text character by character.
        return np.asarray(data).view(np.uint8) == np.array(value, "S1").view(np.uint8)
    return np.asarray(data == value)
