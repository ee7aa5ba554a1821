"""``ncforge info`` prints headers byte for byte as ``ncdump`` does.

Real files of the three Debian packages, and files made to be awkward: every type, odd names, odd text,
groups, user-defined types, every storage.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from commands import execute, ncforge
from conftest import DATA, Run
from datasets import FORMATS, created

REAL = [
    *sorted(glob.glob("/usr/share/ferret-vis/data/*")),
    *sorted(glob.glob("/usr/share/ncarg/data/cdf/*")),
    *sorted(glob.glob("/usr/share/ncarg/data/nug/*")),
    *sorted(glob.glob("/usr/share/gmt-gshhg/*.nc")),
    *sorted(str(p) for p in DATA.glob("*.nc")),
]

pytestmark = pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")


def ncdump(option: str, path: Path | str) -> bytes | None:
    """The output of ``ncdump``; nothing if it cannot."""
    done = execute("ncdump", option, path, code=None, text=False)
    return done.stdout if done.returncode == 0 else None


def info(*words: str) -> bytes:
    """The output of ``ncforge info``."""
    output: bytes = ncforge("info", *words, text=False).stdout
    return output


def assert_headers_agree(path: Path | str) -> None:
    """Both forms of header are the same bytes, where ``ncdump`` prints them."""
    compared = 0
    for theirs, ours in (("-h", "--header"), ("-hs", "-s")):
        expected = ncdump(theirs, path)
        if expected is not None:
            compared += 1
            assert info(ours, str(path)).decode("latin-1") == expected.decode("latin-1")
    if not compared:
        pytest.skip("ncdump does not open it")


@pytest.mark.parametrize("path", REAL, ids=lambda p: Path(p).name)
def test_real_files(path: str) -> None:
    """Every file of the packages that ncdump opens."""
    if not Path(path).is_file():
        pytest.skip("not a file")
    assert_headers_agree(path)


Maker = Callable[[Path], None]
ODD_NAMES = ["2t", "sea level (m)", "a-b+c@d.e", "été", "x{y}[z]|~^`\\", "q\"uo'te", "a&b;c:d,e<f>g=h?i*j#k$l!m"]
ODD_TEXT = "one\ntwo\n\tthree\\ \"q\" 'a' \r\b\f\v \x01 \x7f end"


def new_dataset(path: Path, **options: Any) -> Any:
    """A file to be written; of no type, because the stubs know fewer arguments than the code takes."""
    return netCDF4.Dataset(path, "w", **options)


def edge_values(kind: str) -> np.ndarray:
    """Values whose text is easy to get wrong."""
    dtype = np.dtype(kind)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1], dtype)
    some = [0, -0.0, 1, 0.1, 1 / 3, 1e20, 1e-5, 1e-4, 123456.7, 1234567, 12345678, 1e15, 1e16, 9.96921e36]
    tops = np.finfo(dtype)
    return np.array([*some, np.nan, np.inf, -np.inf, tops.max, tops.tiny], dtype)


def all_types(form: str) -> Maker:
    """Every atomic type as attribute and as variable, odd names and odd text."""

    def make(path: Path) -> None:
        kinds = ["i1", "i2", "i4", "f4", "f8"]
        if form in ("NETCDF3_64BIT_DATA", "NETCDF4"):
            kinds += ["u1", "u2", "u4", "i8", "u8"]
        with new_dataset(path, format=form) as d:
            d.createDimension("time", None)
            d.createDimension("x", 3)
            for kind in kinds:
                v = d.createVariable(f"v_{kind}", kind, ("time", "x"))
                v.setncattr("values", edge_values(kind))
                d.createVariable(f"f_{kind}", kind, ("x",), fill_value=7)
                d.createVariable(f"s_{kind}", kind, ())
            d.createVariable("text", "S1", ("x",)).setncattr("text", ODD_TEXT)
            d.title = "line 1\nline 2\n"
            d.empty = ""
            d.utf8 = "température °C"
            d.none = np.array([], "f4")
            for name in ODD_NAMES:
                d.createDimension(name, 2)
                d.createVariable(name, "f4", (name,)).setncattr(name, "x")
            for name in ("variables", "dimensions", "data", "group", "types", "netcdf"):
                d.createVariable(name, "f4", ()).units = "m"

    return make


def storage(path: Path) -> None:
    """Every storage that netCDF4-python offers."""
    with new_dataset(path) as d:
        for name, length in (("t", None), ("y", 40), ("x", 50)):
            d.createDimension(name, length)
        dims = ("t", "y", "x")
        d.createVariable("plain", "f4", dims)
        d.createVariable("deflated", "f4", dims, zlib=True, complevel=1, shuffle=False)
        options = {"zlib": True, "complevel": 9, "shuffle": True, "fletcher32": True}
        d.createVariable("all", "i2", dims, chunksizes=(1, 10, 10), **options)
        d.createVariable("checked", "f8", dims, fletcher32=True)
        d.createVariable("unfilled", "f8", dims, fill_value=False)
        d.createVariable("row", "f8", ("y", "x"), contiguous=True)
        d.createVariable("row_unfilled", "u1", ("y", "x"), contiguous=True, fill_value=False)
        for codec in ("zstd", "bzip2", "blosc_lz4"):
            with contextlib.suppress(RuntimeError):  # a build of netCDF-C without the filter
                d.createVariable(codec, "f4", dims, compression=codec, complevel=4)
        for order, mark in (("big", ">"), ("little", "<")):
            d.createVariable(f"int_{order}", f"{mark}i4", ("x",), endian=order)
            d.createVariable(f"double_{order}", f"{mark}f8", ("x",), endian=order, zlib=True)
        d.createVariable("text", "S1", dims)
        d.createVariable("string", str, ("t",))
        d.createVariable("string_filled", str, ("y",), fill_value="xx")
        d["plain"][0:3] = 1
        d["all"][0:2] = 5


def groups(path: Path) -> None:
    """Dimensions and types of other groups, with and without the same name here."""
    with new_dataset(path) as d:
        d.createDimension("x", 2)
        d.createDimension("time", None)
        a = d.createGroup("a")
        b = a.createGroup("b c")
        d.createGroup("empty")
        a.createDimension("x", 3)
        b.createDimension("y", None)
        a.createVariable("v", "f4", ("time", "x"))
        b.createVariable("w", "i4", ("x", "y", "time")).units = "m"
        b.createVariable("x", "i4", ("x",))
        a.title = "in a"
        b.n = np.int64(5)


def user_types(path: Path) -> None:
    """Compound, enum and ragged types, nested, in groups."""
    with new_dataset(path) as d:
        d.createDimension("x", 4)
        fields = [("a", "i4"), ("b", "f8", (2, 3)), ("c", "S1", (5,)), ("d", "u8"), ("e f", "f4")]
        compound = d.createCompoundType(np.dtype(fields), "comp t")
        nested = d.createCompoundType(np.dtype([("p", "i2"), ("q", np.dtype(fields))]), "nested")
        ragged = d.createVLType("f4", "ragged")
        clouds = {"Clear": 0, "Cumulo nimbus": 1, "Stratus": 2, "Missing": 255}
        cloud = d.createEnumType("u1", "cloud_t", clouds)
        big = d.createEnumType("i8", "big_t", {f"member_number_{i}": i * 10**15 for i in range(9)})
        d.createVariable("vc", compound, ("x",))
        d.createVariable("vn", nested, ("x",))
        d.createVariable("vv", ragged, ("x",))
        d.createVariable("ve", cloud, ("x",), fill_value=255)
        d.createVariable("vb", big, ("x",))
        g = d.createGroup("g")
        other = g.createVLType("u2", "other")
        g.createVariable("q", ragged, ("x",))
        g.createVariable("r", other, ("x",))
        g.createVariable("u", g.createEnumType("i1", "cloud_t", {"A": 0}), ("x",))


def strings(path: Path) -> None:
    """String attributes: newlines do not break them, long ones neither."""
    with new_dataset(path) as d:
        d.one = "é multi\nline"
        d.setncattr_string("two", "one string\nnew")
        d.setncattr("three", ["a", "b\n", "", 'c"d'])
        d.createDimension("x", 2)
        d.createVariable("v", str, ("x",)).setncattr("many", ["long " * 30, "x" * 100, "y"])


def scalar_only(path: Path) -> None:
    """No dimension: netCDF-C finds none of its marks."""
    with new_dataset(path) as d:
        d.createVariable("v", "f4", ())


def nothing(path: Path) -> None:
    """Nothing at all."""
    new_dataset(path).close()


def plain_hdf5(libver: str) -> Maker:
    """HDF5 without a trace of netCDF: phony dimensions, other fill values, other filters."""

    def make(path: Path) -> None:
        with h5py.File(path, "w", libver=libver) as f:
            f["a"] = np.arange(6.0).reshape(2, 3)
            f.create_dataset("b", (4, 4), "i2", chunks=(2, 2), compression="gzip", shuffle=True)
            f.create_dataset("u", (4,), maxshape=(None,), dtype="i8", chunks=(2,))
            f["scalar"] = 1.5
            f.attrs["n"] = 3
            f.attrs["text"] = "text"
            f.attrs["v"] = [1.5, 2.5]
            f["a"].attrs["fixed"] = np.bytes_("fixed")
            f.create_dataset("big", (4,), ">f4")
            f.create_dataset("filled", (8,), "i4", fillvalue=9)
            f.create_group("g")["z"] = np.zeros((3,))

    return make


def scales(path: Path) -> None:
    """Dimension scales by h5py, behind a user block."""
    with h5py.File(path, "w", userblock_size=512) as f:
        f["x"] = np.arange(3.0)
        f["x"].make_scale("x")
        f["d"] = np.zeros((3,))
        f["d"].dims[0].attach_scale(f["x"])


MADE: dict[str, Maker] = {
    **{f"all_types_{form}": all_types(form) for form in FORMATS},
    **{f"plain_hdf5_{v}": plain_hdf5(v) for v in ("earliest", "v108", "v110", "latest")},
    "storage": storage,
    "groups": groups,
    "user_types": user_types,
    "strings": strings,
    "scalar_only": scalar_only,
    "nothing": nothing,
    "scales": scales,
}


@pytest.mark.parametrize("name", MADE)
def test_made_files(name: str, tmp_path: Path) -> None:
    """Files made to be awkward."""
    path = tmp_path / f"{name}.v1.nc"
    MADE[name](path)
    assert_headers_agree(path)


CDL = r"""netcdf typed {
types:
  opaque(5) op ;
  int(*) il ;
  string(*) sl ;
  ubyte(*) ul ;
  byte enum en { ONE = 1, TWO = 2, odd\ one = 3 } ;
  compound c1 { int a ; float b(2) ; char c ; char d(3) ; char e(2, 3) ; op o ; } ;
  compound c2 { c1 x ; il r ; string s ; } ;
  compound c3 { en e ; en f(2) ; double d ; } ;
dimensions: x = 2 ;
variables:
  c1 v(x) ;
    op v:oa = 0X0102030405, 0Xffeeddccbb ;
    il v:ia = {1,2,3}, {}, {5} ;
    en v:ea = ONE, odd\ one ;
    c1 v:ca = {1, {1.5, 2.25}, "c", {"abc"}, {"ab", "xyz"}, 0X0102030405} ;
    sl v:sa = {"one", "two \" \t"}, {"x"} ;
    c3 v:c3a = {ONE, {TWO, ONE}, 3.25}, {ONE, {TWO, ONE}, 0.1}, {ONE, {TWO, ONE}, 1e100},
               {TWO, {TWO, ONE}, 0} ;
    ul v:ua = {1,2,255} ;
    c2 v:c2a = {{1, {1.5, 2.25}, "c", {"abc"}, {"ab", "xyz"}, 0X0102030405}, {4,5}, "str"} ;
  string :nul = NIL, "a" ;
}
"""


def test_attributes_of_user_types(tmp_path: Path) -> None:
    """Attributes that netCDF4-python cannot write, by ncgen."""
    if shutil.which("ncgen") is None:
        pytest.skip("ncgen is not installed")
    source = tmp_path / "typed.cdl"
    source.write_text(CDL)
    path = tmp_path / "typed.nc"
    execute("ncgen", "-4", "-o", path, source)
    assert_headers_agree(path)


def test_json_is_lossless(tmp_path: Path) -> None:
    """Attribute values in JSON are those of netCDF4-python, bit for bit."""
    path = tmp_path / "all.nc"
    all_types("NETCDF4")(path)
    (document,) = json.loads(info("--json", str(path)))["files"]
    shown = {v["name"]: {a["name"]: a for a in v["attributes"]} for v in document["variables"]}
    with netCDF4.Dataset(path) as d:
        for name, variable in d.variables.items():
            if not name.startswith("v_"):
                continue
            expected = variable.getncattr("values")
            words = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
            values = [words[x] if isinstance(x, str) else x for x in shown[name]["values"]["value"]]
            assert np.array(values, expected.dtype).tobytes() == expected.tobytes(), name
    assert shown["text"]["text"]["value"] == ODD_TEXT


def test_the_variables_of_ncdump_are_not_taken_for_files_without_a_hint(run: Run, tmp_path: Path) -> None:
    storage(tmp_path / "f.nc")
    done = run("info", "-v", "time", tmp_path / "f.nc", code=4)
    assert "cannot open `time`" in done.stderr and "`ncforge dump -v VARIABLES FILE` prints values" in done.stderr
    assert "--verbose" not in run("info", "time", tmp_path / "f.nc", code=4).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "words",
    [
        ["info", "--json"],
        ["info"],
        ["doctor", "--fail-on", "never"],
        ["refs", "-o", "-"],
        ["copy", "--dry-run"],
        ["--help"],
        ["copy", "--help"],
    ],
    ids=" ".join,
)
def test_output_that_is_lost_is_a_failure(words: list[str], run: Run, tmp_path: Path) -> None:
    """A full disk: exit code 1. A reader that has gone: none."""
    files = [] if words[-1] == "--help" else [DATA / "navy_winds.nc"]
    files += [tmp_path / "o.nc"] if words[0] == "copy" else []
    with open("/dev/full", "w") as full:
        done = run(*words, *files, stdout=full, code=1)
    assert "cannot write to the standard output" in done.stderr and "hint: make room there" in done.stderr
    read, write = os.pipe()
    os.close(read)
    done = run(*words, *files, stdout=write)
    os.close(write)
    assert "standard output" not in done.stderr


def test_patterns_that_the_shell_left_alone(tmp_path: Path, run: Run) -> None:
    for name in ("b.nc", "a.nc", "c[1].nc"):
        with created(tmp_path / name, x=2) as ds:
            ds.createVariable("v", "i4", ("x",))[:] = 1
    for command in ("info", "verify", "digest", "doctor"):
        done, one = run(command, tmp_path / "?.nc"), run(command, tmp_path / "c[1].nc")
        said = done.stdout + done.stderr
        assert "a.nc" in said and "b.nc" in said and "c[1]" not in said, command
        assert "c[1].nc" in one.stdout + one.stderr, command
        none = run(command, tmp_path / "d*.nc", code=4)
        assert "no file matches" in none.stderr and not none.stdout, command
    run("copy", tmp_path / "[ab].nc", f"{tmp_path}/out/")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.nc", "b.nc"]
