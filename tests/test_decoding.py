"""Files of a series that pack a variable differently: refused, and unpacked on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import Run
from datasets import created

#: Files: fewer than those whose headers are compared byte by byte, and more.
MANY = 40


def packed(
    folder: Path, files: int, fmt: Any = "NETCDF4", *, types: bool = False
) -> tuple[list[Path], dict[str, np.ma.MaskedArray[Any, Any]]]:
    """Files with variables that are packed alike and differently, and the values that netCDF4 reads of all of them."""
    rng = np.random.default_rng(files)
    paths = [folder / f"day_{i:02}.nc" for i in range(files)]
    chunks: dict[str, Any] = {"chunksizes": (3, 7), "zlib": True} if fmt.startswith("NETCDF4") else {}
    found: dict[str, list[Any]] = {}
    for i, path in enumerate(paths):
        with netCDF4.Dataset(path, "w", format=fmt) as ds:
            ds.createDimension("time", None)
            ds.createDimension("x", 7)
            time = ds.createVariable("time", "i2", ("time",))
            time.setncatts({"units": "hours since 2000-01-01", "scale_factor": 0.5 * (1 + i % 2)})
            time[:] = np.arange(3) + 3 * i

            def add(name: str, kind: str, fill: Any, **attrs: Any) -> None:
                v = ds.createVariable(name, kind, ("time", "x"), fill_value=fill, **chunks)
                v.setncatts(attrs)
                v.set_auto_maskandscale(False)
                if kind == "f4":
                    v[:] = np.where(rng.random((3, 7)) < 0.2, fill, rng.normal(size=(3, 7)))
                else:
                    info = np.iinfo(kind)
                    v[:] = np.where(
                        rng.random((3, 7)) < 0.2, fill, rng.integers(info.min, info.max, (3, 7), endpoint=True)
                    )

            add("double", "i2", -32768 + i % 3, scale_factor=0.01 * (i + 1), add_offset=270.0 + i)
            add("single", "i2", -1, scale_factor=np.float32(0.1 + i), add_offset=np.float32(i))
            add("unsigned", "i1", -1, _Unsigned="true", scale_factor=np.float32(i + 1))
            add("limited", "i2", -1, scale_factor=0.1 * (i + 1), valid_range=np.array([-30000, 30000 - i], "i2"))
            add("types", "i2" if i % 2 and types else "i4", 5 + i % 2, scale_factor=np.float32(0.5))
            add("alike", "i2", -1, scale_factor=0.25, add_offset=1.0)
            add("missing", "f4", np.float32(-999 if i % 2 else 1e20))
            add("counts", "i4", -1 - i % 2)
        with netCDF4.Dataset(path) as ds:
            for name, v in ds.variables.items():
                found.setdefault(name, []).append(np.ma.asarray(v[:]))
    return paths, {name: np.ma.concatenate(parts) for name, parts in found.items()}


def check(ds: Any, expected: dict[str, np.ma.MaskedArray[Any, Any]]) -> None:
    """All values are those of netCDF4, to the bit, and so are their types but for those of files that differ."""
    for name, values in expected.items():
        got = np.ma.asarray(ds[name][:])
        assert np.array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(values)), name
        assert np.array_equal(got.compressed(), values.compressed()), name
    kinds = {name: ds[name].dtype for name in expected}
    assert (kinds.pop("alike"), kinds.pop("counts")) == (np.int16, np.int32)
    assert kinds == {
        **dict.fromkeys(("single", "unsigned", "missing"), np.dtype("f4")),
        **dict.fromkeys(("time", "double", "limited", "types"), np.dtype("f8")),
    }
    assert set(ds["double"].ncattrs()) == {"_FillValue"} and "units" in ds["time"].ncattrs()


@pytest.mark.parametrize("files", [3, MANY])
@pytest.mark.parametrize("fmt", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_variables_that_are_packed_differently_are_unpacked(tmp_path: Path, run: Run, fmt: Any, files: int) -> None:
    paths, expected = packed(tmp_path, files, fmt, types=True)
    out = tmp_path / "all.nc"
    noted = run("concat", *reversed(paths), "-o", out, "--decode", "--verify", "--chunks", "keep").stderr
    assert "`double` has not the same scale_factor" in noted and "`alike`" not in noted
    with netCDF4.Dataset(out) as ds:
        check(ds, expected)
    with ncforge.open_many(paths, decode=True) as ds:
        check(ds, expected)
        part = np.ma.asarray(ds["double"][2:7, ::3])
        assert np.array_equal(part.filled(0), expected["double"][2:7, ::3].filled(0))
    ncforge.concat(paths, tmp_path / "chosen.nc", decode=True, vars=["alike", "double"], select={"time": slice(1, 5)})
    with netCDF4.Dataset(tmp_path / "chosen.nc") as ds:
        assert np.array_equal(ds["double"][:].filled(0), expected["double"][1:5].filled(0))


def test_errors_say_how_to_unpack(tmp_path: Path, run: Run) -> None:
    paths, _ = packed(tmp_path, 2)
    refused = run("concat", *paths, "-o", tmp_path / "all.nc", code=4).stderr
    assert "scale_factor" in refused and "--decode" in refused and not (tmp_path / "all.nc").exists()
    assert "concat --decode" in run("ncrcat", *paths, tmp_path / "all.nc", code=4).stderr
    with pytest.raises(ValueError, match="decode=True"):
        ncforge.concat(paths, tmp_path / "all.nc")
    with pytest.raises(ValueError, match="decode=True"):
        ncforge.open_many(paths)


def test_a_packed_variable_is_unpacked_in_every_format(tmp_path: Path, run: Run) -> None:
    """Also where one file is packed and another one is not."""
    made: dict[Any, Any] = {"NETCDF3_64BIT_DATA": (-1, "u2"), "NETCDF4_CLASSIC": (-1.0, "f8")}
    for fmt, (fill, kind) in made.items():
        for i, (own, scale) in enumerate(((kind, None), ("i2", 0.5))):
            with netCDF4.Dataset(tmp_path / f"{i}.nc", "w", format=fmt) as ds:
                ds.createDimension("t", None)
                v = ds.createVariable("v", own, ("t",), fill_value=None if own == "u2" else fill)
                v[:] = [0, 1, 2]
                if scale is not None:
                    v.scale_factor = scale
        run("concat", tmp_path / "0.nc", tmp_path / "1.nc", "-o", tmp_path / "both.nc", "-O", "--decode")
        with netCDF4.Dataset(tmp_path / "both.nc") as ds:
            assert ds["v"].dtype == np.float64 and ds["v"][:].tolist() == [0, 1, 2, 0, 0.5, 1]


def test_a_number_that_would_be_missing_is_an_error(tmp_path: Path, run: Run) -> None:
    """The files have other missing values, and one has a number that is the fill value of its type."""
    for i in range(2):
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "w") as ds:
            ds.createDimension("t", None)
            ds.createVariable("v", "i4", ("t",), fill_value=-1 - i)[:] = [netCDF4.default_fillvals["i4"]]
    refused = run("concat", tmp_path / "0.nc", tmp_path / "1.nc", "-o", tmp_path / "both.nc", "--decode", code=1).stderr
    assert (
        "unpacking 1 of 1 numbers that mean a missing one of type int" in refused
        and not (tmp_path / "both.nc").exists()
    )


def test_filters_are_those_of_the_new_type(tmp_path: Path, run: Run) -> None:
    """Filters that sort bytes, or bits, have the size of the elements among their parameters."""
    for i in range(2):
        with created(tmp_path / f"{i}.nc", t=None, x=50) as ds:
            for shuffle, name in enumerate(("plain", "bytes", "bits")):
                how: dict[str, Any] = {"compression": "blosc_zstd", "blosc_shuffle": shuffle, "chunksizes": (4, 50)}
                v = ds.createVariable(name, "i2", ("t", "x"), **how)
                v[:] = np.arange(200).reshape(4, 50) // 9
                v.scale_factor = 0.1 * (i + 1)
    run("concat", tmp_path / "0.nc", tmp_path / "1.nc", "-o", tmp_path / "both.nc", "--decode", "--verify")
    with h5py.File(tmp_path / "both.nc") as file, netCDF4.Dataset(tmp_path / "both.nc") as ds:
        for name in ("plain", "bytes", "bits"):
            ((_, _, values, _),) = [file[name].id.get_create_plist().get_filter(0)]
            assert values[2:4] == (8, 1600), name
            for i in range(2):
                with netCDF4.Dataset(tmp_path / f"{i}.nc") as one:
                    assert np.array_equal(ds[name][4 * i : 4 * i + 4], one[name][:])


def test_what_cannot_be_unpacked_is_named(tmp_path: Path, run: Run) -> None:
    for i in range(2):
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "w") as ds:
            ds.createDimension("t", None)
            v = ds.createVariable("v", "i2", ("t",))
            v[:] = [1]
            v.scale_factor = "0.1" if i else 0.1
    refused = run("concat", tmp_path / "0.nc", tmp_path / "1.nc", "-o", tmp_path / "both.nc", "--decode", code=1).stderr
    assert "1.nc: v" in refused and "scale_factor" in refused


def test_variables_in_files_of_their_own_are_unpacked(tmp_path: Path, run: Run) -> None:
    """`series` joins files in the same way, and so adds to what it has made."""
    paths, expected = packed(tmp_path, 4)
    run("series", *paths[:3], "-o", tmp_path / "made", "--decode")
    (made,) = (tmp_path / "made").glob("*.double.*")
    with netCDF4.Dataset(made) as ds:
        assert np.array_equal(ds["double"][:].filled(0), expected["double"][:9].filled(0))
    run("series", *paths, "-o", tmp_path / "made", "--decode", "--append")
    (made,) = (tmp_path / "made").glob("*.double.*")
    with netCDF4.Dataset(made) as ds:
        assert np.array_equal(ds["double"][:].filled(0), expected["double"].filled(0))
