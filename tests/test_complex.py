"""Complex numbers, compared with netCDF4-python's."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import created

FORMATS = ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"]
VALUES = (np.arange(12).reshape(4, 3) - 1j * np.arange(12).reshape(4, 3) / 4).astype("c16")
KEYS: list[Any] = [
    np.s_[:],
    np.s_[...],
    np.s_[1],
    np.s_[-1, 2],
    np.s_[1:3, ::2],
    np.s_[:, 1],
    np.s_[[0, 3]],
    np.s_[..., 0],
    np.s_[2:2],
]


@pytest.mark.parametrize("kind", ["c16", "c8"])
@pytest.mark.parametrize("format", FORMATS)
def test_each_reads_what_the_other_wrote(tmp_path: Path, format: str, kind: str) -> None:
    # netCDF4-python tries to define a compound in this format, and fails.
    packages = [ncforge] if format == "NETCDF4_CLASSIC" else [ncforge, netCDF4]
    paths = {package: tmp_path / f"{package.__name__}.nc" for package in packages}
    for package, path in paths.items():
        with package.Dataset(path, "w", format=format, auto_complex=True) as ds:
            ds.createDimension("x", None)
            ds.createDimension("y", 3)
            ds.createVariable("z", kind, ("x", "y"))[:] = VALUES
            # The second one finds what the first one defined.
            ds.createVariable("other", np.dtype(kind), "y")[:] = VALUES[0]
            ds.createVariable("real", "f4", "y")[:] = 1
    for path in paths.values():
        with ncforge.Dataset(path, auto_complex=True) as ours, netCDF4.Dataset(path, auto_complex=True) as theirs:
            v, w = ours["z"], theirs["z"]
            assert (v.dtype, v.shape, v.dimensions, v.ndim, v.size) == (np.dtype(kind), (4, 3), ("x", "y"), 2, 12)
            assert (v.shape, v.dimensions) == (w.shape, w.dimensions)
            assert [d.name for d in v.get_dims()] == ["x", "y"]
            for key in KEYS:
                np.testing.assert_array_equal(v[key], VALUES[key].astype(kind))
                np.testing.assert_array_equal(v.read(key), VALUES[key].astype(kind))
            np.testing.assert_array_equal(v[:], w[:])
            assert ours["real"].dtype == "f4" and ours.auto_complex
            assert "4" in (v._repr_html_() or "") and "z" in (ours._repr_html_() or "")
            assert v.layout.values_bytes == VALUES.astype(kind).nbytes
            out = np.empty((3,), kind)
            assert v.read_into(out, 2) is out
            np.testing.assert_array_equal(out, VALUES[2].astype(kind))
            there = pickle.loads(pickle.dumps(v))
            np.testing.assert_array_equal(there[1], VALUES[1].astype(kind))
            with pytest.raises(ValueError, match="selection"):
                v.read_into(np.empty(2, kind))
        # Without it, pairs are what they are; the same in both files.
        with ncforge.Dataset(path) as ds:
            z = ds["z"]
            part = f"f{np.dtype(kind).itemsize // 2}"
            if format == "NETCDF4":
                assert z.dtype == np.dtype([("r", part), ("i", part)])
                assert [t.name for t in ds.cmptypes.values()] == [
                    f"_PFNC_{'DOUBLE' if part == 'f8' else 'FLOAT'}_COMPLEX_TYPE"
                ]
            else:
                assert (z.dtype, z.dimensions) == (np.dtype(part), ("x", "y", "_pfnc_complex"))
                assert len(ds.dimensions["_pfnc_complex"]) == 2
    assert len({str(ncforge.info(path)).partition("\n")[2] for path in paths.values()}) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_is_written_by_parts(tmp_path: Path, format: str) -> None:
    path = tmp_path / "z.nc"
    with ncforge.Dataset(path, "w", format=format, auto_complex=True) as ds:
        ds.createDimension("x", None)
        ds.createDimension("y", 3)
        chunks: dict[str, Any] = {} if format.startswith("NETCDF3") else {"chunksizes": (2, 3), "zlib": True}
        v = ds.createVariable("z", complex, ("x", "y"), **chunks)
        v[2] = [1, 2j, 3 + 1j]
        v[0:2] = 5
        v[3:5, 1] = np.array([1j, 2j], "c8")
        v[3, ::2] = 0
        v[4, [0, 2]] = [7j, 8]
        scalar = ds.createVariable("s", "c16")
        scalar[...] = 1 - 1j
        if not format.startswith("NETCDF3"):
            assert v.chunking() == [2, 3]
    expected = np.array([[5, 5, 5], [5, 5, 5], [1, 2j, 3 + 1j], [0, 1j, 0], [7j, 2j, 8]])
    with ncforge.Dataset(path, auto_complex=True) as ds, netCDF4.Dataset(path, auto_complex=True) as nc:
        np.testing.assert_array_equal(ds["z"][:], expected)
        np.testing.assert_array_equal(nc["z"][:], expected)
        np.testing.assert_array_equal(np.asarray(ds["z"]), expected)
        assert ds["s"][...] == 1 - 1j and ds["s"].shape == ()


def test_other_names_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.nc"
    pair = np.dtype([("Real", "f4"), ("imaginary", "f4")])
    with created(path, x=3, ri=2, two=2) as nc:
        kind = nc.createCompoundType(pair, "pair")
        nc.createVariable("a", kind, "x")[:] = np.array([(1, 2), (3, 4), (5, 6)], pair)
        nc.createVariable("b", "f8", ("x", "ri"), fill_value=-1)[:] = [[1, 2], [-1, 4], [5, 6]]
        nc.createVariable("c", "f8", ("x", "two"))[:] = 0
        nc.createVariable("d", "i4", ("x", "ri"))[:] = 0
        nc.createVariable("e", nc.createCompoundType(np.dtype([("r", "f4"), ("x", "f4")]), "other"), "x")
    with ncforge.Dataset(path, auto_complex=True) as ds:
        np.testing.assert_array_equal(ds["a"][:], np.array([1 + 2j, 3 + 4j, 5 + 6j], "c8"))
        assert ds["a"].dtype == "c8"
        # A number of which a part is missing is missing.
        b = ds["b"][:]
        assert b.mask.tolist() == [False, True, False] and b.compressed().tolist() == [1 + 2j, 5 + 6j]
        ds["b"].set_auto_mask(False)
        assert ds["b"][:].tolist() == [1 + 2j, -1 + 4j, 5 + 6j]
        assert [ds[name].dtype.kind for name in "cde"] == ["f", "i", "V"]


def test_missing_complex_numbers(tmp_path: Path) -> None:
    values = np.ma.MaskedArray([1 + 1j, 2, 3], [False, True, False])
    for format in ("NETCDF3_CLASSIC", "NETCDF4"):
        with ncforge.Dataset(tmp_path / "z.nc", "w", format=format, auto_complex=True) as ds:
            ds.createDimension("x", 3)
            v = ds.createVariable("z", "c16", "x")
            if format == "NETCDF4":
                with pytest.raises(ValueError, match="fill them"):
                    v[:] = values
                v[:] = values.filled(0)
            else:
                v[:] = values
                assert v[:].mask.tolist() == [False, True, False]
                v.set_always_mask(False)
                assert type(v[2:]) is np.ndarray


@pytest.mark.parametrize("format", FORMATS)
def test_fill_values(tmp_path: Path, format: str) -> None:
    path = tmp_path / "z.nc"
    with ncforge.Dataset(path, "w", format=format, auto_complex=True) as ds:
        ds.createDimension("x", 3)
        ds.createVariable("z", "c16", "x", fill_value=-1)
        ds.createVariable("usual", "c8", "x", fill_value="default")
        if format == "NETCDF4":
            ds.createVariable("both", "c16", "x", fill_value=1 + 2j)
        else:
            with pytest.raises(ValueError, match="same fill value"):
                ds.createVariable("both", "c16", "x", fill_value=1 + 2j)
    with ncforge.Dataset(path, auto_complex=True) as ds:
        if format == "NETCDF4":
            assert ds["both"][:].tolist() == [1 + 2j] * 3
            assert ds["z"][:].tolist() == [-1] * 3
        else:
            assert ds["z"][:].mask.all() and ds["usual"][:].mask.all()
            assert ds["z"].read().tolist() == [-1 - 1j] * 3


def test_is_not_done_unasked(tmp_path: Path) -> None:
    with created(tmp_path / "z.nc", ncforge, x=3) as ds:
        assert not ds.auto_complex
        with pytest.raises(ValueError, match="auto_complex=True"):
            ds.createVariable("z", "c16", "x")
    with ncforge.Dataset(tmp_path / "z.nc", "w", auto_complex=True) as ds, pytest.raises(ValueError, match="no type"):
        ds.createVariable("z", "c32", ())
