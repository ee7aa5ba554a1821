"""Packed files: the same words as for any classic file, readers under a writer, writers that are killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import netCDF4
import numpy as np
import pytest

import ncforge


def make(path, n=50):
    with ncforge.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as d:
        d.createDimension("time", None)
        d.createDimension("x", 7)
        d.title = "station"
        t = d.createVariable("t", "f4", ("time",))
        v = d.createVariable("v", "i2", ("time", "x"))
        t[:] = np.arange(n, dtype="f4")
        v[:] = np.arange(n * 7).reshape(n, 7) % 1000


def test_no_word_differs_from_classic(tmp_path):
    files = [tmp_path / "a.nc", tmp_path / "a.ncz"]
    for path in files:
        make(path)
        with ncforge.Dataset(path, "a") as d:
            d["t"][50:60] = 7.5
            d["v"][3:40:4, 2] = -1
            d.createDimension("y", 3)
            w = d.createVariable("w", "f8", ("y",))
            w[:] = [1, 2, 3]
            w.units = "K" * 5000
            d.history = "changed " * 1000
            r = d.createVariable("r", "i4", ("time",))
            r[:] = 5
    assert files[1].read_bytes()[:4] == b"\x89NCZ"
    assert ncforge.compare(files[0], files[1]).same
    with ncforge.Dataset(files[1]) as d, netCDF4.Dataset(files[0]) as want:
        assert d.data_model == want.data_model
        want.set_auto_mask(False)
        np.testing.assert_array_equal(d["v"][:], want["v"][:])


def run(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
    )


WRITER = """
    import sys, ncforge, numpy as np
    path = sys.argv[1]
    with ncforge.Dataset(path, "a") as d:
        for n in range(1, 100000):
            d["v"][:] = n % 30000
            d["t"][:] = n % 30000
            d.sync()
            print(n, flush=True)
"""


def state(path):
    """The number that every value has; fails when they are not one."""
    with ncforge.Dataset(path) as d:
        values = np.unique(np.concatenate([d["v"][:].ravel(), d["t"][:].ravel()]))
    assert len(values) == 1, f"half a commit: {values[:5]}"
    return int(values[0])


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "a.ncz"
    make(path, 3000)
    with ncforge.Dataset(path, "a") as d:
        d["v"][:] = 0
        d["t"][:] = 0
    return path


def test_readers_under_a_writer_see_whole_commits(packed):
    writer = run(WRITER, packed)
    try:
        assert writer.stdout.readline().strip() == "1"
        with pytest.raises(OSError, match="lock"):
            ncforge.Dataset(packed, "a")
        seen = set()
        held = ncforge.Dataset(packed)
        before = held["v"][:].copy()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            seen.add(state(packed))
        assert len(seen) > 1
        np.testing.assert_array_equal(held["v"][:], before)
        held.close()
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_a_writer_that_is_killed_leaves_a_commit(packed):
    rng = np.random.default_rng(1)
    last = 0
    for _ in range(6):
        writer = run(WRITER, packed)
        first = writer.stdout.readline()
        assert first.strip() == "1"
        time.sleep(float(rng.uniform(0, 0.2)))
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = [int(line) for line in (first + writer.stdout.read()).split()]
        writer.wait()
        writer.stdout.close()
        last = state(packed)
        # The last that was told, or the one that was going on.
        assert last in (acknowledged[-1], acknowledged[-1] + 1)
    assert last > 0
