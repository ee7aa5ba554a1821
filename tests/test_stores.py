"""Files in stores that packages of Python read, ``store=``: obstore, fsspec, and what has their methods."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
import servers
from conftest import DATA
from servers import assert_same


@pytest.fixture
def web(tmp_path: Path) -> Iterator[servers.Web]:
    with servers.web_of_a_file(tmp_path / "served", 300) as running:
        yield running


def test_obstore(web: servers.Web) -> None:
    obstore = pytest.importorskip("obstore")
    from obstore.store import LocalStore, from_url

    assert obstore
    web_store = from_url(web.url, client_options={"allow_http": True})
    for store in (LocalStore(str(web.folder)), web_store):
        with ncforge.Dataset("a.nc", store=store) as remote:
            assert_same(remote, web.folder / "a.nc")
        ours = xr.open_dataset("a.nc", engine="ncforge", store=store)
        with xr.open_dataset(web.folder / "a.nc", engine="netcdf4") as theirs:
            xr.testing.assert_identical(ours.load(), theirs.load())


def test_fsspec(web: servers.Web, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/a.nc", (web.folder / "a.nc").read_bytes())
    local = fsspec.filesystem("file")
    for system, path in ((memory, "memory://a.nc"), (local, str(web.folder / "a.nc"))):
        with ncforge.Dataset(path, store=system) as remote:
            assert_same(remote, web.folder / "a.nc")
        with pickle.loads(pickle.dumps(ncforge.Dataset(path, store=system))) as again:
            assert_same(again, web.folder / "a.nc")
    with pytest.raises(TypeError, match="get_ranges"):
        ncforge.Dataset("a.nc", store=object())


@pytest.mark.parametrize("kind", ["obstore", "fsspec"])
def test_an_object_of_a_store_that_is_replaced(tmp_path: Path, kind: str) -> None:
    """Of a length that stays the same, while it is open: no value of the new one."""
    versions = []
    for value in (1, 2):
        with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as ds:
            ds.createDimension("x", 1_000_000)
            ds.createVariable("v", "f8", ("x",))[:] = value
        versions.append((tmp_path / "a.nc").read_bytes())
    if kind == "obstore":
        store = pytest.importorskip("obstore").store.MemoryStore()
        put = partial(store.put, "a.nc")
    else:
        store = pytest.importorskip("fsspec").filesystem("memory")
        put = partial(store.pipe_file, "a.nc")
    put(versions[0])
    with ncforge.Dataset("a.nc", store=store) as ds:
        assert ds["v"][:3].tolist() == [1, 1, 1]
        put(versions[1])
        with pytest.raises(ncforge.errors.ChangedError):
            ds["v"][:]
    with ncforge.Dataset("a.nc", store=store) as ds:
        assert np.all(ds["v"][:] == 2)


def test_a_system_of_what_is_needed_alone() -> None:
    class Bare:
        def _strip_protocol(self, path: str) -> str:
            return path

        def info(self, path: str) -> dict[str, int]:
            return {"size": os.path.getsize(path)}

        def cat_ranges(self, paths: list[str], starts: list[int], ends: list[int], on_error: str) -> list[bytes]:
            return [Path(path).read_bytes()[a:b] for path, a, b in zip(paths, starts, ends, strict=True)]

    with ncforge.Dataset(str(DATA / "uv300.nc"), store=Bare()) as ds:
        assert_same(ds, DATA / "uv300.nc")


def test_weak_marks_are_no_versions() -> None:
    """As for URLs: a server may make another one for each answer."""
    file = (DATA / "uv300.nc").read_bytes()
    tags = itertools.count()

    class Weak:
        def head(self, path: str) -> dict[str, Any]:
            return {"size": len(file), "e_tag": f'W/"{next(tags)}"', "last_modified": "yesterday"}

        def get_ranges(self, path: str, *, starts: list[int], ends: list[int]) -> list[bytes]:
            return [file[a:b] for a, b in zip(starts, ends, strict=True)]

    with ncforge.Dataset("a.nc", store=Weak()) as ds:
        assert_same(ds, DATA / "uv300.nc")


def test_a_store_that_lies(web: servers.Web) -> None:
    class Liar:
        def head(self, path: str) -> dict[str, int]:
            return {"size": (web.folder / "a.nc").stat().st_size}

        def get_ranges(self, path: str, *, starts: list[int], ends: list[int]) -> list[bytes]:
            return [b"short"] * len(starts)

    with pytest.raises(OSError, match="other bytes than it was asked for"):
        ncforge.Dataset("a.nc", store=Liar())
