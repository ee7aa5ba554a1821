"""A group of a file as a store that xarray writes to."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Hashable, Mapping
from traceback import walk_tb
from types import FrameType
from typing import Any

import numpy as np
from xarray.backends.common import WritableCFDataStore
from xarray.backends.netcdf3 import encode_nc3_attr_value, encode_nc3_variable
from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder
from xarray.core.utils import FrozenDict
from xarray.core.variable import Variable

from ncforge._core import File
from ncforge._dataset.attributes import put_own
from ncforge._dataset.complex import storage_of
from ncforge._dataset.handle import WritingHandle
from ncforge._dataset.text import normalized
from ncforge._dataset.values import naming
from ncforge._xarray.choosing import Choosing
from ncforge._xarray.dask import Abandonable, abandon_after_errors, check_sources
from ncforge._xarray.encoding import arguments, datatype, owner, root
from ncforge._xarray.fitting import fitting, packable, uncut, whole_packing
from ncforge._xarray.store import NcforgeDataStore, OpenFile
from ncforge.dataset import Dataset, Group
from ncforge.dimension import Dimension
from ncforge.errors import InvalidError, UnsupportedError

__all__ = ["Target", "WritingStore"]

Defaults = Mapping[str, Any]
"""Arguments of ``createVariable`` for variables whose encoding has no compression."""


_CODING = {
    "compression", "complevel", "shuffle", "blosc_shuffle", "szip_coding", "szip_pixels_per_block", "contiguous",
}  # fmt: skip
"""Arguments of ``createVariable`` that a codec replaces."""


class Target:
    """A variable that is written by region. Any number of threads may write at once, without further locks."""

    __slots__ = ("_rounding", "_variable", "_wrote", "chunks", "shape")

    def __init__(self, variable: Any, wrote: Callable[[int], object] | None = None, *, rounds: bool = False) -> None:
        self._variable = variable
        self._rounding = variable._rules if rounds else None
        self._wrote = wrote
        self.shape = variable.shape
        found = variable.chunking()
        self.chunks: list[int] | None = found if isinstance(found, list) else None

    def __setitem__(self, key: Any, value: Any) -> None:
        values = np.asarray(value)
        if self._rounding is not None:
            values = self._rounding.rounded(values)
        group = self._variable.group()
        if not group.isopen():
            raise InvalidError(
                f"`{group.filepath()}` is closed: what `compute=False` returns is computed once; "
                "to write the file again, call `to_netcdf` again"
            )
        with naming(f"`{self._variable.name}`"):
            self._variable._put(key, values)
        if self._wrote is not None:
            self._wrote(values.nbytes)

    def __dask_tokenize__(self) -> Any:
        return ("ncforge-target", id(self._variable), self._variable.name)


class WritingStore(Abandonable, WritableCFDataStore):
    """One group of a file that is being written."""

    __slots__ = ("_choosing", "_closing", "_defaults", "_group", "_lengths", "_updates", "_wrote")

    def __init__(
        self,
        group: Group,
        closing: Callable[[memoryview | None], object] | None = None,
        defaults: Defaults | None = None,
        wrote: Callable[[int], object] | None = None,
        choosing: Choosing | None = None,
        updates: str | None = None,
    ) -> None:
        self._choosing = choosing or Choosing.usual()
        self._updates = updates
        self._group = group
        self._closing = closing
        self._defaults = dict(defaults or {})
        self._wrote = wrote
        # Of the dimensions that were defined: those that grow get theirs when values are written, after all definitions.
        self._lengths: dict[Dimension, int] = {}

    @classmethod
    def open(
        cls,
        target: Any,
        mode: str = "w",
        format: str | None = None,
        group: str | None = None,
        clobber: bool = True,
        autoclose: bool = False,
        *,
        memory: int | None = None,
        defaults: Defaults | None = None,
        wrote: Callable[[int], object] | None = None,
        choosing: Choosing | None = None,
        auto_complex: bool | None = None,
        invalid_netcdf: bool = False,
    ) -> WritingStore:
        """Creates or opens a file: at a path, or in memory for a file object. xarray calls writers with these arguments.
        ``invalid_netcdf`` has no effect: complex numbers, for which h5netcdf requires it, are valid here.
        """
        if autoclose:
            raise UnsupportedError(
                "with a distributed or multiprocessing scheduler, xarray opens the file again for every block; "
                "use ncforge.to_netcdf(ds, path), which writes from one process"
            )
        format = format or "NETCDF4"
        closing: Callable[[memoryview | None], object] | None = None
        updates: str | None = None
        if isinstance(target, str | os.PathLike):
            # Written in place; any other file gets its name when it is complete.
            updates = os.fspath(target) if mode != "w" and os.path.exists(target) else None
            ds = Dataset(os.fspath(target), mode, clobber, format, _memory=memory)
        elif mode == "w":
            ds = Dataset._of(File.create_in_memory("<memory>", format))
            closing = _into(target)
        else:
            raise InvalidError("a file object can only be overwritten (mode 'w')")
        # Completed by `close` alone: a computation that failed, or never ran, has no values to replace a file with.
        put_own(ds, _discards=True)
        ds._contents.auto_complex = auto_complex is not False
        store = cls(ds, closing, defaults, wrote, choosing, updates)
        return store if group is None else store.get_child_store(group)

    @property
    def ds(self) -> Group:
        """The group."""
        return self._group

    @property
    def format(self) -> str:
        """The format of the file."""
        return root(self._group).data_model

    def get_child_store(self, group: str) -> WritingStore:
        """The store of a group below, which is created if it does not exist."""
        below = copy.copy(self)
        below._group = self._group.createGroup(group)
        return below

    def get_variables(self) -> Any:
        """Its variables as they are now, lazy."""
        ds = root(self._group)
        file = OpenFile(WritingHandle(ds._core, ds.filepath()))
        return NcforgeDataStore(file, self._group.path, auto_complex=ds._contents.auto_complex).get_variables()

    def get_attrs(self) -> Any:
        """Its attributes."""
        return FrozenDict({k: self._group.getncattr(k) for k in self._group.ncattrs()})

    def get_dimensions(self) -> Any:
        """Names of its dimensions, and the lengths that they will have."""
        return FrozenDict(self._dimensions_of(self._group))

    def _dimensions_of(self, group: Group) -> dict[str, int]:
        return {name: max(len(dim), self._lengths.get(dim, 0)) for name, dim in group.dimensions.items()}

    def get_parent_dimensions(self) -> Any:
        """Names of the dimensions of the groups above, and the lengths that they will have."""
        found: dict[str, int] = {}
        above = self._group.parent
        while above is not None:
            found = {**self._dimensions_of(above), **found}
            above = above.parent
        return FrozenDict(found)

    def set_dimension(self, dim: str, length: int, is_unlimited: bool = False) -> None:
        """Defines a dimension."""
        _check_name(dim)
        made = self._group.createDimension(dim, None if is_unlimited else length)
        self._lengths[made] = length or 0

    def set_attribute(self, key: str, value: Any) -> None:
        """Sets an attribute."""
        _set(self._group, key, value, self.format)

    def store(self, variables: Any, attributes: Any, *args: Any, **kwargs: Any) -> None:
        """Writes variables and attributes: nothing of them where some would be computed from the file itself."""
        if self._updates is not None:
            check_sources(variables, self._updates)
        super().store(variables, attributes, *args, **kwargs)

    def encode(self, variables: Any, attributes: Any) -> tuple[Any, Any]:
        """Variables and attributes as they are stored. Values that do not fit the integers of an encoding are an error."""
        known = self._group.variables
        ready = {n: fitting(packable(uncut(v, n)), n, rounds=n not in known) for n, v in variables.items()}
        encoded: tuple[Any, Any] = super().encode(ready, attributes)
        for name, variable in variables.items():
            stored = encoded[0][name]
            for key, value in whole_packing(variable).items():
                # As it was given; but xarray reads floats whose factor is an integer as integers.
                if key == "add_offset" or stored.dtype.kind in "iu":
                    stored.attrs[key] = value
        return encoded

    def encode_variable(self, variable: Variable, name: Hashable | None = None) -> Variable:
        """Strings and types as the format stores them."""
        if variable.dtype.byteorder not in "=|":
            native = variable.data.astype(variable.dtype.newbyteorder("="))
            variable = Variable(variable.dims, native, variable.attrs, variable.encoding)
        if self.format == "NETCDF4":
            for coder in (EncodedStringCoder(allows_unicode=True), CharacterArrayCoder()):
                variable = coder.encode(variable, name=name)
            return variable
        if self.format == "NETCDF3_64BIT_DATA":
            # All integer types; no strings.
            for coder in (EncodedStringCoder(allows_unicode=False), CharacterArrayCoder()):
                variable = coder.encode(variable, name=name)
            return variable
        encoded: Variable = encode_nc3_variable(variable, name=name)
        return encoded

    def set_variables(self, variables: Any, check_encoding_set: Any, writer: Any, unlimited_dims: Any = None) -> None:
        """Defines variables, and schedules their values for writing."""
        # Those of groups above may be among them.
        grows = set(unlimited_dims or ()) | {
            d for d in {d for v in variables.values() for d in v.dims} if self._grows(d)
        }
        self._choosing.note(variables, grows)
        super().set_variables(variables, check_encoding_set, writer, grows)

    def _grows(self, dim: Any) -> bool:
        of = owner(self._group, dim)
        return of is not None and of.dimensions[dim].isunlimited()

    def prepare_variable(
        self, name: str, variable: Variable, check_encoding: bool = False, unlimited_dims: Any = None
    ) -> tuple[Target, Any]:
        """Defines a variable; returns the target of its values, and the values."""
        _check_name(name)
        if name not in self._group.variables:
            name = normalized(name)
        attrs = dict(variable.attrs)
        fill = attrs.pop("_FillValue", None)
        if name in self._group.variables:
            made = self._group.variables[name]
        else:
            kind = datatype(self._group, name, variable, check_encoding, self.format == "NETCDF4")
            given = arguments(variable, check_encoding, unlimited_dims or ())
            if variable.dims and self.format.startswith("NETCDF4"):
                given = self._with_codec(name, variable, given, check_encoding)
            if self.format.startswith("NETCDF3"):
                # How it is stored has no meaning there.
                given = {key: value for key, value in given.items() if key == "least_significant_digit"}
            elif (
                variable.dims
                and (self._choosing.is_asked or set(variable.dims) & set(unlimited_dims or ()))
                and not {"chunksizes", "contiguous"} & given.keys()
            ):
                part, dims = kind, variable.dims
                if variable.dtype.kind == "c":
                    # By the parts: whole complex numbers are at most twice as large.
                    part = np.dtype(f"f{variable.dtype.itemsize // 2}")
                    dims = (*dims, *(d.name for d in storage_of(self._group, part.str[1:])[1]))
                found = self._choosing.chunks(self._group, part, dims, given)
                given["chunksizes"] = None if found is None else found[: variable.ndim]
            made = self._group.createVariable(name, kind, variable.dims, fill_value=fill, **given)  # type: ignore[arg-type]
        rounds = is_rounded(made)
        for key, value in attrs.items():
            _set(made, key, value, self.format)
        return Target(made, self._wrote, rounds=rounds), variable.data

    def _with_codec(self, name: str, variable: Variable, given: dict[str, Any], is_wish: bool) -> dict[str, Any]:
        """The arguments of ``createVariable`` with the codec for all variables, unless the user wished one for this one. Coordinates
        that were not compressed stay so."""
        codec = self._defaults
        if not codec or (variable.dims == (name,) and given.get("compression") is None):
            return given
        if not is_wish:
            # The coding of the file that the values came from; its level goes on if no other is asked for.
            goes_on = given.get("compression") == codec["compression"] and "complevel" not in codec
            left = _CODING - {"complevel", "shuffle"} if goes_on else _CODING
            given = {key: value for key, value in given.items() if key not in left}
        return given if {"compression", "contiguous"} & given.keys() else {**codec, **given}

    def sync(self) -> None:
        """xarray calls this in place of `close` if values are computed later: nothing is written, as only a complete file gets its
        name."""
        if _fails(sys._getframe(1)):
            self.abandon()
        elif "dask" in sys.modules:
            abandon_after_errors()

    def close(self) -> None:
        """Completes the file. It is abandoned instead if an exception is passing through the calling function: xarray closes
        its stores after errors too."""
        ds = root(self._group)
        if _fails(sys._getframe(1)):
            self.abandon()
        elif ds.isopen():
            data = ds.close()
            if self._closing is not None:
                self._closing(data)

    def abandon(self) -> None:
        """Closes the file without completing it: a new file is discarded."""
        root(self._group)._abandon()


def _fails(caller: FrameType) -> bool:
    """Whether an exception is passing through a function."""
    error = sys.exc_info()[1]
    return error is not None and any(frame is caller for frame, _ in walk_tb(error.__traceback__))


def is_rounded(variable: Any) -> bool:
    """Whether values are rounded when they are written, as netCDF4-python does: the attribute comes from an encoding, or is in
    the file; as one of the attributes of a dataset it does nothing."""
    return "least_significant_digit" in variable.ncattrs()


def _into(target: Any) -> Callable[[memoryview | None], object]:
    """A function that copies the bytes of a file into a target of xarray, or writes them to a file object."""

    def put(data: memoryview | None) -> None:
        view = memoryview(b"") if data is None else data
        if hasattr(target, "write"):
            target.write(view)
        else:
            target.getvalue = _Value(view)

    return put


class _Value:
    """A function that returns one value."""

    def __init__(self, value: memoryview) -> None:
        self._value = value

    def __call__(self) -> memoryview:
        return self._value


def _check_name(name: str) -> None:
    if "/" in name:
        raise ValueError(
            f"Forward slashes '/' are not allowed in variable and dimension names (got {name!r}). "
            "Forward slashes are used as hierarchy-separators for HDF5-based files."
        )


def _set(of: Any, key: str, value: Any, format: str) -> None:
    if format not in ("NETCDF4", "NETCDF3_64BIT_DATA"):
        value = encode_nc3_attr_value(value)
    array = np.asarray(value)
    if array.dtype.kind == "b" and format == "NETCDF4":
        # As all of xarray's writers: a number where the format has only numbers, else no number stands for it.
        raise TypeError(f"attribute {key!r}: {format} has no booleans, and {value!r} is no number; convert it to one")
    if array.dtype.kind in "US" and array.size > 1 and format == "NETCDF4":
        of.setncattr_string(key, [v.decode() if isinstance(v, bytes) else str(v) for v in array.reshape(-1)])
    else:
        of.setncattr(key, value)
