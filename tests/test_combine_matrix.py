"""``ncforge combine``: a thousand tiles of every scheme."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, values
from commands import ncforge

#: Rows and columns of tiles, and points of the whole: two by three a tile.
TILING, NY, NX = (32, 32), 64, 96


def whole_of(scheme: str) -> tl.Whole:
    """A field on the points of the tiles, and one on staggered ones where the scheme's tiles overlap there."""
    f = tl.Field
    fields = {
        "nemo": {"v": f(("z", "y", "x"), values((2, NY, NX)), fill=np.float32(1e20))},
        "fms": {
            "x": f(("x",), np.arange(NX) * 0.5),
            "y": f(("y",), np.arange(NY) * 0.25),
            "u": f(("y", "x"), values((NY, NX), "f8")),
        },
        "roms": {
            "rho": f(("eta_rho", "xi_rho"), values((NY, NX))),
            "u": f(("eta_rho", "xi_u"), values((NY, NX - 1), "f8")),
        },
        "wrf": {
            "T": f(("south_north", "west_east"), values((NY, NX))),
            "U": f(("south_north", "west_east_stag"), values((NY, NX + 1))),
        },
        "mitgcm": {"T": f(("Y", "X"), values((NY, NX))), "psi": f(("Yp1", "Xp1"), values((NY + 1, NX + 1), "f8"))},
        "generic": {"v": f(("y", "x"), values((NY, NX), "i2"))},
    }
    return tl.Whole(fields[scheme], unlimited=())


def tiles_of(scheme: str, folder: Path, whole: tl.Whole, storage: tl.Storage) -> tuple[tl.Mosaic, list[object]]:
    """The tiles, and words that the command needs for them."""
    if scheme == "nemo":
        return tl.nemo(folder, whole, TILING, storage, halo=1, land=(0, 33, 1000)), ["--holes", "zero"]
    if scheme == "fms":
        return tl.fms(folder, whole, TILING, storage), []
    if scheme == "roms":
        return tl.roms(folder, whole, TILING, storage), []
    if scheme == "wrf":
        return tl.wrf(folder, whole, TILING, storage), []
    if scheme == "mitgcm":
        return tl.mitgcm(folder, whole, TILING, storage), []
    mosaic = tl.Mosaic([], [])
    for j, (y, yn) in enumerate(tl.parts(NY, TILING[0])):
        for i, (x, xn) in enumerate(tl.parts(NX, TILING[1])):
            spans = {"x": (x, x + xn), "y": (y, y + yn)}
            mosaic.paths.append(folder / f"part_{j}_{i}.nc")
            mosaic.given.append(spans)
            tl.write(mosaic.paths[-1], whole, tl.Tile(spans, {}), storage)
    place = ["--place", "y=tile:j", "--place", "x=tile:i", "--names", "part_{j}_{i}.nc"]
    return mosaic, ["--scheme", "generic", *place]


@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
@pytest.mark.parametrize("scheme", ["nemo", "fms", "roms", "wrf", "mitgcm", "generic"])
def test_32x32(tmp_path: Path, scheme: str, storage: tl.Storage) -> None:
    """Bit by bit the field that was cut, with few descriptors and little memory, as it is and re-encoded."""
    whole = whole_of(scheme)
    (tmp_path / "tiles").mkdir()
    mosaic, words = tiles_of(scheme, tmp_path / "tiles", whole, storage)
    given = [tmp_path / "tiles" / "part_*_*.nc"] if scheme == "generic" else [mosaic.paths[5]]
    out = tmp_path / "out.nc"
    few = ["bash", "-c", 'ulimit -n 64; exec "$@"', "bash"]
    ncforge("combine", *given, "-o", out, *words, "--memory", "16M", before=few)
    tl.check(out, whole, mosaic)
    if storage is CLASSIC:
        ncforge("combine", *given, "-O", "-o", out, *words, "--format", "netcdf4", "--codec", "deflate")
        tl.check(out, whole, mosaic)
