"""``ncforge combine``: fields, tilings and ways to store that nobody thought of, against what they were cut from."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tiles as tl
from combining import CDF5, CLASSIC, DEFLATED, TYPES5, combine, values
from commands import ncforge

#: Dimensions from the fastest on; every rank takes the first of them.
AXES = ("x", "y", "z", "t", "c")


@st.composite
def cases(draw: st.DrawFn) -> tuple[tl.Whole, tuple[int, int], int, tl.Storage, tuple[int, ...]]:
    """A field of variables of any type and rank, a tiling, a halo, a way to store, and tiles of land."""
    storage = draw(st.sampled_from([CLASSIC, CDF5, DEFLATED, tl.Storage("NETCDF4", zlib=True, fletcher32=True)]))
    types = TYPES5 if storage is not CLASSIC else ["i1", "i2", "i4", "f4", "f8"]
    ny, nx = draw(st.integers(4, 20)), draw(st.integers(4, 20))
    rows, columns = draw(st.integers(1, min(4, ny))), draw(st.integers(1, min(5, nx)))
    lens = {"x": nx, "y": ny, "z": draw(st.integers(1, 3)), "t": draw(st.integers(1, 3)), "c": 2}
    fields = {"t": tl.Field(("t",), np.arange(float(lens["t"])))}
    for rank in draw(st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True)):
        # Records are the slowest dimension of the classic formats.
        dims = sorted(AXES[:rank], key=lambda d: ("t", "c", "z", "y", "x").index(d))
        kind = draw(st.sampled_from(types))
        fill = np.dtype(kind).type(7) if draw(st.booleans()) else None
        fields[f"v{rank}"] = tl.Field(tuple(dims), values(tuple(lens[d] for d in dims), kind, rank), fill=fill)
    if "y" not in {d for f in fields.values() for d in f.dims}:
        fields["row"] = tl.Field(("y", "x"), values((ny, nx), "f4"))
    narrow = min(ny // rows, nx // columns)
    halo = draw(st.integers(0, min(2, narrow)))
    n = rows * columns
    land = draw(st.lists(st.integers(0, n - 1), max_size=n // 3, unique=True)) if n > 2 else []
    return tl.Whole(fields), (rows, columns), halo, storage, tuple(sorted(land))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_generated(case: tuple[tl.Whole, tuple[int, int], int, tl.Storage, tuple[int, ...]]) -> None:
    """Tiles give back the array bit by bit, as it is and re-encoded; holes hold zeros when asked."""
    whole, tiling, halo, storage, land = case
    with tempfile.TemporaryDirectory() as folder:
        mosaic = tl.nemo(Path(folder), whole, tiling, storage, halo=halo, land=land)
        out = Path(folder) / "out.nc"
        words = ["--holes", "zero", "--no-history"]
        combine(mosaic, out, *words)
        tl.check(out, whole, mosaic)
        combine(mosaic, out, *words, "-O", "--format", "netcdf4", "--codec", "deflate", "--chunks", "tiles", "--verify")
        tl.check(out, whole, mosaic)


def test_zipped_tiles(tmp_path: Path) -> None:
    """Zipped tiles are combined like the classic files that they hold, and so are tiles of both kinds."""
    field = tl.Field(("t", "y", "x"), values((3, 20, 30)))
    whole = tl.Whole({"sst": field, "t": tl.Field(("t",), np.arange(3.0))})
    mosaic = tl.nemo(tmp_path, whole, (2, 3), CLASSIC)
    zipped = []
    for path in mosaic.paths:
        zipped.append(path.with_suffix(".ncz"))
        ncforge("zip", path, zipped[-1])
    for paths in (zipped, [*zipped[:3], *mosaic.paths[3:]]):
        ncforge("combine", *paths, "-O", "-o", tmp_path / "out.nc", "--verify")
        tl.check(tmp_path / "out.nc", whole, mosaic)


@pytest.mark.parametrize("rows", [32])
def test_many_small_deflated_tiles(tmp_path: Path, rows: int) -> None:
    """A thousand tiles with a chunk of some bytes a record: moved by the box, edges and holes by their values."""
    n = 2 * rows
    whole = tl.Whole(
        {
            "t": tl.Field(("t",), np.arange(2.0)),
            "sst": tl.Field(("t", "y", "x"), values((2, n, n)), fill=np.float32(1e20)),
        }
    )
    path = tmp_path / "whole.nc"
    tl.write(path, whole, tl.Tile({}, {}), tl.Storage("NETCDF4", zlib=True, chunks={"t": 1, "y": 2, "x": 2}))
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", f"{rows}x{rows}")
    for missing in ((), (5, 6, 700)):
        for i in missing:
            (tmp_path / f"p_{i:04d}.nc").unlink()
        words = ["--chunks", "keep", "--allow-missing", "--no-history"]
        out = tmp_path / "out.nc"
        ncforge("combine", tmp_path / "p_0001.nc", "-o", out, "-O", "--verify", *words)
        one = out.read_bytes()
        ncforge("combine", tmp_path / "p_0001.nc", "-o", out, "-O", "-j", 1, *words)
        assert out.read_bytes() == one
        given = [
            {"y": (2 * (i // rows), 2 * (i // rows) + 2), "x": (2 * (i % rows), 2 * (i % rows) + 2)}
            for i in range(rows * rows)
            if i not in missing
        ]
        tl.check(out, whole, tl.Mosaic([], given), {"sst": np.float32(1e20)})


def test_exch2(tmp_path: Path) -> None:
    """MITgcm's exch2: tiles say their corner themselves, in any order, and some are left out."""
    whole = tl.Whole({"T": tl.Field(("Y", "X"), values((8, 12)))}, unlimited=())
    mosaic = tl.Mosaic([], [])
    for number, (y, x) in enumerate([(4, 8), (0, 0), (4, 0), (0, 8)], start=1):
        spans = {"Y": (y, y + 4), "X": (x, x + 4)}
        sizes = {"sNx": 4, "sNy": 4, "OLx": 0, "OLy": 0, "nSx": 1, "nSy": 1, "nPx": 3, "nPy": 2, "Nx": 12, "Ny": 8}
        corner = {"exch2_txGlobalo": x + 1, "exch2_tyGlobalo": y + 1, "tile_number": number}
        attrs = {k: np.int32(v) for k, v in {**sizes, **corner}.items()}
        mosaic.paths.append(tmp_path / f"state.0000000000.t{number:03d}.nc")
        mosaic.given.append(spans)
        tl.write(mosaic.paths[-1], whole, tl.Tile(spans, attrs), CLASSIC)
    combine(mosaic, tmp_path / "out.nc", "--holes", "zero")
    tl.check(tmp_path / "out.nc", whole, mosaic)
