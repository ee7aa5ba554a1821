"""``to_netcdf``: datasets, arrays and trees of xarray as files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions
from xarray.backends.common import BytesIOProxy

from ncforge._dataset.remote import is_url
from ncforge._missing import hint
from ncforge._xarray.appending import add
from ncforge._xarray.choosing import Choosing
from ncforge._xarray.chunks import size_of
from ncforge._xarray.dask import Writes, check_sources, closed_after
from ncforge._xarray.writing import WritingStore
from ncforge.errors import InvalidError, UnsupportedCallError

Progress = Callable[[str, int, int], object]

_CODECS = {"none": None, "deflate": "zlib", "zlib": "zlib", "zstd": "zstd", "bzip2": "bzip2"}
_LEVELS = {"zlib": (0, 9), "zstd": (1, 22), "bzip2": (1, 9)}


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
    allow_overlap: bool,
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
    nodes = [node.dataset for node in data.subtree] if isinstance(data, xr.DataTree) else [data]
    _check_chunks(chunks, nodes)
    if not in_memory and mode != "w" and os.path.exists(target):
        # Variables that are appended, or written to a region, have its dimensions; others are only compared.
        grows = {append_dim} if append_dim is not None else set(region) if isinstance(region, Mapping) else None
        for node in nodes:
            check_sources(node.variables, target, grows)
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
        below = store if group is None else store.get_child_store(group)
        if isinstance(data, xr.DataTree):
            _tree(data, below, writes, encoding or {}, unlimited_dims or {}, chunks, write_inherited_coords)
        elif append_dim is not None or region is not None:
            if append_dim is not None and append_dim not in data.dims:
                raise ValueError(
                    f"append_dim={append_dim!r} is no dimension of the dataset{hint(str(append_dim), map(str, data.dims))}"
                )
            if mode == "w" or not below.ds.variables:
                grows = _unlimited(data, unlimited_dims) | {append_dim}
                _dataset(data, below, writes, encoding or {}, grows, chunks)
            elif encoding or chunks is not None:
                raise InvalidError(
                    "appended values are stored like the variables in the file: no encoding and no chunks"
                )
            else:
                _checked(data)
                add(data, below, writes, target, group, append_dim, region, allow_overlap)
        else:
            _dataset(data, below, writes, encoding or {}, unlimited_dims, chunks)
        later = writes.sync(compute=compute)
    except BaseException:
        # There is never a partial file under the final name.
        store.abandon()
        raise
    if not compute:
        return closed_after(later, store)
    store.close()
    if isinstance(target, BytesIOProxy):
        return target.getbuffer()
    if isinstance(target, io.IOBase):
        target.flush()
    return None


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
        raise InvalidError(f"codec is one of {sorted(_CODECS)}, not {codec!r}{hint(str(codec), _CODECS)}")
    name = _CODECS[codec]
    found: dict[str, Any] = {"compression": name, "shuffle": name is not None}
    if level is not None:
        if name is None:
            raise InvalidError("codec='none' has no level")
        low, high = _LEVELS[name]
        if isinstance(level, bool) or not isinstance(level, int | np.integer) or not low <= level <= high:
            raise InvalidError(f"codec={codec!r} has levels {low} to {high}, not {level!r}")
        found["complevel"] = int(level)
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
            if not isinstance(value, str | bytes | Number | np.ndarray | np.number | list | tuple):
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
        if not set(chunks) & set(variable.dims):
            continue
        sizes = tuple(max(1, min(int(chunks.get(d, n)), n)) for d, n in variable.sizes.items())
        variable.encoding.update(chunksizes=sizes, original_shape=variable.shape)
        if name in plain:
            plain[name]["chunksizes"] = sizes
    return dataset, plain


def _check_chunks(chunks: Any, datasets: Iterable[Any]) -> None:
    """Whether chunks are "auto", or lengths of dimensions of the datasets."""
    if chunks is None or chunks == "auto":
        return
    if not isinstance(chunks, Mapping):
        raise InvalidError(f"chunks is 'auto' or lengths by dimension, not {chunks!r}")
    of = list(datasets)
    dims = {str(d) for dataset in of for d in dataset.dims}
    for d, n in chunks.items():
        if str(d) not in dims:
            if any(d in dataset.variables for dataset in of):
                raise InvalidError(
                    f"chunks has lengths by dimension, and {d!r} is a variable: for one variable, give "
                    f"encoding={{{d!r}: {{'chunksizes': …}}}}"
                )
            raise InvalidError(f"chunks: the dataset has no dimension {d!r}{hint(str(d), dims)}")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InvalidError(f"chunks: the length of {d!r} is a number from 1, not {n!r}")


def _dataset(dataset: Any, store: WritingStore, writes: Writes, encoding: Any, unlimited: Any, chunks: Any) -> None:
    _checked(dataset)
    grows = _unlimited(dataset, unlimited)
    dataset, plain = _with_chunks(dataset, encoding, chunks)
    variables, attrs = conventions.encode_dataset_coordinates(dataset)
    unknown = set(plain) - set(variables)
    if unknown:
        like = hint(str(min(unknown, key=str)), map(str, variables))
        raise KeyError(f"encoding for variables that do not exist: {unknown!r}{like}")
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
