"""Tiles of a model's processes as one file: ``ncforge combine`` as a function."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._dataset.remote import placed
from ncforge._ops.cluster import encoding
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only
from ncforge._ops.reports import names as names_of
from ncforge.ops import CopyReport

if TYPE_CHECKING:
    from distributed import Client
    from typing_extensions import Unpack

    from ncforge._ops.options import Chunks, CodingOptions, RunOptions

    class Options(CodingOptions, RunOptions, total=False):
        """Options of :func:`combine` and :func:`plan_combine`."""

        scheme: str | None
        place: str | Iterable[str] | None
        names: str | None
        holes: str | None
        allow_missing: bool
        allow_ragged: bool
        differing: str | None
        append: bool
        coords: Path | None
        times: slice | range | tuple[int | None, int | None] | str | None
        chunks: Chunks | None
        delete_tiles: bool
        begin_with: int
        header_space: str | int | None


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


def _request(options: Options) -> dict[str, Any]:
    """The options, as workers in other folders read them, too."""
    request = given(options)
    if request.get("coords") is not None:
        request["coords"] = placed(request["coords"])
    return request


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
        "auto", "nemo", "fms", "roms", "wrf", "mitgcm" or "generic": where the positions of tiles are stored; "auto" by default.
    place, names
        For "generic", as the command's ``--place`` and ``--names`` (docs/combine.md): ``["x=attr:ibegin"]``.
    holes
        The values where there is no tile: "fill" (the default), "missing", "zero", or "error".
    allow_missing, allow_ragged
        Whether tiles that should exist may be missing; whether some may lack records.
    differing
        "error" (the default) or "first": when a variable that is not split differs between tiles.
    coords
        A file with coordinates for the holes; its other variables are not used.
    times
        Only these records: a slice, the first and the one after the last, or as "2:10".
    vars
        Only these variables, and the dimensions that they use.
    select
        Only these indices along dimensions of the whole, as for :func:`ncforge.copy`.
    format, codec, goal, allow_zstd, level, shuffle, access_points, verify, overwrite, resume, checkpoint, history, memory, threads,
    header_space
        As for :func:`ncforge.copy`.
    chunks
        "auto" (the default: the tiles' where they serve readers, else chosen), "tiles" (cut by no edge between tiles), "keep" (the
        tiles'), or a specification such as "time/1,y/100,x/100" or ``{"time": 1, "y": 100}``.
    append
        Puts the tiles into an existing output: its values stay where these tiles have none.
    delete_tiles
        Removes the tiles when the output is complete, verified and on disk.

    Examples
    --------
    >>> ncforge.combine("ocean.nc.*", "ocean.nc", codec="deflate")  # doctest: +SKIP
    """
    request = _request(options)
    files = names_of(tiles)
    whole = os.fspath(output)
    with reporter(progress) as report, encoding(client, files, whole, request) as elsewhere:
        text = _core.combine(files, whole, request, report, elsewhere)
    raw = json.loads(text)
    parts = {
        "mosaics": [only(Mosaic, m) for m in raw["mosaics"]],
        "copy": only(CopyReport, {**raw["copy"], "raw": raw["copy"]}),
    }
    return only(CombineReport, {**raw, **parts, "raw": raw})


def plan_combine(tiles: Path | Iterable[Path], output: Path, **options: Unpack[Options]) -> CombinePlan:
    """The arrangement of the tiles and the plan, without combining them. The options are those of :func:`combine`."""
    raw = json.loads(_core.plan_combine(names_of(tiles), os.fspath(output), _request(options)))
    parts = {
        "mosaics": [only(Mosaic, m) for m in raw["mosaics"]],
        "reasons": {r["name"]: r["why"] for r in raw["reasons"]},
    }
    return only(CombinePlan, {**raw, **parts, "raw": raw})
