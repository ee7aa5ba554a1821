"""Files of all variables into files of one variable: ``ncforge series`` as a function."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only
from ncforge._ops.reports import names as names_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ncforge._ops.concat import Options as ConcatOptions

    class Options(ConcatOptions, total=False):
        """Options of :func:`series` and :func:`plan_series`."""

        along: str | None
        name: str | None
        years: int | None
        append: bool
        keep_going: bool


@dataclass(frozen=True)
class SeriesOutput:
    """An output: the values of a variable at all times, or in some years."""

    path: str
    variable: str
    start: str
    """The date of its first step, as names have it."""
    end: str
    steps: int
    state: str
    """One of "made", "grown", "complete" (an earlier run had made it), "unchanged" (no file has later steps), "planned" or "failed"."""
    values_bytes: int
    bytes: int
    """Bytes of the file; of a plan, an estimate."""
    seconds: float
    replaces: str | None = None
    """The output of an earlier run in whose place it is."""
    raw_variables: int = 0
    verified: bool = False
    digest: str | None = None
    error: str | None = None
    error_kind: str | None = None
    """The kind of the error, as the command's JSON has it."""


@dataclass(frozen=True)
class Stream:
    """Files whose names differ in dates and numbers alone."""

    case: str
    stream: str
    files: int
    bytes: int
    along: str
    length: int
    start: str | None
    end: str | None
    outputs: list[SeriesOutput]
    gaps: list[str] = field(default_factory=list)
    """Steps that no file has."""
    overlaps: list[str] = field(default_factory=list)
    """Steps that several files have."""
    differing: list[str] = field(default_factory=list)
    """Attributes that differ between files."""
    notes: list[str] = field(default_factory=list)
    bad: list[dict[str, str]] = field(default_factory=list)
    """Files that were left out: "file", "error" and "error_kind"."""
    error: str | None = None
    """The reason why nothing was made of the stream."""
    error_kind: str | None = None


@dataclass(frozen=True)
class SeriesReport:
    """The result of making series, or what it would be."""

    files: int
    input_bytes: int
    streams: list[Stream]
    outputs: int
    output_bytes: int
    failures: int
    """Files, streams and outputs that failed, with ``keep_going``."""
    seconds: float
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""


def series(
    files: Path | Iterable[Path],
    directory: Path,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> SeriesReport:
    """Makes one file for each variable, over all times, from files that hold all variables of some time each.

    Parameters
    ----------
    files
        The files, and patterns. Those whose names differ in dates and numbers alone are a stream.
    directory
        The folder of the outputs; it is made if it is not there.
    progress
        Called with the stage, and bytes done and in all; ``True`` shows a bar.
    name
        The names of the outputs: "{case}.{stream}.{var}.{start}-{end}.nc" by default.
    years
        Calendar years in one output; all by default.
    append
        Whether the outputs of an earlier run grow by the steps behind their last ones.
    keep_going
        Whether the others go on where a file cannot be read, or the files of a stream do not go together.
    vars
        The variables that get files; all along the dimension by default.
    **options
        All options of :func:`ncforge.concat`.

    Examples
    --------
    >>> ncforge.series("case.cam.h0.*.nc", "tseries", years=10)  # doctest: +SKIP
    """
    with reporter(progress) as report:
        text = _core.series(names_of(files), os.fspath(directory), given(options), report)
    return _report(text)


def plan_series(files: Path | Iterable[Path], directory: Path, **options: Unpack[Options]) -> SeriesReport:
    """Which files would be made: nothing is written. The options are those of :func:`series`."""
    return _report(_core.plan_series(names_of(files), os.fspath(directory), given(options)))


def _report(text: str) -> SeriesReport:
    raw = json.loads(text)
    streams = [
        only(Stream, {**stream, "outputs": [only(SeriesOutput, output) for output in stream["outputs"]]})
        for stream in raw["streams"]
    ]
    return only(SeriesReport, {**raw, "streams": streams, "raw": raw})
