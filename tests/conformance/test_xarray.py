"""xarray's test classes for backends, with "ncforge" reading and writing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import xarray as xr
from xarray.tests import test_backends as tb
from xarray.tests import test_backends_datatree as td

import ncforge.xarray

ncforge.xarray.register_writer()


class Ncforge:
    """The engine, and a store to write to."""

    engine: Any = "ncforge"
    file_format: Any = None

    @contextlib.contextmanager
    def create_store(self) -> Iterator[Any]:
        from ncforge._xarray.writing import WritingStore

        with (
            tb.create_tmp_file() as path,
            WritingStore.open(path, mode="w", format=self.file_format or "NETCDF4") as store,
        ):
            yield store


class TestNetcdf4(Ncforge, tb.NetCDF4Base):
    pass


class TestNetcdf4ByOthers(Ncforge, tb.NetCDF4Base):
    """Reading what netCDF4-python writes."""

    def save(self, ds: Any, path: Any, **options: Any) -> Any:
        return ds.to_netcdf(path, engine="netcdf4", format=self.file_format, **options)


class TestNetcdf3Classic(Ncforge, tb.NetCDF3Only, tb.CFEncodedBase):
    file_format = "NETCDF3_CLASSIC"


class TestNetcdf3Offset64(Ncforge, tb.NetCDF3Only, tb.CFEncodedBase):
    file_format = "NETCDF3_64BIT"


class TestNetcdf4Classic(Ncforge, tb.NetCDF3Only, tb.CFEncodedBase):
    file_format = "NETCDF4_CLASSIC"


class TestInMemory(Ncforge, tb.InMemoryNetCDFWithGroups):
    pass


class TestFileObject(Ncforge, tb.FileObjectNetCDF):
    pass


class TestDask(Ncforge, tb.NetCDF4Base):
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


class TestDataTreeOfNetcdf4(Ncforge, tb.NetCDF4Base):
    """The tests of netCDF-4 again, read as trees."""

    @contextlib.contextmanager
    def open(self, path: Any, **options: Any) -> Iterator[Any]:
        with xr.open_datatree(path, engine=self.engine, **options) as tree:
            yield tree.to_dataset()

    @pytest.mark.skip(reason="cannot be a tree (as in xarray's own class)")
    def test_child_group_with_inconsistent_dimensions(self) -> None:
        pass


class TestDataTree(Ncforge, td.NetCDFIOBase):
    """``DataTree.to_netcdf`` has a fixed list of engines; ``ncforge.to_netcdf`` stands in for it."""

    @pytest.fixture(autouse=True)
    def writing(self, monkeypatch: Any) -> None:
        monkeypatch.setattr(xr.DataTree, "to_netcdf", ncforge.xarray.to_netcdf)
