"""``ncforge split``, the inverse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, ncforge, wholes


@pytest.mark.parametrize("scheme", ["nemo", "fms", "roms", "wrf"])
@pytest.mark.parametrize("tiling", ["1x1", "4x4", "5x7"])
@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
def test_split_and_back(tmp_path: Path, scheme: str, tiling: str, storage: tl.Storage) -> None:
    """Splitting and combining gives the same file, whatever the scheme."""
    whole = wholes()[scheme]
    path = tmp_path / "whole.nc"
    tl.write(path, whole, tl.Tile({}, {}), storage)
    (tmp_path / "tiles").mkdir()
    words: list[object] = ["--halo", "2"] if scheme == "nemo" else []
    base = tmp_path / "tiles" / "part"
    report = json.loads(
        ncforge("split", path, "-o", base, "--tiles", tiling, "--scheme", scheme, "--json", *words).stdout
    )
    nx, ny = map(int, tiling.split("x"))
    assert report["tiles"] == nx * ny
    ncforge("combine", report["first"], "-o", tmp_path / "back.nc", "--no-history")
    difference = ncforge("compare", path, tmp_path / "back.nc", code=0 if scheme != "wrf" else 3).stdout
    if scheme == "wrf":
        assert "_PATCH_" in difference, "only what WRF's tiles need is new"
    tl.check(tmp_path / "back.nc", whole, tl.Mosaic([], [{}]))


def test_split_by_mask(tmp_path: Path) -> None:
    """Tiles of land alone are not written; combining fills them again."""
    whole = wholes()["nemo"]
    path = tmp_path / "whole.nc"
    tl.write(path, whole, tl.Tile({}, {}), DEFLATED)
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", "4x4", "--mask", "tmask", "--halo", "1")
    tiles = sorted(tmp_path.glob("p_*.nc"))
    assert len(tiles) == 14
    ncforge("combine", tmp_path / "p", "-o", tmp_path / "back.nc", "--no-history")
    tl.check(tmp_path / "back.nc", whole, tl.Mosaic([], [{}]))
    done = ncforge("split", path, "-o", tmp_path / "p", "--tiles", "4x4", code=2)
    assert "exists" in done.stderr
    ncforge("split", path, "-o", tmp_path / "q", "--tiles", "99x4", code=1)
