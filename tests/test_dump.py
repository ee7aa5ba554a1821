"""``ncforge dump`` prints what ``ncdump`` prints: values of every type, groups, fill values, times; and ``ncgen`` reads it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from commands import execute, find_binary, ncforge
from conftest import Run
from datasets import FORMATS
from test_info import MADE, REAL, edge_values, new_dataset

pytestmark = pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")
# Larger ones take ncdump too long.
MOST_BYTES = 3 << 20


def dump(*words: str | Path) -> bytes:
    """The output of ``ncforge dump``."""
    output: bytes = ncforge("dump", *words, text=False).stdout
    return output


def assert_same(path: Path | str, options: Iterable[str] = ("", "-c", "-s", "-t")) -> int:
    """Compares the bytes with each of the options that ncdump takes; how many of them."""
    compared = 0
    for words in options:
        done = execute("ncdump", *words.split(), path, code=None, text=False)
        if done.returncode == 0:
            compared += 1
            ours, theirs = dump(*words.split(), path).decode("latin-1"), done.stdout.decode("latin-1")
            assert ours == theirs, words
    return compared


def generated(tmp_path: Path, cdl: str) -> Path:
    """A netCDF-4 file of a text, by ncgen."""
    if shutil.which("ncgen") is None:
        pytest.skip("ncgen is not installed")
    (tmp_path / "made.cdl").write_text(cdl)
    path = tmp_path / "made.nc"
    execute("ncgen", "-4", "-o", path, tmp_path / "made.cdl")
    return path


@pytest.mark.parametrize("path", REAL, ids=lambda p: Path(p).name)
def test_real_files(path: str) -> None:
    """Every file of the packages that is not too large."""
    if not Path(path).is_file() or Path(path).stat().st_size > MOST_BYTES:
        pytest.skip("no file, or a large one")
    if not assert_same(path, ("", "-t")):
        pytest.skip("ncdump does not open it")


@pytest.mark.parametrize("name", MADE)
def test_made_files(name: str, tmp_path: Path) -> None:
    """Files made to be awkward; what was never written is `_`."""
    path = tmp_path / f"{name}.v1.nc"
    MADE[name](path)
    if name == "storage":
        pytest.skip("ncdump prints memory that nobody set")
    if not assert_same(path):
        pytest.skip("ncdump does not print it")


@pytest.mark.parametrize("form", FORMATS)
def test_values_of_every_type(form: str, tmp_path: Path) -> None:
    """Edges of every type, fill values of their own and the type's, characters, scalars, long rows."""
    path = tmp_path / "v.nc"
    kinds = ["i1", "i2", "i4", "f4", "f8", *(["u1", "u2", "u4", "i8", "u8"] if form[-1] in "4A" else [])]
    with new_dataset(path, format=form) as d:
        d.set_auto_mask(False)
        for name, length in (("t", None), ("y", 3), ("x", 40), ("n", 7), ("one", 1)):
            d.createDimension(name, length)
        for kind in kinds:
            values = edge_values(kind)
            d.createDimension(f"e_{kind}", len(values))
            d.createVariable(f"edges_{kind}", kind, (f"e_{kind}",))[:] = values
            d.createVariable(f"scalar_{kind}", kind, ())[...] = 3
            filled = d.createVariable(f"filled_{kind}", kind, ("t", "y", "x"), fill_value=7)
            filled[0:2] = (np.arange(240) % 11).reshape(2, 3, 40)
            default = np.array(netCDF4.default_fillvals[kind]).astype(kind)
            d.createVariable(f"default_{kind}", kind, ("one", "x"))[:] = np.where(np.arange(40) % 3, 5, default)
        text = d.createVariable("text", "S1", ("y", "n"))
        text[:] = np.array([list("ab\n\t\"'\\"), list("\0a\0\0\0\0\0"), list("\x01\x7f{}ab\v")], "S1")
        d.createVariable("letter", "S1", ())[...] = b"x"
        d.createVariable("late", "S1", ("t", "n"))[0] = np.array([b"\xe9", b"t", b"\xc3", b" ", b"\0", b" ", b"z"])
    assert assert_same(
        path, ("", "-c", "-s", "-t", "-l 40", "-v text", "-v text,late", "-h", "-h -s -c", "-k", "-n name")
    )
    if shutil.which("ncgen"):
        again = tmp_path / "again.nc"
        numbers = {"NETCDF3_CLASSIC": "1", "NETCDF3_64BIT_OFFSET": "2", "NETCDF4": "3", "NETCDF4_CLASSIC": "4"}
        (tmp_path / "v.cdl").write_bytes(dump(path))
        made = execute("ncgen", "-k", numbers.get(form, "5"), "-o", again, tmp_path / "v.cdl", code=None)
        if made.returncode < 0:
            pytest.skip("ncgen ends by a signal, for ncdump's own text, too")
        assert made.returncode == 0
        assert dump("-n", "v", again) == dump(path)


def test_records_behind_the_first_dimension_are_in_braces(tmp_path: Path) -> None:
    """Several unlimited dimensions, at any place."""
    path = tmp_path / "u.nc"
    with new_dataset(path) as d:
        for name, length in (("t", None), ("u", None), ("w", None), ("x", 3), ("c", 4)):
            d.createDimension(name, length)
        d.createVariable("a", "i4", ("t", "u", "x"))[:] = np.arange(12).reshape(2, 2, 3)
        d.createVariable("b", "i4", ("x", "u"))[:] = np.arange(6).reshape(3, 2)
        d.createVariable("e", "f4", ("t", "u", "w"))[:] = np.arange(12).reshape(2, 2, 3)
        d.createVariable("f", "S1", ("t", "u", "c"))[:] = b"q"
        d.createVariable("g", "S1", ("x", "w"))[:] = b"r"
        d.createVariable("h", "i2", ("u",))[:] = [1, 2]
        d.createVariable("i", str, ("x", "t"))[:] = np.array([["a", "b"]] * 3, object)
    assert assert_same(path)


def test_user_types(tmp_path: Path) -> None:
    """Compounds of compounds, enums, opaque and ragged values, strings, null pointers, with fill values."""
    path = generated(
        tmp_path,
        r"""netcdf typed {
types:
  opaque(3) op ;
  int(*) il ;
  string(*) sl ;
  il(*) deep ;
  byte enum en { ONE = 1, TWO = 2, odd\ one = 3 } ;
  compound c1 { int a ; float b(2) ; char c ; char d(3) ; char e(2, 3) ; op o ; en f(2) ; double g ; } ;
  compound c2 { c1 x ; il r ; string s ; } ;
dimensions: x = 2 ; y = 3 ; t = UNLIMITED ;
variables:
  c1 v(x) ;
  c2 w(x) ;
  op o(t, x) ;
    op o:_FillValue = 0XFFFFFF ;
  il r(y) ;
    il r:_FillValue = {-1, -2} ;
  sl s(x) ;
  deep p(x) ;
  en e(t, y) ;
    en e:_FillValue = TWO ;
  string st(t, x) ;
  string sf(y) ;
    string sf:_FillValue = "none" ;
  int scalar ;
data:
  v = {1, {1.5, 2.25}, "c", {"abc"}, {"ab", "xyz"}, 0X010203, {ONE, odd\ one}, 3.25}, {2, {3, 4}, "d", {"abc"}, {"ab", "xyz"}, 0X010203, {ONE, TWO}, 5} ;
  w = {{1, {1.5, 2.25}, "c", {"abc"}, {"ab", "xyz"}, 0X010203, {ONE, TWO}, 1}, {4, 5}, "str"}, {{1, {1.5, 2.25}, "c", {"abc"}, {"ab", "xyz"}, 0X010203, {ONE, TWO}, 1}, {}, "line\nnew \"q\" é"} ;
  o = 0X010203, 0XFFFFFF, 0Xabcdef, 0X000000 ;
  r = {1, 2, 3}, {4, 5}, {} ;
  s = {"one", "two \" \t"}, {"x"} ;
  p = {{1, 2}, {3}}, {} ;
  e = ONE, TWO, odd\ one, ONE, ONE, TWO ;
  st = "a", "", NIL, "very long text that makes the line break somewhere behind the eightieth column of it" ;
  sf = "none", "x", "" ;
  scalar = 5 ;
group: g {
  dimensions: z = 2 ;
  variables: /c1 q(z) ; double x(x) ; float z(z) ;
  data: q = {1, {0.1, NaN}, "c", {"ab\000"}, {"a\"b", "x"}, 0X010203, {ONE, TWO}, 1e100}, {2, {3, 4}, "d", {"abc"}, {"ab", "xyz"}, 0X010203, {ONE, TWO}, 5} ; x = 1, 2 ; z = 3, _ ;
}
}
""",
    )
    assert assert_same(path, ("", "-s", "-v v", "-v q", "-v /g/q", "-v x", "-c", "-v st,g/z", "-c -v v,x"))


def test_rows_are_printed_as_they_are(tmp_path: Path) -> None:
    """`_` stands for no row of numbers; for rows of texts it does, as in ncdump."""
    path = generated(
        tmp_path,
        r"""netcdf rows {
types: int(*) il ; string(*) sl ; compound in { int a ; string s ; } ; compound out { in x ; il r ; } ;
dimensions: y = 4 ;
variables:
  il r(y) ;
    il r:_FillValue = {-1, -2} ;
  sl s(y) ;
    sl s:_FillValue = {"a"} ;
  in i(y) ;
    in i:_FillValue = {1, "x"} ;
  out o(y) ;
    out o:_FillValue = {{1, "x"}, {-1, -2}} ;
data:
  r = {1, 2, 3}, {-1, -2}, {4, 5}, {} ;
  s = {"a"}, {"b"}, {}, {"a", "b"} ;
  i = {1, "x"}, {1, "y"}, {2, "x"}, {1, "x"} ;
  o = {{1, "x"}, {-1, -2}}, {{1, "x"}, {-1, -3}}, {{1, "y"}, {-1, -2}}, {{1, "x"}, {}} ;
}
""",
    )
    assert assert_same(path, ("-v r", "-v s", "-v i"))
    # Of a field that is a row, ncdump compares addresses: what it prints differs from run to run.
    text = dump("-v", "o", path).decode()
    assert ' o = {{1, "x"}, {-1, -2}}, {{1, "x"}, {-1, -3}}, ' in text
    if shutil.which("ncgen"):
        again = generated(tmp_path, dump(path).decode())
        assert dump("-n", "made", again) == dump("-n", "made", path)


def grouped(path: Path) -> None:
    """Groups of the same name at several depths, and floats of many digits."""
    with new_dataset(path) as d:
        d.createDimension("x", 3)
        kind = d.createCompoundType(np.dtype([("a", "f4"), ("b", "f8")], align=True), "pair")
        for group in (
            d,
            d.createGroup("a"),
            d.createGroup("a/in"),
            d.createGroup("b"),
            d.createGroup("b/in"),
            d["a/in"].createGroup("a"),
        ):
            group.setncattr("few", np.array([1 / 3, 100], "f4"))
            group.setncattr("many", 2 / 3)
            for name in ("x", "f", "g"):
                v: Any = group.createVariable(name, "f8" if name == "g" else "f4", ("x",), fill_value=5)
                v[:] = [1 / 3, 12345.678, 5]
            group["g"].C_format = "%.2f"
            v = group.createVariable("f2", "f4", ("x", "x"))
            v.C_format = "%6.3e"
            v[:] = np.geomspace(1e-9, 1e9, 9).reshape(3, 3)
            group.createVariable("p", kind, ("x",))[:] = np.array([(1 / 3, 1 / 3)] * 3, kind.dtype)


@pytest.mark.parametrize(
    "group", ["", "in", "a", "/", "/a/in", "/b", "b,in", "/a/in/a", "in -v x", "a -c", "b -h", "b -s"]
)
def test_groups(group: str, tmp_path: Path) -> None:
    """Values of some groups: by name, wherever they are, or by path."""
    grouped(tmp_path / "g.nc")
    assert assert_same(tmp_path / "g.nc", (f"-g {group}" if group else "",))


@pytest.mark.parametrize("digits", ["4", "1", "9,15", "3,5", "17,17", "2,20"])
def test_digits(digits: str, tmp_path: Path) -> None:
    """Fewer digits, and more; they go before the format of a variable."""
    grouped(tmp_path / "g.nc")
    assert assert_same(tmp_path / "g.nc", (f"-p {digits}", f"-p {digits} -v f,g,p"))


CALENDARS = [
    "",
    "standard",
    "gregorian",
    "proleptic_gregorian",
    "noleap",
    "365_day",
    "360_day",
    "366_day",
    "julian",
    "all_leap",
]
UNITS = [
    "days since 2000-02-28",
    "hours since 1582-10-04 12:30:00",
    "seconds since 1970-01-01T00:00:00Z",
    "minutes since 1999-12-31 23:59:30.5",
    "months since 2000-01-31",
    "years since 1850-07-15 06:00",
    "seasons since 1-1-1",
    "Days since 1-1-1 00:00:0.0",
    "hr since 2000-1-1",
    "days since 2000",
    "K",
    "days after 2000-01-01",
    "d since 2000-01-01",
]


@pytest.mark.parametrize("kind", ["f8", "f4", "i4", "i2"])
def test_times(kind: str, tmp_path: Path) -> None:
    """Every unit in every calendar, bounds, and attributes of variables of times."""
    path = tmp_path / "t.nc"
    values = np.array([0, 1, -1, 59, 60, 366, 1461, -32525 if kind == "i2" else -36525, 30000, 12345], kind)
    if kind[0] == "f":
        values = np.concatenate([values, np.array([0.5, 0.25, 1 / 3, -0.1, 1e-7, 100.000001, np.nan, np.inf], kind)])
    with new_dataset(path, format="NETCDF3_CLASSIC") as d:
        d.set_auto_mask(False)
        d.createDimension("n", len(values))
        d.createDimension("b", 2)
        for i, units in enumerate(UNITS):
            for j, calendar in enumerate(CALENDARS):
                v = d.createVariable(f"v{i}_{j}", kind, ("n",))
                v.units = units
                if calendar:
                    v.calendar = calendar
                v.actual_range = values[:2]
                v.list = np.tile(values[:9], 4)
                v.valid_max = np.int32(400)
                v[:] = values
        v = d.createVariable("time", kind, ("n",), fill_value=60)
        v.units, v.bounds = "days since 2001-01-01", "time_bnds"
        v[:] = values
        d.createVariable("time_bnds", kind, ("n", "b"))[:] = np.stack([values, values], 1)
    assert assert_same(path, ("-t", "-i", "-it", "-ti", "-t -h", "-t -v time,time_bnds")) == 6


def test_c_format(tmp_path: Path) -> None:
    """The attribute by which old files say how they are printed."""
    path = tmp_path / "c.nc"
    with new_dataset(path, format="NETCDF3_CLASSIC") as d:
        d.createDimension("x", 4)
        for i, (kind, form) in enumerate(
            [
                ("f4", "%.2f"),
                ("f8", "%12.5e"),
                ("f8", "%-9.3gK"),
                ("i4", "%05d"),
                ("i2", "0x%x"),
                ("f4", "%+.0f"),
                ("f4", "% g"),
            ]
        ):
            v = d.createVariable(f"v{i}", kind, ("x",))
            v.C_format = form
            v[:] = [1, 1234.5678, 0.00012345, 99999 % 30000] if kind[0] == "f" else [1, 20, 300, 4000]
    assert assert_same(path, ("",))


def test_much_is_printed_in_pieces(tmp_path: Path) -> None:
    """Rows and arrays that are longer than what is read at a time, and a reader that goes away."""
    path = tmp_path / "long.nc"
    with new_dataset(path) as d:
        for name, length in (("y", 3), ("x", 1_200_000)):
            d.createDimension(name, length)
        d.createVariable("v", "i8", ("y", "x"), zlib=True)[:] = np.arange(3_600_000).reshape(3, -1) % 1000
        d.createVariable("c", "S1", ("x",))[:] = np.resize(np.array(list("abc"), "S1"), 1_200_000)
    assert assert_same(path, ("",))
    done = execute("sh", "-c", f"'{find_binary()}' dump '{path}' | head -1")
    assert done.stdout == "netcdf long {\n" and not done.stderr


def test_words_of_the_command(run: Run, tmp_path: Path) -> None:
    """A name that nothing has, options that exclude each other, and ncdump's own name."""
    path = tmp_path / "x.nc"
    with new_dataset(path) as d:
        d.createDimension("time", 1)
        d.createVariable("time", "f8", ("time",))[:] = 1
    done = run("dump", "-v", "tim", path, code=2)
    assert "`tim`" in done.stderr and "time" in done.stderr
    assert "`nope`" in run("dump", "-g", "nope", path, code=2).stderr
    for digits in ("0", "21", "x", "5,", ",5"):
        assert "from 1 to 20" in run("dump", "-p", digits, path, code=2).stderr
    link = tmp_path / "ncdump"
    link.symlink_to(find_binary())
    theirs = execute("ncdump", "-v", "time", path, text=False).stdout
    assert execute(link, "-v", "time", path, text=False).stdout == theirs


def _random(rng: np.random.Generator, path: Path, form: str) -> None:
    """A file of random variables."""
    kinds = ["i1", "i2", "i4", "f4", "f8", *(["u1", "u2", "u4", "i8", "u8", "str"] if form == "NETCDF4" else []), "S1"]
    with new_dataset(path, format=form) as d:
        d.set_auto_mask(False)
        root: Any = d
        groups = [root, *([root.createGroup("g"), root.createGroup("g/h h")] if form == "NETCDF4" else [])]
        names = [f"d{i}" for i in range(5)]
        for i, name in enumerate(names):
            d.createDimension(
                name, None if i == 0 or (form == "NETCDF4" and rng.random() < 0.3) else int(rng.integers(1, 9))
            )
        for i in range(12):
            kind = kinds[rng.integers(len(kinds))]
            dims = [str(n) for n in rng.permutation(names)[: rng.integers(0, 4)]]
            if form != "NETCDF4" and "d0" in dims:
                dims = ["d0", *(n for n in dims if n != "d0")]
            group = groups[rng.integers(len(groups))]
            shape = [len(d.dimensions[n]) or int(rng.integers(1, 4)) for n in dims]
            fill = 3 if kind not in ("S1", "str") and rng.random() < 0.5 else None
            v = group.createVariable(f"v{i}", str if kind == "str" else kind, dims, fill_value=fill)
            if kind == "S1":
                values: Any = rng.choice([b"a", b"\0", b'"', b"\n", b"\xff"], shape)
            elif kind == "str":
                values = np.array(rng.choice(["", "a b", "x" * 50, 'q"'], shape), object)
            elif kind[0] == "f":
                values = np.round(rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 9, shape), 3).astype(kind)
            else:
                values = rng.integers(0, 100, shape).astype(kind)
            if kind != "str" or dims:
                v[... if not dims else tuple(slice(0, n) for n in shape)] = values


@pytest.mark.parametrize("seed", range(8))
def test_random_files(seed: int, tmp_path: Path) -> None:
    """Random shapes, groups, unlimited dimensions and fill values."""
    rng = np.random.default_rng(seed)
    for form in ("NETCDF4", "NETCDF3_CLASSIC"):
        path = tmp_path / f"{form}.nc"
        _random(rng, path, form)
        assert assert_same(path, ("", "-c", "-l 50"))
