"""Random keys against netCDF4-python: equal values and shapes, or an error in both. Random chains of lazy selections in xarray."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from xarray.core import indexing

import ncforge
from ncforge._dataset import read
from ncforge._xarray import array
from ncforge._xarray.many import ManyArray, ManyFiles
from ncforge._xarray.store import NcforgeDataStore

SHAPES: dict[str, tuple[int, ...]] = {
    "empty": (0,),
    "row": (6,),
    "table": (4, 5),
    "empty table": (0, 3),
    "box": (2, 3, 4),
    "hollow": (2, 0, 3),
    "scalar": (),
}


@pytest.fixture(scope="module", params=["NETCDF4", "NETCDF3_CLASSIC"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A variable of every shape; lengths of 0 are those of the unlimited dimension."""
    path = tmp_path_factory.mktemp("keys") / "k.nc"
    with netCDF4.Dataset(path, "w", format=request.param) as nc:
        nc.createDimension("d0", None)
        for n in range(1, 10):
            nc.createDimension(f"d{n}", n)
        for name, shape in SHAPES.items():
            if request.param == "NETCDF3_CLASSIC" and 0 in shape[1:]:
                continue
            v = nc.createVariable(name, "i4", tuple(f"d{n}" for n in shape))
            if 0 not in shape:
                v[...] = np.arange(v.size).reshape(shape)
    return path


PLACES = st.none() | st.integers(-9, 9)
SLICES = st.builds(slice, PLACES, PLACES, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))


@functools.cache
def items(length: int) -> st.SearchStrategy[Any]:
    """A key of one dimension."""
    positions = st.lists(st.integers(-length - 1, length), max_size=4)
    rising = st.sets(st.integers(0, max(length - 1, 0)), min_size=1, max_size=max(length, 1)).map(sorted)
    return st.one_of(
        SLICES,
        SLICES,
        st.integers(-length - 2, length + 1),
        positions,
        rising.map(lambda p: np.array(p, "i8")),
        st.lists(st.booleans(), min_size=length, max_size=length).map(lambda b: np.array(b, bool)),
        st.integers(0, max(length - 1, 0)).map(np.int16),
    )


@st.composite
def selections(draw: st.DrawFn) -> tuple[str, Any]:
    """A variable and a key."""
    name = draw(st.sampled_from(sorted(SHAPES)))
    shape = SHAPES[name]
    keys = [draw(items(n)) for n in shape]
    match draw(st.sampled_from(["all", "fewer", "dots", "more"])):
        case "fewer" if keys:
            keys = keys[: draw(st.integers(1, len(keys)))]
        case "dots":
            at = draw(st.integers(0, len(keys)))
            keys[at : draw(st.integers(at, len(keys)))] = [Ellipsis]
        case "more":
            keys.append(draw(items(1)))
    if not keys:
        return name, ...
    return name, keys[0] if len(keys) == 1 else tuple(keys)


def orthogonal(values: Any, key: Any) -> Any:
    """The selection of an array in memory, each item on its own axis; ``None`` if it is empty."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * (values.ndim - len(keys) + len(dots))
    squeezed = []
    for axis, k in enumerate(keys):
        k = k if isinstance(k, slice) else np.asarray(k, None if np.size(k) else "i8")
        if isinstance(k, np.ndarray) and k.ndim == 0:
            squeezed.append(axis)
            k = k.reshape(1)
        values = values[(slice(None),) * axis + (k,)]
    return values.squeeze(tuple(squeezed))


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(selections())
def test_keys_select_what_they_select_in_netcdf4(path: Path, selection: tuple[str, Any]) -> None:
    name, key = selection
    with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds:
        if name not in nc.variables:
            return
        try:
            ours, error = ds[name][key], None
        except Exception as e:  # of which kind is asked below
            ours, error = None, e
        assert error is None or isinstance(error, IndexError), (key, error)
        try:
            theirs = nc[name][key]
        except Exception:  # of any kind
            # Positions in any order, and several times, are more than it takes: NumPy is asked then.
            if error is None:
                assert np.array_equal(ours, orthogonal(nc[name][...], key)), key
            return
        if error is not None:
            # netCDF4-python lets through what is no position, as of an empty dimension.
            with pytest.raises(IndexError):
                orthogonal(nc[name][...].data, key)
            return
        if theirs.shape == ours.shape:
            assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs), key
        else:
            assert np.array_equal(ours, orthogonal(nc[name][...], key)), (key, ours.shape, theirs.shape)


@pytest.mark.parametrize("key", [slice(None, None, -1), slice(2, None, -1), slice(-7, None, -1), slice(9, 2, -2)])
def test_backwards_over_nothing(path: Path, key: slice) -> None:
    with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds:
        for name in ("empty", "row"):
            assert ds[name][key].tolist() == nc[name][:][key].tolist()
    with ncforge.Dataset("in memory", "w", memory=1) as new:
        new.createDimension("t", None)
        v = new.createVariable("v", "i4", ("t",))
        v[key] = 1
        # Of an open slice, one record, if the slice has the first one.
        assert v.shape == ((1,) if key.stop is None and key.start in (None, 2) else (0,))


LENGTHS = {"t": 4, "y": 5, "x": 6}


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers, packed numbers, strings and characters on the same dimensions."""
    path = tmp_path_factory.mktemp("fields") / "f.nc"
    dims, shape = tuple(LENGTHS), tuple(LENGTHS.values())
    numbers = np.arange(np.prod(shape)).reshape(shape)
    words = np.array([f"w{n}" for n in numbers.flat], object).reshape(shape)
    ds = xr.Dataset(
        {
            "plain": (dims, numbers.astype("f4")),
            "packed": (dims, np.where(numbers % 7 == 3, np.nan, numbers)),
            "words": (dims, words),
            "chars": (dims, words.astype("S4")),
            "row": ("x", np.arange(6)),
            "scalar": ((), 2.5),
        },
        {"t": np.arange(4), "y": np.linspace(50, 10, 5), "x": np.arange(6) * 10.0},
    )
    coding: dict[str, Any] = {
        "plain": {"zlib": True, "chunksizes": (2, 3, 4)},
        "packed": {"dtype": "i2", "scale_factor": np.float32(0.5), "_FillValue": np.int16(-1)},
    }
    ds.to_netcdf(path, engine="netcdf4", encoding=coding, unlimited_dims=["t"])
    return path


Step = Callable[[xr.DataArray], xr.DataArray]
SEEDS = st.integers(0, 2**32 - 1)


def unused(a: xr.DataArray, letter: str) -> str:
    """The name of a new dimension."""
    return next(name for name in (f"{letter}{i}" for i in range(10)) if name not in a.dims)


def by_one(a: xr.DataArray, random: np.random.Generator) -> xr.DataArray:
    """A selection on each of some dimensions."""
    key: dict[Any, Any] = {}
    for dim, n in a.sizes.items():
        start, stop = random.integers(-n - 1, n + 2, 2).tolist()
        kinds: list[Any] = [slice(start, stop), slice(None, None, int(random.choice([-2, -1, 2]))), slice(None)]
        kinds += [random.random(n) < 0.5, np.arange(n)[::-1]]
        if n:
            kinds += [random.integers(-n, n, 3), [0, 0], random.integers(n)]
        key[dim] = kinds[random.integers(len(kinds))]
    return a.isel(key)


def by_points(a: xr.DataArray, random: np.random.Generator) -> xr.DataArray:
    """Points in some dimensions, which may be those of a table, or change along one axis of two."""
    some = [dim for dim, n in a.sizes.items() if n and random.random() < 0.7]
    shape = random.choice([(3, 2), (3, 1), (1, 2), (0, 2)])
    names = [unused(a, "p"), unused(a, "q")]
    key: dict[Any, Any] = {}
    for dim in some:
        at = random.integers(-a.sizes[dim], a.sizes[dim], random.choice([shape, (shape[0], 1)]))
        key[dim] = xr.DataArray(np.broadcast_to(at, shape), dims=names)
        if random.random() < 0.3:
            key[dim] = key[dim].isel({names[1]: 0}, drop=True)
    return a.isel(key)


def nearest(a: xr.DataArray, random: np.random.Generator) -> xr.DataArray:
    """Stations that are the nearest to some places."""
    some = [dim for dim in ("y", "x") if dim in a.xindexes and dim in a.dims and a.sizes[dim]]
    ordered = [dim for dim in some if a.indexes[dim].is_monotonic_increasing or a.indexes[dim].is_monotonic_decreasing]
    some = [dim for dim in ordered if a.indexes[dim].is_unique]
    return a.sel({dim: xr.DataArray(random.random(4) * 60, dims="station") for dim in some}, method="nearest")


def stacked(a: xr.DataArray, random: np.random.Generator) -> xr.DataArray:
    """The last two dimensions as one, and perhaps as two again."""
    if a.ndim < 2 or 0 in a.shape or "both" in a.dims:
        return a
    one = a.drop_vars(list(a.coords)).stack(both=a.dims[-2:])
    return one.unstack("both") if random.random() < 0.5 else one.drop_vars(list(one.coords))


STEPS: list[Callable[[xr.DataArray, np.random.Generator], xr.DataArray]] = [
    by_one,
    by_points,
    nearest,
    stacked,
    lambda a, _: a.T,
    lambda a, random: a.transpose(*random.permutation(np.array(a.dims, object))),
    lambda a, _: a.expand_dims(unused(a, "e")),
]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["plain", "plain", "packed", "words", "chars", "row", "scalar"]),
    st.lists(st.tuples(st.sampled_from(STEPS), SEEDS), min_size=1, max_size=4),
    st.sampled_from([{}, {}, {"decode_cf": False}, {"mask_and_scale": False}, {"chunks": {}}, {"chunks": {"t": 2}}]),
    st.sampled_from([1, 5, array._POINTS]),
)
def test_lazy_selections_are_those_in_memory(
    fields: Path, name: str, steps: list[tuple[Any, int]], options: dict[str, Any], points: int
) -> None:
    def selected(a: xr.DataArray) -> xr.DataArray:
        for step, seed in steps:
            a = step(a, np.random.default_rng(seed))
        return a

    with (
        pytest.MonkeyPatch.context() as patched,
        xr.open_dataset(fields, engine="netcdf4", cache=False, **options) as theirs,
        xr.open_dataset(fields, engine="ncforge", cache=False, **options) as ours,
    ):
        patched.setattr(array, "_POINTS", points)
        try:
            lazy = selected(theirs[name]).compute()
        except Exception:  # of any kind
            # xarray transposes no lazy text of characters and takes nothing backwards; Dask has no empty lists of points.
            reject()
        want, got = selected(theirs[name].compute()), selected(ours[name]).compute()
        assert got.dtype == want.dtype
        xr.testing.assert_identical(got, want)
        assert got.values.flags.writeable or not lazy.values.flags.writeable


@pytest.mark.parametrize("name", ["plain", "packed"])
def test_a_transposition_looks_up_no_points(fields: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point was looked up, with 64 bytes of indices for each of them."""
    tables: list[tuple[int, int]] = []
    picks = read.picks

    def counted(core: Any, types: Any, var: int, kind: Any, axes: read.Axes) -> Any:
        tables.extend((len(at), len(dims)) for dims, at in axes)
        return picks(core, types, var, kind, axes)

    monkeypatch.setattr(read, "picks", counted)
    p = xr.DataArray([3, 0, 3, 1], dims="p")
    with xr.open_dataset(fields, engine="ncforge", cache=False) as ds:
        ours, want = ds[name], ds[name].compute()
        slices: list[Step] = [
            lambda a: a.T,
            lambda a: a.transpose("t", "x", "y"),
            lambda a: a.transpose("x", "t", "y").isel(t=slice(None, None, -2), x=slice(1, 5)),
            lambda a: a.isel(t=slice(1, 3), y=2).T,
            lambda a: a.T.isel(x=2)[:, ::-1],
        ]
        for step in slices:
            xr.testing.assert_identical(step(ours).compute(), step(want))
        assert not tables
        xr.testing.assert_identical(ours.T.isel(x=[5, 0, 3]).compute(), want.T.isel(x=[5, 0, 3]))
        assert sorted(tables) == [(3, 1), (4, 1), (5, 1)], "a list for each dimension"
        tables.clear()
        xr.testing.assert_identical(ours.T.isel(x=p, y=p).compute(), want.T.isel(x=p, y=p))
        assert sorted(tables) == [(4, 1), (4, 2)], "four points, at all times"
        tables.clear()
        monkeypatch.setattr(array, "_POINTS", 3)
        xr.testing.assert_identical(ours.isel(t=p, x=p, y=p).compute(), want.isel(t=p, x=p, y=p))
        assert tables == [(3, 3), (1, 3)], "in blocks"


def test_lazy_strings(fields: Path) -> None:
    """xarray reads all strings when it decodes them: these are not decoded."""
    p, q = xr.DataArray([3, 0, 3, 1], dims="p"), xr.DataArray([[0, 1], [2, 2]], dims=("q", "p1"))
    stored = NcforgeDataStore.open(fields).stored()["words"]
    ours = xr.DataArray(xr.Variable(stored.dims, indexing.LazilyIndexedArray(stored.array), fastpath=True))
    want = ours.compute()
    assert want.values[1, 2, 3] == "w45"
    steps: list[Step] = [
        lambda a: a.T,
        lambda a: a.transpose("x", "t", "y").isel(t=[2, 0, 0], x=slice(None, None, -2)),
        lambda a: a.T.isel(x=p, y=p),
        lambda a: a.isel(t=p, x=p, y=q),
        lambda a: a.T.isel(x=xr.DataArray([[2]], dims=("q", "p")), y=0, t=0),
    ]
    for step in steps:
        assert isinstance(step(ours).variable._data, indexing.ExplicitlyIndexed)
        xr.testing.assert_identical(step(ours).compute(), step(want))


def test_a_transposition_of_many_files(fields: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = NcforgeDataStore.open(fields).stored()["plain"].array
    files = ManyArray(ManyFiles(one.handles * 2, [4, 4]), 0, one)
    ours = xr.DataArray(xr.Variable(("t", "y", "x"), indexing.LazilyIndexedArray(files), fastpath=True))
    p = xr.DataArray([7, 0, 3], dims="p")
    want, points = ours.compute(), ours.isel(t=p, x=p % 5).compute()
    xr.testing.assert_identical(points, want.isel(t=p, x=p % 5))
    seen: list[Any] = []
    adapter = indexing.explicit_indexing_adapter

    def noted(key: Any, *rest: Any) -> Any:
        seen.append(key)
        return adapter(key, *rest)

    monkeypatch.setattr(indexing, "explicit_indexing_adapter", noted)
    xr.testing.assert_identical(ours.T[::-1, 2:].compute(), want.T[::-1, 2:])
    xr.testing.assert_identical(ours.T.isel(t=[7, 1, 7, 4]).compute(), want.T.isel(t=[7, 1, 7, 4]))
    assert seen and not any(isinstance(key, indexing.VectorizedIndexer) for key in seen)
