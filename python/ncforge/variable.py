"""Variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ncforge import _read
from ncforge._attributes import Attributes
from ncforge._index import Selection, select, select_for_writing
from ncforge._values import TypeName, exact

if TYPE_CHECKING:
    from ncforge.dataset import Group


class Variable(Attributes):
    """A variable of a dataset: an array in the file.

    ``var[...]`` reads and ``var[...] = values`` writes, with integers, slices (also with steps, also negative) and
    ``...``. Writing past the end of an unlimited dimension makes it longer.

    Values are as the file holds them. ``char`` is an array of ``S1``, strings and ragged rows are arrays of
    objects, compounds are structured arrays, enums are their integers.
    """

    _group: Group
    _var_id: int
    _name: str
    _kind: TypeName
    _dims: list[int]

    def __init__(self, group: Group, ident: int, name: str, kind: TypeName, dims: list[int]) -> None:
        # At once: setting one by one would ask each time whether an attribute of the file is meant.
        self.__dict__.update(
            _core=group._core,
            _types=group._types,
            _contents=group._contents,
            _group=group,
            _group_id=group._group_id,
            _var_id=ident,
            _key=ident,
            _known=group._contents.known.get(ident, {}),
            _name=name,
            _kind=kind,
            _dims=dims,
        )

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def group(self) -> Group:
        """The group that holds it."""
        return self._group

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of its dimensions, slowest first."""
        dims = self._contents.dims()
        return tuple(dims[d][0] for d in self._dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its current shape."""
        return tuple(self._core.shape(self._var_id))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._dims)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> Any:
        """NumPy type of its values; ``str`` for strings."""
        return str if self._kind == "str" else self._types.dtype(self._kind)

    @property
    def datatype(self) -> Any:
        """Its type: a NumPy type, ``str``, or a user-defined type."""
        return self._group._datatype(self._kind)

    def chunking(self) -> str | list[int] | None:
        """Its chunk lengths, or the word "contiguous"; ``None`` for classic formats."""
        if self._core.format().startswith("NETCDF3"):
            return None
        chunks = self._core.storage(self._var_id)["chunks"]
        return "contiguous" if chunks is None else list(chunks)

    def filters(self) -> dict[str, Any] | None:
        """Which filters are on; ``None`` for classic formats."""
        if self._core.format().startswith("NETCDF3"):
            return None
        found = {ident: params for ident, _, params in self._core.storage(self._var_id)["filters"]}
        level = next((found[i][0] for i in (1, 32015) if found.get(i)), 0)
        return {
            "zlib": 1 in found,
            "szip": 4 in found,
            "zstd": 32015 in found,
            "bzip2": 307 in found,
            "blosc": 32001 in found,
            "shuffle": 2 in found,
            "complevel": level,
            "fletcher32": 3 in found,
        }

    def endian(self) -> str:
        """Byte order in the file: "native", "little" or "big"."""
        return str(self._core.storage(self._var_id)["endian"])

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError("a scalar variable has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        selection = select(key, self.shape, self._name)
        return self._read(selection)

    def read_into(self, out: np.ndarray, key: Any = ...) -> np.ndarray:
        """Read a selection into memory that exists already, and give ``out`` back.

        Memory that was used before is faster than fresh memory, and a caller who reads in a loop needs only one
        array.

        Parameters
        ----------
        out
            A C-contiguous, writable array with the selection's shape and the variable's ``dtype``.
        key
            What would stand in brackets: ``v.read_into(out, np.s_[3, :, 10:20])``. All by default.

        Raises
        ------
        ValueError
            If ``out`` has another shape, another type, or cannot be written to in one run.
        TypeError
            If the variable holds strings or ragged rows, which are Python objects.

        Examples
        --------
        >>> month = np.empty((180, 360), "f4")                 # doctest: +SKIP
        >>> for t in range(12):                                # doctest: +SKIP
        ...     sst.read_into(month, t)
        """
        if self._types.is_heap(self._kind):
            raise TypeError(f"{self._name!r} holds objects: read them by indexing")
        s = select(key, self.shape, self._name)
        dtype = self._types.dtype(self._kind)
        if out.dtype != dtype or out.shape != tuple(s.shape):
            raise ValueError(
                f"{self._name!r}: the selection is {dtype} of shape {tuple(s.shape)}, "
                f"the destination {out.dtype} of shape {out.shape}"
            )
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError(f"{self._name!r}: the destination must be C-contiguous and writable")
        if any(s.flipped):
            out[...] = self._read(s)
        else:
            flat = out.reshape(-1).view(np.uint8)
            self._core.read_fixed(self._var_id, s.start, s.count, s.stride, flat)
        return out

    def _read(self, s: Selection) -> Any:
        dtype = self._types.dtype(self._kind)
        array = _read.slab(self._core, self._types, self._var_id, self._kind, s.start, s.count, s.stride)
        if any(s.flipped):
            array = np.ascontiguousarray(array[s.flips()])
        # An array of no dimensions stays one, as with netCDF4-python; except for objects, which it gives bare.
        array = array.reshape(s.shape)
        return array[()] if array.ndim == 0 and dtype == np.dtype("O") else array

    def __setitem__(self, key: Any, value: Any) -> None:
        dims = self._contents.dims()
        unlimited = [dims[d][2] for d in self._dims]
        heap = self._types.is_heap(self._kind)
        data = self._objects(value) if heap else exact(value, self._types.dtype(self._kind))
        s = select_for_writing(key, self.shape, unlimited, data.shape, self._name)
        # A text for a row of characters, and the like: axes of length 1 in front do not count.
        while data.ndim > len(s.shape) and data.shape[0] == 1:
            data = data[0]
        full = np.broadcast_to(data, s.shape).reshape(s.count)[s.flips()]
        if 0 in s.count:
            return
        if heap:
            plain = self._types.plain(self._kind, full)
            self._core.write_heap(self._var_id, s.start, s.count, s.stride, plain)
        else:
            flat = np.ascontiguousarray(full).reshape(-1).view(np.uint8)
            self._core.write_fixed(self._var_id, s.start, s.count, s.stride, flat)

    def _objects(self, value: Any) -> np.ndarray:
        """The values of a heap type as an array, not taking a string or one ragged row apart."""
        dtype = self._types.dtype(self._kind)
        if isinstance(value, np.ndarray) and (value.dtype == dtype or self._kind == "str"):
            return value.astype(dtype, copy=False)
        is_row = dtype == np.dtype("O") and self._kind != "str"
        if isinstance(value, str | bytes | tuple) or (is_row and _is_row(value)):
            out = np.empty((), dtype)
            out[()] = value
            return out
        if is_row:
            out = np.empty(len(value), dtype)
            for i, row in enumerate(value):
                out[i] = row
            return out
        return np.asarray(value, dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the values are in a file: an array of them is always a copy")
        return np.asarray(self[...], dtype)

    def __repr__(self) -> str:
        dims = ", ".join(f"{n}={size}" for n, size in zip(self.dimensions, self.shape, strict=True))
        return f"<ncforge.Variable {self._name!r} ({dims}): {self.dtype}>"


def _is_row(value: Any) -> bool:
    """Whether this is one ragged row, not several: a one-dimensional array or list of plain numbers or text."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype != np.dtype("O"))
    return not any(isinstance(v, list | tuple | np.ndarray) for v in value)
