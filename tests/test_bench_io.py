"""``ncforge bench io`` as its users type it: geometry, ranks, drivers, checks, and what NetCDF-Bench's scripts read.

The files that it writes are read by netCDF4-python, which knows nothing of how they were made.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from bench_common import ONCE, expected, values
from conftest import Run

ROW = re.compile(r"^benchmark:(write|read)\s+(.+?)\s{2,}([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(secs|MiB/s)")


@pytest.mark.parametrize("ranks", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("access", ["ind", "coll", "file"])
@pytest.mark.parametrize("chunk", ["none", "auto", "1:5:4:3"])
def test_every_way_to_write_gives_the_same_values(
    run: Run, tmp_path: Path, ranks: tuple[int, int], access: str, chunk: str
) -> None:
    nn, ppn = ranks
    shape = (4, 10 * nn, 8 * ppn, 3)
    geometry = ":".join(map(str, shape))
    path = tmp_path / "t.nc"
    run(
        "bench",
        "io",
        f"-n={nn}",
        f"-p={ppn}",
        f"-d={geometry}",
        f"-t={access}",
        f"-c={chunk}",
        f"-f={path}",
        "-w",
        "-r",
        *ONCE,
    )
    whole = expected(shape)
    if access != "file":
        assert np.array_equal(values(path), whole)
        return
    for rank in range(nn * ppn):
        x, y = rank // ppn * 10, rank % ppn * 8
        assert np.array_equal(values(Path(f"{path}-{rank}")), whole[:, x : x + 10, y : y + 8])


@pytest.mark.parametrize("options", [["-u"], ["-u", "-c", "auto"], ["-F"], ["-z=4"], ["-z", "1", "--shuffle", "-u"]])
@pytest.mark.parametrize("ranks", ["1", "3"])
def test_unlimited_fill_and_deflate(run: Run, tmp_path: Path, options: list[str], ranks: str) -> None:
    path = tmp_path / "t.nc"
    run(
        "bench",
        "io",
        "--ranks",
        ranks,
        "-p",
        ranks,
        "-d=4:10:9:3",
        f"-f={path}",
        "--data-content",
        "hash",
        *options,
        *ONCE,
    )
    assert np.array_equal(values(path), expected((4, 10, 9, 3)))
    with netCDF4.Dataset(path) as nc:
        assert nc.dimensions["time"].isunlimited() == ("-u" in options)
        assert nc["data"].filters()["zlib"] == any(o.startswith("-z") for o in options)


@pytest.mark.parametrize("form", ["classic", "cdf2", "cdf5", "netcdf4-classic"])
@pytest.mark.parametrize("unlimited", [[], ["-u"]])
def test_formats(run: Run, tmp_path: Path, form: str, unlimited: list[str]) -> None:
    path = tmp_path / "t.nc"
    words = ["--driver", "ncforge", "--format", form, *unlimited, *ONCE]
    run("bench", "io", "--ranks", "2", "-n=1", "-p=2", "-d=4:6:8", f"-f={path}", "-w", "-r", "-t", "coll", *words)
    assert np.array_equal(values(path), expected((4, 6, 8)))


def test_libraries_write_and_read_the_same_and_reports_agree(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    out = tmp_path / "out.json"
    done = run(
        "bench", "io", "-d", "time=6:lat=20:lon=30", "--driver", "raw,ncforge,netcdf-c", f"-f={path}", "-w", "-r", "-L",
        "chunk=none,1:10:15", "--csv", f"--json={out}", "--reps", "3",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    results = json.loads(out.read_text())
    assert results["schema"] == 2
    report: dict[str, Any] = results["sections"][0]["detail"]
    assert len(report["cases"]) == 6
    assert len(rows) == len(report["phases"]) == 6 * 2 * 3
    assert {r["verify"] for r in rows if r["phase"] == "read"} == {"ok"}
    for row in rows:
        total = float(row["t_open_s"]) + float(row["t_io_s"]) + float(row["t_close_s"])
        assert total == pytest.approx(float(row["t_total_s"]), rel=1e-3)
        rate = int(row["bytes_logical"]) / 2**20 / float(row["t_io_s"])
        assert rate == pytest.approx(float(row["rate_io_MiBps"]), rel=1e-2)
    for number, case in enumerate(report["cases"], start=1):
        if case["driver"] == "raw":
            continue
        file = tmp_path / f"t.{number}.nc"
        assert np.array_equal(values(file), expected((6, 20, 30)))
        with netCDF4.Dataset(file) as nc:
            assert nc["data"].dimensions == ("time", "lat", "lon")
            chunking = nc["data"].chunking()
        assert case["audit"]["chunks"] == (None if chunking == "contiguous" else chunking)


WRONG = [
    (["-t=ind", "-u"], "collective"),
    (["-t=ind", "-z=4", "-c=auto"], "collective"),
    (["-d=20:20:20:10", "-b=1:21:20:10"], "larger"),
    (["-n=2", "-p=2", "-d=20:20:20:10", "-b=1:10:20:10"], "try 1:10:10:10"),
    (["-d=21:10:10:10", "-b=2:10:10:10"], "evenly"),
    (["-u", "-d=21:10:10:10", "-b=2:10:10:10"], "evenly"),
    (["-d=20:10:10:10", "-b=1:5:5:10"], "would not be written"),
    (["-d=20:10:10:10", "-c=1:100:10:10"], "larger"),
    (["-x=csv"], "output-format"),
    (["-t=foo"], "io-type"),
    (["-d=10:10:-10:10"], "no length"),
    (["-d=10:10:0:10"], "no length"),
    (["-z=-3"], "0..=9"),
    (["-L", "colour=red"], "cannot be varied"),
    (["--driver", "netcdf-c", "--ranks", "2"], "mpiexec"),
    (["--format", "cdf5", "-c", "auto"], "no chunks"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_does_not_fit_is_refused_before_a_file_is_touched(
    run: Run, tmp_path: Path, options: list[str], message: str
) -> None:
    done = run("bench", "io", f"-f={tmp_path / 't.nc'}", *options, *ONCE, code=2, timeout=600)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_holds_arguments(run: Run, tmp_path: Path) -> None:
    """A saved result has all of them, and needs the file no more."""
    path, arguments, out = tmp_path / "t.nc", tmp_path / "arguments", tmp_path / "out.json"
    arguments.write_text(f"--data-geometry=4:6:8:5\n--testfile={path}\n-w\n-r\n--sweep\nchunk=none,auto\n")
    run("bench", "io", f"@{arguments}", "--reps=2", f"--json={out}")
    results = json.loads(out.read_text())
    rows = results["sections"][0]["rows"]
    assert [len(r["measurements"]) for r in rows] == [2] * 4
    assert "--data-geometry=4:6:8:5" in results["arguments"] and f"@{arguments}" not in results["arguments"]
    arguments.write_text("--data-geometry=4:6:8:5\n--colour=red\n")
    assert "--colour" in run("bench", "io", f"@{arguments}", code=2).stderr
    arguments.unlink()
    run("bench", "rerun", str(out))
    assert "arguments from a file" in run("bench", "io", f"@{arguments}", code=4).stderr


def test_the_plan_tells_bytes_calls_memory_and_space(run: Run, tmp_path: Path) -> None:
    words = ["-d=20:200:200:10", "--ranks=4", "-n=2", "-p=2", "-w", "-r", "--reps=3", "--dry-run"]
    done = run("bench", "io", f"-f={tmp_path / 't.nc'}", *words)
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["data"].startswith("20:200:200:10") and "30.5 MiB" in lines["data"]
    assert "20 calls a rank" in lines["blocks"]
    assert lines["memory"] == "7.63 MiB a rank for values"
    assert "4 rounds" in lines["work"]
    assert re.fullmatch(r"30\.5 MiB for files, [\d.]+ [KMGT]iB free", lines["space"]), lines["space"]
    assert list(tmp_path.iterdir()) == []


def test_a_name_need_not_be_text(run: Run, tmp_path: Path) -> None:
    """Another file was written, and left behind, by libraries that were given what the name looks like."""
    path = tmp_path / os.fsdecode(b"t\xff.nc")
    for driver in ("ncforge", "netcdf-c", "hdf5"):
        run("bench", "io", "-d=2:4:4:4", f"-f={path}", f"--driver={driver}", "-w", "-r", *ONCE)
        assert list(tmp_path.iterdir()) == [path]


def test_small_arrays_are_no_trouble(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-w", "-r", "-x=parser", timeout=600)
    assert values(path).shape == (2, 4, 4, 4)


def test_p6_one_wrong_bit_is_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "--ranks", "2", "-d=4:6:8:5", f"-f={path}", "--format", "cdf5", *ONCE]
    run(*words, "-w")
    run(*words, "-r", "--verify")
    data = bytearray(path.read_bytes())
    data[-17] ^= 4
    path.write_bytes(data)
    done = run(*words, "-r", "--verify", code=4)
    assert "1 of 960 values" in done.stderr
    assert "at time 3, dim_1 5, dim_2 7, dim_3" in done.stderr
    run(*words, "--verify", code=4)


def test_a_rank_that_dies_ends_the_job(ncforge_bin: Path, tmp_path: Path) -> None:
    """A rank is killed in the middle: the others leave, nobody hangs, the message tells which."""
    path = tmp_path / "t.nc"
    command = [str(ncforge_bin), "bench", "io", "--ranks", "3", "-d=50:60:60:10", f"-f={path}", "-w", "--reps", "500"]
    job = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    victim = None
    for _ in range(200):
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True, text=True)
        pids = [int(p) for p in listed.stdout.split()]
        if len(pids) == 3 and path.exists():
            victim = pids[1]
            break
        try:
            job.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    assert victim is not None
    os.kill(victim, 9)
    _, messages = job.communicate(timeout=600)
    assert job.returncode != 0
    assert "rank 1 was ended by signal 9" in messages
    assert not path.exists()


def test_files_of_others_are_not_overwritten(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("x", 3)
    before = path.read_bytes()
    done = run("bench", "io", "-d=2:4:4:4", f"-f={path}", *ONCE, code=2)
    assert "exists" in done.stderr
    assert path.read_bytes() == before
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-O", *ONCE)
    run("bench", "io", "-d=2:4:4:5", f"-f={path}", *ONCE)
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-r", *ONCE, code=4)


def test_p2_the_table_of_netcdf_bench(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "k.nc"
    words = ["-n=1", "-p=2", "-t=coll", "-u", "-c=auto", "-w", "-r", "-d=20:100:200:10"]
    done = run("bench", "io", "-x=parser", f"-f={path}", *words)
    lines = done.stdout.splitlines()
    assert lines[:11] == [
        "Benchtool (datatype: int) ",
        "Data geometry (t:x:y:z x sizeof(type))      20:100:200:10 x 4 bytes               ",
        "Block geometry (t:x:y:z x sizeof(type))      1:100:100:10 x 4 bytes               ",
        "Chunk geometry (t:x:y:z x sizeof(type))      1:100:100:10 x 4 bytes               ",
        "Datasize                                             16000000 bytes                (16.0 MB)",
        "Blocksize                                              400000 bytes                (400.0 kB)",
        "Chunksize                                              400000 bytes                (400.0 kB)",
        "I/O Access                                         collective",
        "Storage                                               chunked",
        "File length                                         unlimited",
        "File value                                                 no",
    ]
    assert len(lines[11]) == 145
    rows = [m.groups() for line in lines[12:] if (m := ROW.match(line))]
    assert [r[0] for r in rows] == ["write"] * 5 + ["read"] * 5
    assert rows[0][1] == "Open time"
    assert {len(line) for line in lines[12:]} == {145}
    for row in rows:
        low, mean, high = map(float, row[2:5])
        assert low <= mean <= high
    with netCDF4.Dataset(path) as nc:
        assert nc["data"].chunking() == [1, 100, 100, 10]
        # Cells of NetCDF-Bench: 100·t + rank + x + 10·y + 1, t, x and y in the block.
        assert nc["data"][7, 3, 105, 2] == 1 + 3 + 10 * 5 + 1
    done = run("bench", "io", "-x=parser", f"-f={path}", *[w for w in words if w not in ("-w", "-r")], "--verify")
    assert re.findall(r"TEST PASSED \[\d\]", done.stdout) == ["TEST PASSED [0]", "TEST PASSED [1]"]


def test_p7_cold_reads_are_proven_or_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=20:100:100:10", "-w", "-r", "--cache", "cold,warm", "--csv", *ONCE]
    in_memory = Path("/dev/shm/ncforge-bench-test.nc")
    if in_memory.parent.is_dir():
        done = run(*words, f"-f={in_memory}", code=2)
        assert "memory" in done.stderr
        assert not in_memory.exists()
    rows = list(csv.DictReader(io.StringIO(run(*words, f"-f={path}").stdout)))
    reads = {r["cache_label"].split("-")[0]: r for r in rows if r["phase"] == "read"}
    assert set(reads) == {"cold", "warm"}
    cold = reads["cold"]
    if cold["cache_label"] == "cold-verified":
        assert int(cold["bytes_from_storage"]) >= 0.99 * int(cold["bytes_stored"])


def test_values_of_a_kind(run: Run, tmp_path: Path) -> None:
    """Compressible values compress as far as was asked for; all of them are checked as they are read."""
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=8:50:40:25", f"-f={path}", "-w", "-r", "-z=1", *ONCE]
    sizes = {}
    for kind in ("hash", "compressible=30", "compressible=70", "field", "ramp", "constant"):
        run(*words, "--data-content", kind)
        sizes[kind] = path.stat().st_size / (8 * 50 * 40 * 25 * 4)
    assert sizes["hash"] > 0.99 and sizes["constant"] < 0.05
    assert 0.65 < sizes["compressible=30"] < 0.8 and 0.25 < sizes["compressible=70"] < 0.42
    run(*words, "--data-content", "ramp")
    assert np.array_equal(values(path).ravel(), np.arange(8 * 50 * 40 * 25))
    assert "no content" in run(*words, "--data-content", "noise", code=2).stderr
    assert "percentage" in run(*words, "--data-content", "compressible=120", code=2).stderr


def test_files_that_stay_are_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    files = [str(tmp_path / name) for name in ("t.1.nc", "t.2.raw")]
    words = ["-d=4:6:8:5", f"-f={path}", "--driver", "ncforge,raw", *ONCE]
    assert f"written, and left for runs with -r: {', '.join(files)}\n" in run("bench", "io", "-w", *words).stderr
    assert sorted(map(str, tmp_path.iterdir())) == files
    assert "left for" not in run("bench", "io", "-r", *words).stderr
