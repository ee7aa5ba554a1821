"""Random sessions of ``to_netcdf`` in turn with netCDF4 and h5py on one file, which these judge after every step."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge

xr = pytest.importorskip("xarray")

PACKED = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -32768}


def days(rng: np.random.Generator, begin: int, n: int, ny: int, nx: int) -> Any:
    """Two fields of some days."""
    tas = (280 + 5 * rng.standard_normal((n, ny, nx))).clip(250, 310)
    fields = {"tas": tas, "pr": rng.random((n, ny, nx))}
    coords = {"time": np.arange(begin, begin + n) * 1.0, "lat": np.linspace(-5, 5, ny), "lon": np.linspace(0, 9, nx)}
    return xr.Dataset({k: (("time", "lat", "lon"), v.astype("f4")) for k, v in fields.items()}, coords)


class File:
    """A file, and what it must hold."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.random, self.rng = path, random.Random(seed), np.random.default_rng(seed)
        self.lens = self.random.randint(2, 9), self.random.randint(2, 9)
        self.packed = self.random.random() < 0.5
        self.format = self.random.choice(["NETCDF4", "NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_64BIT"])
        self.history = ""
        first = self.new(self.random.randint(1, 4), 0)
        self.values = {name: first[name].values.copy() for name in ("tas", "pr")}
        if self.packed:
            first.tas.encoding = dict(PACKED)
        codec = "zlib" if self.format.startswith("NETCDF4") and self.random.random() < 0.6 else None
        ncforge.to_netcdf(first, path, append_dim="time", format=self.format, codec=codec)

    @property
    def steps(self) -> int:
        return len(self.values["pr"])

    def new(self, n: int, begin: int | None = None) -> Any:
        return days(self.rng, self.steps if begin is None else begin, n, *self.lens)

    def grow(self, added: Any) -> None:
        self.values = {k: np.concatenate([v, added[k].values]) for k, v in self.values.items()}

    def append(self) -> None:
        added = self.new(self.random.randint(1, 4))
        ncforge.to_netcdf(added, self.path, append_dim="time")
        self.grow(added)

    def region(self) -> None:
        a = self.random.randrange(self.steps)
        b = self.random.randint(a + 1, self.steps)
        part = self.new(b - a, a)
        ncforge.to_netcdf(part, self.path, region={"time": slice(a, b)})
        for name, values in self.values.items():
            values[a:b] = part[name].values

    def netcdf4(self) -> None:
        added, at = self.new(self.random.randint(1, 3)), self.steps
        with netCDF4.Dataset(self.path, "a") as file:
            for name in (*self.values, "time"):
                file[name][at : at + added.sizes["time"]] = added[name].values
        self.grow(added)

    def attribute(self) -> None:
        self.history = "x" * self.random.randint(1, 5000)
        with self.random.choice([netCDF4.Dataset, ncforge.Dataset])(self.path, "a") as file:
            file.history = self.history

    def hdf5(self) -> None:
        if self.format.startswith("NETCDF4"):
            at = self.random.randrange(self.steps)
            with h5py.File(self.path, "r+") as file:
                file["pr"][at] = 7
            self.values["pr"][at] = 7

    def refused(self) -> None:
        """Data that do not fit the file leave it as it was, to the byte."""
        one = self.new(1)
        wrong = [one.assign_coords(lat=one.lat[::-1]), one.assign_coords(lon=one.lon + 1), one[["tas"]]]
        wrong.append(self.new(1, self.steps - 1))
        if self.packed:
            wrong.append(one.assign(tas=one.tas + 1e6))
        before = self.path.read_bytes()
        with pytest.raises((ValueError, ncforge.errors.NcforgeError)):
            ncforge.to_netcdf(self.random.choice(wrong), self.path, append_dim="time")
        assert self.path.read_bytes() == before

    def check(self) -> None:
        with netCDF4.Dataset(self.path) as file:
            for name, values in self.values.items():
                error = 0.006 if self.packed and name == "tas" else 0
                np.testing.assert_allclose(np.ma.filled(file[name][:], np.nan), values, rtol=0, atol=error)
            assert file["time"][:].tolist() == list(range(self.steps))
            assert getattr(file, "history", "") == self.history
        if self.format.startswith("NETCDF4"):
            with h5py.File(self.path) as file:
                np.testing.assert_array_equal(file["pr"][:], self.values["pr"])


@pytest.mark.parametrize("seed", range(12))
def test_sessions(tmp_path: Path, seed: int) -> None:
    file = File(tmp_path / "f.nc", seed)
    file.check()
    steps = [file.append, file.append, file.region, file.netcdf4, file.attribute, file.hdf5, file.refused]
    for _ in range(10):
        file.random.choice(steps)()
        file.check()
