"""Missing values, scale and offset in the pass that decodes: to the bit what netCDF4-python and xarray give."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ncforge

xr = pytest.importorskip("xarray")

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
QUIET = pytest.mark.filterwarnings("ignore")
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def elements(kind: str) -> Any:
    if kind[0] == "f":
        return st.floats(width=int(kind[1]) * 8, allow_subnormal=False) | st.sampled_from([0.0, -9.0, 7.0])  # type: ignore[arg-type]
    limits = np.iinfo(kind)
    return st.integers(int(limits.min), int(limits.max)) | st.sampled_from([0, 3, 9, 100])


@st.composite
def packed(draw: Any) -> tuple[str, np.ndarray, dict[str, Any]]:
    """A type, stored values, and attributes that say what they mean."""
    kind = draw(st.sampled_from(TYPES))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    values = draw(hnp.arrays(kind, shape, elements=elements(kind)))
    some = st.sampled_from(list(values.reshape(-1))) | elements(kind)
    attrs: dict[str, Any] = {}
    for name in ("_FillValue", "missing_value", "valid_min", "valid_max"):
        if draw(st.booleans()):
            attrs[name] = np.dtype(kind).type(draw(some))
    if kind[0] == "f" and draw(st.booleans()):
        attrs["_FillValue"] = np.dtype(kind).type(np.nan)
    if kind[0] == "i" and draw(st.integers(0, 3)) == 0:
        attrs["_Unsigned"] = "true"
    number = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 1.0, 0.01, 273.15])
    for name in ("scale_factor", "add_offset"):
        if draw(st.booleans()):
            attrs[name] = draw(st.sampled_from([np.float32, np.float64, np.int16]))(
                max(min(draw(number), 30000), -30000)
            )
    return kind, values, attrs


def write(path: Path, kind: str, values: np.ndarray, attrs: dict[str, Any], **storage: Any) -> None:
    with netCDF4.Dataset(path, "w") as nc:
        names = [f"d{i}" for i in range(values.ndim)]
        for name, n in zip(names, values.shape, strict=True):
            nc.createDimension(name, n)
        attrs = dict(attrs)
        v = nc.createVariable("v", kind, names, fill_value=attrs.pop("_FillValue", None), **storage)
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        v[:] = values


def bits(array: Any) -> bytes:
    """Numbers as they are in memory; of NaN, only that it is one."""
    plain = np.array(np.ma.getdata(array))
    if plain.dtype.kind == "f":
        plain[np.isnan(plain)] = np.nan
    return plain.tobytes()


def same(ours: Any, theirs: Any) -> None:
    if theirs is np.ma.masked or np.ndim(theirs) == 0:
        # One number: some come as NumPy's scalars, some as arrays of no dimension.
        assert (ours is np.ma.masked) == (theirs is np.ma.masked)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype and bits(ours) == bits(theirs)
        return
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if isinstance(theirs, np.ma.MaskedArray):
        assert np.array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(theirs))
        assert bits(ours.compressed()) == bits(theirs.compressed())
        assert ours.fill_value == theirs.fill_value or np.isnan(theirs.fill_value)
    else:
        assert bits(ours) == bits(theirs)


@QUIET
@SLOW
@given(packed())
def test_values_are_those_of_netcdf4(tmp_path: Path, case: tuple[str, np.ndarray, dict[str, Any]]) -> None:
    path = tmp_path / "v.nc"
    write(path, *case)
    with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mask, scale, always in ((True, True, True), (True, True, False), (True, False, True), (False, True, True)):
            for v in (nc["v"], ds["v"]):
                v.set_auto_mask(mask)
                v.set_auto_scale(scale)
                v.set_always_mask(always)
            for key in (slice(None), slice(None, None, -1), slice(0, 3, 2), [0], 0):
                try:
                    theirs = nc["v"][key]
                except TypeError:  # what netCDF4-python cannot mask (below) still has values
                    assert mask and ds["v"][key] is not None
                    continue
                same(ds["v"][key], theirs)


def test_unsigned_bytes_out_of_range_and_without_fill_value(tmp_path: Path) -> None:
    """netCDF4-python 1.7 gives the signed default fill value to an unsigned array, which NumPy 2 refuses."""
    path = tmp_path / "u.nc"
    write(path, "i1", np.array([0, 1, -2], "i1"), {"_Unsigned": "true", "valid_max": np.int8(0)})
    with ncforge.Dataset(path) as ds:
        values = ds["v"][:]
    assert values.dtype == np.uint8 and values.tolist() == [0, None, None]
    assert values.data.tobytes() == bytes([0, 1, 254])


@QUIET
@SLOW
@given(packed())
def test_values_are_those_of_xarray(tmp_path: Path, case: tuple[str, np.ndarray, dict[str, Any]]) -> None:
    path = tmp_path / "x.nc"
    write(path, *case)
    opened: list[tuple[Any, Any, Any]] = []
    for engine in ("netcdf4", "ncforge"):
        try:
            with warnings.catch_warnings(record=True) as reported:
                warnings.simplefilter("always")
                with xr.open_dataset(path, engine=engine) as ds:
                    values = ds["v"].load()
            # NumPy's remarks on its own arithmetic (infinity times zero) have no place where NumPy does not compute.
            words, remarks = (
                {str(w.message) for w in reported if (w.category is RuntimeWarning) == numpys}
                for numpys in (False, True)
            )
            opened.append((values, words, remarks))
        except Exception as e:  # what xarray cannot decode, it cannot decode with either
            opened.append((type(e), str(e), set()))
    (theirs, their_words, their_remarks), (ours, our_words, our_remarks) = opened
    assert our_words == their_words
    assert our_remarks <= their_remarks
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert ours.dtype == theirs.dtype and bits(ours.values) == bits(theirs.values)
    assert repr(ours.attrs) == repr(theirs.attrs)
    keys = ("_FillValue", "missing_value", "scale_factor", "add_offset", "dtype", "_Unsigned")
    told_of = [{k: repr(v.encoding[k]) for k in keys if k in v.encoding} for v in (ours, theirs)]
    assert told_of[0] == told_of[1]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A field of 4 MB of short integers in chunks, with missing values in a corner."""
    path = tmp_path_factory.mktemp("unpacking") / "large.nc"
    values = np.random.default_rng(1).integers(-30000, 30000, (48, 200, 220)).astype("i2")
    values[30:, 150:, :7] = -32768
    attrs = {"_FillValue": np.int16(-32768), "scale_factor": 0.01, "add_offset": 250.0}
    write(path, "i2", values, attrs, zlib=True, complevel=1, chunksizes=(5, 60, 100))
    return path


def test_many_strips_and_threads(large: Path) -> None:
    rng = np.random.default_rng(2)
    rows = np.sort(rng.choice(200, 20, replace=False))
    with netCDF4.Dataset(large) as nc, ncforge.Dataset(large) as ds:
        for key in (slice(None), (slice(3, 40, 3), slice(199, None, -1)), (slice(None), rows), (31, slice(140, 200))):
            same(ds["v"][key], nc["v"][key])
        ours, theirs = ds["v"][:], nc["v"][:]
        # Also what is under the mask.
        assert ours.data.tobytes() == theirs.data.tobytes()
    with ncforge.Dataset(large, "r+") as ds:
        same(ds["v"][:], theirs)


def test_lazy_arrays_of_unpacked_values(large: Path) -> None:
    points = xr.DataArray([3, 160, 199, 3], dims="p")
    with xr.open_dataset(large, engine="netcdf4") as theirs, xr.open_dataset(large, engine="ncforge") as ours:
        for pick in (
            lambda ds: ds["v"][10:20, ::-7],
            lambda ds: ds["v"].isel(d1=points, d2=points),
            lambda ds: ds["v"].isel(d1=[1, 5, 180], d0=31),
            lambda ds: pickle.loads(pickle.dumps(ds))["v"][40],
            lambda ds: ds["v"][-1, -1, -1],
        ):
            xr.testing.assert_identical(pick(ours).load(), pick(theirs).load())
        assert "array" not in ours["v"].encoding and ours["v"].dtype == theirs["v"].dtype
    with xr.open_dataset(large, engine="ncforge", chunks={"d0": 10}) as lazy:
        assert float(lazy["v"].mean()) == pytest.approx(float(theirs["v"].mean()), rel=1e-6)
    with xr.open_dataset(large, engine="ncforge", mask_and_scale=False) as stored:
        assert stored["v"].dtype == np.int16 and stored["v"].attrs["scale_factor"] == 0.01
