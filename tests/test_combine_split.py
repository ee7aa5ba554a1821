"""``ncforge split``, the inverse."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, ncforge, wholes
from stopping import start


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


def test_split_that_is_stopped_leaves_whole_tiles_only(tmp_path: Path) -> None:
    """SIGINT: nobody goes on with a part of a tile, so none is left, and the hint names no --resume, which there is not."""
    smooth = np.cumsum(np.random.default_rng(3).standard_normal((8, 240, 300)), 2).round(3).astype("f4")
    whole = tl.Whole({"v": tl.Field(("t", "y", "x"), smooth), "w": tl.Field(("t", "y", "x"), smooth[::-1] * 2)})
    path, folder = tmp_path / "whole.nc", tmp_path / "tiles"
    tl.write(path, whole, tl.Tile({}, {}), CLASSIC)
    folder.mkdir()
    words = ["--tiles", "5x4", "--format", "netcdf4", "--codec", "deflate", "--level", 9, "-j", 1]
    for _ in range(5):
        running = start("split", path, "-o", folder / "p", *words, "-O")
        while running.poll() is None and len(list(folder.iterdir())) < 3:
            time.sleep(0.002)
        running.send_signal(signal.SIGINT)
        _, messages = running.communicate(timeout=120)
        if running.returncode != 0:
            break
    assert running.returncode == 130, messages
    assert "the tiles that are finished stay" in messages
    assert "--resume" not in messages
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []
    ncforge("split", path, "-o", folder / "p", *words, "-O")
    ncforge("combine", folder / "p", "-o", tmp_path / "back.nc", "--no-history")
    ncforge("compare", path, tmp_path / "back.nc")
