"""The data: made from a fixed seed, written by netcdf-c (through netCDF4-python) unless a row wants otherwise."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from harness.model import FileSpec
from harness.processes import BENCHES, Workers

SEED = 20090301
# Hyperslabs: of each the start and the count.
Slabs = list[tuple[tuple[int, ...], tuple[int, ...]]]
DTYPES = {"smooth": "f4", "precip": "f4", "packed": "i2", "floats": "f4", "station": "f4"}


def dtype_of(kind: str) -> np.dtype:
    """The type of a kind of data."""
    return np.dtype(DTYPES[kind])


def nbytes(kind: str, shape: Iterable[int]) -> int:
    """Bytes of all values."""
    return int(np.prod(list(shape), dtype=np.int64)) * dtype_of(kind).itemsize


def _wave(t: int, lat: int, lon: int) -> np.ndarray:
    """A smooth field in kelvin that drifts with time."""
    y = np.linspace(-np.pi / 2, np.pi / 2, lat, dtype=np.float32)[:, None]
    x = np.linspace(0, 2 * np.pi, lon, endpoint=False, dtype=np.float32)[None, :]
    return np.float32(285) + 20 * np.cos(y) + 5 * np.sin(3 * x + np.float32(t / 50)) * np.cos(2 * y)


def _smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Temperature with noise of 0.3 K: the low bytes of the mantissa are random."""
    for t in range(shape[0]):
        noise = rng.standard_normal(shape[1:], np.float32)
        yield (_wave(t, *shape[1:]) + np.float32(0.3) * noise).astype("f4")


def _precip(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Rain in patches, about a quarter of the area; zero elsewhere."""
    for _ in range(shape[0]):
        coarse = rng.random((-(-shape[1] // 8), -(-shape[2] // 8)), np.float32) < 0.3
        patches = np.kron(coarse, np.ones((8, 8), bool))[: shape[1], : shape[2]]
        amount = rng.standard_exponential(shape[1:], np.float32) * np.float32(2e-5)
        yield np.where(patches, amount, np.float32(0)).astype("f4")


def _packed(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The smooth field in steps of 0.01 K around 273.15 K, as 16-bit integers."""
    for field in _smooth(rng, shape):
        yield np.rint((field - np.float32(273.15)) * 100).astype("i2")


def _floats(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """A long row of floats."""
    for at in range(0, shape[0], 1 << 20):
        yield rng.random(min(1 << 20, shape[0] - at), np.float32) * np.float32(1000)


def _station(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The readings of a few instruments, hour by hour."""
    yield np.cumsum(rng.standard_normal(shape, np.float32), axis=0, dtype="f4")


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Iterator[np.ndarray]]] = {
    "smooth": _smooth,
    "precip": _precip,
    "packed": _packed,
    "floats": _floats,
    "station": _station,
}


def _maps(spec: FileSpec) -> list[str]:
    return ["make_maps.py", ",".join(map(str, spec.shape)), spec.kind]


# Of the kinds of files, and of folders of files, that a script makes: its name, and what it is told besides a path.
SCRIPTS: dict[str, Callable[[FileSpec], list[str]]] = {
    "many": lambda spec: ["make_many.py", spec.format, str(spec.shape[0])],
    "series": lambda spec: ["make_series.py", str(spec.shape[0])],
    "history": lambda spec: ["make_history.py", spec.format, ",".join(map(str, spec.shape)), str(spec.deflate)],
    "maps": _maps,
    "maps-auto": _maps,
}


class Data:
    """The folder of the data."""

    def __init__(self, folder: Path, workers: Workers) -> None:
        self.folder = folder
        self.workers = workers
        self._fresh: set[Path] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def source_path(self, kind: str, shape: tuple[int, ...]) -> Path:
        """Where the bare values are, once they are made."""
        return self.folder / f"{kind}-{'x'.join(map(str, shape))}.raw"

    def source(self, kind: str, shape: tuple[int, ...]) -> Path:
        """A file with the bare values, native byte order."""
        path = self.source_path(kind, shape)
        if not path.exists():
            unfinished = path.with_suffix(".tmp")
            rng = np.random.Generator(np.random.PCG64(SEED))
            with unfinished.open("wb") as out:
                for part in KINDS[kind](rng, shape):
                    out.write(part.tobytes())
            unfinished.rename(path)
        return path

    def ensure(self, spec: FileSpec) -> None:
        """Makes a file if it is not there."""
        if spec.path in self._fresh or (spec.path.exists() and not spec.writer.startswith("ncforge")):
            return
        unfinished = spec.path.with_suffix(".tmp")
        if spec.kind in SCRIPTS:
            shutil.rmtree(unfinished, ignore_errors=True)
            script, *more = SCRIPTS[spec.kind](spec)
            subprocess.run([sys.executable, str(BENCHES / "workers" / script), str(unfinished), *more], check=True)
        else:
            request = {"do": "write", "path": unfinished, "var": "v", "type": dtype_of(spec.kind).str[1:]}
            source = {"source": self.source(spec.kind, spec.shape)}
            self.workers.get(spec.writer, 2).ask(request | source | spec.layout())
        if spec.path.is_dir():
            shutil.rmtree(spec.path)
        unfinished.rename(spec.path)
        self._fresh.add(spec.path)

    def forget(self, spec: FileSpec) -> None:
        """Removes a temporary file."""
        spec.path.unlink(missing_ok=True)
        self._fresh.discard(spec.path)

    def slabs(self, name: str, slabs: Slabs) -> Path:
        """A file with hyperslabs: for each its start and its count."""
        path = self.folder / f"{name}.slabs"
        np.array(slabs, np.uint64).tofile(path)
        return path


def offset_of_values(spec: FileSpec) -> int:
    """Where the values begin. In a classic file with one variable they end the file (rounded up to 4 bytes)."""
    if spec.format == "netcdf4":
        import h5py  # in a process that measures nothing

        with h5py.File(spec.path) as data:
            return int(data["v"].id.get_offset())
    return spec.path.stat().st_size - -(-nbytes(spec.kind, spec.shape) // 4) * 4
