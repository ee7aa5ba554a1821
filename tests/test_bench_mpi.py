"""``ncforge bench io`` as a rank of an MPI job: ranks, their number, their nodes, and hints for MPI."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from bench_common import ONCE, PARALLEL, expected, mpi_ranks, values
from commands import ncforge
from conftest import Run


@pytest.mark.parametrize("ranks", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("access", ["ind", "coll"])
def test_under_mpi(tmp_path: Path, ranks: tuple[int, int], access: str) -> None:
    nn, ppn = ranks
    shape = (4, 10 * nn, 8 * ppn, 3)
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    words = [
        f"-n={nn}", f"-p={ppn}", "-d=" + ":".join(map(str, shape)),
        f"-t={access}", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-L", "chunk=none,auto", "--driver", "ncforge", *libraries,
        "--json", *ONCE,
    ]  # fmt: skip
    done = ncforge("bench", "io", *words, before=mpi_ranks(nn * ppn))
    report = json.loads(done.stdout)["sections"][0]["detail"]
    assert "MPI" in report["team"]
    assert len(report["cases"]) == 2 * (1 + len(libraries))
    for number in range(1, len(report["cases"]) + 1):
        assert np.array_equal(values(tmp_path / f"t.{number}.nc"), expected(shape))


@pytest.mark.parametrize(("layer", "name"), [("ompio", "OMPIO"), ("romio321", "ROMIO")])
def test_hints_reach_mpi_io_and_the_card_says_which_it_is(tmp_path: Path, layer: str, name: str) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-t=coll", "-w", "-r", "--hint", "cb_nodes=1", "--json"]
    libraries = [f"--library={PARALLEL}"] if PARALLEL.exists() else []
    options = [*words, "--driver=ncforge", *libraries, *ONCE]
    environment = {"OMPI_MCA_btl_base_warn_component_unused": "0"}
    done = ncforge("bench", "io", *options, before=[*mpi_ranks(2), "--mca", "io", layer], env=environment)
    card = json.loads(done.stdout)["environment"]
    assert card["mpi_io"] == name
    assert ["cb_nodes", "1"] in card["hints"]
    assert any("MPI: Open MPI" in line for line in card["libraries"])
    assert any("HDF5" in line and "PnetCDF" in line for line in card["libraries"]) or not libraries
    assert ["OMPI_MCA_btl_base_warn_component_unused", "0"] in card["variables"]
    # The launcher's own variables hold addresses and a key of the job.
    assert not [name for name, _ in card["variables"] if "orte" in name]
    assert list(tmp_path.glob("*ncforge-mpi*")) == []


def test_a_serial_netcdf_c_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", *ONCE]
    words += ["-t=coll", "--driver", "ncforge,netcdf-c"]
    done = ncforge("bench", "io", *words, before=mpi_ranks(2), code=None)
    if "install it (Debian" in done.stderr:
        pytest.skip("the system has no netCDF-C")
    assert done.returncode == 2, done.stderr
    assert "is a serial build of netCDF-C; name a parallel one" in done.stderr
    assert f"--library {PARALLEL}" in done.stderr or not PARALLEL.exists()
    assert "MPI_ABORT" not in done.stderr and list(tmp_path.iterdir()) == []


def test_under_the_other_family_of_mpi(tmp_path: Path) -> None:
    """MPICH's handles are numbers; its library is found by what its launcher sets."""
    if not shutil.which("mpiexec.mpich") or not list(Path("/usr/lib").glob("*/libmpich.so.12")):
        pytest.skip("MPICH is not installed")
    path = tmp_path / "t.nc"
    words = ["-d=4:10:16:3", f"-f={path}", "-t=coll", "-w", "-r", "--hint=cb_nodes=1", "--json", *ONCE]
    results = json.loads(ncforge("bench", "io", *words, before=["mpiexec.mpich", "-n", 2]).stdout)
    card, report = results["environment"], results["sections"][0]["detail"]
    assert card["mpi_io"] == "ROMIO" and ["cb_nodes", "1"] in card["hints"]
    assert (report["nodes"], report["geometry"]["ppn"]) == (1, 2) and "MPICH" in report["team"]
    assert np.array_equal(values(path), expected((4, 10, 16, 3)))


def test_hints_that_nobody_takes_are_refused(tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--hint=cb_nodes=1", *ONCE]
    for options in (["-t=ind"], ["-t=file"], ["-t=coll", "-c=auto"]):
        done = ncforge("bench", "io", *words, *options, before=mpi_ranks(2), code=2)
        assert "leave out --hint" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_hints_that_mpi_cannot_take_are_reported(tmp_path: Path) -> None:
    words = ["-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-t=coll", "--hint=cb_nodes=1", *ONCE]
    for hint in ("x" * 36 + "=1", "key=" + "x" * 256):
        done = ncforge("bench", "io", *words, f"--hint={hint}", before=mpi_ranks(2), code=2)
        assert "35 and 255 bytes at most" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_hints_need_mpi(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", *ONCE]
    assert "mpiexec" in run(*words, "--hint", "cb_nodes=2", code=2).stderr
    assert "is no hint" in run(*words, "--hint", "cb_nodes", code=2).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("job", [{}, {"SLURM_NNODES": "4", "SLURM_NTASKS_PER_NODE": "8", "SLURM_PROCID": "0"}])
def test_an_mpi_job_knows_its_nodes_by_itself(tmp_path: Path, job: dict[str, str]) -> None:
    """No option says how many ranks there are; an allocation that is larger than the job changes nothing."""
    done = ncforge("bench", "io", f"-f={tmp_path / 't.nc'}", "--json", *ONCE, before=mpi_ranks(4), env=job)
    report = json.loads(done.stdout)["sections"][0]["detail"]
    assert (report["nodes"], report["geometry"]["nodes"], report["geometry"]["ppn"]) == (1, 1, 4)
    assert report["geometry"]["data"] == [100, 100, 400, 10]


def test_tasks_of_srun_without_mpi_do_not_write_over_one_another(tmp_path: Path) -> None:
    """Each of them would think that it is alone."""
    environment = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "NCFORGE_MPI": "/nowhere/libmpi.so"}
    done = ncforge("bench", "io", f"-f={tmp_path / 't.nc'}", *ONCE, code=1, env=environment)
    assert "NCFORGE_MPI" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_are_bound_to_a_core_each_do_not_share_one(tmp_path: Path) -> None:
    """The processors of the first rank are not those of all; more ranks than processors are reported."""
    mpi_ranks(2)
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("one processor alone")
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-d=4:10:16:3", "-w", "-O", *ONCE]
    start = ["mpiexec.openmpi", "--allow-run-as-root"]
    for how, ranks, reported in (
        (["--bind-to", "core", "--map-by", "core"], 2, ""),
        (["--oversubscribe"], 2 * cores, f"{2 * cores} ranks share {cores} processors"),
    ):
        done = ncforge(*words, before=[*start, *how, "-n", ranks])
        assert reported in done.stdout and ("ranks share" in done.stdout) == bool(reported), done.stdout


def test_an_error_of_one_rank_ends_the_mpi_job(tmp_path: Path) -> None:
    words = ["-b=1:100:200:10", "-d=20:200:200:10", f"-f={tmp_path / 't.nc'}"]
    done = ncforge("bench", "io", *words, before=mpi_ranks(4), code=2)
    assert done.stderr.count("try 1:200:50:10") == 1
    assert list(tmp_path.iterdir()) == []
