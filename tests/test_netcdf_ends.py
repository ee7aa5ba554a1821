"""ncforge under netCDF-C in programs that are killed, or do not close their files: what they synced is there, and what netCDF-C saves."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from programs import call, compiled

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the library is for Linux")


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
