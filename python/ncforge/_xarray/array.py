"""Variables as lazy arrays of xarray."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import numpy.typing as npt
from xarray.backends.common import BackendArray
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing

from ncforge._core import File
from ncforge._dataset import read as _read
from ncforge._dataset.complex import joined
from ncforge._dataset.handle import Handle
from ncforge._dataset.values import TypeName, Types
from ncforge._xarray import keys

_TEXT: np.dtype[Any] = create_vlen_dtype(str)  # type: ignore[no-untyped-call]
"""The type that xarray uses for strings."""

_POINTS = 1 << 20
"""Points of a read. Their index table takes several times the memory of the values; a chunk is decoded once for so many points."""


def _lazy_type(kind: TypeName, types: Types) -> np.dtype[Any]:
    """The type of an array before it is read. Of ragged rows it is that of their elements, as with engine netcdf4: xarray looks
    at the first row of objects, and fails unless it has one element."""
    if kind == "str":
        return _TEXT
    if isinstance(kind, int) and types.info(kind)["kind"] == "vlen":
        return types.dtype(types.info(kind)["base"])
    return types.dtype(kind)


class NcforgeArray(BackendArray):
    """A variable of a file. Reads without a lock, and is pickled with its file's handle."""

    __slots__ = ("_handle", "_kind", "_name", "_types", "_var", "dtype", "shape")

    def __init__(self, handle: Handle, var: int, name: str, kind: TypeName, shape: tuple[int, ...], types: Types):
        self._handle = handle
        self._var = var
        self._name = name
        self._kind = kind
        self._types: Types | None = types
        self.shape = shape
        self.dtype: np.dtype[Any] = _lazy_type(kind, types)

    @property
    def handles(self) -> list[Handle]:
        """The file that it is read from."""
        return [self._handle]

    def in_file(self, handle: Handle, shape: tuple[int, ...]) -> NcforgeArray:
        """This variable in another file of the same kind."""
        return _rebuilt(handle, self._var, self._name, self._kind, shape, self.dtype)

    def __reduce__(self) -> Any:
        # The types of the file are read again where they are needed.
        return _rebuilt, (self._handle, self._var, self._name, self._kind, self.shape, self.dtype)

    def __dask_tokenize__(self) -> Any:
        from dask.base import normalize_token

        return (normalize_token(self._handle), self._var)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, indexing.VectorizedIndexer):
            found = keys.separated(key.tuple, self.shape, self._name)
            return found.of_outer(self._outer(found.outer())) if found.is_outer else self._points(found)
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._outer)

    async def async_getitem(self, key: Any) -> Any:
        """As ``[]``, without blocking the event loop: the GIL is released during input."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _kinds(self) -> Types:
        if self._types is None:
            self._types = Types.settled(self._handle.file())
        return self._types

    def _outer(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        """Orthogonal indexing with integers, slices and lists."""
        slices: list[slice | None] = []
        lists: list[npt.NDArray[np.int64] | None] = []
        flips: list[slice | int] = []
        for k, n in zip(key, self.shape, strict=True):
            if isinstance(k, slice):
                positions = range(*k.indices(n))
                at = None
                forward = positions if positions.step > 0 else positions[::-1]
                found: slice | None = slice(forward.start, forward.stop, forward.step)
                flips.append(slice(None) if positions.step > 0 else slice(None, None, -1))
            elif np.ndim(k) == 0:
                only = int(keys.positions(np.asarray([k]), n, self._name)[0])
                found, at = slice(only, only + 1, 1), None
                flips.append(0)
            else:
                at = keys.positions(np.asarray(k).reshape(-1), n, self._name)
                found = _read.as_slice(at)
                flips.append(slice(None))
            slices.append(found)
            lists.append(at)
        core = self._handle.file()
        if all(s is not None for s in slices):
            known = [s for s in slices if s is not None]
            start = [s.start for s in known]
            count = [len(range(s.start, s.stop, s.step)) for s in known]
            # The start of an empty selection has no meaning, and may be beyond the end.
            start = [s if c else 0 for s, c in zip(start, count, strict=True)]
            stride = [s.step for s in known]
            array = self._slab(core, start, count, stride)
        else:
            axes = [
                ([d], at if at is not None else np.arange(s.start, s.stop, s.step)[:, None])  # type: ignore[union-attr]
                for d, (at, s) in enumerate(zip(lists, slices, strict=True))
            ]
            array = self._picks(core, axes)
        if any(f != slice(None) for f in flips):
            array = array[tuple(flips)]
            if isinstance(array, np.ndarray) and array.ndim:
                array = np.ascontiguousarray(array)
        return array

    def _points(self, key: keys.Separated) -> npt.NDArray[Any]:
        """Dimensions that change together point by point, and the others orthogonally."""
        lengths = [g.points for g in key.groups]
        # All other tables are short beside the result.
        at = lengths.index(max(lengths))
        axes = [(g.dims, g.table(0, 0 if i == at else g.points)) for i, g in enumerate(key.groups)]
        core, long = self._handle.file(), key.groups[at]

        def part(start: int) -> npt.NDArray[Any]:
            axes[at] = (long.dims, long.table(start, start + _POINTS))
            return self._picks(core, axes)

        array = part(0)
        if lengths[at] > _POINTS:
            whole = np.empty(lengths, array.dtype)
            along = np.moveaxis(whole, at, 0)
            along[:_POINTS] = np.moveaxis(array, at, 0)
            for start in range(_POINTS, lengths[at], _POINTS):
                along[start : start + _POINTS] = np.moveaxis(part(start), at, 0)
            array = whole
        return key.of_points(array)

    def _slab(self, core: File, start: list[int], count: list[int], stride: list[int]) -> npt.NDArray[Any]:
        return _read.slab(core, self._kinds(), self._var, self._kind, start, count, stride)

    def _picks(self, core: File, axes: _read.Axes) -> npt.NDArray[Any]:
        return _read.picks(core, self._kinds(), self._var, self._kind, axes)


class ComplexArray(NcforgeArray):
    """A variable of pairs as complex numbers."""

    __slots__ = ("_along",)

    def __init__(self, pairs: NcforgeArray, part: str, along: bool) -> None:
        self._handle, self._var, self._name = pairs._handle, pairs._var, pairs._name
        self._kind, self._types = pairs._kind, pairs._types
        self.shape = pairs.shape[:-1] if along else pairs.shape
        self.dtype = np.result_type(np.complex64, part)
        self._along = along
        """Whether parts are stored along a last dimension (else in a compound)."""

    def __reduce__(self) -> Any:
        return _complex, (self._handle, self._var, self._name, self._kind, self.shape, self.dtype, self._along)

    def in_file(self, handle: Handle, shape: tuple[int, ...]) -> NcforgeArray:
        """This variable in another file of the same kind."""
        return _complex(handle, self._var, self._name, self._kind, shape, self.dtype, self._along)

    def _slab(self, core: File, start: list[int], count: list[int], stride: list[int]) -> npt.NDArray[Any]:
        if self._along:
            start, count, stride = [*start, 0], [*count, 2], [*stride, 1]
        return joined(super()._slab(core, start, count, stride), self.dtype, self._along)

    def _picks(self, core: File, axes: _read.Axes) -> npt.NDArray[Any]:
        if self._along:
            axes = [*axes, ([len(self.shape)], np.arange(2)[:, None])]
        return joined(super()._picks(core, axes), self.dtype, self._along)


def _complex(
    handle: Handle,
    var: int,
    name: str,
    kind: TypeName,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    along: bool,
) -> ComplexArray:
    new = ComplexArray.__new__(ComplexArray)
    new._handle, new._var, new._name, new._kind, new._types = handle, var, name, kind, None
    new.shape, new.dtype, new._along = shape, dtype, along
    return new


def _rebuilt(
    handle: Handle, var: int, name: str, kind: TypeName, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NcforgeArray:
    new = NcforgeArray.__new__(NcforgeArray)
    new._handle, new._var, new._name, new._kind, new._types = handle, var, name, kind, None
    new.shape, new.dtype = shape, _TEXT if kind == "str" else dtype
    return new
