"""``ncforge.virtualizarr.Parser``: VirtualiZarr, zarr-python and icechunk read the values that are in the files, bit for bit."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
import servers
from access_point_files import raw_chunk
from access_point_files import write as write_points
from access_points import MAGIC
from conftest import DATA
from virtual import chunks_of_hdf5, equal, every_kind, files_of_all_indexes, raw, some, variables

virtualizarr = pytest.importorskip("virtualizarr")

import xarray as xr  # noqa: E402
import zarr  # noqa: E402
from obspec_utils.registry import ObjectStoreRegistry  # noqa: E402
from obstore.store import HTTPStore, LocalStore  # noqa: E402
from virtualizarr.parsers import HDFParser  # noqa: E402

from datasets import created  # noqa: E402
from ncforge.virtualizarr import Parser  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore")]
REAL = sorted([*DATA.glob("*.nc"), *DATA.glob("*.cdf")])


def registry() -> ObjectStoreRegistry:
    return ObjectStoreRegistry({"file://": LocalStore()})


def there(group: Any, at: str = "") -> set[str]:
    """The paths of all arrays: a ManifestStore takes any name for that of a group."""
    below = [there(group.groups[name], f"{at}{name}/") for name in group.groups]
    return {f"{at}{name}" for name in group.arrays}.union(*below)


def check(path: Path) -> int:
    """Whether zarr-python reads all arrays of the parsed file; how many there are."""
    store = Parser()(path.as_uri(), registry())
    group, count = zarr.open_group(store, mode="r", zarr_format=3), 0
    arrays = there(store._group)
    with ncforge.Dataset(path) as file:
        for name, var in variables(file).items():
            if name in arrays:
                array, values = group[name], raw(var)
                assert isinstance(array, zarr.Array)
                for key in some(array):
                    equal(array[key], values[key], f"{path.name}: {name}")
                count += 1
    return count


@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_files(path: Path) -> None:
    with netCDF4.Dataset(path) as file:
        assert check(path) == len(variables(file))


@pytest.mark.parametrize(("dtype", "how"), [("f4", {}), (">f8", {"endian": "big"}), ("f4", {"fletcher32": True})])
def test_chunks_with_access_points(tmp_path: Path, dtype: str, how: dict[str, Any]) -> None:
    """Bytes after a stream are ignored, by references of ours and of VirtualiZarr's own parser."""
    path = tmp_path / "a.nc"
    values = write_points(path, dtype, (2, 200, 333), **how)
    assert raw_chunk(path, (0, 0, 0), "fletcher32" in how).endswith(MAGIC)
    for parser in (Parser(), HDFParser()):
        group = zarr.open_group(parser(path.as_uri(), registry()), mode="r", zarr_format=3)
        equal(group["v"][...], values, "v")


def test_files_of_a_web_server() -> None:
    with servers.web(DATA) as web:
        store = HTTPStore(web.url, client_options={"allow_http": True})
        for path in REAL:
            virtual = Parser()(f"{web.url}/{path.name}", ObjectStoreRegistry({web.url: store}))
            group = zarr.open_group(virtual, mode="r", zarr_format=3)
            with ncforge.Dataset(path) as file:
                for name, var in variables(file).items():
                    equal(group[name][...], raw(var), f"{path.name}: {name}")


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"])
def test_every_kind_of_variable(tmp_path: Path, format: str) -> None:
    path = tmp_path / "every.nc"
    every_kind(path, format)
    assert check(path) > 40


def test_files_of_all_kinds_of_chunk_indexes(hdf5_cases: Path) -> None:
    assert sum(check(path) for path in files_of_all_indexes(hdf5_cases)) > 300
    for path in hdf5_cases.glob("h5_indexes*"):
        store = Parser()(path.as_uri(), registry())
        for name, chunks in chunks_of_hdf5(path).items():
            *groups, last = name.split("/")
            at = functools.reduce(lambda group, below: group.groups[below], groups, store._group)
            found = at.arrays[last].manifest.dict()
            assert {key: (chunk["offset"], chunk["length"]) for key, chunk in found.items()} == chunks, (
                path.name,
                name,
            )


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    path = tmp_path / "strings.nc"
    with created(path, x=3) as new:
        new.createVariable("v", "i4", ("x",))[:] = range(3)
        new.createVariable("names", str, ("x",))[:] = np.array(["a", "b", "c"], dtype=object)
    from ncforge import virtualizarr as ours

    if ours._INLINES:
        group = zarr.open_group(Parser()(path.as_uri(), registry()), mode="r")
        assert list(group["names"][...]) == ["a", "b", "c"]
        return
    with pytest.warns(UserWarning, match="`names` is not in the virtual store: its values are not ranges of bytes"):
        store = Parser()(path.as_uri(), registry())
    assert set(zarr.open_group(store, mode="r")) == {"v"}
    with pytest.raises(KeyError, match="no group `below`"):
        Parser(group="below")(path.as_uri(), registry())


def test_groups(tmp_path: Path) -> None:
    path = tmp_path / "every.nc"
    every_kind(path)
    store = Parser(group="a/b", drop_variables=["none"])(path.as_uri(), registry())
    equal(zarr.open_group(store, mode="r")["below"][...], np.arange(7, dtype="f4"), "below")
    store = Parser(group="a/b", drop_variables=["below"])(path.as_uri(), registry())
    assert list(zarr.open_group(store, mode="r")) == []


def parts(folder: Path, format: Any = "NETCDF4") -> list[Path]:
    """Files that follow each other."""
    paths = []
    for i in range(3):
        path = folder / f"{i}.nc"
        with created(path, format=format, time=4, y=6, x=8) as new:
            time = new.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            time[:] = np.arange(4) + 4 * i
            how: dict[str, Any] = {"zlib": True, "chunksizes": (2, 6, 4)} if format == "NETCDF4" else {}
            var = new.createVariable("v", "f4", ("time", "y", "x"), fill_value=-1.0, **how)
            var[:] = np.random.default_rng(i).normal(size=(4, 6, 8))
            var.long_name = "values"
        paths.append(path)
    return paths


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
def test_virtual_datasets_are_joined_and_written(tmp_path: Path, format: str) -> None:
    paths = parts(tmp_path, format)
    urls = [p.as_uri() for p in paths]
    with ThreadPoolExecutor(2) as pool:
        opened = list(pool.map(lambda url: virtualizarr.open_virtual_dataset(url, registry(), Parser()), urls))
    joined = xr.concat(opened, dim="time", coords="minimal", compat="override")
    with xr.open_mfdataset(paths, engine="netcdf4", combine="nested", concat_dim="time") as want:
        want = want.load()
    refs = joined.vz.to_kerchunk(format="dict")
    options = {"consolidated": False, "storage_options": {"fo": refs, "remote_protocol": "file"}}
    with xr.open_dataset("reference://", engine="zarr", backend_kwargs=options) as got:
        xr.testing.assert_identical(got["v"].drop_vars("time").load(), want["v"].drop_vars("time"))


def test_icechunk(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk")
    paths = parts(tmp_path)
    opened = [virtualizarr.open_virtual_dataset(p.as_uri(), registry(), Parser()) for p in paths]
    joined = xr.concat(opened, dim="time", coords="minimal", compat="override")
    config = icechunk.RepositoryConfig.default()
    prefix = tmp_path.as_uri() + "/"
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(prefix, store=icechunk.local_filesystem_store(str(tmp_path)))
    )
    allowed = icechunk.containers_credentials({prefix: None})
    repo = icechunk.Repository.create(icechunk.in_memory_storage(), config, authorize_virtual_chunk_access=allowed)
    session = repo.writable_session("main")
    joined.vz.to_icechunk(session.store)
    session.commit("references")
    with (
        xr.open_zarr(repo.readonly_session("main").store, consolidated=False) as got,
        xr.open_mfdataset(paths, engine="netcdf4", combine="nested", concat_dim="time") as want,
    ):
        np.testing.assert_array_equal(got["v"].values, want["v"].values)


def test_it_says_what_the_other_parser_says(tmp_path: Path) -> None:
    path = parts(tmp_path)[0]
    ours, theirs = Parser()(path.as_uri(), registry()), HDFParser()(path.as_uri(), registry())
    for name in ("time", "v"):
        a, b = ours._group[name], theirs._group[name]
        assert a.manifest.dict() == b.manifest.dict()
        assert (a.shape, a.chunks, a.dtype) == (b.shape, b.chunks, b.dtype)
        assert a.metadata.codecs == b.metadata.codecs
        assert a.metadata.attributes == b.metadata.attributes
        assert a.metadata.dimension_names == b.metadata.dimension_names
        assert a.metadata.fill_value == b.metadata.fill_value


def test_kerchunk_json_of_ours(tmp_path: Path) -> None:
    """References without chunks in the document are what VirtualiZarr's parser of such documents reads."""
    from virtualizarr.parsers import KerchunkJSONParser

    paths = parts(tmp_path)
    out = tmp_path / "refs.json"
    ncforge.references(paths, out, inline=0, along="time")
    store = KerchunkJSONParser()(out.as_uri(), registry())
    with xr.open_mfdataset(paths, engine="netcdf4", combine="nested", concat_dim="time", mask_and_scale=False) as want:
        equal(zarr.open_group(store, mode="r")["v"][...], want["v"].values, "v")
