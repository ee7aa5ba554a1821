"""2-byte floats of HDF5 files, which netCDF has not: read as float, copied as float, never changed in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import ncforge as run

RANDOM = np.random.default_rng(16)
#: Every bit pattern.
ALL = np.arange(1 << 16, dtype="u2").view("f2")


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("half") / "half.h5"
    field = RANDOM.normal(size=(7, 50, 60)).astype("f2")
    with h5py.File(path, "w") as f:
        f["all"] = ALL
        f["big"] = ALL.astype(">f2")
        f["scalar"] = np.float16(1.5)
        f["long"] = RANDOM.normal(size=300_007).astype("f2")
        f["rows"] = RANDOM.normal(size=(3, 500, 700)).astype("f2")
        f["none"] = np.zeros((0, 3), "f2")
        f.create_dataset("never", (4, 5), "f2")
        f.create_dataset("filled", (4, 5), "f2", fillvalue=2.5)
        f.create_dataset("chunked", data=field, chunks=(2, 20, 35))
        f.create_dataset("deflated", data=field, chunks=(2, 20, 35), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("lzf", data=field.astype(">f2"), chunks=(7, 50, 60), compression="lzf", shuffle=True)
        partly = f.create_dataset("partly", (9, 10), "f2", chunks=(3, 4), fillvalue=-1, maxshape=(None, 10))
        partly[3:5, 2:] = 3
        f["all"].attrs["half"] = np.float16(0.1)
        f["all"].attrs["halves"] = ALL[:100]
        f["ints"] = np.arange(5)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((5,))
        h5py.h5d.create(f.id, b"compact", h5py.h5t.py_create(np.dtype("f2")), space, compact).write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, dtype="f2")
        )
    return path


def names(path: Path) -> list[str]:
    with h5py.File(path) as f:
        return [n for n in f if isinstance(f[n], h5py.Dataset) and f[n].dtype.kind == "f"]


def check(ours: Any, theirs: np.ndarray, where: str) -> None:
    assert np.asarray(ours).dtype == np.dtype("f4"), where
    np.testing.assert_array_equal(ours, theirs.astype("f4"), err_msg=where)


def test_values_are_those_of_h5py(halves: Path) -> None:
    with h5py.File(halves) as f, ncforge.Dataset(halves) as ds:
        ds.set_auto_maskandscale(False)
        assert len(names(halves)) == 13
        for name in names(halves):
            d = f[name]
            check(ds[name][...], d[()], name)
            for _ in range(20):
                key = tuple(
                    slice(int(a), int(a) + int(RANDOM.integers(0, n + 1)), int(RANDOM.integers(1, 4)))
                    for n in d.shape
                    for a in [RANDOM.integers(0, max(n, 1))]
                )
                check(ds[name][key if key else ...], d[key], f"{name}{key}")
        attrs = f["all"].attrs
        assert ds["all"].half == attrs["half"].astype("f4")
        check(ds["all"].halves, attrs["halves"], "halves")


def test_info_tells_it(halves: Path) -> None:
    said = run("info", halves)
    assert "`/deflated` holds 2-byte floats" in said.stdout + said.stderr


@pytest.mark.parametrize("how", [[], ["--codec", "deflate", "--level", "2"], ["--format", "classic"]], ids=str)
def test_copies_hold_floats(halves: Path, tmp_path: Path, how: list[str]) -> None:
    out = tmp_path / "out.nc"
    # A dimension of no length is nothing for classic files.
    vars_ = ",".join(n for n in names(halves) if n != "none")
    run("copy", "-q", "--vars", vars_, *how, halves, out)
    # h5py knows filters that the wheel of netCDF4 has not.
    opener: Any = netCDF4.Dataset if "classic" in how else h5py.File
    with h5py.File(halves) as f, opener(out) as copied:
        for name in vars_.split(","):
            check(np.ma.getdata(copied[name][...]), f[name][()], name)


def test_files_with_them_are_not_changed(halves: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(halves.read_bytes())
    with pytest.raises((OSError, RuntimeError, ValueError), match="2-byte floats"):
        ncforge.Dataset(path, "a")
    assert path.read_bytes() == halves.read_bytes()


def test_attributes_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=True) as f:
        f["x"] = np.arange(3.0)
        f["x"].attrs["half"] = np.arange(3, dtype=">f2")
        f.attrs["half"] = np.float16(0.1)
    with ncforge.Dataset(path, "a") as ds:
        assert ds["x"].half.dtype == np.dtype("f4")
        ds["x"].units = "m"
        ds.title = "longer"
    with h5py.File(path) as f:
        assert f["x"].attrs["half"].dtype == np.dtype(">f2")
        assert f.attrs["half"] == np.float16(0.1)
        assert f.attrs["half"].dtype == np.dtype("f2")


def bits(of: Any, precision: int, offset: int = 0) -> Any:
    """A type of integers of fewer bits."""
    kind = of.copy()
    kind.set_size(max(kind.get_size(), (precision + offset + 7) // 8))
    kind.set_precision(precision)
    kind.set_offset(offset)
    return kind


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Integers of fewer bits than their bytes, in both orders, with and without the n-bit filter."""
    path = tmp_path_factory.mktemp("bits") / "bits.h5"
    t = h5py.h5t
    kinds = {
        "u12": bits(t.STD_U16LE, 12),
        "i12at2": bits(t.STD_I16BE, 12, 2),
        "u5at3": bits(t.STD_U8LE, 5, 3),
        "i24": bits(t.STD_I32LE, 24),
        "i17at3": bits(t.STD_I32BE, 17, 3),
        "i40at8": bits(t.STD_I64LE, 40, 8),
        "u63": bits(t.STD_U64BE, 63),
    }
    with h5py.File(path, "w") as f:
        space = h5py.h5s.create_simple((301, 7))
        for name, kind in kinds.items():
            precision, signed = kind.get_precision(), kind.get_sign() == t.SGN_2
            low, high = (-(2 ** (precision - 1)), 2 ** (precision - 1)) if signed else (0, 2**precision)
            memory = f"{'i' if signed else 'u'}8"
            values = RANDOM.integers(low, high, (301, 7), dtype=memory)
            values.flat[:2] = low, high - 1
            for filters in ("", "_nbit", "_deflate"):
                create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                if filters:
                    create.set_chunk((50, 7))
                    create.set_filter(h5py.h5z.FILTER_NBIT) if filters == "_nbit" else create.set_deflate(3)
                d = h5py.h5d.create(f.id, (name + filters).encode(), kind, space, create)
                d.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        attr = h5py.h5a.create(f.id, b"a", kinds["i12at2"], h5py.h5s.create_simple((2,)))
        attr.write(np.array([-5, 2047], "i2"), mtype=t.NATIVE_INT16)
    return path


def test_integers_of_fewer_bits(counts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    run("copy", "-q", "--verify", counts, out)
    classic = tmp_path / "classic.nc"
    run("copy", "-q", "-3", "--vars", "u12,u5at3,i12at2_nbit,i24_nbit", counts, classic)
    with h5py.File(counts) as f, ncforge.Dataset(counts) as ds, netCDF4.Dataset(out) as copied:
        names = [name for name in f if isinstance(f[name], h5py.Dataset)]
        assert len(names) == 21
        for name in names:
            wanted = f[name][()]
            for of in (ds, copied):
                of.set_auto_maskandscale(False)
                assert of[name].dtype.newbyteorder("=") == wanted.dtype.newbyteorder("="), name
                np.testing.assert_array_equal(of[name][...], wanted, err_msg=name)
            np.testing.assert_array_equal(ds[name][17:301:3, 2:5], wanted[17:301:3, 2:5], err_msg=name)
        assert ds.a.tolist() == [-5, 2047]
        with netCDF4.Dataset(classic) as small:
            small.set_auto_maskandscale(False)
            for name in small.variables:
                np.testing.assert_array_equal(small[name][...], f[name][()], err_msg=name)


def test_files_with_integers_of_fewer_bits_are_not_changed(counts: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(counts.read_bytes())
    with pytest.raises((OSError, RuntimeError, ValueError), match="bits"):
        ncforge.Dataset(path, "a")
    assert path.read_bytes() == counts.read_bytes()
