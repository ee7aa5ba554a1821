"""``to_netcdf``: datasets, arrays and trees of xarray as files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions
from xarray.backends.common import BytesIOProxy

from ncforge._remote import is_url
from ncforge._xarray.choosing import Choosing
from ncforge._xarray.chunks import size_of
from ncforge._xarray.dask import Writes
from ncforge._xarray.writing import Target, WritingStore
from ncforge.errors import InvalidError, UnsupportedCallError

Progress = Callable[[str, int, int], object]

_CODECS = {"none": None, "deflate": "zlib", "zlib": "zlib", "zstd": "zstd", "bzip2": "bzip2"}
_VALUE_ENCODING = (
    "dtype",
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
)
"""The encoding of a variable's values in a file: appended values must be encoded in the same way."""


def to_netcdf(
    data: Any,
    path: Any,
    mode: str,
    format: str | None,
    group: str | None,
    encoding: Mapping[Any, Mapping[str, Any]] | None,
    unlimited_dims: Any,
    compute: bool,
    *,
    append_dim: Hashable | None,
    region: Mapping[str, slice] | str | None,
    chunks: str | Mapping[Any, int] | None,
    for_: str | None,
    expect: str | Mapping[Any, int] | None,
    codec: str | None,
    level: int | None,
    progress: Progress | None,
    memory: str | int | None,
    write_inherited_coords: bool,
    auto_complex: bool | None = None,
) -> Any:
    """See ``ncforge.to_netcdf``."""
    if append_dim is not None and region is not None:
        raise InvalidError("append_dim and region exclude each other: give one")
    chosen = Choosing.of(chunks, for_, expect)
    if chosen is not None:
        chunks = "auto"
    if isinstance(data, xr.DataArray):
        data = _as_dataset(data)
    if isinstance(path, str | os.PathLike):
        # A URL stays one, and is refused as such.
        path = os.fspath(path) if is_url(path) else os.path.abspath(os.path.expanduser(os.fspath(path)))
    target: Any = BytesIOProxy() if path is None else path
    in_memory = not isinstance(target, str)
    if in_memory and not compute:
        raise UnsupportedCallError(
            "to_netcdf() with compute=False is not yet implemented when returning a memoryview or writing to a file "
            "object: leave compute out, or give a path"
        )
    if append_dim is not None or region is not None:
        if in_memory or isinstance(data, xr.DataTree):
            raise InvalidError("append_dim and region are for datasets, and files that have a path")
        mode = "r+" if region is not None or os.path.exists(target) else "w"
    writes = Writes(progress)
    store = WritingStore.open(
        target,
        mode=mode,
        format=format.upper() if format else None,
        memory=None if memory is None else size_of(memory),
        defaults=_defaults(codec, level),
        wrote=writes.wrote,
        choosing=chosen,
        auto_complex=auto_complex,
    )
    try:
        if isinstance(data, xr.DataTree):
            _tree(data, store, writes, encoding or {}, unlimited_dims or {}, chunks, write_inherited_coords)
        elif append_dim is not None or region is not None:
            below = store if group is None else store.get_child_store(group)
            _add(data, below, writes, target, group, encoding, append_dim, region, chunks, mode == "w", unlimited_dims)
        else:
            below = store if group is None else store.get_child_store(group)
            _dataset(data, below, writes, encoding or {}, unlimited_dims, chunks)
        later = writes.sync(compute=compute)
    except BaseException:
        # There is never a partial file under the final name.
        store.abandon()
        raise
    if not compute and later is not None:
        import dask

        return dask.delayed(_finish)(later, dask.delayed(_Held(store), traverse=False))
    store.close()
    if isinstance(target, BytesIOProxy):
        return target.getbuffer()
    if isinstance(target, io.IOBase):
        target.flush()
    return None


class _Held:
    """Hides a store from Dask, which would inspect it."""

    def __init__(self, store: WritingStore) -> None:
        self.store = store


def _finish(_: Any, held: _Held) -> None:
    held.store.close()


def _as_dataset(array: Any) -> Any:
    """An array as a dataset of one variable, named as ``DataArray.to_netcdf`` does."""
    if array.name is None:
        return array.to_dataset(name="__xarray_dataarray_variable__")
    if array.name in array.coords or array.name in array.dims:
        dataset = array.to_dataset(name="__xarray_dataarray_variable__")
        dataset.attrs["__xarray_dataarray_name__"] = array.name
        return dataset
    return array.to_dataset()


def _defaults(codec: str | None, level: int | None) -> dict[str, Any]:
    if codec is None:
        if level is not None:
            raise InvalidError("a level needs a codec")
        return {}
    if codec not in _CODECS:
        raise InvalidError(f"codec is one of {sorted(_CODECS)}, not {codec!r}")
    found: dict[str, Any] = {"compression": _CODECS[codec], "shuffle": True}
    if level is not None:
        found["complevel"] = level
    return found


def _checked(dataset: Any) -> None:
    """The checks that xarray makes before it writes."""
    for name in dataset.variables:
        if not isinstance(name, str):
            raise TypeError(f"a variable's name is text, not {name!r}")
        if not name:
            raise ValueError(f"Invalid name {name!r} for DataArray or Dataset key: it is empty")
    for of in (dataset, *dataset.variables.values()):
        for key, value in of.attrs.items():
            if not isinstance(key, str) or not key:
                raise (ValueError if key == "" else TypeError)(f"Invalid name for attr: {key!r} must be text")
            if not isinstance(value, str | bytes | int | float | np.ndarray | np.number | list | tuple) or isinstance(
                value, bool
            ):
                raise TypeError(
                    f"Invalid value for attr {key!r}: {value!r}. For serialization to netCDF files, its value must be "
                    "of one of the following types: str, bytes, Number, ndarray, number, list, tuple"
                )


def _unlimited(dataset: Any, given: Any) -> set[Any]:
    if given is None:
        return set(dataset.encoding.get("unlimited_dims") or ()) & set(dataset.dims)
    wanted = {given} if isinstance(given, str) or not isinstance(given, Iterable) else set(given)
    unknown = wanted - set(dataset.dims)
    if unknown:
        raise ValueError(f"unlimited dimension(s) {unknown!r} are not part of the dataset")
    return wanted


def _with_chunks(dataset: Any, encoding: Mapping[Any, Mapping[str, Any]], chunks: Any) -> tuple[Any, dict[Any, Any]]:
    """The dataset and its encodings with the requested chunk sizes."""
    plain = {name: dict(e) for name, e in encoding.items()}
    if chunks is None:
        return dataset, plain
    dataset = dataset.copy()
    for name, variable in dataset.variables.items():
        if "chunksizes" in plain.get(name, {}):
            continue
        variable.encoding = {k: v for k, v in variable.encoding.items() if k not in ("chunksizes", "contiguous")}
        if chunks == "auto" or not variable.dims or name in dataset.xindexes:
            continue
        if isinstance(chunks, str):
            raise InvalidError(f"chunks is 'auto' or lengths by dimension, not {chunks!r}")
        if not set(chunks) & set(variable.dims):
            continue
        sizes = tuple(max(1, min(int(chunks.get(d, n)), n)) for d, n in variable.sizes.items())
        variable.encoding.update(chunksizes=sizes, original_shape=variable.shape)
        if name in plain:
            plain[name]["chunksizes"] = sizes
    return dataset, plain


def _dataset(dataset: Any, store: WritingStore, writes: Writes, encoding: Any, unlimited: Any, chunks: Any) -> None:
    _checked(dataset)
    grows = _unlimited(dataset, unlimited)
    dataset, plain = _with_chunks(dataset, encoding, chunks)
    variables, attrs = conventions.encode_dataset_coordinates(dataset)
    unknown = set(plain) - set(variables)
    if unknown:
        raise KeyError(f"encoding for variables that do not exist: {unknown!r}")
    for name, of in plain.items():
        variables[name].encoding = of
    store.store(variables, attrs, set(plain), writes, unlimited_dims=grows)


def _tree(
    tree: Any, store: WritingStore, writes: Writes, encoding: Any, unlimited: Any, chunks: Any, inherited: bool
) -> None:
    for what in (encoding, unlimited):
        if set(what) - set(tree.groups):
            raise ValueError(f"unexpected encoding group name(s) provided: {set(what) - set(tree.groups)}")
    for node in tree.subtree:
        dataset = node.to_dataset(inherit=inherited or node is tree)
        below = store if node is tree else store.get_child_store(node.relative_to(tree))
        _dataset(dataset, below, writes, encoding.get(node.path) or {}, unlimited.get(node.path), chunks)


def _add(
    dataset: Any,
    store: WritingStore,
    writes: Writes,
    path: str,
    group: str | None,
    encoding: Any,
    append_dim: Any,
    region: Any,
    chunks: Any,
    is_new: bool,
    unlimited: Any,
) -> None:
    """Appends along a dimension, or writes a region, of existing variables."""
    if append_dim is not None and append_dim not in dataset.dims:
        raise ValueError(f"append_dim={append_dim!r} is no dimension of the dataset")
    if is_new or not store.ds.variables:
        grows = _unlimited(dataset, unlimited) | {append_dim}
        return _dataset(dataset, store, writes, encoding or {}, grows, chunks)
    if encoding or chunks is not None:
        raise InvalidError("appended values are stored like the variables in the file: no encoding and no chunks")
    _checked(dataset)
    with xr.open_dataset(path, engine="ncforge", group=group, decode_coords=False, auto_complex=True) as old:
        places = _places(dataset, old, store, append_dim, region)
        dataset = dataset[[name for name in dataset.variables if name in places]]
        for name, variable in dataset.variables.items():
            stored = old.variables[name].encoding
            variable.encoding = {k: stored[k] for k in _VALUE_ENCODING if k in stored}
    variables, _ = conventions.encode_dataset_coordinates(dataset)
    encoded, _ = store.encode({name: v for name, v in variables.items() if name in places}, {})
    for name, variable in encoded.items():
        made = store.ds.variables[name]
        for key in ("units", "calendar"):
            new = variable.attrs.get(key)
            # In classic formats, text is bytes here.
            new = new.decode() if isinstance(new, bytes) else new
            if new is None or key not in made.ncattrs():
                continue
            there = made.getncattr(key)
            calendar = dataset.variables[name].encoding.get("calendar", "standard")
            if new != there and not (key == "units" and _same_times(new, there, calendar)):
                raise ValueError(
                    f"{name!r} cannot be expressed in {there!r}, the units of the file; xarray would use {new!r}"
                )
        source, place = variable.data, places[name]
        if len(place) < made.ndim:
            # Text as characters: with the width in the file.
            width = made.shape[-1]
            if source.shape[-1] > width:
                raise ValueError(f"{name!r}: text of {source.shape[-1]} bytes, the file has space for {width}")
            place = (*place, slice(0, source.shape[-1]))
        writes.add(source, Target(made, writes.wrote), place)
    return None


def _same_times(one: str, other: str, calendar: str) -> bool:
    """Whether two units of time are equal: xarray leaves out a time of midnight where it is given units, and writes it
    where it chooses them itself."""

    def times(units: str) -> Any:
        steps = xr.Variable("step", [0, 1], {"units": units, "calendar": calendar})
        return conventions.decode_cf_variable("step", steps).values

    if " since " not in one or " since " not in other:
        return False
    return bool((times(one) == times(other)).all())


def _places(dataset: Any, old: Any, store: WritingStore, append_dim: Any, region: Any) -> dict[Any, tuple[slice, ...]]:
    """The target region of each variable. Variables without the dimension are not changed."""
    if region == "auto":
        region = {d: "auto" for d in dataset.dims if d in dataset.coords}
    spans: dict[Any, slice] = {}
    if append_dim is not None:
        known = store.ds.dimensions.get(append_dim)
        if known is None or not known.isunlimited():
            raise ValueError(f"dimension {append_dim!r} is not unlimited in the file: nothing can be appended to it")
        spans[append_dim] = slice(len(known), len(known) + dataset.sizes[append_dim])
    for d, span in (region or {}).items():
        if d not in dataset.dims:
            raise ValueError(f"region: {d!r} is no dimension of the dataset")
        if span == "auto":
            at = old.indexes[d].get_indexer(dataset.indexes[d])
            if len(at) and ((np.diff(at) != 1).any() or at[0] < 0):
                raise ValueError(f"region: {d!r} is not a contiguous range of the file")
            span = slice(int(at[0]), int(at[0]) + len(at)) if len(at) else slice(0, 0)
        start, stop, step = span.indices(old.sizes.get(d, 0))
        if step != 1 or stop - start != dataset.sizes[d]:
            raise ValueError(f"region: {d!r} has {dataset.sizes[d]} values, its region {span} {stop - start}")
        spans[d] = slice(start, stop)
    found: dict[Any, tuple[slice, ...]] = {}
    for name, variable in dataset.variables.items():
        if name not in old.variables:
            raise ValueError(f"{name!r} is not in the file: values can be appended to existing variables only")
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
