"""Attributes have the types that netCDF4-python gives them, of every type a file can have."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
from datasets import by_both, created

TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT_DATA", "NETCDF3_CLASSIC"])
def test_same_values_and_types(tmp_path: Path, format: Any) -> None:
    kinds = TYPES if format != "NETCDF3_CLASSIC" else ("i1", "i2", "i4", "f4", "f8")
    path = tmp_path / "a.nc"
    with created(path, format=format, x=2) as new:
        for name in ("one", "other"):
            var = new.createVariable(name, "f4", ("x",))
            for kind in kinds:
                var.setncattr(f"{kind}_scalar", np.array(7, kind)[()])
                var.setncattr(f"{kind}_list", np.arange(3).astype(kind))
            var.setncattr("text", "wörds")
            var.setncattr("empty", "")
            var.setncattr("nan", np.float32(np.nan))
            var.setncattr("most", np.iinfo("i4").min * np.ones(1, "i4"))
    with netCDF4.Dataset(path) as theirs, ncforge.Dataset(path) as ours:
        assert [v.name for v in ours.variables.values()] == list(theirs.variables)
        assert [(n, v.name) for n, v in ours.variables.items()] == [(n, n) for n in theirs.variables]
        for name, found in ours.variables.items():
            want = theirs[name]
            assert found.ncattrs() == want.ncattrs()
            for attr in want.ncattrs():
                mine, other = found.getncattr(attr), want.getncattr(attr)
                assert type(mine) is type(other), attr
                if isinstance(other, np.ndarray | np.generic):
                    assert mine.dtype == other.dtype, attr
                np.testing.assert_array_equal(mine, other)


def test_who_changes_a_value_changes_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w") as new:
        var = new.createVariable("v", "f4")
        var.setncattr("levels", np.arange(3))
        var.setncattr("names", ["a", "b"])
    with ncforge.Dataset(path) as ds:
        ds["v"].getncattr("levels")[0] = 9
        ds["v"].getncattr("names").append("c")
        assert ds["v"].getncattr("levels").tolist() == [0, 1, 2]
        assert ds["v"].getncattr("names") == ["a", "b"]
        with pytest.raises(AttributeError, match="none"):
            ds["v"].getncattr("none")


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC"])
def test_several_byte_strings_are_several_texts(tmp_path: Path, format: Any) -> None:
    """As in netCDF4-python. They were stored as one text."""
    values: dict[str, Any] = {
        "array": np.array([b"foo", b"ba"]),
        "list": [b"foo", b"ba"],
        "tuple": (b"foo", b"ba", b""),
        "objects": np.array([b"foo", "ba"], object),
        "mixed": ["foo", b"ba"],
    }
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w", format=format) as ds:
        v = ds.createVariable("v", "i4")
        for of in (ds, v):
            for name, value in values.items():
                if format == "NETCDF4":
                    of.setncattr(name, value)
                else:
                    with pytest.raises(ncforge.NotRepresentableError):
                        of.setncattr(name, value)
            of.setncattr("one", [b"foo"])
            of.setncattr("plain", np.array(b"foo"))
            of.setncattr("nothing", np.array([], "S1"))
    with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds:
        for found in (nc, ds, nc["v"], ds["v"]):
            if format == "NETCDF4":
                for name, value in values.items():
                    wanted = [v.decode() if isinstance(v, bytes) else v for v in value]
                    assert found.getncattr(name) == wanted, name
            assert found.getncattr("one") == found.getncattr("plain") == "foo"


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_text_of_attributes_can_be_printed(tmp_path: Path, format: Any) -> None:
    """Bytes of other encodings, and NULs, are what netCDF4-python makes of them; `encoding` gives the text."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=format) as nc:
        nc.setncattr("latin", "5 °C".encode("latin-1"))
        nc.setncattr("nul", b"a\0b\0")
        nc.setncattr("wide", "5 °C")
        nc.createVariable("c", "S1", (), fill_value=b"\xff").units = "°F".encode("latin-1")
    with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds:
        for want, got in ((nc, ds), (nc["c"], ds["c"])):
            for name in want.ncattrs():
                assert got.getncattr(name) == want.getncattr(name), name
            print(str(got).encode("utf-8"))
        assert ds.getncattr("latin", encoding="latin-1") == nc.getncattr("latin", encoding="latin-1") == "5 °C"
        assert ds["c"]._FillValue == b"\xff" and ds["c"][...].mask == nc["c"][...].mask


def test_attributes_without_a_value_hide_no_variable(tmp_path: Path) -> None:
    """Of missing values, limits and scales. An error before."""
    path = tmp_path / "a.nc"
    names = ("_FillValue", "missing_value", "valid_min", "valid_range", "scale_factor", "add_offset", "_Unsigned")
    with h5py.File(path, "w") as file:
        for kind in ("f4", "i2"):
            for name in names:
                file[f"{kind}_{name}"] = np.arange(3, dtype=kind)
                file[f"{kind}_{name}"].attrs[name] = np.zeros(0, kind)
        file["coded"] = np.array([b"a", b"b"])
        file["coded"].attrs["_Encoding"] = "none that there is"
    with ncforge.Dataset(path) as ds, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, v in ds.variables.items():
            assert v[:].tolist() == ([b"a", b"b"] if name == "coded" else [0, 1, 2]), name
            assert name in str(v)
    with ncforge.Dataset(path, "r+") as ds, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, v in ds.variables.items():
            if name != "coded":
                v[:] = np.ma.masked_array([3, 4, 5], [False, False, True])
                assert v[:2].tolist() == [3, 4], name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = xr.open_dataset(path, engine="ncforge", drop_variables=["coded"])
    with opened:
        assert opened.load()["f4__FillValue"].values[:2].tolist() == [3, 4]


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("kind", ["i1", "i4", "f4", "f8", "S1"])
@pytest.mark.parametrize("name", ["missing_value", "valid_min", "valid_max", "valid_range", "note"])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_limits_are_assigned_in_the_type_of_their_variable(tmp_path: Path, format: Any, kind: Any, name: str) -> None:
    """They had the type of Python's numbers, which other programs do not compare with values."""
    values: list[Any] = [
        -99, -999, 7.0, 0.5, 0.1, np.nan, np.int16(5), np.int64(300), [1, 2], np.array([1.0, 2.0]), [], "abc", "5", "",
        b"x", 2**30, True,
    ]  # fmt: skip

    def outcome(module: Any, value: Any, assigned: bool) -> tuple[Any, ...]:
        with (
            module.Dataset(tmp_path / f"{module.__name__}.nc", "w", format=format) as ds,
            warnings.catch_warnings(record=True) as told,
        ):
            warnings.simplefilter("always")
            v = ds.createVariable("v", kind, ())
            try:
                if assigned:
                    setattr(v, name, value)
                else:
                    v.setncattr(name, value)
            except (ValueError, TypeError, OverflowError):
                return ("refused",)
            found = v.getncattr(name)
            return type(found), np.asarray(found).dtype, str(found), any(name in str(w.message) for w in told)

    for value, assigned in itertools.product(values, (True, False)):
        mine, other = outcome(ncforge, value, assigned), outcome(netCDF4, value, assigned)
        if (value is True and other == ("refused",)) or (kind == "S1" and assigned):
            # ncforge stores truth as numbers, and attributes of characters as they are given, without a warning.
            continue
        assert mine == other, (value, assigned)


def test_limits_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    with ncforge.Dataset(tmp_path / "a.nc", "w") as ds:
        v = ds.createVariable("v", "i2", ())
        with pytest.raises(ValueError, match=r"attribute `valid_min` of `v`: 'low' cannot be converted to int16"):
            v.valid_min = "low"
        with pytest.warns(
            UserWarning, match=r"valid_max = 0\.5 keeps its own type: int16, that of the variable, would"
        ):
            v.valid_max = 0.5
        assert v.ncattrs() == ["valid_max"]


@pytest.mark.parametrize(
    "value", ["a", b"a", ["a", "b"], ["a"], 1, 2.5, [1, 2], np.array([1.5, 2.0]), "nul\0x", ["a\0b", "c"]]
)
def test_setncattr_string_as_netcdf4(tmp_path: Path, value: Any) -> None:
    """Text is of type `string`, numbers stay numbers, and a string ends at its NUL, also before the file is closed."""
    found = []
    for ds in by_both(tmp_path):
        ds.setncattr_string("a", value)
        found.append(ds.a)
    for path in (tmp_path / "netCDF4.nc", tmp_path / "ncforge.nc"):
        for reader in (netCDF4, ncforge):
            with reader.Dataset(path) as ds:
                found.append(ds.a)
        with h5py.File(path) as h5:
            stored = h5.attrs.get_id("a").dtype
            found.append(found[0] if (stored.kind == "O") == (np.asarray(found[0]).dtype.kind == "U") else stored)
    for one in found:
        assert type(one) is type(found[0]) and np.array_equal(one, found[0])
