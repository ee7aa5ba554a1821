"""``open_mfdataset`` for files that are alike.

``xr.open_mfdataset`` makes a dataset of every file, and joins them: with hundreds of small files nine tenths of the time are
its own, whoever reads. Here files are opened and compared side by side; of those that are alike and follow each other, xarray opens
the first, and all others as one. Then it joins what it opened by its own rules, so that the result is the one of
``xr.open_mfdataset``: what the others have in common is known to be the same, and not guessed. Where that cannot be known, files
are left to xarray one by one.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from functools import partial
from typing import Any

import xarray as xr

from ncforge._xarray.joining import FEWEST, Joined, Unlike, opened
from ncforge._xarray.kinds import Seen, look, runs_of


def open_mfdataset(
    paths: Any,
    chunks: Any,
    combine: str,
    concat_dim: Any,
    combining: dict[str, Any],
    attrs_file: Any,
    options: dict[str, Any],
) -> xr.Dataset | None:
    """The dataset; ``None`` where only xarray knows how. ``combining`` are options of xarray's ``combine_…`` that were given,
    ``options`` those of ``open_dataset``.
    """
    names = _paths(paths)
    dim = _one_dimension(combine, concat_dim)
    if names is None or dim is False or len(names) <= FEWEST or "create_default_indexes" in options:
        return None
    if attrs_file is not None and os.fspath(attrs_file) not in names:
        return None
    group = options.get("group")
    seen = look(names, group)
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
        # xarray says it in its own words, with all files.
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


def _paths(paths: Any) -> list[str] | None:
    """Paths on this machine, in order; ``None`` for what else xarray takes."""
    if isinstance(paths, str):
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
        if not isinstance(name, str) or "://" in name or "::" in name:
            return None
        found.append(name)
    return found


def _one_dimension(combine: str, concat_dim: Any) -> Any:
    """The dimension to join along, ``None`` if coordinates tell it, ``False`` if there are several or another kind."""
    if combine == "by_coords":
        return None if concat_dim is None else False
    if isinstance(concat_dim, list | tuple) and len(concat_dim) == 1:
        concat_dim = concat_dim[0]
    return concat_dim if combine == "nested" and isinstance(concat_dim, str) else False


def _blocks(found: xr.Dataset, pieces: list[tuple[xr.Dataset, Any, tuple[int, ...]]]) -> None:
    """What xarray has spread along the dimension that files follow each other along is put into blocks of a file each."""
    for first, dim, lens in pieces:
        for name, variable in found.variables.items():
            if dim not in variable.dims or variable.chunks is None or name not in first.variables:
                continue
            if dim not in first.variables[name].dims and sum(lens) == found.sizes[dim]:
                found[name].data = variable.chunk({dim: lens}).data
