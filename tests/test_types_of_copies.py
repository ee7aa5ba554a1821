"""Types that an output has not, or readers convert: copies into classic files, byte orders of enums, HDF5 files with short lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import Run
from datasets import created


def of_other_types(path: Path) -> None:
    """Values of types that the classic model lacks, all of which another type of it holds."""
    with created(path, x=4) as d:
        d.setncattr_string("text", "one")
        d.number, d.small = np.uint32(7), np.array([1, 200], "u1")
        for kind in ("u1", "u2", "u4", "i8", "u8"):
            v = d.createVariable(kind, kind, ("x",))
            v[1:3] = [1, 100]
            v.setncattr_string("units", "K")
            v.valid_max = np.dtype(kind).type(200)
            d.createVariable(f"{kind}_filled", kind, ("x",), fill_value=99, zlib=True, chunksizes=(2,))[:2] = [1, 99]


@pytest.mark.parametrize("option", ["-3", "-6", "-7", "-5"])
def test_classic_copies_hold_the_same_in_other_types(tmp_path: Path, run: Run, option: str) -> None:
    path, out = tmp_path / "a.nc", tmp_path / "b.nc"
    of_other_types(path)
    said = run("copy", option, "--verify", path, out).stderr
    assert "`text` is written as text" in said
    small = {"u1": "i2"} if option != "-5" else {}
    with netCDF4.Dataset(path) as old, netCDF4.Dataset(out) as new:
        assert new.text == "one" and int(new.number) == 7 and new.small.tolist() == [1, 200]
        assert list(new.variables) == list(old.variables)
        for name, v in new.variables.items():
            kind = name[:2]
            assert v.dtype == np.dtype(small.get(kind, "i4") if option != "-5" else kind), name
            np.testing.assert_array_equal(v[1:2], old[name][1:2])
            if kind in ("u4", "i8", "u8") or name.endswith("filled"):
                assert np.ma.getmaskarray(v[:]).tolist() == np.ma.getmaskarray(old[name][:]).tolist(), name
            if not name.endswith("filled"):
                assert v.units == "K" and v.valid_max == 200 and v.valid_max.dtype == v.dtype
    if option != "-5":
        assert run("copy", "-O", option, "--strict", path, out, code=(1, 2)).stderr
        with pytest.raises(ValueError, match="type"):
            ncforge.copy(path, tmp_path / "c.nc", format="NETCDF3_CLASSIC", strict=True)


@pytest.mark.parametrize("what", ["value", "fill", "attribute", "strings", "default"])
def test_what_classic_types_do_not_hold_is_named(tmp_path: Path, run: Run, what: str) -> None:
    path, out = tmp_path / "a.nc", tmp_path / "b.nc"
    with created(path, x=4) as d:
        v = d.createVariable("v", "i8", ("x",), fill_value=-(2**40) if what == "fill" else None)
        v[:] = [1, 2**31 if what == "value" else 2, 3, -2147483647 if what == "default" else 4]
        if what == "attribute":
            v.big = np.int64(2**40)
        if what == "strings":
            v.setncattr_string("names", ["a", "b"])
    said = run("copy", "-3", path, out, code=(1, 2)).stderr
    named = {"value": "2147483648", "default": "-2147483647", "attribute": "v:big", "strings": "v:names"}
    assert named.get(what, "`v`") in said and not out.exists()


def test_enums_keep_their_byte_order(tmp_path: Path, run: Run) -> None:
    """HDF5 makes -1 of numbers that are no members where it converts an enum from the other byte order."""
    path, out = tmp_path / "a.nc", tmp_path / "b.nc"
    with created(path, x=4) as d:
        kind = d.createEnumType("i4", "kind", {"A": 0, "B": 3})
        d.createVariable("v", kind, ("x",), chunksizes=(1,))[0] = 3
        d.createVariable("n", "i4", ("x",))[:] = range(4)
    said = run("copy", "--endian", "big", "--verify", path, out).stderr
    assert "`v` keeps its byte order" in said
    with netCDF4.Dataset(path) as old, netCDF4.Dataset(out) as new:
        for d in (old, new):
            d.set_auto_mask(False)
        assert new["v"][:].tolist() == old["v"][:].tolist() and new["n"].endian() == "big"


@pytest.mark.parametrize("sizes", [(8, 8), (8, 4), (4, 4), (4, 8), (2, 4), (2, 8)], ids=str)
def test_bytes_of_addresses_and_lengths(tmp_path: Path, sizes: tuple[int, int]) -> None:
    path = tmp_path / "a.nc"
    create = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    create.set_sizes(*sizes)
    create.set_link_creation_order(3)
    create.set_attr_creation_order(3)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, create)) as f:
        for i in range(12):
            f.attrs[f"a{i}"] = f"text {i}" * (i + 1)
        f["v"] = [1, 2, 3]
        f.create_dataset("chunked", data=np.arange(60).reshape(6, 10), chunks=(2, 3), compression="gzip")
        f.create_dataset("strings", data=[b"a", b"longer than eight bytes", b""], dtype=h5py.string_dtype())
        f["group/deeper"] = np.arange(5.0)
    with netCDF4.Dataset(path) as theirs, ncforge.Dataset(path) as ours:
        assert [ours.getncattr(a) for a in ours.ncattrs()] == [theirs.getncattr(a) for a in theirs.ncattrs()]
        assert len(ours.ncattrs()) == 12
        for name in ("v", "chunked", "strings", "group/deeper"):
            np.testing.assert_array_equal(ours[name][:], theirs[name][:])


def test_nccopy_keeps_groups_and_forgets_what_is_left_out(tmp_path: Path, run: Run, tool: Any) -> None:
    path = tmp_path / "a.nc"
    with created(path, x=4) as d:
        for name in ("a", "b"):
            d.createVariable(name, "f4", ("x",))[:] = range(4)
        d.createGroup("g").createVariable("c", "f4", ("x",))
        d.createGroup("empty")
    tool("nccopy", "-d", "1", "-V", "b", str(path), str(tmp_path / "theirs.nc"))
    run("nccopy", "-d", "1", "-V", "b", path, tmp_path / "ours.nc")
    with netCDF4.Dataset(tmp_path / "theirs.nc") as theirs, netCDF4.Dataset(tmp_path / "ours.nc") as ours:
        assert list(ours.variables) == list(theirs.variables) == ["b"]
        assert list(ours.groups) == list(theirs.groups)
        assert ours["b"].filters() == theirs["b"].filters()
        np.testing.assert_array_equal(ours["b"][:], theirs["b"][:])


@pytest.mark.parametrize("what", ["variable", "attribute"])
def test_names_that_classic_formats_do_not_allow(tmp_path: Path, run: Run, what: str) -> None:
    path, out = tmp_path / "odd.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as ds:
        ds.createVariable("good", "f4", ())[...] = 1
    with h5py.File(path, "a") as ds:
        if what == "variable":
            ds["a\tb"] = 2
        else:
            ds["good"].attrs["a\tb"] = 2
    for option in ("-3", "-5", "-6"):
        # It is no fault of the command line.
        done = run("copy", option, path, out, code=1)
        assert f"the {what} `a\\tb`" in done.stderr and "control character" in done.stderr
        assert "--format netcdf4" in done.stderr and ("of `good`" in done.stderr) == (what == "attribute")
    run("copy", "-4", path, out, "--verify")
    run("copy", "-3", path, tmp_path / "rest.nc", "--vars", "good", code=0 if what == "variable" else 1)


@pytest.mark.parametrize(
    ("words", "lacks"),
    [
        (["--skip-fill"], "chunks that can be left out"),
        (["--endian", "little"], "little-endian numbers"),
        (["--chunks", "x/2", "--skip-fill", "--endian", "little"], "chunks and chunks that can be left out and little"),
    ],
)
def test_what_classic_formats_do_not_have_is_noted(tmp_path: Path, run: Run, words: list[str], lacks: str) -> None:
    """An error where nobody asked for the format: then the wish was meant."""
    with created(tmp_path / "in.nc", x=4) as ds:
        ds.createVariable("v", "i4", ("x",))[:] = np.arange(4)
    done = run("copy", tmp_path / "in.nc", tmp_path / "out.nc", "-3", *words)
    assert f"has no {lacks}" in done.stderr and "nothing of that was done" in done.stderr
    assert lacks in run("copy", tmp_path / "out.nc", tmp_path / "no.nc", *words, code=1).stderr
    assert "nothing of that" not in run("copy", tmp_path / "in.nc", tmp_path / "big.nc", "-3", "--endian", "big").stderr
