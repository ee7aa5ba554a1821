"""Patterns of ``ncforge bench io`` beside blocks as they were written: transposed reads, maps, boxes; dumps with computing between them."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_common import ONCE, PARALLEL, expected, mpi_ranks, values
from conftest import Run

#: Ranks as nodes times processes, what is read in one call, who reads where, and calls of each rank.
BLOCKS = {
    "series": ((1, 1), "6:1:1:5", "1:1:1:1", 8 * 8),
    "series by two": ((1, 2), "6:1:1:5", "1:2:1:1", 4 * 8),
    "series by four": ((2, 2), "6:2:2:5", "1:4:1:1", 4),
    "maps by four": ((2, 2), "1:8:8:1", "2:1:1:1", None),
    "boxes by four": ((2, 2), "3:4:4:5", "2:2:1:1", 2),
    "all by one": ((1, 1), "6:8:8:5", "1:1:1:1", 1),
}


def section(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["sections"][0]
    return found


@pytest.mark.parametrize("what", BLOCKS)
@pytest.mark.parametrize("options", [[], ["-c=1:4:4:5"], ["-z=1", "-u"]])
def test_what_was_written_is_read_in_other_blocks(run: Run, tmp_path: Path, what: str, options: list[str]) -> None:
    (nn, ppn), block, grid, calls = BLOCKS[what]
    out, ranks = tmp_path / "out.json", nn * ppn
    words = ["bench", "io", f"-n={nn}", f"-p={ppn}", "-d=6:8:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", *ONCE]
    words += [f"--read-block={block}", "--data-content=hash", f"--json={out}", *options]
    libraries = "ncforge,libnetcdf,h5" if ranks == 1 else "ncforge"
    if calls is None:
        assert "cannot be shared evenly by 4 ranks" in run(*words, f"--driver={libraries}", code=2).stderr
        assert list(tmp_path.iterdir()) == []
        return
    done = run(*words, f"--driver={libraries}", "--keep")
    assert f"read in blocks of {block} by ranks as {grid}, {calls} call" in done.stdout
    found = section(out)
    for row in found["rows"]:
        assert row["bytes"] == 6 * 8 * 8 * 5 * 4
        assert (row["facts"]["block_shape"] == block) == (row["phase"] == "read")
        assert all(m["right"] is not False for m in row["measurements"])
    phases = [p for p in found["detail"]["phases"] if p["kind"] == "read"]
    assert all(p["verdict"]["checked"] == 6 * 8 * 8 * 5 for p in phases)
    name = "t.nc" if ranks > 1 else "t.1.nc"
    assert np.array_equal(values(tmp_path / name), expected((6, 8, 8, 5)))


@pytest.mark.parametrize("access", ["ind", "coll"])
def test_other_blocks_in_an_mpi_job(ncforge_bin: Path, tmp_path: Path, access: str) -> None:
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    words = [
        "-n=1",
        "-p=2",
        "-d=6:8:8:5",
        f"-f={tmp_path / 't.nc'}",
        f"-t={access}",
        "-w",
        "-r",
        "--read-block=6:2:2:5",
    ]
    command = [*mpi_ranks(2), str(ncforge_bin), "bench", "io", *words, "--driver=ncforge,mpi-io", *libraries, "--json"]
    done = subprocess.run([*command, *ONCE], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["sections"][0]["detail"]
    checked = [p["verdict"] for p in report["phases"] if p["kind"] == "read"]
    assert [v["checked"] for v in checked] == [6 * 8 * 8 * 5] * (2 + len(libraries))
    assert all(v["wrong"] == 0 for v in checked)


def test_damage_is_found_in_other_blocks(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={path}", "--format=cdf5", *ONCE]
    run(*words, "-w")
    data = bytearray(path.read_bytes())
    data[-17] ^= 4
    path.write_bytes(data)
    done = run(*words, "-r", "--verify", "--read-block=4:1:1:5", code=4)
    assert "1 of 960 values" in done.stderr and "at time 3, dim_1 5, dim_2 7, dim_3" in done.stderr


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_time_passes_between_dumps_and_is_not_counted(run: Run, tmp_path: Path, ranks: str) -> None:
    out = tmp_path / "out.json"
    words = ["bench", "io", f"--ranks={ranks}", "-d=5:8:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", f"--json={out}"]
    begun = time.monotonic()
    # Several calls a step: it is steps that are waited for.
    done = run(*words, f"-p={ranks}", f"--split=1:1:{ranks}:1", "-b=1:2:4:5", "--compute=0.2", *ONCE)
    assert time.monotonic() - begun >= 0.8
    assert "200 ms between two time steps" in done.stdout
    report = section(out)["detail"]
    written = next(p for p in report["phases"] if p["kind"] == "write")
    # Five steps are five stretches, and what lies between them is in none.
    assert all(len(r["io"]) == 5 for r in written["ranks"]) and written["io"] < 0.6
    gaps = [
        b["begin"] - a["end"] for a, b in zip(written["ranks"][0]["io"], written["ranks"][0]["io"][1:], strict=False)
    ]
    assert all(gap >= 0.2 for gap in gaps)
    assert np.array_equal(values(tmp_path / "t.nc"), expected((5, 8, 8, 5)))


def test_what_does_not_go_together(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", *ONCE]
    for options, message in (
        (["--read-block=4:1:1:5"], "give --read"),
        (["-r", "--read-block=4:1:1:5", "-t=file"], "--io-type ind and coll"),
        (["-r", "--read-block=4:1:1:5", "--seconds=1"], "--seconds"),
        (["-r", "--read-block=4:1:1:5", "--data-content=netcdf-bench"], "NetCDF-Bench's values"),
        (["-r", "--read-block=4:1:5"], "dimensions"),
        (["-r", "--read-block=3:1:1:5"], "evenly"),
        (["--compute=-1"], "number of seconds"),
        (["--compute=inf"], "number of seconds"),
    ):
        assert message in run(*words, *options, code=2).stderr, options
    plan = run(*words, "-r", "--read-block=4:1:1:5", "--compute=10", "--dry-run").stdout
    assert "reads    4:1:1:5 by ranks as 1:1:1:1, 48 calls a rank" in plan and "about 30" in plan
    assert list(tmp_path.iterdir()) == []
