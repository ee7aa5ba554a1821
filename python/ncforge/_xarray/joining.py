"""Consecutive files of one kind as two datasets: the first, as xarray opens it, and all others as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray import conventions
from xarray.core.variable import Variable

from ncforge import _core
from ncforge._core import ATTRIBUTES
from ncforge._xarray.decoding import is_no_time
from ncforge._xarray.kinds import Seen, batch_size
from ncforge._xarray.many import ManyFiles, ManyStore
from ncforge._xarray.store import NcforgeDataStore, OpenFile

_LENGTHS = 64
"""For how many lengths xarray computes the blocks of such a file."""

FEWEST = 3
"""The number of consecutive files from which opening them as one is faster."""

_TELLING = frozenset(name for kind in ("packing", "units", "codes", "links", "storage") for name in ATTRIBUTES[kind])
"""Attributes by which xarray decodes values, or recognises coordinates."""

_FROM_FIRST = ("override", "drop")
"""Ways of joining attributes that do not use those of other files."""


class Unlike(Exception):
    """Files that cannot be opened as one."""


def opened(path: Any, chunks: Any, options: dict[str, Any]) -> xr.Dataset:
    """The dataset that xarray opens, with ``options`` of its function."""
    return xr.open_dataset(path, engine="ncforge", chunks=chunks, **options)


class Joined:
    """Files of one kind, opened as two: the first, and all others."""

    def __init__(
        self,
        run: list[Seen],
        dim: str | None,
        group: Any,
        combining: dict[str, Any],
        opening: Any,
        options: dict[str, Any],
    ) -> None:
        if len(run) < FEWEST:
            raise Unlike
        self._options = options
        self._file = OpenFile(run[0].handle)
        self._group = self._file.group(group)
        self._store = NcforgeDataStore(self._file, group)
        self._vars = self._file.vars.get(self._group, {})
        self._by_id = {facts[0]: name for name, facts in self._vars.items()}
        self.dim = self._dimension(run, dim, combining)
        self._check_attributes(run, combining)
        self._number = self._dim_number()
        axis = self._vars.get(self.dim)
        self._axis = axis[0] if axis is not None and axis[2] == [self._number] else None
        if (axis is None) != (self._axis is None) or self.dim in _dropped(options):
            raise Unlike
        ready = self._ready(run)
        order = range(len(run)) if dim is not None else self._order(run, ready)
        self.run = run = [run[i] for i in order]
        self._check_values(run, combining)
        self.lens = tuple(one.lens[self._number] for one in run)
        first = opening(run[0].path)
        if self.dim not in first.dims:
            # No variable has it: xarray makes it anew, one place for each file.
            raise Unlike
        rest = run[1:]
        files = ManyFiles([one.handle for one in rest], [one.lens[self._number] for one in rest])
        made = {name: _concatenated([parts[i] for i in order[1:]]) for name, parts in ready.items()}
        store = ManyStore(OpenFile(rest[0].handle), group, files, self.dim, made, self._bounds)
        self.datasets = [first, self._chunked(store, self._chunks(run, first, opening))]

    def _chunked(self, store: ManyStore, chunks: dict[Any, Any]) -> xr.Dataset:
        """The dataset of a store, with variables in the given blocks. (xarray loses the preferred blocks of some variables that it
        decodes.)"""
        from dask.base import tokenize

        others = {key: value for key, value in self._options.items() if key != "group"}
        found = opened(store, None, {**others, "cache": False})
        how = {key: others[key] for key in ("inline_array", "chunked_array_type", "from_array_kwargs") if key in others}
        token = tokenize(store, others)
        for name, cut in chunks.items():
            variable = found.variables[name]
            variable.data = variable.chunk(cut, name=f"open_dataset-{name}-{tokenize(token, cut)}", **how).data
        return found

    def _dimension(self, run: list[Seen], dim: str | None, combining: dict[str, Any]) -> str:
        """The dimension along which the files are joined; the coordinates of all others are the same."""
        varying = {self._by_id[var] for one in run if one.like is not None for var in one.coordinates}
        # Equal numbers in other units are different coordinates.
        varying |= {
            self._by_id[var]
            for one in run
            for var, name in one.attributes
            if var is not None and name in ("units", "calendar") and self._is_axis(self._by_id[var])
        }
        lengths = {
            self._file.dims[i][0]
            for i, lens in enumerate(zip(*(one.lens for one in run), strict=True))
            if len(set(lens)) > 1
        }
        if dim is None:
            if len(varying) != 1:
                raise Unlike
            dim = next(iter(varying))
        if not lengths <= {dim} or (varying - {dim} and combining.get("join") != "override"):
            raise Unlike
        return dim

    def _dim_number(self) -> int:
        """The position of the dimension in the file: one of the group or of a group above it."""
        at: int | None = self._group
        while at is not None:
            for i, (name, of, _) in enumerate(self._file.dims):
                if name == self.dim and of == at:
                    return i
            at = self._file.groups[at][1]
        raise Unlike

    def _check_attributes(self, run: list[Seen], combining: dict[str, Any]) -> None:
        """Attributes may differ where xarray uses only those of the first file, and does not decode by them."""
        self._apart = False
        if combining.get("compat") == "identical" and any(one.attributes for one in run):
            raise Unlike
        from_first = combining.get("combine_attrs") in _FROM_FIRST
        for var, name in {pair for one in run for pair in one.attributes}:
            if var is not None and self._by_id[var] == self.dim and name in ("units", "calendar"):
                self._apart = True
            elif not from_first or (name in _TELLING and (var is not None or name == "coordinates")):
                raise Unlike

    def _raw(self, one: Seen, var: int) -> npt.NDArray[Any]:
        values = one.coordinates.get(var)
        if values is None:
            values = one.kind.coordinates.get(var)
        if values is None:
            raise Unlike
        return values.view(np.dtype(str(self._vars[self._by_id[var]][1])))

    def _ready(self, run: list[Seen]) -> dict[str, list[Variable]]:
        """The coordinate of the dimension in each file. Times that have different units in each file, or that are not
        integers, are decoded file by file, as in xarray.
        """
        self._bounds: dict[str, dict[str, Any]] = {}
        if self._axis is None:
            return {}
        template = self._store.get_variables()[self.dim]
        units = template.attrs.get("units")
        if "scale_factor" in template.attrs:
            raise Unlike
        raw = [self._raw(one, self._axis) for one in run]
        timely = units is not None and not is_no_time(units)
        if not self._apart and not (timely and template.dtype.kind == "f"):
            return {
                self.dim: [Variable(template.dims, v, template.attrs, template.encoding, fastpath=True) for v in raw]
            }
        decode = self._decoding(self.dim)
        found = []
        for one, values in zip(run, raw, strict=True):
            attrs = dict(template.attrs)
            if self._apart:
                own = one.handle.file().attrs(self._group, self._axis)[0]
                for name in ("units", "calendar"):
                    attrs.pop(name, None)
                    if name in own:
                        attrs[name] = own[name]
            made = Variable(template.dims, values, attrs, template.encoding, fastpath=True)
            found.append(conventions.decode_cf_variable(self.dim, made, **decode).load())
        if len({v.dtype for v in found}) != 1 or found[0].dtype.kind == "O":
            raise Unlike
        self._decode_bounds(template, found[0])
        return {self.dim: found}

    def _decode_bounds(self, template: Variable, decoded: Variable) -> None:
        """Bounds of times that were decoded here get their units, which xarray takes from the times."""
        names = [
            name
            for name, v in self._store.get_variables().items()
            if self.dim in v.dims and _is_bounds_of(name, template.attrs)
        ]
        if names and (self._apart or self._options.get("decode_times") not in (None, True, False)):
            raise Unlike
        if decoded.dtype.kind == "M":
            units = {key: template.attrs[key] for key in ("units", "calendar") if key in template.attrs}
            self._bounds = {name: units for name in names if name == template.attrs.get("bounds")}

    def _decoding(self, name: str) -> dict[str, Any]:
        """Options of ``decode_cf_variable``, from those of ``open_dataset``."""
        if self._options.get("decode_cf") is False:
            return dict.fromkeys(("mask_and_scale", "decode_times", "decode_timedelta", "concat_characters"), False)
        found = {}
        for option in ("mask_and_scale", "decode_times", "use_cftime", "decode_timedelta", "concat_characters"):
            value = self._options.get(option)
            if isinstance(value, dict):
                value = value.get(name)
            if value is not None:
                found[option] = value
        return found

    def _order(self, run: list[Seen], ready: dict[str, list[Variable]]) -> Sequence[int]:
        """The order of files by their coordinates."""
        values = [np.asarray(v.values) for v in ready[self.dim]]
        if any(v.size == 0 or v.dtype.kind not in "iufmM" for v in values):
            raise Unlike
        steps = [np.diff(v) for v in values]
        if all(bool((s >= np.zeros((), s.dtype)).all()) for s in steps):
            backward = False
        elif all(bool((s <= np.zeros((), s.dtype)).all()) for s in steps):
            backward = True
        else:
            raise Unlike
        firsts = np.array([v[0] for v in values])
        if len(np.unique(firsts)) != len(firsts):
            raise Unlike
        order = [int(i) for i in np.argsort(firsts, kind="stable")]
        return order[::-1] if backward else order

    def _check_values(self, run: list[Seen], combining: dict[str, Any]) -> None:
        """Variables without the dimension must be the same in all files, unless only those of the first file are used."""
        others = [i for i, _, dims in self._vars.values() if self._number not in dims]
        if not others or (
            combining.get("compat") == "override"
            and combining.get("data_vars") == "minimal"
            and combining.get("coords") == "minimal"
        ):
            return
        compared = {self._by_id[i] for i in others} - set(_dropped(self._options))
        names = [n for n in compared if not self._is_axis(n)]
        if not names:
            return
        ids = [self._vars[n][0] for n in names]
        first = run[0].handle.file()
        batch = batch_size()
        for begin in range(1, len(run), batch):
            if not all(_core.equal_in_all(first, [one.handle.file() for one in run[begin : begin + batch]], ids)):
                raise Unlike

    def _is_axis(self, name: str) -> bool:
        """True for a coordinate that was compared when the files were opened."""
        _, kind, dims = self._vars[name]
        return (
            len(dims) == 1
            and self._file.dims[dims[0]][0] == name
            and isinstance(kind, str)
            and kind not in ("S1", "str")
        )

    def _chunks(self, run: list[Seen], first: xr.Dataset, opening: Any) -> dict[Any, Any]:
        """The Dask blocks of the other files: those of xarray for each file, computed once for every length."""
        cut: dict[tuple[int, int], xr.Dataset] = {(run[0].lens[self._number], run[0].chunks): first}
        for one in run[1:]:
            key = (one.lens[self._number], one.chunks)
            if key not in cut:
                if len(cut) == _LENGTHS:
                    raise Unlike
                cut[key] = opening(one.path)
        found: dict[Any, Any] = {}
        for name, variable in first.variables.items():
            if variable.chunks is None:
                continue
            if self.dim not in variable.dims:
                found[name] = dict(zip(variable.dims, variable.chunks, strict=True))
                continue
            axis = variable.dims.index(self.dim)
            each = {key: ds.variables[name].chunks for key, ds in cut.items()}
            if any(c is None or c[:axis] + c[axis + 1 :] != _without(variable.chunks, axis) for c in each.values()):
                raise Unlike
            along = [each[one.lens[self._number], one.chunks][axis] for one in run[1:]]  # type: ignore[index]
            mine = dict(zip(variable.dims, variable.chunks, strict=True))
            found[name] = {**mine, self.dim: tuple(c for part in along for c in part)}
        return found


def _concatenated(parts: list[Variable]) -> Variable:
    values = np.concatenate([part.values for part in parts])
    return Variable(parts[0].dims, values, parts[0].attrs, parts[0].encoding, fastpath=True)


def _without(chunks: Any, axis: int) -> Any:
    return chunks[:axis] + chunks[axis + 1 :]


def _is_bounds_of(name: str, attrs: dict[str, Any]) -> bool:
    return name in (attrs.get("bounds"), attrs.get("climatology"))


def _dropped(options: dict[str, Any]) -> Iterable[str]:
    found = options.get("drop_variables")
    if found is None:
        return ()
    return (found,) if isinstance(found, str) else found
