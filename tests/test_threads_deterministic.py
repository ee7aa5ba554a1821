"""Results do not depend on the number of threads, and threads may share a dataset."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import ncforge
from commands import execute
from conftest import DATA

WRITER = """
import sys
import numpy as np
import ncforge

with ncforge.Dataset(sys.argv[1], "w") as ds:
    ds.createDimension("t", None)
    ds.createDimension("x", 500)
    v = ds.createVariable("v", "f4", ("t", "x"), zlib=True, chunksizes=(16, 100))
    s = ds.createVariable("s", str, ("t",), chunksizes=(16,))
    random = np.random.default_rng(5)
    for t in range(0, 200, 7):
        v[t : t + 7] = random.normal(size=(7, 500)).round(2)
        s[t] = "text " * (t % 5)
"""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_copies_are_the_same_bytes(tmp_path: Path, run: Callable[..., object]) -> None:
    netcdf4 = ["--format", "netcdf4", "--chunks", "auto", "--codec", "deflate"]
    for name, how in [
        ("navy_winds.nc", netcdf4),
        ("navy_winds.nc", ["--format", "cdf5"]),
        ("nc4uvt.nc", netcdf4),
        ("nc4uvt.nc", ["--codec", "zstd"]),
        ("sst30e_netcdf.nc", netcdf4),
        ("sst30e_netcdf.nc", ["--format", "cdf2"]),
        ("binned_GSHHS_c.nc", netcdf4),
    ]:
        made = set()
        for threads in [1, 2, 5]:
            for memory in ["32M", "1G"]:
                out = tmp_path / f"{threads}{memory}.nc"
                run("copy", DATA / name, out, "-O", "--no-history", *how, "--threads", threads, "--memory", memory)
                made.add(digest(out))
        assert len(made) == 1, (name, how)


def test_written_files_are_the_same_bytes(tmp_path: Path) -> None:
    made = set()
    for threads in ["1", "4"]:
        out = tmp_path / f"{threads}.nc"
        execute(sys.executable, "-c", WRITER, out, env={"NCFORGE_THREADS": threads})
        made.add(digest(out))
    assert len(made) == 1


def test_threads_share_a_dataset() -> None:
    with ncforge.Dataset(DATA / "navy_winds.nc") as ds:
        var = ds.variables["UWND"]
        expected = var[...]

        def read(i: int) -> bool:
            random = np.random.default_rng(i)
            for _ in range(20):
                t, y, x = (int(random.integers(0, n)) for n in var.shape)
                key = [(t,), (slice(None), y, x), (slice(t, None, 3), slice(y), slice(x, None))][i % 3]
                if not np.array_equal(var[key], expected[key]):
                    return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read, range(24)))
