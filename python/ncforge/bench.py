"""Measuring reads: ``ncforge bench access`` and ``ncforge bench chunks`` as functions.

>>> from ncforge import bench
>>> bench.access(["before.nc", "after.nc"], cold=True).plot()  # doctest: +SKIP

(``bench io`` and ``bench records`` start processes of their own, and are available on the command line only.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, names, only, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AccessFile", "AccessReport", "AccessRow", "ChunksReport", "ChunksRow", "Summary", "access", "chunks"]


@dataclass(frozen=True)
class Summary:
    """Repetitions of one measurement, in seconds."""

    min: float
    median: float
    max: float
    repetitions: int


@dataclass(frozen=True)
class AccessFile:
    """A file under measurement."""

    path: str
    bytes: int
    """On disk."""
    format: str
    driver: str
    """The library that reads it."""
    driver_version: str
    variable: str
    """The variable that is read."""
    shape: list[int]
    chunks: list[int] | None
    filters: list[str]
    variable_bytes: int


@dataclass(frozen=True)
class AccessRow:
    """One pattern on one file."""

    file: int
    """Position in ``AccessReport.files``."""
    pattern: str
    """"map", "series" or "full"."""
    count: list[int]
    """Elements read along each dimension."""
    bytes: int
    """Bytes of values read."""
    seconds: list[float]
    """Every repetition. Opening the file is not part of them."""
    summary: Summary
    same_values: bool | None
    """Whether the first file gave the same values; ``None`` where shapes differ."""
    resident_before: float | None = None
    """The largest part of the file that was in the page cache before a repetition."""


@dataclass(frozen=True)
class AccessReport:
    """Reads of files, timed. ``str()`` has a line for each file, and the median times of each pattern."""

    files: list[AccessFile]
    rows: list[AccessRow]
    """Patterns in order, within a pattern the files in order."""
    environment: dict[str, Any] = field(repr=False)
    """The machine and the versions with which the numbers were measured."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        lines = [f"[{n}] {file.path}" for n, file in enumerate(self.files, 1)]
        for pattern in dict.fromkeys(row.pattern for row in self.rows):
            times = (
                f"[{row.file + 1}] {1e3 * row.summary.median:.3g} ms"
                + (", other values" if row.same_values is False else "")
                for row in self.rows
                if row.pattern == pattern
            )
            lines.append(f"{pattern}: " + "; ".join(times))
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the median time of every pattern on every file (needs matplotlib)."""
        from ncforge._ops.plots import accesses

        return accesses(self, ax)


@dataclass(frozen=True)
class ChunksRow:
    """One way to store a variable, read by one library with one cache."""

    chunks: list[int] | None
    """``None``: a classic file."""
    deflate: int
    shuffle: bool
    bytes: int
    """Of the file."""
    driver: str
    cache: int | None
    """Bytes; ``None``: the library's own choice."""
    slab: Summary
    """Seconds for one step of the slowest dimension: mean over all."""
    series: Summary
    """Seconds for one point along the slowest dimension: mean over all."""
    same_values: bool


@dataclass(frozen=True)
class ChunksReport:
    """A variable in many chunk shapes, and the times of reads from each."""

    variable: str
    shape: list[int]
    rows: list[ChunksRow]
    environment: dict[str, Any] = field(repr=False)
    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws each way to store the variable as a point: time of a slab, time of a series, size (needs matplotlib)."""
        from ncforge._ops.plots import chunk_shapes

        return chunk_shapes(self, ax)


def access(
    files: Path | Iterable[Path],
    *,
    var: str | None = None,
    patterns: Iterable[str] = ("map", "series", "full"),
    repetitions: int = 5,
    cold: bool = False,
    seed: int = 1,
    threads: int | None = None,
    memory: str | int | None = None,
) -> AccessReport:
    """Times usual reads from files: a map, a series, everything.

    Several files are read in turn, at the same positions, and their values compared.

    Parameters
    ----------
    files
        A file, or several.
    var
        The variable; the largest of the first file by default.
    patterns
        Of "map", "series" and "full".
    repetitions
        How often each is repeated, every time at another place.
    cold
        Whether the files are evicted from the system's cache before every read.
    seed
        The seed of the sequence of places.
    threads, memory
        As for :func:`ncforge.copy`.
    """
    request = {
        "var": var,
        "patterns": list(patterns),
        "repetitions": repetitions,
        "cold": cold,
        "seed": seed,
        "threads": threads,
        "memory": size(memory),
    }
    raw = json.loads(_core.bench_access(names(files), request))
    rows = [only(AccessRow, {**r, "summary": only(Summary, r["summary"])}) for r in raw["rows"]]
    return AccessReport([only(AccessFile, f) for f in raw["files"]], rows, raw["environment"], raw)


def chunks(
    file: Path,
    *,
    var: str | None = None,
    shapes: Iterable[Sequence[int]] = (),
    most_shapes: int = 80,
    caches: Iterable[int | None] = (None,),
    deflate: Iterable[int] = (0, 1),
    shuffle: Iterable[bool] = (True,),
    series: int = 5,
    series_first: bool = False,
    repetitions: int = 3,
    cold: bool = False,
    libraries: Iterable[Path] = (),
    folder: Path | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
    progress: Progress | bool | None = None,
) -> ChunksReport:
    """Stores a variable in many chunk shapes, and times reads from each.

    All slabs along the slowest dimension are read one after the other, then some series at random points, in one session.

    Parameters
    ----------
    file, var
        The file with the variable, and its name: the largest by default.
    shapes, most_shapes
        Chunk shapes; by default a grid over all shapes, of at most ``most_shapes``.
    caches
        Cache sizes in bytes; ``None`` is what the library does by itself.
    deflate, shuffle
        Levels (0: no compression), and whether bytes are shuffled before: all combinations.
    series, series_first
        How many series are read, and whether before the slabs.
    repetitions
        Rounds over everything.
    cold
        Whether each file is evicted from the system's cache before it is read.
    libraries
        netCDF-C libraries to measure as well, by path.
    folder
        Where a temporary folder with the files is made; by default the system's folder for temporary files.
    threads, memory
        As for :func:`ncforge.copy`.
    progress
        Called with the next step, steps done and steps in total; ``True`` shows a bar.
    """
    request = {
        "var": var,
        "shapes": [list(s) for s in shapes],
        "most_shapes": most_shapes,
        "caches": list(caches),
        "deflate": list(deflate),
        "shuffle": list(shuffle),
        "series": series,
        "series_first": series_first,
        "repetitions": repetitions,
        "cold": cold,
        "libraries": [os.fspath(p) for p in libraries],
        "folder": None if folder is None else os.fspath(folder),
        "threads": threads,
        "memory": size(memory),
    }
    with reporter(progress, "steps") as report:
        raw = json.loads(_core.bench_chunks(os.fspath(file), request, report))
    drivers = [" ".join(d) for d in raw["drivers"]]
    rows = [
        only(
            ChunksRow,
            {
                **r,
                **r["variant"],
                "driver": drivers[r["driver"]],
                "slab": only(Summary, r["slab"]),
                "series": only(Summary, r["series"]),
            },
        )
        for r in raw["rows"]
    ]
    return ChunksReport(raw["variable"], raw["shape"], rows, raw["environment"], raw)
