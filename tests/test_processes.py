"""Several processes, and memory: fork, spawn and ``distributed`` with netCDF4 and h5py in the process; writing from Dask.

``NCFORGE_STRESS_SECONDS`` says how long each kind of process works (default 1; a minute before a release).
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute

SECONDS = min(float(os.environ.get("NCFORGE_STRESS_SECONDS", "1")), 60.0)
SHAPE = (60, 50, 70)


def expected() -> np.ndarray:
    return (np.arange(np.prod(SHAPE)) * 7 % 30011).astype("i2").reshape(SHAPE)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files with equal values, classic and compressed, packed in a way that masks some."""
    folder = tmp_path_factory.mktemp("processes")
    paths = []
    for fmt in ("NETCDF3_CLASSIC", "NETCDF4"):
        path = folder / f"{fmt}.nc"
        with netCDF4.Dataset(path, "w", format=fmt) as nc:
            for name, n in zip("tyx", SHAPE, strict=True):
                nc.createDimension(name, n)
            v = nc.createVariable("v", "i2", tuple("tyx"), zlib=True, chunksizes=(7, 20, 30), fill_value=7)
            v.set_auto_maskandscale(False)
            v.scale_factor = 0.5
            v[:] = expected()
        paths.append(path)
    return paths


def work(paths: list[Path], seconds: float, seed: int) -> int:
    """Reads at random, by ncforge and by the others, and compares. Gives the number of reads."""
    random = np.random.default_rng(seed)
    values = expected()
    want = np.ma.masked_equal(values, 7) * 0.5
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        path = paths[int(random.integers(len(paths)))]
        low = random.integers(0, np.array(SHAPE) - 1)
        key = tuple(slice(int(a), int(random.integers(a + 1, n + 1))) for a, n in zip(low, SHAPE, strict=True))
        with ncforge.Dataset(path) as ds:
            for _ in range(5):
                found = ds["v"][key]
                assert np.array_equal(found.filled(-1), want[key].filled(-1)), (path, key)
                assert np.array_equal(ds["v"].read(key), values[key]), (path, key)
        if seed % 2:
            with netCDF4.Dataset(path) as nc:
                assert np.array_equal(nc["v"][key].filled(-1), want[key].filled(-1)), (path, key)
        elif path.name == "NETCDF4.nc":
            with h5py.File(path) as f:
                assert np.array_equal(f["v"][key], values[key]), (path, key)
        done += 1
    return done


def _tell(paths: list[Path], seconds: float, seed: int, queue: Any) -> None:
    try:
        queue.put(work(paths, seconds, seed))
    except BaseException as e:
        queue.put(repr(e))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_processes(files: list[Path], method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    # This process has read already, by all three, and goes on while its children do.
    work(files, 0.2, 0)
    work(files, 0.2, 1)
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    own: list[int] = []
    reading = threading.Thread(target=lambda: own.append(work(files, SECONDS, 2)))
    children = [context.Process(target=_tell, args=(files, SECONDS, seed, queue)) for seed in (3, 4, 5)]
    for child in children:
        child.start()
    reading.start()
    reported = [queue.get(timeout=SECONDS + 600) for _ in children]
    for child in children:
        child.join(30)
        assert child.exitcode == 0
    reading.join(SECONDS + 600)
    assert not reading.is_alive() and own and own[0] > 0
    assert all(isinstance(n, int) and n > 0 for n in reported), reported


def test_two_workers_of_a_cluster(files: list[Path]) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        futures = [client.submit(work, files, SECONDS, seed, pure=False) for seed in (6, 7)]
        assert all(n > 0 for n in client.gather(futures))


WRITER = """
import sys, dask, dask.array as da, numpy as np, xarray as xr, ncforge
budget, path = int(sys.argv[1]), sys.argv[2]
steps = 8 * budget // (512 * 512 * 4)
def block(block_info=None):
    (first, last), *_ = block_info[None]["array-location"]
    return np.broadcast_to(np.arange(first, last, dtype="f4")[:, None, None], (last - first, 512, 512)).copy()
values = da.map_blocks(block, chunks=((4,) * (steps // 4), (512,), (512,)), dtype="f4")
ds = xr.Dataset({"v": (("t", "y", "x"), values)})
with dask.config.set(scheduler="threads", num_workers=2):
    ncforge.to_netcdf(ds, path, codec="zlib", level=1, chunks={"t": 8, "y": 256, "x": 256}, memory=budget)
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        print(int(line.split()[1]) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory as Linux reports it")
def test_writing_more_than_fits_memory(tmp_path: Path) -> None:
    pytest.importorskip("dask")
    budget, path = 64 << 20, tmp_path / "large.nc"
    words = [sys.executable, "-c", WRITER, str(budget), str(path)]
    done = execute(*words)
    assert int(done.stdout) < budget + (200 << 20), f"{int(done.stdout) >> 20} MiB at its peak"
    with netCDF4.Dataset(path) as nc:
        steps = 8 * budget // (512 * 512 * 4)
        assert nc["v"].shape == (steps, 512, 512)
        assert np.array_equal(nc["v"][:, 100, 300], np.arange(steps, dtype="f4"))
