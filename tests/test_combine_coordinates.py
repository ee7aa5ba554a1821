"""``ncforge combine``: coordinates in places that no tile has, and ``--coords``."""

from __future__ import annotations

import json
from pathlib import Path

import netCDF4
import numpy as np

import tiles as tl
from combining import DEFLATED, FILL, combine, values
from commands import ncforge

NY, NX = 12, 18
LAND = 4


def _whole() -> tl.Whole:
    lon, lat = np.meshgrid(np.linspace(0, 34, NX), np.linspace(-60, 50, NY))
    bounds = np.stack([lon - 1, lon + 1], -1)
    place = ("y", "x")
    fields = {
        "t": tl.Field(("t",), np.arange(2.0)),
        "nav_lon": tl.Field(place, lon.astype("f4")),
        "nav_lat": tl.Field(place, lat.astype("f4")),
        "east": tl.Field(place, lon.astype("f4"), {"units": "degrees_east"}),
        "north": tl.Field(place, lat.astype("f4"), {"standard_name": "latitude", "bounds": "edges"}),
        "edges": tl.Field((*place, "two"), bounds.astype("f4")),
        "area": tl.Field(place, (lat + 100).astype("f8")),
        "level": tl.Field(place, values((NY, NX))),
        "sst": tl.Field(("t", *place), values((2, NY, NX)), {"coordinates": "level", "cell_measures": "area: area"}),
        "ice": tl.Field(place, values((NY, NX), seed=3), {"units": "degrees"}, fill=np.float32(1e20)),
    }
    return tl.Whole(fields)


COORDINATES = {"nav_lon", "nav_lat", "east", "north", "edges", "area", "level"}


def _file_of_coordinates(path: Path, whole: tl.Whole) -> None:
    """Everything that the whole has: data, too."""
    with netCDF4.Dataset(path, "w") as ds:
        for name, n in whole.dims().items():
            ds.createDimension(name, n)
        for name, f in whole.fields.items():
            ds.createVariable(name, f.values.dtype, f.dims)[:] = f.values


def test_only_coordinates_are_filled_from_a_file(tmp_path: Path) -> None:
    """By CF and by NEMO's names; data variables keep the fill value, also where FILE has them."""
    whole = _whole()
    mosaic = tl.nemo(tmp_path, whole, (3, 3), DEFLATED, land=(LAND,))
    _file_of_coordinates(tmp_path / "coords.nc", whole)
    for words in (
        ["combine", mosaic.paths[0], "-o"],
        ["nocscombine", "-c", tmp_path / "coords.nc", "-f", mosaic.paths[0], "-o"],
    ):
        out = tmp_path / f"{words[0]}.nc"
        said = ncforge(*words, out, *(["--coords", tmp_path / "coords.nc"] if words[0] == "combine" else [])).stderr
        assert "filled points" not in said
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            for name in sorted(COORDINATES):
                assert ds[name][:].tobytes() == whole.fields[name].values.tobytes(), name
            for name, fill in (("ice", np.float32(1e20)), ("sst", FILL["f4"])):
                want = tl.expected(whole, mosaic, name, fill)
                assert ds[name][:].tobytes() == want.tobytes(), name


def test_filled_coordinates_are_named(tmp_path: Path) -> None:
    """In the text and in the document, of a plan and of a combination."""
    mosaic = tl.nemo(tmp_path, _whole(), (3, 3), DEFLATED, land=(LAND,))
    want = "`nav_lon`, `nav_lat`, `east`, `north`, `edges`, `area`, `level` have 24 filled points: "
    out = tmp_path / "out.nc"
    for words in (["--dry-run"], []):
        assert want in combine(mosaic, out, *words, "-O").stderr
        assert any(want in n for n in json.loads(combine(mosaic, out, *words, "-O", "--json").stdout)["notes"])
    assert "filled point" in ncforge("rebuild_nemo", tmp_path / "nemo", 8).stderr
