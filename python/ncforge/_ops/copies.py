"""Copies of several files into a folder: one after the other, or one task for each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._dataset.remote import placed
from ncforge._ops.cluster import each_file
from ncforge._ops.progress import Progress
from ncforge._ops.reports import Path, names
from ncforge.errors import ExistsError, InvalidError, NcforgeError

if TYPE_CHECKING:
    from distributed import Client


def copy_files(
    sources: Iterable[Path], folder: Path, request: dict[str, Any], client: Client | None, report: Progress | None
) -> Iterator[str]:
    """Reports of the copies as JSON, in the order given. The first file that cannot be copied ends the work; copies made
    before it stay.
    """
    paths = names(sources)
    into = placed(folder)
    _check(paths, into, bool(request.get("overwrite") or request.get("resume")))
    results: Iterator[str | NcforgeError]
    if client is None:
        results = (_one(path, into, request) for path in paths)
    else:
        results = each_file(client, _task, paths, into, request, writes=True)
    for done, result in enumerate(results, 1):
        if not isinstance(result, str):
            raise result
        if report is not None:
            report("copy", done, len(paths))
        yield result


def _check(paths: list[str], folder: str, may_exist: bool) -> None:
    if not os.path.isdir(folder):
        raise InvalidError(f"several files are copied into a folder, and `{folder}` is not a folder")
    seen: set[str] = set()
    for path in paths:
        name = os.path.basename(path)
        if name in seen:
            raise InvalidError(f"two files have the same name `{name}`: they cannot both be copied into `{folder}`")
        seen.add(name)
        if not may_exist and os.path.exists(os.path.join(folder, name)):
            raise ExistsError(f"`{os.path.join(folder, name)}` exists; overwrite=True replaces it")


def _one(path: str, folder: str, request: dict[str, Any]) -> str:
    return _core.copy(path, os.path.join(folder, os.path.basename(path)), request, None)


def _task(path: str, folder: str, request: dict[str, Any]) -> str:
    """Copies a file as a task, which may run twice: after the loss of a worker, its output is complete, or partial."""
    request = {
        **request,
        "overwrite": True,
        "threads": request.get("threads") or 1,
        "memory": request.get("memory") or _share(),
    }
    try:
        return _one(path, folder, {**request, "resume": True})
    except InvalidError:
        if request.get("resume"):
            raise
        # The partial output was begun with other options, by an earlier copy.
        return _one(path, folder, request)


def _share() -> str | None:
    """The memory for one of the tasks that this worker runs at a time: half of its limit is for tasks, the rest for Dask."""
    with contextlib.suppress(Exception):  # not a worker, or one without a limit
        from distributed import get_worker

        worker = get_worker()
        limit = worker.memory_manager.memory_limit
        if limit:
            return str(max(limit // (2 * worker.state.nthreads), 64 << 20))
    return None
