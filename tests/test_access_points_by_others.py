"""Deflate chunks with access points, read by other libraries and programs: all types, as they were written and where others changed them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import access_points
import ncforge
from commands import execute

#: Types of 1 to 8 bytes in both byte orders, at all levels.
KINDS = ["i1", "<i2", ">u2", "<i4", ">u4", "<f4", ">f4", "<f4", "<f8", ">f8", "<i8", ">i8"]

#: Reads variables of a file; a folder is its own.
Reader = Callable[[Path, list[str], Path], dict[str, Any]]
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Arrays]:
    """A file of variables of every kind, with and without checksums, whose chunks end beyond the array."""
    path, arrays = tmp_path_factory.mktemp("many") / "many.nc", Arrays()
    rng = np.random.default_rng(0)
    with ncforge.Dataset(path, "w") as d:
        for name, n in zip("tyx", (2, 200, 330), strict=True):
            d.createDimension(name, n)
        for i, dtype in enumerate(KINDS):
            own, checksum = np.dtype(dtype).newbyteorder("="), i % 2 == 0
            name = f"{own.name}_{i}{'_sum' * checksum}{'_big' * (dtype[0] == '>')}"
            how: dict[str, Any] = {"zlib": True, "complevel": 1 + i % 9, "fletcher32": checksum}
            how["endian"] = {">": "big", "<": "little"}.get(dtype[0], "native")
            v = d.createVariable(name, own, ("t", "y", "x"), chunksizes=(2, 180, 200), **how)
            v.set_auto_maskandscale(False)
            values = 3000 * rng.normal(size=(2, 200, 330)) + 2000 * np.sin(np.arange(330) / 40)
            values = np.abs(values) if own.kind == "u" else values / (1 if own.itemsize > 1 else 300)
            v[:] = arrays[name] = values.astype(own)
    return path, arrays


@pytest.fixture(scope="module")
def updated(many: tuple[Path, Arrays], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Arrays]:
    """The file, of which netCDF4 and h5py have changed some chunks of each variable and left the others."""
    path = tmp_path_factory.mktemp("updated") / "updated.nc"
    shutil.copyfile(many[0], path)
    arrays = {name: values.copy() for name, values in many[1].items()}
    with netCDF4.Dataset(path, "a") as d:
        d.set_auto_maskandscale(False)
        for name, values in arrays.items():
            d[name][1, 40:60, 50:90] = values[1, 40:60, 50:90] = 7
    with h5py.File(path, "a") as f:
        for name, values in arrays.items():
            f[name][0, 190:, 320:] = values[0, 190:, 320:] = 3
    return path, arrays


#: What a reader finds of each variable.
Found = dict[str, Any]


def by_netcdf4(path: Path, names: list[str], _: Path) -> Found:
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        return {name: d[name][:] for name in names}


def by_h5py(path: Path, names: list[str], _: Path) -> Found:
    with h5py.File(path) as f:
        return {name: f[name][:] for name in names}


def by_copies(*tool: str) -> Reader:
    """The copies that a tool makes."""

    def copied(path: Path, names: list[str], tmp: Path) -> Found:
        if shutil.which(tool[0]) is None:
            pytest.skip(f"{tool[0]} is not installed")
        execute(*tool, path, tmp / "copy.nc")
        return by_h5py(tmp / "copy.nc", names, tmp)

    return copied


def by_h5dump(path: Path, names: list[str], tmp: Path) -> Found:
    found, types = {}, by_h5py(path, names, tmp)
    for name in names:
        execute("h5dump", "-d", name, "-b", "LE", "-o", tmp / "out", path)
        values = np.fromfile(tmp / "out", types[name].dtype.newbyteorder("<"))
        found[name] = values.reshape(types[name].shape)
    return found


def by_ncdump(path: Path, names: list[str], tmp: Path) -> Found:
    """Integers alone: floats are printed with some of their digits."""
    found = by_h5py(path, names, tmp)
    for name in names:
        if found[name].dtype.kind in "iu" and found[name].dtype.itemsize > 1:
            shown = execute("ncdump", "-v", name, path).stdout
            numbers = re.sub(r"\b_\b", "0", shown.split(f" {name} =")[1])
            found[name] = np.array(re.findall(r"-?\d+", numbers), "i8").reshape(found[name].shape)
    return found


def by_pyfive(path: Path, names: list[str], _: Path) -> Found:
    with pytest.importorskip("pyfive").File(str(path)) as f:
        return {name: f[name][:] for name in names}


def by_hidefix(path: Path, names: list[str], tmp: Path) -> Found:
    """It knows neither checksums nor big-endian numbers, and opens no file that has some. HDF5 copies objects with their stored chunks."""
    hidefix = pytest.importorskip("hidefix")
    names = [name for name in names if "_sum" not in name and "_big" not in name]
    with h5py.File(path) as f, h5py.File(tmp / "some.nc", "w") as out:
        for name in names:
            f.copy(f[name], out, name)
    index = hidefix.Index(str(tmp / "some.nc"))
    return {name: index[name][:, :, :] for name in names}


def by_kerchunk(path: Path, names: list[str], _: Path) -> Found:
    """numcodecs decodes the chunks. kerchunk leaves out variables with checksums."""
    opened = pytest.importorskip("virtual").opened
    group = opened(pytest.importorskip("kerchunk.hdf").SingleHdf5ToZarr(str(path)).translate())
    return {name: group[name][...] for name in names if "_sum" not in name}


def by_references(path: Path, names: list[str], _: Path) -> Found:
    group = pytest.importorskip("virtual").opened(ncforge.references(path))
    return {name: group[name][...] for name in names}


def by_virtualizarr(path: Path, names: list[str], _: Path) -> Found:
    parsers, zarr = pytest.importorskip("virtualizarr.parsers"), pytest.importorskip("zarr")
    registry = pytest.importorskip("obspec_utils.registry").ObjectStoreRegistry
    local = pytest.importorskip("obstore.store").LocalStore
    store = parsers.HDFParser()(path.as_uri(), registry({"file://": local()}))
    group = zarr.open_group(store, mode="r", zarr_format=3)
    return {name: group[name][...] for name in names}


#: Prints each dataset as numbers of 8 bytes.
JAVA = """
import io.jhdf.HdfFile; import io.jhdf.api.Dataset; import java.io.*; import java.lang.reflect.Array; import java.nio.file.*;
public class Values { public static void main(String[] args) throws Exception {
  try (HdfFile file = new HdfFile(Paths.get(args[0]))) { for (int i = 2; i < args.length; i++) {
    Object all = ((Dataset) file.getByPath(args[i])).getDataFlat();
    try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(args[1] + args[i])))) {
      for (int k = 0; k < Array.getLength(all); k++) out.writeDouble(((Number) Array.get(all, k)).doubleValue());
  } } } } }
"""


def by_jhdf(path: Path, names: list[str], tmp: Path) -> Found:
    """Where a JDK is, and jHDF in Maven's own folder (`mvn dependency:get -Dartifact=io.jhdf:jhdf:0.9.4`)."""
    jars = [*(Path.home() / ".m2" / "repository").rglob("*.jar")]
    if shutil.which("java") is None or not any(jar.name.startswith("jhdf-") for jar in jars):
        pytest.skip("jHDF is not here")
    wanted = [
        str(jar)
        for jar in jars
        if jar.name.startswith(("jhdf-", "slf4j-api-", "commons-lang3-", "compress-lzf-", "lz4-"))
    ]
    (tmp / "Values.java").write_text(JAVA)
    java = ["java", "-cp", ":".join(wanted), str(tmp / "Values.java"), str(path), f"{tmp}/out-"]
    execute(*java, *names)
    shapes = by_h5py(path, names, tmp)
    return {name: np.fromfile(tmp / f"out-{name}", ">f8").reshape(shapes[name].shape) for name in names}


READERS: dict[str, Reader] = {
    "netCDF4": by_netcdf4,
    "h5py": by_h5py,
    "nccopy": by_copies("nccopy", "-d", "1"),
    "h5repack": by_copies("h5repack", "-f", "NONE"),
    "h5repack -f GZIP=1": by_copies("h5repack", "-f", "GZIP=1"),
    "ncks": by_copies("ncks", "-O"),
    "h5dump": by_h5dump,
    "ncdump": by_ncdump,
    "pyfive": by_pyfive,
    "hidefix": by_hidefix,
    "kerchunk": by_kerchunk,
    "references": by_references,
    "VirtualiZarr": by_virtualizarr,
    "jHDF": by_jhdf,
}


def test_most_of_these_chunks_have_access_points(many: tuple[Path, Arrays]) -> None:
    path, arrays = many
    with h5py.File(path) as f:
        found = [access_points.MAGIC in f[name].id.read_direct_chunk((0, 0, 0))[1][-12:] for name in arrays]
    assert sum(found) >= 2 * len(KINDS) // 3, dict(zip(arrays, found, strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", READERS)
def test_everybody_reads_every_kind(
    many: tuple[Path, Arrays], updated: tuple[Path, Arrays], tmp_path: Path, reader: str
) -> None:
    """Files as they were written, and files in which others have stored some chunks anew."""
    for path, arrays in (many, updated):
        found = READERS[reader](path, list(arrays), tmp_path)
        assert len(found) >= len(KINDS) // 4
        for name, got in found.items():
            values, want = np.asarray(got), arrays[name]
            assert values.shape == want.shape and np.array_equal(values.astype(want.dtype), want), name


def test_ncforge_reads_parts_of_chunks_that_others_have_stored_anew(updated: tuple[Path, Arrays]) -> None:
    path, arrays = updated
    for name, want in arrays.items():
        keys: list[Any] = [np.s_[:, 50, 60], np.s_[1, 7, :], np.s_[0, 170:190, 195:205], np.s_[:, ::70, ::90]]
        for key in keys:
            with ncforge.Dataset(path) as d:
                d.set_auto_maskandscale(False)
                assert np.array_equal(d[name][key], want[key]), (name, key)
