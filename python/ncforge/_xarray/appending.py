"""Writing into variables of an existing file: appending along a dimension, and regions.

Values are written only if the result is what the dataset says: its coordinates are the file's, its values can be stored as the
file stores them, and every variable that grows gets values.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions
from xarray.core.common import contains_cftime_datetimes

from ncforge._core import ATTRIBUTES
from ncforge._missing import hint
from ncforge._warnings import warn
from ncforge._xarray.dask import Writes
from ncforge._xarray.encoding import owner
from ncforge._xarray.writing import Target, WritingStore, is_rounded

_VALUE_ENCODING = ("dtype", *ATTRIBUTES["units"], *ATTRIBUTES["packing"])
"""The encoding of a variable's values in a file: appended values must be encoded in the same way."""

Spans = dict[Any, slice]


def add(
    dataset: Any,
    store: WritingStore,
    writes: Writes,
    path: str,
    group: str | None,
    append_dim: Hashable | None,
    region: Mapping[str, slice] | str | None,
    allow_overlap: bool,
) -> None:
    """Schedules values for writing, at the end of a dimension or in a region. Nothing is changed before all checks."""
    with _opened(path, group, dataset) as old:
        spans = _spans(dataset, old, store, append_dim, region)
        places = _places(dataset, old, spans, region)
        if append_dim is not None:
            _check_complete(dataset, store, append_dim)
        _check_meanings(dataset, old, places)
        dataset = dataset.copy()
        undecoded = store.get_variables()
        for name, variable in dataset.variables.items():
            # Values that were not decoded have these as attributes, which are compared.
            encoding = _encoding(old.variables[name].encoding)
            variable.encoding = {k: v for k, v in encoding.items() if k not in variable.attrs}
            _check_undecoded(name, variable.attrs, undecoded[name].attrs)
        variables, _ = conventions.encode_dataset_coordinates(dataset)
        with warnings.catch_warnings():
            # xarray would use other units; here that is an error.
            warnings.filterwarnings("ignore", r"Time(s|deltas) can't be serialized faithfully")
            # Missing values that integers cannot have are one, too.
            warnings.filterwarnings("ignore", "saving variable .* as an integer dtype without any _FillValue")
            encoded, _ = store.encode(variables, {})
        for name, variable in encoded.items():
            _check_units(name, variable, store.ds.variables[name], dataset.variables[name].encoding)
        _check_coordinates(dataset, encoded, old, spans, append_dim, allow_overlap)
    for name, place in places.items():
        made, source = store.ds.variables[name], encoded[name].data
        if len(place) < made.ndim:
            # Text as characters: with the width in the file.
            width = made.shape[-1]
            if source.shape[-1] > width:
                raise ValueError(f"{name!r}: text of {source.shape[-1]} bytes, the file has space for {width}")
            source = _padded(source, width)
            place = (*place, slice(0, width))
        writes.add(source, Target(made, writes.wrote, rounds=is_rounded(made)), place)


def _opened(path: str, group: str | None, dataset: Any) -> Any:
    """The file as it is read. Where the dataset has time differences, units alone make them, as they do not in new versions
    of xarray."""
    with warnings.catch_warnings():
        # Whoever reads the file is warned of it.
        warnings.simplefilter("ignore", xr.SerializationWarning)
        return xr.open_dataset(
            path,
            engine="ncforge",
            group=group,
            decode_coords=False,
            decode_timedelta={name: True for name, v in dataset.variables.items() if v.dtype.kind == "m"},
            auto_complex=True,
        )


def _padded(source: Any, width: int) -> Any:
    """Characters with NUL up to a width, so that nothing of longer text remains behind them."""
    if source.shape[-1] == width:
        return source
    if hasattr(source, "dask"):
        chunks = (*source.chunks[:-1], (width,))
        return source.rechunk({-1: -1}).map_blocks(_padded, width, dtype=source.dtype, chunks=chunks)
    padded = np.zeros((*source.shape[:-1], width), source.dtype)
    padded[..., : source.shape[-1]] = source
    return padded


def _spans(dataset: Any, old: Any, store: WritingStore, append_dim: Any, region: Any) -> Spans:
    """The part of each dimension that is written."""
    if region == "auto":
        region = {d: "auto" for d in dataset.dims if d in dataset.coords}
    spans: Spans = {}
    if append_dim is not None:
        of = owner(store.ds, append_dim)
        if of is None:
            raise ValueError(
                f"append_dim: the file has no dimension {append_dim!r}{hint(append_dim, store.ds.dimensions)}"
            )
        known = of.dimensions[append_dim]
        if not known.isunlimited():
            raise ValueError(
                f"dimension {append_dim!r} is not unlimited in the file: nothing can be appended to it; write the file with "
                f"unlimited_dims=[{append_dim!r}], or also the first part with append_dim"
            )
        spans[append_dim] = slice(len(known), len(known) + dataset.sizes[append_dim])
    for d, span in (region or {}).items():
        if d not in dataset.dims:
            raise ValueError(f"region: {d!r} is no dimension of the dataset{hint(str(d), map(str, dataset.dims))}")
        if span == "auto":
            index = _like(dataset, d, old.indexes[d])
            at = _like(old, d, index).get_indexer(index)
            if len(at) and ((np.diff(at) != 1).any() or at[0] < 0):
                raise ValueError(f"region: {d!r} is not a contiguous range of the file")
            span = slice(int(at[0]), int(at[0]) + len(at)) if len(at) else slice(0, 0)
        start, stop, step = span.indices(old.sizes.get(d, 0))
        if step != 1:
            raise ValueError(f"region: {d!r} has the step {step}, and a region is a run of indices: write run by run")
        if stop - start != dataset.sizes[d]:
            raise ValueError(f"region: {d!r} has {dataset.sizes[d]} values, its region {span} {stop - start}")
        spans[d] = slice(start, stop)
    return spans


def _like(dataset: Any, dim: Any, other: Any) -> Any:
    """The index of a dimension. Where the other index has times of cftime, they are of its calendar."""
    index = dataset.indexes[dim]
    is_foreign = isinstance(other, xr.CFTimeIndex) and getattr(index, "calendar", None) != other.calendar
    if not is_foreign or not (index.dtype.kind == "M" or isinstance(index, xr.CFTimeIndex)):
        return index
    times = dataset[dim].convert_calendar(other.calendar, dim=dim, align_on="date", use_cftime=True)
    return times.indexes[dim]


def _places(dataset: Any, old: Any, spans: Spans, region: Any) -> dict[Any, tuple[slice, ...]]:
    """The target region of each variable. Variables without the dimension are not changed."""
    found: dict[Any, tuple[slice, ...]] = {}
    for name, variable in dataset.variables.items():
        if name not in old.variables:
            like = hint(str(name), map(str, old.variables))
            raise ValueError(f"{name!r} is not in the file: values can be appended to existing variables only{like}")
        there = old.variables[name]
        if there.dims != variable.dims:
            raise ValueError(f"{name!r} has dimensions {variable.dims}, in the file {there.dims}")
        for d, n in variable.sizes.items():
            if d not in spans and there.sizes[d] != n:
                raise ValueError(f"{name!r}: dimension {d!r} is {n} long, in the file {there.sizes[d]}")
        if any(d in spans for d in variable.dims):
            found[name] = tuple(spans.get(d, slice(0, n)) for d, n in variable.sizes.items())
        elif region is not None and name not in dataset.coords:
            raise ValueError(f"{name!r} has no dimension of the region; drop it first")
    return found


def _check_complete(dataset: Any, store: WritingStore, append_dim: Any) -> None:
    """Whether every variable that would grow gets values; the others would have missing ones."""
    of = owner(store.ds, append_dim)
    along = [] if of is None else list(_along(of, append_dim))
    lacking = [name for group, name in along if group.path == store.ds.path and name not in dataset.variables]
    if lacking:
        raise ValueError(
            f"the dataset lacks {', '.join(map(repr, lacking))}, which the file has along {append_dim!r}: its new values would be "
            "missing; add it to the dataset, with missing values if there are no others"
        )
    elsewhere = [f"{group.path.rstrip('/')}/{name}" for group, name in along if group.path != store.ds.path]
    if elsewhere:
        raise ValueError(
            f"append_dim: {', '.join(map(repr, elsewhere))} of other groups would grow along {append_dim!r}, too, and have no values "
            "there; make the dimension longer with `ncforge.Dataset`, then write each group with `region`"
        )


def _along(group: Any, dim: Any) -> Iterator[tuple[Any, Any]]:
    """The variables along a dimension of a group, there and below."""
    yield from ((group, name) for name, v in group.variables.items() if dim in v.dimensions)
    for below in group.groups.values():
        if dim not in below.dimensions:
            yield from _along(below, dim)


def _check_meanings(dataset: Any, old: Any, names: Iterable[Any]) -> None:
    """Whether the file's variables say what values are: numbers would become true or false, and times become numbers."""
    for name in names:
        variable = dataset.variables[name]
        if old.variables[name].dtype.kind == "b" and variable.dtype.kind != "b":
            raise ValueError(
                f"{name!r} is {variable.dtype}, in the file true or false; use `astype(bool)` if that is meant"
            )
        is_time = variable.dtype.kind in "mM" or contains_cftime_datetimes(variable)
        # Bounds of a coordinate have its units.
        if is_time and "units" not in old.variables[name].encoding:
            raise ValueError(
                f"{name!r} has times, in the file numbers without units of time; set the attribute `units` in the file first"
            )


def _encoding(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The encoding of new values of a variable, from that of its values in the file. xarray's encoder takes one value for
    missing ones, of the type that is stored, and rounds floats that are ``_Unsigned``."""
    kind = np.dtype(stored["dtype"])
    kinds = [kind]
    left = {"_FillValue", "missing_value"}
    if kind.kind not in "iu":
        left.add("_Unsigned")
    elif "_Unsigned" in stored:
        # A missing value may be written as stored, or as meant.
        kinds.append(np.dtype(f"{'i' if kind.kind == 'u' else 'u'}{kind.itemsize}"))
    found = {k: stored[k] for k in _VALUE_ENCODING if k in stored and k not in left}
    missing = _missing(stored, kinds)
    return found if missing is None else {**found, "_FillValue": missing}


def _missing(stored: Mapping[str, Any], kinds: list[np.dtype[Any]]) -> Any:
    """The value that missing ones become, of the first of the types: the fill value, else the first of ``missing_value``
    that one of the types can have; ``None`` if there is none."""
    given = [stored[key] for key in ("_FillValue", "missing_value") if key in stored]
    given = [one for value in given for one in (np.ravel(value) if np.ndim(value) else [value])]
    if kinds[0].kind not in "iuf":
        return given[0] if given else None
    for value in map(np.asarray, given):
        for kind in kinds if value.dtype.kind in "iuf" else ():
            with np.errstate(over="ignore", invalid="ignore"):
                cast = value.astype(kind)
            if cast == value or (kind.kind == "f" and np.isfinite(cast) == np.isfinite(value)):
                return cast.astype(kinds[0])[()]
    return None


def _check_undecoded(name: Any, attrs: Mapping[Any, Any], stored: Mapping[Any, Any]) -> None:
    """Whether values that were not decoded are packed as the file's are."""
    for key in ATTRIBUTES["packing"]:
        if key in attrs and (key not in stored or not _is_equal(attrs[key], stored[key])):
            raise ValueError(
                f"{name!r} has the attribute {key} = {attrs[key]}, the file {stored.get(key)}: decode the values"
            )


def _is_equal(one: Any, other: Any) -> bool:
    """Whether values of an attribute are equal, missing ones included."""
    return bool(xr.Variable("i", np.ravel(one)).equals(xr.Variable("i", np.ravel(other))))


def _check_units(name: Any, variable: Any, made: Any, encoding: Mapping[str, Any]) -> None:
    """Whether values are encoded in the units of the file."""
    for key in ("units", "calendar"):
        new = variable.attrs.get(key)
        # In classic formats, text is bytes here.
        new = new.decode() if isinstance(new, bytes) else new
        if new is None or key not in made.ncattrs():
            continue
        there = made.getncattr(key)
        calendar = encoding.get("calendar", "standard")
        if new != there and not (key == "units" and _same_times(new, there, calendar)):
            raise ValueError(
                f"{name!r} cannot be expressed in {there!r}, the units of the file; xarray would use {new!r}"
            )


def _same_times(one: str, other: str, calendar: str) -> bool:
    """Whether two units of time are equal: xarray leaves out a time of midnight where it is given units, and writes it
    where it chooses them itself."""

    def times(units: str) -> Any:
        steps = xr.Variable("step", [0, 1], {"units": units, "calendar": calendar})
        return conventions.decode_cf_variable("step", steps).values

    if " since " not in one or " since " not in other:
        return False
    return bool((times(one) == times(other)).all())


def _check_coordinates(
    dataset: Any, encoded: Mapping[Any, Any], old: Any, spans: Spans, append_dim: Any, allow_overlap: bool
) -> None:
    """Whether coordinates are the file's where they are not appended: values would lie at other places. They are compared as
    they would be read from the file, so that its type and its packing make no difference."""
    for name, variable in dataset.variables.items():
        is_index = variable.dims == (name,)
        if not set(variable.dims) & set(spans):
            there = old.variables[name]
        elif is_index and append_dim is None:
            there = old.variables[name].isel({name: spans[name]})
        elif is_index and not allow_overlap:
            _check_order(name, _read(name, encoded[name]), _plain(old.variables[name].values))
            continue
        else:
            continue
        new = _read(name, encoded[name])
        values = _plain(there.values)
        if append_dim is None and is_index and name in spans:
            # Elements that were never written get their coordinates with their values.
            unset = np.asarray(xr.Variable(there.dims, values).isnull())
            new, values = new[~unset], values[~unset]
        if xr.Variable("i", new.ravel()).equals(xr.Variable("i", values.ravel())):
            continue
        if name in dataset.coords and variable.ndim:
            raise ValueError(
                f"coordinate {name!r} is {_shown(new)}, in the file {_shown(values)}: values would be written to other places "
                f"than the dataset says; select the file's coordinates first (`reindex`, `sortby`), or drop {name!r} if it is wrong"
            )
        warn(f"{name!r} differs from the file's, which is not changed because it has no dimension that is written")


def _check_order(name: Any, new: Any, there: Any) -> None:
    """Whether a coordinate goes on where the file's ends: no value twice, and no earlier one if the file's are in order."""
    again = "; if that is intended, `allow_overlap=True` appends it"
    if not there.size or not new.size:
        return
    if there.dtype.kind in "iufMm" or (there.dtype.kind == "O" and not isinstance(there[0], str | bytes)):
        rises = bool((there[1:] > there[:-1]).all())
        falls = not rises and bool((there[1:] < there[:-1]).all())
        if rises or falls:
            behind = ~(new > there[-1] if rises else new < there[-1])
            if behind.any():
                first = new[np.argmax(behind)]
                raise ValueError(f"{name!r}: {first} does not follow {there[-1]}, with which the file ends{again}")
            return
    known = set(there.tolist())
    for value, shown in zip(new.tolist(), new, strict=True):
        if value in known:
            raise ValueError(f"{name!r}: the file has {shown} already{again}")


def _read(name: Any, encoded: Any) -> Any:
    """Encoded values as they will be read."""
    attrs = {k: v.decode() if isinstance(v, bytes) else v for k, v in encoded.attrs.items()}
    plain = xr.Variable(encoded.dims, encoded.data, attrs, encoded.encoding)
    return _plain(conventions.decode_cf_variable(name, plain).values)


def _plain(values: Any) -> Any:
    """Values with text as Python has it, whatever the file's type of text."""
    values = np.asarray(values)
    return np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values


def _shown(values: Any) -> str:
    """The ends of an array."""
    flat = np.ravel(values)
    return str(flat[0]) if flat.size == 1 else f"{flat[0]} … {flat[-1]}" if flat.size else "empty"
