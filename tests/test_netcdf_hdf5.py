"""ncforge under netCDF-C in programs that call HDF5 as well, or in which several copies of netCDF-C call one HDF5."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import h5py
import pytest

from commands import execute
from programs import LINUX, SOURCES, call, compiled

pytestmark = LINUX


@pytest.fixture(scope="session")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that writes to a file by netCDF-C and by HDF5."""
    flags = []
    for command in (["nc-config", "--cflags", "--libs"], ["pkg-config", "--cflags", "--libs", "hdf5"]):
        if shutil.which(command[0]) is None or shutil.which("cc") is None:
            pytest.skip("needs a C compiler, libnetcdf-dev and libhdf5-dev")
        flags += execute(*command).stdout.split()
    binary = tmp_path_factory.mktemp("bin") / "direct"
    execute("cc", "-O1", "-o", binary, SOURCES / "direct.c", *flags)
    return binary


@pytest.mark.parametrize("way", ["sync", "again", "before", "stale", "opened"])
def test_hdf5_writes_to_a_file_that_netcdf_c_has_open(direct, run_under, tmp_path, way):
    path = tmp_path / "a.nc"
    plain = call(direct, way, path)
    with h5py.File(path) as f:
        want = f["v"][:]
    path.unlink()
    ours = run_under(direct, way, path, wish="always")
    assert ours.stdout == plain.stdout
    with h5py.File(path) as f:
        assert (f["v"][:] == want).all()


@pytest.mark.parametrize("way", ["reads", "writes", "synced", "later"])
def test_copies_of_netcdf_c_that_share_an_hdf5(run_under, tmp_path, way):
    path, two = tmp_path / "a.nc", compiled("two", tmp_path)
    maps = call("sh", "-c", f"ldd {compiled('ends', tmp_path)}").stdout.decode()
    [library] = re.findall(r"=> (\S*libnetcdf\S*)", maps)
    copy = shutil.copy(library, tmp_path / "libnetcdf-copy.so")
    plain = call(two, way, path, library, copy)
    with h5py.File(path) as f:
        want = f["v"][:]
    path.unlink()
    ours = run_under(two, way, path, library, copy, wish="always")
    assert ours.stdout == plain.stdout
    assert ours.stderr.count(b"netCDF-C 4") == ours.stderr.count(b" is served\n") == 2
    with h5py.File(path) as f:
        assert (f["v"][:] == want).all()
