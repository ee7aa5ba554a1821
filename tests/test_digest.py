"""Digests: the same for what says the same, others for what does not, as docs/reference/digest.md and an independent reader have them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
import servers
from conftest import DATA, Run
from datasets import created

Tool = Callable[..., str]
#: Values of every kind of float.
ODD = np.array([0.0, -0.0, np.inf, -np.inf, 1e-310, np.nan, 1.5], "f8")


def classic_values(file: Any, kinds: str = "S1 i1 i2 i4 f4 f8") -> None:
    """Variables of these types, attributes of them, and lengths from 0 on."""
    rng = np.random.default_rng(5)
    for name, length in (("time", None), ("y", 37), ("x", 61), ("unused", 3)):
        file.createDimension(name, length)
    for kind in kinds.split():
        bits = rng.integers(0, 256, (5, 37, 61, np.dtype(kind).itemsize), "u1")
        values = bits.view(kind)[..., 0]
        var = file.createVariable(f"v_{kind}", kind, ("time", "y", "x"))
        var.set_auto_maskandscale(False)
        var[:] = values
        if kind != "S1":
            var.numbers = values[0, 0, :3]
            var.one = values[0, 0, 4]
        file.createVariable(f"s_{kind}", kind, ())[...] = values[0, 0, 5]
    nans = file.createVariable("nans", "f8", ("x",), fill_value=-7.0)
    nans.set_auto_maskandscale(False)
    nans[:7] = ODD
    nans[7:9] = np.array([0x7FF8000000000001, 0xFFF0000000000005], "u8").view("f8")
    nans.units = "K"
    nans.setncatts({"text": "grüße", "empty": "", "none": np.array([], "i2")})
    file.createVariable("never", "f4", ("y", "x"))
    file.createVariable("filled", "i2", ("time", "x"), fill_value=9)[2, 4:9] = 3
    file.title = "odd values"
    file.history = "made"


def enhanced_values(file: Any) -> None:
    """Values of types that only netCDF-4 has."""
    classic_values(file, "S1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8")
    rng = np.random.default_rng(6)
    file.createVariable("big", ">f4", ("y", "x"), endian="big")[:] = rng.normal(size=(37, 61))
    texts = file.createVariable("texts", str, ("y",))
    texts[:] = np.array([f"{'é' * (n % 5)}{n}" for n in range(37)], object)
    file.setncattr_string("one", "text")
    file.setncattr_string("two", ["a", ""])
    group = file.createGroup("model")
    inner = group.createGroup("ärea")
    group.createGroup("empty").note = "empty"
    group.createDimension("z", None)
    group.createDimension("x", 11)
    inner.createVariable("in", "f8", ("y", "x", "z"))
    group.createVariable("long", "i4", ("z", "y"), zlib=True, chunksizes=(7, 5))[:1000] = rng.integers(0, 9, (1000, 37))
    cloud = group.createEnumType("u1", "cloud_t", {"none": 0, "cumulus": 2, "cirrus": 1})
    group.createVariable("cloud", cloud, ("x",), fill_value=2)[3:] = np.ones(8, "u1")
    ragged = file.createVLType("i2", "ragged_t")
    rows = file.createVariable("rows", ragged, ("y",))
    for n in range(5, 30):
        rows[n] = np.arange(n % 7, dtype="i2")
    pair = np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2", (3,))], align=True)
    stored = file.createCompoundType(pair, "pair_t")
    pairs = file.createVariable("pairs", stored, ("y", "x"))
    values = np.zeros((37, 61), pair)
    values["a"], values["b"] = rng.integers(0, 99, (37, 61)), rng.normal(size=(37, 61))
    pairs[:] = values
    pairs.setncattr("first", values[0, 0])


MAKERS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "classic": ("NETCDF3_CLASSIC", classic_values),
    "cdf5": ("NETCDF3_64BIT_DATA", lambda file: classic_values(file, "S1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8")),
    "netcdf4-classic": ("NETCDF4_CLASSIC", classic_values),
    "netcdf4": ("NETCDF4", enhanced_values),
}


def make(path: Path, kind: str) -> Path:
    format, values = MAKERS[kind]
    with netCDF4.Dataset(path, "w", format=format) as file:  # type: ignore[arg-type]
        values(file)
    return path


def small(path: Path, change: Callable[[Any], None] = lambda file: None, format: Any = "NETCDF4") -> Path:
    """A file of two variables, changed."""
    with created(path, format=format, t=None, x=50) as file:
        for name in ("a", "b"):
            file.createVariable(name, "f4", ("t", "x"))[:] = np.arange(1000, dtype="f4").reshape(20, 50)
            file[name].units = "K"
        file.title = "small"
        change(file)
    return path


@pytest.mark.parametrize("kind", MAKERS)
def test_an_independent_reader_computes_the_same(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("blake3", reason="the package blake3 is not installed (requirements-dev.txt)")
    import digests

    ours = ncforge.digest(make(tmp_path / "a.nc", kind))
    digest, variables, values = digests.digest(tmp_path / "a.nc")
    assert ours.values == values
    assert ours.variables == variables
    assert ours.digest == digest
    assert not ours.notes


@pytest.mark.parametrize("seed", range(4))
def test_arrays_of_any_shape_in_any_chunks(tmp_path: Path, run: Run, seed: int) -> None:
    """As the independent reader has them, also in little memory."""
    pytest.importorskip("blake3", reason="the package blake3 is not installed (requirements-dev.txt)")
    import digests

    rng = np.random.default_rng(seed)
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        for n in range(8):
            rank = int(rng.integers(1, 5))
            shape = [int(x) for x in np.ceil(rng.uniform(1, 200_000 ** (1 / rank), rank))]
            chunks = [int(rng.integers(1, length + 1)) for length in shape]
            dims = [file.createDimension(f"d{n}{i}", length).name for i, length in enumerate(shape)]
            while np.prod(chunks) < np.prod(shape) / 500:
                chunks = [min(2 * c, length) for c, length in zip(chunks, shape, strict=True)]
            var = file.createVariable(f"v{n}", rng.choice(["i1", "f4", "i8"]), dims, zlib=True, chunksizes=chunks)
            # Some chunks are never written.
            start = [int(rng.integers(0, length)) for length in shape]
            var[tuple(slice(a, None) for a in start)] = n + 1
    ours = ncforge.digest(path)
    assert (ours.digest, ours.variables, ours.values) == digests.digest(path)
    assert run("digest", path, "--memory", "20M", "--threads", "3").stdout == f"{ours.digest}  {path}\n"


def uncommon(path: Path, change: str = "") -> Path:
    """Opaque values, and compounds of compounds, enums and strings."""
    enum = h5py.enum_dtype({"no": 0, "Yes" if change == "member" else "yes": 1}, "u1")
    inner = np.dtype([("e", enum), ("D" if change == "field" else "d", "f8")])
    outer = np.dtype([("b", "i1"), ("in", inner, (2,)), ("s", h5py.string_dtype())])
    values = np.array([(n, [(n % 2, 2.5), (0, n)], "é" * n) for n in range(5)], outer)
    blobs = np.array([b"abcde", b"abcdf"], "V5")
    if change == "string":
        values["s"][3] = "é"
    if change == "nested":
        values["in"]["d"][4, 1] = 4.5
    if change == "opaque":
        blobs[1] = np.void(b"abcdg")
    with h5py.File(path, "w") as file:
        file["outer"] = values
        file["blobs"] = blobs
        file["blobs"].attrs["one"] = np.array((1, 2.0 if change == "attribute" else 1.0), inner)
    return path


def test_types_that_netcdf4_python_does_not_read(tmp_path: Path, run: Run) -> None:
    seen: dict[str, str] = {}
    for change in ("", "member", "field", "string", "nested", "opaque", "attribute"):
        path = uncommon(tmp_path / f"{change}.nc", change)
        digest = ncforge.digest(path).digest
        run("copy", path, tmp_path / "b.nc", "-O", "--chunks", "phony_dim_0/2,phony_dim_1/1", "--endian", "big")
        assert ncforge.digest(tmp_path / "b.nc").digest == digest
        assert digest not in seen, f"{change}: as {seen[digest]}"
        seen[digest] = change


@pytest.mark.parametrize("path", sorted([*DATA.glob("*.nc"), *DATA.glob("*.cdf")]), ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    pytest.importorskip("blake3", reason="the package blake3 is not installed (requirements-dev.txt)")
    import digests

    ours = ncforge.digest(path)
    assert (ours.digest, ours.variables, ours.values) == digests.digest(path)


@pytest.mark.parametrize(
    "options",
    [
        ["-4", "--codec", "deflate", "--chunks", "time/1,y/37,x/1"],
        ["-4", "--codec", "zstd", "--chunks", "time/5,y/3,x/7"],
        ["-4", "--endian", "big", "--chunks", "/"],
        ["-7", "--chunks", "time/2,y/10,x/61", "--fletcher32", "--fix-unlimited"],
        ["-5"],
    ],
    ids=" ".join,
)
def test_copies_have_the_same(tmp_path: Path, run: Run, options: list[str]) -> None:
    given, out = make(tmp_path / "a.nc", "classic"), tmp_path / "b.nc"
    run("copy", given, out, *options)
    assert ncforge.digest(out).digest == ncforge.digest(given).digest


def test_zipped_and_enhanced_copies_have_the_same(tmp_path: Path, run: Run) -> None:
    classic, enhanced = make(tmp_path / "a.nc", "classic"), make(tmp_path / "e.nc", "netcdf4")
    run("zip", classic, tmp_path / "a.ncz")
    run("copy", enhanced, tmp_path / "b.nc", "--codec", "deflate", "--chunks", "y/5,x/3,z/100", "--endian", "big")
    assert ncforge.digest(tmp_path / "a.ncz").digest == ncforge.digest(classic).digest
    assert ncforge.digest(tmp_path / "b.nc").digest == ncforge.digest(enhanced).digest


def test_the_order_of_definitions_does_not_count(tmp_path: Path) -> None:
    def other(file: Any) -> None:
        file.createVariable("c", "i4", ("x",))[:] = 1
        file["a"].setncatts({"p": 1, "q": 2})

    first = small(tmp_path / "a.nc", other)
    with created(tmp_path / "b.nc", x=50, t=20) as file:
        file.title = "small"
        for name, kind, dims in (("c", "i4", ("x",)), ("b", "f4", ("t", "x")), ("a", "f4", ("t", "x"))):
            file.createVariable(name, kind, dims)
        file["a"].setncatts({"q": 2, "p": 1})
        for name in "ab":
            file[name][:] = np.arange(1000).reshape(20, 50)
            file[name].units = "K"
        file["c"][:] = 1
    assert ncforge.digest(tmp_path / "b.nc").digest == ncforge.digest(first).digest


def typed(file: Any, name: str, values: Any) -> None:
    file["a"].setncattr(name, values)


CHANGES: dict[str, Callable[[Any], None]] = {
    "one bit": lambda file: file["a"].__setitem__((3, 7), np.nextafter(np.float32(157), np.float32(158))),
    "minus zero": lambda file: file["a"].__setitem__((0, 0), -0.0),
    "a value more": lambda file: file["a"].__setitem__((20, 0), 1.0),
    "an attribute": lambda file: file["a"].setncattr("units", "C"),
    "an attribute more": lambda file: file["a"].setncattr("number", 1),
    "the type of an attribute": lambda file: file["a"].setncattr("number", 1.0),
    "the number of its values": lambda file: file["a"].setncattr("number", [1, 1]),
    "its name": lambda file: file["a"].setncattr("numbers", 1),
    "strings": lambda file: file["a"].setncattr_string("units", ["K", ""]),
    "a global attribute": lambda file: file.setncattr("title", "Small"),
    "the name of a variable": lambda file: file.renameVariable("a", "A"),
    "that of a dimension": lambda file: file.renameDimension("x", "X"),
    "a dimension more": lambda file: file.createDimension("y", 50),
    "its length": lambda file: file.createDimension("y", 51),
    "a variable more": lambda file: file.createVariable("c", "f4", ("t", "x")),
    "its type": lambda file: file.createVariable("c", "f8", ("t", "x")),
    "its dimensions": lambda file: file.createVariable("c", "f8", ("x", "t")),
    "a fill value": lambda file: file.createVariable("c", "f4", ("t", "x"), fill_value=netCDF4.default_fillvals["f4"]),
    "a group": lambda file: file.createGroup("g"),
    "a type": lambda file: file.createEnumType("i1", "e", {"a": 0, "b": 1}),
    "a member's name": lambda file: file.createEnumType("i1", "e", {"a": 0, "B": 1}),
    "a member's value": lambda file: file.createEnumType("i1", "e", {"a": 0, "b": 2}),
    "the base of a type": lambda file: file.createEnumType("i2", "e", {"a": 0, "b": 1}),
}


def test_every_change_gives_another_one(tmp_path: Path) -> None:
    plain = ncforge.digest(small(tmp_path / "plain.nc"))
    seen = {plain.digest: "no change"}
    for n, (name, change) in enumerate(CHANGES.items()):
        found = ncforge.digest(small(tmp_path / f"{n}.nc", change))
        assert found.digest not in seen, f"{name}: as {seen[found.digest]}"
        seen[found.digest] = name
    one = ncforge.digest(tmp_path / "0.nc")
    assert one.variables["b"] == plain.variables["b"]
    assert one.variables["a"] != plain.variables["a"] and one.values["a"] != plain.values["a"]
    units = ncforge.digest(tmp_path / "3.nc")
    assert units.values == plain.values and units.variables["a"] != plain.variables["a"]


def test_bits_of_every_type_count(tmp_path: Path) -> None:
    """A bit of a value of each variable changes the digests of that variable, of the file, and no other."""
    path = make(tmp_path / "a.nc", "netcdf4")
    before = ncforge.digest(path)
    for name in (f"v_{kind}" for kind in "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8".split()):  # noqa: SIM905
        with netCDF4.Dataset(path, "a") as file:
            var = file[name]
            var.set_auto_maskandscale(False)
            value = np.array(var[4, 36, 60])
            value.view("u1" if value.dtype.itemsize == 1 else f"u{value.dtype.itemsize}")[...] ^= 1
            var[4, 36, 60] = value
        after = ncforge.digest(path)
        differ = {v for v in after.values if after.values[v] != before.values[v]}
        assert differ == {name} and after.digest != before.digest
        before = after


def test_what_programs_note_of_themselves_does_not_count(tmp_path: Path) -> None:
    def noted(file: Any) -> None:
        file.setncatts({"history": "today: x", "NCO": "5", "CDO": "2", "CDI": "2"})
        file["a"].setncatts({"_Storage": "chunked", "_ChunkSizes": [1, 2]})

    plain = ncforge.digest(small(tmp_path / "a.nc"))
    assert ncforge.digest(small(tmp_path / "b.nc", noted)).digest == plain.digest
    assert ncforge.digest(small(tmp_path / "c.nc", lambda f: f["a"].setncattr("history", "x"))).digest != plain.digest


def cf(path: Path) -> Path:
    """A file as CDO likes it: nothing is missing that it would add."""
    with created(path, format="NETCDF4_CLASSIC", time=None, lat=18, lon=36) as file:
        axes = {
            "time": {
                "standard_name": "time",
                "units": "days since 2000-1-1 00:00:00",
                "calendar": "standard",
                "axis": "T",
            },
            "lat": {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"},
            "lon": {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"},
        }
        for name, attrs in axes.items():
            file.createVariable(name, "f8", (name,)).setncatts(attrs)
        file["time"][:] = np.arange(9)
        file["lat"][:] = np.linspace(-85, 85, 18)
        file["lon"][:] = np.arange(0, 360, 10)
        tas = file.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=1e20)
        tas.setncatts({"standard_name": "air_temperature", "units": "K", "missing_value": np.float32(1e20)})
        tas[:] = np.random.default_rng(2).normal(280, 9, (9, 18, 36))
        file.setncatts({"Conventions": "CF-1.6", "history": "made"})
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["ncks", "-3"],
        ["ncks", "-4", "-L9"],
        ["ncks", "-7", "--cnk_dmn", "lat,5"],
        ["nccopy", "-c", "time/2,lat/5,lon/7"],
        ["nccopy", "-d5", "-s"],
        ["nccopy", "-k", "cdf5"],
        ["nccopy", "-u"],
        ["cdo", "-s", "-f", "nc4", "copy"],
        ["cdo", "-s", "-f", "nc", "copy"],
    ],
    ids=" ".join,
)
def test_copies_of_other_tools_have_the_same(tmp_path: Path, tool: Tool, command: list[str]) -> None:
    given, out = cf(tmp_path / "a.nc"), tmp_path / "out.nc"
    tool(*command, given, out)
    assert ncforge.digest(out).variables == ncforge.digest(given).variables
    assert ncforge.digest(out).digest == ncforge.digest(given).digest


def test_a_list_is_checked(tmp_path: Path, run: Run) -> None:
    a, b = small(tmp_path / "a.nc"), small(tmp_path / "two\nlines.nc", lambda file: file.setncattr("title", "b"))
    done = run("digest", "--variables", a, b)
    lines = done.stdout.splitlines()
    assert lines[0] == f"{ncforge.digest(a).digest}  {a}"
    assert lines[1] == f"{ncforge.digest(a).variables['a']}  {a}#a"
    assert lines[3].startswith("\\") and lines[3].endswith("two\\nlines.nc") and len(lines) == 6
    listed = tmp_path / "list"
    listed.write_text(done.stdout)
    assert run("digest", "--check", listed).stdout.count(": OK\n") == 6
    assert run("digest", "--check", listed, "-q").stdout == ""
    with netCDF4.Dataset(a, "a") as file:
        file["b"][1, 1] = -1
    done = run("digest", "--check", listed, code=3)
    assert [line for line in done.stdout.splitlines() if line.endswith(": FAILED")] == [
        f"{a}: FAILED",
        f"{a}#b: FAILED",
    ]
    assert "2 digests of the list did not match" in done.stderr
    document = json.loads(run("digest", "--check", listed, "--json", code=3).stdout)
    assert [line["same"] for line in document["lines"]] == [False, True, False, True, True, True]
    assert document["lines"][2]["found"] == ncforge.digest(a).variables["b"]
    with netCDF4.Dataset(a, "a") as file:
        file.renameVariable("b", "c")
    assert f"{a}#b: FAILED, there is no such variable" in run("digest", "--check", listed, code=3).stdout
    a.unlink()
    done = run("digest", "--check", listed, code=4)
    assert "FAILED to read" in done.stdout and done.stdout.count(": OK\n") == 3
    assert "cannot open" in done.stderr and "hint:" in done.stderr


def test_lists_that_are_none(tmp_path: Path, run: Run) -> None:
    listed = tmp_path / "list"
    listed.write_text("no digest\n")
    assert "has no line with a digest" in run("digest", "--check", listed, code=4).stderr
    a = small(tmp_path / "a.nc")
    listed.write_text(f"no digest\n\n{ncforge.digest(a).digest.upper()} *{a}\n")
    done = run("digest", "--check", listed)
    assert done.stdout == f"{a}: OK\n" and "the first is line 1" in done.stderr
    run("digest", "--check", tmp_path / "none", code=4)
    run("digest", code=2)
    run("digest", "--check", listed, a, code=2)


def test_a_copy_says_its_digest(tmp_path: Path, run: Run) -> None:
    a, b = small(tmp_path / "a.nc"), tmp_path / "b.nc"
    digest = ncforge.digest(a).digest
    assert run("copy", a, b, "--digest", "--codec", "deflate").stdout == f"{digest}  {b}\n"
    assert json.loads(run("copy", "-O", a, b, "--digest", "--json").stdout)["digest"] == digest
    assert json.loads(run("copy", "-O", a, b, "--json").stdout)["digest"] is None
    folder = tmp_path / "many"
    assert run("copy", a, b, f"{folder}/", "--digest").stdout == f"{digest}  {folder}/a.nc\n{digest}  {folder}/b.nc\n"
    rounded = ncforge.copy(a, tmp_path / "c.nc", keep_digits=1, digest=True)
    assert rounded.digest == ncforge.digest(tmp_path / "c.nc").digest != digest
    assert ncforge.copy(a, tmp_path / "d.nc").digest is None


def test_files_that_are_not_whole_have_none(tmp_path: Path, run: Run) -> None:
    cut, damaged, good = (
        small(tmp_path / "cut.nc", format="NETCDF3_CLASSIC"),
        tmp_path / "x.nc",
        small(tmp_path / "a.nc"),
    )
    with cut.open("r+b") as raw:
        raw.truncate(cut.stat().st_size - 100)
    damaged.write_text("no netCDF file")
    done = run("digest", cut, good, damaged, code=4)
    assert done.stdout == f"{ncforge.digest(good).digest}  {good}\n"
    assert "shorter than its header says" in done.stderr
    with pytest.raises(ncforge.CorruptError):
        ncforge.digest(cut)


@pytest.mark.parametrize("chunks", [(1, 90, 120), (600, 1, 1), (600, 7, 3), (17, 90, 11), (600, 90, 120)])
def test_chunks_are_decoded_about_once(tmp_path: Path, run: Run, chunks: tuple[int, int, int]) -> None:
    """Whatever their shape, where the array does not fit into memory."""
    path = tmp_path / "a.nc"
    with created(path, ncforge, **dict(zip("tyx", (600, 90, 120), strict=True))) as file:
        var = file.createVariable("v", "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=chunks)
        var[:] = np.random.default_rng(1).integers(0, 99, (600, 90, 120))
    plain = tmp_path / "plain.nc"
    run("copy", path, plain, "-3")
    expected = ncforge.digest(plain)
    ncforge.clear_cache()
    before = ncforge.engine_stats()
    assert ncforge.digest(path) == ncforge.Digest(str(path), expected.digest, expected.variables, expected.values)
    after = ncforge.engine_stats()
    decoded = after.bytes_decoded - before.bytes_decoded
    assert decoded < 1.5 * np.prod([-(-n // c) * c for n, c in zip((600, 90, 120), chunks, strict=True)]) * 4
    small = run("digest", path, "--memory", "40M", "--threads", "1").stdout
    assert small.split()[0] == expected.digest


def test_what_was_never_written_costs_little(tmp_path: Path, run: Run) -> None:
    """Two chunks of an array of 8 GB, and the same of one that is all there."""
    for size, name in ((2_000_000_000, "large.nc"), (200_000, "a.nc")):
        with created(tmp_path / name, x=size) as file:
            var = file.createVariable("v", "f4", ("x",), zlib=True, chunksizes=(10_000,), fill_value=3)
            var[40_000:60_000] = 1
    run("digest", tmp_path / "large.nc", timeout=60)
    before = ncforge.digest(tmp_path / "a.nc").values
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as file:
        file["v"][:] = file["v"][:]
    assert ncforge.digest(tmp_path / "a.nc").values == before


@pytest.mark.parametrize("shape", [(10**15,), (10**6, 10**6, 10**3), (10**15 + 1, 7)])
def test_arrays_far_larger_than_what_is_stored(tmp_path: Path, run: Run, shape: tuple[int, ...]) -> None:
    """Petabytes that nobody wrote: the time is that of what is stored."""
    path, chunks = tmp_path / "a.h5", {1: (10_000,), 2: (5000, 7), 3: (10, 100, 100)}[len(shape)]
    with h5py.File(path, "w") as file:
        file.create_dataset("v", shape, "f8", chunks=chunks, fillvalue=3.0)
        file.create_dataset("never", shape, "f8", chunks=chunks, fillvalue=3.0)
    first = json.loads(run("digest", "--json", path, timeout=60).stdout)["files"][0]["variables"]
    assert len({v["values"] for v in first}) == 1
    with h5py.File(path, "a") as file:
        file["v"][tuple(n // 2 for n in shape)] = 3.0
    assert json.loads(run("digest", "--json", path, timeout=60).stdout)["files"][0]["variables"] == first
    with h5py.File(path, "a") as file:
        file["v"][tuple(n - 1 for n in shape)] = 4.0
    last = json.loads(run("digest", "--json", path, timeout=60).stdout)["files"][0]["variables"]
    assert [a == b for a, b in zip(first, last, strict=True)] == [v["name"] != "v" for v in first]


@pytest.mark.parametrize("seed", range(6))
def test_sparse_arrays_have_the_digest_of_full_ones(tmp_path: Path, seed: int) -> None:
    """Unwritten parts, which are hashed once, are those that a copy with all of its chunks has; the reader in Python agrees."""
    import digests

    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, [[20_000_000], [300, 2000, 60], [20, 30, 12, 40, 9]][seed % 3]))
    chunk = tuple(int(rng.integers(1, min(n, 400) + 1)) for n in shape)
    sparse, full = tmp_path / "sparse.nc", tmp_path / "full.nc"
    values = np.full(shape, 9, "i2")
    with netCDF4.Dataset(sparse, "w") as file:
        for d, n in enumerate(shape):
            file.createDimension(f"d{d}", n)
        dims = [f"d{d}" for d in range(len(shape))]
        var = file.createVariable("v", "i2", dims, chunksizes=chunk, zlib=True, fill_value=9)
        var.set_auto_maskandscale(False)
        for _ in range(3):
            at = tuple(int(rng.integers(n)) for n in shape)
            var[at] = values[at] = 5
    with netCDF4.Dataset(full, "w") as file:
        for d, n in enumerate(shape):
            file.createDimension(f"d{d}", n)
        var = file.createVariable("v", "i2", dims, fill_value=9)
        var.set_auto_maskandscale(False)
        var[...] = values
    assert ncforge.digest(sparse).values == ncforge.digest(full).values
    assert ncforge.digest(full).values == digests.digest(full)[2]


def test_by_url(tmp_path: Path, run: Run) -> None:
    path = small(tmp_path / "a.nc")
    with servers.web(tmp_path) as server:
        line = run("digest", f"{server.url}/a.nc").stdout
        assert line == f"{ncforge.digest(path).digest}  {server.url}/a.nc\n"
        listed = tmp_path / "list"
        listed.write_text(run("digest", "--variables", f"{server.url}/a.nc").stdout)
        assert run("digest", "--check", listed).stdout.count(": OK") == 3


def test_progress_and_stopping(tmp_path: Path) -> None:
    path = small(tmp_path / "a.nc")
    seen: list[tuple[str, int, int]] = []
    ncforge.digest(path, progress=lambda *now: seen.append(now))
    assert seen[-1] == ("digest", 8000, 8000)

    def stop(*now: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ncforge.digest(path, progress=stop)
    shutil.rmtree(tmp_path)
