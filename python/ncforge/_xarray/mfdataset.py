"""``open_mfdataset`` for files that are alike.

``xr.open_mfdataset`` makes a dataset of every file, and joins them: with hundreds of small files nine tenths of the time are
spent in xarray, with any engine. Here files are opened and compared in parallel; of consecutive files that are alike, xarray
opens the first, and all others as one. Then it joins these by its own rules, so that the result is that of
``xr.open_mfdataset``: it is verified, not assumed, that the other files are alike. Where this cannot be verified, xarray opens
the files one by one.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import xarray as xr

from ncforge._core import glob_urls
from ncforge._dataset.remote import Access, access, is_url
from ncforge._missing import arguments_of
from ncforge._xarray.joining import FEWEST, Joined, Unlike, opened
from ncforge._xarray.kinds import Seen, compare, runs_of


def known_options(engine: Callable[..., Any]) -> set[str]:
    """The arguments that ``open_mfdataset`` passes to ``open_dataset``, and its own."""
    # Those of xarray's functions, and of the engine's method.
    return {name for of in (xr.open_mfdataset, xr.open_dataset, engine) for name in arguments_of(of)}


def open_mfdataset(
    paths: Any,
    chunks: Any,
    combine: str,
    concat_dim: Any,
    combining: dict[str, Any],
    attrs_file: Any,
    options: dict[str, Any],
) -> xr.Dataset | None:
    """The dataset; ``None`` where xarray must open the files. ``combining`` are the given options of xarray's ``combine_…``,
    ``options`` those of ``open_dataset``.
    """
    how = access(options.get("storage_options"))
    names = _paths(paths, how)
    dim = _one_dimension(combine, concat_dim)
    if names is None or dim is False or len(names) <= FEWEST or "create_default_indexes" in options:
        return None
    remote = is_url(names[0])
    if "store" in options or not options.get("follow", True) or any(is_url(name) != remote for name in names):
        return None
    if attrs_file is not None and os.fspath(attrs_file) not in names:
        return None
    group = options.get("group")
    seen = compare(names, group, how if remote else None)
    if seen is None:
        return None
    runs = runs_of(seen, combine)
    if runs is None:
        return None
    opening = partial(opened, chunks=chunks, options=options)
    joined = [_joined(run, dim, group, combining, opening, options) for run in runs]
    if not any(joined):
        return None
    datasets: list[xr.Dataset] = []
    pieces: list[tuple[xr.Dataset, Any, tuple[int, ...]]] = []
    for run, one in zip(runs, joined, strict=True):
        if one is None:
            datasets += [opening(file.path) for file in run]
        else:
            datasets += one.datasets
            pieces.append((one.datasets[0], one.dim, one.lens))
    found: Any
    try:
        if combine == "nested":
            found = xr.combine_nested(datasets, concat_dim=dim, **combining)
        else:
            found = xr.combine_by_coords(datasets, **combining)
    except ValueError:
        # xarray raises its own error, with all files.
        return None
    _blocks(found, pieces)
    found.set_close(partial(_close, [d._close for d in datasets]))
    if attrs_file is not None:
        found.attrs = opened(os.fspath(attrs_file), chunks=None, options=options).attrs
    joined_set: xr.Dataset = found
    return joined_set


def _joined(run: list[Seen], *how: Any) -> Joined | None:
    try:
        return Joined(run, *how)
    except Unlike:
        return None


def _close(closers: list[Any]) -> None:
    for close in closers:
        if close is not None:
            close()


def expanded(paths: Any, storage_options: Any) -> Any:
    """A URL, or a pattern of URLs, as the list that xarray wants; all else as it is."""
    if not is_url(paths):
        return paths
    found = _urls(paths, access(storage_options))
    if not found:
        raise OSError(f"no files to open: nothing matches {paths!r}")
    return found


def _urls(pattern: str, how: Access) -> list[str]:
    return glob_urls(pattern, how[0], dict(how[1]))


def _paths(paths: Any, how: Access) -> list[str] | None:
    """Paths or URLs, in order; ``None`` for other sources that xarray accepts."""
    if isinstance(paths, str):
        if is_url(paths):
            return _urls(paths, how)
        if "://" in paths or "::" in paths:
            return None
        return sorted(glob.glob(os.path.abspath(os.path.expanduser(paths))))
    if isinstance(paths, os.PathLike) or not isinstance(paths, Iterable):
        return None
    found = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            return None
        name = os.fspath(path)
        if not isinstance(name, str) or (("://" in name or "::" in name) and not is_url(name)):
            return None
        found.append(name)
    return found


def _one_dimension(combine: str, concat_dim: Any) -> Any:
    """The dimension to join along, ``None`` if coordinates define it, ``False`` if there are several or another kind."""
    if combine == "by_coords":
        return None if concat_dim is None else False
    if isinstance(concat_dim, list | tuple) and len(concat_dim) == 1:
        concat_dim = concat_dim[0]
    return concat_dim if combine == "nested" and isinstance(concat_dim, str) else False


def _blocks(found: xr.Dataset, pieces: list[tuple[xr.Dataset, Any, tuple[int, ...]]]) -> None:
    """Splits variables that xarray has broadcast along the joined dimension into one block for each file."""
    for first, dim, lens in pieces:
        for name, variable in found.variables.items():
            if dim not in variable.dims or variable.chunks is None or name not in first.variables:
                continue
            if dim not in first.variables[name].dims and sum(lens) == found.sizes[dim]:
                found[name].data = variable.chunk({dim: lens}).data
