"""Failures while ``ncforge.to_netcdf`` writes: they leave nothing, and the old file as it was."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from commands import execute
from xarray_days import back, dataset

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
# xarray says that it loads text which is a Dask array.
pytestmark = pytest.mark.filterwarnings("ignore:variable name has data in the form of a dask array")


def test_a_failure_leaves_nothing_and_the_old_file(tmp_path: Path) -> None:
    import dask.array

    path = tmp_path / "f.nc"
    ncforge.to_netcdf(dataset(), path)
    before = path.read_bytes()

    def fails(block: Any) -> Any:
        raise RuntimeError("no values today")

    bad = dask.array.map_blocks(fails, dask.array.zeros((4, 4), chunks=2), dtype="f8", meta=np.zeros((0, 0)))
    with pytest.raises(RuntimeError, match="no values today"):
        ncforge.to_netcdf(xr.Dataset({"v": (("a", "b"), bad)}), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["f.nc"]


LATER = """
import sys
import dask.array
import numpy as np
import xarray as xr
import ncforge.xarray

def fails(block):
    raise RuntimeError("no values today")

ncforge.xarray.register_writer()
lazy = dask.array.map_blocks(fails, dask.array.zeros((4, 4), chunks=2), dtype="f8", meta=np.zeros((0, 0)))
ds = xr.Dataset({"v": (("a", "b"), lazy)})
held = []
for path in sys.argv[1:]:
    own = ncforge.to_netcdf if "own" in path else lambda ds, path, **how: ds.to_netcdf(path, engine="ncforge", **how)
    later = own(ds, path, compute=False)
    if "failed" in path:
        try:
            later.compute()
        except RuntimeError as error:
            print(error)
    if "held" in path:
        held.append(later)
    del later
"""


def test_what_was_not_computed_replaces_nothing(tmp_path: Path) -> None:
    paths = [
        tmp_path / f"{whose}-{how}.nc" for whose in ("own", "xr") for how in ("failed", "failed-held", "held", "x")
    ]
    for path in paths:
        dataset(days=2).to_netcdf(path, engine="netcdf4")
    before = [path.read_bytes() for path in paths]
    ran = execute(sys.executable, "-c", LATER, *paths, cwd=tmp_path, timeout=60)
    assert ran.stdout.count("no values today") == 4
    assert [path.read_bytes() for path in paths] == before
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_errors_in_the_writer_of_xarray_leave_the_old_file(tmp_path: Path) -> None:
    import dask.array

    import ncforge.xarray

    ncforge.xarray.register_writer()
    path = tmp_path / "f.nc"
    dataset().to_netcdf(path, engine="netcdf4")
    before = path.read_bytes()

    def fails(block: Any) -> Any:
        raise RuntimeError("no values today")

    bad = dask.array.map_blocks(fails, dask.array.zeros((4, 4), chunks=2), dtype="f8", meta=np.zeros((0, 0)))
    big = xr.Dataset({"ok": ("a", np.arange(4)), "v": ("a", np.full(4, 1e9))})
    wrong = xr.Dataset({"ok": ("a", np.arange(4)), "v": ("a", np.array([object()] * 4, object))})
    for ds, how in (
        (xr.Dataset({"v": (("a", "b"), bad)}), {}),
        (big, {"encoding": {"v": {"dtype": "i2", "_FillValue": -1}}}),
        (wrong, {}),
        (xr.DataTree.from_dict({"/": dataset(), "/a": wrong}), {}),
    ):
        for group in ({}, {} if isinstance(ds, xr.DataTree) else {"group": "g"}):
            with pytest.raises((RuntimeError, ValueError, TypeError)):
                ds.to_netcdf(path, engine="ncforge", **how, **group)
            assert path.read_bytes() == before
    # An exception that is being handled is not one of writing.
    try:
        raise KeyError("no file of today")
    except KeyError:
        dataset().isel(time=slice(0, 2)).to_netcdf(path, engine="ncforge")
    assert back(path).sizes["time"] == 2
    assert [p.name for p in tmp_path.iterdir()] == ["f.nc"]


@pytest.mark.parametrize("whose", ["ncforge", "xarray"])
@pytest.mark.parametrize("how", ["method", "function", "together", "definition"])
def test_a_failure_later_gives_the_file_up(tmp_path: Path, whose: str, how: str) -> None:
    import dask.array

    import ncforge.xarray

    ncforge.xarray.register_writer()
    path, other = tmp_path / "later.nc", tmp_path / "other.nc"
    dataset().to_netcdf(path, engine="netcdf4")
    before = path.read_bytes()
    works: list[bool] = []

    def fails(block: Any) -> Any:
        if not works:
            raise RuntimeError("no values today")
        return block

    lazy = dask.array.map_blocks(fails, dask.array.zeros((4, 4), chunks=2), dtype="f8", meta=np.zeros((0, 0)))
    ds = xr.Dataset({"v": (("a", "b"), lazy)})

    def write(to: Path, **more: Any) -> Any:
        if whose == "ncforge":
            return ncforge.to_netcdf(ds, to, compute=False, **more)
        return ds.to_netcdf(to, engine="ncforge", compute=False, **more)  # type: ignore[call-overload]

    kept: list[Any] = []
    if how == "definition":
        with pytest.raises(ValueError, match="chunk") as wrong:
            write(path, encoding={"v": {"chunksizes": (1, 2, 3)}})
        kept.append(wrong)
    else:
        # In the computation of another file, that one goes on.
        later, waiting = write(path), write(other)
        if how == "method":
            compute = later.compute
        else:
            compute = functools.partial(dask.compute, later, *[waiting] * (how == "together"))
        with pytest.raises(RuntimeError, match="no values today") as failed:
            compute()
        kept.append(failed)
    # While the exception is kept, and all that it holds.
    assert path.read_bytes() == before
    dataset().to_netcdf(path, engine="ncforge")
    with ncforge.Dataset(path, "a"):
        pass
    works.append(True)
    if how != "definition":
        with pytest.raises(ncforge.NcforgeError, match="closed"):
            later.compute()
    if how in ("method", "function"):
        waiting.compute()
        assert back(other)["v"].shape == (4, 4)
