"""The Python package by itself: modes, indexing, attributes, errors, whole-file functions."""

from __future__ import annotations

import builtins
import gc
import os
import pickle
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from conftest import DATA
from datasets import created


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with one variable of 4 × 5 numbers."""
    path = tmp_path / "small.nc"
    with created(path, ncforge, t=None, x=5) as ds:
        ds.createVariable("v", "i4", ("t", "x"))[0:4] = np.arange(20).reshape(4, 5)
    return path


def test_large_results_are_arrays_like_others(tmp_path: Path) -> None:
    path = tmp_path / "large.nc"
    values = np.arange(600_000, dtype=np.float64).reshape(600, 1000)
    for fmt in ("NETCDF3_64BIT_DATA", "NETCDF4"):
        with ncforge.Dataset(path, "w", format=fmt, clobber=True) as ds:
            ds.createDimension("y", 600)
            ds.createDimension("x", 1000)
            ds.createVariable("v", "f8", ("y", "x"))[...] = values
        with ncforge.Dataset(path) as ds:
            v = ds.variables["v"]
            first = v[...]
            assert first.dtype == values.dtype and first.flags.writeable and first.flags.c_contiguous
            for _ in range(3):
                # Memory of the one that goes is used by the next; what lives is not touched.
                second = v[::-1, :]
                assert np.array_equal(second, values[::-1])
                second[...] = -1
                view = v[1:, 3:][5:, 2:]
                assert np.array_equal(view, values[6:, 5:])
                del second
            first += 1
        gc.collect()
        assert np.array_equal(first, values + 1), "results outlive the file"
        assert np.array_equal(view, values[6:, 5:])


def test_indexing_is_numpys(small: Path) -> None:
    keys: list[Any] = [
        ...,
        (),
        0,
        -1,
        slice(None),
        slice(1, 3),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(3, 0, -2),
        slice(10, 20),
        (slice(None), 2),
        (slice(None), -5),
        (..., slice(1, None, 3)),
        (1, ...),
        (2, 3),
        (slice(0, 0), slice(None)),
        (np.int64(1), np.int32(2)),
    ]
    with ncforge.Dataset(small) as ds:
        v = ds.variables["v"]
        whole = v[...]
        for key in keys:
            got = v[key]
            assert np.shape(got) == whole[key].shape, key
            assert np.array_equal(got, whole[key]), key
        beyond = np.array([1, 2**64 - 1], "u8")
        for key in [4, -5, (0, 5), (0, 0, 0), [1, 9], beyond, "a", True, None, (..., ...), slice(None, None, 0)]:
            with pytest.raises(IndexError):
                v[key]
        assert len(v) == 4
        assert np.array_equal(np.asarray(v), whole)


def test_reading_into_memory_of_the_caller(small: Path, tmp_path: Path) -> None:
    values = np.arange(20, dtype="i4").reshape(4, 5)
    with ncforge.Dataset(small) as ds:
        v = ds["v"]
        out = np.zeros((4, 5), "i4")
        assert v.read_into(out) is out
        assert np.array_equal(out, values)
        row = np.zeros(5, "i4")
        assert np.array_equal(v.read_into(row, 2), values[2])
        assert np.array_equal(v.read_into(row, np.s_[1, ::-1]), values[1, ::-1])
        both = np.zeros((2, 5), "i4")
        assert np.array_equal(v.read_into(both[1], 3), values[3])
        assert not both[0].any()
        for wrong in (np.zeros(5, "f4"), np.zeros(4, "i4"), np.zeros((5, 2), "i4")[:, 0], np.zeros(5, ">i4")):
            with pytest.raises(ValueError, match="destination"):
                v.read_into(wrong, 0)
        row.flags.writeable = False
        with pytest.raises(ValueError, match="writable"):
            v.read_into(row, 0)
    path = tmp_path / "text.nc"
    with created(path, ncforge, x=2) as ds:
        ds.createVariable("s", str, ("x",))[...] = np.array(["a", "b"], object)
    with ncforge.Dataset(path) as ds, pytest.raises(TypeError, match="objects"):
        ds["s"].read_into(np.empty(2, object))


def test_assignment_is_numpys(small: Path) -> None:
    with ncforge.Dataset(small, "r+") as ds:
        v = ds.variables["v"]
        whole = v[...]
        assignments: list[tuple[Any, Any]] = [
            ((0, 0), 7),
            (1, 9),
            ((slice(None), 1), [1, 2, 3, 4]),
            ((slice(None, None, -1), 2), [1, 2, 3, 4]),
            ((slice(0, 4, 3), slice(None, None, -2)), [[1, 2, 3], [4, 5, 6]]),
            (..., np.arange(5)),
            (slice(1, 1), 5),
        ]
        for key, value in assignments:
            whole[key] = value
            v[key] = value
            assert np.array_equal(v[...], whole), key
        with pytest.raises(ValueError, match="broadcast"):
            v[0] = [1, 2]
        with pytest.raises(ValueError, match="does not fit"):
            v[0] = 2**40
        with pytest.raises(ValueError, match="does not fit"):
            v[0] = np.nan
        # Digits behind the point go, as in NumPy; masked elements are filled.
        v[0] = 1.5
        assert v[0].tolist() == [1] * 5
        v[0] = np.ma.masked_equal(np.arange(5), 3)
        assert v[0].tolist() == [0, 1, 2, None, 4]


def test_growth(small: Path) -> None:
    with ncforge.Dataset(small, "a") as ds:
        v = ds.variables["v"]
        v[5] = 1
        assert v.shape == (6, 5)
        v[6:8] = 2
        v[len(v) :] = np.full((3, 5), 3)
        assert v.shape == (11, 5)
        assert len(ds.dimensions["t"]) == 11
        with pytest.raises(IndexError):
            v[0, 5] = 1
    with ncforge.Dataset(small) as ds:
        v = ds.variables["v"]
        assert v.read((4, 0)) == -2147483647 and np.ma.is_masked(v[4, 0])
        assert list(v[5:, 0]) == [1, 2, 2, 3, 3, 3]


def test_modes(small: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ncforge.Dataset(tmp_path / "none.nc")
    with pytest.raises(FileExistsError):
        ncforge.Dataset(small, "x")
    with pytest.raises(FileExistsError):
        ncforge.Dataset(small, "w", clobber=False)
    with pytest.raises(ValueError, match="mode"):
        ncforge.Dataset(small, "q")
    ds = ncforge.Dataset(small)
    assert ds.isopen()
    with pytest.raises(ValueError, match="reading only"):
        ds.variables["v"][0] = 1
    ds.close()
    ds.close()
    assert not ds.isopen()
    with pytest.raises(ValueError, match="closed"):
        ds.ncattrs()
    junk = tmp_path / "junk.nc"
    junk.write_bytes(b"not netCDF at all")
    with pytest.raises(OSError, match=r"junk\.nc") as caught:
        ncforge.Dataset(junk)
    assert isinstance(caught.value, ncforge.NotNetcdfError)
    new = tmp_path / "new.nc"
    with ncforge.Dataset(new, "a") as ds:
        ds.title = "made by append"
        assert not new.exists()
    assert ncforge.Dataset(new).title == "made by append"


def test_a_dataset_that_nobody_holds_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    ds = ncforge.Dataset(path, "w")
    ds.createDimension("x", 3)
    v = ds.createVariable("v", "i4", ("x",))
    del ds
    gc.collect()
    v[:] = [1, 2, 3]
    del v
    gc.collect()
    assert list(ncforge.Dataset(path).variables["v"][:]) == [1, 2, 3]


def test_attributes(small: Path) -> None:
    given: dict[str, Any] = {
        "text": "some text",
        "empty": "",
        "umlaut": "Größe",
        "number": 3,
        "real": 2.5,
        "array": np.array([1, 2, 3], "u2"),
        "strings": ["a", "bc"],
        "single": np.float32(1.5),
    }
    with ncforge.Dataset(small, "r+") as ds:
        ds.setncatts(given)
        ds.gone = 1
        del ds.gone
        v = ds.variables["v"]
        v.units = "K"
    with ncforge.Dataset(small) as ds:
        assert ds.ncattrs() == list(given)
        for name, value in given.items():
            got = ds.getncattr(name)
            assert np.array_equal(got, value), name
        assert ds.array.dtype == np.dtype("u2")
        assert ds.single.dtype == np.dtype("f4")
        assert ds.variables["v"].units == "K"
        with pytest.raises(AttributeError):
            _ = ds.nothing
        with pytest.raises(KeyError):
            _ = ds["nothing"]


def test_wrong_definitions(tmp_path: Path) -> None:
    with created(tmp_path / "a.nc", ncforge, x=3) as ds:
        for bad in [
            lambda: ds.createDimension("x", 4),
            lambda: ds.createVariable("v", "f4", ("nothing",)),
            lambda: ds.createVariable("v", "c16", ("x",)),
            lambda: ds.createVariable("v", "f4", ("x",), compression="lzma"),
            lambda: ds.createVariable("v", "f4", ("x",), chunksizes=(1, 2)),
            lambda: ds.createVariable("v", "f4", ("x",), zlib=True, contiguous=True),
        ]:
            with pytest.raises((ValueError, KeyError)):
                bad()
        ds.createVariable("v", "f4", ("x",))[:] = [1, 2, 3]
    with ncforge.Dataset(tmp_path / "a.nc") as ds:
        assert list(ds.variables) == ["v"]


def test_copy_compare_info(tmp_path: Path) -> None:
    source, target = DATA / "sst30e_netcdf.nc", tmp_path / "out.nc"
    seen: list[tuple[str, int, int]] = []
    report = ncforge.copy(
        source,
        target,
        format="netcdf4",
        chunks="auto",
        codec="deflate",
        verify=True,
        threads=2,
        memory="64M",
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    )
    assert report.verified
    assert report.output_bytes == target.stat().st_size < source.stat().st_size
    assert seen
    assert seen[-1][1] == seen[-1][2]
    assert ncforge.compare(source, target)
    with pytest.raises(FileExistsError):
        ncforge.copy(source, target)
    with ncforge.Dataset(target, "r+") as ds:
        ds["sst"][3, 4, 5] = 99
    found = ncforge.compare(source, target)
    assert not found
    assert found.differing_values == 1
    assert found.differences[0].index == [3, 4, 5]
    assert "float sst(time, latitude, longitude) ;" in str(ncforge.info(target))


def test_what_a_progress_callback_raises_stops_the_copy(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ncforge.copy(DATA / "navy_winds.nc", tmp_path / "out.nc", codec="deflate", progress=stop)
    assert not (tmp_path / "out.nc").exists()


def test_engine_stats_tell_a_sweep(tmp_path: Path) -> None:
    path = tmp_path / "sweep.nc"
    values = np.arange(24 * 40 * 50, dtype=np.float32).reshape(24, 40, 50)
    with created(path, ncforge, **dict(zip("tyx", values.shape, strict=True))) as ds:
        ds.createVariable("v", "f4", ("t", "y", "x"), zlib=True, chunksizes=(12, 20, 25))[...] = values
    # A file that was changed within the last tick of the file system's clock (10 ms at most) is read anew in case it is written on.
    while time.time_ns() - os.stat(path).st_ctime_ns <= 20_000_000:
        time.sleep(0.001)
    with ncforge.Dataset(path) as ds:
        v = ds.variables["v"]
        before = ncforge.engine_stats()
        for t in range(24):
            assert np.array_equal(v[t], values[t])
        after = ncforge.engine_stats()
        assert after.misses - before.misses == 8, "each chunk is decoded once"
        assert after.ahead_hits - before.ahead_hits >= 22
        assert after.bytes_delivered - before.bytes_delivered == values.nbytes
        assert after.bytes_kept + after.bytes_ahead <= after.memory and after.threads >= 1
    ncforge.clear_cache()
    assert ncforge.engine_stats().bytes_kept == 0


def test_damage_in_one_variable_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "three.nc"
    with created(path, ncforge, x=4) as ds:
        for name in ("first", "second", "third"):
            var = ds.createVariable(name, "f4", ("x",))
            var.long_name = f"the {name} variable"
            var[:] = np.arange(4)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"the second variable", b"the sec0nd variable"))
    with ncforge.Dataset(path) as ds:
        assert list(ds.variables) == ["first", "third"]
        for name in ("first", "third"):
            assert ds[name].long_name == f"the {name} variable"
            assert np.array_equal(ds.variables[name][:], np.arange(4))
        assert "second" not in ds.variables
        for ask in (lambda: ds["second"], lambda: ds.variables["second"], lambda: ds["/second"]):
            with pytest.raises(ncforge.errors.CorruptError, match=r"three\.nc.*at byte \d+.*/second"):
                ask()
        with pytest.raises(KeyError):
            ds.variables["fourth"]
    with pytest.raises(ncforge.errors.CorruptError, match="second"):
        ncforge.copy(path, tmp_path / "copy.nc")
    with pytest.raises(ncforge.errors.CorruptError, match="second"):
        ncforge.compare(path, path)
    assert ncforge.copy(path, tmp_path / "copy.nc", vars=["first"]).variables == 1
    with pytest.raises(ncforge.errors.CorruptError, match="second"):
        ncforge.Dataset(path, "r+")
    assert any(s["damaged"] for s in ncforge.info(path).data["skipped"])


def test_attributes_are_asked_for_once_and_never_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "attributes.nc"
    with ncforge.Dataset(path, "w") as ds:
        ds.createVariable("v", "i4").setncatts({"text": "é", "numbers": np.array([1.5, 2.5]), "one": np.int16(3)})
        assert ds["v"].one == 3
        ds["v"].one = np.int16(4)
        assert ds["v"].one == 4, "an open file can be changed"
    ds = ncforge.Dataset(path)
    var = ds["v"]
    assert var.ncattrs() == ["text", "numbers", "one"]
    assert (var.text, var.one, type(var.one)) == ("é", 4, np.int16)
    var.numbers[0] = 9
    assert var.numbers[0] == 1.5, "an array is the caller's own"
    with pytest.raises(AttributeError):
        _ = var.missing
    ds.close()
    for ask in (lambda: var.text, var.ncattrs, lambda: var.getncattr("numbers")):
        with pytest.raises(ncforge.errors.NcforgeError):
            ask()


def test_what_is_read_travels(tmp_path: Path) -> None:
    path = tmp_path / "g.nc"
    with created(path, ncforge, x=3) as ds:
        ds.createVariable("v", "i2", ("x",)).scale_factor = 0.5
        ds["v"][:] = [1, 2, 3]
        ds.createGroup("a/b").createVariable("w", "f4", ("x",))[:] = 7
        with pytest.raises(NotImplementedError, match="cannot be sent to another process"):
            pickle.dumps(ds)
    with ncforge.Dataset(path) as ds:
        ds["v"].set_auto_scale(False)
        again, v, group, w = pickle.loads(pickle.dumps((ds, ds["v"], ds["a/b"], ds["a/b/w"])))
        assert isinstance(again, ncforge.Dataset) and again is not ds and v.group() is again
        assert list(v[:]) == [2, 4, 6] and list(again["v"][:]) == [2, 4, 6]
        assert isinstance(group, ncforge.Group) and group.path == "/a/b" and list(w[:]) == [7, 7, 7]
        again.close()
        sent = pickle.dumps(ds)
    with pytest.raises(ncforge.UnsupportedCallError, match="closed"):
        pickle.dumps(ds)
    with ncforge.Dataset(path, "r+") as ds:
        ds["v"][0] = 9
        ds.comment = "another"
    with pytest.raises(ncforge.ChangedError, match="has changed since it was opened"):
        pickle.loads(sent)


def test_names_of_the_package() -> None:
    """A star import hides no name of Python's own."""
    namespace: dict[str, Any] = {}
    exec("from ncforge import *", namespace)
    assert "Dataset" in namespace and "unzip" in namespace
    assert not (namespace.keys() & vars(builtins).keys()) - {"__builtins__", "__doc__", "__name__"}
    assert {"open", "zip", "unzip"} < set(dir(ncforge))


def test_the_function_zip_hides_no_use_of_pythons() -> None:
    """Modules in which `zip` is ncforge's function call no other one by that name."""
    for path in Path(ncforge.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if re.search(r"^def zip\(|import .*\bzip\b", text, re.MULTILINE):
            assert not re.search(r"(?<![.\w])(?<!def )zip\(", re.sub(r'""".*?"""', "", text, flags=re.DOTALL)), path
