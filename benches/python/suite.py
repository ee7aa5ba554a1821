"""The waits of xarray's users, by every engine: classes as asv runs them, and `engines.py` runs them.

A class has ``engines`` (who can do it), ``once`` (makes the files), ``ready`` (what is not timed, before every
repetition), ``run`` (what is timed), and ``same`` (what must agree between engines, as a number).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray as xr

import ncforge

ENGINES = ("ncforge", "netcdf4", "h5netcdf", "hidefix")


def installed(engine: str) -> bool:
    """Whether an engine can be measured here."""
    module = {"netcdf4": "netCDF4"}.get(engine, engine)
    return find_spec(module) is not None


class Case(ABC):
    """One thing that is timed."""

    name = ""
    engines: ClassVar[tuple[str, ...]] = ENGINES
    target: float = 1.0
    """How many times faster than every other engine it shall be."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick

    @abstractmethod
    def once(self) -> None:
        """Makes what all engines read."""

    def ready(self, engine: str) -> Any:
        """Before every repetition."""
        ncforge.clear_cache()

    @abstractmethod
    def run(self, engine: str, at: Any) -> Any:
        """The timed work."""

    @abstractmethod
    def same(self, result: Any) -> float:
        """A number that is the same when the work was the same."""

    def done(self, result: Any, at: Any) -> None:
        """After every repetition."""
        for thing in (result, at):
            if isinstance(thing, xr.Dataset):
                thing.close()


class Open2000(Case):
    """A file of 2,000 variables with attributes, as ``xr.open_dataset`` makes a dataset of it; nothing is read."""

    name = "open, 2,000 variables"
    target = 3.0

    def once(self) -> None:
        self.path = self.folder / f"many{'-quick' if self.quick else ''}.nc"
        if self.path.exists():
            return
        import netCDF4

        with netCDF4.Dataset(self.path, "w") as ds:
            ds.createDimension("time", 10)
            ds.createDimension("x", 5)
            for i in range(200 if self.quick else 2000):
                v = ds.createVariable(f"v{i:04}", "f4", ("time", "x"), zlib=True, fill_value=-1.0)
                v.setncatts(
                    {"units": "m s-1", "long_name": f"variable number {i}", "valid_range": np.array([0.0, 9.0])}
                )
                v[:] = i

    def run(self, engine: str, at: Any) -> Any:
        return xr.open_dataset(self.path, engine=engine)  # type: ignore[arg-type]

    def same(self, result: Any) -> float:
        return float(len(result.variables) + sum(len(v.attrs) for v in result.variables.values()))


class Field(Case):
    """A field of 62.6 MB in compressed chunks of 8 maps' quarters, opened before the clock runs."""

    def once(self) -> None:
        shape = (48, 91, 180) if self.quick else (240, 181, 360)
        self.shape = shape
        self.path = self.folder / f"field-{'x'.join(map(str, shape))}.nc"
        rng = np.random.default_rng(7)
        places = rng.integers(0, [shape[1], shape[2]], (20, 2))
        self.lat, self.lon = (xr.DataArray(p, dims="point") for p in places.T)
        self.step, self.at = shape[0] // 3, (shape[1] // 3, shape[2] // 3)
        if self.path.exists():
            return
        data = field(shape)
        coding = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (8, 91, 180)}
        data.to_netcdf(self.path, engine="netcdf4", encoding={"tas": coding})

    def ready(self, engine: str) -> Any:
        super().ready(engine)
        return xr.open_dataset(self.path, engine=engine, cache=False)  # type: ignore[arg-type]

    def same(self, result: Any) -> float:
        return float(np.asarray(result, np.float64).sum())


class Full(Field):
    """All of it."""

    name = "full read"

    def run(self, engine: str, at: Any) -> Any:
        return at["tas"].values


class FullDask(Field):
    """All of it as Dask blocks of whole stored chunks, by threads."""

    name = "full read, Dask threads"

    def ready(self, engine: str) -> Any:
        Case.ready(self, engine)
        return xr.open_dataset(self.path, engine=engine, chunks={"time": 48})  # type: ignore[arg-type]

    def run(self, engine: str, at: Any) -> Any:
        return at["tas"].values


class Map(Field):
    """One map."""

    name = "one map"

    def run(self, engine: str, at: Any) -> Any:
        return at["tas"].isel(time=self.step).values


class Series(Field):
    """One point, all of time."""

    name = "one series"

    def run(self, engine: str, at: Any) -> Any:
        return at["tas"].isel(lat=self.at[0], lon=self.at[1]).values


class Points(Field):
    """20 scattered points, all of time."""

    name = "20 points × all time"
    target = 3.0

    def run(self, engine: str, at: Any) -> Any:
        return at["tas"].isel(lat=self.lat, lon=self.lon).values


class ManyFiles(Case):
    """``open_mfdataset`` of 500 small files of one day each, and no value but the coordinates'."""

    name = "open_mfdataset, 500 files"
    target = 3.0
    options: ClassVar[dict[str, Any]] = {}
    ours = True
    """Whether ncforge opens them by a function of its own, and not by xarray's."""

    def once(self) -> None:
        count = 50 if self.quick else 500
        where = self.folder / f"days-{count}"
        self.paths = [where / f"day{i:03}.nc" for i in range(count)]
        if self.paths[-1].exists():
            return
        where.mkdir(exist_ok=True)
        for i, path in enumerate(self.paths):
            day = field((24, 19, 36), seed=i)
            day["time"] = np.datetime64("2000-01-01", "ns") + np.arange(24 * i, 24 * i + 24) * np.timedelta64(1, "h")
            for name in ("uas", "vas", "pr"):
                day[name] = day["tas"] * 2
            day.to_netcdf(path, engine="netcdf4", unlimited_dims=["time"])

    def run(self, engine: str, at: Any) -> Any:
        if engine == "ncforge" and self.ours:
            return ncforge.open_mfdataset(self.paths, **self.options)
        return xr.open_mfdataset(self.paths, engine=engine, **self.options)  # type: ignore[arg-type]

    def same(self, result: Any) -> float:
        return float(result["time"].astype("i8").values.astype("f8").sum() + result["tas"].size)


class ManyFilesKnown(ManyFiles):
    """Many files, with the options that xarray's guide advises for files that are known to be alike."""

    name = "open_mfdataset, 500 files, alike"
    options: ClassVar[dict[str, Any]] = {
        "combine": "nested",
        "concat_dim": "time",
        "data_vars": "minimal",
        "coords": "minimal",
        "compat": "override",
        "join": "override",
    }


class ManyFilesXarray(ManyFiles):
    """Many files by xarray's function, whoever reads."""

    name = "xr.open_mfdataset, 500 files"
    ours = False


class Write(Case):
    """``to_netcdf`` of the field with zlib 4 and shuffle, from memory."""

    name = "to_netcdf, zlib 4"
    engines = ("ncforge", "netcdf4", "h5netcdf")
    target = 3.0

    def once(self) -> None:
        self.data = field((48, 91, 180) if self.quick else (240, 181, 360))
        coding = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (8, 91, 180)}
        self.encoding = {"tas": coding}

    def ready(self, engine: str) -> Any:
        path = self.folder / f"written-{engine}.nc"
        path.unlink(missing_ok=True)
        return path

    def run(self, engine: str, at: Any) -> Any:
        if engine == "ncforge":
            ncforge.to_netcdf(self.data, at, encoding=self.encoding)
        else:
            self.data.to_netcdf(at, engine=engine, encoding=self.encoding)  # type: ignore[call-overload]
        return at

    def same(self, result: Any) -> float:
        with xr.open_dataset(result, engine="netcdf4") as ds:
            return float(ds["tas"].astype("f8").sum())

    def done(self, result: Any, at: Any) -> None:
        self.size = os.path.getsize(result)
        result.unlink()


class WriteDask(Write):
    """Writing from Dask blocks of 24 steps."""

    name = "to_netcdf, zlib 4, from Dask"

    def once(self) -> None:
        super().once()
        self.data = self.data.chunk({"time": 24})


def field(shape: tuple[int, int, int], seed: int = 1) -> xr.Dataset:
    """Temperature with noise of 0.3 K: the low bytes of the mantissa are random."""
    rng = np.random.default_rng(seed)
    t, lat, lon = shape
    y = np.linspace(-np.pi / 2, np.pi / 2, lat, dtype="f4")[:, None]
    x = np.linspace(0, 2 * np.pi, lon, endpoint=False, dtype="f4")
    drift = np.arange(t, dtype="f4")[:, None, None] / 50
    wave = 285 + 20 * np.cos(y) + 5 * np.sin(3 * x + drift) * np.cos(2 * y)
    values = (wave + 0.3 * rng.standard_normal(shape, "f4")).astype("f4")
    coords = {
        "time": np.arange(t, dtype="f8"),
        "lat": np.linspace(-90, 90, lat),
        "lon": np.linspace(0, 360, lon, endpoint=False),
    }
    return xr.Dataset({"tas": (("time", "lat", "lon"), values, {"units": "K"})}, coords)


CASES: tuple[type[Case], ...] = (
    Open2000,
    Full,
    FullDask,
    Map,
    Series,
    Points,
    ManyFiles,
    ManyFilesKnown,
    ManyFilesXarray,
    Write,
    WriteDask,
)


class _Asv:
    """The cases as asv finds them: one ``time_`` a case, engines as parameters."""

    params = ENGINES
    param_names = ("engine",)
    case: type[Case]

    def setup(self, engine: str) -> None:
        folder = Path(os.environ.get("NCFORGE_BENCH_DATA", "target/bench/python"))
        folder.mkdir(parents=True, exist_ok=True)
        if engine not in self.case.engines or not installed(engine):
            raise NotImplementedError  # asv's way to leave one out
        self.of = self.case(folder, quick=False)
        self.of.once()
        self.at = self.of.ready(engine)

    def time_(self, engine: str) -> None:
        self.of.run(engine, self.at)


for _case in CASES:
    globals()[f"Time{_case.__name__}"] = type(
        f"Time{_case.__name__}", (_Asv,), {"case": _case, "number": 1, "repeat": 5}
    )
