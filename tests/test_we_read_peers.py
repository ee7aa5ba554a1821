"""Files of other tools are read as netCDF4-python reads them: whole files, and hyperslabs of them."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np
import pytest

import ncforge
from conftest import DATA
from peers import assert_equal, assert_same, open_netcdf4

# netCDF4-python warns of types that it leaves out.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

REAL = sorted(
    [
        *DATA.glob("*.nc"),
        *DATA.glob("*.cdf"),
        *map(Path, glob.glob("/usr/share/ncarg/data/nug/*.nc")),
        *map(Path, glob.glob("/usr/share/ncarg/data/cdf/*[!l].nc")),
        *map(Path, glob.glob("/usr/share/gmt-gshhg/*.nc")),
        *map(Path, glob.glob("/usr/share/ferret-vis/data/*")),
    ]
)
#: Variables whose type netCDF4-python leaves out or takes for another.
LEFT_OUT = {"opaque", "text_in_compound", "half"}
#: Of one file: netCDF-C gives wrong values, or none at all, for variables that are shorter than an unlimited
#: dimension that is not their slowest one; h5py reads them as ncforge does (``test_read_hdf5.py``).
SHORTER = {"late", "a"}


@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_files(path: Path) -> None:
    try:
        open_netcdf4(path).close()
    except OSError:
        with pytest.raises(OSError, match=path.name):
            ncforge.Dataset(path)
        return
    assert_same(path)


def test_random_hyperslabs_of_real_files() -> None:
    random = np.random.default_rng(20)
    for path in REAL[:40]:
        try:
            nc = open_netcdf4(path)
        except OSError:
            continue
        with nc, ncforge.Dataset(path) as ds:
            ds.set_auto_maskandscale(False)
            for name, var in nc.variables.items():
                if var.ndim == 0 or 0 in var.shape:
                    continue
                for _ in range(3):
                    key = []
                    for n in var.shape:
                        low, high = sorted(int(i) for i in random.integers(0, n + 1, 2))
                        step = int(random.integers(1, 5))
                        choices = [slice(low, high, step), slice(None, None, -step), low if low < n else -1]
                        key.append(choices[int(random.integers(0, 3))])
                    ours = ds.variables[name][tuple(key)]
                    # NumPy slices: netCDF-C's own strides are not what is tested here.
                    assert_equal(ours, var[...][tuple(key)], f"{path.name}: {name}[{key}]")


def test_netcdf4_python_and_hdf5_cases(hdf5_cases: Path) -> None:
    count = 0
    for path in sorted(hdf5_cases.glob("nc*.nc")):
        count += assert_same(path, LEFT_OUT | (SHORTER if path.name == "nc_unlimited.nc" else set()))
    assert count > 50


def test_h5netcdf(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5netcdf.File(path, "w") as f:
        f.dimensions = {"x": 6, "t": None}
        f.resize_dimension("t", 4)
        f.attrs["title"] = "h5netcdf"
        for dtype in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]:
            v = f.create_variable(f"v_{dtype}", ("t", "x"), dtype, compression="gzip", shuffle=True)
            v[...] = np.arange(24).reshape(4, 6)
        f.create_group("g").create_variable("s", ("x",), "f4", data=np.arange(6.0))
    assert assert_same(path) == 11


@pytest.mark.parametrize("flag", ["-3", "-6", "-5", "-4", "-7"])
def test_nco(tmp_path: Path, flag: str, tool: Callable[..., str]) -> None:
    out = tmp_path / "a.nc"
    tool("ncks", "-O", flag, DATA / "sst30e_netcdf.nc", out)
    assert_same(out)
    if flag in ("-4", "-7"):
        tool("ncks", "-O", flag, "-L", "3", "--cnk_dmn", "time,5", "--cnk_dmn", "latitude,10", out, tmp_path / "b.nc")
        assert_same(tmp_path / "b.nc")


def test_netcdf4_python_filters(tmp_path: Path) -> None:
    expected = (np.arange(4000) * 3 % 1000).astype("f4").reshape(40, 100)
    made = []
    compressions: list[Any] = ["zlib", "zstd", "bzip2", "szip", "blosc_lz4", "blosc_zstd", "blosc_zlib", "blosc_lz4hc"]
    for compression in compressions:
        for fletcher32 in [False, True]:
            path = tmp_path / f"{compression}{fletcher32}.nc"
            try:
                with open_netcdf4(path, "w") as nc:
                    nc.createDimension("y", 40)
                    nc.createDimension("x", 100)
                    v = nc.createVariable(
                        "v", "f4", ("y", "x"), compression=compression, fletcher32=fletcher32, chunksizes=(7, 30)
                    )
                    v[...] = expected
            except (RuntimeError, ValueError):
                continue  # this netCDF-C was built without it
            with ncforge.Dataset(path) as ds:
                assert_equal(ds.variables["v"][...], expected, path.name)
            made.append(compression)
    assert "zlib" in made
