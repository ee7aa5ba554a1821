"""What is done to a file that lives: each operation on the model, by netCDF4's interface, and by h5py (see `lives`)."""

from __future__ import annotations

import contextlib
import random
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy as np

from lives_model import Key, Model, Variable, default_fill

NUMBERS = ["i1", "i2", "i4", "f4", "f8"]
MORE_NUMBERS = ["u1", "u2", "u4", "i8", "u8"]
#: Longest dimension, and most variables, dimensions of a file.
LONGEST, MOST_VARIABLES, MOST_DIMS = 40, 9, 6


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
        """What is not written is unknown."""
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
                options["compression"] = 1
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


def fresh(r: random.Random, prefix: str) -> str:
    """A name that nothing has."""
    return prefix + "".join(r.choices(string.ascii_lowercase, k=6))


def random_values(dtype: str, shape: tuple[int, ...], r: random.Random) -> Any:
    """Values of a type, exact in every one of them."""
    n = int(np.prod(shape))
    if dtype == "str":
        texts = np.empty(n, object)
        texts[:] = ["".join(r.choices(string.ascii_letters, k=r.choice([0, 1, 5, 40]))) for _ in range(n)]
        return texts.reshape(shape)
    if dtype == "S1":
        return np.array([r.choice(string.ascii_letters).encode() for _ in range(n)], "S1").reshape(shape)
    random_numbers = np.random.default_rng(r.getrandbits(32))
    low = 0 if dtype.startswith("u") else -100
    numbers = random_numbers.integers(low, 100, n)
    if r.random() < 0.3:
        numbers[...] = r.randint(low, 99)
    return (numbers / 4 if dtype.startswith("f") else numbers).astype(dtype).reshape(shape)


def random_attribute(r: random.Random, file_format: str) -> Any:
    """Text or numbers, of few or of many bytes."""
    n = r.choice([1, 3, 20, 100, 600, 3000])
    if r.random() < 0.6:
        return "".join(r.choices(string.ascii_letters + " ", k=n))
    dtype = r.choice(NUMBERS if file_format != "NETCDF4" else [*NUMBERS, "u2", "i8"])
    return np.asarray(random_values(dtype, (min(n, 400),), r))


def random_dims(model: Model, r: random.Random, writer: str) -> tuple[str, ...]:
    """The dimensions of a new variable: in classic files only the first may be unlimited."""
    dims = r.sample(list(model.dims), k=min(len(model.dims), r.choice([0, 1, 1, 2, 2, 3])))
    if not model.is_netcdf4:
        dims.sort(key=lambda d: d not in model.unlimited)
    if writer == "h5py":
        # Another library's coordinate variables are no place to attach scales to that it has not made.
        dims = [d for d in dims if d not in model.variables]
    return tuple(dims)


def add_variable(model: Model, writer: str, r: random.Random) -> Operation | None:
    """A new variable of any type, layout and filters."""
    if len(model.variables) >= MOST_VARIABLES:
        return None
    types = ["S1", *NUMBERS]
    if model.file_format in ("NETCDF4", "NETCDF3_64BIT_DATA"):
        types += MORE_NUMBERS
    if model.file_format == "NETCDF4":
        types.append("str")
    dtype = r.choice([t for t in types if t != "S1"] if writer == "h5py" else types)
    dims = random_dims(model, r, writer)
    if dtype == "str" and any(d in model.unlimited for d in dims[1:]):
        # What netCDF-C shows beyond HDF5's lengths is memory that nobody wrote: for text, a crash.
        dtype = "f4"
    shape = model.shape(dims)
    how: dict[str, Any] = {}
    if dims and model.is_netcdf4:
        if dtype != "str" and r.random() < 0.5:
            how["zlib"] = True
        if r.random() < 0.5:
            how["chunksizes"] = tuple(
                r.randint(1, 8) if d in model.unlimited else r.randint(1, n) for d, n in zip(dims, shape, strict=True)
            )
    if dtype not in ("str", "S1") and r.random() < 0.3:
        how["fill_value"] = random_values(dtype, (), r)[()]
    group = r.choice(model.groups)
    name = fresh(r, "v")
    bare = [d for d in model.dims if d not in model.variables]
    if bare and writer != "h5py" and group == "" and r.random() < 0.2:
        # A coordinate variable.
        name = r.choice(bare)
        dims, how = (name,), {k: v for k, v in how.items() if k == "fill_value"}
        shape = model.shape(dims)
        if dtype in ("S1", "str"):
            dtype, how = "f8", {}
    unlimited = tuple(d in model.unlimited for d in dims)
    return AddVariable(f"{group}/{name}".lstrip("/"), dtype, dims, how, shape, unlimited)


def random_key(model: Model, v: Variable, r: random.Random) -> Key:
    """A selection; along unlimited dimensions it may go beyond the end."""
    key: list[int | slice | list[int]] = []
    has_list = False
    for name in v.dims:
        n = model.dims[name]
        if name in model.unlimited and (n == 0 or r.random() < 0.4):
            start = min(n + r.choice([0, 0, 0, 1, 2]), LONGEST) if r.random() < 0.8 else r.randint(0, n)
            key.append(slice(start, start + r.randint(1, 3)))
            continue
        kind = r.randrange(5)
        start = r.randrange(n)
        stop = r.randint(start + 1, n)
        if kind == 0:
            key.append(slice(0, n))
        elif kind == 1:
            key.append(slice(start, stop))
        elif kind == 2:
            key.append(slice(start, stop, r.randint(1, 3)))
        elif kind == 3 and v.dtype != "str" and not has_list and not any(isinstance(k, int) for k in key):
            has_list = True
            key.append(sorted(r.sample(range(n), k=r.randint(1, min(n, 6)))))
        elif kind == 4 and not has_list and v.dtype != "str":
            key.append(start)
        else:
            key.append(slice(0, n))
    return tuple(key)


def selected(part: int | slice | list[int]) -> tuple[int, ...]:
    """The length of one dimension of a selection, if it stays one."""
    if isinstance(part, int):
        return ()
    return (len(part),) if isinstance(part, list) else (len(range(part.start, part.stop, part.step or 1)),)


def write(model: Model, writer: str, r: random.Random) -> Operation | None:
    """Values for a part of a variable."""
    # h5py's text is padded, netCDF's characters end with a NUL: HDF5 turns each of them into nothing.
    paths = [p for p, v in model.variables.items() if writer != "h5py" or v.dtype != "S1"]
    if not paths:
        return None
    path = r.choice(paths)
    v = model.variables[path]
    key = random_key(model, v, r)
    grows = any(
        name in model.unlimited and isinstance(k, slice) and k.stop > model.dims[name]
        for name, k in zip(v.dims, key, strict=True)
    )
    if writer == "h5py" and grows and any(d in model.variables for d in v.dims):
        # Whose scale would be shorter than what it is the scale of.
        return None
    shape = tuple(n for k in key for n in selected(k))
    return Write(path, key, random_values(v.dtype, shape, r))


def attribute(model: Model, writer: str, r: random.Random) -> Operation | None:
    """An attribute is set, deleted or renamed."""
    owner = r.choice([*model.attributes, *model.variables])
    names = [n for n in model.owner(owner) if n != "_FillValue"]
    what = r.randrange(6)
    # netCDF-C keeps the old one, too, where a session sets an attribute and then renames or deletes it.
    free = [n for n in names if writer != "netCDF4" or n not in model.changed]
    if free and what == 0:
        return DeleteAttribute(owner, r.choice(free))
    if free and what == 1 and writer != "h5py":
        return RenameAttribute(owner, r.choice(free), fresh(r, "a"))
    name = r.choice(names) if names and r.random() < 0.7 else fresh(r, "a")
    return SetAttribute(owner, name, random_attribute(r, model.file_format))


def dimension(model: Model, writer: str, r: random.Random) -> Operation | None:
    """A new dimension, or a new name for one."""
    if writer == "h5py" and model.file_format != "NETCDF4":
        return None
    bare = [d for d in model.dims if d not in model.variables]
    if writer == "ncforge" and bare and r.random() < 0.3:
        return RenameDimension(r.choice(bare), fresh(r, "d"))
    if len(model.dims) >= MOST_DIMS:
        return None
    most = 2 if model.file_format == "NETCDF4" else 1
    is_unlimited = len(model.unlimited) < most and r.random() < 0.5
    return AddDimension(fresh(r, "d"), None if is_unlimited else r.randint(1, LONGEST))


def rename_variable(model: Model, writer: str, r: random.Random) -> Operation | None:
    """Not by h5py, which has no such operation; nor by netCDF-C in HDF5, where `close` may fail after it."""
    paths = [p for p in model.variables if p not in model.dims]
    can = writer == "ncforge" or (writer == "netCDF4" and not model.is_netcdf4)
    return RenameVariable(r.choice(paths), fresh(r, "v")) if paths and can else None


def add_group(model: Model, writer: str, r: random.Random) -> Operation | None:
    """A group, where the format has them."""
    if model.file_format != "NETCDF4" or len(model.groups) > 2 or r.random() < 0.5:
        return None
    return AddGroup(fresh(r, "g"))


def sync(model: Model, writer: str, r: random.Random) -> Operation | None:
    """Looks at what is there in between."""
    return Sync()


def fill_off(model: Model, writer: str, r: random.Random) -> Operation | None:
    """Rarely: what it leaves can not be judged."""
    return FillOff() if writer != "h5py" and r.random() < 0.3 else None


KINDS: list[tuple[int, Callable[[Model, str, random.Random], Operation | None]]] = [
    (8, write),
    (5, attribute),
    (3, add_variable),
    (2, dimension),
    (1, rename_variable),
    (1, add_group),
    (1, sync),
    (1, fill_off),
]


def random_operation(model: Model, writer: str, r: random.Random) -> Operation:
    """Something that this library can do to a file in this state."""
    kinds, weights = [k for _, k in KINDS], [w for w, _ in KINDS]
    while True:
        operation = r.choices(kinds, weights)[0](model, writer, r)
        if operation is not None:
            return operation
