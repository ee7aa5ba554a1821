"""``ncforge bench io --layers``: what system calls, MPI-IO, HDF5, netCDF-C and ncforge leave of the same work; and MPI-IO as a driver."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from bench_common import ONCE, PARALLEL, PARALLEL_HDF5, expected, mpi_ranks, values
from commands import ncforge
from conftest import Run


def section(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["sections"][0]
    return found


def under_mpi(ranks: int, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return ncforge("bench", "io", *words, *ONCE, before=mpi_ranks(ranks), code=code)


def test_layers_stand_in_their_order_beside_the_ceiling(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["-d=6:20:30:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--layers", "-L", "chunk=none,1:10:15:5", *ONCE]
    done = run("bench", "io", *words, f"--json={out}")
    found = section(out)
    engines = list(dict.fromkeys(row["engine"] for row in found["rows"]))
    assert engines == ["raw", "hdf5", "netcdf-c", "ncforge"]
    for row in found["rows"]:
        assert (row["of_ceiling"] is None) == (row["engine"] == "raw")
        assert all(m["right"] is not False for m in row["measurements"])
    lines = [w for w in found["words"] if w.startswith("layers, ")]
    assert [line.split(":")[0] for line in lines] == [
        *("layers, write (no chunks)", "layers, read warm (no chunks)"),
        # Colons stand in the lengths, too.
        *("layers, write (chunks 1", "layers, read warm (chunks 1"),
    ]
    assert all(name in line for line in lines for name in ("hdf5 ", "netcdf-c ", "ncforge "))
    assert all(line in done.stdout for line in lines)
    assert any("left out: mpi-io" in note and "mpiexec" in note for note in found["notes"])


def test_layers_of_an_mpi_job(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = [
        "-d=6:20:30:5",
        f"-f={tmp_path / 't.nc'}",
        "-w",
        "-r",
        "--layers",
        "-L",
        "access=ind,coll",
        f"--json={out}",
    ]
    under_mpi(2, *words)
    found = section(out)
    engines = list(dict.fromkeys(row["engine"] for row in found["rows"]))
    assert engines[:2] == ["raw", "mpi-io"] and engines[-1] == "ncforge"
    assert len(engines) == 3 + PARALLEL.exists() + PARALLEL_HDF5.exists()
    assert any("left out: hdf5" in note for note in found["notes"]) != PARALLEL_HDF5.exists()
    assert all(m["right"] is not False for row in found["rows"] for m in row["measurements"])


@pytest.mark.parametrize("options", [["-t=ind"], ["-t=coll"], ["-t=ind", "-c=1:5:4:3"], ["-t=coll", "-u"]])
def test_mpi_io_writes_what_system_calls_write(tmp_path: Path, options: list[str]) -> None:
    """Not only what it reads itself: the values lie in the file as plain calls put them there."""
    shape = (4, 20, 16, 3)
    words = ["-n=2", "-p=2", "-d=4:20:16:3", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=mpi-io,raw"]
    under_mpi(4, *words, *options)
    ours, theirs = (tmp_path / f"t.{n}.raw" for n in (1, 2))
    assert ours.read_bytes() == theirs.read_bytes()
    if "-c=1:5:4:3" not in options:
        stored = np.fromfile(ours, "<i4", count=int(np.prod(shape)))
        assert np.array_equal(stored.reshape(shape), expected(shape))
    # Files of a benchmark may be replaced without being asked.
    under_mpi(4, *words, *options)


@pytest.mark.skipif(not PARALLEL_HDF5.exists(), reason="there is no HDF5 for several processes")
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "options",
    [
        ["-t=ind"],
        ["-t=coll"],
        ["-t=ind", "-c=auto"],
        ["-t=coll", "-c=1:5:4:3", "-F"],
        ["-t=coll", "-u", "--hint=cb_nodes=1"],
        ["-t=coll", "-z=3", "-c=auto"],
    ],
)
def test_ranks_share_a_file_through_hdf5(tmp_path: Path, ranks: int, options: list[str]) -> None:
    shape = (4, 20, 16, 3)
    split = {2: ["-n=1", "-p=2"], 4: ["-n=2", "-p=2"]}[ranks]
    path = tmp_path / "t.h5"
    words = [*split, "-d=4:20:16:3", f"-f={path}", "-w", "-r", "--data-content=hash", f"--driver={PARALLEL_HDF5}"]
    out = tmp_path / "out.json"
    under_mpi(ranks, *words, f"--json={out}", *options)
    phases = section(out)["detail"]["phases"]
    assert all(p["verdict"]["wrong"] == 0 for p in phases if p["kind"] == "read")
    with h5py.File(path) as file:
        assert np.array_equal(file["data"][:], expected(shape))
        assert (file["data"].chunks is None) == (not {"-c=auto", "-c=1:5:4:3", "-u"} & set(options))
        assert (file["data"].compression == "gzip") == ("-z=3" in options)


def test_what_hdf5_cannot_share_is_said(run: Run, tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-n=1", "-p=2"]
    assert "start the command by mpiexec" in run("bench", "io", *words, "--driver=hdf5", *ONCE, code=2).stderr
    assert "a serial build of HDF5" in under_mpi(2, *words, "--driver=hdf5", code=2).stderr
    if PARALLEL_HDF5.exists():
        for options in (["-t=ind", "-u"], ["-t=ind", "-z=1"]):
            done = under_mpi(2, *words, f"--driver={PARALLEL_HDF5}", *options, code=2)
            assert "--io-type coll" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_rank_may_be_an_mpi_job_by_itself(tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=mpi-io,ncforge"]
    under_mpi(1, *words)
    assert np.array_equal(values(tmp_path / "t.2.nc"), expected((4, 6, 8, 5)))


def test_what_mpi_io_cannot_do_is_said(run: Run, tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--driver=mpi-io"]
    for ranks in ([], ["--ranks=2"]):
        assert "start the command by mpiexec" in run("bench", "io", *words, *ranks, *ONCE, code=2).stderr
    for options, message in ((["-t=file"], "all ranks share"), (["-t=coll", "-c=auto"], "leave out the chunks")):
        assert message in under_mpi(2, *words, *options, code=2).stderr, options
    for options in (["--layers"], ["--layers", "-L", "driver=raw"]):
        more = words[:-1] if "-L" in options else words
        assert "--layers" in run("bench", "io", *more, *options, *ONCE, code=2).stderr
    assert list(tmp_path.iterdir()) == []
