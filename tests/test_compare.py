"""Comparisons of files with their copies in formats that lack some of their types: a copy's types are no difference, other values are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from conftest import Run
from datasets import created

#: Integer types that CDF-1 and CDF-2 lack.
LACKED = ["u1", "u2", "u4", "i8", "u8"]


def of_all_types(path: Path) -> None:
    """Values of every type that some classic file holds, written and unwritten, and attributes of these types and of strings."""
    with created(path, time=None, x=4) as d:
        d.setncattr_string("text", "one")
        d.setncattr_string("nothing", "")
        d.history = "made by hand"
        d.numbers = np.array([1, 200], "u1")
        time = d.createVariable("time", "i8", ("time",))
        time[:] = [3, 5, 8, 13]
        time.units = "days since 2000-01-01"
        for kind in [*LACKED, "i1", "i2", "i4", "f4", "f8"]:
            for name, fill in {kind: None, f"{kind}_filled": 99}.items():
                v = d.createVariable(name, kind, ("time", "x"), fill_value=fill, zlib=fill is not None)
                v.valid_range = np.array([0, 120], kind)
                v.setncattr_string("units", "K")
                v.long_name = "numbers"
                v[1:3] = np.arange(8).reshape(2, 4) + 95
        d.createVariable("letters", "S1", ("x",))[:] = np.array(list("abcd"), "S1")
        d.createVariable("scalar", "u8", ())[...] = 7


def change(path: Path, what: Callable[[netCDF4.Dataset], object]) -> None:
    with netCDF4.Dataset(path, "a") as d:
        d.set_auto_mask(False)
        what(d)


def put_text(owner: netCDF4.Dataset | netCDF4.Variable, name: str, text: str) -> None:
    """In the type that the attribute has: with another one it would become the last."""
    group = owner.group() if isinstance(owner, netCDF4.Variable) else owner
    put = owner.setncattr_string if group.data_model == "NETCDF4" else owner.setncattr
    put(name, text)


@pytest.mark.parametrize("option", ["-3", "-6", "-7", "-5"])
def test_the_types_of_a_copy_are_no_difference(tmp_path: Path, run: Run, option: str) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    of_all_types(a)
    run("copy", option, "--verify", a, b)
    for pair, which in (((a, b), "first"), ((b, a), "second")):
        said = run("compare", "-v", *pair)
        notes = said.stdout + said.stderr
        assert f"in the {which} file, the global attribute `text` is written as text" in notes
        assert ("`/u2` is ushort" in notes) == ("`/u2` has an attribute `valid_range`" in notes) == (option != "-5")
        report = json.loads(run("compare", "--json", *pair).stdout)
        assert report["same"] and report["variables"] == 23 and len(report["notes"]) > 20
        assert "types differ" in run("compare", "--strict", *pair, code=3).stdout
        run("compare", *pair, "--vars", "u4,i8_filled")
        # Nothing is said of what was not compared.
        assert "u8" not in str(json.loads(run("compare", "--json", *pair, "--vars", "u4").stdout)["notes"])
    with netCDF4.Dataset(b) as d:
        types = {name: d[name].dtype for name in d.variables}
    assert (types["u2"], types["u1"], types["scalar"]) == (("u2", "u1", "u8") if option == "-5" else ("i4", "i2", "i4"))


def test_copies_of_cdf5_files(tmp_path: Path, run: Run) -> None:
    a, five, b, zipped = (tmp_path / name for name in ("a.nc", "five.nc", "b.nc", "a.ncz"))
    of_all_types(a)
    run("copy", "-5", a, five)
    run("copy", "-6", "--verify", five, b)
    run("zip", five, zipped)
    for pair in ((five, b), (b, five), (zipped, b), (a, zipped)):
        run("compare", *pair)
        run("compare", "--strict", *pair, code=3)


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("u1", lambda d: d["u1"].__setitem__((1, 2), 96)),
        ("u8_filled", lambda d: d["u8_filled"].__setitem__((0, 0), 98)),
        # Unwritten, and now a value.
        ("i8", lambda d: d["i8"].__setitem__((3, 3), 5)),
        ("u2:valid_range", lambda d: d["u2"].setncattr("valid_range", np.array([1, 120], d["u2"].dtype))),
        ("u4:units", lambda d: put_text(d["u4"], "units", "m")),
        (":numbers", lambda d: d.setncattr("numbers", d.numbers[::-1])),
        (":text", lambda d: put_text(d, "text", "two")),
    ],
)
@pytest.mark.parametrize("of_copy", [False, True])
def test_other_values_stay_differences(
    tmp_path: Path, run: Run, where: str, what: Callable[[netCDF4.Dataset], object], of_copy: bool
) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    of_all_types(a)
    run("copy", "-3", a, b)
    change(b if of_copy else a, what)
    for pair in ((a, b), (b, a)):
        said = run("compare", *pair, code=3).stdout
        assert said.count("\n") == 1 and said.startswith(f"{where}: "), said


@pytest.mark.parametrize(
    ("kind", "value"),
    [("u1", None), ("u2", None), ("u4", 2**31), ("i8", -(2**31) - 1), ("i8", -2147483647), ("u8", 2**64 - 1)],
)
def test_values_that_the_other_type_lacks(tmp_path: Path, run: Run, kind: str, value: int | None) -> None:
    """Other programs let them overflow. -2147483647 says in an `int` that nothing was written."""
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    of_all_types(a)
    run("copy", "-3", a, b)
    largest = np.iinfo(kind).max if value is None else value
    change(a, lambda d: d[kind].__setitem__((1, 1), largest))
    if value is None:
        run("compare", a, b, code=3)
        run("copy", "-O", "-3", a, b)
        run("compare", a, b)
        return
    change(b, lambda d: d[kind].__setitem__((1, 1), np.array(largest).astype("i4")))
    for pair in ((a, b), (b, a)):
        said = run("compare", *pair, code=3).stdout
        assert said.count("\n") == 1 and said.startswith(f"{kind}: types differ") and str(largest) in said, said
    run("compare", a, b, "--vars", "u1,u2")


@pytest.mark.parametrize(
    ("where", "kind", "value"),
    [
        ("u1", "i4", 5),
        ("u1:n", "i4", 5),
        ("i8:n", "i2", 5),
        ("u4:n", "i4", 2**31),
        ("u4:n", "f8", 5),
        ("u1:n", "S", "5"),
    ],
)
def test_types_that_no_copy_makes_stay_differences(
    tmp_path: Path, run: Run, where: str, kind: str, value: int | str
) -> None:
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    name, _, attribute = where.partition(":")
    for path, own in ((a, name), (b, kind)):
        with created(path, format="NETCDF4" if path == a else "NETCDF3_CLASSIC", x=2) as d:
            v = d.createVariable("v", "f4" if attribute else own, ("x",))
            v[:] = [1, 2]
            if attribute:
                v.n = str(value) if own == "S" else np.array(value).astype(own)
    for pair in ((a, b), (b, a)):
        assert "types differ" in run("compare", *pair, code=3).stdout


@pytest.mark.parametrize("option", ["-3", "-4", "-5"])
def test_fill_values_that_a_copy_gives_their_variables_type(tmp_path: Path, run: Run, option: str) -> None:
    """h5py makes 8-byte numbers of Python's."""
    a, b, other = tmp_path / "a.nc", tmp_path / "b.nc", tmp_path / "other.nc"
    for path, fill in ((a, -9), (other, -8)):
        with created(path, x=3) as d:
            for kind in ("f4", "i2", "i8", "u2"):
                d.createVariable(kind, kind, ("x",))[:] = [1, 2, 3]
        with h5py.File(path, "a") as f:
            f["f4"].attrs["_FillValue"], f["i2"].attrs["_FillValue"] = float(fill), fill
            f["i8"].attrs["_FillValue"] = np.array([fill, 4], "i2")
            # An `int`, and no `ushort`, has it.
            f["u2"].attrs["_FillValue"] = fill
    run("copy", option, "--verify", a, b)
    for pair in ((a, b), (b, a)):
        said = run("compare", "-v", *pair)
        assert "`i2` has a `_FillValue` of type int64: it is written as short" in said.stdout + said.stderr
        assert "f4:_FillValue: types differ" in run("compare", "--strict", *pair, code=3).stdout
    for pair in ((other, b), (b, other)):
        said = run("compare", *pair, code=3)
        assert {line.split(": ")[0] for line in said.stdout.splitlines()} == {
            "f4:_FillValue", "i2:_FillValue", "i8:_FillValue", "i8:missing_value", "u2:_FillValue",
        }  # fmt: skip
    # Of two files with the same defect nothing is changed.
    said = run("compare", "-v", a, a)
    assert "note:" not in said.stdout + said.stderr
    assert "types differ" not in run("compare", a, other, code=3).stdout


def test_a_part_of_other_types(tmp_path: Path, run: Run) -> None:
    """Its coordinate has the same values in another type; `--select` takes nothing away from it once more."""
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    of_all_types(a)
    select = ["--select", "time=1:4"]
    run("copy", "-3", "--verify", *select, a, b)
    run("compare", a, b, *select)
    run("copy", "-O", "-3", a, b)
    change(a, lambda d: d["time"].__setitem__(3, 2**40))
    assert "time: types differ" in run("compare", a, b, "--select", "time=0:4", code=3).stdout
    # As many indices as there are in all, in another order.
    turned, part = tmp_path / "turned.nc", tmp_path / "part.nc"
    with created(turned, lon=4) as d:
        d.createVariable("lon", "i8", ("lon",))[:] = [0, 90, 180, 270]
        d["lon"].units = "degrees_east"
        d.createVariable("v", "u2", ("lon",))[:] = range(4)
    select = ["--select", "lon=-100..100"]
    run("copy", "-3", "--verify", *select, turned, part)
    run("compare", turned, part, *select)
