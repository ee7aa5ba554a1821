"""``ncforge combine``: tiles of every scheme, cut by netCDF4-python, against the field they were cut from."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import tiles as tl
from conftest import find_binary

CLASSIC = tl.Storage()
DEFLATED = tl.Storage("NETCDF4", zlib=True)
CDF5 = tl.Storage("NETCDF3_64BIT_DATA")
TYPES5 = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
FILL = {"f4": np.float32(9.969209968386869e36), "f8": np.float64(9.969209968386869e36)}


def ncforge(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command and asserts its exit code."""
    line = [str(find_binary()), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, (line, done.stdout, done.stderr)
    return done


def combine(mosaic: tl.Mosaic, out: Path, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Combines a set, named by one of its tiles."""
    return ncforge("combine", mosaic.paths[0], "-o", out, *words, code=code)


def random(shape: tuple[int, ...], dtype: str = "f4", seed: int = 0) -> tl.Array:
    """Values of any type: for integers all bits, for floats also NaN and infinities."""
    rng = np.random.default_rng([seed, *shape])
    if dtype == "S1":
        return rng.integers(97, 123, shape, dtype="u1").view("S1")
    if np.dtype(dtype).kind == "f":
        values = rng.standard_normal(shape).astype(dtype)
        values.flat[:: max(values.size // 3, 1)] = np.nan
        return values
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def ocean(ny: int = 23, nx: int = 31, types: list[str] | None = None) -> tl.Whole:
    """Variables of ranks 0 to 5, along none, one, or both of the split dimensions."""
    fields = {
        "nav_lon": tl.Field(("y", "x"), random((ny, nx)), {"units": "degrees_east"}),
        "t": tl.Field(("t",), np.arange(3, dtype="f8"), {"units": "days since 1958-01-01"}),
        "depth": tl.Field(("z",), np.linspace(5, 50, 4).astype("f4")),
        "votemper": tl.Field(("t", "z", "y", "x"), random((3, 4, ny, nx), seed=1), fill=np.float32(1e20)),
        "row": tl.Field(("y",), random((ny,), "i4", 2)),
        "number": tl.Field((), np.array(7, "i4")),
        "five": tl.Field(("c", "z", "k", "y", "x"), random((2, 4, 2, ny, nx), "f8", 3)),
    }
    for kind in types or ["i2", "f8"]:
        fields[f"v_{kind}"] = tl.Field(("z", "y", "x"), random((4, ny, nx), kind, 4))
    return tl.Whole(fields, attrs={"title": "test"})


@pytest.mark.parametrize("tiling", [(1, 1), (4, 4), (7, 5)])
@pytest.mark.parametrize("storage", [CLASSIC, CDF5, DEFLATED], ids=["cdf2", "cdf5", "deflated"])
@pytest.mark.parametrize("halo", [0, 1, 2])
def test_nemo(tmp_path: Path, tiling: tuple[int, int], storage: tl.Storage, halo: int) -> None:
    """Any tiling, container and halo; all types that the container has; the output in either container."""
    types = ["S1", *(TYPES5 if storage is not CLASSIC else ["i1", "i2", "i4", "f4", "f8"])]
    whole = ocean(types=types)
    mosaic = tl.nemo(tmp_path, whole, tiling, storage, halo=halo)
    out = tmp_path / "out.nc"
    combine(mosaic, out, "--verify")
    tl.check(out, whole, mosaic)
    with netCDF4.Dataset(out) as ds:
        assert not [a for a in ds.ncattrs() if a.startswith("DOMAIN_") or a == "file_name"]
        assert ds.title == "test"
        assert "combine" in ds.history
    combine(mosaic, out, "-O", "--format", "netcdf4", "--codec", "deflate", "--no-history")
    tl.check(out, whole, mosaic)
    combine(mosaic, out, "-O", "--format", "cdf5")
    tl.check(out, whole, mosaic)


def test_nemo_32x32(tmp_path: Path) -> None:
    """A thousand tiles with few descriptors, and with little memory."""
    field = tl.Field(("t", "y", "x"), random((2, 96, 130)))
    whole = tl.Whole({"sst": field, "t": tl.Field(("t",), np.arange(2.0))})
    for storage, name in ((CLASSIC, "c"), (DEFLATED, "d")):
        folder = tmp_path / name
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (32, 32), storage)
        out = folder / "out.nc"
        limited = f"ulimit -n 64; exec {find_binary()} combine {mosaic.paths[5]} -o {out} --memory 16M"
        subprocess.run(["bash", "-c", limited], check=True, capture_output=True)
        tl.check(out, whole, mosaic)


def test_land_tiles_are_filled(tmp_path: Path) -> None:
    """Suppressed land tiles: `_FillValue` at full precision, else `missing_value`, else the default of the type."""
    whole = tl.Whole(
        {
            "filled": tl.Field(("y", "x"), random((12, 16), "f8"), fill=1e20),
            "missing": tl.Field(("y", "x"), random((12, 16), "f4"), {"missing_value": np.float32(-999.25)}),
            "wide": tl.Field(("y", "x"), random((12, 16), "f4"), {"missing_value": np.float64(-5)}),
            "plain": tl.Field(("y", "x"), random((12, 16), "f4")),
            "short": tl.Field(("y", "x"), random((12, 16), "i2")),
        },
        unlimited=(),
    )
    holes = {
        "filled": 1e20,
        "missing": np.float32(-999.25),
        "wide": np.float32(-5),
        "plain": FILL["f4"],
        "short": np.int16(-32767),
    }
    for storage, name in ((CLASSIC, "c"), (DEFLATED, "d")):
        folder = tmp_path / name
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (3, 4), storage, land=(0, 5, 6, 11))
        out = folder / "out.nc"
        done = combine(mosaic, out)
        assert "64 of 192 points" in done.stderr
        tl.check(out, whole, mosaic, holes)
        combine(mosaic, out, "-O", "--holes", "zero")
        tl.check(out, whole, mosaic)
        combine(mosaic, out, "-O", "--holes", "zero", "--chunks", "tiles", "--format", "netcdf4")
        tl.check(out, whole, mosaic)
        assert "in no tile" in combine(mosaic, tmp_path / "no.nc", "--holes", "error", code=4).stderr
        assert not (tmp_path / "no.nc").exists()


def test_xios_axis_nbounds_first(tmp_path: Path) -> None:
    """The split dimensions are found by id, not by position."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), DEFLATED, first_dims=[("axis_nbounds", 2)])
    combine(mosaic, tmp_path / "out.nc")
    tl.check(tmp_path / "out.nc", whole, mosaic)


@pytest.mark.parametrize(("width", "start"), [(4, 9997), (5, 0), (6, 0), (1, 0)])
def test_numbers_of_any_width(tmp_path: Path, width: int, start: int) -> None:
    """`_9999` is followed by `_10000`."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), CLASSIC, width=width, start=start)
    for words in ([mosaic.paths[3]], [tmp_path / "nemo"], [tmp_path / "nemo_*.nc"], mosaic.paths):
        ncforge("combine", *words, "-O", "-o", tmp_path / "out.nc")
        tl.check(tmp_path / "out.nc", whole, mosaic)


def test_icebergs_are_concatenated(tmp_path: Path) -> None:
    """An unlimited dimension of another length in every tile."""
    whole = ocean()
    bergs = [3, 0, 5, 1]
    start = 0
    mosaic = tl.nemo(tmp_path, whole, (2, 2), tl.Storage("NETCDF4"))
    for path, n in zip(mosaic.paths, bergs, strict=True):
        with netCDF4.Dataset(path, "a") as ds:
            ds.createDimension("n", None)
            v = ds.createVariable("xi", "f8", ("n",))
            w = ds.createVariable("number", "i4", ("n", "k")) if "number" not in ds.variables else None
            v[:] = np.arange(start, start + n, dtype="f8")
            if w is not None and n:
                w[:] = 1
        start += n
    combine(mosaic, tmp_path / "out.nc")
    tl.check(tmp_path / "out.nc", whole, mosaic)
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds["xi"][:].tolist() == list(range(9))


def fms_whole(ny: int = 14, nx: int = 18, symmetric: bool = False, dtype: str = "f4") -> tl.Whole:
    """Fields with coordinate variables."""
    fields = {
        "x": tl.Field(("x",), np.arange(nx) * 0.25 - 279.875, {"units": "degrees_E"}),
        "y": tl.Field(("y",), np.arange(ny) * 0.5 - 70.0),
        "t": tl.Field(("t",), np.arange(2.0)),
        "temp": tl.Field(("t", "y", "x"), random((2, ny, nx), dtype), fill=np.dtype(dtype).type(7)),
        "five": tl.Field(("a", "b", "c", "y", "x"), random((2, 2, 2, ny, nx), dtype)),
        "average_T1": tl.Field(("t",), np.arange(2.0)),
    }
    if symmetric:
        fields["xq"] = tl.Field(("xq",), np.arange(nx + 1) * 0.25)
        fields["yq"] = tl.Field(("yq",), np.arange(ny + 1) * 0.5)
        fields["u"] = tl.Field(("t", "y", "xq"), random((2, ny, nx + 1), dtype))
        fields["vort"] = tl.Field(("yq", "xq"), random((ny + 1, nx + 1), dtype))
    return tl.Whole(fields)


@pytest.mark.parametrize("tiling", [(1, 1), (4, 4), (7, 5)])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "i8", "u1", "u2"])
def test_fms(tmp_path: Path, tiling: tuple[int, int], symmetric: bool, dtype: str) -> None:
    """Corner points, regional output, types of 64 and of 8 bits, five dimensions without records."""
    whole = fms_whole(symmetric=symmetric, dtype=dtype)
    for width, first in ((4, (1, 1)), (6, (41, 17))):
        folder = tmp_path / str(width)
        folder.mkdir()
        mosaic = tl.fms(folder, whole, tiling, DEFLATED, width=width, symmetric=symmetric, first=first)
        out = folder / "ocean.nc"
        combine(mosaic, out)
        tl.check(out, whole, mosaic)
        with netCDF4.Dataset(out) as ds:
            assert "NumFilesInSet" not in ds.ncattrs()
            assert ds.filename == "ocean.nc"
            assert "domain_decomposition" not in ds["x"].ncattrs()
            filters = ds["temp"].filters()
            assert filters["zlib"], "compressed tiles give a compressed whole"


def test_fms_masked_column(tmp_path: Path) -> None:
    """A whole column of processes is masked: its coordinate is continued, or comes from a file."""
    whole = fms_whole()
    masked = [i for i in range(12) if i % 4 == 2]
    mosaic = tl.fms(tmp_path, whole, (3, 4), DEFLATED, masked=masked)
    done = combine(mosaic, tmp_path / "out.nc")
    assert "coordinate `x` is continued" in done.stderr
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        ds.set_auto_mask(False)
        np.testing.assert_allclose(ds["x"][:], whole.fields["x"].values, rtol=0, atol=1e-9)
        want = tl.expected(whole, mosaic, "temp", np.float32(7))
        assert ds["temp"][:].tobytes() == want.tobytes()
    irregular = np.cumsum(np.arange(18.0)) + 0.1
    whole.fields["x"].values[:] = irregular
    mosaic = tl.fms(tmp_path, whole, (3, 4), CLASSIC, masked=masked)
    assert "--coords" in combine(mosaic, tmp_path / "out.nc", "-O").stderr
    with netCDF4.Dataset(tmp_path / "c.nc", "w") as ds:
        ds.createDimension("x", 18)
        ds.createVariable("x", "f4", ("x",))[:] = irregular
    combine(mosaic, tmp_path / "out.nc", "-O", "--coords", tmp_path / "c.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        np.testing.assert_allclose(ds["x"][:], irregular, rtol=1e-6)


def test_fms_compressed_by_gathering(tmp_path: Path) -> None:
    """Lists of land points are put one behind the other."""
    for rank, index in enumerate([[3, 5, 9], [12], [20, 21]]):
        with netCDF4.Dataset(tmp_path / f"land.nc.{rank:04d}", "w") as ds:
            ds.createDimension("tile_index", len(index))
            v = ds.createVariable("tile_index", "i4", ("tile_index",))
            v.compress = "tile lat lon"
            v[:] = index
            ds.createVariable("soil", "f4", ("tile_index",))[:] = np.array(index) * 2
            ds.createDimension("lat", 3)
            ds.createVariable("lat", "f8", ("lat",))[:] = [1, 2, 3]
            ds.NumFilesInSet = np.int32(3)
    ncforge("combine", tmp_path / "land.nc.0000", "-o", tmp_path / "land.nc")
    with netCDF4.Dataset(tmp_path / "land.nc") as ds:
        assert ds["tile_index"][:].tolist() == [3, 5, 9, 12, 20, 21]
        assert ds["soil"][:].tolist() == [6, 10, 18, 24, 40, 42]
        assert ds["lat"][:].tolist() == [1, 2, 3]


@pytest.mark.parametrize("tiling", [(1, 1), (4, 4), (7, 5)])
@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
def test_roms_wrf_mitgcm(tmp_path: Path, tiling: tuple[int, int], storage: tl.Storage) -> None:
    """The other schemes, with their staggered dimensions."""
    ny, nx = 28, 35
    t = tl.Field(("t",), np.arange(2.0))
    roms = tl.Whole(
        {
            "t": t,
            "rho": tl.Field(("t", "eta_rho", "xi_rho"), random((2, ny, nx))),
            "u": tl.Field(("t", "eta_rho", "xi_u"), random((2, ny, nx - 1), "f8")),
            "v": tl.Field(("t", "eta_v", "xi_rho"), random((2, ny - 1, nx))),
        }
    )
    mosaic = tl.roms(tmp_path, roms, tiling, storage)
    combine(mosaic, tmp_path / "roms.nc")
    tl.check(tmp_path / "roms.nc", roms, mosaic)
    wrf = tl.Whole(
        {
            "t": t,
            "T": tl.Field(("t", "bottom_top", "south_north", "west_east"), random((2, 3, ny, nx))),
            "U": tl.Field(("t", "bottom_top", "south_north", "west_east_stag"), random((2, 3, ny, nx + 1))),
            "V": tl.Field(("t", "bottom_top", "south_north_stag", "west_east"), random((2, 3, ny + 1, nx))),
            "W": tl.Field(("t", "bottom_top_stag", "south_north", "west_east"), random((2, 4, ny, nx))),
            "Times": tl.Field(("t", "DateStrLen"), random((2, 19), "S1")),
        }
    )
    mosaic = tl.wrf(tmp_path, wrf, tiling, storage)
    combine(mosaic, tmp_path / "wrf.nc")
    tl.check(tmp_path / "wrf.nc", wrf, mosaic)
    with netCDF4.Dataset(tmp_path / "wrf.nc") as ds:
        assert ds.getncattr("WEST-EAST_PATCH_END_STAG") == nx + 1
        assert ds.getncattr("SOUTH-NORTH_PATCH_START_UNSTAG") == 1
    if tiling != (4, 4):
        mitgcm = tl.Whole(
            {
                "t": t,
                "X": tl.Field(("X",), np.arange(float(nx))),
                "Temp": tl.Field(("t", "Y", "X"), random((2, ny, nx))),
                "U": tl.Field(("t", "Y", "Xp1"), random((2, ny, nx + 1))),
                "V": tl.Field(("t", "Yp1", "X"), random((2, ny + 1, nx))),
                "psi": tl.Field(("Yp1", "Xp1"), random((ny + 1, nx + 1), "f8")),
            }
        )
        mosaic = tl.mitgcm(tmp_path, mitgcm, tiling, storage)
        combine(mosaic, tmp_path / "mitgcm.nc")
        tl.check(tmp_path / "mitgcm.nc", mitgcm, mosaic)


def test_generic(tmp_path: Path) -> None:
    """The user says where the place stands: in attributes, or in the names of the files."""
    whole = ocean(20, 24)
    given = tl.Mosaic([], [])
    for j, (y0, yn) in enumerate(tl.parts(20, 2)):
        for i, (x0, xn) in enumerate(tl.parts(24, 3)):
            low = (min(x0, 1), min(y0, 1))
            spans = {"x": (x0 - low[0], x0 + xn), "y": (y0, y0 + yn)}
            if i != 0:
                spans["x"] = (x0 - 1, x0 + xn)
            path = tmp_path / f"part_{j}_{i}.nc"
            attrs = {"ibegin": np.int32(x0), "where": np.array([9, y0 + 1], np.int32)}
            # Every tile has one point of halo in the west; the first one's is a copy of its first column.
            tl.write(path, whole, tl.Tile(spans, attrs), CLASSIC)
            given.paths.append(path)
            given.given.append({"x": (x0, x0 + xn), "y": (y0, y0 + yn)})
    keep = [p for p in given.paths if not p.name.endswith("_0.nc")]
    words = ["--scheme", "generic", "--place", "y=attr:where[1],base:1", "--place", "x=attr:ibegin,halo:1:0"]
    ncforge("combine", *keep, "-o", tmp_path / "out.nc", *words)
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        ds.set_auto_mask(False)
        want = whole.fields["votemper"].values
        assert ds["votemper"][..., 8:].tobytes() == want[..., 8:].tobytes()
    for path in given.paths:
        path.unlink()
    mosaic = tl.Mosaic([], [])
    for j, (y0, yn) in enumerate(tl.parts(20, 2)):
        for i, (x0, xn) in enumerate(tl.parts(24, 3)):
            spans = {"x": (x0, x0 + xn), "y": (y0, y0 + yn)}
            path = tmp_path / f"part_{j}_{i}.nc"
            tl.write(path, whole, tl.Tile(spans, {}), DEFLATED)
            mosaic.paths.append(path)
            mosaic.given.append(spans)
    words = ["--scheme", "generic", "--names", "part_{j}_{i}.nc", "--place", "y=tile:j", "--place", "x=tile:i"]
    ncforge("combine", tmp_path / "part_*_*.nc", "-O", "-o", tmp_path / "out.nc", *words)
    tl.check(tmp_path / "out.nc", whole, mosaic)


def test_strings_and_missing_variables(tmp_path: Path) -> None:
    """Strings are placed; a variable that some tiles lack is filled there."""
    names = np.array([[f"{y}-{x}" for x in range(9)] for y in range(7)], dtype=object)
    whole = tl.Whole({"name": tl.Field(("y", "x"), names), "v": tl.Field(("y", "x"), random((7, 9)))}, unlimited=())
    mosaic = tl.nemo(tmp_path, whole, (2, 3), tl.Storage("NETCDF4"))
    combine(mosaic, tmp_path / "out.nc")
    tl.check(tmp_path / "out.nc", whole, mosaic)
    for rank in (1, 4):
        with netCDF4.Dataset(mosaic.paths[rank], "a") as ds:
            ds.createVariable("extra", "i4", ("y", "x"), fill_value=-1)[:] = rank
    done = combine(mosaic, tmp_path / "out.nc", "-O")
    assert "`/extra` is in 2 of 6 tiles" in done.stderr or "`extra` is in 2 of 6 tiles" in done.stderr
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        ds.set_auto_mask(False)
        want = np.full((7, 9), -1)
        for rank in (1, 4):
            (x0, x1), (y0, y1) = mosaic.given[rank]["x"], mosaic.given[rank]["y"]
            want[y0:y1, x0:x1] = rank
        assert (ds["extra"][:] == want).all()


def shorten(path: Path, by: int) -> None:
    os.truncate(path, path.stat().st_size - by)


@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
def test_bad_sets_are_told(tmp_path: Path, storage: tl.Storage) -> None:
    """Each a message that names the files, exit code 4, and nothing under the final name."""
    out = tmp_path / "out.nc"

    def refused(mosaic: tl.Mosaic, *names: Path, words: tuple[object, ...] = ()) -> None:
        done = combine(mosaic, out, *words, code=4)
        for name in names:
            assert name.name in done.stderr, done.stderr
        assert not out.exists()
        assert not list(tmp_path.glob("**/.*ncforge*"))

    def fresh(name: str) -> tl.Mosaic:
        folder = tmp_path / name
        folder.mkdir()
        return tl.nemo(folder, ocean(), (2, 3), storage)

    m = fresh("truncated")
    shorten(m.paths[4], 200)
    refused(m, m.paths[4])

    m = fresh("missing")
    m.paths[3].unlink()
    refused(m, m.paths[3])
    combine(m, out, "--allow-missing")
    given = tl.Mosaic(m.paths, [g for i, g in enumerate(m.given) if i != 3])
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        want = tl.expected(ocean(), given, "votemper", np.float32(1e20))
        assert ds["votemper"][:].tobytes() == want.tobytes()
    out.unlink()

    m = fresh("claimed")
    with netCDF4.Dataset(m.paths[1], "a") as ds:
        for a in ("DOMAIN_position_first", "DOMAIN_position_last"):
            ds.setncattr(a, ds.getncattr(a) - np.array([1, 0], np.int32))
    refused(m, m.paths[0], m.paths[1])

    m = fresh("mixed")
    rest = tl.fms(tmp_path / "mixed", fms_whole(), (1, 2), storage, base="nemo")
    done = ncforge("combine", *m.paths, rest.paths[0], "-o", out, code=4)
    assert rest.paths[0].name in done.stderr

    m = fresh("count")
    with netCDF4.Dataset(m.paths[2], "a") as ds:
        ds.DOMAIN_number_total = np.int32(12)
    refused(m, m.paths[2])

    m = fresh("date")
    with netCDF4.Dataset(m.paths[5], "a") as ds:
        ds["t"][:] = [10, 11, 12]
    refused(m, m.paths[0], m.paths[5])
    combine(m, out, "--differing", "first")
    out.unlink()

    m = fresh("records")
    with netCDF4.Dataset(m.paths[2], "a") as ds:
        n = len(ds.dimensions["t"])
        ds["t"][n] = 3.0
    refused(m, m.paths[2])
    combine(m, out, "--allow-ragged")
    with netCDF4.Dataset(out) as ds:
        assert ds["t"][:].tolist() == [0, 1, 2, 3]
        ds.set_auto_mask(False)
        assert ds["votemper"][:3].tobytes() == ocean().fields["votemper"].values.tobytes()
        assert (ds["votemper"][3] == np.float32(1e20)).all()


def test_dry_run(tmp_path: Path) -> None:
    """The picture, and the plan as JSON."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (3, 4), DEFLATED, halo=1, land=(5,))
    text = combine(mosaic, tmp_path / "out.nc", "--dry-run").stdout
    assert " 7  8  9 10" in text
    assert " 4  .  5  6" in text
    assert "halo 1 x 1" in text
    plan: dict[str, Any] = json.loads(combine(mosaic, tmp_path / "out.nc", "-n", "--json").stdout)
    assert plan["scheme"] == "nemo"
    assert plan["tiles"] == 11
    main = next(m for m in plan["mosaics"] if m["dims"] == ["y", "x"])
    assert main["lattice"] == [3, 4]
    assert main["hole_points"] > 0
    assert not (tmp_path / "out.nc").exists()


def test_chunks_are_moved_as_they_are(tmp_path: Path) -> None:
    """Aligned deflated tiles are moved without decoding, their checksums and byte order too."""
    field = tl.Field(("t", "y", "x"), random((4, 256, 256)), fill=np.float32(1e20))
    whole = tl.Whole({"sst": field, "t": tl.Field(("t",), np.arange(4.0))})
    for i, storage in enumerate(
        (
            tl.Storage("NETCDF4", zlib=True, chunks={"t": 1, "y": 64, "x": 64}),
            tl.Storage("NETCDF4", zlib=True, chunks={"t": 2, "y": 32, "x": 64}, fletcher32=True),
            tl.Storage("NETCDF4", zlib=True, chunks={"t": 1, "y": 64, "x": 64}, endian="big"),
        )
    ):
        folder = tmp_path / str(i)
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (4, 4), storage, land=(3,))
        out = folder / "out.nc"
        report = json.loads(combine(mosaic, out, "--chunks", "keep", "--json", "--verify").stdout)
        assert report["copy"]["raw_variables"] >= 1, report
        tl.check(out, whole, mosaic, {"sst": np.float32(1e20)})
        with netCDF4.Dataset(out) as ds:
            assert ds["sst"].chunking() == [storage.chunks[d] for d in ("t", "y", "x")]  # type: ignore[index]
            assert ds["sst"].filters()["fletcher32"] == storage.fletcher32
        combine(mosaic, out, "-O", "--times", "1:3")
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            want = tl.expected(whole, mosaic, "sst", np.float32(1e20))[1:3]
            assert ds["sst"][:].astype("f4").tobytes() == want.tobytes()
            assert ds["t"][:].tolist() == [1, 2]
        combine(mosaic, out, "-O", "--holes", "zero", "--chunks", "keep")
        tl.check(out, whole, mosaic)


def test_variables_and_chunks_of_choice(tmp_path: Path) -> None:
    """`--vars`, `--chunks SPEC`, `--codec`, `--level`."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), CLASSIC)
    words = ["--vars", "votemper,t", "-O", "--format", "netcdf4", "--codec", "zstd", "--level", "5"]
    out = tmp_path / "out.nc"
    combine(mosaic, out, *words, "--chunks", "votemper:1,2,10,12")
    info = ncforge("info", out, "--json").stdout
    assert "zstd" in info
    back = tmp_path / "back.nc"
    ncforge("copy", out, back, "--codec", "none")
    with netCDF4.Dataset(back) as ds:
        assert set(ds.variables) == {"votemper", "t"}
        assert ds["votemper"].chunking() == [1, 2, 10, 12]
        ds.set_auto_mask(False)
        assert ds["votemper"][:].tobytes() == whole.fields["votemper"].values.tobytes()


def test_tiles_are_removed_only_after_verifying(tmp_path: Path) -> None:
    """`--delete-tiles`."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), DEFLATED)
    out = tmp_path / "out.nc"
    out.write_bytes(b"here")
    combine(mosaic, out, "--delete-tiles", code=2)
    assert all(p.exists() for p in mosaic.paths)
    done = combine(mosaic, out, "-O", "--delete-tiles")
    assert "verified" in done.stderr
    assert not any(p.exists() for p in mosaic.paths)
    tl.check(out, whole, mosaic)


def test_bytes_do_not_depend_on_threads_or_memory(tmp_path: Path) -> None:
    """The same bytes with one thread and with four."""
    whole = ocean(60, 70)
    mosaic = tl.nemo(tmp_path, whole, (3, 4), DEFLATED, land=(2,))
    outputs = []
    for words in (["-j", "1"], ["-j", "4"]):
        combine(mosaic, tmp_path / "out.nc", "-O", "--no-history", *words)
        outputs.append((tmp_path / "out.nc").read_bytes())
    assert outputs[0] == outputs[1]


def wholes() -> dict[str, tl.Whole]:
    """A file for each scheme that `split` writes."""
    rng = np.random.default_rng(5)
    ny, nx = 28, 35
    mask = np.ones((ny, nx), "i1")
    mask[14:, :9] = 0
    t = tl.Field(("t",), np.arange(2.0))
    fill = np.float32(1e20)
    temp = np.where(mask == 1, rng.standard_normal((2, 3, ny, nx)), 1e20).astype("f4")
    nemo = tl.Whole(
        {
            "t": t,
            "tmask": tl.Field(("y", "x"), mask, fill=np.int8(0)),
            "votemper": tl.Field(("t", "z", "y", "x"), temp, fill=fill),
        }
    )
    fms = fms_whole(ny, nx, symmetric=True)
    roms = tl.Whole(
        {
            "t": t,
            "rho": tl.Field(("t", "eta_rho", "xi_rho"), random((2, ny, nx))),
            "u": tl.Field(("t", "eta_rho", "xi_u"), random((2, ny, nx - 1), "f8")),
            "v": tl.Field(("t", "eta_v", "xi_rho"), random((2, ny - 1, nx))),
        }
    )
    wrf = tl.Whole(
        {
            "t": t,
            "T": tl.Field(("t", "bottom_top", "south_north", "west_east"), random((2, 3, ny, nx))),
            "U": tl.Field(("t", "bottom_top", "south_north", "west_east_stag"), random((2, 3, ny, nx + 1))),
            "V": tl.Field(("t", "bottom_top", "south_north_stag", "west_east"), random((2, 3, ny + 1, nx))),
        }
    )
    return {"nemo": nemo, "fms": fms, "roms": roms, "wrf": wrf}


@pytest.mark.parametrize("scheme", ["nemo", "fms", "roms", "wrf"])
@pytest.mark.parametrize("tiling", ["1x1", "4x4", "5x7"])
@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
def test_split_and_back(tmp_path: Path, scheme: str, tiling: str, storage: tl.Storage) -> None:
    """Splitting and combining gives the same file, whatever the scheme."""
    whole = wholes()[scheme]
    path = tmp_path / "whole.nc"
    tl.write(path, whole, tl.Tile({}, {}), storage)
    (tmp_path / "tiles").mkdir()
    words: list[object] = ["--halo", "2"] if scheme == "nemo" else []
    base = tmp_path / "tiles" / "part"
    report = json.loads(
        ncforge("split", path, "-o", base, "--tiles", tiling, "--scheme", scheme, "--json", *words).stdout
    )
    nx, ny = map(int, tiling.split("x"))
    assert report["tiles"] == nx * ny
    ncforge("combine", report["first"], "-o", tmp_path / "back.nc", "--no-history")
    difference = ncforge("compare", path, tmp_path / "back.nc", code=0 if scheme != "wrf" else 3).stdout
    if scheme == "wrf":
        assert "_PATCH_" in difference, "only what WRF's tiles need is new"
    tl.check(tmp_path / "back.nc", whole, tl.Mosaic([], [{}]))


def test_split_by_mask(tmp_path: Path) -> None:
    """Tiles of land alone are not written; combining fills them again."""
    whole = wholes()["nemo"]
    path = tmp_path / "whole.nc"
    tl.write(path, whole, tl.Tile({}, {}), DEFLATED)
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", "4x4", "--mask", "tmask", "--halo", "1")
    tiles = sorted(tmp_path.glob("p_*.nc"))
    assert len(tiles) == 14
    ncforge("combine", tmp_path / "p", "-o", tmp_path / "back.nc", "--no-history")
    tl.check(tmp_path / "back.nc", whole, tl.Mosaic([], [{}]))
    done = ncforge("split", path, "-o", tmp_path / "p", "--tiles", "4x4", code=2)
    assert "exists" in done.stderr
    ncforge("split", path, "-o", tmp_path / "q", "--tiles", "99x4", code=1)


def test_nocscombine(tmp_path: Path) -> None:
    """The old flags: variables with their coordinates, records from 1, coordinates of land from a file."""
    whole = ocean()
    mosaic = tl.nemo(
        tmp_path, whole, (2, 3), tl.Storage("NETCDF3_CLASSIC"), land=(1,), first_dims=[("axis_nbounds", 2)]
    )
    with netCDF4.Dataset(tmp_path / "c.nc", "w") as ds:
        ds.createDimension("y", 23)
        ds.createDimension("x", 31)
        ds.createVariable("nav_lon", "f4", ("y", "x"))[:] = whole.fields["nav_lon"].values
    out = tmp_path / "out.nc"
    words = ["-f", mosaic.paths[0], "-o", out, "-d", "votemper", "-ts", 2, "-te", 3, "-c", tmp_path / "c.nc", "-n", 3]
    done = ncforge("nocscombine", *words, "-v", "-showhaloes")
    assert "lattice 2 x 3" in done.stdout
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        assert set(ds.variables) == {"votemper", "nav_lon", "t"}
        assert ds.data_model == "NETCDF3_64BIT_OFFSET"
        want = tl.expected(whole, mosaic, "votemper", np.float32(1e20))[1:]
        assert ds["votemper"][:].tobytes() == want.tobytes()
        assert ds["nav_lon"][:].tobytes() == whole.fields["nav_lon"].values.tobytes()
    assert ncforge("nocscombine", *words, "-s").stderr == ""
    assert "-zz" in ncforge("nocscombine", "-zz", code=2).stderr
    mosaic.paths[2].unlink()
    assert mosaic.paths[2].name in ncforge("nocscombine", *words, code=4).stderr


def test_rebuild_nemo(tmp_path: Path) -> None:
    """The script's options, and the program's namelist."""
    whole = ocean()
    for width in (4, 5):
        folder = tmp_path / str(width)
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (2, 3), DEFLATED, width=width)
        base = folder / "nemo"
        ncforge("rebuild_nemo", "-m", "-d", 3, "-x", 10, "-y", 8, "-z", 2, "-t", 1, base, 6, "x", "y")
        tl.check(folder / "nemo.nc", whole, mosaic)
        with netCDF4.Dataset(folder / "nemo.nc") as ds:
            assert ds["votemper"].chunking() == [1, 2, 8, 10]
            assert ds["votemper"].filters()["complevel"] == 3
        (folder / "nam").write_text(f"&nam_rebuild\n filebase='{base}'\n ndomain=6\n l_maskout=.true.\n/\n")
        (folder / "nemo.nc").unlink()
        ncforge("rebuild_nemo", folder / "nam")
        tl.check(folder / "nemo.nc", whole, mosaic)
        assert "nemo_0006" in ncforge("rebuild_nemo", base, 7, code=4).stderr


def test_mppnccombine(tmp_path: Path) -> None:
    """Tiles by the name of the output or given; formats, compression, missing tiles, removal."""
    whole = fms_whole(dtype="i8")
    mosaic = tl.fms(tmp_path, whole, (3, 4), DEFLATED)
    out = tmp_path / "ocean.nc"
    ncforge("mppnccombine", "-v", "-m", "-k", 4, "-h", 16384, out)
    tl.check(out, whole, mosaic)
    with netCDF4.Dataset(out) as ds:
        assert "history" not in ds.ncattrs()
    ncforge("mppnccombine", out, code=2)
    other = tmp_path / "other.nc"
    ncforge("mppnccombine", "-d", 2, "-s", "-M", other, *mosaic.paths)
    tl.check(other, whole, mosaic)
    mosaic.paths[7].unlink()
    out.unlink()
    assert mosaic.paths[7].name in ncforge("mppnccombine", out, code=4).stderr
    ncforge("mppnccombine", "-f", "-r", out)
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        given = tl.Mosaic([], [g for i, g in enumerate(mosaic.given) if i != 7])
        assert ds["temp"][:].tobytes() == tl.expected(whole, given, "temp", np.int64(7)).tobytes()
    assert not any(p.exists() for p in mosaic.paths)
    assert "-a" in ncforge("mppnccombine", "-a", out, code=2).stderr
    classic = tl.fms(tmp_path, fms_whole(), (1, 2), tl.Storage("NETCDF3_CLASSIC"), base="c.nc")
    ncforge("mppnccombine", tmp_path / "c.nc")
    tl.check(tmp_path / "c.nc", fms_whole(), classic)
    with netCDF4.Dataset(tmp_path / "c.nc") as ds:
        assert ds.data_model == "NETCDF3_64BIT_OFFSET"
