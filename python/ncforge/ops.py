"""Operations on whole files: the command ``ncforge`` as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from ncforge import _core
from ncforge._dataset.identity import Identity, identity_at
from ncforge._ops.cluster import encoding
from ncforge._ops.digests import Digest, digest
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, comparison_html, copy_html, only
from ncforge._ops.splitting import ChunkChoice, SplitReport, split, tune_chunks
from ncforge._ops.zipping import Note, Problem, VerifyReport, ZipReport, compact, unzip, verify, zip
from ncforge.errors import NcforgeError

if TYPE_CHECKING:
    from distributed import Client
    from typing_extensions import Unpack

    from ncforge._ops.options import ChoosingOptions, Chunks, CodingOptions, EngineOptions, RunOptions, Selection

    class CopyOptions(ChoosingOptions, CodingOptions, RunOptions, total=False):
        """Options of :func:`copy` and :func:`plan_copy`."""

        chunks: Chunks | None
        add_access_points: bool
        fletcher32: bool
        filters: str | Iterable[str] | None
        keep_digits: int | None
        keep_bits: int | None
        endian: str | None
        skip_fill: bool
        fix_unlimited: bool
        strict: bool
        digest: bool
        profile: str | None
        groups: Iterable[str] | None
        all_dimensions: bool
        values_of: Iterable[str] | None
        min_chunked: str | int | None
        header_space: str | int | None

    class CompareOptions(EngineOptions, total=False):
        """Options of :func:`compare`."""

        tolerance: float | None
        strict: bool
        vars: Iterable[str] | None
        select: Selection | None


__all__ = [
    "ChunkChoice",
    "Comparison",
    "CopyPlan",
    "CopyReport",
    "Difference",
    "Digest",
    "Info",
    "Largest",
    "Note",
    "Problem",
    "SplitReport",
    "VerifyReport",
    "ZipReport",
    "compact",
    "compare",
    "copy",
    "digest",
    "info",
    "plan_copy",
    "split",
    "tune_chunks",
    "unzip",
    "verify",
    "zip",
]


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
    digest: str | None = None
    """The digest of the output, if it was asked for."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, such as objects that were left out."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""

    def __str__(self) -> str:
        from ncforge._dataset.view import size_words

        sizes = f"{size_words(self.input_bytes)} {self.source_format} -> {size_words(self.output_bytes)} {self.format}"
        verified = ", verified" if self.verified else ""
        first = f"{self.input} -> {self.output}: {sizes}, {self.variables} variables, {self.seconds:.3g} s{verified}"
        return "\n".join([first, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return copy_html(self)


@dataclass(frozen=True)
class CopyPlan:
    """How a file would be copied."""

    input: str
    source_format: str
    format: str
    variables: list[dict[str, Any]]
    """Of every variable its name, how it is stored and would be, and the way that its values would take."""
    totals: dict[str, Any]
    """Bytes that would be read, decoded, encoded and written, and the seconds that it would take, about."""
    memory: int
    """Bytes of the budget."""
    threads: int
    notes: list[str] = field(default_factory=list)
    """Notes for the user, such as objects that would be left out."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """All that the command's ``--dry-run --json`` has."""


@dataclass(frozen=True)
class Largest:
    """The largest difference of two numbers, and its position."""

    by: float
    index: list[int]
    """The first of the elements with this difference."""

    def __str__(self) -> str:
        return f"{self.by:.4g} at {self.index}"


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

    def __str__(self) -> str:
        text = f"{self.path}: {self.what}"
        if self.index is not None:
            text += f", first at {self.index}"
        if self.left is not None or self.right is not None:
            text += ": " + " | ".join("nothing" if side is None else side for side in (self.left, self.right))
        if self.largest_absolute is not None:
            text += f"; largest difference {self.largest_absolute}"
        if self.largest_relative is not None:
            text += f", relative {self.largest_relative}"
        return text


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. True if all was compared and is the same; ``str()`` has a line for each difference."""

    differences: list[Difference]
    notes: list[str]
    values: int
    """Values compared."""
    differing_values: int
    not_compared: list[str] = field(default_factory=list)
    """Objects that could not be read, and why."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""

    @property
    def same(self) -> bool:
        """Whether all was compared, and nothing differs."""
        return not self.differences and not self.not_compared

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        lines = [f"not compared: {what}" for what in self.not_compared] + [f"note: {note}" for note in self.notes]
        return "\n".join(["the same"] * self.same + [*map(str, self.differences), *lines])

    def _repr_html_(self) -> str:
        return comparison_html(self)


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
    _seen: Identity | None = field(default=None, repr=False, compare=False)
    """The identity of the file, see :func:`~ncforge._dataset.identity.identity_at`."""
    _follow: bool | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.cdl

    def _repr_html_(self) -> str | None:
        # A notebook shows the text if the file was removed or replaced.
        if self._seen is None or self._seen != identity_at(self.file):
            return None
        try:
            return _core.draw_info(self.file, {"for_": self.for_, "follow": self._follow})
        except NcforgeError:
            return None


@overload
def copy(  # type: ignore[overload-overlap]  # a string is its own iterable; the first counts
    source: Path,
    target: Path,
    *,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[CopyOptions],
) -> CopyReport: ...
@overload
def copy(
    source: Iterable[Path],
    target: Path,
    *,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[CopyOptions],
) -> list[CopyReport]: ...
def copy(
    source: Path | Iterable[Path],
    target: Path,
    *,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[CopyOptions],
) -> CopyReport | list[CopyReport]:
    """Copies a file, or several, into another format, chunk shape or compression, in bounded memory.

    Without options the copy keeps everything as it is in the source. An option of ``None`` counts as not given.

    Parameters
    ----------
    source, target
        A file, and the one to write; or several files, and a folder for those of the same names. A target appears
        under its name when it is complete. A name that ends in ``.ncz`` makes a zipped file.
    format
        "keep" (the default), "classic", "cdf2", "cdf5", "netcdf4" or "netcdf4-classic"; or as netCDF4-python has it,
        "NETCDF3_CLASSIC" to "NETCDF4".
    chunks
        "keep" (the default), "auto", "auto:READS" as for ``for_``, or a specification such as "time/365,lat/40,lon/40" or
        "sst:365,40,40"; or lengths by name, as ``{"time": 365, "lat": -1, "sst": (365, 40, 40)}``: -1 is all of a dimension.
    for_
        The reads for which "auto" chooses: "map", "series", "profile", "column", "box", "full" with weights,
        as "series=3,map=1"; or lengths of dimensions, as "time=all,lat=1,lon=1". Series, maps and everything alike by
        default. With ``for_``, the default of ``chunks`` is "auto".
    expect
        Lengths that unlimited dimensions will have in the end, as "time=3650" or ``{"time": 3650}``; those that they have by
        default.
    storage
        The storage that the file will be read from: "local", "nfs" or "object"; by default this machine's, as calibrated.
    reader
        What will read it: "any" (the default: chunks of at least 1 MiB, of which ncforge reads parts), or one library alone,
        "ncforge" or "netcdf-c".
    writer_memory
        Memory of a program that will append to it record by record: the chunks that a record touches fit in there. "1G" by
        default.
    codec
        "keep" (the default), "none", "deflate", "zstd", or "auto": for each variable none or deflate, with shuffle or
        without, chosen on a sample of its values. Always lossless.
    goal
        What "auto" optimises: "balanced" (the default), "fast-read" or "small".
    allow_zstd
        Whether "auto" may choose zstd, for which other readers need a plugin; ``False`` by default.
    level
        0 to 9 for deflate, 1 to 22 for zstd; not with "auto".
    shuffle
        Whether bytes are shuffled before compression; where numbers are longer than a byte by default.
    access_points
        Of deflate chunks that are encoded: "auto" (the default: where a chunk is worth them), "off", or the bytes of values from one to the
        next. Chunks that are moved keep theirs.
    add_access_points
        Whether deflate chunks that would be moved, have no access points and are worth them are encoded again with them; ``False`` by
        default.
    filters
        Filters of single variables, as ``nccopy -F`` takes them: "tas|pr,shuffle|deflate,1", "v,none"; one or several. They
        win over the codec.
    fletcher32
        Whether every chunk gets a checksum; ``False`` by default.
    keep_digits, keep_bits
        Round floats and doubles to so many significant decimal digits (1 to 15), or bits of the mantissa (1 to 52), so that
        they compress better; coordinates are not rounded. This changes values; none by default.
    endian
        Byte order of numbers in netCDF-4 output: "keep" (the default), "native", "little" or "big".
    skip_fill
        Whether chunks that hold nothing but the fill value are left out; they read the same. ``False`` by default.
    fix_unlimited
        Whether unlimited dimensions become fixed ones of their length; ``False`` by default.
    strict
        Whether a classic output refuses strings and integers that it has no type for, even where text or another integer
        holds the same; ``False`` by default.
    digest
        Whether the output is read back for its :func:`digest` before it gets its name; ``False`` by default.
    profile
        "cmip7": lays the output out as CMIP7 asks for. "virtual": with chunks and filters with
        which references join files.
    vars, groups
        Only these variables, and those of these groups and the groups below, with the dimensions and types that they use.
    all_dimensions
        With ``vars`` or ``groups``: whether groups, dimensions and types that nothing uses come along; ``False`` by default.
    select
        Only these indices along dimensions: ``{"time": slice(3, 21), "lat": (-10.0, 10.0)}``, or ``{"time": ("2000-01", "2000-06")}``;
        an index keeps its dimension, with length 1. Two numbers are values of the coordinate, two texts are dates, both included; or
        text as the command has it: ``"time=2000-02,lat=-10..10"`` (docs/reference/select.md).
    values_of
        Values of these variables only; the others are defined and read as their fill value.
    min_chunked
        Smaller variables of fixed shape are not chunked, unless they are in the source; 8192 bytes by default.
    header_space
        Bytes, or as "16K", that stay free for what is added to the header later.
    memory
        The budget, in bytes or as "512M"; a share of what the machine or the job has by default.
    threads
        The number of threads; what the machine or the job allows by default.
    follow
        Whether files may lead to others: virtual datasets and external links of HDF5, aggregation variables. They may by default.
    verify
        Whether the target is read back, as ncforge reads, and compared before it gets its name; ``False`` by default.
    overwrite
        Whether an existing target may be replaced; ``False`` by default.
    resume
        Whether to resume an interrupted copy; ``False`` by default.
    checkpoint
        Seconds between two notes of what is done, from which ``resume`` goes on; 2 by default.
    history
        Text to put in front of the attribute ``history``, after the date; none by default.
    client
        A client of Dask ``distributed``. For one file, its workers read the source and encode chunks, and this process
        writes them in order: the output is the same to the byte. Of several files, each is one task, which reads and
        writes. Workers must see the files under the same paths.
    progress
        Called with the stage, and bytes of values done and in all (of several files: "copy", and files done and in
        all); ``True`` shows a bar.

    Raises
    ------
    TypeError
        If there is no such option; the message names the nearest one.
    InvalidError
        If the value of an option means nothing, or options do not go together.
    ExistsError
        If the target exists and ``overwrite`` is not given.
    NotRepresentableError
        If the format cannot hold what the source has.
    InterruptedCopyError
        If it was interrupted; the same call with ``resume=True`` goes on.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with ncforge.Dataset(f"{folder}/a.nc", "w", format="NETCDF3_CLASSIC") as ds:
    ...     for name, length in (("time", 100), ("x", 50)):
    ...         _ = ds.createDimension(name, length)
    ...     ds.createVariable("tas", "f4", ("time", "x"))[:] = 280.123
    >>> report = ncforge.copy(
    ...     f"{folder}/a.nc", f"{folder}/b.nc", format="NETCDF4", filters="tas,shuffle|deflate,1", keep_digits=4, verify=True
    ... )
    >>> report.format, report.verified
    ('netCDF-4', True)
    """
    request = given(options)
    if not isinstance(source, str | os.PathLike):
        from ncforge._ops.copies import copy_files

        with reporter(progress, "files") as report:
            done = list(copy_files(source, target, request, client, report))
        return [only(CopyReport, {**raw, "raw": raw}) for raw in map(json.loads, done)]
    with reporter(progress) as report, encoding(client, [os.fspath(source)], None, request) as elsewhere:
        raw = json.loads(_core.copy(source, target, request, report, elsewhere))
    return only(CopyReport, {**raw, "raw": raw})


def plan_copy(source: Path, target: Path, **options: Unpack[CopyOptions]) -> CopyPlan:
    """How a file would be copied: nothing is written. The options, and the errors, are those of :func:`copy`.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with ncforge.Dataset(f"{folder}/a.nc", "w", format="NETCDF3_CLASSIC") as ds:
    ...     _ = ds.createDimension("x", 9000)
    ...     ds.createVariable("v", "f4", ("x",))[:] = 1
    >>> plan = ncforge.plan_copy(f"{folder}/a.nc", f"{folder}/b.nc", format="netcdf4", codec="deflate")
    >>> plan.format, [v["name"] for v in plan.variables]
    ('netCDF-4', ['v'])
    """
    raw = json.loads(_core.plan_copy(source, target, given(options)))
    return only(CopyPlan, {**raw, "raw": raw})


def compare(
    left: Path,
    right: Path,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compares two files: dimensions, attributes, types, order, and every value, bit by bit (NaN equals NaN).

    Parameters
    ----------
    tolerance
        Numbers are equal if they differ by at most this; by default they are compared bit by bit.
    strict
        Whether what a copy may change is a difference, too: added lines of ``history``, types that the other file's format
        lacks, the type of a ``_FillValue``; ``False`` by default.
    vars
        Only these variables.
    select
        Only these indices along dimensions, as for :func:`copy`; of each file by its own coordinates.
    threads, memory, follow, progress
        As for :func:`copy`.
    """
    with reporter(progress) as report:
        found = _core.compare(left, right, given(options), report)
    raw = json.loads(found)
    differences = [_difference(dict(d)) for d in raw["differences"]]
    return only(Comparison, {**raw, "differences": differences, "raw": raw})


def _difference(raw: dict[str, Any]) -> Difference:
    for name in ("largest_absolute", "largest_relative"):
        if name in raw:
            raw[name] = only(Largest, raw[name])
    return only(Difference, raw)


def info(path: Path, *, special: bool = False, for_: str | None = None, follow: bool = True) -> Info:
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
    follow
        Whether the file may lead to others, as for :class:`ncforge.Dataset`.

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
    seen = identity_at(file)
    may = None if follow else False
    cdl = _core.info_cdl(path, special, may).decode("utf-8", "surrogateescape")
    return Info(cdl, json.loads(_core.info_json(path, may)), file, for_, seen, may)
