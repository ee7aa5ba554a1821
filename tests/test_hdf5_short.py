"""Datasets of HDF5 without a fill value that are shorter than their unlimited dimension: h5py makes them, where one variable has
grown further than another. Inside, what was never written is zeros; beyond the end, netCDF reads the type's default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
from commands import ncforge as run


@pytest.fixture
def short(tmp_path: Path) -> Path:
    return _made(tmp_path / "short.nc", with_half=True)


def _made(path: Path, with_half: bool) -> Path:
    kinds: dict[str, Any] = {
        "f4": "f4",
        "big": ">f8",
        "i2": "i2",
        "enum": h5py.enum_dtype({"no": 0, "yes": 1}, basetype="i4"),
    }
    if with_half:
        kinds["half"] = "f2"
    with h5py.File(path, "w") as f:
        t = f.create_dataset("t", (9,), "f4", chunks=(2,), maxshape=(None,))
        t.make_scale("t")
        t[:] = range(9)
        for name, kind in kinds.items():
            for length in (4, 5):
                v = f.create_dataset(f"{name}{length}", (length,), kind, chunks=(2,), maxshape=(None,))
                v.dims[0].attach_scale(t)
                v[2] = 1
            f.create_dataset(f"{name}0", (5,), kind, chunks=(2,), maxshape=(None,)).dims[0].attach_scale(t)
    return path


def _values(path: Path, library: Any) -> dict[str, list[Any]]:
    with library.Dataset(path) as ds:
        ds.set_auto_mask(False)
        return {name: np.asarray(v[:]).tolist() for name, v in ds.variables.items() if not name.startswith("half")}


def test_zeros_inside_and_the_default_beyond(short: Path, tmp_path: Path) -> None:
    """Chunks that were never written read as the default, inside as well."""
    want = _values(short, netCDF4)
    assert want["f44"][:4] == [0, 0, 1, 0] and want["f44"][4] == want["f44"][8] == np.float32(
        netCDF4.default_fillvals["f4"]
    )
    assert want["enum5"][5:] == [netCDF4.default_fillvals["i4"]] * 4
    assert _values(short, ncforge) == want
    with ncforge.Dataset(short) as ds:
        assert ds["half5"][:].filled(-1).tolist() == [0, 0, 1, 0, 0, -1, -1, -1, -1]
    for words in (
        (),
        ("--chunks", "t/4"),
        ("--chunks", "t/3", "--codec", "deflate"),
        ("--format", "cdf5", "--vars", "f44,f40,i25"),
    ):
        out = tmp_path / "out.nc"
        run("copy", short, out, *words, "--verify", "-O")
        got = _values(out, netCDF4)
        assert got == {name: want[name] for name in got}, words
        if not words:
            run("compare", short, out)


def test_they_read_alike_in_a_file_that_is_changed(tmp_path: Path) -> None:
    path = _made(tmp_path / "short.nc", with_half=False)
    want = _values(path, netCDF4)
    with ncforge.Dataset(path, "a") as ds:
        ds.set_auto_mask(False)
        assert {name: np.asarray(v[:]).tolist() for name, v in ds.variables.items()} == want
        ds.title = "changed"
    assert _values(path, netCDF4) == want
    with h5py.File(path) as f:
        assert f["f45"].shape == (5,) and f["f45"][:].tolist() == [0, 0, 1, 0, 0] and f.attrs["title"] == b"changed"


def test_references_of_them(short: Path, tmp_path: Path) -> None:
    run("refs", short, "-o", tmp_path / "r.json")
    want = _values(short, netCDF4)
    ds = xr.open_dataset(
        "reference://",
        engine="zarr",
        backend_kwargs={"consolidated": False, "storage_options": {"fo": str(tmp_path / "r.json")}},
        mask_and_scale=False,
    )
    for name in ("f44", "f45", "f40", "i24", "i25", "i20", "big5"):
        assert ds[name].values.tolist() == want[name], name


def test_strings_stay_as_long_as_they_are(tmp_path: Path, tool: Any) -> None:
    """HDF5 reads strings of netCDF-C, whose fill value lies in the heap, only where all chunks are there: a step without any is not added."""
    path = tmp_path / "strings.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("t", None)
        nc.createDimension("x", 2)
        nc.createVariable("v", "i1", ("t",))[0] = 1
        nc.createVariable("s", str, ("t", "x"))[0, :] = np.array(["a", "b"], object)
    with ncforge.Dataset(path, "a") as ds:
        ds["v"][2] = 3
    with h5py.File(path) as f:
        assert f["s"][...].tolist() == [[b"a", b"b"]]
    for library in (netCDF4, ncforge):
        assert _values(path, library)["s"] == [["a", "b"], ["", ""], ["", ""]]
    assert '"a", "b"' in tool("ncdump", "-v", "s", path)
    with ncforge.Dataset(path, "a") as ds:
        ds["s"][1:] = np.array([["c", "d"], ["e", "f"]], object)
    with h5py.File(path) as f:
        assert f["s"][...].tolist() == [[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]]
