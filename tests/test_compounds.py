"""Structures: with strings among their fields, and with masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute

TEXT: Any = [
    [("name", str), ("x", "i4")],
    [("name", object), ("x", "i4")],
    [("name", "U5"), ("x", "i4")],
    np.dtype([("name", "S"), ("x", "i4")]),
    np.dtype([("name", "O"), ("x", "i4")], align=True),
]
"""netCDF4-python has none of these: netCDF-C's error reaches the caller."""


@pytest.mark.parametrize("fields", TEXT, ids=str)
def test_fields_of_text_are_strings(tmp_path: Path, fields: Any) -> None:
    rows = [("ab", 1), ("cdéfghi", 2), ("", -3)]
    path = tmp_path / "new.nc"
    with ncforge.Dataset(path, "w") as ds:
        kind = ds.createCompoundType(fields, "named")
        ds.createDimension("n", len(rows))
        v = ds.createVariable("v", kind, ("n",))
        v[:] = np.array(rows, [("name", object), ("x", "i4")])
        assert v[:].tolist() == rows
        v[2] = ("z", 3)
        # Inside another structure, and as a row of strings.
        inner = np.dtype([("where", kind.dtype), ("names", "U3", (2,)), ("y", "f8")])
        outer = ds.createVariable("outer", ds.createCompoundType(inner, "outer_t"), ())
        outer[...] = (("deep", 7), ["p", "qrs"], 0.5)
    rows[2] = ("z", 3)
    with ncforge.Dataset(path) as ds:
        assert ds["v"][:].tolist() == rows
        found = ds["outer"][...].item()
        assert (found[0], list(found[1]), found[2]) == (("deep", 7), ["p", "qrs"], 0.5)
    with h5py.File(path) as h5:
        assert [(name.decode(), int(x)) for name, x in h5["v"][:]] == rows
        assert h5["outer"][()]["where"]["name"] == b"deep" and h5["outer"][()]["y"] == 0.5
    dumped = execute("ncdump", path).stdout
    assert '{"ab", 1}, {"cdéfghi", 2}, {"z", 3}' in dumped and '{{"deep", 7}, {"p", "qrs"}, 0.5}' in dumped


def test_text_that_is_too_long_for_a_field_is_cut_as_numpy_cuts_it(tmp_path: Path) -> None:
    given = np.array([("abcdefgh", 1), ("cd", 2)], [("name", "S8"), ("x", "i4")])
    with ncforge.Dataset(tmp_path / "new.nc", "w") as ds:
        ds.createDimension("n", 2)
        kind = ds.createCompoundType(np.dtype([("name", "S4"), ("x", "i4")]), "named")
        v = ds.createVariable("v", kind, ("n",))
        v[:] = given
        assert v[:].tolist() == given.astype([("name", "S4"), ("x", "i4")]).tolist()


STRUCTURES: Any = [
    np.dtype([("y", "f4"), ("x", "i4")]),
    np.dtype([("y", "f4", (2,)), ("in", [("x", "i4"), ("z", "i1")])]),
    np.dtype([("y", "O"), ("x", "i4")]),
]


@pytest.mark.parametrize("dtype", STRUCTURES, ids=str)
def test_masked_structures_are_refused_as_masked_strings_are(tmp_path: Path, dtype: Any) -> None:
    with ncforge.Dataset(tmp_path / "new.nc", "w") as ds:
        if "in" in dtype.names:
            ds.createCompoundType(dtype["in"], "in_t")
        kind = ds.createCompoundType(dtype, "kind")
        ds.createDimension("n", 3)
        v = ds.createVariable("v", kind, ("n",))
        # Text where there are strings.
        zeros = np.zeros(3, dtype)
        zeros["y"] = "0" if dtype["y"] == np.dtype("O") else 0
        whole = np.ma.MaskedArray(zeros)
        v[:] = whole
        assert repr(v[:].tolist()) == repr(zeros.tolist())
        whole[1] = np.ma.masked
        one_field = np.ma.MaskedArray(zeros)
        one_field["y"][2] = np.ma.masked
        for masked, at in ((whole, 1), (one_field, 2)):
            with pytest.raises(ncforge.errors.InvalidError, match=rf"`v`: a masked value at \[{at}\]: fill"):
                v[:] = masked
            with pytest.raises(ncforge.errors.InvalidError, match=r"`v`: a masked value: fill"):
                v[0] = masked[at]


def test_masked_values_of_attributes_are_refused(tmp_path: Path) -> None:
    # netCDF4-python stores what the mask hides.
    pair: Any = np.dtype([("y", "f4"), ("x", "i4")])
    with ncforge.Dataset(tmp_path / "new.nc", "w") as ds:
        ds.createCompoundType(pair, "pair")
        v = ds.createVariable("v", "i4", ())
        hidden = np.ma.MaskedArray([1, 2], [False, True])
        for value in (hidden, hidden.astype("f8"), hidden.astype("U3"), hidden[1:].astype(pair), np.ma.masked):
            for of in (ds, v):
                with pytest.raises(ncforge.errors.InvalidError, match="attribute `a`: a masked value"):
                    of.setncattr("a", value)
        with pytest.raises(ncforge.errors.InvalidError, match="attribute `valid_range` of `v`: a masked value"):
            v.valid_range = hidden
        with pytest.raises(ncforge.errors.InvalidError, match="the fill value of `v`: a masked value"):
            v.setncattr("_FillValue", np.ma.masked)
        v.setncattr("a", np.ma.MaskedArray([1, 2]))
        v.valid_range = np.ma.MaskedArray([1, 2])
    with netCDF4.Dataset(tmp_path / "new.nc") as nc:
        assert nc["v"].a.tolist() == nc["v"].valid_range.tolist() == [1, 2] and nc.ncattrs() == []
