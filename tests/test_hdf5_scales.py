"""Dimension scales of HDF5 programs in files that ncforge changes in place: other programs read the same as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge


def set_title(path: Path) -> None:
    with ncforge.Dataset(path, "a") as ours:
        ours.title = "x"


def attached(path: Path) -> dict[str, object]:
    """By dataset: the scales of each dimension, and for scales their name and the datasets that use them."""
    out: dict[str, object] = {}

    def visit(name: str, o: object) -> None:
        if isinstance(o, h5py.Dataset):
            out[name] = [[s.name for s in d.values()] for d in o.dims]
            if "REFERENCE_LIST" in o.attrs:
                users = o.attrs["REFERENCE_LIST"]
                out[f"{name} used by"] = sorted((theirs[r["dataset"]].name, int(r["dimension"])) for r in users)
            if o.is_scale:
                out[f"{name} is called"] = o.attrs.get("NAME", "nothing")

    with h5py.File(path) as theirs:
        theirs.visititems(visit)
    return out


def dimensions(path: Path) -> dict[str, tuple[str, ...]]:
    """Names by variable. netCDF-C numbers invented ones anew when a dimension is added."""
    with netCDF4.Dataset(path) as theirs:
        groups = [theirs, *theirs.groups.values()]
        return {f"{g.path}/{n}": shown(v.dimensions) for g in groups for n, v in g.variables.items()}


def shown(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("invented" if name.startswith("phony_dim_") else name for name in names)


def scale(file: h5py.Group, name: str, length: int, called: str | None = "") -> h5py.Dataset:
    file[name] = np.arange(float(length))
    if called is None:
        h5py.h5ds.set_scale(file[name].id, b"")
        del file[name].attrs["NAME"]
    else:
        file[name].make_scale(called or name)
    return file[name]


def two_scales(file: h5py.File) -> None:
    a, b = scale(file, "a", 3, "the first one"), scale(file, "b", 3, "größe")
    file["data"] = np.arange(12.0).reshape(3, 4)
    file["data"].dims[0].attach_scale(a)
    file["data"].dims[0].attach_scale(b)
    file["data"].dims[1].attach_scale(scale(file, "x", 4))
    file["data"].dims[0].label = "a label"
    file["other"] = np.arange(3)
    file["other"].dims[0].attach_scale(a)


def without_names(file: h5py.File) -> None:
    file["data"] = np.arange(3.0)
    file["data"].dims[0].attach_scale(scale(file, "a", 3, None))


def in_groups(file: h5py.File) -> None:
    a = scale(file.create_group("g"), "a", 3, "in a group")
    file.create_group("h")["data"] = np.arange(9.0).reshape(3, 3)
    y = scale(file, "y", 3, "elsewhere")
    for d in file["h/data"].dims:
        # netCDF-C finds the last one only, in groups above.
        d.attach_scale(a)
        d.attach_scale(y)


def without_shape(file: h5py.File) -> None:
    file["height"] = 2.0
    file["height"].make_scale("the height")
    a = scale(file, "a", 3)
    file["data"] = np.arange(3.0)
    file["data"].dims[0].attach_scale(file["height"])
    file["data"].dims[0].attach_scale(a)


def of_other_lengths(file: h5py.File) -> None:
    edges = scale(file, "edges", 4, "edges of cells")
    file["data"] = np.arange(3.0)
    file["data"].dims[0].attach_scale(edges)
    file["data"].dims[0].attach_scale(scale(file, "a", 3))
    file["only_edges"] = np.arange(3.0)
    file["only_edges"].dims[0].attach_scale(edges)


def only_the_second(file: h5py.File) -> None:
    scale(file, "x", 4)
    scale(file, "a", 4)
    file["data"] = np.arange(12.0).reshape(3, 4)
    file["data"].dims[1].attach_scale(file["x"])


def found_by_length(file: h5py.File) -> None:
    scale(file, "x", 4)
    file["plain"] = np.arange(4.0)


KINDS = [two_scales, without_names, in_groups, of_other_lengths, only_the_second, found_by_length]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("make", KINDS)
def test_scales_stay(tmp_path: Path, make: Callable[[h5py.File], None], tracked: bool, libver: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=tracked, libver=libver) as theirs:
        make(theirs)
    before, dims = attached(path), dimensions(path)
    for _ in range(2):
        set_title(path)
        assert attached(path) == before
        assert dimensions(path) == dims
    with ncforge.Dataset(path, "a") as ours:
        ours.createDimension("new", 7)
        ours.createVariable("new", "f4", ("new",))[:] = 1
    after = attached(path)
    assert {name: after[name] for name in before} == before
    after_dims = dimensions(path)
    assert {name: after_dims[name] for name in dims} == dims
    with ncforge.Dataset(path) as ours:
        for name, v in ours.variables.items():
            # netCDF-C takes the scale for the dimension although it has another length.
            assert shown(v.dimensions) == after_dims[f"//{name}"] or name == "only_edges"


def test_a_scale_without_a_shape_stays(tmp_path: Path) -> None:
    """netCDF-C does not read such files."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as theirs:
        without_shape(theirs)
    before = attached(path)
    set_title(path)
    assert attached(path) == before


def test_a_scale_that_has_no_name_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=True) as theirs:
        theirs["data"] = np.arange(3.0)
        theirs["data"].dims[0].attach_scale(scale(theirs, "a", 3))
        theirs["data"].dims[0].attach_scale(scale(theirs, "b", 3))
        del theirs["a"]
    before = path.read_bytes()
    with pytest.raises(ncforge.errors.UnsupportedError, match=r"a\.h5.*`/?data`.*dimension scale.*no name"):
        ncforge.Dataset(path, "a")
    assert path.read_bytes() == before


def test_values_of_a_dimension_without_a_variable(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with netCDF4.Dataset(path, "w") as theirs:
        theirs.createDimension("x", 3)
        theirs.createVariable("v", "f4", ("x",))[:] = 1
    with h5py.File(path, "r+") as theirs:
        theirs["x"][:] = [1, 2, 3]
    before = path.read_bytes()
    with pytest.raises(ncforge.errors.UnsupportedError, match=r"a\.h5.*values in `/x`"):
        ncforge.Dataset(path, "a")
    assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["swapped", "replaced", "attached_only", "same_number"])
def test_numbers_and_lists_that_disagree(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as theirs:
        for name in ("x", "y", "z"):
            theirs.createDimension(name, 3)
            theirs.createVariable(name, "f8", (name,))[:] = np.arange(3)
        theirs.createVariable("v", "f4", ("x", "y"))[:] = np.arange(9).reshape(3, 3)
        theirs.createVariable("w", "f4", ("z",))[:] = 1
    with h5py.File(path, "r+") as theirs:
        if how == "swapped":
            theirs["x"].attrs["_Netcdf4Dimid"], theirs["y"].attrs["_Netcdf4Dimid"] = np.int32(1), np.int32(0)
        elif how == "replaced":
            # netCDF-C does not read `v` then: its numbers name nothing.
            theirs["v"].dims[0].detach_scale(theirs["x"])
            del theirs["x"]
            theirs["v"].dims[0].attach_scale(scale(theirs, "x", 3))
        elif how == "attached_only":
            del theirs["v"].attrs["_Netcdf4Coordinates"]
            theirs["v"].dims[0].attach_scale(theirs["z"])
        else:
            theirs["z"].attrs["_Netcdf4Dimid"] = np.int32(0)
            del theirs["w"].attrs["_Netcdf4Coordinates"]
    lists = attached(path)
    dims = {"//v": ("x", "y"), "//w": ("z",)} if how == "replaced" else dimensions(path)
    with ncforge.Dataset(path) as ours:
        assert ours["v"].dimensions == dims["//v"]
        assert ours["w"].dimensions == dims["//w"]
    set_title(path)
    after = dimensions(path)
    assert (after["//v"], after["//w"]) == (dims["//v"], dims["//w"])
    assert attached(path) == lists


def test_an_invented_dimension_does_not_get_the_name_of_another(tmp_path: Path) -> None:
    """netCDF-C names them after the next number: with lower numbers than before, it found a name twice."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as theirs:
        theirs["a"] = np.arange(7)
        theirs["empty"] = np.zeros(0)
        theirs["two"] = np.zeros((3, 4))
    with ncforge.Dataset(path, "a") as ours:
        ours.createDimension("new", 3)
        ours.createVariable("new", "f4", ("new",))[:] = 1
    for name in ("p", "q"):
        with netCDF4.Dataset(path, "a") as theirs:
            theirs.createDimension(name, 5)
            theirs.createVariable(f"of_{name}", "f8", (name,))[:] = 1
        before = dimensions(path)
        set_title(path)
        assert dimensions(path) == before
    with netCDF4.Dataset(path) as theirs:
        np.testing.assert_array_equal(theirs["a"][:], np.arange(7))


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("chunks", [None, (2,)])
def test_text_of_fixed_length_gets_no_fill_value(tmp_path: Path, chunks: tuple[int] | None, written: bool) -> None:
    """netCDF-C ends with a segmentation fault when it opens a file with such a fill value."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as theirs:
        s = theirs.create_dataset("s", (3,), "S10", chunks=chunks, maxshape=(9,) if chunks else None)
        if written:
            s[:] = [b"a", b"b", b"c"]
    with ncforge.Dataset(path, "a") as ours:
        with pytest.raises(ncforge.errors.FixedAttributeError, match="`s`"):
            ours["s"].setncattr("_FillValue", "none")
        ours["s"].units = "none"
        ours["s"][1] = "x"
    with h5py.File(path) as theirs:
        assert theirs["s"].dtype == "S10" and theirs["s"].maxshape == ((9,) if chunks else (3,))
        assert theirs["s"][:].tolist() == ([b"a", b"x", b"c"] if written else [b"", b"x", b""])
    with netCDF4.Dataset(path) as theirs:
        assert list(theirs["s"][:]) == (["a", "x", "c"] if written else ["", "x", ""])
        assert theirs["s"].units == "none"


@pytest.mark.parametrize("written", [False, True])
def test_zeros_of_datasets_without_a_fill_value(tmp_path: Path, written: bool) -> None:
    """HDF5 programs do not turn filling off: what they never wrote is zero, not what the file held there before."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as theirs:
        theirs["old"] = np.full(4000, 7.0)
        theirs.create_dataset("v", (1000,), "f8")
        theirs.create_dataset("late", (1000,), "f8")
        del theirs["old"]
    set_title(path)
    with ncforge.Dataset(path, "a") as ours:
        ours["late"].setncattr("_FillValue", 5.0)
        if written:
            ours["v"][3] = ours["late"][3] = 1.0
    want = np.zeros(1000), np.full(1000, 5.0)
    if written:
        want[0][3] = want[1][3] = 1
    for judge in (h5py.File, netCDF4.Dataset):
        with judge(path) as theirs:
            for name, values in zip(("v", "late"), want, strict=True):
                np.testing.assert_array_equal(np.ma.getdata(theirs[name][:]), values)


def test_a_named_type_keeps_its_form(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    dtype = np.dtype([("s", "S3"), ("n", ">i4"), ("m", "<i2"), ("more", ">f4", (2, 2))])
    with h5py.File(path, "w") as theirs:
        theirs["t"] = dtype
        theirs.create_dataset("v", (2,), theirs["t"])
    with h5py.File(path) as theirs:
        before = theirs["t"].dtype, theirs["v"].dtype
    set_title(path)
    with ncforge.Dataset(path, "a") as ours:
        assert ours["v"].dtype.names == dtype.names
        ours.title = "y"
    with h5py.File(path) as theirs:
        assert (theirs["t"].dtype, theirs["v"].dtype) == before


@pytest.mark.parametrize(
    "links",
    [{"lat_hard": "hard", "lat_soft": "soft"}, {"aaa": "hard"}, {"zz": "soft"}, {"g/lat": "hard"}, {"g/below": "soft"}],
)
@pytest.mark.parametrize("bare", [False, True])
def test_a_scale_with_several_names_is_one_dimension(tmp_path: Path, links: dict[str, str], bare: bool) -> None:
    """netCDF-C numbers scales, and names a number as the last link does."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("lat", 3)
        if not bare:
            d.createVariable("lat", "f4", ("lat",))[:] = [1, 2, 3]
        d.createVariable("air", "f4", ("lat",))[:] = [4, 5, 6]
        d.createGroup("g").createVariable("u", "f4", ("lat",))[:] = [7, 8, 9]
    with h5py.File(path, "a") as h:
        for name, kind in links.items():
            h[name] = h["lat"] if kind == "hard" else h5py.SoftLink("/lat")
    with netCDF4.Dataset(path) as want, ncforge.Dataset(path) as got:
        assert list(got.dimensions) == list(want.dimensions)
        for theirs, ours in ((want, got), (want["g"], got["g"])):
            assert {n: v.dimensions for n, v in ours.variables.items()} == {
                n: v.dimensions for n, v in theirs.variables.items()
            }
