"""Where data begin in new files, as h5py sees it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge


@pytest.fixture(autouse=True)
def anywhere_again() -> Iterator[None]:
    yield
    ncforge.set_alignment(1, 1)


def made(path: Path, **options: object) -> bytes | None:
    rng = np.random.default_rng(1)
    with ncforge.Dataset(path, "w", **options) as ds:  # type: ignore[arg-type]
        ds.createDimension("t", None)
        ds.createDimension("x", 4096)
        for i in range(4):
            ds.createVariable(f"run{i}", "f8", "x")[:] = rng.normal(size=4096)
            ds.createVariable(f"small{i}", "i1", "x")[:] = i
            chunks = ds.createVariable(f"chunks{i}", "f4", ("t", "x"), zlib=i > 1, chunksizes=(3, 1024))
            chunks[:] = rng.normal(size=(7, 4096))
        data = ds.close()
    return None if data is None else bytes(data)


def offsets(file: h5py.File) -> dict[str, list[tuple[int, int]]]:
    """Places and sizes of what each variable has in the file."""
    found = {}
    for name, d in file.items():
        if name in ("x", "t"):
            continue
        if d.chunks is None:
            found[name] = [(d.id.get_offset(), d.id.get_storage_size())]
        else:
            chunks = [d.id.get_chunk_info(i) for i in range(d.id.get_num_chunks())]
            found[name] = [(c.byte_offset, c.size) for c in chunks]
    return found


@pytest.mark.parametrize(("threshold", "multiple"), [(1, 4096), (8192, 65536), (0, 1000)])
def test_data_begin_where_they_shall(tmp_path: Path, threshold: int, multiple: int) -> None:
    plain, aligned = tmp_path / "plain.nc", tmp_path / "aligned.nc"
    made(plain)
    ncforge.set_alignment(threshold, multiple)
    assert ncforge.get_alignment() == (threshold, multiple)
    made(aligned)
    with h5py.File(aligned) as file, h5py.File(plain) as other:
        places = offsets(file)
        large = [at for of in places.values() for at, size in of if size >= threshold]
        small = [at for of in places.values() for at, size in of if size < threshold]
        assert len(large) >= 40 and not any(at % multiple for at in large)
        assert not small or any(at % multiple for at in small)
        # They do not touch one another.
        runs = sorted(run for of in places.values() for run in of)
        assert all(a + n <= b for (a, n), (b, _) in pairwise(runs))
        assert any(at % multiple for of in offsets(other).values() for at, _ in of)
    with netCDF4.Dataset(aligned) as a, netCDF4.Dataset(plain) as b:
        for name in b.variables:
            np.testing.assert_array_equal(a[name][:], b[name][:])
    assert ncforge.compare(aligned, plain).same


def test_in_memory_and_afterwards(tmp_path: Path) -> None:
    ncforge.set_alignment(1, 2048)
    data = made(tmp_path / "m.nc", memory=1)
    assert data is not None
    with h5py.File(io.BytesIO(data)) as file:
        assert not any(at % 2048 for of in offsets(file).values() for at, _ in of)
    # Later objects go anywhere; formats without the choice are as they were.
    (tmp_path / "later.nc").write_bytes(data)
    with ncforge.Dataset(tmp_path / "later.nc", "r+") as ds:
        ds["chunks3"][7:30] = np.random.default_rng(2).normal(size=(23, 4096))
    with h5py.File(tmp_path / "later.nc") as file:
        assert any(at % 2048 for at, _ in offsets(file)["chunks3"])
    classic = []
    for alignment in ((1, 2048), (1, 1)):
        ncforge.set_alignment(*alignment)
        with ncforge.Dataset(tmp_path / "c.nc", "w", format="NETCDF3_CLASSIC") as ds:
            ds.createDimension("x", 3)
            ds.createVariable("v", "i4", "x")[:] = 1
        classic.append((tmp_path / "c.nc").read_bytes())
    assert classic[0] == classic[1]


@pytest.mark.parametrize("wrong", [(-1, 8), (1, 0), (1, 2**41), (2**63, 8)])
def test_what_is_out_of_range(wrong: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="alignment"):
        ncforge.set_alignment(*wrong)
    with pytest.raises(TypeError):
        ncforge.set_alignment(1.5, 8)  # type: ignore[arg-type]
    assert ncforge.get_alignment() == (1, 1)
