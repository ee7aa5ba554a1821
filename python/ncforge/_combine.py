"""Tiles of a model's processes as one file: ``ncforge combine`` as a function."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._progress import Progress, reporter
from ncforge._reports import Path, only, size
from ncforge._reports import names as names_of
from ncforge.errors import InvalidError
from ncforge.ops import CopyReport

if TYPE_CHECKING:
    from distributed import Client
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """Arguments of :func:`combine` and :func:`plan_combine` other than files."""

        scheme: str
        place: Iterable[str]
        names: str | None
        holes: str
        allow_missing: bool
        allow_ragged: bool
        differing: str
        coords: Path | None
        times: slice | tuple[int, int] | None
        vars: Iterable[str] | None
        format: str
        chunks: str
        codec: str
        level: int | None
        verify: bool
        delete_tiles: bool
        overwrite: bool
        append: bool
        resume: bool
        history: str | None
        memory: str | int | None
        threads: int | None


_END = 2**64 - 1


@dataclass(frozen=True)
class Mosaic:
    """The arrangement of tiles, for one set of split dimensions."""

    dims: list[str]
    shape: list[int]
    """Lengths of the split dimensions."""
    tiles: int
    lattice: list[int]
    """Tiles along each of them."""
    hole_points: int
    """Points that no tile covers."""
    holes: list[tuple[list[int], list[int]]]
    """Boxes that no tile covers: first point and lengths."""
    variables: list[str]
    halo: list[int]
    """The largest halo that is removed, by dimension."""
    drawing: list[str]
    """A picture in letters, the first row at the bottom."""

    def __str__(self) -> str:
        return "\n".join(reversed(self.drawing))


@dataclass(frozen=True)
class CombineReport:
    """The result of a combination."""

    scheme: str
    """The scheme: where the positions of the tiles are stored."""
    tiles: int
    missing: list[int]
    """Numbers of tiles that should exist and were not given."""
    mosaics: list[Mosaic]
    tiles_removed: int
    """Tiles that were removed; those of which the output lacks some contents stay, and a note names each."""
    copy: CopyReport
    """The copy that made the output."""
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--json``."""


@dataclass(frozen=True)
class CombinePlan:
    """How tiles would be combined."""

    scheme: str
    tiles: int
    tile_bytes: int
    """Bytes of all of them."""
    missing: list[int]
    mosaics: list[Mosaic]
    reasons: dict[str, str]
    """For every variable, why it would be stored as it would be."""
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """The document that the command prints with ``--dry-run --json``, including the plan of the copy."""


def _records(times: slice | tuple[int, int] | None) -> tuple[int, int] | None:
    if times is None:
        return None
    start, stop, step = (times.start, times.stop, times.step) if isinstance(times, slice) else (*times, None)
    first, end = start or 0, _END if stop is None else stop
    if step not in (None, 1) or first < 0 or end <= first:
        raise InvalidError(f"times are a run of records, from the first up to one after the last, not {times!r}")
    return first, end


def _request(
    *,
    scheme: str = "auto",
    place: Iterable[str] = (),
    names: str | None = None,
    holes: str = "fill",
    allow_missing: bool = False,
    allow_ragged: bool = False,
    differing: str = "error",
    coords: Path | None = None,
    times: slice | tuple[int, int] | None = None,
    vars: Iterable[str] | None = None,
    format: str = "keep",
    chunks: str = "auto",
    codec: str = "keep",
    level: int | None = None,
    verify: bool = False,
    delete_tiles: bool = False,
    overwrite: bool = False,
    append: bool = False,
    resume: bool = False,
    history: str | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Options for the extension; the names and defaults are those of :func:`combine`."""
    return {
        "scheme": scheme,
        "place": list(place),
        "names": names,
        "holes": holes,
        "allow_missing": allow_missing,
        "allow_ragged": allow_ragged,
        "differing": differing,
        "coords": None if coords is None else os.path.abspath(coords),
        "records": _records(times),
        "vars": None if vars is None else list(vars),
        "format": format,
        "chunks": chunks,
        "codec": codec,
        "level": level,
        "verify": verify,
        "delete_tiles": delete_tiles,
        "overwrite": overwrite,
        "append": append,
        "resume": resume,
        "history": history,
        "memory": size(memory),
        "threads": threads,
    }


def combine(
    tiles: Path | Iterable[Path],
    output: Path,
    *,
    client: Client | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> CombineReport:
    """Combines the tiles of a model's processes into one file, in bounded memory.

    Parameters
    ----------
    tiles
        The files, a pattern, any one tile of the set, or a base name.
    output
        The file to write. It appears under its name when it is complete.
    client
        A client of Dask ``distributed``: its workers read tiles and encode chunks, this process writes them in
        order. The output is the same to the byte. Workers must see the tiles under the same paths.
    progress
        Called with the stage, and bytes of values done and in all; ``True`` shows a bar.
    scheme
        "auto", "nemo", "fms", "roms", "wrf", "mitgcm" or "generic": where the positions of tiles are stored.
    place, names
        For "generic", as the command's ``--place`` and ``--names`` (docs/combine.md): ``["x=attr:ibegin"]``.
    holes
        The values where there is no tile: "fill", "zero", or "error".
    allow_missing, allow_ragged
        Whether tiles that should exist may be missing; whether some may lack records.
    differing
        "error" or "first": when a variable that is not split differs between tiles.
    coords
        A file with coordinates for the holes.
    times
        Only these records: a slice, or the first and the one after the last.
    vars
        Only these variables, and the dimensions that they use.
    format, codec, level, verify, overwrite, resume, history, memory, threads
        As for :func:`ncforge.copy`.
    chunks
        "auto" (those of the tiles where these are good to read, else chosen), "tiles" (not cut by edges between tiles), "keep"
        (those of the tiles), or a specification such as "time/1,y/100,x/100".
    append
        Puts the tiles into an existing output: its values stay where these tiles have none.
    delete_tiles
        Removes the tiles when the output is complete, verified and on disk.

    Examples
    --------
    >>> ncforge.combine("ocean.nc.*", "ocean.nc", codec="deflate")  # doctest: +SKIP
    """
    request = _request(**options)
    files = names_of(tiles)
    elsewhere = None
    if client is not None:
        from ncforge._cluster import Encoding

        elsewhere = Encoding.of_combine(client, [os.path.abspath(f) for f in files], os.path.abspath(output), request)
    with reporter(progress) as report:
        try:
            text = _core.combine(files, os.fspath(output), request, report, elsewhere)
        finally:
            if elsewhere is not None:
                elsewhere.close()
    raw = json.loads(text)
    parts = {
        "mosaics": [only(Mosaic, m) for m in raw["mosaics"]],
        "copy": only(CopyReport, {**raw["copy"], "raw": raw["copy"]}),
    }
    return only(CombineReport, {**raw, **parts, "raw": raw})


def plan_combine(tiles: Path | Iterable[Path], output: Path, **options: Unpack[Options]) -> CombinePlan:
    """The arrangement of the tiles and the plan, without combining them. The options are those of :func:`combine`."""
    raw = json.loads(_core.plan_combine(names_of(tiles), os.fspath(output), _request(**options)))
    parts = {
        "mosaics": [only(Mosaic, m) for m in raw["mosaics"]],
        "reasons": {r["name"]: r["why"] for r in raw["reasons"]},
    }
    return only(CombinePlan, {**raw, **parts, "raw": raw})
