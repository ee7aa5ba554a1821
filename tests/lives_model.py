"""The contents of a file that lives: dimensions, attributes, arrays; and their differences from a reader's (see `lives`)."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

Attributes = dict[str, Any]
#: One dimension of a selection: a single index, a range, or picked indices.
Key = tuple[int | slice | list[int], ...]


def default_fill(dtype: str) -> Any:
    """netCDF's fill value where nobody sets another."""
    return {"str": "", "S1": b""}.get(dtype, netCDF4.default_fillvals.get(dtype))


@dataclass
class Variable:
    """A variable's description and values."""

    dtype: str
    dims: tuple[str, ...]
    values: np.ndarray
    known: np.ndarray
    """Which values are: those that were written, and those that were filled."""
    attributes: Attributes = field(default_factory=dict)
    is_filled: bool = True
    ident: int = field(default_factory=itertools.count().__next__)
    """The identity, which renaming does not change."""

    def fill(self) -> Any:
        """The value of what nobody wrote."""
        return self.attributes.get("_FillValue", default_fill(self.dtype))

    def grown(self, shape: tuple[int, ...], is_filling: bool) -> None:
        """Takes another shape; new values are the fill value, or unknown where nobody fills."""
        if shape == self.values.shape:
            return
        values = np.full(shape, self.fill(), self.values.dtype)
        known = np.full(shape, is_filling and self.is_filled)
        inner = tuple(slice(0, n) for n in self.values.shape)
        values[inner], known[inner] = self.values, self.known
        self.values, self.known = values, known


@dataclass
class Model:
    """A whole file."""

    file_format: str
    dims: dict[str, int] = field(default_factory=dict)
    unlimited: set[str] = field(default_factory=set)
    groups: list[str] = field(default_factory=lambda: [""])
    """Paths; the first is the root."""
    attributes: dict[str, Attributes] = field(default_factory=lambda: {"": {}})
    """Of each group."""
    variables: dict[str, Variable] = field(default_factory=dict)
    """By path."""
    is_filling: bool = True
    """Whether this session fills what it does not write."""
    changed: set[str] = field(default_factory=set)
    """Names of attributes that this session set."""

    def copy(self) -> Model:
        """One that can be changed without this one."""
        return copy.deepcopy(self)

    @property
    def is_netcdf4(self) -> bool:
        """Whether the file is HDF5."""
        return self.file_format.startswith("NETCDF4")

    def owner(self, path: str) -> Attributes:
        """The attributes of a group or variable."""
        return self.attributes[path] if path in self.attributes else self.variables[path].attributes

    def shape(self, dims: Sequence[str]) -> tuple[int, ...]:
        """The present lengths of dimensions."""
        return tuple(self.dims[d] for d in dims)

    def write(self, path: str, key: Key, values: Any) -> None:
        """Writes a selection; unlimited dimensions grow for it."""
        v = self.variables[path]
        for name, part in zip(v.dims, key, strict=True):
            last = part if isinstance(part, int) else max(part, default=-1) if isinstance(part, list) else part.stop - 1
            if name in self.unlimited and last >= self.dims[name]:
                self.dims[name] = last + 1
        for other in self.variables.values():
            other.grown(self.shape(other.dims), self.is_filling)
        v.values[key] = values
        v.known[key] = True


@dataclass
class Found:
    """The contents that a reader finds."""

    dims: dict[str, tuple[int, bool]] | None
    attributes: dict[str, Attributes]
    variables: dict[str, tuple[tuple[str, ...] | None, np.ndarray, Attributes]]
    is_partial: bool = False
    """A variable may be shorter than its dimensions (HDF5 knows no other length)."""


def plain(value: Any) -> Any:
    """An attribute's value, the same whoever read it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU" and value.size == 1:
        return plain(value.ravel()[0])
    values = np.atleast_1d(value).tolist()
    return [v.decode() if isinstance(v, bytes) else v for v in values]


def found_by_netcdf(ds: Any) -> Found:
    """The contents that a `Dataset` of netCDF4 or ncforge shows."""
    ds.set_auto_maskandscale(False)
    found = Found({n: (len(d), d.isunlimited()) for n, d in ds.dimensions.items()}, {}, {})
    for prefix, group in [("", ds), *((n, g) for n, g in ds.groups.items())]:
        found.attributes[prefix] = {n: plain(group.getncattr(n)) for n in group.ncattrs()}
        for name, v in group.variables.items():
            attributes = {n: plain(v.getncattr(n)) for n in v.ncattrs()}
            values = np.asarray(v[...])
            found.variables[f"{prefix}/{name}".lstrip("/")] = (v.dimensions, values, attributes)
    return found


#: What netCDF-4 files hold for themselves.
HIDDEN = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
HIDDEN |= {"_nc3_strict", "DIMENSION_LABELS"}


def found_by_h5py(path: Path) -> Found:
    """The contents that h5py finds in a netCDF-4 file."""

    def attributes(item: Any) -> Attributes:
        return {n: plain(item.attrs[n]) for n in item.attrs if n not in HIDDEN}

    found = Found(None, {}, {}, is_partial=True)
    with h5py.File(path) as f:
        for prefix, group in [("", f), *((n, g) for n, g in f.items() if isinstance(g, h5py.Group))]:
            found.attributes[prefix] = attributes(group)
            for name, item in group.items():
                if isinstance(item, h5py.Group):
                    continue
                label = item.attrs.get("NAME", b"")
                if bytes(label).startswith(b"This is a netCDF dimension but not"):
                    continue
                try:
                    values = np.asarray(item[...])
                except OSError as e:
                    # HDF5 wants to write fill values of text that it reads where nothing was written.
                    if "no write intent" not in str(e):
                        raise
                    continue
                if values.dtype == object:
                    texts = [b.decode() if isinstance(b, bytes) else b or "" for b in values.ravel()]
                    values = np.array(texts, object).reshape(values.shape)
                path_in_file = f"{prefix}/{name.removeprefix('_nc4_non_coord_')}".lstrip("/")
                found.variables[path_in_file] = (None, values, attributes(item))
    return found


def differences(model: Model, found: Found, by: str, states: list[Model]) -> Iterator[str]:
    """Differences from the model. Where there are several states, a value may be that of any of them."""
    if found.dims is not None:
        lengths = {n: (length, n in model.unlimited) for n, length in model.dims.items()}
        if found.dims != lengths:
            yield f"{by}: dimensions {found.dims}, not {lengths}"
    if set(found.attributes) != set(model.attributes):
        yield f"{by}: groups {sorted(found.attributes)}, not {sorted(model.attributes)}"
        return
    paths = set(found.variables)
    if paths != set(model.variables) and not (found.is_partial and paths < set(model.variables)):
        yield f"{by}: variables {sorted(found.variables)}, not {sorted(model.variables)}"
        return
    owners: list[tuple[str, Attributes, Attributes]] = [
        (path, attributes, found.attributes.get(path, {})) for path, attributes in model.attributes.items()
    ]
    owners += [(path, v.attributes, found.variables[path][2]) for path, v in model.variables.items() if path in paths]
    for path, want, got in owners:
        expected = {n: plain(v) for n, v in want.items()}
        if expected != got:
            yield f"{by}: attributes of `{path}`: {shortened(got)}, not {shortened(expected)}"
    for path, v in model.variables.items():
        if path not in paths:
            continue
        dims, values, _ = found.variables[path]
        if dims is not None and dims != v.dims:
            yield f"{by}: `{path}` has the dimensions {dims}, not {v.dims}"
            continue
        yield from values_differ(path, v, values, found, by, states)


def shortened(attributes: Attributes) -> str:
    """Attributes for a message."""
    return str({n: v if len(str(v)) < 50 else f"{str(v)[:40]}… ({len(str(v))})" for n, v in attributes.items()})


def values_differ(
    path: str, v: Variable, values: np.ndarray, found: Found, by: str, states: list[Model]
) -> Iterator[str]:
    """Whether the known values of a variable are there."""
    want, known = v.values, v.known
    if found.is_partial:
        if any(a > b for a, b in zip(values.shape, want.shape, strict=True)):
            yield f"{by}: `{path}` has the shape {values.shape}, not {want.shape}"
            return
        inner: Any = (*(slice(0, n) for n in values.shape), ...)
        want, known = want[inner], known[inner]
    if values.shape != want.shape:
        yield f"{by}: `{path}` has the shape {values.shape}, not {want.shape}"
        return
    wrong = np.asarray(known & (values != want))
    for other in states:
        old = next((o for o in other.variables.values() if o.ident == v.ident), None)
        if wrong.any() and old is not None and old is not v and old.values.ndim == want.ndim:
            common = tuple(slice(0, min(a, b)) for a, b in zip(want.shape, old.values.shape, strict=True))
            wrong[common] &= (values[common] != old.values[common]) & old.known[common]
    if wrong.any():
        at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
        value, should = np.atleast_1d(values)[at], np.atleast_1d(want)[at]
        yield f"{by}: {int(wrong.sum())} of {wrong.size} values of `{path}`, the first at {at}: {value!r}, not {should!r}"


def values_of_either(model: Model, found: Found, states: list[Model]) -> Model:
    """The model, with the values that were found where the old ones or the new ones may be; what one state does not know is unknown."""
    for path, v in model.variables.items():
        values = found.variables[path][1]
        if values.shape != v.values.shape:
            continue
        v.values = values.astype(v.values.dtype)
        for other in states:
            old = next((o for o in other.variables.values() if o.ident == v.ident), None)
            if old is not None and old.known.ndim == v.known.ndim:
                common = tuple(slice(0, min(a, b)) for a, b in zip(v.known.shape, old.known.shape, strict=True))
                v.known[common] &= old.known[common]
    return model
