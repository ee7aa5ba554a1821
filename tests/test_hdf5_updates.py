"""Files of HDF5 programs that ncforge changes in place: nothing else changes in them, or the change is an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute


def dimensions(path: Path) -> dict[str, tuple[str, ...]]:
    with netCDF4.Dataset(path) as theirs:
        return {name: v.dimensions for name, v in theirs.variables.items()}


def set_title(path: Path) -> None:
    with ncforge.Dataset(path, "a") as ours:
        ours.title = "x"


def compact(file: h5py.File, name: bytes, values: np.ndarray) -> None:
    """A dataset whose values lie in its header, with zero as its fill value."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    properties.set_fill_value(np.array(0, "i4"))
    space = h5py.h5s.create_simple(values.shape)
    dataset = h5py.h5d.create(file.id, name, h5py.h5t.NATIVE_INT32, space, properties)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values)


@pytest.mark.parametrize("kind", ["contiguous", "compact"])
@pytest.mark.parametrize("length", [4, 8])
def test_a_dataset_that_cannot_grow_with_its_unlimited_scale(tmp_path: Path, kind: str, length: int) -> None:
    path, copied = tmp_path / "a.nc", tmp_path / "b.nc"
    with h5py.File(path, "w", track_order=True) as theirs:
        t = theirs.create_dataset("t", data=np.arange(float(length)), maxshape=(None,), chunks=(2,))
        t.make_scale("t")
        if kind == "compact":
            compact(theirs, b"a", np.arange(4, dtype="i4"))
        else:
            theirs["a"] = np.arange(4, dtype="i4")
        theirs["b"] = np.arange(100, 108, dtype="i4")
        theirs["a"].dims[0].attach_scale(t)
    before = path.read_bytes()
    with pytest.raises(ncforge.errors.UnsupportedError, match=r"a\.nc.*`/?a`.*`t` is unlimited.*ncforge copy"):
        ncforge.Dataset(path, "a")
    assert path.read_bytes() == before
    ncforge.copy(path, copied)
    with ncforge.Dataset(copied, "a") as ours:
        ours["t"][length : length + 2] = [8, 9]
    with netCDF4.Dataset(copied) as theirs:
        np.testing.assert_array_equal(theirs["a"][:4], np.arange(4))
        np.testing.assert_array_equal(theirs["b"][:], np.arange(100, 108))


def test_a_file_that_hdf5_writes_to_without_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as theirs:
        a = theirs.create_dataset("a", data=np.arange(4), maxshape=(None,), chunks=(4,))
        theirs.flush()
        theirs.swmr_mode = True
        code = f"import ncforge\ntry: ncforge.Dataset({str(path)!r}, 'a')\nexcept ncforge.errors.LockedError as e: print(e)"
        done = execute(sys.executable, "-c", code)
        assert "a.h5" in done.stdout and "h5clear -s" in done.stdout
        a.resize((8,))
        a[4:] = 9
    set_title(path)
    with h5py.File(path) as theirs:
        np.testing.assert_array_equal(theirs["a"][:], [0, 1, 2, 3, 9, 9, 9, 9])


@pytest.mark.parametrize("more", [False, True])
def test_one_of_two_dimensions_has_the_length_of_a_scale(tmp_path: Path, more: bool) -> None:
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as theirs:
        theirs["y"] = np.arange(3.0)
        theirs["y"].make_scale("y")
        theirs["data"] = np.arange(3.0)
        theirs["data"].dims[0].attach_scale(theirs["y"])
        theirs["plain"] = np.arange(27.0).reshape(3, 9)
    before = dimensions(path)
    set_title(path)
    assert dimensions(path) == before
    with h5py.File(path) as theirs:
        assert [len(d) for d in theirs["plain"].dims] == [0, 0]
        assert [s.name for s in theirs["data"].dims[0].values()] == ["/y"]
    if more:
        with ncforge.Dataset(path, "a") as ours:
            ours.createDimension("a", 3)
            ours.createVariable("a", "i4", ("a",))[:] = 1
        after = dimensions(path)
        assert after.pop("a") == ("a",) and after["plain"][0] == "y" and after["data"] == ("y",)
    with netCDF4.Dataset(path) as theirs:
        np.testing.assert_array_equal(theirs["plain"][:], np.arange(27.0).reshape(3, 9))


def test_a_scale_without_a_number_takes_none_that_another_has(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as theirs:
        g = theirs.createGroup("g")
        g.createDimension("x", 3)
        g.createVariable("v", "i4", ("x",))[:] = [1, 2, 3]
    with h5py.File(path, "r+") as theirs:
        theirs["y"] = np.arange(3.0)
        theirs["y"].make_scale("y")
    with ncforge.Dataset(path, "a") as ours:
        assert ours["g/v"].dimensions == ("x",)
        ours.title = "x"
    with h5py.File(path) as theirs:
        assert [s.name for s in theirs["g/v"].dims[0].values()] == ["/g/x"]


def test_a_late_fill_value_changes_no_values(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5py.File(path, "w", track_order=True) as theirs:
        compact(theirs, b"counts", np.zeros(4, "i4"))
    with ncforge.Dataset(path, "a") as ours, pytest.raises(ncforge.errors.FixedAttributeError, match="counts"):
        ours["counts"].setncattr("_FillValue", np.int32(-1))
    with h5py.File(path) as theirs:
        np.testing.assert_array_equal(theirs["counts"][:], np.zeros(4))


def test_a_text_that_does_not_fit_grows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as theirs:
        theirs.create_dataset("s", data=np.array([b"ab", b"cd"], "S3"), maxshape=(None,), chunks=(2,))
    with ncforge.Dataset(path, "a") as ours:
        with pytest.raises(ncforge.errors.NcforgeError, match=r"toolong|3"):
            ours["s"][5] = "toolong"
        assert ours["s"].shape == (2,)
        with pytest.raises(IndexError):
            ours["s"][0, 0] = "x"
    with h5py.File(path) as theirs:
        assert theirs["s"].shape == (2,)


def test_a_variable_without_a_fill_value_stays_shorter_than_its_dimension(tmp_path: Path) -> None:
    """Until it is written to: then it has the values that it has after netCDF4 wrote the same."""
    path, twin = tmp_path / "a.nc", tmp_path / "twin.nc"
    with netCDF4.Dataset(path, "w") as theirs:
        theirs.createDimension("t", None)
        theirs.createVariable("t", "f8", ("t",))[:] = np.arange(6.0)
        theirs.createVariable("v", "f4", ("t",), fill_value=False)[0:2] = [1, 0]
        theirs.createVariable("never", "f4", ("t",), fill_value=False)
    with ncforge.Dataset(path, "a") as ours:
        ours.title = "x"
        ours["t"][6] = 6.0
    with netCDF4.Dataset(path) as theirs:
        assert theirs["v"][:].tolist() == [1, 0, None, None, None, None, None]
        assert theirs["t"][:].tolist() == list(range(7)) and theirs.title == "x"
    shutil.copy(path, twin)
    for open_with, file in ((ncforge.Dataset, path), (netCDF4.Dataset, twin)):
        with open_with(file, "a") as both:
            both["v"][4] = 5
            both["never"][6] = 7
    with netCDF4.Dataset(path) as got, netCDF4.Dataset(twin) as want:
        assert got["v"][:].tolist() == want["v"][:].tolist()
        assert got["t"][:].tolist() == want["t"][:].tolist()
        assert got["never"][6] == want["never"][6] == 7


def test_a_variable_without_a_fill_value_does_not_grow_with_another(tmp_path: Path) -> None:
    """Of records that were appended to one variable, the other one has missing values, as when netCDF4 appends them."""
    path, twin = tmp_path / "a.nc", tmp_path / "twin.nc"
    with netCDF4.Dataset(path, "w") as theirs:
        theirs.set_fill_off()
        theirs.createDimension("t", None)
        theirs.createDimension("x", 3)
        theirs.createVariable("t", "f8", ("t",))[:] = np.arange(4.0)
        theirs.createVariable("v", "f4", ("t", "x"), chunksizes=(2, 3))[:] = np.ones((4, 3))
    shutil.copy(path, twin)
    for open_with, file in ((ncforge.Dataset, path), (netCDF4.Dataset, twin)):
        for step in (4, 5):
            with open_with(file, "a") as both:
                both["v"][step] = [step, 0, 1]
    with netCDF4.Dataset(path) as got, netCDF4.Dataset(twin) as want:
        for name in ("t", "v"):
            assert got[name][:].tolist() == want[name][:].tolist()


def test_zeros_that_nobody_wrote_do_not_become_missing(tmp_path: Path) -> None:
    """Nor what lies beyond the end zeros, before anything is written there."""
    path, twin = tmp_path / "a.h5", tmp_path / "twin.h5"
    with h5py.File(path, "w", track_order=True) as theirs:
        theirs.create_dataset("t", data=np.arange(10.0), maxshape=(None,), chunks=(5,)).make_scale("t")
        v = theirs.create_dataset("v", (6,), "f4", maxshape=(None,), chunks=(4,))
        v[0:2] = [1, 2]
        v.dims[0].attach_scale(theirs["t"])
    shutil.copy(path, twin)
    none = [None] * 4
    for at, want in ((4, [1, 2, 0, 0, 5, 0, *none]), (8, [1, 2, 0, 0, 5, 0, 0, 0, 5, None])):
        with ncforge.Dataset(path, "a") as ours:
            ours["v"][at] = 5
            assert ours["v"][:].tolist() == want
        with netCDF4.Dataset(twin, "a") as theirs:
            theirs["v"][at] = 5
        for judged in (path, twin):
            with netCDF4.Dataset(judged) as theirs:
                assert theirs["v"][:].tolist() == want


def test_lengths_that_datasets_may_grow_to_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=True) as theirs:
        theirs.create_dataset("a", data=np.arange(4), maxshape=(100,), chunks=(10,))
        theirs["x"] = np.arange(5.0)
        theirs["x"].make_scale("x")
        d = theirs.create_dataset("d", data=np.arange(5), maxshape=(None,), chunks=(2,))
        d.dims[0].attach_scale(theirs["x"])
    set_title(path)
    with h5py.File(path, "r+") as theirs:
        assert (theirs["a"].maxshape, theirs["d"].maxshape) == ((100,), (None,))
        theirs["a"].resize((50,))
        assert theirs["a"][:5].tolist() == [0, 1, 2, 3, 0]
    assert dimensions(path)["d"] == ("x",)


def test_an_invented_dimension_that_gets_a_variable_leaves_no_other_without_name(tmp_path: Path) -> None:
    """netCDF-C invents names by number: it had two dimensions of one name then, and netCDF4 did not open the file."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=True) as theirs:
        theirs["v0"] = np.zeros((3, 8, 2))
        theirs.create_dataset("v1", data=np.ones((4, 4, 4)), maxshape=(None, 4, 4), chunks=(2, 4, 4))
        theirs.create_group("g")["v2"] = np.arange(8)
        theirs["v3"] = np.arange(8)
    with ncforge.Dataset(path, "a") as ours:
        ours.createVariable("new", "f4", ours["v3"].dimensions)[:] = 1
    with ncforge.Dataset(path, "a") as ours:
        ours["v3"].long_name = "in a second session"
    with netCDF4.Dataset(path) as theirs:
        assert theirs["v3"].dimensions == theirs["new"].dimensions
        assert theirs["g/v2"][:].tolist() == theirs["v3"][:].tolist() == list(range(8))
        assert (theirs["v0"].shape, theirs["v1"].shape) == ((3, 8, 2), (4, 4, 4))
    assert subprocess.run(["ncdump", "-h", path], check=False, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("track_order", [True, False])
def test_what_shares_an_invented_dimension_stays_as_it_is(tmp_path: Path, libver: str, track_order: bool) -> None:
    """Such dimensions are those of one length: other datasets that happen to have it do not grow. netCDF-C does the same."""
    path = tmp_path / "a.nc"
    with h5py.File(path, "w", libver=libver, track_order=track_order) as theirs:
        for name, shape, chunks in (
            ("lone", (3,), (2,)),
            ("grows", (3,), (2,)),
            ("wide", (5, 7), (1, 2)),
            ("both", (5, 9), (1, 3)),
        ):
            most, values = (None,) * len(shape), np.ones(shape, "i4")
            theirs.create_dataset(name, data=values, maxshape=most, chunks=chunks, fillvalue=-7)
    with ncforge.Dataset(path, "a") as ours:
        ours["grows"][3:5] = 8
        ours.sync()
        ours["both"][5:7, 9:10] = 8
        ours["both"].note = "x"
        assert ours["lone"].shape == (5,), "until the file is closed they share the dimension"
    with h5py.File(path) as theirs:
        assert {name: d.shape for name, d in theirs.items()} == {
            "lone": (3,), "grows": (5,), "wide": (5, 7), "both": (7, 10)
        }  # fmt: skip
        assert theirs["lone"][:].tolist() == [1, 1, 1] and theirs["grows"][:].tolist() == [1, 1, 1, 8, 8]
        assert theirs["both"][4:, 8:].tolist() == [[1, -7], [-7, 8], [-7, 8]]
    with ncforge.Dataset(path, "a") as ours:
        ours["lone"][3] = 2
    with h5py.File(path) as theirs:
        assert theirs["lone"][:].tolist() == [1, 1, 1, 2] and theirs["grows"].shape == (5,)
