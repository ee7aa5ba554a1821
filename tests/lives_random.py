"""The next operation on a file that lives, at random; each writer can do those that it has (see `lives`)."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from lives_model import Key, Model, Variable
from lives_operations import (
    AddDimension,
    AddGroup,
    AddVariable,
    DeleteAttribute,
    FillOff,
    Operation,
    Read,
    RenameAttribute,
    RenameDimension,
    RenameVariable,
    SetAttribute,
    Sync,
    Write,
)

NUMBERS = ["i1", "i2", "i4", "f4", "f8"]
MORE_NUMBERS = ["u1", "u2", "u4", "i8", "u8"]
#: Longest dimension, and most variables, dimensions of a file.
LONGEST, MOST_VARIABLES, MOST_DIMS = 40, 9, 6
#: Lengths of the dimensions of wide variables, whose chunks are long enough for access points.
WIDE, MOST_WIDE = (150, 300), 2


def fresh(r: random.Random, prefix: str) -> str:
    """A name that nothing has."""
    return prefix + "".join(r.choices(string.ascii_lowercase, k=6))


def random_values(dtype: str, shape: tuple[int, ...], r: random.Random, most: int = 100) -> Any:
    """Values of a type, exact in every one of them whose numbers reach so far."""
    n = int(np.prod(shape))
    if dtype == "str":
        texts = np.empty(n, object)
        texts[:] = ["".join(r.choices(string.ascii_letters, k=r.choice([0, 1, 5, 40]))) for _ in range(n)]
        return texts.reshape(shape)
    if dtype == "S1":
        return np.array([r.choice(string.ascii_letters).encode() for _ in range(n)], "S1").reshape(shape)
    random_numbers = np.random.default_rng(r.getrandbits(32))
    low = 0 if dtype.startswith("u") else -most
    numbers = random_numbers.integers(low, most, n)
    if r.random() < 0.3:
        numbers[...] = r.randint(low, most - 1)
    return (numbers / 4 if dtype.startswith("f") else numbers).astype(dtype).reshape(shape)


def random_attribute(r: random.Random, file_format: str) -> Any:
    """Text or numbers, of few or of many bytes."""
    n = r.choice([1, 3, 20, 100, 600, 3000])
    if r.random() < 0.6:
        return "".join(r.choices(string.ascii_letters + " ", k=n))
    dtype = r.choice(NUMBERS if file_format != "NETCDF4" else [*NUMBERS, "u2", "i8"])
    return np.asarray(random_values(dtype, (min(n, 400),), r))


def wide_dims(model: Model) -> list[str]:
    """The dimensions of wide variables."""
    return [d for d, n in model.dims.items() if n > LONGEST + 5]


def wide_variables(model: Model) -> list[str]:
    """Variables in chunks that may have access points."""
    wide = wide_dims(model)
    return [p for p, v in model.variables.items() if len(v.dims) == 2 and all(d in wide for d in v.dims)]


def random_dims(model: Model, r: random.Random, writer: str) -> tuple[str, ...]:
    """The dimensions of a new variable: in classic files only the first may be unlimited."""
    short = [d for d in model.dims if d not in wide_dims(model)]
    dims = r.sample(short, k=min(len(short), r.choice([0, 1, 1, 2, 2, 3])))
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
        # Beyond HDF5's lengths, netCDF-C shows memory that nobody wrote: for text, a crash.
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


def add_wide_variable(model: Model, writer: str, r: random.Random) -> Operation | None:
    """A new variable of shuffled and deflated chunks of 64 KiB and more, some of which end beyond the array; or a dimension of one."""
    if not model.is_netcdf4 or (writer == "h5py" and model.file_format != "NETCDF4"):
        return None
    dims = wide_dims(model)
    if len(dims) < 2:
        return AddDimension(fresh(r, "w"), r.randint(*WIDE))
    if writer == "h5py" and any(d in model.variables for d in dims):
        return None
    if len(wide_variables(model)) >= MOST_WIDE or len(model.variables) >= MOST_VARIABLES:
        return None
    dims = r.sample(dims, k=2)
    shape = model.shape(dims)
    chunks = (shape[0], shape[1]) if r.random() < 0.5 else (shape[0], shape[1] * 2 // 3)
    how: dict[str, Any] = {"zlib": True, "shuffle": True, "chunksizes": chunks}
    if writer == "ncforge":
        how["complevel"] = r.choice([1, 4, 6, 9])
    dtype = r.choice(["i4", "f4", "f8"])
    return AddVariable(fresh(r, "v"), dtype, tuple(dims), how, shape, (False, False))


def read(model: Model, writer: str, r: random.Random) -> Operation | None:
    """A part of a wide variable; not by netCDF-C, which shows other values of what a session has defined and not written."""
    paths = wide_variables(model)
    if not paths or writer == "netCDF4":
        return None
    path = r.choice(paths)
    return Read(path, random_key(model, model.variables[path], r))


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
    wide = wide_variables(model)
    path = r.choice(wide) if wide and r.random() < 0.4 else r.choice(paths)
    v = model.variables[path]
    # All of a wide variable now and then: chunks that are mostly fill are too short for access points.
    all_of_it: Key = tuple(slice(0, n) for n in v.values.shape)
    key = all_of_it if path in wide and r.random() < 0.4 else random_key(model, v, r)
    grows = any(
        name in model.unlimited and isinstance(k, slice) and k.stop > model.dims[name]
        for name, k in zip(v.dims, key, strict=True)
    )
    if writer == "h5py" and grows and any(d in model.variables for d in v.dims):
        # Whose scale would be shorter than what it is the scale of.
        return None
    shape = tuple(n for k in key for n in selected(k))
    # Wide variables are of types that hold this, and their chunks are worth access points.
    return Write(path, key, random_values(v.dtype, shape, r, 30_000 if path in wide else 100))


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
    if len(model.dims) - len(wide_dims(model)) >= MOST_DIMS:
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
    (3, add_wide_variable),
    (1, read),
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
