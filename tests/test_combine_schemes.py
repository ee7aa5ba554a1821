"""``ncforge combine``: tiles of FMS, ROMS, WRF, MITgcm, and of no known model."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, combine, fms_whole, ocean, values, wholes
from commands import ncforge
from datasets import created


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
    with created(tmp_path / "c.nc", x=18) as ds:
        ds.createVariable("x", "f4", ("x",))[:] = irregular
    combine(mosaic, tmp_path / "out.nc", "-O", "--coords", tmp_path / "c.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        np.testing.assert_allclose(ds["x"][:], irregular, rtol=1e-6)


def test_fms_compressed_by_gathering(tmp_path: Path) -> None:
    """Lists of land points are put one behind the other."""
    for rank, index in enumerate([[3, 5, 9], [12], [20, 21]]):
        with created(tmp_path / f"land.nc.{rank:04d}", tile_index=len(index)) as ds:
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
    roms = wholes()["roms"]
    mosaic = tl.roms(tmp_path, roms, tiling, storage)
    combine(mosaic, tmp_path / "roms.nc")
    tl.check(tmp_path / "roms.nc", roms, mosaic)
    wrf = tl.Whole(
        {
            **wholes()["wrf"].fields,
            "W": tl.Field(("t", "bottom_top_stag", "south_north", "west_east"), values((2, 4, ny, nx))),
            "Times": tl.Field(("t", "DateStrLen"), values((2, 19), "S1")),
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
                "Temp": tl.Field(("t", "Y", "X"), values((2, ny, nx))),
                "U": tl.Field(("t", "Y", "Xp1"), values((2, ny, nx + 1))),
                "V": tl.Field(("t", "Yp1", "X"), values((2, ny + 1, nx))),
                "psi": tl.Field(("Yp1", "Xp1"), values((ny + 1, nx + 1), "f8")),
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


@pytest.mark.parametrize(
    "dims", [("south_north", "west_east"), ("south_north", "west_east_stag"), ("south_north_stag", "west_east")]
)
def test_wrf_attributes_speak_of_the_whole_whatever_a_stream_holds(tmp_path: Path, dims: tuple[str, ...]) -> None:
    """A stream of a few variables has not all dimensions; its attributes are those of the domain all the same."""
    lens = {"south_north": 7, "west_east": 11, "west_east_stag": 12, "south_north_stag": 8}
    fields = {"v": tl.Field(("Time", *dims), values((2, *(lens[d] for d in dims))))}
    whole = tl.Whole(fields, unlimited=("Time",))
    shape = {d: n for d, n in lens.items() if d[-4:] != "stag"}
    tl_whole = tl.Whole({**fields, "all": tl.Field(tuple(shape), values(tuple(shape.values())))}, unlimited=("Time",))
    mosaic = tl.wrf(tmp_path, tl_whole, (2, 3), CLASSIC)
    for path in mosaic.paths:
        ncforge("copy", path, path, "-O", "--vars", "v", "--no-history")
        with netCDF4.Dataset(path) as ds:
            assert set(ds.dimensions) == {"Time", *dims}
    done = ncforge("combine", *mosaic.paths, "-o", tmp_path / "whole.nc", "--vars", "v")
    assert "PATCH" not in done.stderr
    with netCDF4.Dataset(tmp_path / "whole.nc") as ds:
        for axis, n in (("WEST-EAST", 11), ("SOUTH-NORTH", 7)):
            found = [int(ds.getncattr(f"{axis}_PATCH_{w}_{k}")) for k in ("UNSTAG", "STAG") for w in ("START", "END")]
            assert found == [1, n, 1, n + 1], axis
    tl.check(tmp_path / "whole.nc", whole, mosaic)


@pytest.mark.parametrize("number", [0, 2, 64])
def test_places_are_stronger_than_a_count(tmp_path: Path, number: int) -> None:
    """FMS's regional diagnostics count no files, or all processes; NEMO may be as wrong. Tiles that cover all are all."""
    sets = {"fms": tl.fms(tmp_path, fms_whole(), (1, 4), CLASSIC), "nemo": tl.nemo(tmp_path, ocean(), (2, 3), CLASSIC)}
    names = {"fms": "NumFilesInSet", "nemo": "DOMAIN_number_total"}
    for scheme, mosaic in sets.items():
        for path in mosaic.paths:
            with netCDF4.Dataset(path, "a") as ds:
                ds.setncattr(names[scheme], np.int32(number))
        whole = fms_whole() if scheme == "fms" else ocean()
        for i, given in enumerate((mosaic.paths, mosaic.paths[:1])):
            done = ncforge("combine", *given, "-o", tmp_path / f"{scheme}{i}.nc")
            assert "missing" not in done.stderr
            tl.check(tmp_path / f"{scheme}{i}.nc", whole, mosaic)
    ncforge("mppnccombine", tmp_path / "old.nc", *sets["fms"].paths)
    tl.check(tmp_path / "old.nc", fms_whole(), sets["fms"])
    # A hole is no such thing: then the count, if there is one, says that somebody forgot a file.
    sets["fms"].paths[2].unlink()
    there = [p for p in sets["fms"].paths if p.exists()]
    done = ncforge("combine", *there, "-o", tmp_path / "hole.nc", code=4 if number == 64 else 0)
    assert ("missing" if number == 64 else "in no tile") in done.stderr


def test_a_count_tells_of_lists(tmp_path: Path) -> None:
    """Lists have no places: one that is not there leaves no hole."""
    for rank, index in enumerate([[3, 5], [12]]):
        with created(tmp_path / f"land.nc.{rank:04d}", tile_index=len(index)) as ds:
            v = ds.createVariable("tile_index", "i4", ("tile_index",))
            v.compress = "tile lat lon"
            v[:] = index
            ds.NumFilesInSet = np.int32(3)
    done = ncforge("combine", tmp_path / "land.nc.0000", tmp_path / "land.nc.0001", "-o", tmp_path / "l.nc", code=4)
    assert "1 of 3 tiles is missing" in done.stderr
