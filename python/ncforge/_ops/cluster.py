"""Work on a cluster of Dask ``distributed``: one task for each file, or groups of output chunks of one huge file.

For one file, this process plans the copy and writes the output. Workers read, convert and encode groups of whole
chunks. Each group is a task that depends only on the source and the plan, so that a group whose worker was lost is
encoded again by another. Groups are written in the order in which they lie in the file, and only as many are submitted
ahead as the workers need to stay busy: memory stays bounded, and the output's bytes are those of one process.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ncforge._core import Encoder
from ncforge._dataset.remote import placed
from ncforge.errors import InvalidError, NcforgeError

if TYPE_CHECKING:
    from distributed import Client, Future

_GROUP_BYTES = 32 << 20
"""Bytes of values of a task: large enough that a task's overhead (milliseconds) is negligible, small enough that several
tasks can wait on every worker."""
_AHEAD = 3
"""Groups submitted ahead for every thread of the cluster: one that runs, two that wait to be fetched."""
_MOST_ENCODERS = 4
"""Plans that a worker caches at a time."""

Group = tuple[int, int, int]
"""Variable, box, group."""
Chunks = list[tuple[bytes, int] | None]


class _Job(NamedTuple):
    """Everything that a worker needs for its part of a copy."""

    key: str
    sources: tuple[str, ...]
    output: str | None
    """Options of a combination; ``None``: a copy."""
    request: dict[str, Any]
    ticket: str


_encoders: OrderedDict[str, Encoder] = OrderedDict()
_lock = threading.Lock()


def _encoder(job: _Job) -> Encoder:
    # One thread plans, the others of this worker wait for it.
    with _lock:
        known = _encoders.get(job.key)
        if known is None:
            if job.output is None:
                known = Encoder.for_copy(job.sources[0], job.request, job.ticket, 1)
            else:
                known = Encoder.for_combine(list(job.sources), job.output, job.request, job.ticket, 1)
            _encoders[job.key] = known
            while len(_encoders) > _MOST_ENCODERS:
                _encoders.popitem(last=False)
        _encoders.move_to_end(job.key)
        return known


def _encode(job: _Job, group: Group) -> Chunks:
    """A task: the chunks of a group."""
    return _encoder(job).group(group)


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """The block waits for tasks. If a task runs it, they get its thread: they may have no other one."""
    from distributed import rejoin, secede

    try:
        secede()
    except (AttributeError, KeyError, ValueError):
        # No task, or the thread is theirs already.
        yield
        return
    try:
        yield
    finally:
        rejoin()


class Encoding:
    """Supplies the writer with encoded chunks: it calls ``begin`` once, then ``group`` for one group after the other."""

    group_bytes = _GROUP_BYTES

    def __init__(self, client: Client, sources: Sequence[str], output: str | None, request: dict[str, Any]) -> None:
        _check(client)
        self._client = client
        # Only the writer needs to know whether the output may be replaced.
        self._job = _Job(f"ncforge-encode-{os.urandom(16).hex()}", tuple(sources), output, request, "")
        self._todo: deque[Group] = deque()
        self._asked: deque[tuple[Group, Future]] = deque()

    def begin(self, ticket: str, groups: list[Group]) -> None:
        """The writer's plan, and the groups that it may request, in this order."""
        job = self._job
        self._job = _Job(job.key, job.sources, job.output, job.request, ticket)
        self._todo = deque(groups)

    def group(self, group: Group) -> Chunks:
        """The chunks of a group; waits until they are ready. Earlier groups are not requested any more."""
        while self._asked and self._asked[0][0] != group:
            self._asked.popleft()[1].cancel()
        if not self._asked:
            while self._todo and self._todo[0] != group:
                self._todo.popleft()
        self._ask()
        if not self._asked:
            raise InvalidError(f"group {group} was requested out of order")
        found: Chunks = self._asked[0][1].result()
        # Only now: as long as it exists, its worker holds the result, and no further group is submitted.
        self._asked.popleft()[1].release()
        self._ask()
        return found

    def _ask(self) -> None:
        """Submits groups ahead. The cluster may have grown or shrunk."""
        threads = sum(self._client.nthreads().values())
        while self._todo and len(self._asked) < _AHEAD * max(threads, 1):
            group = self._todo.popleft()
            key = f"{self._job.key}-{'-'.join(map(str, group))}"
            self._asked.append((group, self._client.submit(_encode, self._job, group, key=key, retries=2)))

    def close(self) -> None:
        """No further groups are requested."""
        self._todo.clear()
        while self._asked:
            self._asked.popleft()[1].cancel()


@contextlib.contextmanager
def encoding(
    client: Client | None, sources: Sequence[str], output: str | None, request: dict[str, Any]
) -> Iterator[Encoding | None]:
    """What encodes the chunks of a copy (``output`` is ``None``) or a combination on a cluster, for a block; ``None`` without a client."""
    if client is None:
        yield None
        return
    there = Encoding(client, [placed(name) for name in sources], None if output is None else placed(output), request)
    with waiting(), contextlib.closing(there):
        yield there


def each_file(
    client: Client, work: Callable[..., str], names: Sequence[str], *rest: Any, writes: bool = False
) -> Iterator[str | NcforgeError]:
    """Results of ``work(absolute path, *rest)`` for every file, one task for each, in the order given. An error of ncforge
    is a result, like any other.
    """
    _check(client)
    label = f"ncforge-{work.__name__.strip('_')}-{os.urandom(16).hex()}"
    paths = [placed(n) for n in names]
    futures = [
        client.submit(_or_error, work, path, *rest, key=f"{label}-{i}", pure=not writes) for i, path in enumerate(paths)
    ]
    try:
        for future in futures:
            with waiting():
                result: str | NcforgeError = future.result()
            yield result
            future.release()
    finally:
        for future in futures:
            if not future.done():
                future.cancel()


def _or_error(work: Callable[..., str], *arguments: Any) -> str | NcforgeError:
    try:
        return work(*arguments)
    except NcforgeError as error:
        return error


def _check(client: Any) -> None:
    if getattr(client, "asynchronous", False):
        raise InvalidError("the client is asynchronous: pass one that was made without asynchronous=True")
    if not hasattr(client, "submit"):
        raise TypeError(f"client is a distributed.Client, not {type(client).__name__}")
