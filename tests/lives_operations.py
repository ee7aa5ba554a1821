"""Operations on a file that lives: each on the model, by netCDF4's interface, and by h5py (see `lives`)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy as np

from lives_model import Key, Model, Variable, default_fill


class Operation:
    """One step of a session."""

    def on(self, model: Model) -> None:
        """Does it to the model."""
        raise NotImplementedError

    def by_netcdf(self, ds: Any) -> None:
        """Does it by netCDF4 or ncforge."""
        raise NotImplementedError

    def by_h5py(self, f: Any) -> None:
        """Does it by h5py."""
        raise NotImplementedError


def item(ds: Any, path: str) -> Any:
    """A group or a variable of a `Dataset`."""
    return ds if path == "" else ds[path]


def h5_name(f: Any, path: str) -> str:
    """A variable's name in HDF5: another one where a dimension has its own."""
    group, _, name = path.rpartition("/")
    other = f"{group}/_nc4_non_coord_{name}"
    return other if other in f else path


@dataclass
class Create(Operation):
    """Makes the file."""

    def on(self, model: Model) -> None:
        """Nothing is in it."""

    def by_netcdf(self, ds: Any) -> None:
        """Opening it for the first time makes it."""

    def by_h5py(self, f: Any) -> None:
        """The same."""


@dataclass
class Sync(Operation):
    """``sync``: what was done so far can be read by everybody."""

    def on(self, model: Model) -> None:
        """Changes nothing."""

    def by_netcdf(self, ds: Any) -> None:
        """Makes it readable; netCDF4 may not have left its define mode."""
        with contextlib.suppress(RuntimeError, AttributeError):
            ds._enddef()
        ds.sync()

    def by_h5py(self, f: Any) -> None:
        """Makes it readable."""
        f.flush()


@dataclass
class FillOff(Operation):
    """Nobody fills what this session does not write."""

    def on(self, model: Model) -> None:
        """Unwritten values are unknown."""
        model.is_filling = False

    def by_netcdf(self, ds: Any) -> None:
        """Says so."""
        ds.set_fill_off()


@dataclass
class SetAttribute(Operation):
    """An attribute is new, or has another value, longer or shorter."""

    owner: str
    name: str
    value: Any

    def __str__(self) -> str:
        shown = self.value if len(str(self.value)) < 30 else f"{len(self.value)} values"
        return f"SetAttribute({self.owner!r}, {self.name!r}, {shown})"

    def on(self, model: Model) -> None:
        """Sets it."""
        model.owner(self.owner)[self.name] = self.value
        model.changed.add(self.name)

    def by_netcdf(self, ds: Any) -> None:
        """Sets it."""
        item(ds, self.owner).setncattr(self.name, self.value)

    def by_h5py(self, f: Any) -> None:
        """Sets it, text as netCDF-C does."""
        value = np.bytes_(self.value) if isinstance(self.value, str) and self.value else self.value
        (f[h5_name(f, self.owner)] if self.owner else f).attrs[self.name] = value


@dataclass
class DeleteAttribute(Operation):
    """An attribute goes."""

    owner: str
    name: str

    def on(self, model: Model) -> None:
        """Deletes it."""
        del model.owner(self.owner)[self.name]

    def by_netcdf(self, ds: Any) -> None:
        """Deletes it."""
        item(ds, self.owner).delncattr(self.name)

    def by_h5py(self, f: Any) -> None:
        """Deletes it."""
        del (f[h5_name(f, self.owner)] if self.owner else f).attrs[self.name]


@dataclass
class RenameAttribute(Operation):
    """An attribute gets another name."""

    owner: str
    old: str
    new: str

    def on(self, model: Model) -> None:
        """Renames it."""
        attributes = model.owner(self.owner)
        attributes[self.new] = attributes.pop(self.old)

    def by_netcdf(self, ds: Any) -> None:
        """Renames it."""
        item(ds, self.owner).renameAttribute(self.old, self.new)


@dataclass
class AddDimension(Operation):
    """A new dimension; unlimited if it has no length."""

    name: str
    length: int | None

    def on(self, model: Model) -> None:
        """Adds it."""
        model.dims[self.name] = self.length or 0
        if self.length is None:
            model.unlimited.add(self.name)

    def by_netcdf(self, ds: Any) -> None:
        """Adds it."""
        ds.createDimension(self.name, self.length)

    def by_h5py(self, f: Any) -> None:
        """Adds a dimension scale that says that it is no variable, as netCDF-C does."""
        n = self.length or 0
        chunks = (1,) if self.length is None else None
        ds = f.create_dataset(self.name, (n,), ">f4", maxshape=(self.length,), chunks=chunks)
        ds.make_scale(f"This is a netCDF dimension but not a netCDF variable.{n:10d}")


@dataclass
class AddGroup(Operation):
    """A new group in the root."""

    name: str

    def on(self, model: Model) -> None:
        """Adds it."""
        model.groups.append(self.name)
        model.attributes[self.name] = {}

    def by_netcdf(self, ds: Any) -> None:
        """Adds it."""
        ds.createGroup(self.name)

    def by_h5py(self, f: Any) -> None:
        """Adds it, with the order of what will be in it."""
        f.create_group(self.name, track_order=True)


@dataclass
class AddVariable(Operation):
    """A new variable."""

    path: str
    dtype: str
    dims: tuple[str, ...]
    how: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    unlimited: tuple[bool, ...] = ()

    def __str__(self) -> str:
        return f"AddVariable({self.path!r}, {self.dtype}, {self.dims}, {self.how})"

    def on(self, model: Model) -> None:
        """Adds it, full of its fill value."""
        attributes = {"_FillValue": self.how["fill_value"]} if "fill_value" in self.how else {}
        dtype = np.dtype(object if self.dtype == "str" else self.dtype)
        v = Variable(self.dtype, self.dims, np.empty(self.shape, dtype), np.full(self.shape, True), attributes)
        v.values[...] = v.fill()
        v.known[...] = model.is_filling or self.dtype == "str"
        v.is_filled = model.is_filling or self.dtype == "str" or not model.is_netcdf4
        model.variables[self.path] = v

    def by_netcdf(self, ds: Any) -> None:
        """Adds it."""
        group, _, name = self.path.rpartition("/")
        dtype = str if self.dtype == "str" else self.dtype
        item(ds, group).createVariable(name, dtype, self.dims, **self.how)

    def by_h5py(self, f: Any) -> None:
        """Adds it with its dimension scales, and values of netCDF's fill value."""
        is_chunked = bool(self.how) or any(self.unlimited)
        options: dict[str, Any] = {}
        if is_chunked and self.dims:
            options["maxshape"] = tuple(None if u else n for u, n in zip(self.unlimited, self.shape, strict=True))
            options["chunks"] = self.how.get("chunksizes") or tuple(max(1, min(n, 7)) for n in self.shape)
            if self.how.get("zlib"):
                options["compression"], options["shuffle"] = 1, self.how.get("shuffle", False)
        if self.dtype == "str":
            ds = f.create_dataset(self.path, self.shape, h5py.string_dtype(), **options)
        else:
            fill = self.how.get("fill_value", default_fill(self.dtype))
            ds = f.create_dataset(self.path, self.shape, self.dtype, fillvalue=fill, **options)
        for i, name in enumerate(self.dims):
            ds.dims[i].attach_scale(f[name])
        if "fill_value" in self.how:
            ds.attrs["_FillValue"] = np.array([self.how["fill_value"]], self.dtype)


@dataclass
class Write(Operation):
    """A selection gets values; unlimited dimensions may grow."""

    path: str
    key: Key
    values: Any
    shape: tuple[int, ...] = ()
    """The variable's after it."""

    def __str__(self) -> str:
        return f"Write({self.path!r}, {self.key})"

    def on(self, model: Model) -> None:
        """Writes it."""
        model.write(self.path, self.key, self.values)
        self.shape = model.variables[self.path].values.shape

    def by_netcdf(self, ds: Any) -> None:
        """Writes it."""
        ds[self.path][self.key] = self.values

    def by_h5py(self, f: Any) -> None:
        """Writes it; HDF5 needs the new length of the variable."""
        ds = f[h5_name(f, self.path)]
        if ds.shape != self.shape and ds.chunks:
            ds.resize(tuple(max(a, b) for a, b in zip(ds.shape, self.shape, strict=True)))
        ds[self.key] = self.values


@dataclass
class Read(Operation):
    """A selection is read, of what this session has written or not, synced or not."""

    path: str
    key: Key
    want: Any = None
    known: Any = None

    def __str__(self) -> str:
        return f"Read({self.path!r}, {self.key})"

    def on(self, model: Model) -> None:
        """Notes what is there."""
        v = model.variables[self.path]
        self.want, self.known = v.values[self.key].copy(), v.known[self.key].copy()

    def by_netcdf(self, ds: Any) -> None:
        """Reads it."""
        self.check(ds[self.path][self.key])

    def by_h5py(self, f: Any) -> None:
        """Reads it."""
        self.check(f[h5_name(f, self.path)][self.key])

    def check(self, found: Any) -> None:
        """It is what is there."""
        wrong = self.known & (np.asarray(found) != self.want)
        assert not wrong.any(), f"{self}: {int(wrong.sum())} of {wrong.size} values"


@dataclass
class RenameVariable(Operation):
    """A variable gets another name."""

    path: str
    new: str

    def on(self, model: Model) -> None:
        """Renames it in its place."""
        group = self.path.rpartition("/")[0]
        renamed = {self.path: f"{group}/{self.new}".lstrip("/")}
        model.variables = {renamed.get(p, p): v for p, v in model.variables.items()}

    def by_netcdf(self, ds: Any) -> None:
        """Renames it."""
        group, _, name = self.path.rpartition("/")
        item(ds, group).renameVariable(name, self.new)


@dataclass
class RenameDimension(Operation):
    """A dimension gets another name."""

    old: str
    new: str

    def on(self, model: Model) -> None:
        """Renames it wherever it is used."""
        name = {self.old: self.new}
        model.dims = {name.get(d, d): n for d, n in model.dims.items()}
        model.unlimited = {name.get(d, d) for d in model.unlimited}
        for v in model.variables.values():
            v.dims = tuple(name.get(d, d) for d in v.dims)

    def by_netcdf(self, ds: Any) -> None:
        """Renames it."""
        ds.renameDimension(self.old, self.new)
