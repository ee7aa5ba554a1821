"""Examination of files: ``ncforge doctor`` as a function."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, overload

from ncforge import _core
from ncforge._dataset.identity import Identity, identity_at
from ncforge._ops.cluster import each_file
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only
from ncforge._ops.reports import names as names_of
from ncforge.errors import InvalidError, NcforgeError

if TYPE_CHECKING:
    from distributed import Client
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from ncforge._ops.options import EngineOptions
    from ncforge.ops import CopyOptions, CopyReport

    class Options(EngineOptions, total=False):
        """Options of :func:`doctor`."""

        for_: str | None
        select: str | Iterable[str] | None
        ignore: str | Iterable[str] | None
        storage: str | None
        profile: str | None
        library: Path | None
        sample: bool


_ORDER = ("info", "warning", "error")
# If there are more files, a notebook shows the others as text.
_MOST_DRAWN = 8


@dataclass(frozen=True)
class CacheAdvice:
    """The chunk cache that netCDF-C needs for neighbouring reads: ``set_var_chunk_cache`` of netCDF4-python."""

    read: str
    """The read that needs it."""
    size: int
    """Bytes."""
    slots: int
    """Slots of its table (``nelems``)."""
    preemption: float


@dataclass(frozen=True)
class Slower:
    """A read that takes longer after a finding was fixed."""

    read: str
    now: float
    """Seconds that it takes now."""
    then: float
    """Seconds that it takes after the fix."""


@dataclass(frozen=True)
class Finding:
    """One finding."""

    code: str
    """The rule, such as "NC101"."""
    name: str
    """The rule's name, such as "time-chunked-by-1"."""
    severity: str
    """"info", "warning" or "error"."""
    message: str
    """The facts, with figures."""
    variable: str | None = None
    """The path of the variable (or dimension); ``None``: the file."""
    commands: list[str] = field(default_factory=list)
    """Command lines that fix it; none where no copy can."""
    fix: dict[str, Any] | None = None
    """Options of :func:`ncforge.copy` that fix it; ``None`` where no copy can."""
    slower: list[Slower] = field(default_factory=list)
    """Reads that take longer after that, and by how much."""
    netcdf_c_cache: CacheAdvice | None = None
    """The cache that users of netCDF-C can set instead."""
    files: list[str] = field(default_factory=list)
    """The files that differ, where several were compared."""
    _file: str = field(default="", repr=False, compare=False)
    """The file that was checked alone."""

    def apply(self, target: Path, **options: Unpack[CopyOptions]) -> CopyReport | list[CopyReport]:
        """Fixes it in a copy, as ``commands`` do.

        ``target`` is the new file. Where several files were compared (``files``), it is a folder, made if it is not there, and
        the result is a list. ``options`` are further ones of :func:`ncforge.copy`, such as ``overwrite=True``, and win over ``fix``.
        """
        return _applied(self.fix, self.files or self._file, target, options)

    def __str__(self) -> str:
        of = f"{self.variable}: " if self.variable else ""
        slower = [f"{s.read} takes {s.then / s.now:.1f} times as long then" for s in self.slower]
        return "\n  ".join([f"{self.code} {self.severity} {of}{self.message}", *self.commands, *slower])


@dataclass(frozen=True)
class Diagnosis:
    """The findings of one file, which a loop over it gives. ``str()`` is text for users, ``.plot()`` draws findings by rule and
    variable, and a notebook shows the page of ``ncforge doctor --html``: the commands, before and after, the chunks with the
    reads on them.
    """

    file: str
    format: str
    variables: int
    findings: list[Finding]
    passes: bool | None = None
    """Whether a profile's requirements are met; ``None`` without a profile."""
    bytes_read: int = 0
    """Bytes of the file that were read for this."""
    reader_cache: dict[str, Any] = field(default_factory=dict)
    """The cache of netCDF-C that chunks were compared with."""
    notes: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """The command line that fixes all findings at once; none where no copy fixes any."""
    fix: dict[str, Any] | None = None
    """Its options, as :func:`ncforge.copy` takes them."""
    text: str = field(default="", repr=False)
    """The findings as the command prints them; ``str()`` gives this."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""
    _saved: str = field(default="", repr=False, compare=False)
    """The report for Rust, which puts those of several files together."""
    _request: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The options of the check."""
    _given: str = field(default="", repr=False, compare=False)
    """The file by the name that was given; ``file`` does not have the secrets of a URL."""
    _seen: Identity | None = field(default=None, repr=False, compare=False)
    """The identity of the file, see :func:`~ncforge._dataset.identity.identity_at`."""

    @property
    def worst(self) -> str | None:
        """The highest severity; ``None`` where nothing was found."""
        return max((f.severity for f in self.findings), key=_ORDER.index, default=None)

    def apply(self, target: Path, **options: Unpack[CopyOptions]) -> CopyReport:
        """Fixes all findings at once in a copy; ``options`` are further ones of :func:`ncforge.copy`, and win over ``fix``."""
        report = _applied(self.fix, self._given, target, options)
        assert not isinstance(report, list)
        return report

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        return self.text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the findings by rule and variable (needs matplotlib)."""
        from ncforge._ops.plots import findings

        return findings([self], ax)

    def _repr_html_(self) -> str | None:
        # Drawn on demand: checks of an archive's files need no drawings. A notebook shows the text if the file was removed or
        # replaced after the check.
        if self._seen is None or self._seen != identity_at(self._given):
            return None
        try:
            return _core.draw_doctor(self._given, self._request)
        except NcforgeError:
            return None


@dataclass(frozen=True)
class Failure:
    """A file that could not be checked."""

    file: str
    error: NcforgeError


@dataclass(frozen=True)
class Diagnoses:
    """The findings of several files, in the order given. Like a list of the files that could be checked. ``str()`` is the text
    of the command: files with the same findings together, with the command that fixes all of them.
    """

    files: list[Diagnosis]
    failures: list[Failure] = field(default_factory=list)
    """Files that could not be checked."""
    across: list[Finding] = field(default_factory=list)
    """Differences between the files, if ``across`` was given."""
    _across_text: str = field(default="", repr=False, compare=False)

    @property
    def worst(self) -> str | None:
        """The highest severity of all; ``None`` where nothing was found."""
        every = [f for d in self.files for f in d.findings] + self.across
        return max((f.severity for f in every), key=_ORDER.index, default=None)

    def __iter__(self) -> Iterator[Diagnosis]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, at: int) -> Diagnosis:
        return self.files[at]

    def __str__(self) -> str:
        found = _core.doctor_text([d._saved for d in self.files]).rstrip()
        failed = [f"{f.file}: {f.error}" for f in self.failures]
        return "\n\n".join(filter(None, [found, self._across_text, *failed]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the findings by rule and variable, over all files (needs matplotlib)."""
        from ncforge._ops.plots import findings

        return findings(self.files, ax)

    def _repr_html_(self) -> str:
        parts = []
        for at, of in enumerate(self.files):
            title, *rest = str(of).splitlines()
            body = (of._repr_html_() if at < _MOST_DRAWN else None) or _as_text("\n".join(rest))
            parts.append(f"<details><summary>{escape(title)}</summary>{body}</details>")
        texts = [self._across_text, *(f"{f.file}: {f.error}" for f in self.failures)]
        return "<div>" + "".join(parts) + "".join(map(_as_text, texts)) + "</div>"


def _applied(
    fix: dict[str, Any] | None, source: str | list[str], target: Path, options: Any
) -> CopyReport | list[CopyReport]:
    from ncforge.ops import copy

    if fix is None:
        raise InvalidError("no copy fixes this")
    if not isinstance(source, str):
        os.makedirs(target, exist_ok=True)
    return copy(source, target, **{**fix, **options})


def _as_text(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


@dataclass(frozen=True)
class Rule:
    """A rule of ``doctor``."""

    code: str
    name: str
    severity: str
    about: str
    """The meaning of its findings."""
    fixed_by: str


def _finding(raw: dict[str, Any], file: str = "") -> Finding:
    cache = raw.get("netcdf_c_cache")
    own = {
        "netcdf_c_cache": None if cache is None else only(CacheAdvice, cache),
        "slower": [only(Slower, s) for s in raw.get("slower", [])],
        "_file": file,
    }
    return only(Finding, {**raw, **own})


def _diagnosis(given: str, text: str, request: dict[str, Any]) -> Diagnosis:
    raw = json.loads(text)
    # Not parts of the command's document.
    printed, saved = raw.pop("text").rstrip(), raw.pop("saved")
    own = {"text": printed, "raw": raw, "_saved": saved, "_given": given}
    own["findings"] = [_finding(f, given) for f in raw["findings"]]
    return only(Diagnosis, {**raw, **own, "_request": request, "_seen": identity_at(given)})


def _one(path: str, request: dict[str, Any]) -> str:
    return _core.doctor(path, request)


@overload
def doctor(  # type: ignore[overload-overlap]  # a string is its own iterable; the first counts
    paths: Path,
    *,
    across: bool = False,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> Diagnosis: ...
@overload
def doctor(
    paths: Iterable[Path],
    *,
    across: bool = False,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> Diagnoses: ...
def doctor(
    paths: Path | Iterable[Path],
    *,
    across: bool = False,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> Diagnosis | Diagnoses:
    """Says what is slow in files, for which reads, by how much, and which command fixes it.

    Reads metadata and a few chunks, never more than 128 MiB of a file.

    Parameters
    ----------
    paths
        One file: the result is a :class:`Diagnosis`, or an exception. Several files: the result is a :class:`Diagnoses`; all
        are tried.
    for_
        How values will be read: "series", "map", "series=3,map=1", "time=all,lat=1,lon=1"; by default series, map
        and full alike.
    select, ignore
        Only these rules, and not these: codes ("NC101"), beginnings of codes ("NC1"), or names.
    storage
        "local", "nfs" or "object": the storage that the files will be read from; by default this machine, as calibrated.
    profile
        "cmip7": checks only the requirements of CMIP7. "virtual": only what keeps references to chunks from being made or joined.
    across
        Also finds differences between the files.
    library
        The netCDF-C library whose default cache is assumed; by default that of 4.9.3 and later.
    sample
        Whether values are read; ``True`` by default.
    threads, memory
        As for :func:`ncforge.copy`.
    client
        A client of Dask ``distributed``: its workers check the files, one task for each. They must see them under the
        same paths. (For ``across``, this process reads the files.)
    progress
        Called with "doctor", files done and files in total; ``True`` shows a bar.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> path = tempfile.mkdtemp() + "/maps.nc"
    >>> with ncforge.Dataset(path, "w") as ds:
    ...     for name, length in (("time", 400), ("lat", 100), ("lon", 100)):
    ...         _ = ds.createDimension(name, length)
    ...     tas = ds.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 100, 100))
    ...     tas[:] = 0
    >>> found = ncforge.doctor(path, for_="series")
    >>> print(found.findings[0].code, found.findings[0].variable)
    NC101 tas
    >>> "What a copy brings" in found._repr_html_()  # what a notebook shows
    True
    """
    request = given(options)
    single = isinstance(paths, str | os.PathLike)
    names = names_of(paths)
    found: list[Diagnosis] = []
    failures: list[Failure] = []
    with reporter(progress, "files") as report:
        for at, (name, result) in enumerate(zip(names, _each(names, request, client), strict=True)):
            if isinstance(result, str):
                found.append(_diagnosis(name, result, request))
            elif single:
                raise result
            else:
                failures.append(Failure(name, result))
            if report is not None:
                report("doctor", at + 1, len(names))
    if single:
        return found[0]
    if not across or failures:
        return Diagnoses(found, failures)
    between = json.loads(_core.doctor_across(names, request))
    return Diagnoses(found, failures, [_finding(f) for f in between["findings"]], between["text"].rstrip())


def _each(names: list[str], request: dict[str, Any], client: Client | None) -> Iterator[str | NcforgeError]:
    if client is not None:
        yield from each_file(client, _one, names, request)
        return
    for name in names:
        try:
            yield _one(name, request)
        except NcforgeError as error:
            yield error


def doctor_rules() -> list[Rule]:
    """All rules of :func:`doctor`."""
    return [only(Rule, r) for r in json.loads(_core.doctor_rules())]
