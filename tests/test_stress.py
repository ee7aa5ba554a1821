"""Many threads, many open files, all kinds of reads, with netCDF4 and h5py reading in the same process.

Sixteen threads read whole variables, slabs, series, strided boxes, points and attributes of fifty open files (classic
and netCDF-4 of several codecs, written by netCDF4-python, h5py and ncforge) and compare each result with the array
that was written; some open and close files all the while, and others read with netCDF4 and h5py, whose own library
has one lock. ``NCFORGE_STRESS_SECONDS`` says how long (default 5; `make soak` takes 600).
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge

SECONDS = float(os.environ.get("NCFORGE_STRESS_SECONDS", "5"))
THREADS = 16
FILES = 50
SHAPE = (24, 30, 40)
#: What the process may gain while it runs: caches, arenas of the allocator for sixteen threads.
ALLOWED = 400 << 20

#: netCDF4-python and h5py share no lock with each other, each brings an HDF5 of its own that is not made for threads.
NETCDF4_LOCK = threading.Lock()
H5PY_LOCK = threading.Lock()


@dataclass
class Made:
    """A file, and what is in it."""

    path: Path
    arrays: dict[str, np.ndarray]
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    peers: tuple[str, ...] = ()
    """The other readers."""


def fields(seed: int) -> dict[str, np.ndarray]:
    """Arrays of several types, some of them compressible."""
    random = np.random.default_rng(seed)
    smooth = np.cumsum(random.normal(size=SHAPE), axis=0)
    return {
        "noise": random.normal(size=SHAPE).astype("f4"),
        "smooth": smooth.round(2),
        "packed": (smooth * 100).astype("i2"),
        "rare": np.where(random.random(SHAPE) < 0.9, 0, random.integers(0, 1 << 20, SHAPE)).astype("i4"),
        "bytes": random.integers(-128, 128, SHAPE[1:]).astype("i1"),
    }


ATTRIBUTES: dict[str, Any] = {
    "units": "K",
    "long_name": "a field of nothing in particular",
    "scale": np.float64(0.01),
    "range": np.array([-3.0, 3.0], "f4"),
    "flags": np.arange(7, dtype="i4"),
}


def by_dataset(module: Any, path: Path, format: str, arrays: dict[str, np.ndarray], **storage: Any) -> None:
    """Through ``Dataset`` of netCDF4 or of ncforge."""
    with module.Dataset(path, "w", format=format) as ds:
        for name, size in zip("tyx", (None, *SHAPE[1:]), strict=True):
            ds.createDimension(name, size)
        made = {}
        for name, values in arrays.items():
            dims = ("t", "y", "x")[-values.ndim :]
            made[name] = ds.createVariable(name, values.dtype.str[1:], dims, **storage)
            for key, value in ATTRIBUTES.items():
                made[name].setncattr(key, value)
        for name, values in arrays.items():
            made[name][:] = values


def by_h5py(path: Path, arrays: dict[str, np.ndarray], latest: bool, **storage: Any) -> None:
    with h5py.File(path, "w", libver="latest" if latest else "earliest") as f:
        for name, values in arrays.items():
            chunks = {"chunks": tuple(max(1, n // 3) for n in values.shape)} if storage else {}
            made = f.create_dataset(name, data=values, **chunks, **storage)
            made.attrs.update(ATTRIBUTES)


def makers() -> list[tuple[str, tuple[str, ...], Callable[[Path, dict[str, np.ndarray]], None]]]:
    """Names, who else reads them, and how to make them."""

    def dataset(module: Any, format: str, **storage: Any) -> Callable[[Path, dict[str, np.ndarray]], None]:
        return lambda path, arrays: by_dataset(module, path, format, arrays, **storage)

    def plain(latest: bool, **storage: Any) -> Callable[[Path, dict[str, np.ndarray]], None]:
        return lambda path, arrays: by_h5py(path, arrays, latest, **storage)

    both = ("netcdf4", "h5py")
    return [
        ("cdf1-c", ("netcdf4",), dataset(netCDF4, "NETCDF3_CLASSIC")),
        ("cdf2-own", ("netcdf4",), dataset(ncforge, "NETCDF3_64BIT_OFFSET")),
        ("cdf5-c", ("netcdf4",), dataset(netCDF4, "NETCDF3_64BIT_DATA")),
        ("cdf5-own", ("netcdf4",), dataset(ncforge, "NETCDF3_64BIT_DATA")),
        ("nc4-c-raw", both, dataset(netCDF4, "NETCDF4")),
        ("nc4-c-zlib", both, dataset(netCDF4, "NETCDF4", zlib=True, complevel=1)),
        ("nc4-c-checked", both, dataset(netCDF4, "NETCDF4", zlib=True, shuffle=False, fletcher32=True)),
        ("nc4-own-zlib", both, dataset(ncforge, "NETCDF4", zlib=True)),
        ("nc4-own-zstd", (), dataset(ncforge, "NETCDF4", compression="zstd")),
        ("nc4-own-raw", both, dataset(ncforge, "NETCDF4_CLASSIC")),
        ("h5-contiguous", ("h5py",), plain(False)),
        ("h5-lzf", ("h5py",), plain(True, compression="lzf")),
        ("h5-gzip", ("h5py",), plain(True, compression="gzip", shuffle=True)),
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    folder = tmp_path_factory.mktemp("stress")
    out = []
    kinds = makers()
    for i in range(FILES):
        name, peers, make = kinds[i % len(kinds)]
        path, arrays = folder / f"{i:02}-{name}.nc", fields(i)
        make(path, arrays)
        out.append(Made(path, arrays, dict.fromkeys(arrays, ATTRIBUTES), peers))
    return out


def opened(m: Made) -> ncforge.Dataset:
    """The file, its values as they are stored: single ones that stand for missing bytes would come as the masked constant."""
    ds = ncforge.Dataset(m.path)
    ds.set_auto_maskandscale(False)
    return ds


def same(found: Any, expected: Any) -> bool:
    return np.array_equal(np.asarray(found), np.asarray(expected))


def some_key(random: np.random.Generator, shape: tuple[int, ...], kind: str) -> tuple[Any, ...]:
    """A selection of one of the usual kinds."""
    at = [int(random.integers(0, n)) for n in shape]
    match kind:
        case "slab":
            return (at[0],)
        case "series":
            return (slice(None), *at[1:])
        case "point":
            return tuple(at)
        case "strided":
            steps = [int(random.integers(1, 5)) for _ in shape]
            return tuple(slice(a // 2, None, s) for a, s in zip(at, steps, strict=True))
        case "box":
            return tuple(slice(a // 2, a + 1) for a in at)
        case _:
            return (slice(None),) * len(shape)


KINDS = ["whole", "slab", "series", "point", "strided", "box", "attributes"]


class Stress:
    """State that the threads share."""

    def __init__(self, made: list[Made]) -> None:
        self.made = made
        self.open = [opened(m) for m in made]
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.lock = threading.Lock()
        self.end = time.monotonic() + SECONDS

    def going(self) -> bool:
        return time.monotonic() < self.end and not self.wrong

    def judge(self, good: bool, what: str, where: str) -> None:
        with self.lock:
            self.done[what] += 1
            if not good:
                self.wrong.append(f"{what}: {where}")

    def read(self, ds: ncforge.Dataset, m: Made, random: np.random.Generator, kind: str) -> None:
        """One read of a random variable, judged."""
        name = str(random.choice(list(m.arrays)))
        var, expected = ds.variables[name], m.arrays[name]
        where = f"{m.path.name}:{name}"
        if kind == "attributes":
            found = {a: var.getncattr(a) for a in var.ncattrs()}
            wanted = m.attributes[name]
            good = found.keys() == wanted.keys() and all(same(found[a], wanted[a]) for a in wanted)
            self.judge(good, kind, f"{where}: {found}")
            return
        key = some_key(random, expected.shape, kind)
        self.judge(same(var[key], expected[key]), kind, f"{where}{key}")

    def reader(self, seed: int) -> None:
        """Reads from the files that all threads share."""
        random = np.random.default_rng(seed)
        while self.going():
            i = int(random.integers(0, FILES))
            self.read(self.open[i], self.made[i], random, str(random.choice(KINDS)))

    def opener(self, seed: int) -> None:
        """Opens a file of its own, reads a little, closes it."""
        random = np.random.default_rng(seed)
        while self.going():
            m = self.made[int(random.integers(0, FILES))]
            with opened(m) as ds:
                for kind in random.choice(KINDS, 3):
                    self.read(ds, m, random, str(kind))
            with self.lock:
                self.done["opened"] += 1

    def peer(self, seed: int, who: str) -> None:
        """Reads with netCDF4 or h5py."""
        random = np.random.default_rng(seed)
        mine = [m for m in self.made if who in m.peers]
        while self.going():
            m = mine[int(random.integers(0, len(mine)))]
            name = str(random.choice(list(m.arrays)))
            expected = m.arrays[name]
            key = some_key(random, expected.shape, str(random.choice(["whole", "slab", "point", "box"])))
            if who == "netcdf4":
                with NETCDF4_LOCK, netCDF4.Dataset(m.path) as ds:
                    ds.set_auto_maskandscale(False)
                    found = ds.variables[name][key]
            else:
                with H5PY_LOCK, h5py.File(m.path) as f:
                    found = f[name][key]
            self.judge(same(found, expected[key]), who, f"{m.path.name}:{name}{key}")

    def run(self) -> None:
        jobs: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
            *((self.reader, (i,)) for i in range(THREADS - 4)),
            *((self.opener, (100 + i,)) for i in range(2)),
            (self.peer, (200, "netcdf4")),
            (self.peer, (201, "h5py")),
        ]

        def guarded(job: Callable[..., None], args: tuple[Any, ...]) -> None:
            try:
                job(*args)
            except BaseException as e:
                self.judge(False, "exception", f"{job.__name__}{args}: {e!r}")

        threads = [threading.Thread(target=guarded, args=j) for j in jobs]
        for t in threads:
            t.start()
        for t in threads:
            t.join(SECONDS + 600)
        assert not any(t.is_alive() for t in threads), "a thread hangs"


def resident() -> int:
    """Bytes of memory that the process has now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is measured through /proc")
def test_sixteen_threads_over_fifty_files(made: list[Made]) -> None:
    gc.collect()
    open_before = descriptors()
    stress = Stress(made)
    before = resident()
    stress.run()
    assert not stress.wrong, "\n".join(stress.wrong[:20])
    gained = resident() - before
    print(f"{sum(stress.done.values())} reads in {SECONDS} s: {dict(stress.done)}; {gained >> 20} MiB gained")
    for kind in [*KINDS, "opened", "netcdf4", "h5py"]:
        assert stress.done[kind] > 0, f"nobody did {kind}: {stress.done}"
    assert gained < ALLOWED, f"{gained >> 20} MiB more than before"
    for ds in stress.open:
        ds.close()
    assert descriptors() <= open_before, "files are left open"
