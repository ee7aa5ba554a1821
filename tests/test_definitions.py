"""Impossible definitions are refused by the call that defines, as in netCDF4-python, and lose nothing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ncforge
from conftest import Run

CLASSIC, HDF, STRICT = "NETCDF3_CLASSIC", "NETCDF4", "NETCDF4_CLASSIC"

Definition = Callable[[Any], object]


def begun(module: Any, path: Path, fmt: str) -> Any:
    """A file that holds something."""
    ds = module.Dataset(path, "w", format=fmt)
    ds.title = "kept"
    ds.createDimension("n", 2)
    ds.createVariable("ok", "f4", ("n",))[:] = [1, 2]
    return ds


def unlimited_last(ds: Any) -> None:
    ds.createDimension("t", None)
    ds.createVariable("z", "f4", ("n", "t"))


def two_unlimited(ds: Any) -> None:
    ds.createDimension("s", None)
    ds.createDimension("t", None)


def twice(*kinds: str) -> Definition:
    """Two objects of one name in one group."""

    def define(ds: Any) -> None:
        make: dict[str, Callable[[], object]] = {
            "dimension": lambda: ds.createDimension("q", 3),
            "variable": lambda: ds.createVariable("q", "f4", ()),
            "group": lambda: ds.createGroup("q"),
            "type": lambda: ds.createEnumType("u1", "q", {"a": 1}),
            "attribute": lambda: ds.setncattr("q", 1),
        }
        for kind in kinds:
            make[kind]()

    return define


def too_large(ds: Any) -> None:
    ds.createDimension("h", 2**31 + 10)


def large_and_not_last(ds: Any) -> None:
    ds.createDimension("h", 2**29 + 10)
    ds.createVariable("z", "f8", ("h",), fill_value=False)
    ds.createVariable("zz", "f4", ("n",))


def renamed(what: str, name: str) -> Definition:
    def define(ds: Any) -> None:
        match what:
            case "dimension":
                ds.renameDimension("n", name)
            case "variable":
                ds.renameVariable("ok", name)
            case _:
                ds.renameAttribute("title", name)

    return define


def huge_rank(ds: Any) -> None:
    ds.createVariable("z", "f4", ("n",) * 33)


REFUSED: list[tuple[str, str, Definition]] = [
    ("a chunk longer than its dimension", HDF, lambda ds: ds.createVariable("z", "f4", ("n",), chunksizes=(5,))),
    ("33 dimensions", HDF, huge_rank),
    ("two unlimited dimensions", CLASSIC, two_unlimited),
    ("two unlimited dimensions", STRICT, two_unlimited),
    ("an unlimited dimension that is not the first", CLASSIC, unlimited_last),
    ("a slash in a dimension", HDF, lambda ds: ds.createDimension("a/b", 3)),
    ("a slash in a dimension", CLASSIC, lambda ds: ds.createDimension("a/b", 3)),
    ("a slash in an attribute", HDF, lambda ds: ds.setncattr("a/b", 1)),
    ("an attribute without a name", HDF, lambda ds: ds.setncattr("", 1)),
    ("an attribute without a name", CLASSIC, lambda ds: ds.setncattr("", 1)),
    ("an attribute of a variable without a name", HDF, lambda ds: ds["ok"].setncattr("", 1)),
    ("a space in front", HDF, lambda ds: ds.createVariable(" a", "f4", ("n",))),
    ("a space at the end", HDF, lambda ds: ds.createVariable("a ", "f4", ("n",))),
    ("a space at a group's end", HDF, lambda ds: ds.createGroup("a ")),
    ("a control character", HDF, lambda ds: ds.createDimension("a\n", 2)),
    ("a type's name", HDF, lambda ds: ds.createEnumType("i1", "-a", {"x": 1})),
    ("a member's name", HDF, lambda ds: ds.createEnumType("i1", "a", {" x": 1})),
    ("a type with a large description", HDF, lambda ds: ds.createEnumType("i4", "e", {f"{i:099}": i for i in range(700)})),
    ("a dimension beyond CDF-1", CLASSIC, too_large),
    ("a large variable before another", CLASSIC, large_and_not_last),
    ("a group and a dimension", HDF, twice("group", "dimension")),
    ("a dimension and a group", HDF, twice("dimension", "group")),
    ("a group and a variable", HDF, twice("group", "variable")),
    ("a variable and a group", HDF, twice("variable", "group")),
    ("a type and a group", HDF, twice("type", "group")),
    ("a type and a variable", HDF, twice("type", "variable")),
    ("a dimension and a type", HDF, twice("dimension", "type")),
    ("an attribute of the format", HDF, lambda ds: ds.setncattr("CLASS", "x")),
    ("an attribute of the format", HDF, lambda ds: ds["ok"].setncattr("_Netcdf4Dimid", 1)),
    ("a new name of a dimension", HDF, renamed("dimension", "a/b")),
    ("a new name of a variable", CLASSIC, renamed("variable", " a")),
    ("a new name of an attribute", HDF, renamed("attribute", "a/b")),
    ("a group", STRICT, lambda ds: ds.createGroup("g")),
    ("an unsigned variable", STRICT, lambda ds: ds.createVariable("z", "u2", ("n",))),
]  # fmt: skip


@pytest.mark.parametrize(("what", "fmt", "define"), REFUSED, ids=[f"{what}, {fmt}" for what, fmt, _ in REFUSED])
def test_definitions_are_refused_by_the_call(tmp_path: Path, what: str, fmt: str, define: Definition) -> None:
    path = tmp_path / "f.nc"
    ds = begun(ncforge, path, fmt)
    before = list(ds.ncattrs())
    with pytest.raises(ncforge.NcforgeError) as refused:
        define(ds)
    assert len(str(refused.value)) > 20, what
    # All that was there is there, and more can come.
    assert ds.ncattrs() == before
    ds.history = "later"
    if define is not large_and_not_last:
        ds.createVariable("later", "i2", ("n",))[:] = [5, 6]
    ds.close()
    with netCDF4.Dataset(path) as nc:
        assert nc.title == "kept" and nc.history == "later" and nc["ok"][:].tolist() == [1, 2]
        assert define is large_and_not_last or nc["later"][:].tolist() == [5, 6]
    # netCDF4-python does not take it either: at the call, or with what the call leads to at the end.
    assert not netcdf4_takes(tmp_path / "nc.nc", fmt, define), what


def netcdf4_takes(path: Path, fmt: str, define: Definition) -> bool:
    """Whether netCDF4-python can define it, and complete the file. In a process of its own: some of what it does not take
    makes it crash afterwards.
    """
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    code = 1
    try:
        # A byte order that is not the type's is worth a warning to it.
        warnings.simplefilter("ignore")
        ds = begun(netCDF4, path, fmt)
        define(ds)
        ds.close()
        code = 0
    finally:
        os._exit(code)


def test_the_call_of_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    begun(netCDF4, path, HDF).close()
    with ncforge.Dataset(path, "a") as ds:
        ds["ok"][0] = 7
        with pytest.raises(ValueError, match="slash"):
            ds.createDimension("a/b", 3)
        with pytest.raises(ValueError, match="a group"):
            twice("group", "dimension")(ds)
        ds.createVariable("more", "f8", ("n",))[:] = 3
    with netCDF4.Dataset(path) as nc:
        assert nc["ok"][:].tolist() == [7, 2] and nc["more"][:].tolist() == [3, 3]
        assert list(nc.groups) == ["q"] and list(nc.dimensions) == ["n"]


def test_a_zipped_file_is_classic_inside(tmp_path: Path) -> None:
    path = tmp_path / "f.ncz"
    with ncforge.Dataset(path, "w") as ds:
        ds.createDimension("n", 2)
        ds.createVariable("v", "u8", ("n",))[:] = [1, 2]
        for define in (lambda: ds.createGroup("g"), lambda: ds.createVariable("s", str, ("n",))):
            with pytest.raises(ncforge.NcforgeError):
                define()
    with ncforge.Dataset(path) as ds:
        assert list(ds.variables) == ["v"] and ds["v"][:].tolist() == [1, 2]


# Names, judged by netCDF4-python. It takes a slash for a path, and NUL for the end, in names of groups and variables.

PARTS = st.sampled_from(
    ["a", "Z", "_", "0", " ", "-", "+", ".", "@", "é", "深", "\n", "\t", "\x7f", "\x1f", "/", "\u00a0", "#", "ab" * 130]
)
NAMES = st.lists(PARTS, max_size=4).map("".join) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4
)


def define_named(ds: Any, kind: str, name: str) -> None:
    match kind:
        case "dimension":
            ds.createDimension(name, 2)
        case "variable":
            ds.createVariable(name, "i4", ("n",))
        case "group":
            ds.createGroup(name)
        case "attribute":
            ds.setncattr(name, 1)
        case "variable's attribute":
            ds["ok"].setncattr(name, 1)
        case "type":
            ds.createEnumType("i1", name, {"a": 1})
        case "member":
            ds.createEnumType("i1", "kind", {"a": 1, name: 2})
        case "renamed dimension":
            ds.renameDimension("n", name)
        case "renamed variable":
            ds.renameVariable("ok", name)
        case "renamed attribute":
            ds.renameAttribute("title", name)


KINDS = ["dimension", "variable", "attribute", "variable's attribute", "renamed dimension", "renamed variable", "renamed attribute"]  # fmt: skip


def ncforge_takes(path: Path, fmt: str, define: Definition) -> bool:
    """True if ncforge takes the definition; earlier contents stay in any case."""
    ds = begun(ncforge, path, fmt)
    try:
        define(ds)
        taken = True
    except ncforge.NcforgeError:
        taken = False
    ds.close()
    with netCDF4.Dataset(path) as nc:
        kept = [v[:].tolist() for name, v in nc.variables.items() if v.dtype == "f4" and name != "new"]
        assert kept == [[1, 2]]
    return taken


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([HDF, CLASSIC]), st.sampled_from([*KINDS, "group", "type", "member"]), NAMES)
def test_names_that_netcdf_takes(tmp_path: Path, fmt: str, kind: str, name: str) -> None:
    if kind in ("group", "type", "member", "renamed attribute"):
        # (netCDF4-python does not enter define mode to rename attributes, which classic files with long names need.)
        fmt = HDF
    if "/" in name and kind in ("group", "variable"):
        name = name.replace("/", "|")
    if name in ("", ".") and kind == "group":
        # A path that leads nowhere else.
        return

    def define(ds: Any) -> None:
        define_named(ds, kind, name)

    theirs = netcdf4_takes(tmp_path / "nc.nc", fmt, define)
    assert ncforge_takes(tmp_path / "ours.nc", fmt, define) == theirs


LENGTHS = {"a": 3, "b": 7, "t": None, "u": None, "one": 1}


@st.composite
def new_variables(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A format, and arguments of ``createVariable``."""
    fmt = draw(st.sampled_from([HDF, STRICT, CLASSIC, "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]))
    dims = draw(st.lists(st.sampled_from(["a", "b", "t", "one", "n", *(["u"] if fmt == HDF else [])]), max_size=3))
    kinds = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "S1", str]
    options: dict[str, Any] = {"datatype": draw(st.sampled_from(kinds)), "dimensions": tuple(dims)}
    if draw(st.booleans()):
        options["chunksizes"] = tuple(draw(st.lists(st.integers(1, 8), min_size=len(dims), max_size=len(dims))))
    if draw(st.booleans()):
        options["contiguous"] = draw(st.booleans())
    if draw(st.booleans()):
        options |= {"zlib": True, "complevel": draw(st.integers(0, 9)), "shuffle": draw(st.booleans())}
    if draw(st.integers(0, 3)) == 0:
        options["fletcher32"] = True
    if draw(st.integers(0, 3)) == 0:
        options["endian"] = draw(st.sampled_from(["native", "little", "big"]))
    return fmt, options


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(new_variables())
def test_variables_that_netcdf_takes(tmp_path: Path, variable: tuple[str, dict[str, Any]]) -> None:
    fmt, options = variable

    def define(ds: Any) -> None:
        for name, length in LENGTHS.items():
            if name != "u" or fmt == HDF:
                ds.createDimension(name, length)
        ds.createVariable("new", **options)

    theirs = netcdf4_takes(tmp_path / "nc.nc", fmt, define)
    assert ncforge_takes(tmp_path / "ours.nc", fmt, define) == theirs


def test_odd_names_that_a_file_has_stay(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "odd.nc"
    with h5py.File(path, "w", track_order=True) as h:
        h[" x "] = np.arange(3, dtype="i4")
        h[" x "].attrs["a/b"] = 1
        h.attrs["\n"] = 2
    with ncforge.Dataset(path, "a") as ds:
        ds[" x "].setncattr("a/b", np.int64(5))
        ds[" x "].units = "m"
        ds[" x "][0] = 9
        with pytest.raises(ValueError, match="slash"):
            ds[" x "].setncattr("c/d", 5)
        with pytest.raises(ValueError, match="belongs to the format"):
            ds.createVariable("_nc4_non_coord_y", "i4", ())
    with h5py.File(path) as h:
        assert h[" x "].attrs["a/b"] == 5 and h[" x "].attrs["units"] == b"m" and h.attrs["\n"] == 2
        assert h[" x "][:].tolist() == [9, 1, 2]
    # A copy has them, too.
    ncforge.copy(path, tmp_path / "copy.nc")
    with ncforge.Dataset(tmp_path / "copy.nc") as ds:
        assert ds[" x "].getncattr("a/b") == 5 and ds[" x "][:].tolist() == [9, 1, 2]


def test_thousands_of_definitions_take_no_time(tmp_path: Path) -> None:
    import time

    def seconds(n: int) -> float:
        with ncforge.Dataset(tmp_path / "many.nc", "w", format=CLASSIC) as ds:
            ds.createDimension("x", 2)
            began = time.process_time()
            for i in range(n):
                ds.createVariable(f"v{i}", "f4", ("x",))
            return time.process_time() - began

    # Five times as many take five times as long, or 25 times. Other programs may slow one of the tries down, not all of them.
    assert any(seconds(5000) < 10 * max(seconds(1000), 0.05) for _ in range(10))


# Filters that can only be undone.


def filtered(path: Path, kind: str) -> bool:
    import h5py

    with h5py.File(path, "w") as h:
        h["plain"] = np.arange(4.0)
        match kind:
            case "scaleoffset":
                h.create_dataset("odd", data=np.arange(8, dtype="i4"), chunks=(4,), maxshape=(None,), scaleoffset=0)
            case "szip":
                if not h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP):
                    return False
                h.create_dataset(
                    "odd", data=np.arange(8, dtype="i4"), chunks=(8,), compression="szip", compression_opts=("nn", 8)
                )
            case "nbit":
                made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                made.set_chunk((4,))
                made.set_filter(h5py.h5z.FILTER_NBIT)
                space = h5py.h5s.create_simple((8,))
                data = h5py.h5d.create(h.id, b"odd", h5py.h5t.STD_I32LE, space, made)
                data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(8, dtype="i4"))
    return True


@pytest.mark.parametrize("kind", ["scaleoffset", "szip", "nbit"])
def test_filters_that_cannot_be_applied_are_met_by_the_assignment(tmp_path: Path, kind: str) -> None:
    import h5py

    path = tmp_path / "f.h5"
    if not filtered(path, kind):
        pytest.skip(f"this HDF5 does not write {kind}")
    with ncforge.Dataset(path, "a") as ds:
        ds["plain"][1] = 7
        for key in (0, slice(0, 4), slice(None), slice(1, 8, 3)):
            with pytest.raises(ncforge.UnsupportedError, match="odd"):
                ds["odd"][key] = 3
        if kind == "scaleoffset":
            with pytest.raises(ncforge.UnsupportedError, match="odd"):
                ds["odd"][8:20] = 3
            assert ds["odd"].shape == (8,)
        ds["plain"][2] = 8
        ds.createVariable("new", "i2", ())[...] = 4
        ds["plain"].units = "m"
    with h5py.File(path) as h:
        assert h["plain"][:].tolist() == [0, 7, 8, 3] and h["new"][()] == 4
        assert h["odd"][:].tolist() == list(range(8))
    with netCDF4.Dataset(path) as nc:
        assert nc["plain"].units == "m" and nc["odd"][:].tolist() == list(range(8))


def test_what_nests_too_deep_to_be_read_is_refused_and_no_damage(tmp_path: Path, run: Run) -> None:
    """One limit holds for writing and for reading; what other libraries nest deeper is left out, and said to be unsupported."""

    def groups(ds: Any, count: int) -> None:
        for _ in range(count):
            ds = ds.createGroup("g")
        ds.createVariable("deep", "i4")[...] = 1

    def compounds(ds: Any, count: int) -> None:
        dtype: Any = np.dtype([("x", "i4")])
        kind = ds.createCompoundType(dtype, "t0")
        for n in range(count):
            dtype = np.dtype([("c", dtype)])
            kind = ds.createCompoundType(dtype, f"t{n + 1}")
        ds.createDimension("x", 2)
        ds.createVariable("deep", kind, ("x",))[:] = np.zeros(2, dtype)

    for make, deepest in ((groups, 127), (compounds, 31)):
        path = tmp_path / f"{make.__name__}.nc"
        with ncforge.Dataset(path, "w") as ds:
            make(ds, deepest)
        for module in (netCDF4, ncforge):
            with module.Dataset(path) as ds:
                name = "/".join(["g"] * deepest + ["deep"]) if make is groups else "deep"
                assert ds[name].shape == (() if make is groups else (2,))
        too_deep = pytest.raises(ncforge.errors.UnsupportedError, match=f"more than {deepest + 1} deep")
        with ncforge.Dataset(tmp_path / "w.nc", "w") as ds, too_deep:
            make(ds, deepest + 1)
        other = tmp_path / "other.nc"
        with netCDF4.Dataset(other, "w") as ds:  # type: ignore[assignment]
            ds.createVariable("shallow", "i4")[...] = 7
            make(ds, deepest + 1)
        with ncforge.Dataset(other) as ds:
            assert ds["shallow"][...] == 7
        said = run("info", other)
        assert f"nested more than {deepest + 1} deep" in said.stdout + said.stderr
        assert "damaged" not in said.stdout + said.stderr


@pytest.mark.parametrize("module", [netCDF4, ncforge])
def test_held_objects_know_their_new_names(tmp_path: Path, module: Any) -> None:
    with module.Dataset(tmp_path / "r.nc", "w") as ds:
        x, group = ds.createDimension("x", 2), ds.createGroup("g")
        below = group.createGroup("s")
        a, b = (ds.createVariable(name, "f4", ("x",)) for name in "ab")
        deep = below.createVariable("q", "f4", ("x",))
        for old, new in (("a", "tmp"), ("b", "a"), ("tmp", "b")):
            ds.renameVariable(old, new)
        ds.renameGroup("g", "h")
        ds.renameDimension("x", "y")
        assert (a.name, b.name, x.name, group.name, deep.dimensions) == ("b", "a", "y", "h", ("y",))
        a[:], b[:] = 1, 2
        if module is ncforge:
            # netCDF4-python keeps the paths.
            assert (group.path, below.path, deep.group().path) == ("/h", "/h/s", "/h/s")
            assert ds[a.name] == a and ds["h"] == group
            assert "float32 b(y)" in str(a)
    if module is ncforge:
        assert (a.name, x.name, group.name) == ("b", "y", "h"), "names outlive the file"
    with netCDF4.Dataset(tmp_path / "r.nc") as nc:
        assert nc["b"][:].tolist() == [1, 1] and nc["a"][:].tolist() == [2, 2]


@pytest.mark.parametrize(
    "datatype", ["S1", "S5", "c", "l", "L", "q", "b", "B", "h", "i", "f", "d", np.dtype("S3"), str, "U4", int, float]
)
def test_a_type_means_to_us_what_it_means_to_netcdf4(datatype: Any) -> None:
    made = []
    for module in (netCDF4, ncforge):
        with module.Dataset("t.nc", "w", diskless=True) as ds:
            ds.createDimension("x", 2)
            made.append(ds.createVariable("v", datatype, ("x",)).dtype)
    assert made[1] == made[0]


def test_a_missing_value_that_the_type_does_not_have_is_not_used(tmp_path: Path) -> None:
    with ncforge.Dataset(tmp_path / "m.nc", "w") as ds:
        ds.createDimension("x", 2)
        v = ds.createVariable("v", "u2", ("x",))
        v[:] = [1, 65535]
        v.setncattr("missing_value", "-1")
    with ncforge.Dataset(tmp_path / "m.nc") as ds, pytest.warns(UserWarning, match="missing_value not used"):
        assert ds["v"][:].tolist() == [1, None]
