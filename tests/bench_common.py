"""Shared by the tests of ``ncforge bench io``: the values that it writes, computed once more, and how it is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import netCDF4
import numpy as np
import pytest

#: One repetition, and no other: what is tested is what is done, not how fast.
ONCE = ["--reps", "1"]
#: Debian's netCDF-C for several processes.
PARALLEL = Path("/usr/lib/x86_64-linux-gnu/libnetcdf_pnetcdf.so.19")
#: Debian's HDF5 for several processes.
PARALLEL_HDF5 = Path("/usr/lib/x86_64-linux-gnu/libhdf5_openmpi.so.103")


def mix(z: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def expected(shape: tuple[int, ...]) -> np.ndarray:
    """The values of ``--data-content hash`` as 32-bit numbers."""
    index = np.arange(int(np.prod(shape)), dtype=np.uint64)
    with np.errstate(over="ignore"):
        hashed = mix(np.uint64(1) + index * np.uint64(0x9E3779B97F4A7C15))
    return hashed.astype(np.uint32).view(np.int32).reshape(shape)


def values(path: Path) -> np.ndarray:
    """The values that netCDF4-python reads."""
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        return np.asarray(nc["data"][:])


def mpi_ranks(ranks: int) -> list[str]:
    """How an MPI job is started on this machine, or the test is skipped."""
    if shutil.which("mpiexec.openmpi"):
        return ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks)]
    pytest.skip("Open MPI's mpiexec is not installed")
