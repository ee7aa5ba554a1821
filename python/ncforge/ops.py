"""Operations on whole files: the command ``ncforge`` as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from ncforge import _core
from ncforge._progress import Progress, reporter
from ncforge._reports import Path, choosing, identity, only, size
from ncforge.errors import NcforgeError

if TYPE_CHECKING:
    from distributed import Client
    from typing_extensions import TypedDict, Unpack

    class CopyOptions(TypedDict, total=False):
        """Arguments of :func:`copy` other than files."""

        format: str
        chunks: str
        for_: str | None
        expect: str | None
        storage: str | None
        reader: str
        writer_memory: str | int | None
        codec: str
        goal: str | None
        allow_zstd: bool
        level: int | None
        shuffle: bool | None
        fletcher32: bool
        vars: Iterable[str] | None
        memory: str | int | None
        threads: int | None
        verify: bool
        overwrite: bool
        resume: bool
        history: str | None
        client: Client | None
        progress: Progress | bool | None


__all__ = ["Comparison", "CopyReport", "Difference", "Info", "Largest", "compare", "copy", "info"]


@dataclass(frozen=True)
class CopyReport:
    """The result of a copy."""

    input: str
    output: str
    source_format: str
    format: str
    input_bytes: int
    output_bytes: int
    variables: int
    values_bytes: int
    verified: bool
    seconds: float
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, such as objects that were left out."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""


@dataclass(frozen=True)
class Largest:
    """The largest difference of two numbers, and its position."""

    by: float
    index: list[int]
    """The first of the elements with this difference."""


@dataclass(frozen=True)
class Difference:
    """One difference between two files."""

    kind: str
    path: str
    what: str
    left: str | None = None
    right: str | None = None
    index: list[int] | None = None
    differing: int | None = None
    of: int | None = None
    largest_absolute: Largest | None = None
    """The largest absolute difference of finite numbers."""
    largest_relative: Largest | None = None
    """The largest difference relative to the larger number."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. True if the files are the same."""

    differences: list[Difference]
    notes: list[str]
    values: int
    """Values compared."""
    differing_values: int

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.same


@dataclass(frozen=True)
class Info:
    """The header of a file. ``str()`` is CDL, as ``ncdump -h`` prints it; a notebook draws how the file is stored."""

    cdl: str
    data: dict[str, Any] = field(repr=False)
    """Everything: dimensions, variables, attributes, storage, sizes on disk."""
    file: str = ""
    """Its path."""
    for_: str | None = None
    """The reads that are drawn on the chunks."""
    _seen: tuple[int, int] | None = field(default=None, repr=False, compare=False)
    """The identity of the file, see :func:`~ncforge._reports.identity`."""

    def __str__(self) -> str:
        return self.cdl

    def _repr_html_(self) -> str | None:
        # A notebook shows the text if the file was removed or replaced.
        if self._seen is None or self._seen != identity(self.file):
            return None
        try:
            return _core.draw_info(self.file, self.for_)
        except NcforgeError:
            return None


@overload
def copy(  # type: ignore[overload-overlap]  # a string is its own iterable; the first counts
    source: Path, target: Path, **options: Unpack[CopyOptions]
) -> CopyReport: ...
@overload
def copy(source: Iterable[Path], target: Path, **options: Unpack[CopyOptions]) -> list[CopyReport]: ...
def copy(
    source: Path | Iterable[Path],
    target: Path,
    *,
    format: str = "keep",
    chunks: str = "keep",
    for_: str | None = None,
    expect: str | None = None,
    storage: str | None = None,
    reader: str = "ncforge",
    writer_memory: str | int | None = None,
    codec: str = "keep",
    goal: str | None = None,
    allow_zstd: bool = False,
    level: int | None = None,
    shuffle: bool | None = None,
    fletcher32: bool = False,
    vars: Iterable[str] | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    verify: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    history: str | None = None,
    client: Client | None = None,
    progress: Progress | bool | None = None,
) -> CopyReport | list[CopyReport]:
    """Copies a file, or several, into another format, chunk shape or compression, in bounded memory.

    Parameters
    ----------
    source, target
        A file, and the one to write; or several files, and a folder for outputs of the same names. A target appears
        under its name when it is complete.
    format
        "keep", "classic", "cdf2", "cdf5", "netcdf4" or "netcdf4-classic".
    chunks
        "keep", "auto", or a specification such as "time/365,lat/40,lon/40".
    for_
        The reads for which "auto" chooses: "map", "series", "profile", "column", "box", "full" with weights,
        as "series=3,map=1"; or lengths of dimensions, as "time=all,lat=1,lon=1". Series, maps and everything alike by
        default. With ``for_``, the default of ``chunks`` is "auto".
    expect
        Lengths that unlimited dimensions will have in the end, as "time=3650".
    storage
        The storage that the file will be read from: "local", "nfs" or "object"; by default this machine's, as calibrated.
    reader
        The library that will read it: "ncforge" or "netcdf-c".
    writer_memory
        Memory of a program that will append to it record by record: it must hold the chunks that a record touches.
    codec
        "keep", "none", "deflate", "zstd", or "auto": for each variable none or deflate, with shuffle or without,
        chosen on a sample of its values. Always lossless.
    goal
        What "auto" optimises: "balanced" (the default), "fast-read" or "small".
    allow_zstd
        Whether "auto" may choose zstd, for which other readers need a plugin.
    level
        0 to 9 for deflate, 1 to 22 for zstd; not with "auto".
    shuffle
        Whether bytes are shuffled before compression; where it helps by default.
    fletcher32
        Whether every chunk gets a checksum.
    vars
        Only these variables, and the dimensions and types that they use.
    memory
        The budget, in bytes or as "512M".
    threads
        The number of threads.
    verify
        Whether the target is read back and compared before it gets its name.
    overwrite
        Whether an existing target may be replaced.
    resume
        Whether to resume an interrupted copy.
    history
        Text to put in front of the attribute ``history``, after the date; none by default.
    client
        A client of Dask ``distributed``. For one file, its workers read the source and encode chunks, and this process
        writes them in order: the output is the same to the byte. Of several files, each is one task, which reads and
        writes. Workers must see the files under the same paths.
    progress
        Called with the stage, bytes of values done and in total (for several files: "copy", files done and in
        total); ``True`` shows a bar.
    """
    request = {
        "format": format,
        "chunks": chunks,
        "codec": codec,
        "goal": goal,
        "allow_zstd": allow_zstd,
        "level": level,
        "shuffle": shuffle,
        "fletcher32": fletcher32,
        "vars": None if vars is None else list(vars),
        "memory": size(memory),
        "threads": threads,
        "verify": verify,
        "overwrite": overwrite,
        "resume": resume,
        "history": history,
        "choosing": choosing(for_, expect, storage, reader, writer_memory),
    }
    if not isinstance(source, str | os.PathLike):
        from ncforge._copies import copy_files

        with reporter(progress, "files") as report:
            done = list(copy_files(source, target, request, client, report))
        return [only(CopyReport, {**raw, "raw": raw}) for raw in map(json.loads, done)]
    elsewhere = None
    if client is not None:
        from ncforge._cluster import Encoding

        elsewhere = Encoding.of_copy(client, os.path.abspath(source), request)
    with reporter(progress) as report:
        try:
            raw = json.loads(_core.copy(source, target, request, report, elsewhere))
        finally:
            if elsewhere is not None:
                elsewhere.close()
    return only(CopyReport, {**raw, "raw": raw})


def compare(
    left: Path,
    right: Path,
    *,
    tolerance: float | None = None,
    strict: bool = False,
    vars: Iterable[str] | None = None,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Compares two files: dimensions, attributes, types, order, and every value, bit by bit (NaN equals NaN).

    Parameters
    ----------
    tolerance
        Numbers are equal if they differ by at most this.
    strict
        Whether added lines of ``history`` are a difference, too.
    vars
        Only these variables.
    progress
        As for :func:`copy`.
    """
    with reporter(progress) as report:
        found = _core.compare(left, right, tolerance, strict, None if vars is None else list(vars), report)
    raw = json.loads(found)
    raw["differences"] = [_difference(d) for d in raw["differences"]]
    return only(Comparison, raw)


def _difference(raw: dict[str, Any]) -> Difference:
    for name in ("largest_absolute", "largest_relative"):
        if name in raw:
            raw[name] = only(Largest, raw[name])
    return only(Difference, raw)


def info(path: Path, *, special: bool = False, for_: str | None = None) -> Info:
    """A file's header, storage and sizes.

    In a notebook the result is drawn as by ``ncforge info --html``: what each byte of the file is for, the chunks of the
    largest variables with reads on them, and the size of every chunk in the file.

    Parameters
    ----------
    path
        The file.
    special
        Whether the CDL shows storage, as ``ncdump -hs``.
    for_
        The reads that are drawn: "series", "map", "time=all,lat=1,lon=1"; by default series, map and full.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> path = tempfile.mkdtemp() + "/small.nc"
    >>> with ncforge.Dataset(path, "w") as ds:
    ...     _ = ds.createDimension("x", 3)
    ...     _ = ds.createVariable("v", "f4", ("x",))
    >>> found = ncforge.info(path)
    >>> print(found.data["dimensions"][0]["name"])
    x
    >>> "Where the bytes are" in found._repr_html_()  # what a notebook shows
    True
    """
    file = os.fspath(path)
    seen = identity(file)
    cdl = _core.info_cdl(path, special).decode("utf-8", "surrogateescape")
    return Info(cdl, json.loads(_core.info_json(path)), file, for_, seen)
