"""A file's contents through ``ncforge.Dataset``, against netCDF4-python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import by_both, created, of_both
from peers import KINDS, as_plain

# Name, type, attributes, stored values.
CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "plain": ("f4", {}, [1, 2.5, 3, 4]),
    "default fill": ("f4", {}, [1, 9.969209968386869e36, 3, 4]),
    "default fill of ints": ("i4", {}, [1, -2147483647, 3, 4]),
    "default fill of bytes": ("i1", {}, [1, -127, 3, 4]),
    "fill": ("i2", {"_FillValue": np.int16(-9)}, [1, -9, 3, 4]),
    "fill, none there": ("i2", {"_FillValue": np.int16(-9)}, [1, 2, 3, 4]),
    "nan fill": ("f8", {"_FillValue": np.nan}, [1, np.nan, 3, 4]),
    "missing": ("i2", {"missing_value": np.int16(3)}, [1, 2, 3, 4]),
    "missing, several": ("i2", {"missing_value": np.array([3, 1], "i2")}, [1, 2, 3, 4]),
    "missing and fill": ("f4", {"missing_value": np.float32(3), "_FillValue": np.float32(1)}, [1, 2, 3, 4]),
    "missing, nan": ("f4", {"missing_value": np.nan}, [1, np.nan, 3, 4]),
    "valid range": ("i2", {"valid_range": np.array([2, 3], "i2")}, [1, 2, 3, 4]),
    "valid min": ("f4", {"valid_min": np.float32(2)}, [1, 2, 3, 4]),
    "valid max, fill": ("f4", {"valid_max": np.float32(3), "_FillValue": np.float32(-1)}, [1, -1, 3, 4]),
    "scaled": ("i2", {"scale_factor": 0.01, "add_offset": 273.15}, [1, 2, -3, 400]),
    "scaled, single": ("i2", {"scale_factor": np.float32(0.01)}, [1, 2, -3, 400]),
    "offset": ("i2", {"add_offset": np.float32(5)}, [1, 2, -3, 400]),
    "one and zero": ("i2", {"scale_factor": 1.0, "add_offset": 0.0}, [1, 2, -3, 400]),
    "scaled, fill": ("i2", {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(-1)}, [1, -1, -3, 400]),
    "unsigned": ("i1", {"_Unsigned": "true"}, [1, -1, -128, 127]),
    "unsigned, the fill of signed bytes": ("i1", {"_Unsigned": "true"}, [1, -127, -128, 127]),
    "unsigned, the fill of signed shorts": ("i2", {"_Unsigned": "true"}, [1, -32767, -32768, 32767]),
    "unsigned, missing": ("i1", {"_Unsigned": "true", "missing_value": np.int8(-1)}, [1, -127, -1, 127]),
    "unsigned, scaled": ("i2", {"_Unsigned": "true", "scale_factor": 0.5}, [1, -32767, -1, 127]),
    "unsigned, scaled, fill": (
        "i1",
        {"_Unsigned": "true", "scale_factor": 0.5, "_FillValue": np.int8(-1)},
        [1, -1, -128, 127],
    ),
    "not a number": ("i2", {"scale_factor": "lots"}, [1, 2, 3, 4]),
    "unusable": ("i2", {"missing_value": 1e9}, [1, 2, 3, 4]),
}


def write(path: Path, fmt: Any, kind: str, attrs: dict[str, Any], values: Any) -> None:
    with as_plain(path, "w") as plain, created(plain, format=fmt, x=len(values)) as nc:
        attrs = dict(attrs)
        v = nc.createVariable("v", kind, ("x",), fill_value=attrs.pop("_FillValue", None))
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        v[:] = np.array(values, kind)


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
    assert np.shape(ours) == np.shape(theirs)
    if isinstance(theirs, np.ma.MaskedArray):
        assert np.array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(theirs))
        assert np.array_equal(ours.compressed(), theirs.compressed(), equal_nan=theirs.dtype.kind == "f")
        assert ours.fill_value == theirs.fill_value or (
            ours.fill_value != ours.fill_value and theirs.fill_value != theirs.fill_value
        )
    else:
        assert np.array_equal(ours, theirs, equal_nan=np.asarray(theirs).dtype.kind == "f")


@pytest.mark.parametrize(
    ("fmt", "suffix"), [("NETCDF4", ".nc"), ("NETCDF3_CLASSIC", ".nc"), ("NETCDF3_CLASSIC", ".ncz")]
)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_reading_masks_and_scales(tmp_path: Path, fmt: Any, suffix: str, case: str) -> None:
    path = tmp_path / f"v{suffix}"
    write(path, fmt, *CASES[case])
    with as_plain(path) as plain, netCDF4.Dataset(plain) as nc, ncforge.Dataset(path) as ds:
        for switches in ((), ("mask",), ("scale",), ("maskandscale",), ("always",)):
            for of in (nc, ds):
                of.set_auto_maskandscale(True)
                of.set_always_mask(True)
                for name in switches:
                    if name == "always":
                        of.set_always_mask(False)
                    else:
                        getattr(of["v"], f"set_auto_{name}")(False)
            for key in (slice(None), slice(0, 2), slice(None, None, -1), [0, 3], slice(1, 1)):
                assert_same(ds["v"][key], nc["v"][key])
            assert np.array_equal(np.ma.filled(ds["v"][1], 0), np.ma.filled(nc["v"][1], 0), equal_nan=True)
            assert np.ma.is_masked(ds["v"][1]) == np.ma.is_masked(nc["v"][1])


VALUES: list[Any] = [
    [1, 2, 3, 4],
    [1.25, 2.5, -3.75, 4],
    np.ma.masked_array([1, 2, 3, 4], [False, True, False, False]),
    np.ma.masked_array([1.5, 2, 3, 4], [False, True, True, False]),
    np.ma.masked_array([1.5, 2, 3, 4]),
    7,
    np.ma.masked,
]


@pytest.mark.parametrize(
    "case", [c for c in CASES if not any(w in c for w in ("nan", "several", "unsigned", "not a number", "unusable"))]
)
@pytest.mark.parametrize(("fmt", "suffix"), [("NETCDF4", ".nc"), ("NETCDF3_64BIT_DATA", ".ncz")])
@pytest.mark.filterwarnings("ignore")
def test_writing_packs_and_fills(tmp_path: Path, case: str, fmt: Any, suffix: str) -> None:
    kind, attrs, values = CASES[case]
    stored: list[list[Any]] = []
    for module, ending in ((netCDF4, ".nc"), (ncforge, suffix)):
        path = tmp_path / f"{module.__name__}{ending}"
        write(path, fmt, kind, attrs, values)
        stored.append([])
        for value in VALUES:
            with module.Dataset(path, "r+") as ds:
                ds["v"][:] = value
            with as_plain(path) as plain, netCDF4.Dataset(plain) as nc:
                nc["v"].set_auto_maskandscale(False)
                stored[-1].append(nc["v"][:].tolist())
    assert stored[1] == stored[0]


@pytest.mark.parametrize(("fmt", "suffix"), KINDS)
def test_orthogonal_indexing(tmp_path: Path, fmt: Any, suffix: str) -> None:
    path = tmp_path / f"i{suffix}"
    with as_plain(path, "w") as plain, created(plain, format=fmt, t=None, y=5, x=6) as nc:
        nc.createVariable("v", "i4", ("t", "y", "x"))[:] = np.arange(120).reshape(4, 5, 6)
        nc.createVariable("s", "f8")[...] = 3
    keys: list[Any] = [
        ([0, 2], [1, 3, 4], [5, 0][::-1]),
        ([0, 2], slice(None), 1),
        (..., [1, 3, 5]),
        (np.array([True, False, True, False]), slice(None, None, -2), [0, 1]),
        ([3], [4], [5]),
        (slice(None), [0, -1], slice(None)),
        (np.arange(2), np.arange(1, 5), 3),
        (1, 2, 3),
        -1,
        (slice(None, None, -1), slice(4, 1, -1), slice(-1, None)),
        (np.array([True, False, False, True]), 0, [2, 4]),
    ]
    with as_plain(path) as plain, netCDF4.Dataset(plain) as nc, ncforge.Dataset(path) as ds:
        for key in keys:
            assert np.array_equal(ds["v"][key], nc["v"][key]), key
            assert ds["v"][key].shape == nc["v"][key].shape, key
        whole = ds["v"][:]
        # Also what netCDF4-python refuses: any order, more than once.
        assert np.array_equal(ds["v"][[3, 0, 0], 1, [5, 2]], whole[[3, 0, 0]][:, 1][:, [5, 2]])
        assert np.array_equal(ds["s"][:], nc["s"][:]) and ds["s"][:].shape == ()
        for wrong in ([[0, 4]], (0, [5]), ([[0], [1]],), ([True],), (0.5,), ("a",)):
            with pytest.raises(IndexError):
                ds["v"][tuple(wrong)]


@pytest.mark.parametrize(("fmt", "suffix"), [("NETCDF4", ".nc"), ("NETCDF3_CLASSIC", ".ncz")])
def test_writing_with_lists_and_past_the_end(tmp_path: Path, fmt: Any, suffix: str) -> None:
    stored = []
    for module, ending in ((netCDF4, ".nc"), (ncforge, suffix)):
        path = tmp_path / f"{module.__name__}{ending}"
        with created(path, module, format=fmt, t=None, x=6) as ds:
            v = ds.createVariable("v", "i4", ("t", "x"))
            v[0:3] = np.arange(18).reshape(3, 6)
            v[[0, 2], [1, 3, 4]] = np.array([[100, 101, 102], [110, 111, 112]])
            v[:, np.array([True, False, False, False, False, True])] = -5
            v[5] = 7
            v[6:, 0:2] = np.array([[1, 2], [3, 4]])
        with as_plain(path) as plain, netCDF4.Dataset(plain) as nc:
            stored.append(nc["v"][:])
    assert np.array_equal(stored[0].mask, stored[1].mask)
    assert np.array_equal(stored[0], stored[1])


ONE: list[tuple[str, str, Any, Any]] = [
    ("i4", "tx", slice(None), np.full((1, 3), 7)),
    ("i4", "tx", ..., np.full((1, 3), 7)),
    ("i4", "tx", slice(2, None), np.full((1, 3), 7)),
    ("i4", "tx", slice(None, None, 2), np.full((1, 3), 7)),
    ("i4", "tx", (slice(None), 0), [7]),
    ("i4", "tx", (slice(None), [0, 2]), np.full((1, 2), 7)),
    ("i4", "xt", (0, slice(None)), [7]),
    ("i4", "xt", slice(None), [[7], [8], [9]]),
    ("i4", "xt", ([0, 2], slice(None)), [[7], [8]]),
    ("f4", "t", slice(None), [7]),
    ("f4", "t", slice(None), np.ma.masked_all(1)),
    ("S1", "t", slice(None), np.array([b"z"])),
    (str, "t", slice(None), np.array(["z"], object)),  # type: ignore[list-item]
    # Single values are written to all.
    ("i4", "tx", slice(None), 7),
    ("i4", "tx", (slice(1, None), 0), np.int32(7)),
    ("f4", "t", slice(None), np.ma.masked),
    ("f4", "t", slice(None), np.array(7.5)),
    ("i4", "t", slice(4, None), 7),
    ("i4", "xt", slice(None), 7),
    ("i4", "tu", slice(None), 7),
    ("i4", "tu", (slice(None), slice(0, 1)), 7),
    ("S1", "t", slice(None), "z"),
    ("S1", "t", slice(None), b"z"),
    # Not of unlimited dimensions.
    ("i4", "xy", (slice(None), [0, 2]), np.full((1, 2), 7)),
    ("i4", "tx", slice(0, 3), np.full((1, 3), 7)),
]


@pytest.mark.parametrize("records", [4, 0])
@pytest.mark.parametrize(("kind", "dims", "key", "value"), ONE, ids=range(len(ONE)))
def test_data_of_one_record_are_written_to_one_record(
    tmp_path: Path, kind: Any, dims: str, key: Any, value: Any, records: int
) -> None:
    for ds in by_both(tmp_path, t=None, u=None, x=3, y=3):
        v = ds.createVariable("v", kind, tuple(dims))
        shape = [records if name in "tu" else 3 for name in dims]
        v[tuple(slice(0, n) for n in shape)] = np.arange(np.prod(shape)).reshape(shape).astype(kind).astype(v.dtype)
        v[key] = value
    theirs, ours = (ds["v"][...].tolist() for ds in of_both(tmp_path))
    assert ours == theirs


@pytest.mark.parametrize("key", [slice(None), ..., (slice(None), slice(0, 3)), slice(4, None)])
def test_values_for_no_records_are_an_error(tmp_path: Path, key: Any) -> None:
    with created(tmp_path / "v.nc", ncforge, t=None, x=3) as ds:
        v = ds.createVariable("v", "i4", ("t", "x"))
        with pytest.raises(IndexError, match=r"`v`.*how many records"):
            v[key] = [7, 8, 9]
        v[key] = np.zeros((0, 3))
        v[:] = 7
        assert v.shape == (0, 3)


PAIR = np.dtype([("a", "i4"), ("b", "f8")])
NESTED = np.dtype([("p", PAIR), ("q", "f4", (2,)), ("t", "S3")])


@pytest.mark.parametrize(
    ("dtype", "key", "value"),
    [
        (PAIR, 0, (1, 2.5)),
        (PAIR, slice(0, 2), (1, 2.5)),
        (PAIR, slice(None), [(1, 2.5), (3, 4.5), (5, 6.5)]),
        (PAIR, slice(0, 2), np.array([(1, 2.5), (3, 4.5)], PAIR)),
        (PAIR, 1, np.array((1, 2.5), PAIR)[()]),
        (PAIR, 1, np.array((1, 2.5), PAIR)),
        (PAIR, slice(None), [np.array((n, 2.5), PAIR)[()] for n in range(3)]),
        (PAIR, 0, 5),
        (PAIR, slice(0, 2), [5, 6]),
        (PAIR, 0, np.array((1, 2.5), [("a", "f4"), ("b", "f4")])),
        (NESTED, 2, ((1, 2.5), (3, 4), b"abc")),
        (NESTED, slice(None), [((n, 2.5), (3, 4), b"ab") for n in range(3)]),
    ],
)
def test_tuples_are_structures(tmp_path: Path, dtype: np.dtype[Any], key: Any, value: Any) -> None:
    for ds in by_both(tmp_path, x=3):
        if dtype is NESTED:
            ds.createCompoundType(PAIR, "pair")
        v = ds.createVariable("v", ds.createCompoundType(dtype, "kind"), ("x",))
        v[:] = np.zeros(3, dtype)
        # netCDF4-python needs arrays for types with text.
        v[key] = np.array(value, dtype) if dtype is NESTED and isinstance(ds, netCDF4.Dataset) else value
    theirs, ours = (repr(ds["v"][:].tolist()) for ds in of_both(tmp_path))
    assert ours == theirs
    with ncforge.Dataset(tmp_path / "ncforge.nc", "r+") as ds:
        for wrong in ((1,), (1, 2, 3, 4), [(1, "x")], (2**40, 1)):
            with pytest.raises(ValueError, match="`v`"):
                ds["v"][0] = wrong


BLOSC = ("lz", "lz4", "lz4hc", "zlib", "zstd")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"zlib": True},
        {"compression": "zlib", "complevel": 1, "shuffle": False},
        {"compression": "zstd", "complevel": 3},
        {"compression": "bzip2", "complevel": 9},
        {"compression": "blosc_lz4", "complevel": 5, "blosc_shuffle": 2},
        {"compression": "blosc_lz4hc"},
        {"compression": "blosc_zstd"},
        {"fletcher32": True, "chunksizes": (5, 2)},
        {"contiguous": True},
        {"zlib": True, "complevel": 0},
        {"zlib": True, "least_significant_digit": 2},
        {"endian": "big"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:endian-ness")
def test_storage_is_what_netcdf4_makes(tmp_path: Path, options: dict[str, Any]) -> None:
    values = np.random.default_rng(0).normal(size=(20, 8))
    reported = []
    for ds in by_both(tmp_path, y=20, x=8):
        ds.createVariable("v", "f8", ("y", "x"), **options)[:] = values
    # Each is read by the other one, too.
    for path in (tmp_path / "netCDF4.nc", tmp_path / "ncforge.nc"):
        for reader in (netCDF4, ncforge):
            with reader.Dataset(path) as ds:
                v = ds["v"]
                chunks = v.chunking() if "chunksizes" in options or v.chunking() == "contiguous" else None
                filters = v.filters()
                reported.append((filters, chunks, v.endian(), v[:].tolist()))
    assert all(t == reported[0] for t in reported), reported


@pytest.mark.parametrize("compression", ["zlib", "zstd", "bzip2", *(f"blosc_{c}" for c in BLOSC)])
def test_files_are_as_small_as_those_of_netcdf4(tmp_path: Path, compression: Any) -> None:
    walk = np.random.default_rng(0).normal(size=2**18).cumsum().round(1).astype("f4")
    for ds in by_both(tmp_path, x=walk.size):
        ds.createVariable("v", "f4", ("x",), compression=compression, complevel=6, chunksizes=(2**16,))[:] = walk
    ours, theirs = ((tmp_path / f"{name}.nc").stat().st_size for name in ("ncforge", "netCDF4"))
    assert ours <= 1.05 * theirs
    with netCDF4.Dataset(tmp_path / "ncforge.nc") as ds:
        assert np.array_equal(ds["v"][:], walk)


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "text.nc"
    for module in (netCDF4, ncforge):
        with created(path, module, n=3, width=6) as ds:
            v = ds.createVariable("v", "S1", ("n", "width"))
            v._Encoding = "utf-8"
            v[:] = np.array(["abc", "Ωm", ""])
            raw = ds.createVariable("raw", "S1", ("n", "width"))
            raw[0] = np.array(list("abcdef"), "S1")
            ds.createVariable("s", str, ("n",))[:] = np.array(["x", "", "yz"], object)
        with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds:
            for key in (slice(None), 0, (slice(None), slice(0, 2)), slice(1, 3)):
                ours, theirs = ds["v"][key], nc["v"][key]
                assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs), key
            for of in (nc, ds):
                of.set_auto_chartostring(False)
            assert_same(ds["v"][:], nc["v"][:])
            assert_same(ds["raw"][:], nc["raw"][:])
            assert list(ds["s"][:]) == list(nc["s"][:])


def test_text_does_not_make_an_unlimited_dimension_longer(tmp_path: Path) -> None:
    with created(tmp_path / "a.nc", ncforge, t=None) as ds:
        v = ds.createVariable("v", "S1", ("t",))
        with pytest.raises(ValueError, match="single ones"):
            v[:] = "abc"
        v[:] = np.array(list("abc"), "S1")
        v[1] = "z"
        assert v[:].tolist() == [b"a", b"z", b"c"]


ROWS = [
    np.s_[:],
    np.s_[::-1],
    np.ones(4, bool),
    [0, 1, 2, 3],
    np.s_[0:2],
    [0, 2],
    np.array([True, False, True, True]),
    1,
]


@pytest.mark.parametrize("key", ROWS, ids=str)
def test_text_fills_rows_in_any_order_and_is_not_cut(tmp_path: Path, key: Any) -> None:
    """Whole rows of characters, whatever chooses them; a text for a part of a row is an error in both libraries."""
    for text in ("ab", np.array(["ab"]), np.array(["é", "c", "xyz"])):
        refused: list[bool] = []
        for ds in by_both(tmp_path, n=3, width=4):
            v: Any = ds.createVariable("v", "S1", ("n", "width"), fill_value=b"-")
            v._Encoding = "utf-8"
            try:
                v[:, key] = text
                refused.append(False)
            except (ValueError, IndexError):
                refused.append(True)
        assert refused[1] == refused[0], text
        theirs, ours = (ds["v"][:].tobytes() for ds in of_both(tmp_path))
        assert ours == theirs or refused[0], text


def test_attributes_and_names(tmp_path: Path) -> None:
    path = tmp_path / "names.nc"
    with created(path, ncforge, x=2) as ds:
        v = ds.createVariable("/below/v", "f4", ("x",), fill_value=-1.0)
        v.units, v.axis = "m", "X"
        v.setncatts({"valid_min": np.float32(0), "flags": np.array([1, 2], "i2")})
        v.setncattr_string("name", "as a string")
        v.renameAttribute("axis", "_axis")
        v.delncattr("units")
        ds.createVariable("w", "i4", ("x",)).axis = "Y"
        ds.renameDimension("x", "east")
        ds.renameVariable("w", "width")
        ds.renameGroup("below", "under")
        assert [v.name for v in ds.get_variables_by_attributes(axis="Y")] == ["width"]
        assert ds["under/v"].get_fill_value() == -1
        assert ds["width"].get_fill_value() == -2147483647
        for what in (lambda: iter(ds), lambda: "w" in ds):
            with pytest.raises(TypeError):
                what()
        with pytest.raises(KeyError):
            ds.renameVariable("absent", "x")
        with pytest.raises(ValueError, match="already"):
            ds["under/v"].renameAttribute("_axis", "flags")
    with netCDF4.Dataset(path) as nc:
        assert list(nc.dimensions) == ["east"]
        assert list(nc.variables) == ["width"]
        assert nc["under/v"].ncattrs() == ["_FillValue", "_axis", "valid_min", "flags", "name"]
        assert nc["under/v"].dimensions == ("east",)
    with ncforge.Dataset(path) as ds:
        assert (ds.disk_format, ds.data_model, ds.isopen()) == ("HDF5", "NETCDF4", True)
        text = ds.tocdl()
        assert text is not None and "east = 2" in text


def test_layout_and_its_drawing(tmp_path: Path) -> None:
    path = tmp_path / "layout.nc"
    with created(path, ncforge, t=10, y=20, x=30) as ds:
        v = ds.createVariable("v", "f4", ("t", "y", "x"), zlib=True, chunksizes=(4, 10, 10))
        v[0:8] = 1
        ds.createVariable("flat", "f8", ("x",))[:] = 0
    with ncforge.Dataset(path) as ds:
        layout = ds["v"].layout
        assert (layout.kind, layout.chunk_shape, layout.grid) == ("chunked", (4, 10, 10), (3, 2, 3))
        assert layout.filters == ("shuffle", "deflate")
        assert layout.values_bytes == 10 * 20 * 30 * 4
        assert len(layout.pieces) == 2 * 2 * 3, "the last row of chunks was never written"
        assert layout.stored_bytes == sum(p.size for p in layout.pieces)
        flat = ds["flat"].layout
        assert flat.kind == "contiguous" and flat.offset is not None and flat.stored_bytes == 240
        with open(path, "rb") as file:
            for piece in layout.pieces:
                file.seek(piece.offset)
                assert len(file.read(piece.size)) == piece.size
        drawn = ds["v"]._repr_html_()
        assert "<svg" in drawn and "(4, 10, 10)" in drawn and "18" in drawn and "12 stored" in drawn


def test_values_as_they_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "raw.nc"
    write(path, "NETCDF4", *CASES["scaled, fill"])
    with ncforge.Dataset(path) as ds:
        v = ds["v"]
        assert v.read().tolist() == [1, -1, -3, 400]
        out = np.zeros(2, "i2")
        assert v.read([3, 1], out=out) is out
        assert out.tolist() == [400, -1]
        assert v.read(slice(1, 3), out=out).tolist() == [-1, -3]


def test_nothing_is_warned_of_without_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "quiet.nc"
    write(path, "NETCDF4", *CASES["scaled, fill"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ncforge.Dataset(path, "r+") as ds:
            ds["v"][:] = ds["v"][:]
            assert ds["v"][:].tolist() == [10.5, None, 8.5, 210.0]


@pytest.mark.parametrize("module", [netCDF4, ncforge])
def test_errors_that_scripts_catch_as_netcdf4s(tmp_path: Path, module: Any) -> None:
    with created(tmp_path / "a.nc", module, x=2) as ds:
        v = ds.createVariable("v", "i4", ("x",))
        wrong: list[Callable[[], Any]] = [
            lambda: ds.createDimension("x", 3),
            lambda: ds.renameVariable("v", "v/w"),
            lambda: v.delncattr("absent"),
            lambda: v.renameAttribute("absent", "other"),
        ]
        for call in wrong:
            with pytest.raises(RuntimeError):
                call()
    with pytest.raises(RuntimeError):
        v[:]
