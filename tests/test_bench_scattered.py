"""Reads of ``ncforge bench io`` that are no blocks of a grid: random boxes, strides, other orders of dimensions; decompositions of PIO;
and the log of every call."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_common import ONCE, PARALLEL, expected, mpi_ranks, values
from conftest import Run

SHAPE = (6, 8, 10, 5)


def section(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["sections"][0]
    return found


def reads(path: Path) -> list[dict[str, Any]]:
    return [p for p in section(path)["detail"]["phases"] if p["kind"] == "read"]


#: What is asked, words of the report, and values that two ranks read together.
WAYS = {
    "random": (
        ["--read-block=2:3:4:5", "--random=7"],
        "2:3:4:5 at random places, 7 calls a rank",
        2 * 7 * 2 * 3 * 4 * 5,
    ),
    "random blocks": (["--random=3"], "at random places, 3 calls a rank", 2 * 3 * 8 * 5 * 5),
    "stride": (["--stride=1:3:2:1"], "with a stride of 1:3:2:1", 6 * 3 * (2 * 3) * 5),
    "stride in boxes": (["--read-block=6:4:5:5", "--stride=2:1:4:3"], "with a stride of 2:1:4:3", 3 * 8 * 2 * 2 * 2),
    "order": (["--read-order=dim_3:dim_2:time:dim_1"], "in the order dim_3:dim_2:time:dim_1", 6 * 8 * 10 * 5),
    "last stays": (["--read-order=dim_1:time:dim_2:dim_3", "--read-block=6:8:5:5"], "in the order", 6 * 8 * 10 * 5),
    "all": (
        ["--read-block=3:4:4:5", "--random=5", "--stride=1:2:1:1", "--read-order=dim_2:dim_3:dim_1:time"],
        "at random places with a stride of 1:2:1:1, 5 calls a rank",
        2 * 5 * 3 * 2 * 4 * 5,
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "options", [[], ["-c=1:4:5:5", "--dtype=f8"], ["--format=cdf5", "--dtype=i2"], ["-z=1", "-u", "-c=2:8:5:5"]]
)
def test_every_value_is_right_however_it_is_read(run: Run, tmp_path: Path, way: str, options: list[str]) -> None:
    asked, told, moved = WAYS[way]
    out = tmp_path / "out.json"
    words = ["bench", "io", "-d=6:8:10:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--data-content=hash", *ONCE, "-O"]
    for ranks, libraries in (["-n=1", "-p=2"], "ncforge,raw"), ([], "ncforge,libnetcdf,h5,raw"):
        if "--format=cdf5" in options:
            libraries = libraries.replace(",h5", "")
        if ranks and "-z=1" in options and "2:8:5:5" in options[-1]:
            continue
        done = run(*words, *ranks, f"--driver={libraries}", f"--json={out}", *asked, *options)
        if ranks:
            assert told in done.stdout
        for phase in reads(out):
            assert phase["verdict"]["wrong"] == 0 and phase["verdict"]["checked"] > 0
            assert not ranks or phase["verdict"]["checked"] == moved
        rows = [r for r in section(out)["rows"] if r["phase"] == "read"]
        pattern = rows[0]["facts"]["pattern"]
        assert ("random boxes" in pattern) == ("--random" in str(asked))
        assert ("strided" in pattern) == ("--stride" in str(asked)) and ("as dim_" in pattern) == (
            "order" in str(asked)
        )


@pytest.mark.parametrize("access", ["ind", "coll"])
@pytest.mark.parametrize("way", WAYS)
def test_they_are_right_in_an_mpi_job(ncforge_bin: Path, tmp_path: Path, access: str, way: str) -> None:
    out = tmp_path / "out.json"
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    words = ["-n=1", "-p=2", "-d=6:8:10:5", f"-f={tmp_path / 't.nc'}", f"-t={access}", "-w", "-r", f"--json={out}"]
    command = [*mpi_ranks(2), str(ncforge_bin), "bench", "io", *words, "--driver=ncforge,mpi-io", *libraries]
    done = subprocess.run([*command, *WAYS[way][0], *ONCE, "-O"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert [p["verdict"]["checked"] for p in reads(out)] == [WAYS[way][2]] * (2 + len(libraries))
    assert all(p["verdict"]["wrong"] == 0 for p in reads(out))


def test_random_places_are_the_same_when_it_is_done_again(run: Run, tmp_path: Path) -> None:
    """And others with another seed: one wrong value is read by some boxes and not by others."""
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=6:8:10:5", f"-f={path}", "--format=cdf5", *ONCE, "-O"]
    run(*words, "-w")
    data = bytearray(path.read_bytes())
    data[-17] ^= 4
    path.write_bytes(data)
    words += ["-r", "--verify", "--read-block=1:2:2:5", "--seed=1"]
    found = [run(*words, f"--random={n}", code=(0, 4)).returncode for n in (1, 4000, 1, 4000)]
    assert found == [0, 4, 0, 4]
    done = run(*words, "--random=4000", code=4)
    assert "at time 5, dim_1 7, dim_2 9, dim_3 0" in done.stderr
    # Strides and orders know the places, too.
    done = run(*words[:-2], "--read-order=dim_3:dim_2:dim_1:time", "--stride=5:7:3:1", code=4)
    assert "at time 5, dim_1 7, dim_2 9, dim_3 0" in done.stderr


def decomposition(path: Path, maps: list[list[int]], shape: tuple[int, ...]) -> Path:
    """A file as PIO's C library writes it, with what it adds behind."""
    text = f"version 2001 npes {len(maps)} ndims {len(shape)} \n{' '.join(map(str, shape))} \n"
    for rank, places in enumerate(maps):
        text += f"{rank} {len(places)}\n{' '.join(map(str, places))} \n"
    path.write_text(text + "Obtained 3 stack frames.\n/a/model() [0x7]\n\n")
    return path


def scattered_maps(shape: tuple[int, ...], ranks: int, holes: int) -> list[list[int]]:
    """Columns dealt out to ranks as models of unstructured grids do; some of the elements are in no file."""
    random = np.random.default_rng(7)
    places = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    owner = random.integers(0, ranks, shape[-1])
    maps = [places[..., owner == rank].ravel().tolist() for rank in range(ranks)]
    for places_of in maps:
        for at in random.choice(len(places_of), holes, replace=False):
            places_of[at] = 0
    return maps


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize(
    "options", [[], ["-c=1:2:12"], ["-t=coll", "-u"], ["--format=cdf5", "--dtype=f8"], ["-t=coll", "--rewrite"]]
)
def test_a_decomposition_is_replayed(run: Run, tmp_path: Path, ranks: int, options: list[str]) -> None:
    shape, out = (4, 36), tmp_path / "out.json"
    path = decomposition(tmp_path / "decomp.dat", scattered_maps(shape, 4, 0), shape)
    words = ["bench", "io", f"--decomposition={path}", "-d=3", f"-f={tmp_path / 't.nc'}", "-w", "-r", f"--json={out}"]
    libraries = "ncforge,raw" + (",libnetcdf,h5" if ranks == 1 and "cdf5" not in str(options) else "")
    done = run(*words, f"--ranks={ranks}", f"-p={ranks}", f"--driver={libraries}", "--keep", *options, *ONCE)
    assert "blocks of a decomposition, the largest" in done.stdout
    found = section(out)
    assert all(p["verdict"]["wrong"] == 0 and p["verdict"]["checked"] == 3 * 4 * 36 for p in reads(out))
    assert {r["facts"]["pattern"] for r in found["rows"]} == {"decomposition"}
    assert all(r["problem"] is None for r in found["detail"]["agreement"]["readings"])
    if "--dtype=f8" not in options:
        assert np.array_equal(values(tmp_path / "t.1.nc"), expected((3, *shape)))


def test_holes_are_nobodys(run: Run, tmp_path: Path) -> None:
    shape, out = (4, 36), tmp_path / "out.json"
    maps = scattered_maps(shape, 2, 3)
    path = decomposition(tmp_path / "decomp.dat", maps, shape)
    words = ["bench", "io", f"--decomposition={path}", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-F", f"--json={out}"]
    run(*words, "-n=1", "-p=2", *ONCE)
    assert reads(out)[0]["verdict"] == {"checked": 4 * 36 - 6, "wrong": 0, "first": []}
    done = run(*words, *ONCE, "-O")
    assert "6 elements of ranks are not in the file" in done.stdout
    assert reads(out)[0]["verdict"]["checked"] == 4 * 36 - 6
    there = np.zeros(4 * 36, bool)
    for places in maps:
        there[[p - 1 for p in places if p]] = True
    found, right = values(tmp_path / "t.nc").ravel(), expected((1, *shape)).ravel()
    assert np.array_equal(found[there], right[there]) and (found[~there] == -2147483647).all()


def test_ranks_of_an_mpi_job_replay_it(ncforge_bin: Path, tmp_path: Path) -> None:
    shape, out = (4, 36), tmp_path / "out.json"
    path = decomposition(tmp_path / "decomp.dat", scattered_maps(shape, 3, 2), shape)
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    for access in ("ind", "coll"):
        words = [
            "-n=1",
            "-p=2",
            f"--decomposition={path}",
            "-d=2",
            f"-f={tmp_path / 't.nc'}",
            f"-t={access}",
            "-w",
            "-r",
        ]
        command = [*mpi_ranks(2), str(ncforge_bin), "bench", "io", *words, "--driver=ncforge,mpi-io", *libraries]
        done = subprocess.run([*command, f"--json={out}", *ONCE, "-O"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert all(p["verdict"]["wrong"] == 0 and p["verdict"]["checked"] == 2 * (144 - 6) for p in reads(out))
        assert all(r["problem"] is None for r in section(out)["detail"]["agreement"]["readings"])


def test_what_does_not_go_together_is_said(run: Run, tmp_path: Path) -> None:
    good = decomposition(tmp_path / "decomp.dat", scattered_maps((4, 36), 4, 0), (4, 36))
    bad = tmp_path / "bad.dat"
    bad.write_text("version 2001 npes 1 ndims 1 \n4 \n0 2\n1 9 \n")
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-w", *ONCE]
    plain, map_ = [*words, "-d=4:6:8:5"], [*words, "-r", f"--decomposition={good}"]
    for command, options, message in (
        (plain, ["--random=3"], "give --read"),
        (plain, ["-r", "--random=0"], "--random"),
        (plain, ["-r", "--random=3", "--read-block=5:6:8:5"], "do not go into the data"),
        (plain, ["-r", "--random=3", "-t=file"], "--io-type ind and coll"),
        (plain, ["-r", "--random=3", "--halo=1"], "leave out --halo"),
        (plain, ["-r", "--random=3", "--seconds=1"], "--seconds"),
        (plain, ["-r", "--random=3", "--vars=time:dim_1,time"], "--vars"),
        (plain, ["-r", "--stride=1:1:1:1"], "leaves nothing out"),
        (plain, ["-r", "--stride=1:2"], "does not have the dimensions"),
        (plain, ["-r", "--read-order=time:dim_1:dim_2:dim_3"], "another one is needed"),
        (plain, ["-r", "--read-order=time:dim_1:dim_2"], "does not name each"),
        (plain, ["-r", "--read-order=time:dim_1:dim_2:x"], "does not name each"),
        (map_, ["-d=4:6"], "number of time steps"),
        (map_, ["-b=1:2:2"], "leave out -b"),
        (map_, ["-n=5", "-p=1"], "for 4 ranks, there are 5"),
        (map_, ["--random=3"], "read as it was written"),
        (map_, ["--read-block=1:4:1"], "read as it was written"),
        (map_, ["--halo=1"], "leave out --halo"),
        (map_, ["-t=file"], "--io-type ind or coll"),
        (map_, ["-z=1", "-p=2"], "no whole chunks"),
        (map_, ["--data-content=netcdf-bench"], "NetCDF-Bench's values"),
    ):
        assert message in run(*command, *options, code=2).stderr, options
    assert "place 9 of an array of 4" in run(*words, f"--decomposition={bad}", code=4).stderr
    assert "nowhere" in run(*words, "--decomposition=nowhere", code=(1, 4)).stderr
    plan = run(*map_, "-d=5", "--dry-run").stdout
    assert "data     5:4:36" in plan and "of a decomposition" in plan
    assert "at random places, 9 calls" in run(*plain, "-r", "--random=9", "--dry-run").stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.dat", "decomp.dat"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_every_call_is_in_the_log(run: Run, tmp_path: Path, ranks: int) -> None:
    log, out = tmp_path / "ops.csv", tmp_path / "out.json"
    words = ["bench", "io", "-d=6:8:10:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=ncforge,raw", *ONCE]
    words = [*words[: -len(ONCE)], "--no-guard", "--no-sync", "--reps=2", f"--ops-log={log}", f"--json={out}"]
    words += [f"--ranks={ranks}", f"-p={ranks}"]
    run(*words, "--cache=warm,any")
    rows = list(csv.DictReader(log.read_text().splitlines()))
    assert list(rows[0]) == [
        "case",
        "repetition",
        "phase",
        "cache",
        "rank",
        "operation",
        "kind",
        "variable",
        "begin_s",
        "seconds",
        "bytes",
    ]
    # Two cases, two rounds, one write and two reads, six steps; the round before is not in it.
    assert len(rows) == 2 * 2 * 3 * 6 * ranks
    assert {r["rank"] for r in rows} == {str(r) for r in range(ranks)}
    assert sum(int(r["bytes"]) for r in rows) == 2 * 2 * 3 * 6 * 8 * 10 * 5 * 4
    assert {(r["phase"], r["cache"], r["kind"]) for r in rows} == {
        *(("write", "", "write"), ("read", "warm", "read"), ("read", "", "read")),
    }
    for phase in section(out)["detail"]["phases"]:
        case = section(out)["detail"]["cases"][phase["case"]]["name"]
        of = [r for r in rows if r["case"] == case and int(r["repetition"]) == phase["repetition"]]
        cache = {"warm": "warm", "any": "", None: ""}[phase["cache_asked"]]
        of = [r for r in of if r["phase"] == phase["kind"] and r["cache"] == cache and r["rank"] == "0"]
        assert [int(r["operation"]) for r in of] == list(range(6))
        begins = [float(r["begin_s"]) for r in of]
        assert begins == sorted(begins) and begins[0] >= 0
        assert sum(float(r["seconds"]) for r in of) <= phase["io"] + 1e-6
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ops.csv", "out.json"]


def test_a_log_that_cannot_be_written_is_told_first(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=6:8:10:5", f"-f={tmp_path / 't.nc'}", "-w", *ONCE]
    assert "cannot be written" in run(*words, f"--ops-log={tmp_path / 'no' / 'x.csv'}", code=2).stderr
    assert "--ops-log" in run(*words, f"--ops-log={tmp_path / 'x.csv'}", "-L", "ranks=1,2", code=2).stderr
    # A run that goes wrong leaves no part of one.
    (tmp_path / "t.nc").write_text("somebody's")
    run(*words, f"--ops-log={tmp_path / 'x.csv'}", code=2)
    assert [p.name for p in tmp_path.iterdir()] == ["t.nc"]


def test_calls_of_the_system_are_counted(run: Run, tmp_path: Path) -> None:
    """Plain calls move the values and nothing else; looking at the counters is not among them."""
    out, table = tmp_path / "out.json", tmp_path / "out.csv"
    words = ["bench", "io", "-d=6:8:10:500", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=raw", *ONCE, "-O"]
    done = run(*words, f"--json={out}", f"--csv={table}")
    values_of = 6 * 8 * 10 * 500 * 4
    for row in section(out)["rows"]:
        used = row["measurements"][0]["used"]
        calls, moved = ("write_calls", "write_bytes") if row["phase"] == "write" else ("read_calls", "read_bytes")
        assert values_of <= used[moved] < values_of + 4096 and 6 <= used[calls] < 60
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert int(rows[0]["bytes_written"]) >= values_of and int(rows[1]["bytes_read"]) >= values_of
    assert " calls read " in done.stdout
