"""NetCDF-Bench's right results are also those of ``ncforge bench io``; where it hangs, lies or falls over there is an answer.

P1 to P7 are the acceptance tests of the two tools' parity. P2, P6 and P7 are in ``test_bench_io.py``.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import netCDF4
import pytest

from bench_common import ONCE, mpi_ranks
from commands import ncforge
from conftest import Run

NODES = {1: ["-n=1", "-p=1"], 2: ["-n=1", "-p=2"], 4: ["-n=2", "-p=2"]}
DATA = {1: "-d=20:100:100:10", 2: "-d=20:100:200:10", 4: "-d=20:200:200:10"}
BYTES = {1: 8_000_000, 2: 16_000_000, 4: 32_000_000}

#: Bytes that versions of a library differ in.
SLACK = 1000

#: Options, ranks, bytes of NetCDF-Bench's file (netCDF-C 4.9.0, HDF5 1.10.8), chunks in it.
SIZES = [
    ([], 1, 8_007_794, None),
    ([], 2, 16_008_194, None),
    (["-t=coll"], 4, 32_008_594, None),
    (["-c=auto"], 1, 8_012_578, [1, 100, 100, 10]),
    (["-t=coll", "-c=auto"], 2, 16_012_578, [1, 100, 100, 10]),
    (["-c=auto"], 4, 32_019_890, [1, 100, 100, 10]),
    (["-c=1:50:50:10"], 1, 8_019_890, [1, 50, 50, 10]),
    (["-t=coll", "-c=1:50:50:10"], 2, 16_023_546, [1, 50, 50, 10]),
    (["-c=1:50:50:10"], 4, 32_034_514, [1, 50, 50, 10]),
    (["-t=coll", "-F"], 2, 16_008_194, None),
    (["-t=coll", "-z=4", "-c=auto"], 2, 753_186, [1, 100, 100, 10]),
]


@pytest.mark.parametrize(("options", "ranks", "size", "chunks"), SIZES)
def test_p1_files_are_stored_as_netcdf_bench_stores_them(
    run: Run, tmp_path: Path, options: list[str], ranks: int, size: int, chunks: list[int] | None
) -> None:
    path = tmp_path / "t.nc"
    run("bench", "io", "-x=parser", f"-f={path}", *NODES[ranks], DATA[ranks], *options)
    ours = path.stat().st_size
    if "-z=4" in options:
        # Another deflater.
        assert ours < 1.3 * size
    else:
        # Both have the values, and little else: theirs 8 to 35 kB, ours about as much or less.
        assert BYTES[ranks] < ours <= size + SLACK
    with netCDF4.Dataset(path) as nc:
        data = nc["data"]
        assert data.chunking() == (chunks or "contiguous")
        assert data.filters()["complevel"] == (4 if "-z=4" in options else 0)
        assert not data.filters()["shuffle"]
        assert data.dimensions == ("time", "dim_1", "dim_2", "dim_3")


def test_p1_a_file_for_each_rank(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    run("bench", "io", f"-f={path}", "-n=1", "-p=4", "-d=20:100:200:10", "-t=f", *ONCE)
    sizes = [f.stat().st_size for f in sorted(tmp_path.iterdir())]
    assert len(sizes) == 4
    assert all(4_000_000 < size <= 4_007_594 + SLACK for size in sizes)


#: Where NetCDF-Bench fails, hangs or writes nonsense: options, ranks, what ours says.
FAILING = {
    "independent and unlimited": (["-t=ind", "-u"], 1, "collective"),
    "independent and compressed": (["-t=ind", "-z=4", "-c=auto"], 1, "collective"),
    "block larger than a rank's share": (["-b=1:100:200:10", *NODES[4], DATA[4]], 4, "try 1:100:100:10"),
    "steps that blocks do not divide": (["-d=21:10:10:10", "-b=2:10:10:10"], 1, "evenly"),
    "the same, unlimited": (["-u", "-d=21:10:10:10", "-b=2:10:10:10"], 1, "evenly"),
    "block smaller than the share": (["-d=20:100:100:10", "-b=1:10:10:10"], 1, "would not be written"),
    "chunk larger than the data": (["-d=20:10:10:10", "-c=1:100:10:10"], 1, "larger"),
    "an unknown form": (["-x=csv"], 1, "output-format"),
    "an unknown kind of access": (["-t=foo"], 1, "io-type"),
    "a negative length": (["-d=10:10:-10:10"], 1, "no length"),
    "a negative level": (["-z=-3"], 1, "0..=9"),
    "not as many ranks as nodes and processes": (["-n=2", "-p=2", "--ranks", "3"], 3, "are not 3 ranks"),
}


@pytest.mark.parametrize("what", FAILING)
def test_p3_failing_cases_end_with_a_message_and_without_a_file(run: Run, tmp_path: Path, what: str) -> None:
    options, _, message = FAILING[what]
    done = run("bench", "io", f"-f={tmp_path / 't.nc'}", *options, *ONCE, code=2, timeout=600)
    assert message in done.stderr
    assert "foo" in done.stderr or "foo" not in " ".join(options), "the message names the wrong word"
    assert list(tmp_path.iterdir()) == []


def test_p3_what_fails_there_and_need_not(run: Run, ncforge_bin: Path, tmp_path: Path) -> None:
    """The most natural calls: unlimited files for each rank, arrays below a thousand bytes, mpiexec without -n and -p."""
    path = tmp_path / "t.nc"
    run("bench", "io", "-t=f", "-u", "--ranks", "2", "-d=6:4:8:5", f"-f={path}", "-w", "-r", *ONCE, timeout=600)
    for rank in range(2):
        with netCDF4.Dataset(tmp_path / f"t.nc-{rank}") as nc:
            assert nc.dimensions["time"].isunlimited() and nc["data"].shape == (6, 4, 4, 5)
    run("bench", "io", "-d=2:4:4:4", f"-f={path}", "-w", "-r", "-x=parser", timeout=600)
    if shutil.which("mpiexec.openmpi"):
        words = ["-d=4:8:16:5", f"-f={tmp_path / 'm.nc'}", "-w", "-r", *ONCE]
        assert "wrong" not in ncforge("bench", "io", *words, before=mpi_ranks(4)).stderr


@pytest.mark.parametrize("asked", [["--verify"], ["-r", "--verify"]])
def test_p3_a_corrupted_file_fails(run: Run, tmp_path: Path, asked: list[str]) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={path}", "-x=parser"]
    run(*words, "-w")
    data = bytearray(path.read_bytes())
    data[-1] ^= 64
    path.write_bytes(data)
    done = run(*words, *asked, code=4)
    assert "TEST PASSED" not in done.stdout
    assert path.exists(), "what somebody wants to look at stays"


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_p4_all_kinds_of_access_and_storage(run: Run, tmp_path: Path, ranks: int) -> None:
    out = tmp_path / "out.json"
    run("bench", "io", *NODES[ranks], DATA[ranks], f"-f={tmp_path / 't.nc'}", "-w", "-r", "-L", "access=ind,coll,file",
        "-L", "chunk=none,auto,1:50:50:10", f"--json={out}", *ONCE)  # fmt: skip
    section = json.loads(out.read_text())["sections"][0]
    assert len(section["rows"]) == 2 * 9
    for row in section["rows"]:
        assert row["bytes"] == BYTES[ranks]
        assert all(m["right"] is not False for m in row["measurements"])
    # The file of each case stays; three of them are a file for each rank.
    assert len(list(tmp_path.iterdir())) == 1 + 6 + 3 * ranks


def test_p5_the_comparison_is_interleaved_and_tells_its_interval(run: Run, tmp_path: Path) -> None:
    """Nine rounds, both in each; how it comes out is measured, not tested."""
    out = tmp_path / "out.json"
    done = run("bench", "io", "-d=10:50:50:10", f"-f={tmp_path / 't.nc'}", "-w", "--driver", "ncforge,netcdf-c", "--reps",
               "9", f"--json={out}")  # fmt: skip
    section = json.loads(out.read_text())["sections"][0]
    phases = section["detail"]["phases"]
    rounds: dict[int, list[int]] = {}
    for phase in phases:
        rounds.setdefault(phase["measurement"]["rep"], []).append(phase["case"])
    assert all(sorted(cases) == [0, 1] for cases in rounds.values()) and len(rounds) == 9
    assert len({tuple(cases) for cases in rounds.values()}) == 2, "another order now and then"
    assert re.search(r"\[\d+\.\d+, \d+\.\d+\]", done.stdout), done.stdout


def test_ranks_take_turns(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    run("bench", "io", "-d=6:8:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-L", "ranks=1,2", "--reps", "3",
        f"--json={out}")  # fmt: skip
    rows = json.loads(out.read_text())["sections"][0]["rows"]
    assert {r["facts"]["ranks"]: len(r["measurements"]) for r in rows} == {"1": 3, "2": 3}
    assert [m["rep"] for m in rows[0]["measurements"]] == [0, 1, 2]
