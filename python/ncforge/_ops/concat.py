"""Files of a series as one: in a file (``ncforge concat`` as a function), or as one dataset."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._dataset.joined import JoinedHandle
from ncforge._dataset.remote import placed
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only
from ncforge._ops.reports import names as names_of
from ncforge.dataset import Dataset
from ncforge.ops import CopyReport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ncforge._ops.options import Selection
    from ncforge.ops import CopyOptions

    class Options(CopyOptions, total=False):
        """Options of :func:`concat` and :func:`plan_concat`."""

        unsorted: bool
        holes: str | None
        differing: str | None
        decode: bool


@dataclass(frozen=True)
class ConcatReport:
    """The result of joining files."""

    files: int
    along: str
    """The dimension along which they were joined."""
    length: int
    """Its length in the output."""
    copy: CopyReport
    """The copy that made the output."""
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""


@dataclass(frozen=True)
class ConcatPlan:
    """How files would be joined."""

    files: int
    bytes: int
    """Bytes of all of them."""
    along: str
    length: int
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--dry-run --json``, including the plan of the copy."""


def concat(
    files: Path | Iterable[Path],
    output: Path,
    along: str | None = None,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> ConcatReport:
    """Joins files one behind the other along a dimension, in bounded memory.

    Parameters
    ----------
    files
        The files, and patterns.
    output
        The file to write. It appears under its name when it is complete.
    along
        The dimension; the unlimited one by default, else the first whose length differs.
    progress
        Called with the stage, and bytes of values done and in all; ``True`` shows a bar.
    unsorted
        Whether files are joined as they are given. By default the order is that of the dimension's coordinate, and files that overlap are an
        error.
    holes
        The values of a variable along the dimension where a file lacks it: "error" (the default), "fill", "missing" or "zero".
    differing
        "error" (the default) or "first": when a variable without the dimension differs between files.
    decode
        Whether variables that the files pack differently are unpacked. By default they are an error.
    **options
        All options of :func:`ncforge.copy`.

    Examples
    --------
    >>> ncforge.concat("day_*.nc", "year.nc", codec="deflate")  # doctest: +SKIP
    """
    request = {**given(options), "along": along}
    with reporter(progress) as report:
        text = _core.concat(names_of(files), os.fspath(output), request, report)
    raw = json.loads(text)
    copy = only(CopyReport, {**raw["copy"], "raw": raw["copy"]})
    return only(ConcatReport, {**raw, "copy": copy, "raw": raw})


def plan_concat(
    files: Path | Iterable[Path], output: Path, along: str | None = None, **options: Unpack[Options]
) -> ConcatPlan:
    """How files would be joined: nothing is written. The options are those of :func:`concat`."""
    raw = json.loads(_core.plan_concat(names_of(files), os.fspath(output), {**given(options), "along": along}))
    return only(ConcatPlan, {**raw, "raw": raw})


def open_many(
    files: Path | Iterable[Path],
    along: str | None = None,
    *,
    select: Selection | None = None,
    unsorted: bool = False,
    holes: str | None = None,
    differing: str | None = None,
    decode: bool = False,
    follow: bool | None = None,
) -> Dataset:
    """Opens files that continue one another along a dimension as one dataset: the one that is in the output of :func:`concat`.

    The files are compared when they are opened, and read in parallel; no more of them are open at a time than the system allows. As any
    dataset that is read, the result can be sent to other processes.

    Parameters
    ----------
    files
        The files, and patterns.
    along
        The dimension; the unlimited one by default, else the first whose length differs.
    select
        The part to have, as for :func:`ncforge.copy`.
    unsorted
        Whether files are joined as they are given. By default the order is that of the dimension's coordinate, and files that overlap are an
        error.
    holes
        The values of a variable along the dimension where a file lacks it: "error" (the default), "fill", "missing" or "zero".
    differing
        "error" (the default) or "first": when a variable without the dimension differs between files.
    decode
        Whether variables that the files pack differently are unpacked. By default they are an error.
    follow
        Whether the files may lead to others, as for :class:`Dataset`.

    Raises
    ------
    OSError
        If a file cannot be read, or the files do not go together.
    ValueError
        If files overlap or lack a variable, and no option says what then.

    Examples
    --------
    >>> ds = ncforge.open_many("day_*.nc")       # doctest: +SKIP
    >>> ds["sst"][:, 20, 30]                     # doctest: +SKIP
    """
    request = given(
        {
            "along": along,
            "select": select,
            "unsorted": unsorted,
            "holes": holes,
            "differing": differing,
            "decode": decode,
            "follow": follow,
        }
    )
    handle = JoinedHandle([placed(name) for name in names_of(files)], request)
    return Dataset._of(handle.file(), handle)
