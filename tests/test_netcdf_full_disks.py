"""ncforge under netCDF-C on full disks: each file's calls report what fails of it, and everything else is written."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from programs import LINUX, call

pytestmark = LINUX

# No file may get longer than a limit, as on a full disk: what is noise does not fit, and what is constant does.
OPEN = """
    import os, resource, signal, sys, netCDF4, numpy as np
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    noise = np.random.default_rng(1).standard_normal((60, 200, 300)).astype("f4")
    def limit(length):
        resource.setrlimit(resource.RLIMIT_FSIZE, (length, resource.RLIM_INFINITY))
    def create(path, names="v"):
        d = netCDF4.Dataset(path, "w")
        for name, n in dict(t=None, y=200, x=300).items():
            d.createDimension(name, n)
        for name in names:
            v = d.createVariable(name, "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 200, 300))
            v.set_var_chunk_cache(size=1)
        d.sync()
        return d
    def fails(what, *arguments):
        try:
            what(*arguments)
        except RuntimeError:
            return True
        return False
"""


def program(rest: str, *arguments: object) -> list[object]:
    """A program that ends without closing what it cannot."""
    code = textwrap.dedent(OPEN) + textwrap.dedent(rest) + "sys.stdout.flush()\nos._exit(0)\n"
    return [sys.executable, "-c", code, *arguments]


#: One thread and little memory: chunks are stored at the same moments in every run.
STEADY = {"wish": "always", "NCFORGE_THREADS": "1", "NCFORGE_MEMORY": "16M"}


def rows(path: Path, name: str) -> Any:
    with netCDF4.Dataset(path) as d:
        return np.ma.filled(d[name][:, 0, 0], np.nan)


def test_other_files_are_written(run_under, tmp_path):
    full, other, whole = tmp_path / "full.nc", tmp_path / "other.nc", tmp_path / "whole.nc"
    command = program(
        """
        full, other, whole = (create(path) for path in sys.argv[1:])
        # Completely synced before anything fails.
        whole["v"][0:3] = 7
        whole.sync()
        limit(300_000)
        failed = {"full": 0, "other": 0}
        for t in range(60):
            failed["full"] += fails(full["v"].__setitem__, t, noise[t])
            failed["other"] += fails(other["v"].__setitem__, t, t)
        print(failed["full"] > 0, failed["other"])
        print(*(fails(d.sync) for d in (full, other, whole)))
        print(*(fails(d.close) for d in (whole, other, full)))
        """,
        full,
        other,
        whole,
    )
    plain = call(*command).stdout
    assert plain == b"True 0\nTrue False False\nFalse False True\n"
    for path in (full, other, whole):
        path.unlink()
    assert run_under(*command, **STEADY).stdout == plain
    assert rows(other, "v").tolist() == list(range(60))
    assert rows(whole, "v").tolist() == [7, 7, 7]


def test_what_was_put_is_written_when_there_is_space_again(run_under, tmp_path):
    path = tmp_path / "a.nc"
    command = program(
        """
        d = create(sys.argv[1], "vw")
        limit(500_000)
        failed = [(fails(d["v"].__setitem__, t, noise[t]), fails(d["w"].__setitem__, t, t)) for t in range(20)]
        assert any(v for v, _ in failed) and fails(d.sync)
        limit(resource.RLIM_INFINITY)
        # The one that failed first is written anew while its first version waits.
        first = [v for v, _ in failed].index(True)
        d["v"][first] = 5
        d.close()
        with netCDF4.Dataset(sys.argv[1]) as d:
            assert (d["v"][first] == 5).all()
            for t, (v, w) in enumerate(failed):
                assert v or (d["v"][t] == noise[t]).all(), t
                assert w or (d["w"][t] == t).all(), t
        """,
        path,
    )
    run_under(*command, **STEADY)


def test_a_chunk_that_grows_from_sync_to_sync_is_written_when_there_is_space_again(run_under, tmp_path):
    """HDF5 gives the place of the old chunk away before it fails to write the new one."""
    path = tmp_path / "a.nc"
    command = program(
        """
        d = netCDF4.Dataset(sys.argv[1], "w")
        for name, n in dict(t=None, y=200, x=300).items():
            d.createDimension(name, n)
        for name in "vw":
            d.createVariable(name, "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(8, 100, 150))
        failed = 0
        for t in range(24):
            if t in (5, 13):
                limit(os.path.getsize(sys.argv[1]) + 100_000)
            for _ in range(3):
                # A program that tries the step again.
                puts = [fails(d[name].__setitem__, t, noise[t]) for name in "vw"]
                if not (fails(d.sync) or any(puts)):
                    break
                failed += 1
                limit(resource.RLIM_INFINITY)
            else:
                sys.exit("it never ends")
        d.close()
        assert failed == 2
        with netCDF4.Dataset(sys.argv[1]) as d:
            for name in "vw":
                assert (d[name][:] == noise[:24]).all()
        """,
        path,
    )
    run_under(*command, **STEADY)
    call("h5dump", "-H", path)


def test_a_chunk_that_becomes_shorter_needs_no_space(run_under, tmp_path):
    path = tmp_path / "a.nc"
    command = program(
        """
        with create(sys.argv[1]) as d:
            d["v"][0:6] = noise[:6]
        with netCDF4.Dataset(sys.argv[1], "a") as d:
            limit(os.path.getsize(sys.argv[1]))
            d["v"][1] = 5
            d.sync()
            limit(resource.RLIM_INFINITY)
            # Longer than before, and than the place that is free: more room was promised than is taken.
            for t in (0, 2, 1, 3):
                d["v"][t] = np.round(noise[t], 1)
                d.sync()
        """,
        path,
    )
    run_under(*command, **STEADY)
    assert np.isfinite(rows(path, "v")).all()
    found = path.stat()
    assert found.st_blocks * 512 <= found.st_size + 16_384
