"""Zipped files: the same words as for any classic file, readers under a writer, writers that are killed."""

import glob
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import DATA
from datasets import created


def make(path, n=50):
    with created(path, ncforge, format="NETCDF3_64BIT_OFFSET", time=None, x=7) as d:
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
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)], stdout=subprocess.PIPE, text=True
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
def zipped(tmp_path):
    path = tmp_path / "a.ncz"
    make(path, 3000)
    with ncforge.Dataset(path, "a") as d:
        d["v"][:] = 0
        d["t"][:] = 0
    return path


def test_readers_under_a_writer_see_whole_commits(zipped):
    writer = run(WRITER, zipped)
    try:
        assert writer.stdout.readline().strip() == "1"
        with pytest.raises(OSError, match="lock"):
            ncforge.Dataset(zipped, "a")
        seen: set[int] = set()
        held = ncforge.Dataset(zipped)
        before = held["v"][:].copy()
        # Some commits of the writer's, which goes on until it is killed.
        while len(seen) < 20 and writer.poll() is None:
            seen.add(state(zipped))
        assert len(seen) == 20
        np.testing.assert_array_equal(held["v"][:], before)
        held.close()
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_a_writer_that_is_killed_leaves_a_commit(zipped):
    rng = np.random.default_rng(1)
    last = 0
    for _ in range(6):
        writer = run(WRITER, zipped)
        # It is in the middle of a later commit than the one that it reported.
        reported = "".join(writer.stdout.readline() for _ in range(rng.integers(1, 30)))
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = [int(line) for line in (reported + writer.stdout.read()).split()]
        assert acknowledged[0] == 1
        writer.wait()
        writer.stdout.close()
        last = state(zipped)
        # The last one that was reported, or the one that was in progress.
        assert last in (acknowledged[-1], acknowledged[-1] + 1)
    assert last > 0


def test_new_definitions_touch_little_of_the_file(tmp_path):
    path = tmp_path / "large.ncz"
    n = 3_000_000
    noise = np.random.default_rng(3).integers(-(2**31), 2**31, n, dtype="i4")
    with created(path, ncforge, format="NETCDF3_64BIT_OFFSET", time=None) as d:
        for name in "abcd":
            d.createVariable(name, "i4", ("time",))
        for name in "abcd":
            d[name][:] = noise
    before = np.fromfile(path, dtype="u1")
    assert len(before) > 40_000_000
    with ncforge.Dataset(path, "a") as d:
        d.title, d.institution, d.history = "t" * 1000, "i" * 3000, "h" * 5000
        d.createDimension("station", 50)
        d.createVariable("elevation", "f8", ("station",))
        d.createVariable("quality", "f4", ("time",))
    after = np.fromfile(path, dtype="u1")
    assert len(after) - len(before) < 300_000
    changed = np.count_nonzero(before[: len(after)] != after[: len(before)])
    assert changed < 300_000
    with ncforge.Dataset(path) as d:
        d.set_auto_mask(False)
        np.testing.assert_array_equal(d["c"][:], noise)
        assert d["quality"].shape == (n,)
        np.testing.assert_array_equal(d["quality"][-3:], netCDF4.default_fillvals["f4"])


CLASSIC = sorted(
    p
    for p in [*DATA.glob("*.nc"), *map(Path, glob.glob("/usr/share/ncarg/data/cdf/*[!l].nc"))]
    if p.read_bytes()[:3] == b"CDF" and p.stat().st_size < 8_000_000
)


@pytest.mark.parametrize("path", CLASSIC, ids=lambda p: p.name)
def test_files_of_others_are_the_same_zipped(path, tmp_path, run):
    zipped, back = tmp_path / "p.ncz", tmp_path / "b.nc"
    run("zip", path, zipped, "--block", "4K")
    rng = np.random.default_rng(len(path.name))
    with ncforge.Dataset(zipped) as d, netCDF4.Dataset(path) as want:
        want.set_auto_maskandscale(False)
        d.set_auto_maskandscale(False)
        assert list(d.variables) == list(want.variables)
        for name, v in want.variables.items():
            np.testing.assert_array_equal(d[name][...], v[...], err_msg=name)
            for _ in range(3):
                ends = [sorted(int(end) for end in rng.integers(0, n + 1, 2)) for n in v.shape]
                at = tuple(slice(low, high, int(rng.integers(1, 4))) for low, high in ends)
                np.testing.assert_array_equal(d[name][at], v[at], err_msg=f"{name} {at}")
    run("unzip", zipped, back)
    assert back.read_bytes() == path.read_bytes()
    # Equal changes to both give equal files.
    for file in [zipped, back]:
        with ncforge.Dataset(file, "a") as d:
            d.note = "changed " * 700
            for own in list(d.variables.values()):
                if own.dtype.kind in "if" and own.size and own.dimensions:
                    own[(0,) * own.ndim] = 1
                    if d.dimensions[own.dimensions[0]].isunlimited() and own.ndim < 4:
                        own[own.shape[0] : own.shape[0] + 1] = 2
            unlimited = [k for k, dim in d.dimensions.items() if dim.isunlimited()]
            d.createVariable("brand_new", "i2", tuple(unlimited[:1]))[...] = 3
    assert ncforge.compare(zipped, back).same
