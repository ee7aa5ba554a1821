"""Variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ncforge._dataset import read as _read
from ncforge._dataset import write as _write
from ncforge._dataset.attributes import CHANGEABLE, Attributes
from ncforge._dataset.filters import QUANTIZED, described
from ncforge._dataset.index import Picked, Selection, select
from ncforge._dataset.masking import IN_TYPE, Rules, Switches, default_fill, in_type
from ncforge._dataset.text import decoded, strings
from ncforge._dataset.unpack import Plan, Unpacked
from ncforge._dataset.values import NUMBERS, TypeName, naming, text_view
from ncforge._library import changed_cache, get_chunk_cache, is_native_little
from ncforge._ops.printed import variable_text
from ncforge.dimension import Dimension

if TYPE_CHECKING:
    from ncforge._dataset.view import Layout
    from ncforge.dataset import Group


_set_own = object.__setattr__


class Variable(Attributes):
    """A variable of a dataset: an array in the file.

    ``var[...]`` reads and ``var[...] = values`` writes, with integers, slices (with steps, also negative ones), ``...``,
    and lists or one-dimensional arrays of integers or booleans, each of which selects along its own axis. Writing past the
    end of an unlimited dimension makes it longer.

    Values are masked and scaled by their attributes, in both directions, as in netCDF4-python; ``set_auto_mask``,
    ``set_auto_scale`` and similar methods switch this on and off. ``char`` is an array of ``S1``, strings and ragged rows are arrays of
    objects, compounds are structured arrays, enums are their integers.

    ``Variable(group, name, datatype, dimensions, ...)`` is ``group.createVariable(name, datatype, dimensions, ...)``.
    """

    __slots__ = ("_dims", "_first_name", "_group", "_kind")

    _group: Group
    _var_id: int
    _first_name: str
    _kind: TypeName
    _dims: list[int]

    def __init__(self, grp: Group, name: str, datatype: Any, dimensions: Any = (), **options: Any) -> None:
        made = grp.createVariable(name, datatype, dimensions, **options)
        self._fill(made._group, made._var_id, made.name, made._kind, made._dims)

    def _fill(self, group: Group, ident: int, name: str, kind: TypeName, dims: list[int]) -> None:
        # Slots are set directly: `__setattr__` would first check for an attribute of the file.
        _set_own(self, "_core", group._core)
        _set_own(self, "_types", group._types)
        _set_own(self, "_contents", group._contents)
        _set_own(self, "_group", group)
        _set_own(self, "_group_id", group._group_id)
        _set_own(self, "_var_id", ident)
        _set_own(self, "_key", ident)
        _set_own(self, "_known", group._contents.known.get(ident, {}))
        _set_own(self, "_first_name", name)
        _set_own(self, "_kind", kind)
        _set_own(self, "_dims", dims)

    def __eq__(self, other: object) -> bool:
        # Objects are created for each access: two of the same variable are equal.
        if not isinstance(other, Variable):
            return NotImplemented
        return self._core is other._core and self._var_id == other._var_id

    def __hash__(self) -> int:
        return hash((id(self._core), self._var_id))

    def __reduce__(self) -> Any:
        how = self._switches
        return of_group, (self._group, self.name, (how.mask, how.scale, how.always_mask, how.chartostring))

    @property
    def name(self) -> str:
        """Its name."""
        return self._contents.name("variable", self._var_id, self._first_name)

    def group(self) -> Group:
        """The group that contains it."""
        return self._group

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of its dimensions, slowest first."""
        dim = self._contents.dim
        return tuple(dim(d)[0] for d in self._dims)

    def get_dims(self) -> tuple[Dimension, ...]:
        """Its dimensions, slowest first."""
        dims = {d: self._contents.dim(d) for d in self._dims}
        groups = {}
        at: Group | None = self._group
        while at is not None:
            groups[at._group_id] = at
            at = at._parent
        return tuple(Dimension(groups[dims[d][1]], d, dims[d][0], dims[d][2]) for d in self._dims)

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
        """NumPy type of its values, in the byte order of the file; ``str`` for strings; of ragged rows the type of a row's values.
        Values that are read are in the order of this computer."""
        kind = self._kind
        if kind == "str":
            return str
        if isinstance(kind, int) and self._types.info(kind)["kind"] == "vlen":
            return self._types.dtype(self._types.info(kind)["base"])
        dtype = self._types.dtype(kind)
        # The file says how it is stored, as long as it is open.
        swaps = kind in NUMBERS and self._core.is_open() and self.endian() == ("big" if is_native_little else "little")
        return dtype.newbyteorder() if swaps else dtype

    @property
    def datatype(self) -> Any:
        """Its type: a NumPy type, ``str``, or a user-defined type."""
        return self._group._datatype(self._kind) if isinstance(self._kind, int) else self.dtype

    def chunking(self) -> str | list[int] | None:
        """Its chunk lengths, or "contiguous"; ``None`` for classic formats."""
        if self._core.format().startswith("NETCDF3"):
            return None
        chunks = self._core.storage(self._var_id)["chunks"]
        return "contiguous" if chunks is None else list(chunks)

    def filters(self) -> dict[str, Any] | None:
        """Which filters are on; ``None`` for classic formats."""
        if self._core.format().startswith("NETCDF3"):
            return None
        return described(self._core.storage(self._var_id)["filters"])

    def quantization(self) -> tuple[int, str] | None:
        """The number of significant digits (bits for "BitRound") and the rounding algorithm; ``None`` if values were not
        rounded.
        """
        attrs = self._known or self._values()
        for mode, name in QUANTIZED.items():
            if name in attrs:
                return int(attrs[name]), mode
        return None

    def typecode(self) -> Any:
        """Its ``dtype``, under an old name."""
        return self.dtype

    def getncattr(self, name: str, encoding: str = "utf-8") -> Any:
        """The value of an attribute, see :meth:`Group.getncattr`. A ``_FillValue`` of characters is ``bytes``."""
        # In files with thousands of attributes, the cost is that of calls: this makes as few as possible.
        value = (self._known or self._values()).get(name)
        kind = type(value)
        if value is None or (kind is str and encoding != "utf-8"):
            value = Attributes.getncattr(self, name, encoding)
        elif kind in CHANGEABLE:
            return value.copy()
        return value

    def setncattr(self, name: str, value: Any) -> None:
        """Sets an attribute, see :meth:`Group.setncattr`. ``_FillValue`` becomes a value of the variable's type, and can be
        set until the first value is written.
        """
        if name != "_FillValue":
            super().setncattr(name, value)
            return
        plain = _write.plain_fill(self._types, self._kind, self.name, value)
        self._set(name, self._kind, plain)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in IN_TYPE and self._kind in NUMBERS:
            with naming(f"attribute `{name}` of `{self.name}`"):
                value = in_type(name, value, self._types.dtype(self._kind))
        super().__setattr__(name, value)

    def endian(self) -> str:
        """Byte order in the file: "native", "little" or "big"; "native" for classic formats, which have only one."""
        return (
            "native" if self._core.format().startswith("NETCDF3") else str(self._core.storage(self._var_id)["endian"])
        )

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError("a scalar variable has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        selection = select(key, self.shape, self.name)
        kind, how = self._kind, self._switches
        if kind in NUMBERS and (how.mask or how.scale) and selection.shape:
            rules = self._rules
            plan = rules.plan(how)
            if plan is not None:
                return rules.dressed(*self._unpacked(selection, plan), how)
        given = self._given(self._get(selection), selection)
        if (
            type(given) is not np.ndarray
            or given.ndim
            or how.mask
            or not (self._dims or isinstance(key, int | np.integer))
        ):
            return given
        # As with netCDF4-python: one element without a mask is a scalar, and a scalar variable as a whole is an array.
        return given if given.dtype.kind == "U" else given[()]

    def _unpacked(self, s: Selection | Picked, plan: Plan) -> Unpacked:
        """Reads numbers that are unpacked while they are decoded."""
        if isinstance(s, Picked):
            return plan.array(self._get(s))
        values, mask = plan.slab(self._core, self._var_id, s.start, s.count, s.stride)
        if any(s.flipped):
            flips = s.flips()
            values = np.ascontiguousarray(values[flips])
            mask = None if mask is None else np.ascontiguousarray(mask[flips])
        return values.reshape(s.shape), None if mask is None else mask.reshape(s.shape)

    def _get(self, selection: Selection | Picked) -> Any:
        """Values as stored."""
        if isinstance(selection, Picked):
            array = _read.picks(self._core, self._types, self._var_id, self._kind, selection.axes())
            return decoded(array.reshape(selection.shape), self._string_encoding)
        return decoded(self._read(selection), self._string_encoding)

    def _given(self, data: Any, selection: Selection | Picked) -> Any:
        """Values as returned to the program."""
        how = self._switches
        if not isinstance(data, np.ndarray) or data.dtype.kind not in "iufS" or self._types.is_heap(self._kind):
            return self._given_otherwise(data, how)
        rules = self._rules
        if how.mask or how.scale:
            if isinstance(self._kind, str):
                data = rules.give(data, how)
            elif how.mask:
                data = rules.give(data, Switches(True, False, how.always_mask))
        if rules.encoding is None or not how.chartostring or data.dtype != "S1" or not self._dims:
            return data
        # Complete rows of characters are text.
        whole = not selection.squeezed[-1] and selection.lengths[-1] == self.shape[-1]
        return strings(data, rules.encoding) if whole else data

    def _given_otherwise(self, data: Any, how: Switches) -> Any:
        """Values of structures, and ragged rows."""
        if isinstance(data, np.ndarray) and data.dtype.names is not None:
            # Structures without objects: arrays of characters as text.
            data = data.view(text_view(data.dtype)) if how.chartostring and not data.dtype.hasobject else data
            # One element of an array is a structure, whose fields have positions and can be unpacked.
            return data[()] if data.ndim == 0 and self._dims else data
        base = self._row_type()
        if base is None or not how.scale or not self._rules.scales:
            return data
        if data.dtype != np.dtype("O"):
            return self._rules.scaled(data)
        out = np.empty(data.shape, object)
        for at, row in np.ndenumerate(data):
            out[at] = self._rules.scaled(row)
        return out

    def _row_type(self) -> np.dtype[Any] | None:
        """The type of the numbers of a ragged row; ``None`` for other types."""
        if isinstance(self._kind, str):
            return None
        info = self._types.info(self._kind)
        base = info.get("base")
        return self._types.dtype(base) if info["kind"] == "vlen" and isinstance(base, str) and base != "str" else None

    @property
    def _string_encoding(self) -> str | None:
        """The encoding of strings in the file, if it is not UTF-8."""
        return self._rules.string_encoding if self._kind == "str" else None

    @property
    def _switches(self) -> Switches:
        return self._contents.switches(self._var_id)

    @property
    def _rules(self) -> Rules:
        def make() -> Rules:
            # All attributes, even those whose names are used by Python.
            attrs = self._known or self._stored_values()
            base = self._row_type()
            dtype = self._types.dtype(self._kind) if base is None else base
            return Rules(attrs, dtype, self._core.fills(self._var_id))

        return self._contents.rules(self._var_id, make)

    def read(self, key: Any = ..., *, out: np.ndarray | None = None) -> Any:
        """Read a selection as stored: nothing is masked, scaled or joined to text.

        Parameters
        ----------
        key
            The index expression, as in brackets.
        out
            An existing array for the result: see :meth:`read_into`.
        """
        return self._get(select(key, self.shape, self.name)) if out is None else self.read_into(out, key)

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
    def auto_complex(self) -> bool:
        """Whether the dataset was opened with ``auto_complex``."""
        return self._contents.auto_complex

    @property
    def chartostring(self) -> bool:
        """Whether characters with an attribute ``_Encoding`` are joined to strings."""
        return self._switches.chartostring

    def get_fill_value(self) -> Any:
        """The value of elements that were never written; ``None`` if they are not filled."""
        if "_FillValue" in self.ncattrs():
            return self.getncattr("_FillValue")
        if not self._core.fills(self._var_id) or not isinstance(self._kind, str) or self._kind == "str":
            return None
        kind = np.dtype(self._kind)
        # HDF5 files have fill values of their own without an attribute.
        stored = self._core.absent(self._var_id) if kind.kind in "iuf" else None
        return default_fill(kind) if stored is None else np.frombuffer(stored, kind)[0]

    def get_var_chunk_cache(self) -> tuple[int, int, float]:
        """Size, slots and preemption of a chunk cache, as in netCDF-C: the values that were set, or else the budget of the one
        cache that ncforge has for all variables (:func:`ncforge.engine_stats`).
        """
        return self._contents.chunk_cache(self._var_id) or get_chunk_cache()

    def set_var_chunk_cache(
        self, size: int | None = None, nelems: int | None = None, preemption: float | None = None
    ) -> None:
        """Recorded for compatibility, and returned by :meth:`get_var_chunk_cache`. ncforge decides which decoded chunks are
        cached, for all variables, within its memory budget.
        """
        now = self.get_var_chunk_cache()
        self._contents.set_chunk_cache(self._var_id, changed_cache(now, size, nelems, preemption))

    def set_collective(self, value: bool) -> None:
        """Accepted for compatibility, without effect."""

    def use_nc_get_vars(self, use_nc_get_vars: bool) -> None:
        """Accepted for compatibility, without effect."""

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
        """Its layout in the file: how it is stored, its chunks, and their bytes."""
        from ncforge._dataset.view import Layout

        return Layout.of(self)

    def read_into(self, out: np.ndarray, key: Any = ...) -> np.ndarray:
        """Read a selection into existing memory, and return ``out``.

        Memory that was used before is faster than fresh memory, and a program that reads in a loop needs only one
        array.

        Parameters
        ----------
        out
            A C-contiguous, writable array with the selection's shape and the variable's ``dtype``.
        key
            The index expression, as in brackets: ``v.read_into(out, np.s_[3, :, 10:20])``. All by default.

        Raises
        ------
        ValueError
            If ``out`` has another shape or another type, or is not contiguous and writable.
        TypeError
            If the variable holds strings or ragged rows, which are Python objects.

        Examples
        --------
        >>> month = np.empty((180, 360), "f4")                 # doctest: +SKIP
        >>> for t in range(12):                                # doctest: +SKIP
        ...     sst.read_into(month, t)
        """
        if self._types.is_heap(self._kind):
            raise TypeError(f"{self.name!r} holds objects: read them by indexing")
        s = select(key, self.shape, self.name)
        dtype = self._types.dtype(self._kind)
        swapped = out.dtype == dtype.newbyteorder() and out.dtype == self.dtype
        if (out.dtype != dtype and not swapped) or out.shape != tuple(s.shape):
            raise ValueError(
                f"{self.name!r}: the selection is {dtype} of shape {tuple(s.shape)}, "
                f"the destination {out.dtype} of shape {out.shape}"
            )
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError(f"{self.name!r}: the destination must be C-contiguous and writable")
        if swapped:
            out[...] = self._get(s)
        elif isinstance(s, Picked):
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
        # An array without dimensions stays one; except for objects, which are returned as such.
        array = array.reshape(s.shape)
        return array[()] if array.ndim == 0 and dtype == np.dtype("O") else array

    def __setitem__(self, key: Any, value: Any) -> None:
        _write.assign(self, key, value)

    def _put(self, key: Any, value: Any, truncate: bool = False) -> None:
        """Writes values in their stored types."""
        _write.put(self, key, value, truncate)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the values are in a file: an array of them is always a copy")
        return np.asarray(self[...], dtype)

    def _repr_html_(self) -> str | None:
        from ncforge._dataset.view import html

        return html(self)

    def __repr__(self) -> str:
        return variable_text(self)


def of_group(group: Group, name: str, how: tuple[bool, bool, bool, bool]) -> Variable:
    """Restores a pickled variable."""
    var = group.variables[name]
    now = var._switches
    now.mask, now.scale, now.always_mask, now.chartostring = how
    return var
