"""Chunks that are looked for in a large index by URL: of the tree, only the nodes on the way to them are fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
import servers
from datasets import created

SHAPES = {"long": ((9000,), (2,)), "cube": ((60, 96, 120), (3, 4, 5)), "series": ((6000, 5, 6), (1, 5, 6))}


@pytest.fixture(scope="module", params=SHAPES)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of thousands of chunks, some of which were never written, with a variable behind them."""
    shape, chunks = SHAPES[request.param]
    path = tmp_path_factory.mktemp("trees") / "a.nc"
    rng = np.random.default_rng(len(shape))
    dims = dict(zip("xyz", shape, strict=False))
    with created(path, **{**dims, "x": None}, n=300_000) as ds:
        v = ds.createVariable("v", "f8", tuple(dims), chunksizes=chunks, zlib=True, complevel=1)
        values = rng.normal(size=shape)
        for at in rng.permutation(shape[0] // 50):
            if at % 7:
                v[50 * at : 50 * at + 50] = values[50 * at : 50 * at + 50]
        v[shape[0] - 1] = 1.0
        ds.createVariable("noise", "f8", ("n",), contiguous=True)[:] = rng.normal(size=300_000)
    return path


def keys(shape: tuple[int, ...], number: int, seed: int) -> list[tuple[Any, ...]]:
    """Points, boxes, boxes with strides."""
    rng = np.random.default_rng(seed)

    def along(n: int) -> Any:
        start = int(rng.integers(n))
        kind = rng.integers(4)
        if kind == 0:
            return start
        stop = int(rng.integers(start, min(n, start + 40))) + 1
        return slice(start, stop, int(rng.integers(1, 5)) if kind == 1 else 1) if kind < 3 else slice(start, start + 1)

    return [tuple(along(n) for n in shape) for _ in range(number)]


def test_selections_are_those_of_the_file(file: Path) -> None:
    with netCDF4.Dataset(file) as ds, servers.web(file.parent) as server:
        url = f"{server.url}/{file.name}"
        expected = np.ma.filled(ds["v"][:], 1e36)
        for key in keys(expected.shape, 40, 1):
            with ncforge.Dataset(url) as ours:
                assert np.array_equal(np.ma.filled(ours["v"][key], 1e36), expected[key]), key
        # So many that all of the tree is read in the end.
        with ncforge.Dataset(url) as ours:
            for key in keys(expected.shape, 60, 2):
                assert np.array_equal(np.ma.filled(ours["v"][key], 1e36), expected[key]), key
            assert np.array_equal(np.ma.filled(ours["v"][:], 1e36), expected)


def test_a_point_takes_a_few_nodes(tmp_path: Path) -> None:
    """The nodes lie between the chunks: all of them, and what is fetched along, are most of the file."""
    path = tmp_path / "a.nc"
    with created(path, t=None, y=64, x=64) as ds:
        v = ds.createVariable("v", "f4", ("t", "y", "x"), chunksizes=(1, 32, 32), zlib=True, complevel=1)
        rng = np.random.default_rng(0)
        for t in range(0, 2400, 50):
            v[t : t + 50] = rng.normal(size=(50, 64, 64))
    with netCDF4.Dataset(path) as ds, servers.web(tmp_path) as server:
        for at in ((1200, 5, 60), (2399, 63, 0)):
            server.behaviour.sent = 0
            with ncforge.Dataset(f"{server.url}/a.nc") as ours:
                assert ours["v"][at] == ds["v"][at]
            assert server.behaviour.sent < path.stat().st_size / 5
