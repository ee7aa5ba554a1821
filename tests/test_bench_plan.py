"""The plan that ``ncforge bench io`` prints before it begins."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import Run

SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def about(plan: str) -> float:
    """Seconds that are predicted."""
    found = re.search(r"^time +about ([\d.]+) (\S+?),", plan, re.MULTILINE)
    assert found, plan
    return float(found[1]) * SECONDS[found[2]]


def test_the_plan_of_a_sweep_is_a_matrix(
    run: Run, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rates of the disk that were stored. Those of making and encoding values are measured: ten times as high one time as the other.
    rates = tmp_path_factory.mktemp("cache")
    (rates / "ncforge").mkdir()
    shutil.copy(Path(__file__).with_name("machine.json"), rates / "ncforge")
    monkeypatch.setenv("XDG_CACHE_HOME", str(rates))
    words = ["bench", "io", "-d=20:100:100:10", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--dry-run"]
    sweep = ["--driver=ncforge,raw", "-L", "chunk=none,auto,1:50:50:10", "-L", "access=ind,coll", "--cache=warm,any"]
    plan = run(*words, *sweep).stdout
    assert "matrix   2 libraries × 2 kinds of access × 3 chunk shapes: 12 cases, 36 cells" in plan
    assert "         7 raw, independent, no chunks" in plan and "12 raw, collective, chunks 1:50:50:10" in plan
    once = about(run(*words, "--reps=1").stdout)
    assert 90 * once < about(run(*words, "--reps=900").stdout) < 9_000 * once
    # Encoding comes on top of it: with this codec, ten times as much.
    assert about(run(*words, "--reps=1", "--codec=bzip2=9").stdout) > once
    ranks = run(*words, "-L", "ranks=1,2,4", "-L", "chunk=none,auto").stdout
    assert ranks.count("matrix   2 chunk shapes: 2 cases, 4 cells") == 3
    assert re.search(r"in all   3 numbers of ranks, 12 cells, about [\d.]+ ", ranks)
    assert list(tmp_path.iterdir()) == []


def test_absurd_numbers_of_rounds_are_planned_without_overflow(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--dry-run"]
    most = 2**64 - 1
    plan = run(*words, f"--reps={most}").stdout
    assert f"{most} rounds" in plan and "about" in plan, plan
    assert "2 numbers of ranks" in run(*words, f"--reps={most}", "-L", "ranks=1,2").stdout
    assert list(tmp_path.iterdir()) == []
