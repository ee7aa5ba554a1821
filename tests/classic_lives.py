"""Random lives of a classic file: sessions of several libraries in turn on one file, against a model in NumPy.

A session is a list of operations that is made before it is run, so that the model can follow a process that is killed
in the midst of it. Whoever runs sessions of ncforge may do so in a forked process: :func:`run` starts no threads.
"""

from __future__ import annotations

import copy
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

TYPES = ["i1", "i2", "i4", "f4", "f8", "S1"]
MORE_TYPES = ["u1", "u2", "u4", "i8", "u8"]

#: The name of an operation, and what it needs.
Op = tuple[Any, ...]


def default_fill(dtype: str) -> Any:
    return np.array(netCDF4.default_fillvals[dtype]).astype(dtype)


@dataclass
class Var:
    dtype: str
    dims: tuple[str, ...]
    fill: Any
    values: np.ndarray
    #: Where the file must hold the values; elsewhere nobody knows.
    known: np.ndarray
    attrs: dict[str, Any] = field(default_factory=dict)
    #: Whether new values are filled, in this session.
    filled: bool = True

    def grow(self, records: int, filled: bool) -> None:
        """More records, if it has fewer."""
        missing = (records - len(self.values), *self.values.shape[1:])
        if missing[0] > 0:
            self.values = np.concatenate([self.values, np.full(missing, self.fill, self.dtype)])
            self.known = np.concatenate([self.known, np.full(missing, filled and self.filled)])


@dataclass
class Model:
    file_format: str
    #: The unlimited one is `None`.
    dims: dict[str, int | None] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    vars: dict[str, Var] = field(default_factory=dict)
    records: int = 0
    filled: bool = True
    made: int = 0

    def record_dim(self) -> str | None:
        return next((n for n, length in self.dims.items() if length is None), None)

    def is_record(self, var: Var) -> bool:
        return bool(var.dims) and self.dims[var.dims[0]] is None

    def grow(self, records: int) -> None:
        self.records = max(self.records, records)
        for var in self.vars.values():
            if self.is_record(var):
                var.grow(self.records, self.filled)

    def begin(self) -> None:
        """A new session: what is not filled is not in the file."""
        self.filled = True
        for var in self.vars.values():
            var.filled = True

    def apply(self, op: Op) -> None:
        getattr(self, "do_" + op[0])(*op[1:])

    def attributes(self, of: str | None) -> dict[str, Any]:
        return self.attrs if of is None else self.vars[of].attrs

    def do_put(self, of: str | None, name: str, value: Any) -> None:
        self.attributes(of)[name] = value

    def do_delete(self, of: str | None, name: str) -> None:
        del self.attributes(of)[name]

    def do_rename_attribute(self, of: str | None, old: str, new: str) -> None:
        attrs = self.attributes(of)
        attrs[new] = attrs.pop(old)

    def do_dim(self, name: str, length: int | None) -> None:
        self.dims[name] = length

    def do_var(self, name: str, dtype: str, dims: tuple[str, ...], fill: Any) -> None:
        shape: Any = tuple(self.records if self.dims[d] is None else self.dims[d] for d in dims)
        given = fill is not None and fill is not False
        value = fill if given else default_fill(dtype)
        filled = fill is not False
        known = np.full(shape, filled and self.filled)
        var = Var(dtype, dims, value, np.full(shape, value, dtype), known, filled=filled)
        if given:
            var.attrs["_FillValue"] = fill
        self.vars[name] = var

    def do_rename_var(self, old: str, new: str) -> None:
        self.vars = {new if n == old else n: v for n, v in self.vars.items()}

    def do_rename_dim(self, old: str, new: str) -> None:
        self.dims = {new if n == old else n: length for n, length in self.dims.items()}
        for var in self.vars.values():
            var.dims = tuple(new if d == old else d for d in var.dims)

    def do_write(self, name: str, key: tuple[Any, ...], values: np.ndarray) -> None:
        var = self.vars[name]
        if self.is_record(var) and np.size(values):
            first = key[0]
            self.grow(1 + (range(first.start, first.stop, first.step)[-1] if isinstance(first, slice) else first))
        var.values[key] = values
        var.known[key] = True

    def do_nofill(self) -> None:
        self.filled = False

    def do_sync(self) -> None:
        pass


def execute(ds: Any, op: Op) -> None:
    """An operation by a library that has netCDF4-python's names."""
    kind, *args = op
    if kind in ("put", "delete", "rename_attribute"):
        of = ds if args[0] is None else ds.variables[args[0]]
        {"put": of.setncattr, "delete": of.delncattr, "rename_attribute": of.renameAttribute}[kind](*args[1:])
    elif kind == "dim":
        ds.createDimension(*args)
    elif kind == "var":
        name, dtype, dims, fill = args
        make_raw(ds.createVariable(name, dtype, dims, fill_value=fill))
    elif kind == "rename_var":
        ds.renameVariable(*args)
    elif kind == "rename_dim":
        ds.renameDimension(*args)
    elif kind == "write":
        name, key, values = args
        ds.variables[name][key if key else ...] = values
    elif kind == "nofill":
        ds.set_fill_off()
    else:
        try:
            ds.sync()
        except RuntimeError as e:
            # netCDF4-python's, when nothing was defined or written so far.
            if "define mode" not in str(e):
                raise


def make_raw(of: Any) -> None:
    of.set_auto_maskandscale(False)
    of.set_auto_chartostring(False)


class Chooser:
    """Makes up sessions."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, things: Any) -> Any:
        things = list(things)
        return things[int(self.rng.integers(len(things)))]

    def values(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        bits = self.rng.integers(1, 100, shape)
        return bits.astype("u1").view("S1").reshape(shape) if dtype == "S1" else bits.astype(dtype)

    def session(self, model: Model, count: int) -> tuple[list[Op], list[Model]]:
        """Operations, and the state after each of them (`states[0]`: before the first)."""
        model = copy.deepcopy(model)
        model.begin()
        ops: list[Op] = []
        states = [copy.deepcopy(model)]
        if self.rng.random() < 0.1:
            ops.append(("nofill",))
            model.apply(ops[-1])
            states.append(copy.deepcopy(model))
        while len(ops) < count:
            op = self.op(model)
            if op is None:
                continue
            ops.append(op)
            model.apply(op)
            states.append(copy.deepcopy(model))
        return ops, states

    def op(self, model: Model) -> Op | None:
        kinds = ["write"] * 6 + ["put"] * 3 + ["delete"] * 2 + ["var"] * 2
        kinds += ["dim", "rename_var", "rename_dim", "rename_attribute", "sync"]
        if not model.vars and self.rng.random() < 0.7:
            # Files that have no data for a while.
            kinds = ["put", "delete", "dim", "sync"]
        return getattr(self, self.pick(kinds))(model)  # type: ignore[no-any-return]

    def sync(self, _model: Model) -> Op:
        return ("sync",)

    def put(self, model: Model) -> Op:
        of = self.pick([None, None, *model.vars])
        length = int(self.pick([1, 5, 40, 300, 2000]))
        number = self.rng.integers(1, 9, max(1, length // 4)).astype(self.pick(["i2", "f8", "i4"]))
        value = "".join(self.pick("abcdef") for _ in range(length)) if self.rng.random() < 0.7 else number
        return ("put", of, f"a{self.rng.integers(4)}", value)

    def own(self, model: Model) -> tuple[str | None, str] | None:
        of = self.pick([None, None, *model.vars])
        names = [n for n in model.attributes(of) if n != "_FillValue"]
        return (of, self.pick(names)) if names else None

    def delete(self, model: Model) -> Op | None:
        own = self.own(model)
        return own and ("delete", *own)

    def other_name(self, model: Model, kind: str) -> str:
        model.made += 1
        return f"{kind}{model.made}" + "_" * int(self.pick([0, 3, 40]))

    def rename_attribute(self, model: Model) -> Op | None:
        # Not longer: netCDF4-python does not enter define mode for it.
        own = self.own(model)
        new = f"b{self.rng.integers(10)}"
        return ("rename_attribute", *own, new) if own and new not in model.attributes(own[0]) else None

    def dim(self, model: Model) -> Op:
        unlimited = model.record_dim() is None and self.rng.random() < 0.5
        return ("dim", self.other_name(model, "d"), None if unlimited else int(self.rng.integers(1, 9)))

    def rename_dim(self, model: Model) -> Op | None:
        return ("rename_dim", self.pick(model.dims), self.other_name(model, "d")) if model.dims else None

    def rename_var(self, model: Model) -> Op | None:
        return ("rename_var", self.pick(model.vars), self.other_name(model, "v")) if model.vars else None

    def var(self, model: Model) -> Op | None:
        if len(model.vars) > 12:
            return None
        fixed = [d for d, length in model.dims.items() if length is not None]
        dims = [self.pick(fixed) for _ in range(int(self.rng.integers(0, 3)))] if fixed else []
        record = model.record_dim()
        if record and self.rng.random() < 0.6:
            dims.insert(0, record)
        dtype = self.pick(TYPES + (MORE_TYPES if model.file_format == "NETCDF3_64BIT_DATA" else []))
        fill: Any = self.pick([None, None, None, False, np.array(b"x" if dtype == "S1" else 99).astype(dtype)[()]])
        return ("var", self.other_name(model, "v"), dtype, tuple(dims), fill)

    def write(self, model: Model) -> Op | None:
        if not model.vars:
            return None
        name = self.pick(model.vars)
        var = model.vars[name]
        key: list[Any] = []
        shape = []
        for d in var.dims:
            length = model.dims[d]
            end = model.records + int(self.rng.integers(0, 4)) if length is None else length
            if end == 0:
                return None
            start = int(self.rng.integers(end))
            if length is None and self.rng.random() < 0.5:
                start = min(model.records, end - 1)
            if self.rng.random() < 0.2:
                key.append(start)
                continue
            stop, step = int(self.rng.integers(start + 1, end + 1)), int(self.pick([1, 1, 2, 3]))
            key.append(slice(start, stop, step))
            shape.append(len(range(start, stop, step)))
        return ("write", name, tuple(key), self.values(var.dtype, tuple(shape)))


def same(found: Any, wanted: Any) -> bool:
    """Equal attributes; one number is read without its array."""
    return bool(np.array_equal(np.atleast_1d(found), np.atleast_1d(wanted)))


def difference(ds: Any, model: Model) -> str | None:
    """What a file says that the model does not."""
    make_raw(ds)
    dims = {n: None if d.isunlimited() else len(d) for n, d in ds.dimensions.items()}
    if dims != model.dims:
        return f"dimensions {dims}, not {model.dims}"
    record = model.record_dim()
    if record and len(ds.dimensions[record]) != model.records:
        return f"{len(ds.dimensions[record])} records, not {model.records}"
    if list(ds.variables) != list(model.vars):
        return f"variables {list(ds.variables)}, not {list(model.vars)}"
    for of, owner in [(None, ds), *((n, ds.variables[n]) for n in model.vars)]:
        found = {n: owner.getncattr(n) for n in owner.ncattrs()}
        wanted = model.attributes(of)
        if found.keys() != wanted.keys() or any(not same(found[n], wanted[n]) for n in wanted):
            return f"attributes of {of}: {found}, not {wanted}"
    for name, var in model.vars.items():
        if ds.variables[name].dimensions != var.dims or ds.variables[name].shape != var.values.shape:
            return f"{name}: {ds.variables[name].dimensions} {ds.variables[name].shape}"
        wrong = (np.asarray(ds.variables[name][...]) != var.values) & var.known
        if wrong.any():
            where = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
            found_value = np.asarray(ds.variables[name][...])[where]
            wanted_value = var.values[where]
            return f"{name}{list(where)}: {found_value!r}, not {wanted_value!r}; {int(wrong.sum())} wrong values"
    return None


def in_process(work: Callable[[], None], timeout: int = 60) -> int:
    """Runs `work` in a forked process; gives its exit status, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(timeout)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(opener: Callable[[Path, str], Any], path: Path, mode: str, ops: list[Op], kill: bool = False) -> None:
    """A session. With `kill`, the process dies after the last operation."""
    with opener(path, mode) as ds:
        make_raw(ds)
        for op in ops:
            execute(ds, op)
        if kill:
            os.kill(os.getpid(), signal.SIGKILL)


def after_kill(ds: Any, states: list[Model], ops: list[Op]) -> tuple[Model | None, str]:
    """The state in which a killed session left a file: that of its last sync, or a later one, apart from values that
    were overwritten since. `None`, and why, if it is no such state."""
    make_raw(ds)
    synced = max([i + 1 for i, op in enumerate(ops) if op == ("sync",)], default=0)
    why = ""
    for i in range(synced, len(states)):
        candidate = copy.deepcopy(states[i])
        for number, (name, var) in enumerate(candidate.vars.items()):
            # By number: they may have been renamed in between.
            others = [list(s.vars.values())[number] for s in states[synced:] if number < len(s.vars)]
            adopt_written_values(ds, name, var, others)
        diff = difference(ds, candidate)
        if diff is None:
            return candidate, ""
        why += f"\n  state {i}: {diff}"
    return None, why


def adopt_written_values(ds: Any, name: str, var: Var, others: list[Var]) -> None:
    """Takes values from the file where the variable had them at one time, or nobody knows."""
    if name not in ds.variables or ds.variables[name].shape != var.values.shape:
        return
    found = np.asarray(ds.variables[name][...])
    for other in others:
        part = tuple(slice(0, min(a, b)) for a, b in zip(other.values.shape, found.shape, strict=True))
        fits = (found[part] == other.values[part]) | ~other.known[part]
        var.values[part] = np.where(fits, found[part], var.values[part])
        var.known[part] |= fits & other.known[part]
