"""``ncforge combine``: stopped in the middle, and taken up again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, combine
from commands import ncforge
from stopping import changes, interrupt, killed


@pytest.fixture(scope="module")
def whole() -> tl.Whole:
    """As much as takes a while to encode."""
    rng = np.random.default_rng(3)
    smooth = np.cumsum(rng.standard_normal((8, 240, 300)), 2).round(3).astype("f4")
    fields = {
        "t": tl.Field(("t",), np.arange(8.0)),
        "v": tl.Field(("t", "y", "x"), smooth, fill=np.float32(1e20)),
        "w": tl.Field(("t", "y", "x"), smooth[::-1] * 2),
    }
    return tl.Whole(fields)


@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
def test_killed_at_any_moment(tmp_path: Path, whole: tl.Whole, storage: tl.Storage) -> None:
    """Killed: nothing stands under the final name; `--resume` gives the bytes of a run that nobody disturbed."""
    (tmp_path / "tiles").mkdir()
    mosaic = tl.nemo(tmp_path / "tiles", whole, (3, 4), storage, halo=1)
    out, undisturbed = tmp_path / "out.nc", tmp_path / "undisturbed.nc"
    words: list[object] = ["--format", "netcdf4", "--codec", "deflate", "--level", 8, "--no-history", "--memory", "8M"]
    words += ["--chunks", "t/4,y/60,x/70", "-j", 2]
    whole_work = changes("combine", mosaic.paths[0], "-o", undisturbed, *words, "--checkpoint", 0)
    for part in (0.2, 0.5, 0.8):
        line = ["combine", mosaic.paths[0], "-o", out, *words, "--checkpoint", 0]
        assert killed(round(part * whole_work), *line)
        assert not out.exists() or out.read_bytes() == undisturbed.read_bytes()
        done = ncforge(*line, "--resume", "--json")
        assert '"resumed_steps": 0' not in done.stdout
        assert out.read_bytes() == undisturbed.read_bytes()
        out.unlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tiles", "undisturbed.nc"]
    tl.check(undisturbed, whole, mosaic)


def test_interrupted(tmp_path: Path, whole: tl.Whole) -> None:
    """SIGINT: exit code 5, nothing under the final name, a hint, and `--resume` goes on; other tiles are another work."""
    (tmp_path / "tiles").mkdir()
    mosaic = tl.nemo(tmp_path / "tiles", whole, (3, 4), DEFLATED)
    out = tmp_path / "out.nc"
    words: list[object] = ["--codec", "deflate", "--level", 8, "--chunks", "t/4,y/60,x/70", "-j", 1, "--memory", "8M"]
    interrupt(out, "combine", mosaic.paths[0], "-o", out, *words, "--checkpoint", 0.02)
    combine(mosaic, out, *words, "--resume", "--verify")
    tl.check(out, whole, mosaic)
