"""ncforge under netCDF-C: filters for which netCDF-C itself would need a plug-in."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from commands import execute
from conftest import ROOT
from datasets import created
from programs import LINUX, served

pytestmark = LINUX
# Chunks as hdf5plugin and netCDF-C wrote them (crates/ncforge-codec/tests/codecs).
SAMPLES = ROOT / "crates/ncforge-codec/tests/codecs"
CODECS = {"zstd": "32015:", "bzip2": "307:", "lz4": "32004:", "bitshuffle": "32008:"}


def from_sample(path: Path, line: str) -> np.ndarray:
    """A file with one variable `v`, whose one chunk is a sample, and its values."""
    h5py = pytest.importorskip("h5py")
    name, size, filters, mask, raw = line.split()
    values = np.frombuffer((SAMPLES / raw).read_bytes(), {1: "u1", 2: "<i2", 4: "<f4", 8: "<f8"}[int(size)])
    with h5py.File(path, "w") as f:
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_chunk(values.shape)
        for one in filters.split("+"):
            number, _, parameters = one.partition(":")
            words = tuple(map(int, parameters.split(","))) if parameters else ()
            options.set_filter(int(number), h5py.h5z.FLAG_OPTIONAL, words)
        kind, space = h5py.h5t.py_create(values.dtype), h5py.h5s.create_simple(values.shape)
        v = h5py.h5d.create(f.id, b"v", kind, space, options)
        v.write_direct_chunk((0,), (SAMPLES / f"{name}.chunk").read_bytes(), filter_mask=int(mask))
    return values


def check_without_plug_ins(run_under, path: Path, values: np.ndarray) -> None:
    """NetCDF-C cannot read the variable `v`, and does under ncforge."""
    nowhere = {"HDF5_PLUGIN_PATH": "/nonexistent"}
    assert execute("ncdump", path, code=None, env=nowhere).returncode != 0
    # A file that was written a moment ago is read, too.
    path.touch()
    done = run_under("ncdump", "-p", "9,17", "-v", "v", path, wish="log", **nowhere)
    assert served(done) > 0
    text = done.stdout.decode().split("v =")[1].split(";")[0].replace("\n", " ")
    assert np.array_equal(np.array(text.split(","), dtype=values.dtype), values)


@pytest.mark.parametrize("codec", CODECS)
def test_filters_need_no_plug_in(run_under, tmp_path, codec):
    lines = [line for line in (SAMPLES / "index.txt").read_text().splitlines() if CODECS[codec] in line]
    assert lines
    for line in lines:
        check_without_plug_ins(run_under, tmp_path / "a.nc", from_sample(tmp_path / "a.nc", line))


@pytest.mark.parametrize("codec", ["blosc_lz", "blosc_lz4", "blosc_zlib", "blosc_zstd"])
def test_blosc_needs_no_plug_in(run_under, tmp_path, codec):
    values = (np.arange(40 * 50 * 60) % 977).astype("f4")
    with created(tmp_path / "a.nc", x=values.size) as d:
        d.createVariable("v", "f4", ("x",), chunksizes=(9999,), compression=codec)[:] = values
    check_without_plug_ins(run_under, tmp_path / "a.nc", values)


def test_a_program_with_the_plug_in_keeps_its_own_small_reads(run_under, tmp_path):
    """As of deflated variables: what netCDF-C itself can read is served where that is quicker."""
    with created(tmp_path / "a.nc", x=100) as d:
        d.createVariable("v", "f4", ("x",), compression="zstd")[:] = np.arange(100)
    program = [
        sys.executable,
        "-c",
        "import netCDF4, sys; print(netCDF4.Dataset(sys.argv[1])['v'][:].sum())",
        tmp_path / "a.nc",
    ]
    with_it, without = (run_under(*program, wish="log", **more) for more in ({}, {"HDF5_PLUGIN_PATH": "/nonexistent"}))
    assert with_it.stdout == without.stdout == b"4950.0\n"
    assert (served(with_it), served(without)) == (0, 1)
