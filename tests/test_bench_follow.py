"""``ncforge bench follow``: records that are read while they are appended."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from bench_common import mpi_ranks
from conftest import Run

FEW = ["--records=20", "--record=8:6", "--repetitions=2", "--warmup=0"]


def detail(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["sections"][0]["detail"]
    return found


def right(report: dict[str, Any], consumers: int) -> None:
    """Every consumer had every record, with its values, after its commit or before."""
    for case in report["cases"]:
        assert all(m["right"] for m in case["following"]) or _by_netcdf_c(case["name"]), case["name"]
        assert len(case["following"]) == len(case["alone"]) == len(case["followed"])
        assert len(case["lags"]) == 20 * consumers * len(case["following"])
        assert case["lags"] == sorted(case["lags"]) and case["lags"][0] >= 0 and case["lags"][-1] < 20
        assert case["looks"] >= consumers * len(case["following"]) and 1 <= case["behind"] <= 20


def _by_netcdf_c(case: str) -> bool:
    """Its readers of a shared file were seen to meet a record before its values, where processes share processors."""
    return case.startswith("libnetcdf, ")


@pytest.mark.parametrize("consumers", [1, 3])
def test_records_are_followed_by_every_driver_in_every_container(run: Run, tmp_path: Path, consumers: int) -> None:
    out = tmp_path / "out.csv"
    words = ["bench", "follow", "--driver=ncforge,libnetcdf,raw", "--container=classic,cdf2,cdf5,packed", *FEW]
    options = [f"--consumers={consumers}", f"--folder={tmp_path}", f"--csv={out}", "--json"]
    done = run(*words, *options, code=(0, 4))
    told = [line for line in done.stderr.splitlines() if "other values than were written" in line]
    assert all("libnetcdf, " in line for line in told) and (done.returncode == 4) == bool(told), done.stderr
    report = detail(done.stdout)
    names = [c["name"] for c in report["cases"]]
    kinds = ["classic", "cdf2", "cdf5", "packed"]
    assert names == [*(f"ncforge, {k}" for k in kinds), *(f"libnetcdf, {k}" for k in kinds[:3]), "raw"]
    assert any("only ncforge reads packed files" in note for note in report["notes"])
    right(report, consumers)
    stored = {c["name"]: c["stored"] for c in report["cases"]}
    assert stored["raw"] == 20 * 48 * 4 and stored["ncforge, cdf5"] >= stored["raw"]
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert {r["phase"] for r in rows} == {"append alone", "append while followed", "follow"}
    assert len(rows) == 8 * 3 * 2 and {
        r["verify"] for r in rows if r["phase"] == "follow" and not (told and r["engine"] == "libnetcdf")
    } == {"ok"}
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_the_table_says_how_soon_records_are_there(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    words = ["bench", "follow", *FEW, f"--folder={tmp_path}", "--interval=0.005", "--batch=3", f"--html={page}"]
    text = run(*words).stdout
    assert "ncforge, packed: a record is in a consumer's memory" in text
    assert "append while followed" in text and "3 records each, 5.00 ms apart" in text
    assert "append alone" in page.read_text()


def test_followers_in_an_mpi_job(ncforge_bin: Path, tmp_path: Path) -> None:
    command = [*mpi_ranks(3), str(ncforge_bin), "bench", "follow", *FEW, f"--folder={tmp_path}", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    report = detail(done.stdout)
    assert report["ranks"] == 3 and "MPI" in report["team"]
    right(report, 2)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_go_together(run: Run, tmp_path: Path) -> None:
    words = ["bench", "follow", f"--folder={tmp_path}"]
    for options, message in (
        (["--container=netcdf4"], "not for other readers"),
        (["--container=hdf5"], "no container"),
        (["--driver=h5"], "no files that are read"),
        (["--driver=libnetcdf", "--container=packed"], "only ncforge"),
        (["--records=100000", "--record=1000:1000"], "held in memory at most"),
        (["--interval=-1"], "--interval takes seconds"),
        (["--poll=nan"], "--poll takes seconds"),
        (["--records=0"], "records"),
    ):
        done = run(*words, *options, code=2)
        assert message in done.stderr, (options, done.stderr)
        assert done.stderr.count("error") <= 1
    (tmp_path / "follow.1.nc").write_text("mine")
    assert "exists" in run(*words, *FEW, code=2).stderr
    assert (tmp_path / "follow.1.nc").read_text() == "mine"


def test_nothing_is_left_after_an_interruption_or_an_error(ncforge_bin: Path, tmp_path: Path) -> None:
    command = [str(ncforge_bin), "bench", "follow", "--interval=0.2", "--consumers=2", f"--folder={tmp_path}"]
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(tmp_path.iterdir()):
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(child.pid, signal.SIGINT)
    _, told = child.communicate(timeout=600)
    assert child.returncode == 130, told
    assert list(tmp_path.iterdir()) == []
    missing = subprocess.run(
        [*command[:-1], f"--folder={tmp_path / 'no'}"], capture_output=True, text=True, timeout=600
    )
    assert missing.returncode not in (0, 4) and "no/follow.1.nc" in missing.stderr, missing.stderr


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f8"])
def test_records_of_every_type_are_followed(run: Run, tmp_path: Path, dtype: str) -> None:
    containers = "classic,cdf5,packed" if dtype in ("i1", "i4", "f8") else "cdf5,packed"
    words = ["bench", "follow", "--driver=ncforge,raw", f"--container={containers}", *FEW[:1], *FEW[2:], "--record=7:3"]
    report = detail(run(*words, f"--dtype={dtype}", f"--folder={tmp_path}", "--json").stdout)
    assert len(report["cases"]) == containers.count(",") + 2
    right(report, 1)
    stored = {c["name"]: c["stored"] for c in report["cases"]}
    assert stored["raw"] == 20 * 21 * int(dtype[1]) and report["options"]["dtype"] == dtype


def test_a_type_that_a_container_has_not_is_left_out(run: Run, tmp_path: Path) -> None:
    words = ["bench", "follow", *FEW, "--dtype=u4", f"--folder={tmp_path}"]
    report = detail(run(*words, "--container=classic,cdf5", "--json").stdout)
    assert [c["name"] for c in report["cases"]] == ["ncforge, cdf5"]
    assert any("no values of type uint" in note for note in report["notes"])
    assert "no values of type uint" in run(*words, "--container=classic", code=2).stderr
    assert "no type `f2`" in run("bench", "follow", "--dtype=f2", code=2).stderr


def test_a_dry_run_says_what_would_be_done_and_does_nothing(run: Run, tmp_path: Path) -> None:
    words = [
        "bench",
        "follow",
        *FEW,
        "--dtype=f8",
        "--batch=3",
        "--interval=0.5",
        "--consumers=2",
        f"--folder={tmp_path}",
    ]
    text = run(*words, "--driver=ncforge,raw", "--container=cdf5,packed", "--dry-run").stdout
    for line in (
        "records  20 of 384 B (f8 as 8:6), 7.50 KiB in all",
        "commits  7 of 3 each",
        "a producer, 2 that read",
        "1 ncforge, cdf5",
        "2 ncforge, packed",
        "3 raw",
        "2 rounds of 3 cases, each appended twice: 90.0 KiB written, 84 committed",
        "36.0 s between commits",
        "space    7.50 KiB for the file",
    ):
        assert line in text, text
    assert list(tmp_path.iterdir()) == []
    assert "2 rounds" not in run("bench", "follow", "--records=1", "--record=0", "--dry-run", code=2).stdout
