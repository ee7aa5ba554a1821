"""Random programs of the netCDF4 API, run by netCDF4-python and by ncforge: the files hold the same, and read the same.

A program defines a variable of any kind, with attributes that mask, scale and encode its values, and assigns to it. Where one
of the libraries refuses an assignment, the program ends. What ncforge refuses alone is one of the differences on the page
"Different from netCDF4-python".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import ncforge

NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
CLASSIC = ("i1", "i2", "i4", "f4", "f8")
TEXTS = ("", "a", "abc", "é", "x y", "1", "日本", "a\0")
SETTINGS: Any = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}
#: What ncforge refuses and netCDF4-python does not (docs/explanation/different-from-netcdf4.md).
REFUSED = ("does not fit", "cannot be broadcast", "booleans for dimension", "do not say how many records")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Both libraries warn of attributes that do not fit their variable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Attributes


def numbers_of(kind: str) -> st.SearchStrategy[Any]:
    if kind[0] == "f":
        values = st.sampled_from([0, 1, -1.5, 2.25, 1e10, np.nan])
    else:
        limits = np.iinfo(kind)
        values = st.sampled_from([0, 1, 5, int(limits.min), int(limits.max)])
    return values.map(np.dtype(kind).type)


def attributes(format: str) -> st.SearchStrategy[Any]:
    """Values of every kind that a program can give to an attribute."""
    kinds = st.sampled_from(NUMBERS if format in ("NETCDF4", "NETCDF3_64BIT_DATA") else CLASSIC)
    texts, some_bytes = st.sampled_from(TEXTS), st.sampled_from([b"", b"a", b"\xff", b"ab\0", b"\xc3\xa9"])
    many = kinds.flatmap(lambda k: st.lists(numbers_of(k), max_size=3).map(lambda v: np.array(v, k)))
    return st.one_of(
        kinds.flatmap(numbers_of),
        many,
        many.map(lambda a: a.astype(a.dtype.newbyteorder(">"))),
        kinds.flatmap(numbers_of).map(np.array),
        texts,
        some_bytes,
        texts.map(np.str_),
        some_bytes.map(np.array),
        st.lists(texts, max_size=3),
        st.lists(some_bytes, min_size=2, max_size=3),
        st.lists(some_bytes, min_size=2, max_size=3).map(np.array),
        st.lists(st.sampled_from(["a", "bc", "é"]), min_size=1, max_size=3).map(np.array),
        st.sampled_from([0, -5, 2**31 - 1, 1.5, [1, 2], [1.5, 2], (1, 2, 3), range(3), [], [1, "a"], ["a", 2.5]]),
    )


def same(one: Any, other: Any) -> bool:
    """Whether values are equal, of the same type and shape."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, np.ndarray | np.generic):
        return bool(one == other)
    a, b = np.asarray(one), np.asarray(other)
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@settings(max_examples=80, **SETTINGS)
@given(st.data())
def test_attributes(tmp_path: Path, data: st.DataObject) -> None:
    format = data.draw(st.sampled_from(["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"]))
    given = data.draw(st.lists(attributes(format), min_size=1, max_size=6))
    refused: list[list[bool]] = []
    for lib in (netCDF4, ncforge):
        refused.append([])
        with lib.Dataset(tmp_path / f"{lib.__name__}.nc", "w", format=format) as ds:
            v = ds.createVariable("v", "i4")
            for n, value in enumerate(given):
                try:
                    (ds if n % 2 else v).setncattr(f"a{n}", value)
                    refused[-1].append(False)
                except (TypeError, ValueError, OSError, AttributeError, ncforge.NcforgeError):
                    refused[-1].append(True)
    assert refused[1] == refused[0], given
    found = []
    for path in (tmp_path / "netCDF4.nc", tmp_path / "ncforge.nc"):
        for lib in (netCDF4, ncforge):
            with lib.Dataset(path) as ds:
                found.append({name: of.getncattr(name) for of in (ds, ds["v"]) for name in of.ncattrs()})
    for name, value in found[0].items():
        assert all(same(value, other[name]) for other in found), (name, [other[name] for other in found], given)


# Values


@dataclass
class Program:
    """A variable, and what is assigned to it."""

    format: Any
    dims: tuple[str, ...]
    kind: str
    attrs: dict[str, Any]
    options: dict[str, Any]
    steps: list[tuple[Any, Any]] = field(default_factory=list)

    def run(self, lib: Any, path: Path) -> Exception | None:
        """Runs it; the error that ended it."""
        with lib.Dataset(path, "w", format=self.format) as ds:
            ds.createDimension("x", 4)
            ds.createDimension("t", None)
            kind: Any = {"str": str}.get(self.kind, self.kind)
            if kind == "enum":
                kind = ds.createEnumType("u1", "e_t", {"a": 0, "b": 1, "c": 2})
            v = ds.createVariable("v", kind, self.dims, **self.options)
            v.setncatts(self.attrs)
            for key, value in self.steps:
                try:
                    v[key] = value
                except Exception as error:  # of any kind: what is refused is compared
                    return error
        return None


def keys(dim: str) -> st.SearchStrategy[Any]:
    """Of one dimension. Positions from the end of one that grows are another difference."""
    steps = st.sampled_from([None, None, 1, -1, 2, -2])
    first = st.sampled_from([None, 0, 1, 2, 3, 5, -1, -2] if dim == "x" else [None, 0, 1, 2])
    last = st.sampled_from([None, None, 0, 1, 2, 3, 5, -1, -2] if dim == "x" else [None, None, 1, 2, 3, 5])
    empty = st.sampled_from([slice(3, 1), slice(2, 2), slice(0, 0), slice(1, 3, -1)])
    at = st.integers(-4, 3) if dim == "x" else st.integers(0, 3)
    lists = st.lists(st.integers(0, 3), unique=True, min_size=1).map(sorted)
    flags = st.lists(st.booleans(), min_size=4, max_size=4).map(lambda f: np.array(f, bool))
    return st.one_of(st.builds(slice, first, last, steps), empty, at, lists, *([flags] if dim == "x" else []))


def length(key: Any, dim: str, records: int) -> int:
    """How many positions a key has; of an open slice over records, as many as are given."""
    if isinstance(key, slice) and dim == "t" and key.stop is None:
        return records
    return len(np.arange(4 if dim == "x" else 9)[key])


@st.composite
def values(draw: st.DrawFn, kind: str, shape: tuple[int, ...]) -> Any:
    """Values for a selection of a shape."""
    if kind == "S1":
        letters = np.array(draw(st.lists(st.sampled_from("abc"), min_size=24, max_size=24)))
        chosen = letters[: int(np.prod(shape))].reshape(shape) if np.prod(shape) <= 24 else np.full(shape, "a")
        return draw(st.sampled_from([chosen.astype("S1"), "a", b"z", "abc", np.array("é")]))
    seed = draw(st.integers(0, 99))
    base = np.random.default_rng(seed).integers(0, 3 if kind == "enum" else 7, shape)
    mask = np.random.default_rng(seed + 1).random(shape) < 0.4
    if kind == "str":
        return np.array(["a", "bc", "é", "", "1", "2", "3"], object)[base]
    if kind == "enum":
        return draw(st.sampled_from([base, base.astype("u1"), np.ma.masked_array(base, mask), 1, base.tolist()]))
    return draw(
        st.sampled_from(
            [
                base,
                base.astype("f8"),
                base.astype("f4") / 2,
                base.astype("i2"),
                base.tolist(),
                base.astype("u8"),
                np.ma.masked_array(base, mask),
                np.ma.masked_array(base.astype("f8"), mask),
                np.ma.masked,
                3,
                2.5,
                "4",
                np.int8(3),
                np.float32(1.5),
                [5],
            ]
        )
    )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    format = draw(st.sampled_from(["NETCDF4", "NETCDF4", "NETCDF3_CLASSIC", "NETCDF4_CLASSIC", "NETCDF3_64BIT_DATA"]))
    shapes: list[tuple[str, ...]] = [("t",), ("x",), ("t", "x"), (), ("x", "t")]
    dims = draw(st.sampled_from(shapes if format == "NETCDF4" else shapes[:-1]))
    number = draw(st.sampled_from(NUMBERS if format in ("NETCDF4", "NETCDF3_64BIT_DATA") else CLASSIC))
    kind = draw(st.sampled_from([number] * 5 + ["S1"] + (["str", "enum"] if format == "NETCDF4" else [])))
    made = Program(format, dims, kind, {}, {})
    if kind == number:
        of = np.dtype(number).type
        attrs: dict[str, list[Any]] = {
            "scale_factor": [0.5, 2.0, np.float32(0.1), 3, 0.01],
            "add_offset": [1.0, -2, np.float32(10)],
            "missing_value": [of(5), of(6), np.array([5, 6], number), np.array([2, 5, 1], number)],
            "valid_range": [np.array([1, 6], number)],
            "valid_min": [of(2)],
            "valid_max": [of(5)],
        }
        chosen = draw(st.lists(st.sampled_from(sorted(attrs)), unique=True, max_size=3))
        made.attrs = {name: draw(st.sampled_from(attrs[name])) for name in chosen}
        if number[0] == "i" and not chosen:
            made.attrs = draw(st.sampled_from([{}, {"_Unsigned": "true"}]))
        more: list[dict[str, Any]] = [{}, {"fill_value": 3}, {"fill_value": 99}, {"least_significant_digit": 1}]
        made.options = dict(draw(st.sampled_from(more)))
        if format == "NETCDF4":
            made.options["endian"] = draw(st.sampled_from(["native", "big"]))
    elif kind == "S1" and dims and dims[-1] == "x":
        made.attrs = draw(st.sampled_from([{}, {"_Encoding": "utf-8"}]))
    if dims and format.startswith("NETCDF4"):
        made.options.update(
            draw(st.sampled_from([{}, {"zlib": True}, {"fletcher32": True}, {"chunksizes": (3,) * len(dims)}]))
        )
    for _ in range(draw(st.integers(1, 3))):
        key = tuple(draw(keys(dim)) for dim in dims)
        records = draw(st.integers(1, 3))
        shape = tuple(length(k, d, records) for k, d in zip(key, dims, strict=True) if not isinstance(k, int))
        value = draw(values(kind, shape))
        if kind == "str" and isinstance(value, str) and shape:
            continue
        made.steps.append((key if len(key) > 1 else key[0] if key else ..., value))
    return made


def held(path: Path, lib: Any, dressed: bool) -> Any:
    """All values of a file, as stored or as a program gets them."""
    with lib.Dataset(path) as ds:
        if not dressed:
            ds.set_auto_maskandscale(False)
            ds.set_auto_chartostring(False)
        found = ds["v"][...]
        mask = np.ma.getmaskarray(found).tolist() if isinstance(found, np.ndarray) else None
        plain = np.ma.filled(found, 0) if mask is not None and found.dtype.kind in "iuf" else found
        dtype = getattr(found, "dtype", None)
        # ncforge gives all numbers in the machine's byte order.
        return type(found), dtype and dtype.newbyteorder("="), np.shape(found), mask, np.asarray(plain).tolist()


@settings(max_examples=250, **SETTINGS)
@given(programs())
def test_values(tmp_path: Path, program: Program) -> None:
    theirs, ours = tmp_path / "netCDF4.nc", tmp_path / "ncforge.nc"
    refused = program.run(netCDF4, theirs), program.run(ncforge, ours)
    if refused[1] is not None and refused[0] is None:
        assert any(words in str(refused[1]) for words in REFUSED), (program, refused[1])
    event(f"{refused[0] is None}, {refused[1] is None}")
    if refused != (None, None):
        return
    stored = held(ours, netCDF4, False)
    assert repr(stored) == repr(held(theirs, netCDF4, False)), program
    assert repr(held(ours, ncforge, False)) == repr(stored), program
    try:
        wanted = held(theirs, netCDF4, True)
    except TypeError:  # of `_Unsigned` with a limit
        return
    assert repr(held(ours, ncforge, True)) == repr(wanted), program
