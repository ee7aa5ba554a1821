"""Names that programs written for netCDF4-python use besides values: types, names, switches, kinds of errors."""

from __future__ import annotations

import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
from datasets import by_both, created


def test_objects_that_are_the_same_are_equal(tmp_path: Path) -> None:
    with ncforge.Dataset(tmp_path / "a.nc", "w") as ds, ncforge.Dataset(tmp_path / "b.nc", "w") as other:
        x = ds.createDimension("x", 3)
        v = ds.createVariable("/below/deep/v", "f4", x)
        g = ncforge.Group(ds, "own")
        w = ncforge.Variable(g, "w", "i2", (x,), zlib=True)
        other.createDimension("x", 3)
        assert v == ds["below/./deep/v"] and v != w and v != other
        assert ds["below/deep"] == ds.groups["below"].groups["deep"] != g
        assert v.get_dims() == (ds.dimensions["x"],) != (other.dimensions["x"],)
        assert len({v, ds["below/deep/v"], w}) == 2 and len({x, *v.get_dims()}) == 1
        assert (ds.groups["own"].variables["w"].filters() or {})["zlib"]


def test_attributes_as_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w") as ds:
        ds.title, ds.numbers = "x", np.arange(3)
        ds.place = "Zürich"
        ds.set_ncstring_attrs(True)
        ds.plain = "as a string"
        ds.set_ncstring_attrs(False)
        ds.setncattr_string("bytes", "深入".encode("big5"))
        assert vars(ds).keys() == {"title", "numbers", "place", "plain", "bytes"}
        with pytest.raises(ValueError, match="one dimension"):
            ds.table = [[1, 2], [3, 4]]
        v = ds.createVariable("v", "S1", (), fill_value=b"Z")
        assert v._FillValue == b"Z"
        v[...] = b"a"
        with pytest.raises(AttributeError, match="has values"):
            v.setncattr("_FillValue", b"Y")
    with ncforge.Dataset(path) as ds, netCDF4.Dataset(path) as nc:
        assert ds.getncattr("bytes", encoding="big5") == nc.getncattr("bytes", encoding="big5") == "深入"
        assert ds.place == nc.place == "Zürich"
        assert ds.__dict__["numbers"].tolist() == [0, 1, 2]
        kinds = {name: ds._core.attr(0, None, name) for name in ("title", "place", "plain")}
        assert {name: found[0] for name, found in kinds.items() if found} == {
            "title": "S1",
            "place": "str",
            "plain": "str",
        }
        again = pickle.loads(pickle.dumps(ds))
        assert vars(again)["title"] == "x"


def test_switches_of_netcdf4_tell_the_truth(tmp_path: Path) -> None:
    for complexes in (False, True):
        with ncforge.Dataset(tmp_path / "k.nc", "w", keepweakref=True, auto_complex=complexes) as ds:
            assert (ds.keepweakref, ds.createGroup("g").keepweakref) == (False, False)
            assert ds.createVariable("v", "i4").auto_complex is complexes


ERRORS: dict[str, Any] = {
    "no such variable": lambda ds, v: ds["nosuch"],
    "no such group": lambda ds, v: ds["no/such"],
    "no such key": lambda ds, v: ds.variables["nosuch"],
    "no such dimension": lambda ds, v: ds.createVariable("q", "f4", ("nosuch",)),
    "no such attribute to read": lambda ds, v: v.getncattr("no"),
    "no such attribute to delete": lambda ds, v: v.delncattr("no"),
    "no such attribute to del": lambda ds, v: delattr(v, "no"),
    "no such attribute to rename": lambda ds, v: ds.renameAttribute("no", "a"),
    "no such variable to rename": lambda ds, v: ds.renameVariable("no", "a"),
    "name of an attribute": lambda ds, v: setattr(v, "a/b", 1),
    "empty name of an attribute": lambda ds, v: ds.setncattr("", 1),
    "name of a dimension": lambda ds, v: ds.createDimension("a/b", 1),
    "array as an attribute": lambda ds, v: setattr(v, "a", [[1, 2], [3, 4]]),
    "too many indices": lambda ds, v: v[0, 0],
    "index out of range": lambda ds, v: v[5],
}
CLASSIC_ERRORS: dict[str, Any] = {
    "texts": lambda ds, v: ds.setncattr("a", ["a", "b"]),
    "a string": lambda ds, v: ds.setncattr_string("a", "b"),
    "strings": lambda ds, v: ds.createVariable("s", str),
    "groups": lambda ds, v: ds.createGroup("g"),
}


@pytest.mark.parametrize(
    ("format", "call"),
    [
        *(pytest.param("NETCDF4", call, id=name) for name, call in ERRORS.items()),
        *(pytest.param("NETCDF3_CLASSIC", call, id=f"classic, {name}") for name, call in CLASSIC_ERRORS.items()),
    ],
)
def test_errors_are_also_those_of_netcdf4(tmp_path: Path, format: Any, call: Any) -> None:
    raised = []
    for ds in by_both(tmp_path, format=format, x=3):
        v = ds.createVariable("v", "f4", ("x",))
        with pytest.raises(Exception) as found:  # noqa: PT011
            call(ds, v)
        raised.append(found)
    theirs, ours = raised
    assert isinstance(ours.value, theirs.type) and isinstance(ours.value, AttributeError | ncforge.NcforgeError)
    assert str(pickle.loads(pickle.dumps(ours.value))) == str(ours.value)


def test_names_that_are_not_the_objects_own_are_the_files(tmp_path: Path) -> None:
    for ds in by_both(tmp_path):
        for of in (ds, ds.createGroup("g"), ds.createVariable("v", "i4")):
            of._foo, of.mro, of.Name = "x", 2, "y"
            del of.Name
            assert (of._foo, of.mro) == ("x", 2) and of.ncattrs() == ["_foo", "mro"]
    for writer, reader in ((netCDF4, ncforge), (ncforge, netCDF4)):
        with reader.Dataset(tmp_path / f"{writer.__name__}.nc") as ds:
            assert ds._foo == ds["g"]._foo == ds["v"]._foo == "x"


def test_closed_datasets_have_no_attributes(tmp_path: Path) -> None:
    """Libraries ask any object for names of their own (``hasattr(v, "_typ")`` of pandas)."""
    for library in (netCDF4, ncforge):
        with library.Dataset(tmp_path / "closed.nc", "w") as ds:
            ds.title = "a"
            v = ds.createVariable("v", "f4", ())
            v.units = "K"
        assert not any(hasattr(of, name) for of in (ds, v) for name in ("title", "units", "_typ", "absent"))


def test_an_error_within_a_property_is_not_taken_for_an_absent_attribute(tmp_path: Path) -> None:
    """Python asks ``__getattr__`` for the name of a property that raises an ``AttributeError``."""

    class Mine(ncforge.Dataset):
        @property
        def first(self) -> Any:
            return self.absent

    with Mine(tmp_path / "mine.nc", "w") as ds:
        ds.createVariable("v", "f4", ()).units = "K"
        with pytest.raises(AttributeError, match="no attribute `absent`"):
            _ = ds.first
    with ncforge.Dataset(tmp_path / "mine.nc") as ds:
        v = ds["v"]
    with pytest.raises(RuntimeError, match="the dataset is closed") as said:
        _ = v._rules
    assert not isinstance(said.value, AttributeError)
    for read in (v.getncattr, ds.getncattr):
        with pytest.raises(AttributeError, match="the dataset is closed"):
            read("units")


def test_reads_of_a_dataset_that_another_thread_closes_say_so(tmp_path: Path) -> None:
    with created(tmp_path / "a.nc", ncforge, x=100) as ds:
        ds.createVariable("v", "i2", ("x",), zlib=True, chunksizes=(10,))[:] = np.arange(100)
        ds["v"].scale_factor = 0.5
    kinds = set()

    def reads(v: Any, started: threading.Barrier) -> None:
        started.wait(60)
        with pytest.raises(ncforge.errors.NcforgeError, match="the dataset is closed") as said:
            all(len(v[3:40]) == 37 for _ in range(100_000))
        kinds.add(type(said.value))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            ds, started = ncforge.Dataset(tmp_path / "a.nc"), threading.Barrier(4)
            with ThreadPoolExecutor(3) as threads:
                done = [threads.submit(reads, ds["v"], started) for _ in range(3)]
                started.wait(60)
                ds.close()
                for one in done:
                    one.result(60)
    finally:
        sys.setswitchinterval(interval)
    assert kinds == {ncforge.errors.InvalidError}


@pytest.mark.parametrize("name", ["_core", "_known", "variables", "close", "shape", "__foo__", "__class__"])
def test_names_of_the_objects_are_neither_set_nor_deleted(tmp_path: Path, name: str) -> None:
    path = tmp_path / "own.nc"
    with ncforge.Dataset(path, "w") as ds:
        v = ds.createVariable("v", "i4")
        for of in (ds, ds.createGroup("g"), v):
            if not (hasattr(of, name) or name == "__foo__"):
                continue
            with pytest.raises(AttributeError, match=rf"`{name}` is of the object, .* setncattr\('{name}'"):
                setattr(of, name, "Lat")
            with pytest.raises(AttributeError, match="delncattr"):
                delattr(of, name)
            of.setncattr(name, "Lat")
            assert of.getncattr(name) == "Lat"
            of.delncattr(name)
        v[...] = 5
    with ncforge.Dataset(path) as ds:
        assert ds["v"][...] == 5

    class Run(ncforge.Dataset):
        """A class that a program derives has its own names, too."""

        label = "none"

    with Run(path) as run:
        run.label = "control"
        assert run.label == "control" and not run.ncattrs()


@pytest.mark.parametrize(
    "change",
    [
        lambda ds: ds.createDimension("y", 2),
        lambda ds: ds.createVariable("w", "f4", ()),
        lambda ds: ds.createGroup("g"),
        lambda ds: ds.renameVariable("v", "w"),
        lambda ds: ds.renameDimension("x", "y"),
        lambda ds: ds["v"].delncattr("units"),
        lambda ds: delattr(ds["v"], "units"),
        lambda ds: setattr(ds, "title", "x"),
        lambda ds: ds["v"].__setitem__(0, 1),
    ],
)
def test_changes_of_what_is_open_for_reading_are_runtime_errors(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "r.nc"
    with created(path, ncforge, x=2) as ds:
        ds.createVariable("v", "f4", ("x",)).units = "m"
    with ncforge.Dataset(path) as ds:
        with pytest.raises(RuntimeError, match="reading only"):
            change(ds)
        with pytest.raises(IndexError):
            ds["v"][5] = 1
        # Nothing is changed by nothing.
        ds["v"][[False, False]] = 1
        v = ds["v"]
    assert v.dtype == np.dtype("f4")


def test_what_a_format_has_no_type_for_is_refused_at_once(tmp_path: Path) -> None:
    for fmt in ("NETCDF3_CLASSIC", "NETCDF4_CLASSIC"):
        with created(tmp_path / f"{fmt}.nc", ncforge, format=fmt, x=2) as ds:
            for what in (
                lambda ds=ds: ds.createVariable("s", str, ("x",)),
                lambda ds=ds: ds.createVariable("u", "u4", ("x",)),
                lambda ds=ds: ds.createGroup("g"),
                lambda ds=ds: ds.createVLType("i4", "rows"),
                lambda ds=ds: ds.setncattr("words", ["a", "b"]),
                lambda ds=ds: ds.setncattr("unsigned", np.uint32(1)),
            ):
                with pytest.raises(ncforge.NotRepresentableError):
                    what()
            ds.createVariable("v", "i4", ("x",))[:] = [1, 2]
        with netCDF4.Dataset(tmp_path / f"{fmt}.nc") as nc:
            assert list(nc.variables) == ["v"] and nc["v"][:].tolist() == [1, 2]


def test_compounds_are_aligned_and_have_text(tmp_path: Path) -> None:
    inner = np.dtype([("i", "i2"), ("name", "S5")])
    outer = np.dtype([("a", "i1"), ("in", inner), ("b", "f8", (2,))])
    values = np.zeros(3, outer)
    values["in"]["name"], values["b"] = [b"one", b"two", b"three"], np.arange(6).reshape(3, 2)
    for module, other in ((ncforge, netCDF4), (netCDF4, ncforge)):
        path = tmp_path / f"{module.__name__}.nc"
        with created(path, module, x=3) as ds:
            ds.createCompoundType(inner, "inner")
            kind = ds.createCompoundType(outer, "outer")
            v = ds.createVariable("v", kind, ("x",))
            v[:] = values
            if module is ncforge:  # netCDF4-python finds only types that are aligned already
                v.first = values[:1]
            theirs = kind.dtype
        for reader in (module, other):
            with reader.Dataset(path) as ds:
                got = ds["v"][:]
                assert got.dtype == ds.cmptypes["outer"].dtype_view and ds["v"].dtype == theirs
                assert got["in"]["name"].tolist() == [b"one", b"two", b"three"]
                assert got["b"].tolist() == values["b"].tolist()
                assert module is netCDF4 or ds["v"].first["in"]["name"] == b"one"
    assert ncforge.Dataset(tmp_path / "ncforge.nc").cmptypes["outer"].dtype == theirs


def test_enums_take_their_own_values_only(tmp_path: Path) -> None:
    with created(tmp_path / "e.nc", ncforge, t=None) as ds:
        kind = ds.createEnumType("i1", "sky", {"clear": 0, "cloud": 4, "none": 127})
        v = ds.createVariable("v", kind, ("t",), fill_value=127)
        v[:] = np.ma.masked_values(np.array([0, 4, 127], "i1"), 127)
        with pytest.raises(ValueError, match="does not have"):
            v[3] = 5
        assert v[:].tolist() == [0, 4, None]
        with pytest.raises(KeyError):
            ds.createEnumType("f4", "no", {"a": 1})


def test_rows_are_packed(tmp_path: Path) -> None:
    path = tmp_path / "rows.nc"
    row = np.array([0.1, 0.5, 1.0])
    with created(path, ncforge, t=None) as ds:
        v = ds.createVariable("v", ds.createVLType("u1", "rows"), ("t",))
        v.scale_factor = 1 / 254
        v[0] = row
        both = np.empty(2, object)
        both[:] = [row, row[:1]]
        v[1:3] = both
    for module in (ncforge, netCDF4):
        with module.Dataset(path) as ds:
            assert np.abs(ds["v"][0] - row).max() < 1 / 254
            assert [len(r) for r in ds["v"][:]] == [3, 3, 1]
            ds.set_auto_scale(False)
            assert ds["v"][2].tolist() == [25]


def test_positions_as_people_have_them(tmp_path: Path) -> None:
    with created(tmp_path / "i.nc", ncforge, t=None, x=4) as ds:
        v = ds.createVariable("v", "i4", ("t", "x"))
        v[[True, False, True]] = [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert v.shape == (3, 4)
        assert v[2.0, "-1"] == 8 and v[np.int16(0), 1.0] == 2
        for wrong in (2.5, "x", float("nan"), None):
            with pytest.raises(IndexError):
                v[0, wrong]
        with pytest.raises(IndexError):
            v[:, [True] * 5]


def test_what_cannot_be_packed(tmp_path: Path) -> None:
    with created(tmp_path / "p.nc", ncforge, x=3) as ds:
        v = ds.createVariable("v", "i2", ("x",), fill_value=-32000)
        v.scale_factor, v.missing_value = 0.001, np.int16(-32001)
        # Missing values that a program has of the file, as they are.
        v[:] = [1.5, -32000, -32001]
        assert v[:].tolist() == [1.5, None, None]
        with pytest.raises(ValueError, match="does not fit"):
            v[0] = 1e6


def test_paths_in_other_encodings(tmp_path: Path) -> None:
    name = b"Pl\xc3\xb6n.nc".decode("cp1252")
    with ncforge.Dataset(tmp_path / name, "w", encoding="cp1252") as ds:
        assert ds.filepath(encoding="cp1252") == str(tmp_path / name)
    assert (tmp_path / "Plön.nc").exists()
    with ncforge.Dataset(str(tmp_path / "Plön.nc").encode()) as ds:
        assert ds.filepath() == str(tmp_path / "Plön.nc")


def test_switches_and_their_answers(tmp_path: Path) -> None:
    for ds in by_both(tmp_path, x=300):
        ds.set_fill_off()
        ds.createVariable("u", "u1", ("x",))[:] = np.full(300, 255, "u1")
        q = ds.createVariable("q", "f8", ("x",), zlib=True, significant_digits=3, quantize_mode="BitGroom")
        q[:] = np.linspace(0, 1, 300)
        ds.createVariable("plain", "f8", ("x",), compression="zstd", complevel=0)
        ds.createVariable("z", "f8", ("x",), compression="zstd", complevel=3)
    reported = []
    for module in (ncforge, netCDF4):
        for path in sorted(tmp_path.glob("*.nc")):
            with module.Dataset(path) as ds:
                # ncforge's file also has the container that CF asks for.
                names = set(ds.variables) - {"quantization_info"}
                v = {name: (ds[name].filters(), ds[name].quantization()) for name in names}
                reported.append((v, ds["u"][:].mask.any(), ds["q"][:].tolist()))
    assert all(t == reported[0] for t in reported)
    with ncforge.Dataset(tmp_path / "ncforge.nc", "r+") as ds:
        filled = ds.createVariable("filled", "f4", ("x",), fill_value="default")
        assert filled._FillValue == netCDF4.default_fillvals["f4"] and filled[:].mask.all()
        q = ds["q"]
        q.set_var_chunk_cache(1000, nelems=7)
        q.set_var_chunk_cache(preemption=0.5)
        assert q.get_var_chunk_cache() == (1000, 7, 0.5)
        assert ds["u"].get_var_chunk_cache()[0] == ncforge.engine_stats().memory


# Names without a meaning here: the C library's own objects and settings, names of modules that netCDF4-python imports, and what
# belongs to the whole file.
NOT_OURS = {"Group": {"fromcdl", "tocdl"}}


@pytest.mark.parametrize("name", ["Dataset", "Group", "Variable", "Dimension", "MFDataset", "MFTime"])
def test_every_name_is_there(name: str) -> None:
    theirs = {n for n in dir(getattr(netCDF4, name)) if not n.startswith("_")}
    assert theirs - set(dir(getattr(ncforge, name))) == NOT_OURS.get(name, set())


def test_a_group_tells_of_its_file(tmp_path: Path) -> None:
    for package in (netCDF4, ncforge):
        with package.Dataset(tmp_path / "g.nc", "w") as ds:
            group = ds.createGroup("under")
            assert (group.data_model, group.file_format) == ("NETCDF4", "NETCDF4")
            assert group.filepath() == str(tmp_path / "g.nc") and group.has_zstd_filter()
            if package is ncforge:  # netCDF4-python's groups say None and False
                assert group.disk_format == "HDF5" and group.isopen()
            group.sync()
            with pytest.raises(OSError, match="clos"):
                group.close()
        assert not ds.isopen()


def test_misspelt_names_get_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "ocean.nc"
    with created(path, ncforge, depth=3) as ds:
        ds.createVariable("temp", "f4", ("depth",))
        ds.createVariable("model/salt", "f4", ("depth",))
        with pytest.raises(KeyError, match=r"no dimension `dephts` .*\(hint: did you mean `depth`\?\)"):
            ds.createVariable("w", "f4", ("dephts",))
        with pytest.raises(KeyError, match=r"did you mean `temp`"):
            ds.renameVariable("tempp", "t")
    with ncforge.Dataset(path) as ds:
        for name, meant in {"tempp": "temp", "modle": "model", "model/saltt": "salt", "modell/salt": "model"}.items():
            with pytest.raises(ncforge.NotFoundError, match=rf"\(hint: did you mean `{meant}`\?\)"):
                ds[name]
        with pytest.raises(KeyError) as unlike:
            ds["zzz"]
        assert "hint" not in str(unlike.value)
    with pytest.raises(ncforge.NotFoundError, match=r"no variable `salt` .*did you mean `model/salt`"):
        ncforge.copy(path, tmp_path / "copy.nc", vars=["salt"])


def test_rows_of_text_are_strings(tmp_path: Path) -> None:
    """As in netCDF4-python: a type of ragged rows of strings is one that neither it nor ncdump reads."""
    for module in (netCDF4, ncforge):
        path = tmp_path / f"{module.__name__}.nc"
        with created(path, module, x=3) as ds:
            kind = ds.createVLType(str, "text")
            v = ds.createVariable("v", kind, ("x",))
            v[0], v[1:] = "a", np.array(["bb", "ccc"], object)
            assert v.dtype is str and isinstance(kind, module.VLType)
            assert str(kind) == f"\"<class '{module.__name__}.VLType'>\": string type"
        for reader in (netCDF4, ncforge):
            with reader.Dataset(path) as ds:
                assert ds["v"][:].tolist() == ["a", "bb", "ccc"] and not ds.vltypes


def test_types_of_variables_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with created(path, x=3) as nc:
        orders: tuple[tuple[Any, Any], ...] = (("little", "<"), ("big", ">"), ("native", "="))
        for order, code in orders:
            nc.createVariable(f"f_{order}", np.dtype(f"{code}f8"), ("x",), endian=order)[:] = [1, 2, 3]
        nc.createVariable("byte", "i1", ("x",))
        nc.createVariable("rows", nc.createVLType("f4", "row"), ("x",))[0] = np.zeros(2, "f4")
        nc.createVariable("s", str, ("x",))
        nc.createVariable("c", "S1", ("x",))
        nc.createVariable("e", nc.createEnumType("u1", "e_t", {"a": 0}), ("x",))
        nc.createVariable("k", nc.createCompoundType(np.dtype([("a", "i4")]), "k_t"), ("x",))
    with netCDF4.Dataset(path) as nc, ncforge.Dataset(path) as ds:
        for name, want in nc.variables.items():
            assert ds[name].dtype == want.dtype, name
            if name.startswith("f_"):
                assert ds[name].datatype == want.datatype
                for dtype in (want.dtype, np.dtype("f8")):
                    for key in (slice(None), slice(None, None, -1), [0, 2]):
                        out = np.empty(2 if isinstance(key, list) else 3, dtype)
                        assert ds[name].read_into(out, key).tolist() == want[key].tolist()
    with (
        xr.open_dataset(path, engine="netcdf4", drop_variables=["k"]) as theirs,
        xr.open_dataset(path, engine="ncforge", drop_variables=["k"]) as ours,
    ):
        for name in ("f_little", "f_big", "f_native", "byte", "rows", "c", "e"):
            assert ours[name].encoding["dtype"] == theirs[name].encoding["dtype"], name
        ncforge.to_netcdf(ours[["f_big"]], tmp_path / "again.nc")
    with netCDF4.Dataset(tmp_path / "again.nc") as nc:
        assert nc["f_big"][:].tolist() == [1, 2, 3]


def test_names_of_the_module() -> None:
    """Names that programs ask netCDF4-python for, besides those that it imports itself."""
    imported = {
        "Union",
        "Version",
        "certifi",
        "functools",
        "glob",
        "ma",
        "numpy",
        "os",
        "pathlib",
        "pluginpath",
        "posixpath",
    }
    imported |= {"subprocess", "sys", "utils", "warnings", "weakref"}
    theirs = {n for n in dir(netCDF4) if not n.startswith("_") or n.startswith("__has_") or n.endswith("version__")}
    assert {n for n in theirs - imported if not hasattr(ncforge, n)} == set()
    for name in ("default_encoding", "unicode_error", "is_native_little", "is_native_big", "NC_DISKLESS", "NC_PERSIST"):
        assert getattr(ncforge, name) == getattr(netCDF4, name), name
    assert [int(part) for part in ncforge.__netcdf4libversion__.split(".")] >= [4, 9]
    assert ncforge.getlibversion().startswith(ncforge.__netcdf4libversion__)
    assert ncforge.get_chunk_cache()[0] == ncforge.engine_stats().memory
    assert ncforge.dtype_is_complex("c8") and not ncforge.dtype_is_complex("f4")
    assert ncforge.rc_get("HTTP.TIMEOUT") is None
    ncforge.rc_set("HTTP.TIMEOUT", "5")
    assert ncforge.rc_get("HTTP.TIMEOUT") == "5"


def test_chunk_caches_of_all_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ncforge._library._chunk_cache", None)
    ncforge.set_chunk_cache(1000, preemption=0.5)
    assert ncforge.get_chunk_cache() == (1000, 0, 0.5)
    with ncforge.Dataset(tmp_path / "c.nc", "w") as ds:
        v = ds.createVariable("v", "f4")
        assert v.get_var_chunk_cache() == (1000, 0, 0.5)
        v.set_var_chunk_cache(nelems=3)
        assert v.get_var_chunk_cache() == (1000, 3, 0.5)


def test_variables_by_a_misspelt_name(tmp_path: Path) -> None:
    with ncforge.Dataset(tmp_path / "m.nc", "w") as ds:
        ds.createVariable("temperature", "f4")
        with pytest.raises(KeyError, match=r"no variable `temprature` .*did you mean `temperature`"):
            ds.variables["temprature"]
        assert ds.variables.get("temprature") is None and ds.variables.get("temperature") == ds["temperature"]
    with pytest.raises(KeyError, match="did you mean `t2m`"):
        ncforge.to_netcdf(xr.Dataset({"t2m": ("x", [1.0])}), tmp_path / "x.nc", encoding={"t2n": {"zlib": True}})
