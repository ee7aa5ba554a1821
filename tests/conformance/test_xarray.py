"""xarray's test classes for backends, with "ncforge" reading and writing.

``CONFORMANCE_ENGINE=h5netcdf`` runs them with another engine, for its count: what it fails is nobody's fault here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pytest
import xarray as xr
from xarray.tests import test_backends as tb
from xarray.tests import test_backends_datatree as td

import ncforge.xarray

ENGINE = os.environ.get("CONFORMANCE_ENGINE", "ncforge")

if ENGINE == "ncforge":
    ncforge.xarray.register_writer()
    from ncforge._xarray.writing import WritingStore as Store
elif ENGINE == "h5netcdf":
    from xarray.backends import H5NetCDFStore as Store
else:
    raise SystemExit(f"CONFORMANCE_ENGINE={ENGINE}: ncforge and h5netcdf can be counted")


class Engine:
    """The engine, and a store to write to."""

    engine: Any = ENGINE
    file_format: Any = None

    @contextlib.contextmanager
    def create_store(self) -> Iterator[Any]:
        with (
            tb.create_tmp_file() as path,
            Store.open(path, mode="w", format=self.file_format or "NETCDF4") as store,
        ):
            yield store


class TestNetcdf4(Engine, tb.NetCDF4Base):
    pass


class TestNetcdf4ByOthers(Engine, tb.NetCDF4Base):
    """Reading what netCDF4-python writes."""

    def save(self, ds: Any, path: Any, **options: Any) -> Any:
        return ds.to_netcdf(path, engine="netcdf4", format=self.file_format, **options)


class TestNetcdf3Classic(Engine, tb.NetCDF3Only, tb.CFEncodedBase):
    file_format = "NETCDF3_CLASSIC"


class TestNetcdf3Offset64(Engine, tb.NetCDF3Only, tb.CFEncodedBase):
    file_format = "NETCDF3_64BIT"


class TestNetcdf4Classic(Engine, tb.NetCDF3Only, tb.CFEncodedBase):
    file_format = "NETCDF4_CLASSIC"


class TestInMemory(Engine, tb.InMemoryNetCDFWithGroups):
    pass


class TestFileObject(Engine, tb.FileObjectNetCDF):
    pass


class TestDask(Engine, tb.NetCDF4Base):
    """All variables as Dask arrays."""

    @contextlib.contextmanager
    def roundtrip(
        self, data: Any, save_kwargs: Any = None, open_kwargs: Any = None, allow_cleanup_failure: bool = False
    ) -> Iterator[Any]:
        options = {"chunks": -1, **(open_kwargs or {})}
        with super().roundtrip(data, save_kwargs or {}, options, allow_cleanup_failure) as ds:
            yield ds

    @pytest.mark.skip(reason="caching behaves differently with Dask (as in xarray's own class)")
    def test_dataset_caching(self) -> None:
        pass

    @pytest.mark.skip(reason="Dask rewrites indexers (as in xarray's own class)")
    def test_unsorted_index_raises(self) -> None:
        pass


class TestDataTreeOfNetcdf4(Engine, tb.NetCDF4Base):
    """The tests of netCDF-4 again, read as trees."""

    @contextlib.contextmanager
    def open(self, path: Any, **options: Any) -> Iterator[Any]:
        with xr.open_datatree(path, engine=self.engine, **options) as tree:
            yield tree.to_dataset()

    @pytest.mark.skip(reason="cannot be a tree (as in xarray's own class)")
    def test_child_group_with_inconsistent_dimensions(self) -> None:
        pass


class TestDataTree(Engine, td.NetCDFIOBase):
    """``DataTree.to_netcdf`` has a fixed list of engines; ``ncforge.to_netcdf`` stands in for it."""

    @pytest.fixture(autouse=True)
    def writing(self, monkeypatch: Any) -> None:
        if ENGINE == "ncforge":
            monkeypatch.setattr(xr.DataTree, "to_netcdf", ncforge.xarray.to_netcdf)
