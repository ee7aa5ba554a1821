"""``ncforge combine``: tiles of NEMO, XIOS and IOIPSL."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CDF5, CLASSIC, DEFLATED, FILL, TYPES5, combine, ocean, values
from commands import ncforge


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
    field = tl.Field(("t", "y", "x"), values((2, 96, 130)))
    whole = tl.Whole({"sst": field, "t": tl.Field(("t",), np.arange(2.0))})
    for storage, name in ((CLASSIC, "c"), (DEFLATED, "d")):
        folder = tmp_path / name
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (32, 32), storage)
        out = folder / "out.nc"
        few = ["bash", "-c", 'ulimit -n 64; exec "$@"', "bash"]
        ncforge("combine", mosaic.paths[5], "-o", out, "--memory", "16M", before=few)
        tl.check(out, whole, mosaic)


def test_land_tiles_are_filled(tmp_path: Path) -> None:
    """Suppressed land tiles: `_FillValue` at full precision, else `missing_value`, else the default of the type."""
    whole = tl.Whole(
        {
            "filled": tl.Field(("y", "x"), values((12, 16), "f8"), fill=1e20),
            "missing": tl.Field(("y", "x"), values((12, 16), "f4"), {"missing_value": np.float32(-999.25)}),
            "wide": tl.Field(("y", "x"), values((12, 16), "f4"), {"missing_value": np.float64(-5)}),
            "plain": tl.Field(("y", "x"), values((12, 16), "f4")),
            "short": tl.Field(("y", "x"), values((12, 16), "i2")),
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


def test_strings_and_missing_variables(tmp_path: Path) -> None:
    """Strings are placed; a variable that some tiles lack is filled there."""
    names = np.array([[f"{y}-{x}" for x in range(9)] for y in range(7)], dtype=object)
    whole = tl.Whole({"name": tl.Field(("y", "x"), names), "v": tl.Field(("y", "x"), values((7, 9)))}, unlimited=())
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


@pytest.mark.parametrize("domain", ["", "_grid_T"])
def test_what_xios_says_of_a_tile_is_not_in_the_whole(tmp_path: Path, domain: str) -> None:
    """`ibegin`, `ni`, `jbegin`, `nj`, of a domain perhaps; a number that has one of these names alone stays."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), DEFLATED)
    for path, given in zip(mosaic.paths, mosaic.given, strict=True):
        with netCDF4.Dataset(path, "a") as ds:
            (y0, y1), (x0, x1) = given["y"], given["x"]
            for name, value in (("ibegin", x0), ("ni", x1 - x0), ("jbegin", y0), ("nj", y1 - y0)):
                ds.setncattr(name + domain, np.int32(value))
            ds.setncattr("ni_other", np.int32(7))
    out = tmp_path / "out.nc"
    ncforge("combine", mosaic.paths[0], "-o", out)
    tl.check(out, whole, mosaic)
    with netCDF4.Dataset(out) as ds:
        assert set(ds.ncattrs()) == {"title", "history", "ni_other"}


def test_tiles_of_xios_without_domain_attributes(tmp_path: Path) -> None:
    """Placed by `ibegin` and `jbegin`, of which the whole has nothing either."""
    for i in range(2):
        with netCDF4.Dataset(tmp_path / f"x_{i}.nc", "w") as ds:
            ds.createDimension("y", 3)
            ds.createDimension("x", 4)
            ds.createVariable("v", "i4", ("y", "x"))[:] = np.arange(12).reshape(3, 4) + 100 * i
            for name, value in (("ibegin", 4 * i), ("ni", 4), ("jbegin", 0), ("nj", 3)):
                ds.setncattr(name, np.int32(value))
    out = tmp_path / "out.nc"
    words = ["--scheme", "generic", "--place", "x=attr:ibegin", "--place", "y=attr:jbegin", "--no-history"]
    ncforge("combine", tmp_path / "x_0.nc", tmp_path / "x_1.nc", "-o", out, *words)
    with netCDF4.Dataset(out) as ds:
        assert ds["v"].shape == (3, 8)
        assert ds.ncattrs() == []


@pytest.mark.parametrize("square", [False, True])
def test_ids_that_no_longer_match(tmp_path: Path, square: bool) -> None:
    """Where a program has put dimensions into another order, lengths tell which ones are split, if they leave no choice."""
    whole = ocean(24, 24 if square else 30)
    mosaic = tl.nemo(tmp_path, whole, (2, 2), DEFLATED)
    for path in mosaic.paths:
        with netCDF4.Dataset(path, "a") as ds:
            # Those of `c` and `k`, as if these had come first.
            ds.DOMAIN_dimensions_ids = np.array([5, 6], "i4")
    if square:
        said = combine(mosaic, tmp_path / "out.nc", code=4).stderr
        assert "is not what its attributes DOMAIN_* say" in said and "along dimension number 5" in said
        assert "as the model wrote them" in said
    else:
        combine(mosaic, tmp_path / "out.nc")
        tl.check(tmp_path / "out.nc", whole, mosaic)
