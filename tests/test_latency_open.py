"""How many rounds of requests it takes to open what other libraries write, in a store with latency.

The example ``latency`` opens files through a store in memory that counts what it is asked for, reads their chunk
indexes, and compares everything with what a local file gives. Files are larger than the first request, and most have
their metadata scattered between large arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from commands import execute
from conftest import built_example

ROOT = Path(__file__).resolve().parent.parent
#: Elements (f8) of an array between two objects' metadata; only the last one is written, so files have holes.
APART = 1 << 16


@pytest.fixture(scope="session")
def latency() -> Path:
    """The example that counts requests, built if need be."""
    return built_example("latency")


def measure(program: Path, path: Path) -> dict[str, Any]:
    """The cost of opening a file and reading its indexes; the results are those of a local file."""
    out = execute(program, path).stdout
    found: dict[str, Any] = json.loads(out)
    assert found["same"], path
    return found


def netcdf_c(path: Path, variables: int, attributes: int, apart: bool) -> None:
    """A file of netCDF-C; with ``apart``, every variable is written before the next one is defined."""
    with netCDF4.Dataset(path, "w") as nc:
        nc.set_fill_off()
        nc.createDimension("x", APART)
        nc.createDimension("n", 7)
        names = nc.createVariable("names", str, ("n",))
        names[:] = np.array(["a", "bc", "", "def", "g" * 300, "h", "i"], object)
        for i in range(variables):
            v = nc.createVariable(f"v{i}", "f8", ("x",))
            for a in range(attributes):
                v.setncattr(f"attribute_{a}", f"text {a} of {i}" if a % 2 else np.float64(a))
            v.setncattr_string("words", ["several", "strings", str(i)])
            if apart:
                v[-1] = i
        for i in range(variables):
            nc[f"v{i}"][-1] = i


@pytest.mark.parametrize(("apart", "most"), [(False, 3), (True, 6)])
@pytest.mark.parametrize(("variables", "attributes"), [(100, 2), (200, 10)])
def test_netcdf_c(latency: Path, tmp_path: Path, variables: int, attributes: int, apart: bool, most: int) -> None:
    path = tmp_path / "netcdf_c.nc"
    netcdf_c(path, variables, attributes, apart)
    found = measure(latency, path)
    assert found["vars"] == variables + 1
    assert found["open"]["rounds"] <= most, found["open"]
    assert found["open"]["bytes"] < found["bytes"] / 2, found["open"]


def test_groups(latency: Path, tmp_path: Path) -> None:
    """The number of groups does not count, and their depth little."""
    path = tmp_path / "groups.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.set_fill_off()
        nc.createDimension("x", APART)
        for i in range(30):
            group = nc.createGroup(f"g{i}/below/deep")
            group.title = f"group {i}"
            for j in range(3):
                group.createVariable(f"v{j}", "f8", ("x",))[-1] = j
    found = measure(latency, path)
    assert found["vars"] == 90
    assert found["open"]["rounds"] <= 8, found["open"]


def apart(group: h5py.Group, name: str) -> h5py.Dataset:
    """A dataset that takes its space at once, most of it a hole in the file."""
    d = group.create_dataset(name, (APART,), "f8", fill_time="never")
    d[-1] = 1
    return d


def hdf5(path: Path, libver: str) -> None:
    """A file of h5py with objects of all kinds between large arrays."""
    with h5py.File(path, "w", libver=libver) as f:
        for i in range(100):
            d = apart(f, f"d{i:03}")
            for a in range(12):
                d.attrs[f"attribute_{a}"] = f"text {a}" if a % 2 else a
        for i in range(5):
            g = f.create_group(f"g{i}", track_order=True)
            g.attrs["words"] = ["a", "b", "c"]
            for j in range(20):
                apart(g, f"d{j}")
            g["soft"] = h5py.SoftLink("/d001")


@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
def test_h5py(latency: Path, tmp_path: Path, libver: str) -> None:
    path = tmp_path / "h5py.h5"
    hdf5(path, libver)
    found = measure(latency, path)
    assert found["open"]["rounds"] <= 10, found["open"]
    assert found["open"]["bytes"] < found["bytes"] / 2, found["open"]


#: Kinds of chunk index: version of the format, largest shape, filtered, and the levels of the index for 10,000 chunks.
INDEXES = {
    "B-tree of version 1": ("earliest", (100, 100, 8), True, 3),
    "fixed array": ("latest", (100, 100, 8), False, 3),
    "fixed array, filtered": ("latest", (100, 100, 8), True, 3),
    "extensible array": ("latest", (None, 100, 8), False, 3),
    "extensible array, filtered": ("latest", (None, 100, 8), True, 3),
    "B-tree of version 2": ("latest", (None, None, 8), False, 3),
    "B-tree of version 2, filtered": ("latest", (None, None, 8), True, 3),
}


def chunked(path: Path, kind: str) -> None:
    """A file with one dataset of 10,000 chunks of 2 KiB, its index behind 5 MiB of other data and between chunks."""
    libver, maxshape, filtered, _ = INDEXES[kind]
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("before", data=np.zeros(5 << 17, "f8"))
        compression: dict[str, Any] = {"compression": "gzip", "compression_opts": 1} if filtered else {}
        shape = (100, 100, 256)
        limits = (*maxshape[:2], 256)
        d = f.create_dataset("v", shape, "f8", chunks=(1, 1, 256), maxshape=limits, **compression)
        rng = np.random.default_rng(7)
        for i in range(100):
            d[i] = rng.random((100, 256))


@pytest.mark.parametrize("kind", INDEXES)
def test_indexes_of_ten_thousand_chunks(latency: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "chunked.h5"
    chunked(path, kind)
    found = measure(latency, path)
    index = found["indexes"]["v"]
    assert index["chunks"] == 10_000
    assert 0 < index["asked"]["rounds"] <= INDEXES[kind][3] + 1, index


def files(data: Path) -> Iterator[Path]:
    """Real netCDF-4 files."""
    for path in sorted(data.iterdir()):
        if path.suffix in {".nc", ".cdf"} and path.read_bytes()[:4] == b"\x89HDF":
            yield path


@pytest.mark.parametrize("path", sorted(files(ROOT / "data")), ids=lambda p: p.name)
def test_real_files(latency: Path, path: Path) -> None:
    assert measure(latency, path)["open"]["rounds"] <= 3
