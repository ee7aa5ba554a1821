"""Packed variables, unpacked in the pass that decodes chunks, with the results of xarray.

xarray masks and scales whole arrays, one step after the other. Where these steps are the usual ones (one fill value, or none;
factor and offset that are floats), the engine computes the same results in one pass; everything else is left to xarray.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from xarray.coding import variables as coding
from xarray.core import dtypes

from ncforge._dataset import read as _read
from ncforge._dataset.unpack import Plan
from ncforge._xarray.array import NcforgeArray
from ncforge._xarray.many import ManyArray
from ncforge._xarray.store import Stored

# Internal to xarray: without these, xarray does all decoding.
_float_for = getattr(coding, "_choose_float_dtype", None)
_promoted = getattr(dtypes, "maybe_promote", None)

_FILLS = ("missing_value", "_FillValue")
_SCALES = ("scale_factor", "add_offset")


class UnpackedArray(NcforgeArray):
    """A packed variable of a file, as floats with NaN where values are missing."""

    __slots__ = ("_plan",)

    def __init__(self, stored: NcforgeArray, plan: Plan) -> None:
        self._handle, self._var, self._name = stored._handle, stored._var, stored._name
        self._kind, self._types, self.shape = stored._kind, stored._types, stored.shape
        self._plan = plan
        self.dtype = plan.dtype

    def __reduce__(self) -> Any:
        stored = NcforgeArray.__new__(NcforgeArray)
        stored._handle, stored._var, stored._name = self._handle, self._var, self._name
        stored._kind, stored._types, stored.shape = self._kind, None, self.shape
        stored.dtype = np.dtype(str(self._kind))
        return UnpackedArray, (stored, self._plan)

    def __dask_tokenize__(self) -> Any:
        return (*super().__dask_tokenize__(), repr(self._plan))

    def _slab(self, core: Any, start: list[int], count: list[int], stride: list[int]) -> npt.NDArray[Any]:
        return self._plan.slab(core, self._var, start, count, stride)[0]

    def _picks(self, core: Any, axes: _read.Axes) -> npt.NDArray[Any]:
        return self._plan.array(super()._picks(core, axes))[0]


def unpacked(stored: Stored, is_no_time: bool) -> Stored | None:
    """The variable with the results of xarray's decoders for missing values and scale; ``None`` if they must decode it."""
    attrs, array = stored.attrs, stored.array
    if not is_no_time or "_Unsigned" in attrs or "dtype" in attrs:
        return None
    of = array.of if isinstance(array, ManyArray) else array
    if _float_for is None or _promoted is None or type(of) is not NcforgeArray or not isinstance(of._kind, str):
        return None
    plan = _plan(array.dtype, attrs)
    if plan is None:
        return None
    left = dict(attrs)
    encoding = dict(stored.encoding)
    for key in (*_FILLS, *_SCALES):
        if key in left:
            encoding[key] = left.pop(key)
    made = array.unpacked_by(plan) if isinstance(array, ManyArray) else UnpackedArray(of, plan)
    return Stored(stored.dims, made, left, encoding)


def _plan(kind: np.dtype[Any], attrs: dict[Any, Any]) -> Plan | None:
    found = [(key, attrs[key]) for key in (*_FILLS, *_SCALES) if key in attrs]
    if any(not isinstance(v, np.generic) or v.dtype.kind not in "iuf" for _, v in found):
        return None
    # Most variables of a file are packed in the same way, or in a few ways.
    return _plan_of(kind, tuple((key, v.dtype, v.tobytes()) for key, v in found))


@lru_cache(maxsize=256)
def _plan_of(kind: np.dtype[Any], found: tuple[tuple[str, np.dtype[Any], bytes], ...]) -> Plan | None:
    attrs = {key: np.frombuffer(raw, of)[0] for key, of, raw in found}
    fills = [attrs[key] for key in _FILLS if key in attrs]
    scales = [attrs[key] for key in _SCALES if key in attrs]
    if any(v.dtype.kind != "f" for v in scales) or any(v.dtype != kind for v in fills):
        return None
    if any(v != v and kind.kind != "f" for v in fills):
        return None
    values = {v.tobytes() for v in fills if v == v}
    if len(values) > 1 or not (values or scales):
        return None
    if kind.kind != "f" and kind.itemsize == 8 and values:
        return None
    assert _float_for is not None and _promoted is not None
    if scales:
        wanted = np.dtype(_float_for(kind, attrs))
        if fills and not values:
            # The fill value is NaN: xarray does not change the type.
            wanted = kind
    else:
        wanted = np.dtype(_promoted(kind)[0])
    # Comparing before or after the conversion gives the same result only if the conversion is exact.
    if wanted.str[1:] not in ("f4", "f8") or not np.can_cast(kind, wanted, "safe"):
        return None
    width = "single" if wanted.itemsize == 4 else "double"
    factor, offset = (float(attrs[key]) if key in attrs else None for key in _SCALES)
    if width == "single" and any(v.dtype.itemsize == 8 for v in scales):
        # NumPy would compute in the wider type, and round at the end.
        return None
    return Plan(kind.str[1:], wanted, tuple(values), None, None, True, width, factor, offset)
