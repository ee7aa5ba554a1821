"""A group of a file as a store of xarray: what the engine reads, and what ``to_netcdf`` writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from xarray.backends.common import WritableCFDataStore
from xarray.core import indexing
from xarray.core.utils import FrozenDict
from xarray.core.variable import Variable

from ncforge._core import ATTRIBUTES, File, shown
from ncforge._dataset.complex import lies_along, pair_of
from ncforge._dataset.contents import by_group
from ncforge._dataset.filters import described
from ncforge._dataset.handle import Handle, handle_of
from ncforge._dataset.values import NUMBERS, TypeName, Types, plain_attributes
from ncforge._xarray.array import ComplexArray, NcforgeArray
from ncforge._xarray.chunks import Blocking, Preferred
from ncforge.errors import UnsupportedError

__all__ = ["NcforgeDataStore", "Stored"]


_NEED_A_VALUE = frozenset(ATTRIBUTES["packing"])


class Stored(NamedTuple):
    """The parts of a variable of xarray. Creating a variable is slow compared with collecting its parts, so it is created
    once, when all parts are known."""

    dims: tuple[Any, ...]
    array: Any
    """The lazy array that reads the variable, or its values."""
    attrs: dict[str, Any]
    encoding: dict[str, Any]

    def variable(self) -> Variable:
        """The variable, lazy unless these are values."""
        array = self.array if isinstance(self.array, np.ndarray) else indexing.LazilyIndexedArray(self.array)
        return Variable(self.dims, array, self.attrs, self.encoding, fastpath=True)


class OpenFile:
    """State that is shared by the stores of all groups of one file."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        core = handle.file()
        # All metadata, so that the file need not stay open.
        self.types = Types.settled(core)
        self.vars = by_group(core)
        self.dims = core.dims()
        self.format = core.format()
        self.groups = core.groups()
        self.sizes = [core.dim_len(i) for i in range(len(self.dims))]
        self.children: dict[int | None, dict[str, int]] = {}
        for i, (name, parent) in enumerate(self.groups):
            self.children.setdefault(parent, {}).setdefault(name, i)
        self.lengths: dict[int, dict[str, int]] = {}
        for (name, of, _), size in zip(self.dims, self.sizes, strict=True):
            self.lengths.setdefault(of, {})[name] = size

    def __reduce__(self) -> Any:
        return OpenFile, (self.handle,)

    def group(self, path: str | None) -> int:
        """The number of a group. ``OSError`` if there is none, as in other engines of xarray."""
        if path is None:
            return 0
        if not isinstance(path, str):
            raise ValueError("group must be a string or None")
        at = 0
        for part in (p for p in path.split("/") if p):
            below = self.children.get(at, {}).get(part)
            if below is None:
                raise OSError(f"group not found: {path} in {shown(self.handle.path)}")
            at = below
        return at

    def below(self, group: int, path: str) -> Iterator[str]:
        """The paths of a group and of all groups below it, parents first."""
        yield path
        for name, i in self.children.get(group, {}).items():
            yield from self.below(i, f"{path.rstrip('/')}/{name}")


class NcforgeDataStore(WritableCFDataStore):
    """One group of a file, open for reading."""

    __slots__ = ("_blocking", "_complex", "_file", "_group")

    def __init__(
        self,
        file: OpenFile,
        group: str | None = None,
        preferred_chunks: Preferred | Blocking = "auto",
        auto_complex: bool | None = None,
    ) -> None:
        self._file = file
        self._complex = auto_complex
        self._group = file.group(group)
        self._blocking = preferred_chunks if isinstance(preferred_chunks, Blocking) else Blocking.of(preferred_chunks)

    @classmethod
    def open(cls, source: Any, *, group: str | None = None, preferred_chunks: Preferred = "auto") -> NcforgeDataStore:
        """Opens a path, bytes, or an object that reads and seeks."""
        return cls(OpenFile(handle_of(source)), group, preferred_chunks)

    @property
    def file(self) -> OpenFile:
        """The file."""
        return self._file

    @property
    def blocking(self) -> Blocking:
        """How stored chunks become blocks of Dask."""
        return self._blocking

    def get_child_store(self, group: str) -> NcforgeDataStore:
        """The store of a group below this one."""
        path = os.path.join(self._path(), group)
        return NcforgeDataStore(self._file, path, self._blocking, self._complex)

    def _path(self) -> str:
        parts = []
        at: int | None = self._group
        while at is not None:
            name, above = self._file.groups[at]
            if above is not None:
                parts.append(name)
            at = above
        return "/" + "/".join(reversed(parts))

    def get_variables(self) -> Any:
        """Its variables, lazy."""
        return FrozenDict({name: stored.variable() for name, stored in self.stored().items()})

    def stored(self) -> dict[str, Stored]:
        """The parts of its variables."""
        file = self._file
        core = file.handle.file()
        dims = file.dims
        named = file.vars.get(self._group, {}).items()
        return {name: self._stored(core, name, i, kind, [dims[d] for d in of]) for name, (i, kind, of) in named}

    def _stored(
        self, core: File, name: str, ident: int, kind: TypeName, described_dims: list[tuple[str, int, bool]]
    ) -> Stored:
        file = self._file
        shape = tuple(core.shape(ident))
        array = NcforgeArray(file.handle, ident, name, kind, shape, file.types)
        attrs = _with_values(plain_attributes(file.types, *core.attrs(self._group, ident)))
        dims = tuple(d[0] for d in described_dims)
        part = self._part(kind, shape, described_dims)
        if part is not None:
            array = ComplexArray(array, part, isinstance(kind, str))
            dims, shape = dims[: len(array.shape)], array.shape
            if "_FillValue" in attrs:
                attrs["_FillValue"] = _complex_fill(attrs["_FillValue"], array.dtype)
        encoding: dict[str, Any] = {"dtype": self._encoded(kind, array.dtype)}
        if array.dtype.kind == "S" and "_FillValue" in attrs:
            fill = attrs["_FillValue"]
            attrs["_FillValue"] = np.bytes_(fill.encode() if isinstance(fill, str) else fill)
        if not file.format.startswith("NETCDF3"):
            storage = core.storage(ident)
            chunks = storage["chunks"]
            encoding.update(described(storage["filters"]))
            if storage["endian"] == "big" and kind in NUMBERS:
                encoding["dtype"] = array.dtype.newbyteorder(">")
            encoding["contiguous"] = chunks is None
            if chunks is not None and part is not None:
                chunks = chunks[: len(shape)]
            encoding["chunksizes"] = None if chunks is None else tuple(chunks)
            if chunks is not None:
                is_filtered = bool(storage["filters"])
                size = array.dtype.itemsize
                encoding["preferred_chunks"] = self._blocking.chunked(dims, chunks, shape, size, is_filtered)
        elif self._blocking.bytes is not None and shape:
            encoding["preferred_chunks"] = self._blocking.plain(dims, shape, array.dtype.itemsize)
        if "least_significant_digit" in attrs:
            encoding["least_significant_digit"] = attrs.pop("least_significant_digit")
        encoding["source"] = file.handle.path
        encoding["original_shape"] = shape
        return Stored(dims, array, attrs, encoding)

    def _part(self, kind: TypeName, shape: tuple[int, ...], dims: list[tuple[str, int, bool]]) -> str | None:
        """The type of the parts of a variable of complex numbers. Compounds of two floats are complex by default, because xarray
        has no other use for them. A dimension of length 2 may have any meaning, so this form must be enabled explicitly.
        """
        if self._complex is False:
            return None
        if isinstance(kind, int):
            return pair_of(self._file.types, kind)
        return kind if self._complex and dims and shape[-1] == 2 and lies_along(kind, dims[-1]) else None

    def _encoded(self, kind: TypeName, dtype: np.dtype[Any]) -> Any:
        """The type for an encoding: ``str`` for strings, with names and values for enums."""
        if kind == "str":
            return str
        if dtype.kind == "c":
            return dtype
        if isinstance(kind, int):
            info = self._file.types.info(kind)
            if info["kind"] == "enum":
                return np.dtype(dtype, metadata={"enum": dict(info["members"]), "enum_name": info["name"]})
        return dtype

    def get_attrs(self) -> Any:
        """Its attributes."""
        found = self._file.handle.file().attrs(self._group, None)
        return FrozenDict(plain_attributes(self._file.types, *found))

    def _dims_of(self, group: int) -> dict[str, int]:
        return self._file.lengths.get(group, {})

    def get_dimensions(self) -> Any:
        """Names and lengths of the dimensions that it defines."""
        return FrozenDict(self._dims_of(self._group))

    def get_parent_dimensions(self) -> Any:
        """Names and lengths of the dimensions that the groups above define."""
        found: dict[str, int] = {}
        above = self._file.groups[self._group][1]
        while above is not None:
            found = {**self._dims_of(above), **found}
            above = self._file.groups[above][1]
        return FrozenDict(found)

    def get_encoding(self) -> dict[str, Any]:
        """Its unlimited dimensions, and its source."""
        own = self._dims_of(self._group)
        unlimited = {name for name, of, grows in self._file.dims if grows and of == self._group} if own else set()
        return {"unlimited_dims": unlimited, "source": self._file.handle.path}

    def close(self) -> None:
        """Nothing to do: a file is closed when none of its variables is referenced any more."""

    def set_dimension(self, dim: str, length: int, is_unlimited: bool = False) -> None:
        """Not available for reading."""
        raise UnsupportedError("this store is open for reading; `ncforge.to_netcdf` writes")


def _complex_fill(fill: Any, dtype: np.dtype[Any]) -> Any:
    """A fill value of pairs as a complex number. Along a dimension, both parts have the same fill value."""
    parts = fill.item() if np.asarray(fill).dtype.names is not None else (float(fill), float(fill))
    return dtype.type(complex(*parts))


def _with_values(attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes without those of missing values and of scaling that have no value: xarray could not decode the variable."""
    for name in _NEED_A_VALUE & attrs.keys():
        if np.size(attrs[name]) == 0:
            del attrs[name]
    return attrs
