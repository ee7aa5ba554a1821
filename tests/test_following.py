"""A reader that stays open while netCDF-C or HDF5 writes the file: after each sync it has what was synced."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ncforge

#: Writes boxes of random values that standard input names, syncs, and stores what the array is now.
WRITER = """
import sys
import h5py, netCDF4, numpy as np
path, kind, packed = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
if kind == "netcdf4":
    ds = netCDF4.Dataset(path, "w")
    ds.createDimension("t", None)
    ds.createDimension("x", 1000)
    v = ds.createVariable("v", "i4", ("t", "x"), chunksizes=(4, 100), zlib=packed)
    text = ds.createVariable("text", str, ("t",))
    v.set_auto_mask(False)
    sync = ds.sync
else:
    ds = h5py.File(path, "w", libver=kind)
    v = ds.create_dataset("v", (0, 1000), "i4", chunks=(4, 100), maxshape=(None, 1000), compression="gzip" if packed else None)
    sync, text = ds.flush, None
for line in sys.stdin:
    first, column, rows, columns, seed = map(int, line.split())
    if text is None:
        v.resize((max(first + rows, len(v)), 1000))
    else:
        text[first] = "t" * (seed % 50)
    # Of some values compression leaves little, of others all: chunks change their size, and move.
    v[first : first + rows, column : column + columns] = np.random.default_rng(seed).integers(
        0, 2 << seed % 30, (rows, columns)
    )
    sync()
    np.save(path + ".npy", v[:])
    print(len(v), flush=True)
"""


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["netcdf4", "earliest", "latest"])
@pytest.mark.parametrize("seed", range(2))
def test_a_reader_has_what_another_library_synced(tmp_path: Path, kind: str, packed: bool, seed: int) -> None:
    dice = random.Random(seed)
    path = tmp_path / "run.nc"
    line = [sys.executable, "-c", WRITER, str(path), kind, str(packed)]
    off = {**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"}
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=off) as writer:
        assert writer.stdin and writer.stdout

        def write(*box: int) -> int:
            print(*box, dice.getrandbits(30), file=writer.stdin, flush=True)
            return int(writer.stdout.readline())  # type: ignore[union-attr]

        rows = write(0, 0, 8, 1000)
        with ncforge.Dataset(path) as follower:
            follower.set_auto_mask(False)
            for step in range(20):
                count, width = dice.randint(1, 9), dice.choice([1, 50, 100, 1000])
                first = dice.randint(0, rows) if step % 2 else dice.randint(0, max(rows - count, 0))
                rows = write(first, dice.randint(0, 1000 - width), count, width)
                want = np.load(f"{path}.npy")
                got = np.asarray(follower["v"][:])
                np.testing.assert_array_equal(got, want[: len(got)], err_msg=f"step {step}")
                with ncforge.Dataset(path) as fresh:
                    fresh.set_auto_mask(False)
                    np.testing.assert_array_equal(fresh["v"][:], want, err_msg=f"step {step}, opened now")
                    if kind == "netcdf4":
                        assert set("".join(follower["text"][:])) <= {"t"}
        writer.stdin.close()
        assert writer.wait() == 0
