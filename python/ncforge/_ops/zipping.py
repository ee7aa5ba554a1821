"""Zipped files: ``ncforge zip``, ``unzip``, ``compact`` and ``verify`` as functions.

Here and in :mod:`ncforge.ops`, ``zip`` is ncforge's function and not Python's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ncforge import _core
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ncforge._ops.options import EngineOptions

    class ZipOptions(EngineOptions, total=False):
        """Options of :func:`zip`."""

        block: str | int | None
        codec: str | None
        level: int | None
        overwrite: bool

    class UnzipOptions(EngineOptions, total=False):
        """Options of :func:`unzip`."""

        overwrite: bool


@dataclass(frozen=True)
class ZipReport:
    """The report of zipping, unzipping or compacting."""

    input: str
    output: str
    input_bytes: int
    output_bytes: int
    image_bytes: int
    """Bytes of the file as it is, or would be, unzipped."""
    seconds: float
    notes: list[str] = field(default_factory=list)
    """Remarks on the source."""


@dataclass(frozen=True)
class Problem:
    """Something in a file that cannot be read, or is not what its checksum says."""

    what: str
    """What, where, and how it is known."""
    kind: str
    """``corrupt``, ``truncated``, ``access_points``, ``unsupported`` or ``not_followed``."""
    image: tuple[int, int] | None = None
    """Of a zipped file: bytes of the unzipped file that cannot be read because of it: from, to."""
    touches: list[str] = field(default_factory=list)
    """Variables that have values among them, or ``header``."""


@dataclass(frozen=True)
class Note:
    """Something that is no fault of the file, without which the result would be misunderstood."""

    kind: str
    """``absent``: another file, or a variable in it, is not there; ``left_out``: an object that was not read."""
    what: str
    """The note in words."""
    variable: str
    """The variable, or the object that was left out."""
    sources: list[dict[str, str]] = field(default_factory=list)
    """Sources of the variable's values that are not there: ``file`` and ``variable``. Their values read as the fill value."""


@dataclass(frozen=True)
class VerifyReport:
    """The report of verifying. True when nothing is damaged, and all is known."""

    file: str
    commit: int | None
    """Of a zipped file: number of the commit that was read."""
    blocks: int | None
    """Of a zipped file: blocks and pages of the index that were read."""
    variables: int
    """Variables whose values were read, all or in part."""
    bytes: int
    """Bytes that were read: stored ones of a zipped file, values of others."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """What is not there, and what was not looked at."""

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        found = [problem.what for problem in self.problems] + [note.what for note in self.notes]
        lines = found or ["all is well"]
        return "\n".join(f"{self.file}: {line}" for line in lines)


def zip(
    source: Path, target: Path, *, progress: Progress | bool | None = None, **options: Unpack[ZipOptions]
) -> ZipReport:
    """Zips a classic file into compressed blocks, to be read and written in place.

    A zipped file (``.ncz`` by convention) is used like any other, by :class:`ncforge.Dataset` and by every function here.
    :func:`unzip` gives back the file to the byte. Files of other formats are zipped by :func:`ncforge.copy` to a name that
    ends in ``.ncz``.

    Parameters
    ----------
    source, target
        The classic file, and the zipped file to write. It appears under its name when it is whole.
    block
        Bytes of a block, or as "16K" (the default): a power of two from 4K to 1M. Larger blocks are smaller on disk, smaller
        ones faster to read values and series from.
    codec
        "zstd" (the default), "deflate" or "lz4".
    level
        0 to 9 for deflate, 1 to 22 for zstd, none for lz4; 4 by default.
    overwrite
        Whether an existing target may be replaced; ``False`` by default.
    threads, memory
        As of :func:`ncforge.copy`.
    progress
        Called with the stage, and bytes done and in all; ``True`` shows a bar.

    Raises
    ------
    InvalidError
        If the source is not a classic file, or the codec has no such level.
    ExistsError
        If the target exists and ``overwrite`` is not given.
    TypeError
        If there is no such option.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.mkdtemp()
    >>> with ncforge.Dataset(f"{folder}/a.nc", "w", format="NETCDF3_CLASSIC") as ds:
    ...     _ = ds.createDimension("x", 30000)
    ...     ds.createVariable("v", "f8", ("x",))[:] = 1.5
    >>> report = ncforge.zip(f"{folder}/a.nc", f"{folder}/a.ncz", codec="deflate", level=6)
    >>> report.output_bytes < report.input_bytes
    True
    >>> bool(ncforge.verify(f"{folder}/a.ncz"))
    True
    >>> _ = ncforge.unzip(f"{folder}/a.ncz", f"{folder}/back.nc")
    >>> Path(folder, "a.nc").read_bytes() == Path(folder, "back.nc").read_bytes()
    True
    """
    with reporter(progress) as report:
        return only(ZipReport, json.loads(_core.zip(source, target, given(options), report)))


def unzip(
    source: Path, target: Path, *, progress: Progress | bool | None = None, **options: Unpack[UnzipOptions]
) -> ZipReport:
    """Unzips a zipped file: the target is the classic file that was zipped, to the byte, with what was changed since.

    The options are ``overwrite`` (``False`` by default), ``threads`` and ``memory``; errors are those of :func:`zip`, where
    an example is.
    """
    with reporter(progress) as report:
        return only(ZipReport, json.loads(_core.unzip(source, target, given(options), report)))


def compact(path: Path, *, progress: Progress | bool | None = None, **options: Unpack[EngineOptions]) -> ZipReport:
    """Rewrites a zipped file without the space that updates left unused, in one step.

    Nobody may have the file open for writing meanwhile. The options are ``threads`` and ``memory``.

    Raises
    ------
    InvalidError
        If the file is not zipped.
    LockedError
        If another process has it open for writing.
    """
    with reporter(progress) as report:
        return only(ZipReport, json.loads(_core.compact(path, given(options), report)))


def verify(path: Path, *, progress: Progress | bool | None = None, **options: Unpack[EngineOptions]) -> VerifyReport:
    """Reads everything in a file and checks it against its checksums. Damage is no error: the report has it.

    Every chunk, or block of a zipped file, is decoded. Values without a checksum (of classic files, contiguous variables,
    chunks without zlib or Fletcher-32) are only shown to be there; :func:`ncforge.compare` checks them against another copy.
    Values in other files are read, too; sources that are not there are notes, those that are not followed problems.
    The options are ``threads`` and ``memory``. An example is in :func:`zip`.

    Raises
    ------
    NotNetcdfError
        If the file is not a netCDF file, or its header cannot be read.
    """
    with reporter(progress) as report:
        raw = json.loads(_core.verify(path, given(options), report))
    problems = [only(Problem, {**p, "image": p["image"] and tuple(p["image"])}) for p in raw["problems"]]
    notes = [only(Note, note) for note in raw["notes"]]
    return only(VerifyReport, {**raw, "problems": problems, "notes": notes})
