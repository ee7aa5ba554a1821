"""Missing values, scale and offset in the pass that decodes: arguments and results of the extension module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ncforge import _core
from ncforge._core import File

if TYPE_CHECKING:
    from ncforge._dataset.masking import Rules

Unpacked = tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]
"""Results, and a mask of the missing ones; ``None`` if there are none, or if they were set to NaN."""

_WIDTHS = {("f4", "f4"): "single", ("f4", "f8"): "widened", ("f8", "f8"): "double"}
"""Codes by the types of the product and of the sum."""


@dataclass(frozen=True)
class Plan:
    """How the values of a variable are unpacked."""

    stored: str
    """NumPy's code of the type that the stored bytes are read as."""
    dtype: np.dtype[Any]
    """NumPy's code of the type of results."""
    missing: tuple[bytes, ...] = ()
    low: bytes | None = None
    high: bytes | None = None
    nan: bool = False
    """Whether missing values become NaN; else the result has a mask."""
    width: str | None = None
    factor: float | None = None
    offset: float | None = None
    request: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        request = {
            "stored": self.stored,
            "missing": list(self.missing),
            "low": self.low,
            "high": self.high,
            "nan": self.nan,
            "width": self.width,
            "factor": self.factor,
            "offset": self.offset,
        }
        object.__setattr__(self, "request", request)

    def slab(self, core: File, var: int, start: list[int], count: list[int], stride: list[int]) -> Unpacked:
        """A hyperslab of a variable of a file."""
        values, mask = core.read_unpacked(var, start, count, stride, self.request)
        missing = None if mask is None else mask.view(np.bool_).reshape(count)
        return values.view(self.dtype).reshape(count), missing

    def array(self, stored: npt.NDArray[Any]) -> Unpacked:
        """Stored numbers that are in memory."""
        out = np.empty(stored.shape, self.dtype)
        mask = None if self.nan else np.zeros(stored.shape, np.bool_)
        flat = np.ascontiguousarray(stored).reshape(-1).view(np.uint8)
        bits = None if mask is None else mask.reshape(-1).view(np.uint8)
        any_ = _core.unpack(flat, self.request, out.reshape(-1).view(np.uint8), bits)
        return out, mask if any_ else None


def plan_of(rules: Rules, mask: bool, scale: bool) -> Plan | None:
    """The plan with the results of netCDF4-python; ``None`` where there is nothing to do, or where NumPy must do it:
    factors that are integers, missing values that cannot be distinguished afterwards.
    """
    dtype = rules.dtype
    if dtype.kind not in "iuf":
        return None
    unsigned = rules.unsigned and scale
    kind = np.dtype(f"u{dtype.itemsize}") if unsigned else dtype
    width: str | None = None
    factor = offset = None
    result = kind
    if scale and rules.scales:
        steps = _steps(rules, kind)
        if steps is None:
            return None
        width, factor, offset, result = steps
    missing: list[bytes] = []
    low = high = None
    if mask:
        if rules.missing is not None:
            if dtype.kind != "f" and dtype.itemsize == 8:
                return None
            missing += [value.tobytes() for value in rules.missing.reshape(-1)]
        if rules.fill is not None:
            missing.append(rules.fill.tobytes())
        elif rules.default_masks and rules.default is not None and not unsigned:
            missing.append(rules.default.tobytes())
        low, high = (None if v is None else np.asarray(v, dtype).tobytes() for v in (rules.low, rules.high))
    if width is None and not missing and low is None and high is None:
        return None
    return Plan(
        kind.str[1:], result, tuple(dict.fromkeys(missing)), low, high, False, width, _number(factor), _number(offset)
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _steps(rules: Rules, kind: np.dtype[Any]) -> tuple[str | None, Any, Any, np.dtype[Any]] | None:
    """The intermediate types, factor and offset, and the type of results; ``None`` if they are not supported."""
    factor, offset = rules.factor, rules.offset
    if any(v is not None and np.ndim(v) for v in (factor, offset)):
        return None
    nothing = np.zeros(0, kind)
    if factor is not None and offset is not None and factor == 1.0 and offset == 0.0:
        only = np.asarray(factor).dtype
        width = _WIDTHS.get((only.str[1:], only.str[1:]))
        return None if width is None else (width, None, None, only)
    if offset is None and factor == 1.0:
        factor = None
    if factor is None and offset is not None and rules.factor is None and offset == 0.0:
        offset = None
    if factor is None and offset is None:
        return None, None, None, kind
    product = nothing if factor is None else nothing * factor
    total = product if offset is None else product + offset
    first = total if factor is None else product
    width = _WIDTHS.get((first.dtype.str[1:], total.dtype.str[1:]))
    return None if width is None else (width, factor, offset, total.dtype)
