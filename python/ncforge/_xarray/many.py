"""Many files that are alike as one group of one file: a store, and lazy arrays that read from the files of a selection."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from xarray.backends.common import BackendArray
from xarray.core import indexing
from xarray.core.utils import FrozenDict
from xarray.core.variable import Variable

from ncforge._dataset.handle import Handle
from ncforge._dataset.pieces import gathered
from ncforge._dataset.unpack import Plan
from ncforge._xarray import keys
from ncforge._xarray.array import NcforgeArray
from ncforge._xarray.store import NcforgeDataStore, OpenFile, Stored

__all__ = ["ManyArray", "ManyFiles", "ManyStore"]


class ManyFiles:
    """Files that are joined along one dimension. All arrays share this object, and it is pickled with them once."""

    __slots__ = ("handles", "lens", "starts")

    def __init__(self, handles: list[Handle], lens: list[int]) -> None:
        self.handles = handles
        self.lens = lens
        self.starts = [0, *accumulate(lens)]

    def __reduce__(self) -> Any:
        return ManyFiles, (self.handles, self.lens)

    def __len__(self) -> int:
        return len(self.handles)

    @property
    def total(self) -> int:
        """The length of all."""
        return self.starts[-1]


class ManyArray(BackendArray):
    """A variable that continues from file to file."""

    __slots__ = ("_axis", "_files", "_of", "_parts", "_plan", "dtype", "shape")

    def __init__(
        self,
        files: ManyFiles,
        axis: int,
        of: NcforgeArray,
        plan: Plan | None = None,
        parts: list[Any] | None = None,
    ) -> None:
        self._files = files
        self._axis = axis
        self._of = of
        """The variable in one of the files."""
        self._plan = plan
        self._parts = parts
        """The decoded arrays of each file, if files store the variable differently."""
        self.shape = (*of.shape[:axis], files.total, *of.shape[axis + 1 :])
        first = of if parts is None else parts[0]
        self.dtype: np.dtype[Any] = first.dtype if plan is None else plan.dtype

    def __reduce__(self) -> Any:
        return ManyArray, (self._files, self._axis, self._of, self._plan, self._parts)

    @property
    def handles(self) -> list[Handle]:
        """The files that it is read from."""
        return self._files.handles

    def __dask_tokenize__(self) -> Any:
        from dask.base import normalize_token

        return (normalize_token(self._files.handles), self._of._var, repr(self._plan))

    @property
    def of(self) -> NcforgeArray | None:
        """The variable of one of the files, if all store it in the same way."""
        return self._of if self._parts is None and self._plan is None else None

    def unpacked_by(self, plan: Plan) -> ManyArray:
        """The same, unpacked while chunks are decoded."""
        return ManyArray(self._files, self._axis, self._of, plan)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, indexing.VectorizedIndexer):
            found = keys.separated(key.tuple, self.shape, self._of._name)
            if found.is_outer:
                return found.of_outer(self._outer(found.outer()))
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._outer)

    async def async_getitem(self, key: Any) -> Any:
        """As ``[]``, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.__getitem__, key)

    def _part(self, i: int) -> Any:
        if self._parts is not None:
            return self._parts[i]
        from ncforge._xarray.unpacking import UnpackedArray

        of, axis = self._of, self._axis
        shape = (*of.shape[:axis], self._files.lens[i], *of.shape[axis + 1 :])
        array = of.in_file(self._files.handles[i], shape)
        return array if self._plan is None else UnpackedArray(array, self._plan)

    def _read(self, i: int, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        found = self._part(i)[indexing.OuterIndexer(key)]
        return np.asarray(found.get_duck_array() if hasattr(found, "get_duck_array") else found)

    def _outer(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        """Orthogonal indexing with integers, slices and lists; the files of the selection are read one after the other."""
        axis = self._axis
        along: Any = np.asarray(key[axis]) if not isinstance(key[axis], slice) else key[axis]
        if not isinstance(along, slice):
            along = np.flatnonzero(along) if along.dtype.kind == "b" else along.astype(np.int64)
        items: list[Any] = [k if isinstance(k, slice) or np.ndim(k) else int(k) for k in key]
        items[axis] = along if isinstance(along, slice) or along.ndim else int(along)
        return np.asarray(gathered(items, axis, self._files.starts, self._read, self._of._name))


class ManyStore(NcforgeDataStore):
    """A group that continues from file to file along one dimension."""

    __slots__ = ("_bounds", "_dim", "_files", "_ready")

    def __init__(
        self,
        file: OpenFile,
        group: str | None,
        files: ManyFiles,
        dim: str,
        ready: dict[str, Variable],
        bounds: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """``file`` describes all of them; ``ready`` are variables that were made elsewhere; ``bounds`` are attributes of bounds of
        these, where they have none of their own."""
        super().__init__(file, group)
        self._files = files
        self._dim = dim
        self._ready = ready
        self._bounds = bounds or {}

    def __dask_tokenize__(self) -> Any:
        from dask.base import normalize_token

        return ("ncforge-many", normalize_token(self._files.handles), self._path(), self._dim)

    def stored(self) -> dict[str, Stored]:
        """The parts of its variables, which are lazy except for those that were made elsewhere."""
        return {name: self._joined(name, one) for name, one in super().stored().items()}

    def _joined(self, name: str, one: Stored) -> Stored:
        if name in self._ready:
            ready = self._ready[name]
            return Stored(ready.dims, ready.values, dict(ready.attrs), dict(ready.encoding))
        if self._dim not in one.dims:
            return one
        array = ManyArray(self._files, one.dims.index(self._dim), one.array)
        # The chunks of a file do not define where the next file begins.
        encoding = {key: value for key, value in one.encoding.items() if key != "preferred_chunks"}
        return Stored(one.dims, array, {**self._bounds.get(name, {}), **one.attrs}, encoding)

    def get_dimensions(self) -> Any:
        """Names and lengths of the dimensions that it defines."""
        found = dict(super().get_dimensions())
        return FrozenDict({**found, self._dim: self._files.total} if self._dim in found else found)
