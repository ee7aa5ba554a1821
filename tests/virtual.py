"""Shared by the tests of references: a reader that knows nothing of netCDF, and files with every kind of variable."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path
from typing import Any

import fsspec
import h5py
import netCDF4
import numpy as np
import pytest
import zarr
from zarr.storage import FsspecStore

import ncforge
from datasets import created

#: zarr-python warns of types without a specification, netCDF4-python of types that it leaves out.
IGNORED = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:The .fastparquet. engine:Warning"),
]

NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")

CODECS: dict[str, dict[str, Any]] = {
    "contiguous": {"contiguous": True},
    "chunked": {"chunksizes": (3, 4)},
    "deflate": {"chunksizes": (3, 4), "zlib": True, "shuffle": False},
    "shuffled": {"chunksizes": (3, 4), "zlib": True, "complevel": 9},
    "checked": {"chunksizes": (3, 3), "zlib": True, "fletcher32": True},
    "checksum": {"chunksizes": (3, 3), "fletcher32": True},
    "zstd": {"chunksizes": (3, 4), "compression": "zstd"},
    "bzip2": {"chunksizes": (3, 4), "compression": "bzip2"},
    "blosc": {"chunksizes": (7, 9), "compression": "blosc_lz4", "blosc_shuffle": 2},
}


def store(refs: Any, **options: Any) -> FsspecStore:
    """The references as kerchunk's readers have them: a file system of fsspec's."""
    fs = fsspec.filesystem(
        "reference",
        fo=refs,
        remote_protocol="file",
        asynchronous=True,
        remote_options={"asynchronous": True},
        skip_instance_cache=True,
        **options,
    )
    return FsspecStore(fs, read_only=True)


def opened(refs: Any, **options: Any) -> zarr.Group:
    """The references as a group of zarr-python's."""
    return zarr.open_group(store(refs, **options), mode="r", zarr_format=2)


def raw(var: Any) -> np.ndarray:
    """The stored values of a variable."""
    var.set_auto_maskandscale(False)
    var.set_auto_chartostring(False)
    return np.asarray(var[...])


def equal(got: Any, want: Any, name: str) -> None:
    """Types, shapes and bits are equal, but for byte order."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, name
    if want.dtype.kind in "OUT":
        assert [str(x) for x in got.ravel()] == [str(x) for x in want.ravel()], name
        return
    native = want.dtype.newbyteorder("=")
    assert got.dtype.newbyteorder("=") == native, name
    assert got.astype(native).tobytes() == want.astype(native).tobytes(), name


def variables(group: Any, at: str = "") -> dict[str, Any]:
    """All variables of a dataset by path."""
    found = {f"{at}{name}": var for name, var in group.variables.items()}
    for name, below in group.groups.items():
        found |= variables(below, f"{at}{name}/")
    return found


def same_values(path: Path, group: zarr.Group, reader: Any = ncforge, without: frozenset[str] = frozenset()) -> int:
    """Whether all arrays have the values of a file, as far as ``some`` looks at them; how many there are."""
    with reader.Dataset(path) as file:
        of_file = variables(file)
        arrays = {name: group[name] for name in of_file if name not in without}
        for name, array in arrays.items():
            assert isinstance(array, zarr.Array)
            values = raw(of_file[name])
            for key in some(array):
                equal(array[key], values[key], f"{path.name}: {name}")
    return len(arrays)


def some(array: zarr.Array) -> list[Any]:
    """The parts of an array to look at: all of it, or of more than 300 chunks, which zarr-python reads one by one, those at the
    beginning, behind four fifths, and at the end. ``chunks_of_hdf5`` tells of the other ones.
    """
    if np.prod([-(-length // chunk) for length, chunk in zip(array.shape, array.chunks, strict=True)]) <= 300:
        return [...]
    begins = product(*((0, n * 4 // 5, n - 30) for n in array.shape))
    return [tuple(slice(begin, begin + 30) for begin in at) for at in begins]


def chunks_of_hdf5(path: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """Where HDF5 finds the chunks of datasets whose chunks all went through all filters: offset and size by dataset and place
    in its grid, as Zarr writes it.
    """
    found: dict[str, dict[str, tuple[int, int]]] = {}

    def visit(name: str, item: Any) -> None:
        # Of a dataset that is unlimited, but not along the first dimension, HDF5 1.14 tells the places of chunks wrongly.
        odd = isinstance(item, h5py.Dataset) and None in item.maxshape and item.maxshape[0] is not None
        if isinstance(item, h5py.Dataset) and item.chunks is not None and item.size and not odd:
            infos: list[Any] = []
            item.id.chunk_iter(infos.append)
            if not any(info.filter_mask for info in infos):
                places = [zip(info.chunk_offset, item.chunks, strict=True) for info in infos]
                keys = [".".join(str(offset // length) for offset, length in place) for place in places]
                found[name] = {key: (info.byte_offset, info.size) for key, info in zip(keys, infos, strict=True)}

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def files_of_all_indexes(folder: Path) -> list[Path]:
    """Those of ``make_hdf5_cases.py``. Of files of 37,000 chunks, which zarr-python reads one by one, there are the first and the
    last version of HDF5's format: the versions between have the indexes of one of them, as ``test_read_hdf5.py`` reads them.
    """
    between = {f"h5_indexes_{version}.h5" for version in ("v108", "v110", "v112", "v114")}
    return sorted(path for path in folder.iterdir() if path.name not in between)


def every_kind(path: Path, format: Any = "NETCDF4") -> None:
    """A file with every type of numbers, codec, fill value and kind of dimension."""
    random = np.random.default_rng(3)
    new = netCDF4.Dataset(path, "w", format=format)
    classic = format != "NETCDF4"
    for name, length in (("t", None), ("y", 7), ("x", 9)):
        new.createDimension(name, length)
    numbers = NUMBERS if format in {"NETCDF4", "NETCDF3_64BIT_DATA"} else ("i1", "i2", "i4", "f4", "f8")
    codecs = {"contiguous": {}} if classic else CODECS
    for kind in numbers:
        values = random.integers(0, 100, size=(7, 9)).astype(kind)
        for codec, how in codecs.items():
            if codec == "blosc":
                if np.dtype(kind).itemsize < 4:
                    continue  # HDF5's plugin fails for what does not get smaller.
                values = np.repeat(values[:, :1], 9, axis=1)
            for fill in (None, 7, False):
                name = f"{kind}_{codec}_{fill}"
                var = new.createVariable(name, kind, ("y", "x"), fill_value=fill, **how)
                # Some chunks are never written; without a fill value, their values are whatever was in memory.
                var[: 7 if fill is False else 2] = values[: 7 if fill is False else 2]
            var = new.createVariable(f"{kind}_{codec}_empty", kind, ("y", "x"), **how)
            var = new.createVariable(f"{kind}_{codec}_empty_7", kind, ("y", "x"), fill_value=7, **how)
        if not classic:
            var = new.createVariable(f"{kind}_big", kind, ("y", "x"), endian="big", chunksizes=(2, 5), zlib=True)
            var[:] = values
        var = new.createVariable(f"{kind}_t", kind, ("t", "y"))
        var[:5] = values[:5, :7]
        new.createVariable(f"{kind}_scalar", kind)[...] = values[0, 0]
    for name, value in (("nan", np.nan), ("inf", np.inf), ("minus_inf", -np.inf)):
        for kind in ("f4", "f8"):
            how = {} if classic else {"chunksizes": (2, 9)}
            new.createVariable(f"{name}_{kind}", kind, ("y", "x"), fill_value=value, **how)[:1] = 1.5
    text = new.createVariable("text", "S1", ("t", "y"), fill_value=b"?")
    text[:3] = np.array([[b"a", b"b", b"", b"c", b" ", b"\xe9", b"z"]] * 3)
    if not classic:
        strings = new.createVariable("strings", str, ("y",))
        strings[:5] = np.array(["", "a", "größer", "日本", "x" * 300], dtype=object)
        new.createVariable("string", str)[...] = "one"
        new.createVariable("many_strings", str, ("t",))[:5] = np.array([*"abcde"], dtype=object)
        group = new.createGroup("a").createGroup("b")
        group.createVariable("below", "f4", ("y",))[:] = range(7)
    new.title = "every kind"
    new.numbers = np.array([1.5, np.nan, np.inf])
    new.close()


def fetched(store: Any, key: str) -> bytes | None:
    """The bytes of one key of a store."""
    from zarr.core.buffer import default_buffer_prototype

    found = asyncio.run(store.get(key, default_buffer_prototype()))
    return None if found is None else found.to_bytes()


def days(folder: Path, lengths: list[int], **change: Any) -> list[Path]:
    """Files that follow each other."""
    paths, begin = [], 0
    for i, n in enumerate(lengths):
        path = folder / f"{i}.nc"
        with created(
            path, format=change.get("format", "NETCDF4"), time=None if change.get("unlimited", True) else n, x=50
        ) as new:
            time = new.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            time[:] = np.arange(begin, begin + n)
            new.createVariable("x", "f4", ("x",))[:] = np.arange(50)
            how = change.get("how", {"zlib": True, "chunksizes": (change.get("chunk", 1), 50)})
            values = np.random.default_rng(i).normal(size=(n, 50)).astype("f4")
            new.createVariable("v", "f4", ("time", "x"), **how)[:] = values
            if "format" not in change:
                new.createVariable("w", "f4", ("x", "time"))[:] = values.T
            new.createVariable("plain", "i4")[...] = 5
        paths.append(path)
        begin += n
    return paths


def joined(paths: list[Path], name: str) -> np.ndarray:
    """The values of a variable of all files."""
    parts = []
    for path in paths:
        with netCDF4.Dataset(path) as file:
            var = file[name]
            axis = var.dimensions.index("time") if "time" in var.dimensions else None
            parts.append(raw(var))
    return parts[0] if axis is None else np.concatenate(parts, axis=axis)
