"""``ncforge bench io`` as models write: files of many variables of different dimensions, ranks that have more than others, and blocks that
are read with a part of their neighbours around them."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from bench_common import ONCE, PARALLEL, expected, mpi_ranks
from conftest import Run

#: Eight variables of an array t:z:y:x; their dimensions.
VARIABLES = "t:z:y:x=2,t:y:x,y:x,z,t,x,t:z"
DIMS = ["tzyx", "tzyx", "tyx", "yx", "z", "t", "x", "tz"]
LENS = {"t": 4, "z": 3, "y": 8, "x": 6}
DATA = ":".join(f"{name}={n}" for name, n in LENS.items())
#: Bytes of all values.
BYTES = 4 * sum(int(np.prod([LENS[d] for d in dims])) for dims in DIMS)


def check(path: Path, lens: dict[str, int] = LENS) -> None:
    """Every variable has its dimensions and its own values."""
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        assert list(nc.variables) == ["data", *(f"data_{n}" for n in range(2, 9))]
        for number, (var, dims) in enumerate(zip(nc.variables.values(), DIMS, strict=True)):
            assert "".join(var.dimensions) == dims
            shape = tuple(lens[d] for d in dims)
            assert np.array_equal(var[:], expected(shape, 1 + number)), (path, var.name)


def detail(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["sections"][0]["detail"]
    return found


def right(report: dict[str, Any]) -> None:
    """Everything that was read was checked, and right."""
    reads = [p for p in report["phases"] if p["kind"] == "read"]
    assert reads and all(p["verdict"]["wrong"] == 0 for p in reads)
    assert all(p["verdict"]["checked"] * 4 == p["bytes"] for p in reads)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize(
    ("options", "access"),
    [
        ([], "ind,coll"),
        (["-c=auto"], "ind,coll"),
        (["--format=cdf5"], "ind,coll"),
        (["-u"], "coll"),
        (["--format=cdf5", "-u"], "coll"),
        (["-u", "-z=1", "-c=auto"], "coll"),
    ],
)
def test_files_of_many_variables(run: Run, tmp_path: Path, ranks: int, options: list[str], access: str) -> None:
    words = ["bench", "io", f"-d={DATA}", f"--vars={VARIABLES}", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--keep"]
    split = {1: [], 2: ["--split=1:1:2:1"], 4: ["--split=1:1:2:2"]}[ranks]
    libraries = ["--library=find"] if ranks == 1 else []
    words += ["--data-content=hash", "--driver=ncforge,raw", *libraries, f"--sweep=access={access}", f"--ranks={ranks}"]
    report = detail(run(*words, *split, *options, *ONCE, "--json").stdout)
    right(report)
    assert {p["bytes"] for p in report["phases"]} == {BYTES}
    assert [f["name"] for f in report["geometry"]["fields"]][:2] == ["data", "data_2"]
    for number, case in enumerate(report["cases"], start=1):
        if case["ask"]["driver"] != "raw":
            check(tmp_path / f"t.{number}.nc")
            assert case["audit"]["variables"] == 8


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("options", "access"),
    [
        ([], "ind"),
        ([], "coll"),
        (["-c=auto"], "coll"),
        (["--format=cdf5", "-u"], "coll"),
        (["-u", "-z=1", "-c=auto"], "coll"),
    ],
)
def test_many_variables_in_an_mpi_job(
    ncforge_bin: Path, tmp_path: Path, ranks: int, options: list[str], access: str
) -> None:
    """Ranks that have nothing of a variable take part in collective calls."""
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    drivers = "ncforge" if access == "coll" and "-c=auto" in options else "ncforge,mpi-io"
    split = {2: "--split=1:1:2:1", 4: "--split=1:1:2:2"}[ranks]
    words = [f"-d={DATA}", f"--vars={VARIABLES}", f"-f={tmp_path / 't.nc'}", "-w", "-r", f"-t={access}", split]
    words += ["--data-content=hash", f"--driver={drivers}", *libraries, "--keep", "--json", *options, *ONCE]
    command = [*mpi_ranks(ranks), str(ncforge_bin), "bench", "io", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    report = detail(done.stdout)
    right(report)
    assert len(report["cases"]) == len(drivers.split(",")) + len(libraries)
    for path in tmp_path.glob("*.nc"):
        check(path)


def test_many_variables_in_a_file_for_each_rank(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", f"-d={DATA}", f"--vars={VARIABLES}", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-t=file"]
    report = detail(run(*words, "--ranks=2", "--split=1:1:2:1", "--json", *ONCE).stdout)
    right(report)
    for rank in range(2):
        with netCDF4.Dataset(tmp_path / f"t.nc-{rank}") as nc:
            nc.set_auto_mask(False)
            # Each file is whole: what does not depend on `y` is in both.
            half = expected((4, 3, 8, 6))[:, :, 4 * rank : 4 * rank + 4]
            assert np.array_equal(nc["data"][:], half)
            assert np.array_equal(nc["data_5"][:], expected((3,), 5))


@pytest.mark.parametrize("more", [["--append", "-u"], ["--rewrite"], ["--rewrite", "--format=cdf2"]])
def test_many_variables_are_appended_and_written_again(run: Run, tmp_path: Path, more: list[str]) -> None:
    words = ["bench", "io", f"-d={DATA}", f"--vars={VARIABLES}", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--keep"]
    report = detail(run(*words, "--library=find", *more, "--json", *ONCE).stdout)
    right(report)
    for number in (1, 2):
        check(tmp_path / f"t.{number}.nc")


@pytest.mark.parametrize("preset", ["nemo", "wrf"])
def test_presets(run: Run, tmp_path: Path, preset: str) -> None:
    path = tmp_path / "t.nc"
    lens = {"nemo": "4:3:8:6", "wrf": "Time=2:bottom_top=3:south_north=8:west_east=6"}[preset]
    words = ["bench", "io", f"--preset={preset}", f"-d={lens}", f"-f={path}", "-w", "-r", "-n=2", "-p=2", "-u", *ONCE]
    done = run(*words)
    count = {"nemo": 25, "wrf": 96}[preset]
    assert f"in {count} variables" in done.stdout and "4 ranks (1:1:2:2)" in done.stdout
    with netCDF4.Dataset(path) as nc:
        assert len(nc.variables) == count and nc["data"].ndim == 4
        assert {v.dimensions for v in nc.variables.values()} >= {nc["data"].dimensions[:1], nc["data"].dimensions}
    # The preset's own lengths, in the plan.
    plan = run("bench", "io", f"--preset={preset}", "-w", "--dry-run").stdout
    assert f"holds    {count} variables" in plan


def test_damage_is_told_with_the_variable(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", f"-d={DATA}", f"--vars={VARIABLES}", f"-f={path}", *ONCE]
    run(*words, "-w")
    with h5py.File(path, "r+") as file:
        file["data_3"][1, 2, 3] ^= 1
        file["data_8"][3, 2] ^= 1
    done = run(*words, "-r", "--verify", code=4)
    assert f"2 of {BYTES // 4} values" in done.stderr
    assert "`data_3` at t 1, y 2, x 3:" in done.stderr and "`data_8` at t 3, z 2:" in done.stderr


@pytest.mark.parametrize("access", ["ind", "coll", "file"])
@pytest.mark.parametrize("options", [[], ["-c=auto"], ["--format=cdf5"]])
def test_ranks_with_shares_of_their_own(run: Run, tmp_path: Path, access: str, options: list[str]) -> None:
    out = tmp_path / "out.csv"
    words = ["bench", "io", "-d=4:12:5:3", f"-f={tmp_path / 't.nc'}", "-w", "-r", f"-t={access}", "--keep"]
    words += ["--ranks=3", "--shares=3,1,2", "--driver=ncforge,raw", f"--csv={out}", "--json", *options, *ONCE]
    report = detail(run(*words).stdout)
    right(report)
    writes = [p for p in report["phases"] if p["kind"] == "write"]
    assert all([r["bytes"] for r in p["ranks"]] == [4 * n * 60 for n in (6, 2, 4)] for p in writes)
    if access == "file":
        for rank, (begin, end) in enumerate([(0, 6), (6, 8), (8, 12)]):
            with netCDF4.Dataset(tmp_path / f"t.1.nc-{rank}") as nc:
                nc.set_auto_mask(False)
                assert np.array_equal(nc["data"][:], expected((4, 12, 5, 3))[:, begin:end])
    else:
        with netCDF4.Dataset(tmp_path / "t.1.nc") as nc:
            nc.set_auto_mask(False)
            assert np.array_equal(nc["data"][:], expected((4, 12, 5, 3)))
            assert options != ["-c=auto"] or nc["data"].chunking() == [1, 2, 5, 3]
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert {row["shares"] for row in rows} == {"3,1,2"} and {row["variables"] for row in rows} == {"1"}


def test_shares_in_an_mpi_job(ncforge_bin: Path, tmp_path: Path) -> None:
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    words = [
        "-d=4:3:12:5",
        f"-f={tmp_path / 't.nc'}",
        "-w",
        "-r",
        "-t=coll",
        "--split=1:1:3:1",
        "--shares=4,1,1",
        "--json",
    ]
    for options in ([], ["-z=1", "-c=1:3:2:5"]):
        command = [*mpi_ranks(3), str(ncforge_bin), "bench", "io", *words, "--driver=ncforge", *libraries]
        command += ["--keep", "--data-content=hash", *options, *ONCE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        right(detail(done.stdout))
        for path in tmp_path.glob("t*.nc"):
            with netCDF4.Dataset(path) as nc:
                nc.set_auto_mask(False)
                assert np.array_equal(nc["data"][:], expected((4, 3, 12, 5))), path


@pytest.mark.parametrize("ranks", [1, 4])
def test_blocks_are_read_with_a_halo(run: Run, tmp_path: Path, ranks: int) -> None:
    words = ["bench", "io", "-d=4:8:6:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=ncforge,raw", "--keep"]
    words += ["--split=1:2:2:1", f"--ranks={ranks}"] if ranks > 1 else ["--library=find", "--read-block=1:4:3:5"]
    out = tmp_path / "out.csv"
    for chunks in ("none", "1:4:3:5"):
        done = run(*words, f"-L=chunk={chunks}", "--halo=1", f"--csv={out}", "-O", "--json", *ONCE)
        report = detail(done.stdout)
        right(report)
        reads = [p for p in report["phases"] if p["kind"] == "read"]
        # Each block has a row and a column of its neighbours.
        assert {p["bytes"] for p in reads} == {4 * 4 * 4 * 5 * 4 * 5}
        assert {p["overlap"] for p in reads} == {4 * 4 * (4 * 5 * 4 * 5 - 8 * 6 * 5)}
        rows = list(csv.DictReader(out.read_text().splitlines()))
        assert {(row["phase"], row["halo"]) for row in rows} == {("write", ""), ("read", "0:1:1:0")}
    # Widths of every dimension, over the steps, too.
    report = detail(run(*words, "--halo=1:0:2:0", "--json", *ONCE).stdout)
    right(report)
    text = run(*words, "--halo=1", *ONCE).stdout
    assert "with a halo of 0:1:1:0" in text
    assert ("the first of 4 ranks is done after" in text) == (ranks == 4)
    assert "with a halo of 0:1:1:0 by ranks" in run(*words, "--halo=1", "--dry-run").stdout


@pytest.mark.parametrize("access", ["ind", "coll"])
def test_halos_in_an_mpi_job(ncforge_bin: Path, tmp_path: Path, access: str) -> None:
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    words = [f"-d={DATA}", f"--vars={VARIABLES}", f"-f={tmp_path / 't.nc'}", "-w", "-r", f"-t={access}", "--halo=2"]
    words += ["--split=1:1:2:2", "--driver=ncforge,mpi-io", *libraries, "--json", *ONCE]
    command = [*mpi_ranks(4), str(ncforge_bin), "bench", "io", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    right(detail(done.stdout))


def test_what_does_not_go_together(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", f"-d={DATA}", f"-f={tmp_path / 't.nc'}", "-w", *ONCE]
    for options, message in (
        (["--vars=t:w"], "dimension `w`"),
        (["--vars=x:t"], "order"),
        (["--vars=t=0"], "no number of variables"),
        (["--vars=t,x", "--compat=netcdf-bench"], "one variable"),
        (["--vars=t,x", "--data-content=netcdf-bench"], "one variable"),
        (["--preset=mom"], "nemo or wrf"),
        (["--shares=3,1"], "2 shares"),
        (["--shares=3,0", "--ranks=2"], "whole numbers from 1"),
        (["--shares=3,1", "--ranks=2", "--split=1:1:2:1", "-b=1:3:4:6"], "cannot be used with"),
        (["--shares=2,1", "--ranks=2", "--split=1:1:2:1"], "9 would do"),
        (["--shares=3,1", "--ranks=2", "--split=2:1:1:1"], "first dimension"),
        (["--shares=3,1", "--ranks=2", "--split=1:1:2:1", "-t=file", "-c=1:3:4:6"], "at most 2"),
        (["--halo=1"], "give --read"),
        (["-r", "--halo=1"], "no block has a neighbour"),
        (["-r", "--halo=0:1"], "2 widths"),
        (["-r", "--halo=a"], "no width"),
        (["-r", "--halo=1", "--ranks=2", "-p=2", "-t=file"], "holds its own blocks"),
        (["-r", "--halo=1", "--ranks=2", "-p=2", "--seconds=1"], "--seconds"),
        (["-r", "--halo=1", "--ranks=2", "-p=2", "--data-content=netcdf-bench"], "NetCDF-Bench's values"),
    ):
        done = run(*words, *options, code=2)
        assert message in done.stderr, (options, done.stderr)
    assert list(tmp_path.iterdir()) == []
