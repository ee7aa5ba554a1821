"""Characters and text in arrays and in structures, against netCDF4-python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import by_both, created

CHARACTERS = np.dtype([("a", "i4"), ("s", "S1", (3,))])


def structures(dtype: Any) -> np.ndarray:
    """Two structures, whose text is in the form that the type asks for."""
    out = np.zeros(2, dtype)
    out["a"] = [1, 2]
    out["s"] = [list("xyz"), list("uvw")] if out["s"].ndim > 1 else ["xyz", "uvw"]
    return out


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize(
    "dtype",
    [
        CHARACTERS,
        np.dtype(CHARACTERS.descr, align=True),
        CHARACTERS.newbyteorder(">"),
        np.dtype([("a", "i8"), ("s", "U1", (3,))]),
        np.dtype([("a", "i4"), ("s", "S3")]),
        np.dtype([("a", "i4"), ("s", "U3")]),
    ],
)
def test_characters_of_structures_are_complete(tmp_path: Path, joined: bool, dtype: np.dtype[Any]) -> None:
    """The first of them was stored, and nothing of the others."""
    val = structures(dtype)
    inside = np.zeros(2, [("k", "i2"), ("t", dtype)])
    inside["t"] = val
    with created(tmp_path / "s.nc", ncforge, n=2) as ds:
        kind = ds.createCompoundType(CHARACTERS, "kind")
        outer = ds.createCompoundType(np.dtype([("k", "i2"), ("t", CHARACTERS)]), "outer")
        for name in ("all", "single", "list", "objects", "back"):
            ds.createVariable(name, kind, ("n",))
        for name in ("nested", "tuples"):
            ds.createVariable(name, outer, ("n",))
        ds.set_auto_chartostring(joined)
        ds["all"][:] = val
        ds["single"][0], ds["single"][1] = val
        ds["list"][:] = list(val)
        objects = np.empty(2, object)
        objects[:] = list(val)
        ds["objects"][:] = objects
        ds["back"][:] = ds["all"][:]
        ds["tuples"][:] = [(0, one) for one in val]
        ds["nested"][:] = inside
        ds.note = structures(CHARACTERS)
    # netCDF4-python has no ragged rows of structures.
    with created(tmp_path / "rows.nc", ncforge, n=2) as ds:
        v = ds.createVariable("v", ds.createVLType(ds.createCompoundType(CHARACTERS, "kind"), "row"), ("n",))
        v[0], v[1] = val[:1], list(val)
        rows = [row["s"].tolist() for row in v[:]]
    assert rows == [[[b"x", b"y", b"z"]], [[b"x", b"y", b"z"], [b"u", b"v", b"w"]]]
    expected = [(1, b"xyz"), (2, b"uvw")]
    with netCDF4.Dataset(tmp_path / "s.nc") as nc:
        for name in ("all", "single", "list", "objects", "back"):
            assert nc[name][:].tolist() == expected
        for name in ("nested", "tuples"):
            assert nc[name][:]["t"].tolist() == expected
        assert nc.note.tolist() == expected


KEYS: list[Any] = [
    ..., slice(None), 0, (0, slice(None)), (1, ...), (-1, [0, 1]), (slice(None), 2), ([0, 2],), ([True, False, True], 1),
    slice(1, None), (slice(None), slice(1, None)), (slice(None), slice(None, None, -1)), (2, [0, 1, 2]), (1, 1),
]  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_single_characters_are_not_text(tmp_path: Path, encoding: str, key: Any) -> None:
    """An array of them with fewer dimensions than the variable was taken for whole strings, or refused."""
    full = np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"], [b"g", b"h", b"i"]])
    shape = full[key].shape
    values = [np.array([b"p", b"q", b"r"] * 3)[: int(np.prod(shape[n:]))].reshape(shape[n:]) for n in range(3)]
    found = []
    for ds in by_both(tmp_path, y=3, c=3):
        ds.set_auto_chartostring(True)
        stored = []
        for n, value in enumerate([*values, np.bytes_(b"z")]):
            v = ds.createVariable(f"v{n}", "S1", ("y", "c"))
            v[:] = full
            v._Encoding = encoding
            v[key] = value
            v.set_auto_chartostring(False)
            stored.append(v[:].tolist())
        found.append(stored)
    assert found[1] == found[0]


def test_lists_have_text_unless_they_have_its_dimension(tmp_path: Path) -> None:
    with created(tmp_path / "c.nc", ncforge, y=3, c=3) as ds:
        v = ds.createVariable("v", "S1", ("y", "c"))
        v._Encoding = "ascii"
        v[:] = [b"a", b"b", b"c"]
        assert v[:].tolist() == ["a", "b", "c"]
        v[0] = [b"x", b"y", b"z"]
        v[1] = "k"
        v[2] = b"l"
        assert v[:].tolist() == ["xyz", "k", "l"]


def test_text_without_an_encoding_is_its_characters_or_refused(tmp_path: Path) -> None:
    """netCDF4-python stores the first character everywhere (docs/explanation/different-from-netcdf4.md)."""
    with created(tmp_path / "c.nc", ncforge, x=3) as ds:
        v = ds.createVariable("v", "S1", ("x", "x"))
        v[0:2] = "str"
        v[2, 0] = "c"
        assert v[0:2].tolist() == [[b"s", b"t", b"r"]] * 2 and v[2, 0] == b"c"
        for key, text in ((0, "longer"), (0, "st"), ((2, 0), "str")):
            with pytest.raises(ValueError, match="cannot be broadcast"):
                v[key] = text


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8", "none", "no such"])
def test_strings_have_the_encoding_of_their_variable(tmp_path: Path, encoding: str) -> None:
    words = np.array(["é", "", "abc", "ÿ x"], object)
    for by in (netCDF4, ncforge):
        with by.Dataset(tmp_path / "a.nc", "w") as d:
            d.createDimension("x", 4)
            for name, dims in (("many", ("x",)), ("one", ())):
                v = d.createVariable(name, str, dims)
                if by is ncforge or encoding not in ("none", "no such"):
                    v._Encoding = encoding
                v[...] = words if dims else "été"
            d["many"][1:3] = words[1:3]
        read = {}
        for reader in (netCDF4, ncforge):
            if reader is netCDF4 and by is ncforge and encoding in ("none", "no such"):
                continue
            with reader.Dataset(tmp_path / "a.nc") as d:
                read[reader] = [
                    d["many"][...].tolist(),
                    d["many"][::-2].tolist(),
                    d["many"][[0, 3]].tolist(),
                    d["one"][...],
                ]
        for found in read.values():
            assert found == [words.tolist(), words[::-2].tolist(), words[[0, 3]].tolist(), "été"]
    with ncforge.Dataset(tmp_path / "b.nc", "w") as d:
        d.createDimension("x", 1)
        v = d.createVariable("v", str, ("x",))
        v._Encoding = "ascii"
        with pytest.raises(UnicodeEncodeError):
            v[0] = "é"
