"""The harness of `make bench`, on data of a hundredth of the size: what it must get right whatever the libraries do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from commands import execute
from growth import exponent
from harness.data import Data
from harness.model import Entry, Row
from harness.plan import Plan
from harness.processes import Workers
from harness.rounds import Rounds
from run import PARTS
from workers.main import checksum

ROOT = Path(__file__).resolve().parent.parent
needs_header = pytest.mark.skipif(
    shutil.which("nc-config") is None, reason="netCDF-C's header is not installed (make bench installs it on Debian)"
)


@pytest.fixture(scope="module")
def target() -> Path:
    """A folder whose `release` holds the worker of ncforge and the command, as cargo built them last."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    names = ("bench-worker", "ncforge")
    built = [p for p in ("release", "debug") if all((folder / p / name).exists() for name in names)]
    if not built:
        subprocess.run(["cargo", "build", "-q", "-p", "bench-worker", "-p", "ncforge-cli"], cwd=ROOT, check=True)
        built = ["debug"]
    return folder / max(built, key=lambda p: (folder / p / "bench-worker").stat().st_mtime)


class Bench:
    """Runs the table in a folder."""

    def __init__(self, folder: Path, built: Path) -> None:
        self.out = folder / "out"
        (folder / "target").mkdir()
        (folder / "target" / "release").symlink_to(built)
        self._options = ["--tiny", "--out", str(self.out), "--target-dir", str(folder / "target")]

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        return execute(sys.executable, ROOT / "benches/run.py", *self._options, *args, code=None)

    def results(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.out / "results.json").read_text())
        return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, target: Path) -> Bench:
    """The table, with real libraries on tiny data."""
    return Bench(tmp_path_factory.mktemp("bench"), target)


@needs_header
def test_rows_of_every_kind_are_measured(bench: Bench) -> None:
    only = [
        *(
            "read/precip/256KiB",
            "write/packed/*/deflate1",
            "sweep-*/1x16x32/deflate1",
            "cliff*/1x16x32",
            "pixels/8",
            "parts/row",
        ),
        *("fresh/plain-read/contiguous", "fresh/classic-write/10M", "fresh/import-and-open", "fresh/open"),
        *(
            "classic-random",
            "classic-records/each",
            "classic-records/write",
            "copy/rechunk/precip",
            "open/cdf5",
            "references",
            "series/cdf5",
            "dask",
        ),
    ]
    done = bench(*(arg for pattern in only for arg in ("--only", pattern)), "--threads", "1", "--rounds", "1")
    assert done.returncode == 0, done.stderr[-2000:]
    results = bench.results()
    assert {r["name"].split("/")[0] for r in results} >= {
        *("read", "write", "sweep-slab", "sweep-series", "cliff", "classic-random", "classic-records"),
        *("pixels", "parts", "copy", "open", "references", "series", "dask", "fresh"),
    }
    for r in results:
        assert r["ours"] > 0 and r["peer"] > 0 and r["ratio"] == pytest.approx(r["peer"] / r["ours"]), r
        assert r["met"] == (None if r["target"] is None else r["ratio"] >= r["target"]), r
        if not r["name"].endswith(("/size", "/memory")):
            assert r["ours_least"] <= r["ours"] and r["ratio_least"] == pytest.approx(r["peer_least"] / r["ours_least"])
        assert r["rounds"] == 1 and r["peer_name"] and r["cache"] == "warm", r
    written = (bench.out / "results.txt").read_text()
    assert written in done.stdout and "not to be quoted" in written
    assert not list(bench.out.glob("data-tiny/ar5-*")), "temporary files are removed"


def test_other_values_are_an_error(bench: Bench) -> None:
    only = ("--only", "read/packed/256KiB", "--threads", "1", "--rounds", "1")
    assert bench(*only).returncode == 0
    (file,) = bench.out.glob("data-tiny/packed-256KiB*.nc")
    with netCDF4.Dataset(file, "r+") as data:
        data["v"][0, 0, 0] += 1
    done = bench(*only)
    assert done.returncode == 1
    assert "other values" in done.stderr


def test_a_run_is_resumed(bench: Bench) -> None:
    only = ("--only", "classic-random", "--only", "open/cdf5", "--rounds", "2")
    done = bench(*only, "--minutes", "0")
    assert done.returncode == 0 and "rows are left" in done.stderr
    assert bench(*only[:2], "--rounds", "2").returncode == 0
    first = bench.results()
    assert bench(*only, "--resume").returncode == 0
    both = bench.results()
    assert both[: len(first)] == first and len(both) > len(first)
    assert bench(*only, "--resume").returncode == 0
    assert bench.results() == both


@needs_header
def test_the_benchmark_is_compared_with_a_plain_loop(target: Path) -> None:
    """How it comes out is measured, not tested: that both do the work, and that both clocks are reported."""
    command = [sys.executable, str(ROOT / "benches/overhead.py"), "--binary", str(target / "ncforge"), "--tiny"]
    done = execute(*command, "--rounds", "2", "--repetitions", "2")
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        *("10 calls of 400 kB, wall time", "10 calls of 400 kB, processor time"),
        *("500 calls of 4 kB, wall time", "500 calls of 4 kB, processor time"),
    ]
    assert all("ratio " in line and "at most 1.02" in line for line in lines)


def test_a_sweep_cut_short_counts_as_a_whole_one() -> None:
    rounds = Rounds(Workers(Path("none"), Path("none")), None, 1, cold=False)  # type: ignore[arg-type]
    row = Row("r", 1, Entry("ncforge", {}), (), per="sweep", reads=100)
    assert rounds._cost(row, {"wall": 2.0, "reads": 10}) == 20.0
    assert rounds._cost(row, {"wall": 3.0, "reads": 100}) == 3.0


def test_a_library_that_is_not_there_is_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    workers = Workers(tmp_path / "none", tmp_path / "none")
    assert not workers.available("netcdf-c")
    assert not workers.available("commands", "no-such-command")
    assert workers.available("commands", "sh")
    assert capfd.readouterr().err.count("not measured") == 2


def test_a_fresh_process_has_done_nothing(tmp_path: Path) -> None:
    workers = Workers(tmp_path / "none", tmp_path / "none")
    first = workers.get("commands", 1)
    assert workers.get("commands", 1) is first
    second = workers.get("commands", 1, fresh=True)
    assert second is not first and first.returncode() == 0 and second.peak() > 0
    workers.release()


def test_growth_is_fitted(target: Path, tmp_path: Path) -> None:
    """How it comes out is measured, not tested: that every kind of work is done, and values are checked."""
    one = ["--gigabytes", "0.004", "--chunks", "100", "--tiles", "4", "--history", "2", "--definitions", "20"]
    sizes = [*one, "--variables", "10,100"]
    command = [sys.executable, str(ROOT / "benches/growth.py"), "--command", str(target / "ncforge"), *sizes]
    done = execute(*command, "--out", tmp_path)
    found = json.loads((tmp_path / "growth.json").read_text())["results"]
    assert len(found) == 23 + 2 and all(r["wall"] > 0 and r["peak"] > 1e6 for r in found)
    assert sum("| exponent |" in line for line in done.stdout.splitlines()) == 23
    assert not list(tmp_path.glob("growth-*"))
    assert exponent([(10, 3.0), (100, 30.0), (1000, 300.0)]) == pytest.approx(1)
    assert exponent([(10, 3.0)]) is None


def test_checksums_follow_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checksum(np.array([], np.uint8)) == 0
    assert checksum(np.array([1, 0, 0, 0, 0, 0, 0, 0, 2], np.uint8)) == 1 + 2 * 3
    monkeypatch.setattr("workers.main.BLOCK", 64)
    words = np.arange(643, dtype=np.uint64)
    expected = sum(int(w) * (2 * i + 1) for i, w in enumerate(words.tolist())) % 2**64
    assert checksum(words) == expected


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    workers = Workers(tmp_path / "none", tmp_path / "none")
    return Plan(Data(tmp_path, workers), command=tmp_path / "none")


def test_every_row_of_the_table_is_there(plan: Plan) -> None:
    rows = [row for part in PARTS for row in import_module(f"rows.{part}").rows(plan)]
    seen = {(row.name, row.threads, row.ours.backend) for row in rows}
    assert len(seen) == len(rows)
    for part in ("read", "write", "classic-read", "classic-write", "plain-read", "sweep-slab", "sweep-series"):
        assert any(row.name.startswith(f"{part}/") for row in rows), part
    assert sum(row.name.startswith("sweep-slab/") for row in rows) == 5 * 3 * 3 * 2
    # Rows are made without making data: `--list` is quick.
    assert not list(plan.data.folder.glob("*.raw")) and not list(plan.data.folder.glob("*.nc"))


def test_chosen_codecs_are_compared_with_all_others(target: Path, tmp_path: Path) -> None:
    """How near they come is measured, not tested: that a best one is found for every goal."""
    file = tmp_path / "t.nc"
    with netCDF4.Dataset(file, "w") as data:
        data.createDimension("x", 50_000)
        data.createVariable("v", "f4", "x")[:] = np.sin(np.arange(50_000) / 100).round(3)
    command = [sys.executable, str(ROOT / "benches/goals.py"), "--binary", str(target / "ncforge"), str(file)]
    done = execute(*command)
    summary = done.stdout.splitlines()[-6:]
    assert [line.split(":")[0] for line in summary] == [
        goal + zstd for zstd in ("", ", zstd allowed") for goal in ("balanced", "fast-read", "small")
    ]
    assert all(float(line.split("mean ")[1].split(",")[0]) >= 1 for line in summary)
    small = [line for line in done.stdout.splitlines() if line.startswith("    small")]
    assert len(small) == 2 and all(float(line.rsplit(":", 1)[1]) <= 1.02 for line in small), done.stdout
