"""ncforge under netCDF-C in programs that are killed, or do not close their files: what they synced is there, and what netCDF-C saves."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from commands import execute
from programs import LINUX, call, compiled

pytestmark = LINUX


@pytest.fixture(scope="session")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that does not come to its end."""
    return compiled("ends", tmp_path_factory.mktemp("bin"))


def writings(path: Path, name: str) -> set[int]:
    """Which writing of a variable the values are of; they all can be read."""
    with netCDF4.Dataset(path) as d:
        return set(np.unique(np.ma.filled(d[name][:], 0) // 1000000).tolist())


ENDS = {
    "read": -signal.SIGKILL,
    "strided": -signal.SIGKILL,
    "again": -signal.SIGKILL,
    "append": -signal.SIGKILL,
    "leave": 3,
}


@pytest.mark.parametrize("way", ENDS)
def test_what_was_synced_and_written_again_survives(ends, run_under, tmp_path, way):
    path = tmp_path / "a.nc"
    call(ends, path, way, code=ENDS[way])
    assert writings(path, "A") == {1}
    # The command becomes the program.
    done = run_under(ends, path, way, wish="log", code=ENDS[way])
    assert b"netCDF-C" in done.stderr
    assert writings(path, "A") == {1}


@pytest.mark.parametrize("who", ["plain", "ours"])
def test_what_is_written_at_the_exit_is_stored(ends, run_under, tmp_path, who):
    first, second = tmp_path / "a.nc", tmp_path / "b.nc"
    run = call if who == "plain" else run_under
    done = run(ends, first, "late", second, wish="log")
    assert (writings(first, "A"), writings(first, "B"), writings(second, "A")) == ({3}, {1}, {4})
    if who == "ours":
        assert b"3 writes served, 1 left to netCDF-C (the program ends: 1)" in done.stderr


@pytest.mark.parametrize(("way", "code"), [("close", 3), ("jump", 5)])
def test_a_signal_within_a_call_ends_no_program_in_silence(ends, run_under, tmp_path, way, code):
    # NetCDF-C seldom survives it. Nothing waits for ever, and no close says that all is written: 5 is its error.
    run_under(ends, tmp_path / "a.nc", way, code=code)


@pytest.fixture(scope="session")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose threads use netCDF-C."""
    return compiled("threads", tmp_path_factory.mktemp("bin"))


def test_a_program_ends_with_its_last_own_thread(threads, ncforge_bin, library, tmp_path):
    path = tmp_path / "a.nc"
    command = [ncforge_bin, "run", threads]
    for way, what in (("write", b": 1 writes served"), ("read", b": 1 reads served")):
        env = {"NCFORGE_NETCDF": "always", "NCFORGE_THREADS": "3"}
        done = execute(*command, way, path, text=False, env=env, timeout=20)
        assert what in done.stderr, done
        with netCDF4.Dataset(path) as d:
            want = np.asarray(d["v"][:], "i8")
        assert np.array_equal(want.ravel(), np.arange(want.size) % 1000)
    assert int(done.stdout) == want.sum()


def test_hdf5_prints_for_the_threads_for_which_it_did(threads, run_under, tmp_path):
    plain = call(threads, "messages", tmp_path / "a.nc")
    ours = run_under(threads, "messages", tmp_path / "a.nc")
    assert ours.stderr.count(b"HDF5-DIAG") == plain.stderr.count(b"HDF5-DIAG") > 0


def test_the_thread_that_opens_the_first_file_gets_no_messages(packaged, tmp_path):
    call(sys.executable, "-c", CREATE, tmp_path / "a.nc")
    plain, ours = (call(sys.executable, "-c", OPEN, tmp_path / "a.nc", who, wish="log") for who in ("plain", "ours"))
    assert ours.stderr.count(b"HDF5-DIAG") == plain.stderr.count(b"HDF5-DIAG")
    assert b" is served" in ours.stderr


CREATE = """
import netCDF4, sys
with netCDF4.Dataset(sys.argv[1], "w") as d:
    d.createDimension("x", 4000)
    d.createVariable("v", "i4", ("x",), zlib=True)[:] = 1
"""
# In the first thread and in the one that accelerates.
OPEN = """
import netCDF4, sys, threading
if sys.argv[2] == "ours":
    import ncforge
    ncforge.accelerate()
def look():
    with netCDF4.Dataset(sys.argv[1]) as d:
        d["v"].quantization(), d["v"].filters()
thread = threading.Thread(target=look)
thread.start()
thread.join()
look()
"""
