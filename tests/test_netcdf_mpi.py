"""ncforge under netCDF-C in programs that use MPI: one rank gathers and writes, or reads, as in most models."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from commands import execute
from programs import LINUX, SOURCES, call, served

pytestmark = LINUX

# Launchers that refuse root and more processes than processors are asked not to.
ENVIRONMENT: dict[str, Any] = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


class Mpi:
    """One MPI: its compilers and its launcher."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    def compiled(self, source: str) -> Path:
        """A program of the tests."""
        kind = source.rpartition(".")[2]
        compiler, config = {"c": ("mpicc", "nc-config"), "f90": ("mpif90", "nf-config")}[kind]
        needed = [f"{compiler}.{self.name}", config, f"mpiexec.{self.name}"]
        if not all(map(shutil.which, needed)):
            pytest.skip(f"needs {', '.join(needed)}")
        header = b"#include <mpi.h>"
        if execute(f"mpicc.{self.name}", "-x", "c", "-E", "-", code=None, text=False, input=header).returncode:
            pytest.skip(f"needs the headers of {self.name}")
        binary = self.folder / f"{source}.{self.name}"
        if not binary.exists():
            options = {"c": ("--cflags", "--libs"), "f90": ("--fflags", "--flibs")}[kind]
            flags = call(config, *options).stdout.decode().split()
            call(needed[0], "-O1", "-o", binary, SOURCES / source, *flags, "-lm")
        return binary

    def launch(self, ranks: int, *command: object) -> list[str]:
        """The command that starts a program in so many processes."""
        return [f"mpiexec.{self.name}", "-n", str(ranks), *map(str, command)]


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """Each MPI that the system has."""
    return Mpi(request.param, tmp_path_factory.mktemp("mpi"))


def values(path: Path) -> np.ndarray:
    """The variable, by netCDF-C."""
    with netCDF4.Dataset(path) as d:
        return np.ma.getdata(d["v"][:])


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("way", ["close", "forget", "early"])
def test_rank_0_gathers_and_writes(mpi, ncforge_bin, tmp_path, ranks, way):
    ranks_c = mpi.compiled("ranks.c")
    call(*mpi.launch(ranks, ranks_c, tmp_path / "plain.nc", 12, way), **ENVIRONMENT)
    ours = mpi.launch(ranks, ncforge_bin, "run", ranks_c, tmp_path / "ours.nc", 12, way)
    done = call(*ours, wish="log", **ENVIRONMENT)
    assert np.array_equal(values(tmp_path / "ours.nc"), values(tmp_path / "plain.nc"))
    header = [call("ncdump", "-hs", "-n", "x", tmp_path / f"{which}.nc").stdout for which in ("plain", "ours")]
    assert header[0] == header[1]
    assert served(done, "writes") == {"close": 12, "forget": 12, "early": 12 + 12 * ranks}[way]
    if way == "early":
        for other in tmp_path.glob("ours.nc.*"):
            assert values(other).shape == (12, 180, 360)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_fortran_model(mpi, ncforge_bin, tmp_path, ranks):
    rows = mpi.compiled("rows.f90")
    call(*mpi.launch(ranks, rows, tmp_path / "plain.nc", 10), **ENVIRONMENT)
    done = call(*mpi.launch(ranks, ncforge_bin, "run", rows, tmp_path / "ours.nc", 10), wish="log", **ENVIRONMENT)
    assert np.array_equal(values(tmp_path / "ours.nc"), values(tmp_path / "plain.nc"))
    assert served(done, "writes") == 10


def test_a_launcher_that_is_run_itself(mpi, run_under, tmp_path):
    ranks_c = mpi.compiled("ranks.c")
    done = run_under(*mpi.launch(2, ranks_c, tmp_path / "ours.nc", 5, "close"), wish="log", **ENVIRONMENT)
    assert served(done, "writes") == 5


def test_an_abort_leaves_what_was_synced(mpi, ncforge_bin, tmp_path):
    # Each rank aborts when it has sent its last step; rank 0 alone has written all of them before.
    command = mpi.launch(1, ncforge_bin, "run", mpi.compiled("ranks.c"), tmp_path / "a.nc", 9, "abort")
    execute(*command, code=7, text=False, env=os.environ | ENVIRONMENT, timeout=120)
    assert values(tmp_path / "a.nc").shape[0] == 9


@pytest.mark.parametrize("way", ["plain", "ours"])
def test_what_was_synced_survives_a_kill(mpi, ncforge_bin, tmp_path, way):
    ranks_c, rng = mpi.compiled("ranks.c"), random.Random(5)
    call(*mpi.launch(1, ranks_c, tmp_path / "whole.nc", 60, "close"), **ENVIRONMENT)
    want = values(tmp_path / "whole.nc")
    under = [ncforge_bin, "run"] if way == "ours" else []
    for n in range(6):
        path = tmp_path / f"{n}.nc"
        # Without a launcher: it is the process that is killed.
        command = [*map(str, under), str(ranks_c), str(path), "60", "close", "say"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | ENVIRONMENT) as process:
            assert process.stdout is not None
            steps = rng.randrange(1, 40)
            for _ in range(steps):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            synced = steps + process.stdout.read().count(b"\n")
        got = values(path)
        assert len(got) >= synced
        assert np.array_equal(got[:synced], want[:synced])


def test_what_was_synced_and_written_again_survives_the_end_of_mpi(mpi, ncforge_bin, tmp_path):
    ranks_c = mpi.compiled("ranks.c")
    call(*mpi.launch(1, ranks_c, tmp_path / "whole.nc", 12, "close"), **ENVIRONMENT)
    command = mpi.launch(1, ncforge_bin, "run", ranks_c, tmp_path / "ours.nc", 12, "again")
    done = call(*command, wish="log", **ENVIRONMENT)
    assert b"is served" in done.stderr
    assert np.array_equal(values(tmp_path / "ours.nc"), values(tmp_path / "whole.nc"))


def test_what_ranks_open_together_is_left_alone(ncforge_bin, tmp_path):
    header = next(Path("/usr/lib").glob("*/netcdf/*/include/netcdf_par.h"), None)
    if header is None or shutil.which("mpicc.openmpi") is None:
        pytest.skip("needs a parallel netCDF-C (libnetcdf-pnetcdf-dev) and Open MPI")
    binary = tmp_path / "ranks"
    flags = ["-DPARALLEL", f"-I{header.parent}", SOURCES / "ranks.c", header.parent.parent / "libnetcdf.so", "-lm"]
    call("mpicc.openmpi", "-O1", "-o", binary, *flags)
    launch = Mpi("openmpi", tmp_path).launch
    call(*launch(2, binary, tmp_path / "plain.nc", 8, "parallel"), **ENVIRONMENT)
    ours = launch(2, ncforge_bin, "run", binary, tmp_path / "ours.nc", 8, "parallel")
    done = call(*ours, wish="log", **ENVIRONMENT)
    assert b"opened in parallel: left to netCDF-C" in done.stderr and served(done, "writes") == 0
    assert (tmp_path / "plain.nc").read_bytes() == (tmp_path / "ours.nc").read_bytes()
    # Files that one rank opens by itself are served by the same library, also where HDF5 ends inside MPI_Finalize.
    for way in ("close", "forget"):
        call(*launch(2, binary, tmp_path / "plain.nc", 8, way), **ENVIRONMENT)
        done = call(*launch(2, ncforge_bin, "run", binary, tmp_path / "ours.nc", 8, way), wish="log", **ENVIRONMENT)
        assert served(done, "writes") == 8
        assert np.array_equal(values(tmp_path / "ours.nc"), values(tmp_path / "plain.nc"))
