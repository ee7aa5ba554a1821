"""``variable[key] = values`` against netCDF4-python: rounded, masked and complex values, rows and strings."""

from __future__ import annotations

import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import by_both, created, of_both
from ncforge._dataset.values import exact

VALUES: list[Any] = [
    [123.456, 1.26, 77.03],
    [123, 1, 77],
    np.array([123.456, 1.26, 77.03], "f4"),
    np.ma.masked_array([123.456, 1.26, 77.03], [False, True, False]),
]


@pytest.mark.parametrize("kind", ["f4", "f8", "i2"])
@pytest.mark.parametrize("digits", [1, -1])
@pytest.mark.parametrize("attrs", [{}, {"scale_factor": 0.01}, {"scale_factor": 10.0, "add_offset": 3.3}])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_values_are_rounded_before_they_are_packed(
    tmp_path: Path, kind: Any, digits: int, attrs: dict[str, float], scale: bool
) -> None:
    # With a mask and without scaling, netCDF4-python stores what the mask hides.
    values = VALUES if scale else VALUES[:-1]
    for ds in by_both(tmp_path, n=len(values), x=3):
        v = ds.createVariable("v", kind, ("n", "x"), least_significant_digit=digits)
        v.setncatts(attrs)
        v.set_auto_scale(scale)
        for n, value in enumerate(values):
            v[n] = value
    theirs, ours = (ds["v"][:].tolist() for ds in of_both(tmp_path))
    assert ours == theirs


@pytest.mark.parametrize("attrs", [{}, {"missing_value": np.int32(-9)}, {"scale_factor": 2.0, "add_offset": 1.0}])
def test_masked_elements_of_rows_are_filled(tmp_path: Path, attrs: dict[str, Any]) -> None:
    rows = [np.ma.masked_equal(np.array(r, "i4"), n) for r, n in (([1, 2, 3], 2), ([5, 7], 0), ([9], 9))]
    for ds in by_both(tmp_path, x=4):
        v = ds.createVariable("v", ds.createVLType("i4", "rows"), ("x",))
        v.setncatts(attrs)
        for n, row in enumerate(rows):
            v[n] = row
        v[3] = np.ma.masked
        if not attrs:
            v[3] = np.array(11, "i4")
    theirs, ours = ([row.tolist() for row in ds["v"][:]] for ds in of_both(tmp_path))
    assert ours == theirs
    with ncforge.Dataset(tmp_path / "ncforge.nc", "r+") as ds:
        whole = np.empty(4, object)
        whole[:3] = rows
        for several in (whole[:3], rows, tuple(rows)):
            ds["v"][:3] = np.array([0])
            ds["v"][:3] = several
            assert [row.tolist() for row in ds["v"].read()[:3]] == theirs[:3]
        with pytest.raises(ValueError, match=r"`v`: a masked value at \[1\]"):
            ds["v"][:] = np.ma.masked_array(whole, np.arange(4) == 1)
        for n in range(4):
            assert ds["v"].read(n).tolist() == theirs[n]


@pytest.mark.parametrize("kind", ["i2", "u1", "f4", "f8"])
@pytest.mark.parametrize("more", [{}, {"scale_factor": 0.5}, {"_FillValue": 3}, {"_Unsigned": "true"}], ids=str)
def test_each_missing_value_stays_the_one_that_it_was(tmp_path: Path, kind: Any, more: dict[str, Any]) -> None:
    """Values that were read are written back; values that were masked since are the first of them."""
    if kind[0] != "i" and "_Unsigned" in more:
        pytest.skip("of signed integers only")
    stored = np.array([0, 1, 2, 4, 5, 200 if kind == "u1" else np.nan if kind[0] == "f" else -1, 6, 7], kind)
    path = tmp_path / "a.nc"
    attrs = dict(more)
    with created(path, x=len(stored)) as ds:
        v: Any = ds.createVariable("v", kind, ("x",), fill_value=attrs.pop("_FillValue", None))
        v.set_auto_maskandscale(False)
        v[:] = stored
        v.setncatts({**attrs, "missing_value": stored[[2, 4, 5]]})
    with ncforge.Dataset(path, "a") as ours:
        w = ours["v"]
        w[:] = w[:]
        w[0:3] = np.ma.masked_array(w[0:3], [True, False, False])
    stored[0] = 2
    with netCDF4.Dataset(path) as ds:
        ds.set_auto_maskandscale(False)
        np.testing.assert_array_equal(ds["v"][:], stored)


@pytest.mark.filterwarnings("ignore:.*unsupported VLEN")
def test_a_row_has_one_dimension(tmp_path: Path) -> None:
    path = tmp_path / "v.nc"
    pair = np.dtype([("a", "i4"), ("b", "f8")])
    with created(path, ncforge, x=2) as ds:
        rows = ds.createVLType("i4", "rows")
        v = ds.createVariable("v", rows, ("x",))
        w = ds.createVariable("w", rows, ("x", "x"))
        pairs = ds.createVariable("p", ds.createVLType(ds.createCompoundType(pair, "pair"), "pairs"), ("x",))
        # netCDF4-python does not write several rows at once.
        v[:] = np.array([[1, 2], [3, 4]])
        w[:] = np.arange(12).reshape(2, 2, 3)
        w[0] = np.array([[7], [8]])
        v[0] = 5
        v[0] = np.array([1, 2])
        pairs[:] = [[(1, 2.5)], [(3, 4.5), (5, 6.5)]]
        for wrong in (np.array([[5, 6], [7, 8]]), [[[5, 6], [7, 8]]]):
            with pytest.raises(ValueError, match="`v`"):
                v[0] = wrong
    with netCDF4.Dataset(path) as nc:
        assert [row.tolist() for row in nc["v"][:]] == [[1, 2], [3, 4]]
        assert [[row.tolist() for row in rows] for rows in nc["w"][:]] == [[[7], [8]], [[6, 7, 8], [9, 10, 11]]]
    with h5py.File(path) as file:
        assert [row.tolist() for row in file["p"][:]] == [[(1, 2.5)], [(3, 4.5), (5, 6.5)]]


def test_masked_strings_and_complex_numbers_are_refused(tmp_path: Path) -> None:
    text = np.array(["a", "b", "c"], object)
    hidden = np.empty(3, object)
    hidden[:] = ["a", np.ma.masked, "c"]
    for ds in by_both(tmp_path, x=3):
        v = ds.createVariable("v", str, ("x",))
        v[:] = text
        for masked in (
            np.ma.masked_array(text, text == "b"),
            np.ma.masked_array(text.astype(str), text == "b"),
            hidden,
        ):
            with pytest.raises((TypeError, ValueError)):
                v[:] = masked
        n = ds.createVariable("n", "f4", ("x",))
        i = ds.createVariable("i", "i4", ("x",))
        n[:], i[:] = 1, 1
        for number in (n, i):
            with pytest.raises((TypeError, ValueError)):
                number[:] = 1 + 2j
            number[:] = np.array([2 + 0j, 3, 4]).real
    for ds in of_both(tmp_path):
        assert [ds[name][:].tolist() for name in "vni"] == [["a", "b", "c"], [2, 3, 4], [2, 3, 4]]
    with ncforge.Dataset(tmp_path / "ncforge.nc", "r+") as ds:
        with pytest.raises(ValueError, match=r"`n`: .* at \[1\] is complex"):
            ds["n"][:] = np.array([1, 1 + 2j, 1])
        ds["n"][:] = np.array([5 + 0j, 6, 7])
        ds["v"][:] = np.ma.masked_array(["d", "e", "f"])
        ds["v"][:2] = np.array(["x", None], object)
    with netCDF4.Dataset(tmp_path / "ncforge.nc") as nc:
        assert (nc["v"][:].tolist(), nc["n"][:].tolist()) == (["x", "", "f"], [5, 6, 7])


@pytest.mark.parametrize("dims", [("t",), ("t", "x"), ("x", "t"), ("t", "u"), ("u", "x", "t"), ("t", "u", "x")])
def test_one_value_makes_the_records_that_it_makes_in_netcdf4(tmp_path: Path, dims: tuple[str, ...]) -> None:
    """One record along an open slice if the last dimension is unlimited: with `u, x, t` nothing was written, with `t, u, x` and a
    position along `x` a record too many."""
    for key in itertools.product([slice(None), 2, slice(0, 2), slice(1, None)], repeat=len(dims)):
        for ds in by_both(tmp_path, t=None, u=None, x=4):
            ds.createVariable("v", "i2", dims)[key] = 3
        theirs, ours = (ds["v"][:] for ds in of_both(tmp_path))
        assert theirs.shape == ours.shape, key
        np.testing.assert_array_equal(ours, theirs, err_msg=str(key))


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (np.s_[:, 3:4], (4,)),
        (np.s_[1], (5, 1)),
        (np.s_[1:2, :], (5,)),
        (np.s_[:, 1], (4,)),
        (np.s_[[0, 2], 1:2], (2,)),
        (np.s_[:], (1, 1)),
        (np.s_[0, 0], (1,)),
        (np.s_[5:7], (2, 1)),
        (np.s_[5:6], (1, 1, 5)),
        (np.s_[4:, 1:2], (3,)),
        (np.s_[4:], (1,)),
    ],
)
@pytest.mark.parametrize("records", [0, 4])
def test_axes_of_one_value_are_where_the_selection_has_them(
    tmp_path: Path, key: Any, shape: tuple[int, ...], records: int
) -> None:
    """As in netCDF4-python, a row of four values fits four rows of one value. An error before."""
    values = np.arange(1, 1 + np.prod(shape), dtype="i2").reshape(shape)
    failed = []
    for ds in by_both(tmp_path, t=None, x=5):
        v = ds.createVariable("v", "i2", ("t", "x"))
        if records:
            v[:records] = 0
        try:
            v[key] = values
            failed.append(False)
        except (ValueError, IndexError):
            failed.append(True)
    theirs, ours = (ds["v"][:].tolist() for ds in of_both(tmp_path))
    assert ours == theirs and failed[1] == failed[0]


def test_one_value_in_a_list_makes_a_record(tmp_path: Path) -> None:
    for ds in by_both(tmp_path, t=None, x=5):
        v = ds.createVariable("v", "i2", ("t", "x"))
        v[:] = [3]
        assert v[:].tolist() == [[3] * 5], ds


def test_scalars_have_a_position(tmp_path: Path) -> None:
    for ds in by_both(tmp_path):
        s = ds.createVariable("s", "f8", ())
        t = ds.createVariable("t", str, ())
        s[0], t[0] = 2.5, "text"
        for key in (0, -1, slice(0, 1), slice(None), (0,), [0], (), ...):
            assert s[key] == 2.5 and np.shape(s[key]) == (), (ds, key)
            assert t[key] == "text", (ds, key)
        with pytest.raises((IndexError, ValueError)):
            s[0, 0]
    with ncforge.Dataset(tmp_path / "ncforge.nc") as ds:
        empty: list[int] = []
        for nowhere in (1, slice(1, 2), empty):
            with pytest.raises(IndexError):
                ds["s"][nowhere]


def test_an_element_of_structures_is_a_structure(tmp_path: Path) -> None:
    """As with netCDF4-python: its fields have positions, and can be unpacked."""
    kind = np.dtype([("i", "i4"), ("name", "S1", (4,)), ("f", "f8", (2,))], align=True)
    with created(tmp_path / "k.nc", y=3) as ds:
        made = ds.createCompoundType(kind, "kind")
        values = np.zeros(3, made.dtype)
        values["i"], values["f"] = np.arange(3), 1.5
        ds.createVariable("k", made, ("y",))[:] = values
        ds.createVariable("one", made, ())[...] = values[1]
    with netCDF4.Dataset(tmp_path / "k.nc") as want, ncforge.Dataset(tmp_path / "k.nc") as got:
        for name, key in (("k", 1), ("k", (-1,)), ("k", slice(1, 2)), ("one", ...)):
            assert type(got[name][key]) is type(want[name][key]), (name, key)
            assert np.asarray(got[name][key]).tobytes() == np.asarray(want[name][key]).tobytes()
        number, _, floats = got["k"][2]
        assert number == got["k"][2][0] == 2 and floats.tolist() == [1.5, 1.5]


EMPTY: list[tuple[Any, Any]] = [
    (slice(10, 12), [1, 2]),
    (slice(3, 1), [1, 2]),
    (slice(2, 2), [1, 2, 3]),
    (slice(1, 4, -1), [1, 2]),
    (np.zeros(4, bool), [1, 2]),
]


@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("kind", ["i4", str])
@pytest.mark.parametrize("records", [0, 4])
def test_values_for_an_empty_selection_are_an_error(tmp_path: Path, fmt: Any, kind: Any, records: int) -> None:
    """As in NumPy and netCDF4-python. They were dropped."""
    if kind is str and fmt != "NETCDF4":
        return
    with created(tmp_path / "e.nc", ncforge, format=fmt, t=None, x=4) as ds:
        fixed, grows = (ds.createVariable(name, kind, (dim,)) for name, dim in (("f", "x"), ("g", "t")))
        fixed[:] = np.arange(4).astype(kind)
        grows[:records] = np.arange(records).astype(kind)
        for key, values in EMPTY:
            for v in (fixed, grows):
                if v is grows and isinstance(key, slice) and key.start == 10:
                    # These records can be made.
                    continue
                with pytest.raises(ValueError, match="cannot be broadcast"):
                    v[key] = np.array(values).astype(kind)
                # One value is broadcast to nothing, as in NumPy.
                v[key] = np.array([7]).astype(kind)
        assert fixed[:].tolist() == np.arange(4).astype(kind).tolist()
        assert len(grows) == records


@pytest.mark.parametrize("records", [0, 2, 4])
@pytest.mark.parametrize("dims", [("t",), ("t", "x"), ("x", "t")])
def test_open_slices_backwards_take_their_records_from_the_data(
    tmp_path: Path, records: int, dims: tuple[str, ...]
) -> None:
    """As in netCDF4-python. They wrote nothing where there were no records."""
    for key, n in itertools.product(
        [np.s_[::-1], np.s_[5::-1], np.s_[4:1:-1], np.s_[1::-2], np.s_[-1::-1], np.s_[-3::-1]], [None, 1, 2, 3, 6]
    ):
        shape = tuple(3 if d == "x" else n for d in dims if n is not None)
        values = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape) if n is not None else 5
        place = tuple(key if d == "t" else slice(None) for d in dims)
        failed: list[Exception | None] = []
        for ds in by_both(tmp_path, t=None, x=3):
            v = ds.createVariable("v", "i4", dims)
            if records:
                v[tuple(slice(0, records) if d == "t" else slice(None) for d in dims)] = 9
            try:
                v[place] = values
                failed.append(None)
            except (ValueError, IndexError) as error:
                failed.append(error)
        if failed[0] or (key.start or 0) < 0:
            # From the end: netCDF4-python counts from the end of the data.
            continue
        theirs, ours = (ds["v"][:].tolist() for ds in of_both(tmp_path))
        assert not failed[1] and ours == theirs, (key, n, records, failed)


@pytest.mark.parametrize("kind", ["f8", "i4", "u1", "i2"])
@pytest.mark.parametrize("attrs", [{}, {"scale_factor": 3.0}, {"scale_factor": 0.5, "add_offset": 2.0}])
def test_numbers_are_packed_whatever_holds_them(tmp_path: Path, kind: Any, attrs: dict[str, float]) -> None:
    """Text, objects and complex numbers were stored as they were."""
    ways: list[Any] = [
        "6",
        b"6",
        np.array("6"),
        np.array(6, object),
        np.array("6", object),
        np.array(6 + 0j),
        6,
        True and 6.0,
        np.ma.masked_array(["6"], [False]),
    ]
    with created(tmp_path / "p.nc", ncforge, x=len(ways)) as ds:
        v = ds.createVariable("v", kind, ("x",))
        v.setncatts(attrs)
        for i, value in enumerate(ways):
            v[i] = value
        w = ds.createVariable("w", kind, ("x",), fill_value=99)
        w.setncatts(attrs)
        w[:2] = np.ma.masked_array(["6", "none"], [False, True])
        w[2:4] = np.ma.masked_array(np.array([6, None], object), [False, True])
        with pytest.raises(ValueError, match="`v`"):
            v[0] = "six"
    with netCDF4.Dataset(tmp_path / "p.nc") as nc:
        assert nc["v"][:].tolist() == [6] * len(ways)
        assert nc["w"][:4].tolist() == [6, None, 6, None]


@pytest.mark.parametrize("switches", list(itertools.product([True, False], repeat=3)))
def test_an_element_without_a_mask_is_a_scalar(tmp_path: Path, switches: tuple[bool, bool, bool]) -> None:
    with created(tmp_path / "s.nc", x=3) as nc:
        nc.createVariable("f", "f4", ("x",))[:] = [1, 2, 3]
        packed = nc.createVariable("packed", "i2", ("x",), fill_value=-1)
        packed.scale_factor = 0.5
        packed[:] = [1, 2, 3]
        nc.createVariable("c", "S1", ("x",))[:] = np.array([b"a", b"b", b"c"])
        nc.createVariable("big", ">i4", ("x",), endian="big")[:] = [1, 2, 3]
        nc.createVariable("one", "f8", ())[...] = 2.5
        nc.createVariable("s", str, ("x",))[:] = np.array(["a", "b", "c"], object)
        nc.createVariable("e", nc.createEnumType("u1", "e_t", {"a": 0, "b": 1}), ("x",))[:] = [0, 1, 1]
    with netCDF4.Dataset(tmp_path / "s.nc") as nc, ncforge.Dataset(tmp_path / "s.nc") as ds:
        for want, got in ((nc[name], ds[name]) for name in nc.variables):
            for v in (want, got):
                v.set_auto_mask(switches[0])
                v.set_auto_scale(switches[1])
                v.set_always_mask(switches[2])
            keys: list[Any] = [1, -1, np.int64(2), slice(1, 2), ...] if want.ndim else [..., 0, slice(None)]
            for key in keys:
                a, b = want[key], got[key]
                assert type(a) is type(b) and np.shape(a) == np.shape(b), (want.name, key)
                assert np.array_equal(a, b), (want.name, key)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "bool"])
def test_many_values_are_packed_as_few(tmp_path: Path, dtype: str) -> None:
    """They are packed block by block."""
    values = (np.random.default_rng(1).random((7, 150, 100)) * 3).astype(dtype)
    paths = []
    for package in (netCDF4, ncforge):
        paths.append(tmp_path / f"{package.__name__}.nc")
        with created(paths[-1], package, **dict(zip("tyx", values.shape, strict=True))) as ds:
            v = ds.createVariable("v", "i2", ("t", "y", "x"), fill_value=-9)
            v.setncatts({"scale_factor": 0.25, "add_offset": 1.0})
            v[:] = values[:, ::-1]
            if package is ncforge:
                values[-1, -1, -1] = 1
                unfit = values * np.float64(30_000)
                with pytest.raises(ValueError, match="v"):
                    v[:] = unfit
    raw = []
    for path in paths:
        with netCDF4.Dataset(path) as ds:
            ds.set_auto_maskandscale(False)
            raw.append(ds["v"][:])
    assert np.array_equal(*raw)


INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("source", [*INTEGERS, "f2", "f4", "f8", "g"])
@pytest.mark.parametrize("kind", INTEGERS)
def test_values_around_the_limits_of_integers(source: str, kind: str) -> None:
    """Each fits or is named with its place; a fraction is removed before."""
    limits = np.iinfo(kind)
    edges: list[Any] = [n + more for n in (limits.min, 0, limits.max) for more in (-2, -1, 0, 1, 2)]
    if source in INTEGERS:
        edges = [n for n in edges if np.iinfo(source).min <= n <= np.iinfo(source).max]
    else:
        edges = [*edges, *(n + half for n in edges for half in (-0.5, 0.5)), np.nan, np.inf, -np.inf]
    for edge in edges:
        values = np.ones(3, source)
        with np.errstate(over="ignore"):
            values[1] = edge
        given = values[1].item()
        if np.isfinite(given) and limits.min <= int(given) <= limits.max:
            assert exact(values, np.dtype(kind), truncate=True).tolist() == [1, int(given), 1]
        else:
            with pytest.raises(ValueError, match=r" at \[1\] does not fit"):
                exact(values, np.dtype(kind), truncate=True)
        if source not in INTEGERS and given != np.trunc(given):
            with pytest.raises(ValueError, match=r" at \[1\] does not fit"):
                exact(values, np.dtype(kind))
    assert exact(np.ones((0, 2), source), np.dtype(kind)).shape == (0, 2)


@pytest.mark.parametrize(("source", "kind"), [("i8", "i2"), ("u8", "i4"), ("i2", "u1"), ("f8", "i2"), ("f4", "u8")])
def test_integers_that_fit_are_checked_without_memory(source: str, kind: str) -> None:
    """Arrays of booleans for each comparison, and of floats without their fraction, took more memory and time than the conversion."""
    values = (np.arange(100_000) % 100).astype(source)
    tracemalloc.start()
    try:
        made = exact(values, np.dtype(kind), truncate=True)
        assert tracemalloc.get_traced_memory()[1] < made.nbytes + 50_000
    finally:
        tracemalloc.stop()
    assert made.tolist() == values.tolist()
