"""Everything that NetCDF-Bench's reference runs vary, at once: 1, 2 and 4 ranks, started by the benchmark and by ``mpiexec``;
independent and collective; contiguous, a chunk a block, chunks of one's own; fixed and unlimited, filled or not, deflated.

netCDF4-python reads every file and compares every value. The arrays are small; ``NCFORGE_MATRIX=full`` takes those of the
reference runs (8 to 32 MB each).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from bench_common import ONCE, PARALLEL, expected, mpi_ranks
from commands import ncforge

FULL = os.environ.get("NCFORGE_MATRIX") == "full"
NODES = {1: (1, 1), 2: (1, 2), 4: (2, 2)}
LAUNCHERS = ["built-in", "mpiexec"]
#: What netCDF allows collective calls only, is asked for with these only.
KINDS: dict[str, tuple[list[str], str]] = {
    "plain": ([], "ind,coll"),
    "filled": (["-F"], "ind,coll"),
    "unlimited": (["-u"], "coll"),
    "deflated": (["-z=4"], "coll"),
    "all three": (["-F", "-u", "-z=4"], "coll"),
}


def shape_of(ranks: int) -> tuple[int, ...]:
    nn, ppn = NODES[ranks]
    return (20, 100 * nn, 100 * ppn, 10) if FULL else (4, 10 * nn, 8 * ppn, 3)


def check(path: Path, case: dict[str, Any], options: list[str], shape: tuple[int, ...], values: np.ndarray) -> None:
    """The file is what was asked for, and has the values."""
    block = [1, *(100, 100, 10)] if FULL else [1, *(10, 8, 3)]
    chunks = {"unasked": None, "auto": block}.get(
        str(case["ask"]["chunks"]), [1, *(n // 2 for n in block[1:3]), block[3]]
    )
    with netCDF4.Dataset(path) as nc:
        nc.set_auto_mask(False)
        data = nc["data"]
        assert np.array_equal(data[:], values), (path, case)
        assert data.shape == shape and data.dtype == np.int32
        assert data.dimensions == ("time", "dim_1", "dim_2", "dim_3")
        assert nc.dimensions["time"].isunlimited() == ("-u" in options)
        assert data.filters()["complevel"] == (4 if "-z=4" in options else 0)
        # netCDF-C knows no value to fill with where nothing is filled.
        assert (data.get_fill_value() is not None) == ("-F" in options)
        if chunks:
            assert data.chunking() == chunks, (path, case)
        else:
            needs_chunks = "-u" in options or "-z=4" in options
            assert (data.chunking() != "contiguous") == needs_chunks, (path, case)


@pytest.mark.parametrize("ranks", NODES)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_matrix_of_reference_runs(tmp_path: Path, launcher: str, ranks: int) -> None:
    nn, ppn = NODES[ranks]
    shape = shape_of(ranks)
    custom = "1:50:50:10" if FULL else "1:5:4:3"
    libraries = [f"--library={PARALLEL}"] if launcher == "mpiexec" and PARALLEL.exists() else []
    if launcher == "built-in" and ranks == 1:
        libraries = ["--library=netcdf-c"]
    start = mpi_ranks(ranks) if launcher == "mpiexec" else []
    values = expected(shape)
    for options, access in KINDS.values():
        out = tmp_path / "out.json"
        words = [
            f"-n={nn}", f"-p={ppn}", "-d=" + ":".join(map(str, shape)),
            f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=ncforge", *libraries, f"--sweep=access={access}",
            f"--sweep=chunk=none,auto,{custom}", "--data-content=hash", f"--json={out}", "-O", *options, *ONCE,
        ]  # fmt: skip
        ncforge("bench", "io", *words, before=start, timeout=180)
        section = json.loads(out.read_text())["sections"][0]
        report = section["detail"]
        assert ("MPI" in report["team"]) == (launcher == "mpiexec"), report["team"]
        assert len(report["cases"]) == (1 + len(libraries)) * 3 * len(access.split(","))
        assert all(m["right"] is not False for row in section["rows"] for m in row["measurements"])
        assert {row["facts"]["ranks"] for row in section["rows"]} == {str(ranks)}
        for number, case in enumerate(report["cases"], start=1):
            path = tmp_path / f"t.{number}.nc"
            check(path, case, options, shape, values)
            path.unlink()
