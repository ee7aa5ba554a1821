"""Random keys against netCDF4-python: equal values and shapes, or an error in both."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ncforge

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
