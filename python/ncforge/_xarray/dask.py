"""Writing Dask arrays: block by block, aligned with the file's chunks, from one process."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

from xarray.backends.common import ArrayWriter
from xarray.backends.locks import get_dask_scheduler

from ncforge._dataset.handle import FileHandle
from ncforge._xarray.array import NcforgeArray
from ncforge._xarray.many import ManyArray
from ncforge.errors import InvalidError, UnsupportedCallError

Region = tuple[slice, ...] | None
_BATCH = 256 << 20
"""Bytes of blocks that are computed at a time if workers are processes on this machine."""
_FETCHED = 64 << 20
"""Bytes of blocks that are fetched from a cluster at a time, while as many are written."""


def check_sources(variables: Mapping[Any, Any], path: str, grows: set[Any] | None = None) -> None:
    """Of values that are computed from the file while it is written, some would be those that are in it then. With ``grows``, only what has
    one of these dimensions is written."""
    for name, variable in variables.items():
        is_written = grows is None or grows & set(variable.dims)
        if is_written and variable.chunks and _reads_from(variable.data, path):
            raise InvalidError(
                f"`{name}` would be computed from `{path}` while this file is written: call `.load()` on it first, or write "
                "another file"
            )


def _reads_from(source: Any, path: str) -> bool:
    """Whether the blocks of a Dask array are read from this file when they are computed."""
    graph = getattr(source, "dask", {})
    layers = getattr(graph, "layers", None)
    parts = [graph] if layers is None else layers.values()
    return any(_is_of(value, path) for part in parts for value in _literals(part))


def _literals(part: Any) -> Iterable[Any]:
    """The literals of a layer of a graph, without the tasks that it would be cut into."""
    indices = getattr(part, "indices", None)
    return dict(part).values() if indices is None else [value for value, index in indices if index is None]


def _is_of(value: Any, path: str) -> bool:
    while not isinstance(value, NcforgeArray | ManyArray):
        parts = getattr(value, "args", value)
        if isinstance(parts, dict):
            parts = list(parts.values())
        if isinstance(parts, list | tuple):
            return any(_is_of(part, path) for part in parts)
        # Dask's nodes of data, and xarray's wrappers of lazy arrays.
        inner = next((getattr(value, name) for name in ("array", "value") if hasattr(value, name)), None)
        if inner is None:
            return False
        value = inner
    with contextlib.suppress(OSError):
        return any(isinstance(h, FileHandle) and os.path.samefile(h.path, path) for h in value.handles)
    return False


def aligned(lengths: Sequence[int], chunk: int, start: int) -> tuple[int, ...]:
    """Block lengths along one dimension, such that every boundary is one of the file's chunks too. ``start`` is the
    position of the first block in the file. Blocks do not become longer than they were, unless a chunk is longer.

    >>> aligned((10, 10, 10), 4, 0)
    (8, 8, 8, 6)
    >>> aligned((10, 10, 10), 4, 3)
    (5, 8, 8, 8, 1)
    >>> aligned((3, 3), 5, 0)
    (5, 1)
    """
    total = sum(lengths)
    step = max(1, max(lengths, default=1) // chunk) * chunk
    out: list[int] = []
    at = 0
    while at < total:
        # To the end of the last chunk that the step reaches.
        end = (start + at + step) // chunk * chunk - start
        out.append(min(max(end, at + 1), total) - at)
        at += out[-1]
    return tuple(out) or tuple(lengths)


def align(source: Any, chunks: Sequence[int] | None, region: Region) -> Any:
    """A Dask array whose blocks are whole chunks of the file, except at the ends."""
    if not chunks:
        return source
    starts = [0] * source.ndim if region is None else [r.start or 0 for r in region]
    wanted = tuple(aligned(c, n, s) for c, n, s in zip(source.chunks, chunks, starts, strict=True))

    def crosses(lengths: Sequence[int], chunk: int, start: int) -> bool:
        at = start
        for n in lengths[:-1]:
            at += n
            if at % chunk:
                return True
        return False

    crossing = any(crosses(c, n, s) for c, n, s in zip(source.chunks, chunks, starts, strict=True))
    return source.rechunk(wanted) if crossing else source


class Writes(ArrayWriter):
    """Collects arrays, and writes them at the end: arrays in memory, then Dask arrays by region."""

    def __init__(self, progress: Callable[[str, int, int], object] | None = None) -> None:
        super().__init__()
        self._plain: list[tuple[Any, Any, Region]] = []
        self._progress = progress
        self._done = 0
        self._total = 0

    def add(self, source: Any, target: Any, region: Region = None) -> None:
        """Adds an array and its target."""
        self._total += source.nbytes
        if hasattr(source, "dask"):
            self.sources.append(align(source, target.chunks, region))
            self.targets.append(target)
            self.regions.append(region)
        else:
            self._plain.append((source, target, region))

    def wrote(self, bytes_: int) -> None:
        """Reports progress after ``bytes_`` bytes were written."""
        self._done += bytes_
        if self._progress is not None:
            self._progress("write", min(self._done, self._total), self._total)

    def sync(self, compute: bool = True, chunkmanager_store_kwargs: Any = None) -> Any:
        """Writes. Without ``compute``, Dask arrays are not computed yet."""
        if self._progress is not None:
            self._progress("write", 0, self._total)
        for source, target, region in self._plain:
            target[... if region is None else region] = source
        self._plain = []
        if not self.sources:
            return None
        if get_dask_scheduler() in ("distributed", "multiprocessing"):
            if not compute:
                raise UnsupportedCallError(
                    "with compute=False, workers would write, but an open file cannot be sent to them: leave it out (this "
                    "process writes what the workers compute), or use it with dask.config.set(scheduler='threads')"
                )
            self._from_here()
            return None
        return super().sync(compute=compute, chunkmanager_store_kwargs=chunkmanager_store_kwargs)

    def _from_here(self) -> None:
        """Blocks are computed by other processes, and written by this one as they arrive."""
        from dask.array.core import slices_from_chunks

        blocks, places = [], []
        for source, target, region in zip(self.sources, self.targets, self.regions, strict=True):
            starts = [0] * source.ndim if region is None else [r.start or 0 for r in region]
            blocks += list(source.to_delayed().ravel())
            for block in slices_from_chunks(source.chunks):
                at = tuple(slice(b.start + s, b.stop + s) for b, s in zip(block, starts, strict=True))
                size = math.prod(b.stop - b.start for b in block) * source.dtype.itemsize
                places.append((target, at if at else ..., size))
        self.sources, self.targets, self.regions = [], [], []
        if get_dask_scheduler() == "distributed":
            _as_they_come(blocks, places)
        else:
            _batch_by_batch(blocks, places)


class Abandonable:
    """A file that is being written, as a part of tasks."""

    __slots__ = ()

    def abandon(self) -> None:
        """Closes the file without completing it."""
        raise NotImplementedError


class _Held(Abandonable):
    """Hides a store from Dask, which would inspect it."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def abandon(self) -> None:
        self.store.abandon()


def _close(_: Any, held: _Held) -> None:
    held.store.close()


def closed_after(later: Any, store: Any) -> Any:
    """A computation, and then the end of the file into which it writes."""
    import dask

    abandon_after_errors()
    return dask.delayed(_close)(later, dask.delayed(_Held(store), traverse=False))


def abandon_after_errors() -> None:
    """From now on, a computation of this process that fails abandons the files that its last tasks would have closed. Else they
    would be locked for as long as anyone keeps the exception, whose frames hold the tasks."""
    from dask.callbacks import Callback

    # Dask keeps a set of them.
    Callback.active.add((None, None, None, None, _ended))


def _ended(tasks: Mapping[Any, Any], _state: Any, failed: bool) -> None:
    for task in tasks.values() if failed else ():
        for part in (getattr(task, "value", None), *getattr(task, "args", ())):
            if isinstance(part, Abandonable):
                part.abandon()


def _as_they_come(blocks: list[Any], places: list[Any]) -> None:
    """Blocks are written while further ones are computed and fetched."""
    from distributed import as_completed, default_client

    from ncforge._ops.cluster import waiting

    client = default_client()
    futures = client.compute(blocks)
    where: dict[Any, list[int]] = {}
    for i, future in enumerate(futures):
        where.setdefault(future.key, []).append(i)
    # Not with_results: a result that is lost on its way would be waited for without end.
    finished = as_completed([futures[i[0]] for i in where.values()])
    del futures

    def check(batch: list[Any]) -> None:
        if any(future.cancelled() or future.key not in client.futures for future in batch):
            raise CancelledError("results were cancelled before they were fetched")

    def fetch() -> list[tuple[Any, Any]]:
        batch, size = list(itertools.islice(finished, 1)), 0
        while batch and size < _FETCHED and finished.has_ready():
            size += places[where[batch[-1].key][0]][2]
            batch.append(next(finished))
        check(batch)
        try:
            return list(zip(batch, client.gather(batch), strict=True))
        except AttributeError:
            # What distributed raises for a result that was there, and was given up meanwhile.
            check(batch)
            raise

    with waiting(), ThreadPoolExecutor(1) as pool:
        coming = pool.submit(fetch)
        try:
            while fetched := coming.result():
                coming = pool.submit(fetch)
                for future, values in fetched:
                    for i in where[future.key]:
                        target, at, _ = places[i]
                        target[at] = values
                    # The worker releases it.
                    future.release()
        finally:
            # After an error, nobody waits for the rest: without its future, a task is given up.
            finished.clear()


def _batch_by_batch(blocks: list[Any], places: list[Any]) -> None:
    import dask

    first = 0
    while first < len(blocks):
        last, size = first, 0
        while last < len(blocks) and (last == first or size + places[last][2] <= _BATCH):
            size += places[last][2]
            last += 1
        for (target, at, _), values in zip(places[first:last], dask.compute(*blocks[first:last]), strict=True):
            target[at] = values
        first = last
