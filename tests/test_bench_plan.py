"""What ``ncforge bench io`` says before it begins, and how it goes on after an interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_common import expected, values
from conftest import Run

#: No waiting for a quiet machine.
QUICK = ["--warmup=0", "--no-guard", "--no-sync", "-O"]
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["sections"][0]["rows"]
    return found


def about(plan: str) -> float:
    """Seconds that are predicted."""
    found = re.search(r"^time +about ([\d.]+) (\S+?),", plan, re.MULTILINE)
    assert found, plan
    return float(found[1]) * SECONDS[found[2]]


def test_the_plan_of_a_sweep_is_a_matrix(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=20:100:100:10", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--dry-run"]
    sweep = ["--driver=ncforge,raw", "-L", "chunk=none,auto,1:50:50:10", "-L", "access=ind,coll", "--cache=warm,any"]
    plan = run(*words, *sweep).stdout
    assert "matrix   2 libraries × 2 kinds of access × 3 chunk shapes: 12 cases, 36 cells" in plan
    assert "         7 raw, independent, no chunks" in plan and "12 raw, collective, chunks 1:50:50:10" in plan
    once = about(run(*words, "--reps=1", "--warmup=0").stdout)
    # Rates of this machine go into it: it may be busier one time than the other.
    assert 3 * once < about(run(*words, "--reps=9", "--warmup=1").stdout) < 30 * once
    # Encoding takes longer than anything else here.
    assert about(run(*words, "--reps=1", "--warmup=0", "--codec=zstd=15").stdout) > once
    long = run(*words, "--reps=1000", "--budget=2").stdout
    made = re.search(r"budget +2.* s: about (\d+) of 1001 rounds", long)
    assert made and 1 <= int(made[1]) < 1000, long
    ranks = run(*words, "-L", "ranks=1,2,4", "-L", "chunk=none,auto").stdout
    assert ranks.count("matrix   2 chunk shapes: 2 cases, 4 cells") == 3
    assert re.search(r"in all   3 numbers of ranks, 12 cells, about [\d.]+ ", ranks)
    assert list(tmp_path.iterdir()) == []


def test_absurd_numbers_of_rounds_are_planned_without_overflow(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--dry-run"]
    most = 2**64 - 1
    for options in (
        [f"--warmup={most}"],
        [f"--reps={most}"],
        [f"--reps={most}", f"--warmup={most}", "--rewrite", "--driver=ncforge,raw", "--budget=5"],
    ):
        plan = run(*words, *options).stdout
        assert f"{most} rounds" in plan and "about" in plan, plan
        assert f"of {most} rounds" in plan or "--budget=5" not in options, plan
    assert "2 numbers of ranks" in run(*words, f"--warmup={most}", "-L", "ranks=1,2").stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("ranks", [1, 2])
def test_an_interrupted_run_goes_on(
    run: Run, ncforge_bin: Path, tmp_path: Path, how: signal.Signals, ranks: int
) -> None:
    file, kept, out = tmp_path / "t.nc", tmp_path / "kept.json", tmp_path / "out.json"
    words = [
        "bench",
        "io",
        "-d=10:40:40:10",
        f"-f={file}",
        "-w",
        "-r",
        "-L",
        "chunk=none,auto",
        f"--resume={kept}",
        *QUICK,
    ]
    words += [f"--ranks={ranks}", f"-p={ranks}", f"--json={out}", "--keep"]
    job = subprocess.Popen([str(ncforge_bin), *words, "--reps=100000"], start_new_session=True)
    # Saved every two seconds.
    for _ in range(600):
        if kept.exists():
            break
        time.sleep(0.05)
    # The ranks, too, as a terminal or a batch system does it.
    os.killpg(job.pid, how)
    job.wait(60)
    assert job.returncode == (130 if how == signal.SIGINT else -how)
    saved = json.loads(kept.read_text())["done"]["phases"]
    repetitions = {p["repetition"] for p in saved}
    assert len(repetitions) >= 2
    more = max(repetitions) + 3
    run(*words, f"--reps={more}")
    assert not kept.exists(), "everything is done"
    for row in rows(out):
        assert sorted(m["rep"] for m in row["measurements"]) == list(range(more))
        assert all(m["right"] is not False for m in row["measurements"])
    notes = json.loads(out.read_text())["sections"][0]["notes"]
    assert any(f"{len(saved)} of these measurements were made by an earlier run" in n for n in notes)
    for number in (1, 2):
        assert np.array_equal(values(tmp_path / f"t.{number}.nc"), expected((10, 40, 40, 10)))


def test_a_budget_makes_parts_of_a_run(run: Run, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept.json", tmp_path / "out.json"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--reps=3", "--budget=1e-6", *QUICK]
    words += [f"--resume={kept}", f"--json={out}"]
    for part in range(1, 4):
        run(*words)
        assert [len(r["measurements"]) for r in rows(out)] == [part]
        assert kept.exists() == (part < 3)
    run(*words)
    assert [len(r["measurements"]) for r in rows(out)] == [1], "begun anew"


def test_numbers_of_ranks_go_on_as_well(run: Run, tmp_path: Path) -> None:
    kept, out = tmp_path / "kept.json", tmp_path / "out.json"
    words = [
        "bench",
        "io",
        "-d=4:8:8:5",
        f"-f={tmp_path / 't.nc'}",
        "-w",
        "-L",
        "ranks=1,2",
        "--reps=2",
        "--budget=1e-6",
    ]
    words += [*QUICK, "--resume", str(kept), f"--json={out}"]
    run(*words)
    assert kept.exists() and [len(r["measurements"]) for r in rows(out)] == [1, 1]
    run(*words)
    assert not kept.exists() and [len(r["measurements"]) for r in rows(out)] == [2, 2]


def test_what_is_of_another_measurement_is_not_gone_on_with(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-w", "--reps=3", "--budget=1e-6", f"--resume={kept}", *QUICK]
    run(*words, "-d=4:6:8:5")
    text = kept.read_text()
    for other, part in ((["-d=4:6:8:6"], "geometry"), (["-d=4:6:8:5", "--seed=2"], "options.seed")):
        done = run(*words, *other, code=2)
        assert part in done.stderr and "another measurement" in done.stderr
    kept.write_text("{}")
    assert "no unfinished measurement" in run(*words, "-d=4:6:8:5", code=4).stderr
    kept.write_text(text)
    # Other numbers of rounds are the same measurement.
    run(*[w for w in words if not w.startswith("--budget")], "-d=4:6:8:5")
    assert not kept.exists()
    assert "--resume" in run("bench", "io", "--help").stdout
