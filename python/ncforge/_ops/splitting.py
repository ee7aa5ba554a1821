"""Files into tiles, ``ncforge split``; and chunk shapes, ``ncforge tune chunks``, as functions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncforge import _core
from ncforge._ops.options import given
from ncforge._ops.progress import Progress, reporter
from ncforge._ops.reports import Path, only

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ncforge._ops.options import ChoosingOptions, CodingOptions, EngineOptions

    class SplitOptions(CodingOptions, EngineOptions, total=False):
        """Options of :func:`split`."""

        tiles: str | tuple[int, int]
        scheme: str | None
        halo: int
        mask: str | None
        dims: Iterable[str] | None
        overwrite: bool

    class TuneOptions(ChoosingOptions, EngineOptions, total=False):
        """Options of :func:`tune_chunks`."""

        vars: Iterable[str] | None
        sample: bool


@dataclass(frozen=True)
class SplitReport:
    """The report of a splitting."""

    tiles: int
    """Tiles written."""
    left_out: int
    """Tiles left out by the mask."""
    first: str
    """The first file."""
    output_bytes: int
    seconds: float
    notes: list[str] = field(default_factory=list)
    """Notes, such as parts of the file that are in no tile."""


@dataclass(frozen=True)
class ChunkChoice:
    """The chunk shape that suits a variable."""

    variable: str
    chunks: list[int] | None
    """Its lengths; ``None`` where there is nothing to choose."""
    reasons: list[str]
    """Why, and what reads of it cost; or why there is nothing to choose."""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    """All that the command's ``--json`` has."""

    def __str__(self) -> str:
        shape = "no chunks" if self.chunks is None else " x ".join(map(str, self.chunks))
        return "\n  ".join([f"{self.variable}: {shape}", *self.reasons])


def split(
    source: Path,
    base: Path | None = None,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[SplitOptions],
) -> SplitReport:
    """Splits a file into tiles as models write them: the inverse of :func:`ncforge.combine`.

    Parameters
    ----------
    source
        The file.
    base
        What the names of the tiles begin with: "tile" or "tile.nc" for tile_0000.nc, …. In a folder, the file's name; so by default,
        in the working folder.
    tiles
        Columns and rows of tiles, as "4x3" or ``(4, 3)``. Must be given.
    scheme
        How tiles record their place: "nemo" (the default), "fms", "roms" or "wrf".
    halo
        Points of their neighbours that tiles hold too, for "nemo"; 0 by default.
    mask
        A variable: no tile is written where all of it is zero or missing.
    dims
        The two dimensions to split, the fastest first; by name, or the last two of the largest map, by default.
    format, codec, goal, allow_zstd, level, shuffle, access_points, overwrite, threads, memory
        As of :func:`ncforge.copy`.
    progress
        Called with the stage, and bytes of values done and in all; ``True`` shows a bar.

    Raises
    ------
    InvalidError
        If the file cannot be split so: a dimension is missing, or shorter than there are tiles.
    ExistsError
        If a tile exists and ``overwrite`` is not given.
    TypeError
        If there is no such option.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with ncforge.Dataset(f"{folder}/sst.nc", "w") as ds:
    ...     for name, length in (("y", 6), ("x", 8)):
    ...         _ = ds.createDimension(name, length)
    ...     ds.createVariable("sst", "f4", ("y", "x"))[:] = 20
    >>> report = ncforge.split(f"{folder}/sst.nc", f"{folder}/tile", tiles=(2, 2))
    >>> report.tiles, ncforge.combine(f"{folder}/tile_*.nc", f"{folder}/whole.nc").tiles
    (4, 4)
    >>> bool(ncforge.compare(f"{folder}/sst.nc", f"{folder}/whole.nc", vars=["sst"]))
    True
    """
    with reporter(progress) as report:
        return only(SplitReport, json.loads(_core.split(source, base, given(options), report)))


def tune_chunks(path: Path, **options: Unpack[TuneOptions]) -> list[ChunkChoice]:
    """The chunk shapes that suit a file's variables, and why. Nothing is changed: ``ncforge.copy(..., chunks="auto")`` chooses
    the same shapes and writes the file.

    Parameters
    ----------
    path
        The file.
    vars
        Only these variables; those larger than a chunk by default.
    for_, expect, storage, reader, writer_memory
        What for, as of :func:`ncforge.copy`.
    sample
        Whether values are read, to know how well they compress; ``True`` by default.
    threads, memory
        As of :func:`ncforge.copy`.

    Raises
    ------
    NotFoundError
        If the file does not have a variable or a dimension that is named.
    InvalidError
        If reads, or another option, mean nothing.

    Examples
    --------
    >>> import ncforge, tempfile
    >>> path = tempfile.mkdtemp() + "/maps.nc"
    >>> with ncforge.Dataset(path, "w") as ds:
    ...     for name, length in (("time", 400), ("lat", 100), ("lon", 100)):
    ...         _ = ds.createDimension(name, length)
    ...     ds.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 100, 100))[:] = 0
    >>> choice = ncforge.tune_chunks(path, for_="series")[0]
    >>> choice.variable, choice.chunks[0] > 100
    ('tas', True)
    """
    raw = json.loads(_core.tune_chunks(path, given(options)))
    return [_choice(variable) for variable in raw["variables"]]


def _choice(raw: dict[str, Any]) -> ChunkChoice:
    found = raw["choice"]
    if found is None:
        return ChunkChoice(raw["variable"], None, [raw["why"]], raw)
    return ChunkChoice(raw["variable"], found["chunks"], found["reasons"], raw)
