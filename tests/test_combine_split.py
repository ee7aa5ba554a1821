"""``ncforge split``, the inverse."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, fms_whole, wholes
from commands import ncforge
from datasets import created
from stopping import start


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


@pytest.mark.parametrize("scheme", ["roms", "wrf"])
@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
@pytest.mark.parametrize("named", [True, False])
def test_a_foreign_file_and_back(tmp_path: Path, scheme: str, storage: tl.Storage, named: bool) -> None:
    """Schemes that know dimensions by their names: those of another file get them in the tiles, and their own again in the whole."""
    whole = fms_whole()
    path = tmp_path / "whole.nc"
    tl.write(path, whole, tl.Tile({}, {}), storage)
    dims = ["--dims", "x,y"] if named else []
    done = ncforge("split", path, "-o", tmp_path / "part", "--tiles", "3x2", "--scheme", scheme, "--json", *dims)
    first = json.loads(done.stdout)["first"]
    with netCDF4.Dataset(first) as tile:
        assert {"roms": {"xi_rho", "eta_rho"}, "wrf": {"west_east", "south_north"}}[scheme] <= set(tile.dimensions)
    ncforge("combine", first, "-o", tmp_path / "back.nc", "--no-history")
    ncforge("compare", path, tmp_path / "back.nc")


@pytest.mark.parametrize(("scheme", "lon", "tiling"), [("nemo", 2, "2x2"), ("fms", 2, "2x2"), ("fms", 1, "1x2")])
def test_bounds_are_not_cut(tmp_path: Path, scheme: str, lon: int, tiling: str) -> None:
    """Both ends of a cell are in every tile, however long the grid's dimensions are."""
    path = tmp_path / "whole.nc"
    with created(path, format="NETCDF3_CLASSIC", lat=6, lon=lon, nv=2) as d:
        for name, n in {"lat": 6, "lon": lon}.items():
            v = d.createVariable(name, "f8", (name,))
            v.units = "degrees_north" if name == "lat" else "degrees_east"
            v.bounds = f"{name}_b"
            v[:] = np.arange(n)
            d.createVariable(f"{name}_b", "f8", (name, "nv"))[:] = np.arange(n)[:, None] + [0, 1]
        d.createVariable("tas", "f4", ("lat", "lon"))[:] = 1
    words = "--tiles", tiling, "--scheme", scheme, "--dims", "lon,lat", "--json"
    report = json.loads(ncforge("split", path, "-o", tmp_path / "part", *words).stdout)
    for tile in sorted(tmp_path.glob("part*")):
        with netCDF4.Dataset(tile) as d:
            assert len(d.dimensions["nv"]) == 2 and len(d.dimensions["lat"]) == 3
    ncforge("combine", report["first"], "-o", tmp_path / "back.nc", "--no-history")
    ncforge("compare", path, tmp_path / "back.nc")


def test_the_input_is_no_tile(tmp_path: Path) -> None:
    """A tile that would replace the file is refused, also with ``-O``."""
    path = tmp_path / "whole_0001.nc"
    tl.write(path, fms_whole(), tl.Tile({}, {}), CLASSIC)
    before = path.read_bytes()
    refused = ncforge("split", path, "-o", tmp_path / "whole", "--tiles", "2x1", "-O", code=2)
    assert "whole_0001.nc` is one of the inputs" in refused.stderr
    assert path.read_bytes() == before and [f.name for f in tmp_path.iterdir()] == [path.name]


def test_a_dimension_is_split_once(tmp_path: Path) -> None:
    """``--dims x,x`` is an error of usage."""
    tl.write(tmp_path / "a.nc", fms_whole(), tl.Tile({}, {}), CLASSIC)
    refused = ncforge("split", tmp_path / "a.nc", "-o", tmp_path / "t", "--tiles", "2x2", "--dims", "x,x", code=2)
    assert "`x` is named twice" in refused.stderr


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "whole.nc"
    tl.write(path, wholes()["roms"], tl.Tile({}, {}), CLASSIC)
    done = ncforge(
        "split", path, "-o", tmp_path / "p", "--tiles", "2x2", "--scheme", "roms", "--dims", "xi_u,eta_rho", code=2
    )
    assert "`xi_rho`" in done.stderr


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
    ncforge("split", path, "-o", tmp_path / "q", "--tiles", "99x4", code=2)


def test_split_that_is_stopped_leaves_whole_tiles_only(tmp_path: Path) -> None:
    """SIGINT: nobody goes on with a part of a tile, so none is left, and the hint names no --resume, which there is not."""
    smooth = np.cumsum(np.random.default_rng(3).standard_normal((8, 240, 300)), 2).round(3).astype("f4")
    whole = tl.Whole({"v": tl.Field(("t", "y", "x"), smooth), "w": tl.Field(("t", "y", "x"), smooth[::-1] * 2)})
    path, folder = tmp_path / "whole.nc", tmp_path / "tiles"
    tl.write(path, whole, tl.Tile({}, {}), CLASSIC)
    folder.mkdir()
    words = ["--tiles", "5x4", "--format", "netcdf4", "--codec", "deflate", "--level", 9, "-j", 1]
    for _ in range(5):
        running = start("split", path, "-o", folder / "p", *words, "-O")
        while running.poll() is None and len(list(folder.iterdir())) < 3:
            time.sleep(0.002)
        running.send_signal(signal.SIGINT)
        _, messages = running.communicate(timeout=600)
        if running.returncode != 0:
            break
    assert running.returncode == 130, messages
    assert "the tiles that are finished stay" in messages
    assert "--resume" not in messages
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []
    ncforge("split", path, "-o", folder / "p", *words, "-O")
    ncforge("combine", folder / "p", "-o", tmp_path / "back.nc", "--no-history")
    ncforge("compare", path, tmp_path / "back.nc")


def test_split_that_fails_leaves_no_tiles(tmp_path: Path) -> None:
    """A tile that cannot be written: those before it go, what was there stays, and the same command works once there is room."""
    whole = tl.Whole({"v": tl.Field(("y", "x"), np.arange(48, dtype="f4").reshape(6, 8))})
    tl.write(tmp_path / "whole.nc", whole, tl.Tile({}, {}), CLASSIC)
    (tmp_path / "p_0002.nc").write_text("of somebody else")
    words = ["split", tmp_path / "whole.nc", "-o", tmp_path / "p", "--tiles", "2x2"]
    ncforge(*words, code=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p_0002.nc", "whole.nc"]
    assert (tmp_path / "p_0002.nc").read_text() == "of somebody else"
    (tmp_path / "p_0002.nc").unlink()
    ncforge(*words)
    assert len(list(tmp_path.glob("p_*.nc"))) == 4


def test_split_of_what_cannot_be_read(tmp_path: Path) -> None:
    """A damaged or cut file is an error; what netCDF has no equivalent for is a note, and so are attributes of tiles."""
    path = tmp_path / "whole.nc"
    tl.write(path, wholes()["nemo"], tl.Tile({}, {}), DEFLATED)
    with netCDF4.Dataset(path, "a") as ds:
        ds.file_name = "mine"
    with h5py.File(path, "a") as file:
        file["weights"] = np.array([1.5], "longdouble")
        at = h5py.h5o.get_info(file["tmask"].id).addr
    done = ncforge("split", path, "-o", tmp_path / "p", "--tiles", "2x1")
    assert "weights" in done.stderr
    assert "`file_name`" in done.stderr
    data = bytearray(path.read_bytes())
    data[at + 20] ^= 0xFF
    data[at + 24] ^= 0x55
    path.write_bytes(data)
    assert "tmask" in ncforge("split", path, "-o", tmp_path / "q", "--tiles", "2x1", code=4).stderr
    classic = tmp_path / "classic.nc"
    tl.write(classic, wholes()["nemo"], tl.Tile({}, {}), CLASSIC)
    classic.write_bytes(classic.read_bytes()[:-100])
    assert "100 bytes shorter" in ncforge("split", classic, "-o", tmp_path / "q", "--tiles", "2x1", code=4).stderr
    assert list(tmp_path.glob("q_*")) == []


def test_split_of_what_would_be_a_list(tmp_path: Path) -> None:
    """`combine` puts one copy of each tile of NEMO together where an unlimited dimension is a list: that is not the inverse."""
    path = tmp_path / "whole.nc"
    with created(path, y=4, x=6, rec=None) as ds:
        ds.createVariable("v", "f4", ("y", "x"))[:] = 1
        ds.createVariable("kt", "i4", ("rec",))[:] = [1, 2, 3]
    assert "`rec`" in ncforge("split", path, "-o", tmp_path / "p", "--tiles", "2x1", code=2).stderr
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", "2x1", "--scheme", "roms")
    ncforge("combine", tmp_path / "p.0.nc", "-o", tmp_path / "back.nc", "--no-history")
    ncforge("compare", path, tmp_path / "back.nc")


@pytest.mark.parametrize("scheme", ["nemo", "fms"])
@pytest.mark.parametrize("named", [True, False])
def test_a_level_as_long_as_a_row_is_not_split(tmp_path: Path, scheme: str, named: bool) -> None:
    """It was cut together with the rows: the tiles had the diagonal blocks alone, and nothing said so."""
    path = tmp_path / "whole.nc"
    values = np.arange(360, dtype="f4").reshape(2, 6, 5, 6)
    with netCDF4.Dataset(path, "w") as ds:
        for name, length in (("t", 2), ("z", 6), ("y", 5), ("x", 6)):
            ds.createDimension(name, length)
            ds.createVariable(name, "f8", (name,))[:] = range(length)
        ds.createVariable("v", "f4", ("t", "z", "y", "x"))[:] = values
        ds.createVariable("mean", "f4", ("t", "z"))[:] = values.mean((2, 3))
    words = ["--dims", "x,y"] if named else []
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", "2x2", "--scheme", scheme, *words)
    ncforge("combine", *sorted(tmp_path.glob("p*")), "-o", tmp_path / "back.nc", "--verify")
    with netCDF4.Dataset(tmp_path / "back.nc") as back:
        np.testing.assert_array_equal(back["v"][:].filled(-1), values)
        np.testing.assert_array_equal(back["mean"][:].filled(-1), values.mean((2, 3)))


def test_a_variable_with_two_dimensions_of_one_direction(tmp_path: Path) -> None:
    path = tmp_path / "whole.nc"
    with created(path, eta_rho=6, xi_rho=6, xi_v=6) as ds:
        ds.createVariable("v", "f4", ("eta_rho", "xi_rho"))[:] = 1
        ds.createVariable("w", "f4", ("eta_rho", "xi_rho", "xi_v"))[:] = 1
    done = ncforge("split", path, "-o", tmp_path / "p", "--tiles", "2x1", "--scheme", "roms", code=2)
    assert "`w` has two dimensions of one direction" in done.stderr


def test_a_mask_counts_all_of_its_records(tmp_path: Path) -> None:
    """Of ice that comes in the second record, three tiles of four were not written."""
    path = tmp_path / "whole.nc"
    with created(path, t=2, y=4, x=4) as ds:
        ice = ds.createVariable("ice", "f4", ("t", "y", "x"))
        ice[:] = 0
        ice[0, 0, 0], ice[1, :, 2:] = 1, 5
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", "2x2", "--dims", "x,y", "--mask", "ice")
    assert len(sorted(tmp_path.glob("p_*.nc"))) == 3


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_missing_last_tile_is_noted_where_no_tile_says_the_length(tmp_path: Path, gone: int) -> None:
    path = tmp_path / "whole.nc"
    with created(path, xi_rho=10, eta_rho=4) as ds:
        ds.createVariable("v", "f4", ("eta_rho", "xi_rho"))[:] = np.arange(40).reshape(4, 10)
    ncforge("split", path, "-o", tmp_path / "p", "--tiles", "3x1", "--scheme", "roms")
    tiles = sorted(tmp_path.glob("p*"))
    tiles.pop(gone)
    done = ncforge("combine", *tiles, "-o", tmp_path / "back.nc", "--allow-missing")
    assert ("the last tile is missing, and no tile says how long" in done.stderr) == (gone == 2)
    with netCDF4.Dataset(tmp_path / "back.nc") as back:
        assert back["v"].shape == ((4, 6) if gone == 2 else (4, 10))


@pytest.mark.parametrize("kind", ["bounds", "text"])
def test_corners_and_characters_are_not_split(tmp_path: Path, kind: str) -> None:
    """The largest variable ends with them."""
    path = tmp_path / "in.nc"
    with created(path, y=6, x=8, last=4) as ds:
        ds.createVariable("v", "f4", ("y", "x"))[:] = np.ones((6, 8))
        if kind == "bounds":
            ds["v"].bounds = "v_bounds"
        ds.createVariable("v_bounds", "f4" if kind == "bounds" else "S1", ("y", "x", "last"))
    report = json.loads(ncforge("split", path, "-o", tmp_path / "t", "--tiles", "2x3", "--json").stdout)
    with netCDF4.Dataset(report["first"]) as ds:
        assert {name: len(d) for name, d in ds.dimensions.items()} == {"y": 2, "x": 4, "last": 4}
