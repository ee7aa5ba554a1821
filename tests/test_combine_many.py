"""``ncforge combine``: sets of so many tiles that headers which differ in values of attributes only are parsed once."""

from __future__ import annotations

import struct
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CDF5, CLASSIC, combine, ocean, shorten


def whole() -> tl.Whole:
    """With a range that every tile tells for itself."""
    made = ocean()
    field = made.fields["votemper"]
    made.fields["votemper"] = tl.Field(field.dims, field.values, {"valid_min": np.float32(0)}, fill=field.fill)
    return made


def fresh(folder: Path, name: str, storage: tl.Storage = CLASSIC) -> tl.Mosaic:
    """48 tiles of four shapes."""
    (folder / name).mkdir()
    return tl.nemo(folder / name, whole(), (6, 8), storage)


@pytest.mark.parametrize("storage", [CLASSIC, CDF5], ids=["cdf2", "cdf5"])
def test_what_tiles_say_otherwise_counts(tmp_path: Path, storage: tl.Storage) -> None:
    m = fresh(tmp_path, "set", storage)
    for i, path in enumerate(m.paths):
        with netCDF4.Dataset(path, "a") as ds:
            ds["votemper"].valid_min = np.float32(-((i * 7) % 48))
            ds.title = f"t{i:03}"
    for threads in (1, 2):
        out = tmp_path / f"out{threads}.nc"
        combine(m, out, "-j", threads)
        with netCDF4.Dataset(out) as ds:
            assert ds["votemper"].valid_min == -47
            assert ds.title == "t000"
            assert "DOMAIN_number" not in ds.ncattrs()
            ds.set_auto_maskandscale(False)
            for name, field in whole().fields.items():
                assert ds[name][:].tobytes() == field.values.tobytes(), name


def test_bad_tiles_among_many_are_reported(tmp_path: Path) -> None:
    out = tmp_path / "out.nc"

    def refused(mosaic: tl.Mosaic, *names: Path, says: str = "") -> None:
        done = combine(mosaic, out, code=4)
        assert all(name.name in done.stderr for name in names), done.stderr
        assert says in done.stderr
        assert not out.exists()

    m = fresh(tmp_path, "units")
    with netCDF4.Dataset(m.paths[20], "a") as ds:
        ds["nav_lon"].units = "degrees_west"
    refused(m, m.paths[0], m.paths[20], says="nav_lon:units")

    m = fresh(tmp_path, "fill")
    header = bytearray(m.paths[31].read_bytes())
    at = header.index(struct.pack(">f", 1e20))
    header[at : at + 4] = struct.pack(">f", 2e20)
    m.paths[31].write_bytes(header)
    refused(m, m.paths[0], m.paths[31], says="_FillValue")

    m = fresh(tmp_path, "truncated")
    shorten(m.paths[40], 200)
    refused(m, m.paths[40])

    m = fresh(tmp_path, "date")
    with netCDF4.Dataset(m.paths[47], "a") as ds:
        ds["t"][:] = [0, 1, 3]
    refused(m, m.paths[0], m.paths[47], says="`t`")

    m = fresh(tmp_path, "claimed")
    with netCDF4.Dataset(m.paths[9], "a") as ds, netCDF4.Dataset(m.paths[8]) as other:
        for a in ("DOMAIN_position_first", "DOMAIN_position_last"):
            ds.setncattr(a, other.getncattr(a))
    refused(m, m.paths[8], m.paths[9])

    m = fresh(tmp_path, "count")
    with netCDF4.Dataset(m.paths[33], "a") as ds:
        ds.DOMAIN_number_total = np.int32(99)
    refused(m, m.paths[33])
