"""Variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ncforge import _read
from ncforge._attributes import Attributes
from ncforge._core import engine_stats
from ncforge._filters import described
from ncforge._index import Picked, Selection, select, select_for_writing
from ncforge._masking import DEFAULT_FILL, Rules, Switches
from ncforge._text import chars, strings
from ncforge._values import TypeName, exact
from ncforge._view import Layout, html

if TYPE_CHECKING:
    from ncforge.dataset import Group


class Variable(Attributes):
    """A variable of a dataset: an array in the file.

    ``var[...]`` reads and ``var[...] = values`` writes, with integers, slices (also with steps, also negative), ``...``,
    and lists or one-dimensional arrays of integers or booleans, which select on their own axis each. Writing past the
    end of an unlimited dimension makes it longer.

    Values are masked and scaled by their attributes, in both directions, as in netCDF4-python; ``set_auto_mask``,
    ``set_auto_scale`` and their like say whether. ``char`` is an array of ``S1``, strings and ragged rows are arrays of
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

    def __reduce__(self) -> Any:
        how = self._switches
        return _of_group, (self._group, self._name, (how.mask, how.scale, how.always_mask, how.chartostring))

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
        return described(self._core.storage(self._var_id)["filters"])

    def endian(self) -> str:
        """Byte order in the file: "native", "little" or "big"."""
        return str(self._core.storage(self._var_id)["endian"])

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError("a scalar variable has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return self._given(self._get(key))

    def _get(self, key: Any) -> Any:
        """Values as the file holds them."""
        selection = select(key, self.shape, self._name)
        if isinstance(selection, Picked):
            array = _read.picks(self._core, self._types, self._var_id, self._kind, selection.axes())
            return array.reshape(selection.shape)
        return self._read(selection)

    def _given(self, data: Any) -> Any:
        """Values as a program gets them."""
        how = self._switches
        if not isinstance(data, np.ndarray) or data.dtype.kind not in "iufS":
            return data
        rules = self._rules
        if how.mask or how.scale:
            if isinstance(self._kind, str):
                data = rules.give(data, how)
            elif how.mask:
                data = rules.give(data, Switches(True, False, how.always_mask))
        if rules.encoding is not None and how.chartostring and data.dtype == "S1":
            width = self.shape[-1] if self._dims else 0
            if data.ndim and data.shape[-1] == width:
                return strings(data, rules.encoding)
        return data

    @property
    def _switches(self) -> Switches:
        return self._contents.switches(self._var_id)

    @property
    def _rules(self) -> Rules:
        def make() -> Rules:
            # The attributes as they are, whatever they are called: some names are Python's.
            attrs = self._known or self._values()
            return Rules(attrs, self._types.dtype(self._kind), self._core.fills(self._var_id))

        return self._contents.rules(self._var_id, make)

    def read(self, key: Any = ..., *, out: np.ndarray | None = None) -> Any:
        """Read a selection as the file holds it: nothing is masked, scaled or joined.

        Parameters
        ----------
        key
            What would stand in brackets.
        out
            Where to, if it exists already: see :meth:`read_into`.
        """
        return self._get(key) if out is None else self.read_into(out, key)

    def set_auto_mask(self, mask: bool) -> None:
        """Whether missing values are masked."""
        self._switches.mask = bool(mask)

    def set_auto_scale(self, scale: bool) -> None:
        """Whether values are scaled by their attributes, when they are read and when they are written."""
        self._switches.scale = bool(scale)

    def set_auto_maskandscale(self, maskandscale: bool) -> None:
        """Both at once."""
        self.set_auto_mask(maskandscale)
        self.set_auto_scale(maskandscale)

    def set_always_mask(self, always_mask: bool) -> None:
        """Whether arrays without a missing value are masked arrays, too."""
        self._switches.always_mask = bool(always_mask)

    def set_auto_chartostring(self, chartostring: bool) -> None:
        """Whether characters with an attribute ``_Encoding`` are joined to strings."""
        self._switches.chartostring = bool(chartostring)

    @property
    def mask(self) -> bool:
        """Whether missing values are masked."""
        return self._switches.mask

    @property
    def scale(self) -> bool:
        """Whether values are scaled."""
        return self._switches.scale

    @property
    def always_mask(self) -> bool:
        """Whether arrays without a missing value are masked arrays, too."""
        return self._switches.always_mask

    @property
    def chartostring(self) -> bool:
        """Whether characters with an attribute ``_Encoding`` are joined to strings."""
        return self._switches.chartostring

    def get_fill_value(self) -> Any:
        """What values read as that nobody wrote; ``None`` if they are not filled."""
        if "_FillValue" in self.ncattrs():
            return self.getncattr("_FillValue")
        if not self._core.fills(self._var_id) or not isinstance(self._kind, str) or self._kind == "str":
            return None
        return np.array(DEFAULT_FILL[self._kind], self._kind)[()]

    def get_var_chunk_cache(self) -> tuple[int, int, float]:
        """Size, slots and preemption of a chunk cache, as netCDF-C has it. ncforge has one cache for all variables, see
        :func:`ncforge.engine_stats`; the size is its budget.
        """
        return int(dict(engine_stats())["memory"]), 0, 0.0

    def set_var_chunk_cache(
        self, size: int | None = None, nelems: int | None = None, preemption: float | None = None
    ) -> None:
        """Accepted for the sake of programs that call it: ncforge chooses what to keep."""

    def set_collective(self, value: bool) -> None:
        """Accepted for the sake of programs that call it."""

    def use_nc_get_vars(self, use_nc_get_vars: bool) -> None:
        """Accepted for the sake of programs that call it."""

    def assignValue(self, val: Any) -> None:
        """Writes a scalar variable."""
        if self._dims:
            raise IndexError("to assign values to a non-scalar variable, use a slice")
        self[...] = val

    def getValue(self) -> Any:
        """Reads a scalar variable."""
        if self._dims:
            raise IndexError("to retrieve values from a non-scalar variable, use slicing")
        return self[...]

    @property
    def layout(self) -> Layout:
        """Where it lies in the file: how it is stored, its chunks, and their bytes."""
        return Layout.of(self)

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
        if isinstance(s, Picked):
            self._core.read_picks(self._var_id, s.plain(), out.reshape(-1).view(np.uint8))
        elif any(s.flipped):
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
        how = self._switches
        if isinstance(self._kind, str) and self._kind != "str":
            rules = self._rules
            plain = np.ma.asanyarray(value) if isinstance(value, np.ma.MaskedArray) else value
            if self._kind == "S1":
                if (
                    rules.encoding is not None
                    and how.chartostring
                    and np.asarray(plain).dtype.kind in "US"
                    and self._dims
                ):
                    text = np.asarray(plain)
                    if text.dtype != "S1" or text.ndim < self.ndim:
                        plain = chars(text, rules.encoding, self.shape[-1])
            elif not isinstance(plain, str | bytes) and (how.scale or isinstance(plain, np.ma.MaskedArray)):
                plain = rules.take(plain, how)
            value = plain
        self._put(key, value, truncate=True)

    def _put(self, key: Any, value: Any, truncate: bool = False) -> None:
        """Writes values as the file holds them."""
        dims = self._contents.dims()
        unlimited = [dims[d][2] for d in self._dims]
        heap = self._types.is_heap(self._kind)
        data = self._objects(value) if heap else exact(value, self._types.dtype(self._kind), truncate)
        for s, part, shape in select_for_writing(key, self.shape, unlimited, data.shape, self._name):
            if 0 in s.count:
                continue
            # A text for a row of characters, and the like: axes of length 1 in front do not count.
            while data.ndim > len(shape) and data.shape[0] == 1:
                data = data[0]
            full = np.broadcast_to(data, shape)
            full = (full if part is None else full[part]).reshape(s.count)[s.flips()]
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

    def _repr_html_(self) -> str:
        return html(self)

    def __repr__(self) -> str:
        dims = ", ".join(f"{n}={size}" for n, size in zip(self.dimensions, self.shape, strict=True))
        return f"<ncforge.Variable {self._name!r} ({dims}): {self.dtype}>"


def _is_row(value: Any) -> bool:
    """Whether this is one ragged row, not several: a one-dimensional array or list of plain numbers or text."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype != np.dtype("O"))
    return not any(isinstance(v, list | tuple | np.ndarray) for v in value)


def _of_group(group: Group, name: str, how: tuple[bool, bool, bool, bool]) -> Variable:
    """A variable that comes from another process."""
    var = group.variables[name]
    var._contents.set_switches(var._var_id, Switches(*how))
    return var
