"""The parts of a measurement: contestants, rows, files, results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Fields of a request. A value that can be called is what it gives when the files are there.
Fields = dict[str, Any]


@dataclass(frozen=True)
class FileSpec:
    """A file that is read: one variable ``v`` of a kind of data, or for ``kind="many"`` a thousand of them; for
    ``kind="series"``, ``"maps"`` and ``"maps-auto"`` a folder of files."""

    path: Path
    kind: str
    shape: tuple[int, ...]
    format: str = "netcdf4"
    chunks: tuple[int, ...] | None = None
    deflate: int = 0
    # The backend that writes it. What ncforge wrote is made anew in every run, for its code may have changed.
    writer: str = "netCDF4"
    # Whether the first dimension is unlimited, and the file is written record by record.
    records: bool = False
    # Removed as soon as no further row needs it.
    temporary: bool = False

    def layout(self) -> Fields:
        """The fields of a `write` request that describe it."""
        return {
            "format": self.format,
            "shape": ",".join(map(str, self.shape)),
            "chunks": ",".join(map(str, self.chunks or ())),
            "deflate": self.deflate,
            "shuffle": int(self.deflate > 0),
            "records": int(self.records),
        }


@dataclass(frozen=True)
class Entry:
    """One contestant of a row: a worker and what it is asked."""

    backend: str
    fields: Fields
    # The name in results, if not the library's.
    label: str | None = None
    # Its version, if the worker does not give it.
    version: str | None = None
    # Memory budget in bytes (ncforge).
    memory: int | None = None
    # The command that it runs, if it is one that not every system has.
    tool: str | None = None
    # The file that it makes; removed before and after every run.
    output: Path | None = None
    # Ways to set it up, of which the quickest is found first and then measured.
    choices: tuple[Fields, ...] = ()


@dataclass(frozen=True)
class Peer:
    """A contestant and the ratio that ncforge shall reach against it (``None``: for information)."""

    entry: Entry
    target: float | None = None
    # Targets for bytes of the output file (`size`) and for peak memory (`peak`) of commands.
    size_target: float | None = None
    peak_target: float | None = None


@dataclass(frozen=True)
class Row:
    """Work that several contestants do, in turn."""

    name: str
    threads: int
    ours: Entry
    peers: tuple[Peer, ...]
    files: tuple[FileSpec, ...] = ()
    unit: str = "s"
    # The divisor of a time: the "task", the reads that were done ("read"), or for a sweep that may be cut short the
    # share of all its reads that was done ("sweep").
    per: str = "task"
    reads: int = 1
    # The kind and shape whose values every contestant must have read or written.
    expected: tuple[str, tuple[int, ...]] | None = None
    # Fields added to the requests that check values; `None` for work that has no values to check.
    check: Fields | None = field(default_factory=dict)
    # True if the row makes sense with files evicted from the page cache.
    cold: bool = False
    # At most so many rounds, for rows of which there are many.
    rounds: int | None = None
    # Whether sizes of output files are compared.
    sizes: bool = False
    # Bytes of decoded chunks that contestants hold at once: memory for them is made ready before each run.
    holds: int = 0
    # Whether each run has a process of its own, which does nothing else.
    fresh: bool = False

    def key(self, cold: bool) -> str:
        """The unique name of the row: rows of one name differ in who takes part."""
        return f"{self.name} {self.ours.backend} {self.threads} {'cold' if cold else 'warm'}"


@dataclass
class Result:
    """One comparison of medians. ``ratio`` is peer ÷ ours: above 1, ncforge is better."""

    name: str
    unit: str
    ours: float
    peer: float
    peer_name: str
    peer_version: str
    ratio: float
    threads: int
    cache: str
    rounds: int
    target: float | None = None
    met: bool | None = None
    # Which row it belongs to, see `Row.key`.
    row: str = ""
    # The ratio by processor time of all threads, which other load disturbs less.
    ratio_cpu: float | None = None
    # The smallest values, which other load disturbs less, too, and their ratio.
    ours_least: float | None = None
    peer_least: float | None = None
    ratio_least: float | None = None
    ours_name: str = "ncforge"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
