"""References to chunks: kerchunk's reference file system and zarr-python read the values that are in the files, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from access_point_files import raw_chunk
from access_point_files import write as write_points
from access_points import MAGIC
from conftest import DATA, Run
from datasets import created
from virtual import (
    IGNORED,
    chunks_of_hdf5,
    days,
    equal,
    every_kind,
    files_of_all_indexes,
    joined,
    opened,
    raw,
    same_values,
    store,
    variables,
)

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")

pytestmark = IGNORED

REAL = sorted([*DATA.glob("*.nc"), *DATA.glob("*.cdf")])
#: netCDF-C gives wrong values for variables that are shorter than an unlimited dimension (``test_we_read_peers.py``).
FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4")


@pytest.mark.parametrize("inline", [0, "64K"])
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_files(path: Path, inline: Any) -> None:
    refs = ncforge.references(path, inline=inline)
    with netCDF4.Dataset(path) as file:
        count = len(variables(file))
    assert same_values(path, opened(refs), netCDF4) == count


@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_xarray_opens_references_as_it_opens_the_file(path: Path) -> None:
    options = {"consolidated": False, "storage_options": {"fo": ncforge.references(path), "remote_protocol": "file"}}
    with (
        xr.open_dataset("reference://", engine="zarr", decode_times=False, backend_kwargs=options) as got,
        xr.open_dataset(path, engine="netcdf4", decode_times=False) as want,
    ):
        assert dict(got.sizes) == dict(want.sizes) and set(got.variables) == set(want.variables)
        for name in want.variables:
            assert got[name].dims == want[name].dims
            np.testing.assert_array_equal(got[name].values, want[name].values)


@pytest.mark.parametrize("inline", [0, "64K"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_kind_of_variable(tmp_path: Path, format: str, inline: Any) -> None:
    path = tmp_path / "every.nc"
    every_kind(path, format)
    refs = ncforge.references(path, inline=inline)
    group = opened(refs)
    assert same_values(path, group, netCDF4) > 40
    if inline == 0:
        ranges = sum(isinstance(r, list) for r in refs["refs"].values())
        assert ranges > 60
    assert group.attrs["title"] == "every kind"
    np.testing.assert_array_equal(group.attrs["numbers"], [1.5, np.nan, np.inf])


def test_xarray_masks_what_it_masks_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "every.nc"
    every_kind(path)
    options = {"consolidated": False, "storage_options": {"fo": ncforge.references(path), "remote_protocol": "file"}}
    with (
        xr.open_dataset("reference://", engine="zarr", backend_kwargs=options) as got,
        xr.open_dataset(path, engine="netcdf4") as want,
    ):
        for name in want.variables:
            assert got[name].dtype == want[name].dtype or want[name].dtype.kind in "OUT", name
            assert got[name].variable.equals(want[name].variable), name


def test_files_of_all_kinds_of_chunk_indexes(hdf5_cases: Path) -> None:
    count = 0
    for path in files_of_all_indexes(hdf5_cases):
        refs = ncforge.references(path, inline=0)
        with ncforge.Dataset(path) as file:
            missing = frozenset(name for name in variables(file) if f"{name}/.zarray" not in refs["refs"])
            # Variables without numbers, characters or strings, and no others.
            assert all(not is_plain(file[name]) for name in missing), (path.name, missing)
        count += same_values(path, opened(refs), without=missing)
        if path.name.startswith("h5_indexes"):
            for name, chunks in chunks_of_hdf5(path).items():
                keys = {key.removeprefix(f"{name}/"): value for key, value in refs["refs"].items() if f"{name}/" in key}
                found = {at: tuple(value[1:]) for at, value in keys.items() if isinstance(value, list)}
                assert found == chunks, (path.name, name)
    assert count > 300


def is_plain(var: Any) -> bool:
    """Whether a variable holds atomic types or strings, and can be read."""
    kind = var.datatype
    try:
        raw(var)
    except ncforge.UnsupportedError:
        return False
    return isinstance(kind, np.dtype) and kind.kind in "iufS" and var.dtype is not str


@pytest.mark.parametrize(("dtype", "how"), [("f4", {}), (">f8", {"endian": "big"}), ("f4", {"fletcher32": True})])
def test_chunks_with_access_points(tmp_path: Path, dtype: str, how: dict[str, Any]) -> None:
    """Readers of Zarr ignore what follows a stream, whoever made the references."""
    kerchunk = pytest.importorskip("kerchunk.hdf")
    path = tmp_path / "a.nc"
    values = write_points(path, dtype, (2, 200, 333), **how)
    assert raw_chunk(path, (0, 0, 0), "fletcher32" in how).endswith(MAGIC)
    equal(opened(ncforge.references(path, inline=0))["v"][...], values, "v")
    if "fletcher32" not in how:  # kerchunk leaves out such variables
        equal(opened(kerchunk.SingleHdf5ToZarr(str(path)).translate())["v"][...], values, "v")


@pytest.mark.parametrize("inline", [0, "64K"])
def test_references_are_not_longer_than_what_they_refer_to(tmp_path: Path, inline: Any) -> None:
    """A record of one number is four bytes, and the reference to it some fifty."""
    values = np.arange(30_000, dtype="f4")
    with created(tmp_path / "scans.nc", format="NETCDF3_CLASSIC", point=None) as nc:
        for name in ("mass", "intensity"):
            nc.createVariable(name, "f4", ("point",))
            nc[name][:] = values
    refs = ncforge.references(tmp_path / "scans.nc", inline=inline)
    equal(opened(refs)["mass"][...], values, "mass")
    size = (tmp_path / "scans.nc").stat().st_size
    assert len(json.dumps(refs)) < 2 * size if inline else "mass/29999" in refs["refs"]


def test_filter_masks_are_no_surprise(tmp_path: Path) -> None:
    path = tmp_path / "masks.h5"
    values = np.arange(48, dtype="f4").reshape(4, 12)
    with h5py.File(path, "w") as file:
        some = file.create_dataset("some", (4, 12), "f4", chunks=(2, 4), compression="gzip", shuffle=True)
        some[:] = values
        # Both filters were skipped, and one.
        some.id.write_direct_chunk((0, 4), values[:2, 4:8].tobytes(), 0b11)
        shuffled = np.frombuffer(values[2:, :4].tobytes(), "u1").reshape(8, 4).T.tobytes()
        some.id.write_direct_chunk((2, 0), shuffled, 0b10)
        every = file.create_dataset("every", (4, 12), "f4", chunks=(4, 12), compression="gzip")
        every.id.write_direct_chunk((0, 0), values.tobytes(), 0b1)
        large = file.create_dataset("large", (2200, 1000), "f8", chunks=(1100, 1000), compression="gzip")
        large[:] = np.random.default_rng(1).normal(size=large.shape)
        large.id.write_direct_chunk((0, 0), np.ones((1100, 1000)).tobytes(), 0b1)
    with pytest.warns(UserWarning, match="`large` is not in the references: filters were skipped") as seen:
        refs = ncforge.references(path, inline=0)
    assert len(seen) == 1
    kinds = [type(refs["refs"][f"some/{i}.{j}"]) for i in range(2) for j in range(3)]
    assert kinds == [list, str, list, str, list, list]
    assert json.loads(refs["refs"]["every/.zarray"])["filters"] is None
    group = opened(refs)
    for name in ("some", "every"):
        equal(group[name][...], values, name)


@pytest.mark.parametrize(
    ("how", "filter"),
    [({"compression": "szip"}, "szip"), ({"compression": "lzf"}, "lzf"), ({"scaleoffset": 0}, "scale")],
)
def test_filters_without_a_codec(tmp_path: Path, how: dict[str, Any], filter: str) -> None:
    path = tmp_path / "filtered.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("small", data=np.arange(1000, dtype="i4"), chunks=(100,), **how)
        file.create_dataset("large", data=np.zeros(3_000_000, "i4"), chunks=(1_000_000,), **how)
    with pytest.warns(UserWarning, match=rf"`large` is not in the references: .*{filter}"):
        refs = ncforge.references(path)
    equal(opened(refs)["small"][...], np.arange(1000, dtype="i4"), "small")


def test_large_contiguous_variables_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "large.nc"
    with created(path, format="NETCDF3_64BIT_OFFSET", z=6, y=2000, x=1001) as new:
        new.createVariable("v", "f4", ("z", "y", "x"))[:] = np.random.default_rng(1).normal(size=(6, 2000, 1001))
    refs = ncforge.references(path)
    assert json.loads(refs["refs"]["v/.zarray"])["chunks"] == [2, 2000, 1001]
    assert same_values(path, opened(refs)) == 1


def test_other_places(tmp_path: Path, run: Run) -> None:
    path = days(tmp_path, [3])[0]
    refs = ncforge.references(path, base="s3://bucket/folder/", inline=0)
    assert refs["refs"]["v/0.0"][0] == "s3://bucket/folder/0.nc"
    assert set(ncforge.references(path, vars=["v"])["refs"]) >= {"v/.zarray", ".zgroup"}
    assert "x/.zarray" not in ncforge.references(path, vars=["v"])["refs"]
    assert ncforge.references(path, inline=0, along="time") == ncforge.references(path, inline=0)
    with pytest.raises(ncforge.NotFoundError, match="no dimension `there`"):
        ncforge.references(path, along="there")
    seen: list[tuple[str, int, int]] = []
    ncforge.references(path, progress=lambda *state: seen.append(state))
    assert seen[-1] == ("references", path.stat().st_size, path.stat().st_size)
    zipped = tmp_path / "zipped.ncz"
    run("copy", "-3", DATA / "uv300.nc", tmp_path / "classic.nc")
    run("zip", tmp_path / "classic.nc", zipped)
    with pytest.raises(ncforge.UnsupportedError, match="zipped file"):
        ncforge.references(zipped)


def test_short_classic_files(tmp_path: Path) -> None:
    path = tmp_path / "short.nc"
    with created(path, format="NETCDF3_CLASSIC", x=5000) as new:
        new.createVariable("v", "f4", ("x",))[:] = 1.0
    path.write_bytes(path.read_bytes()[:-8000])
    refs = ncforge.references(path, inline=0)
    assert isinstance(refs["refs"]["v/0"], str), "bytes beyond the end of the file read as zeros, which no range says"
    assert same_values(path, opened(refs)) == 1


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("fastparquet")
    pytest.importorskip("pyarrow")
    path, out = tmp_path / "every.nc", tmp_path / "refs.parquet"
    every_kind(path)
    report = ncforge.references(path, out, inline=200)
    assert report.files == 1 and report.chunks > 100 and report.inlined > 100
    assert same_values(path, opened(str(out)), netCDF4) > 50
    with pytest.raises(ncforge.ExistsError):
        ncforge.references(path, out)
    ncforge.references(path, out, overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["every.nc", "refs.parquet"]


def test_parquet_of_groups_is_warned_of(tmp_path: Path) -> None:
    """fsspec opens such a folder in one way only, xarray's engine of kerchunk not at all; it opens JSON."""
    pytest.importorskip("kerchunk")
    pytest.importorskip("fastparquet")
    pytest.importorskip("pyarrow")
    path, out, document = tmp_path / "groups.nc", tmp_path / "refs.parquet", tmp_path / "refs.json"
    with created(path, x=3) as new:
        new.createVariable("r", "i4", ("x",))[:] = 5
        new.createGroup("below").createVariable("q", "i4", ("x",))[:] = 1
    with pytest.warns(UserWarning, match="with groups: .* write JSON"):
        ncforge.references(path, out)
    ncforge.references(path, document)
    assert xr.open_dataset(str(document), engine="kerchunk")["r"].values.tolist() == [5, 5, 5]
    with pytest.raises(KeyError):
        xr.open_dataset(str(out), engine="kerchunk")


def test_more_references_than_one_parquet_file_has(tmp_path: Path) -> None:
    pytest.importorskip("fastparquet")
    pytest.importorskip("pyarrow")
    path, out = tmp_path / "records.nc", tmp_path / "refs.parquet"
    with created(path, format="NETCDF3_CLASSIC", t=None) as new:
        for name in ("a", "b"):
            new.createVariable(name, "i2", ("t",))[:12000] = np.arange(12000)
    ncforge.references(path, out, inline=0)
    assert sorted(p.name for p in (out / "a").iterdir()) == ["refs.0.parq", "refs.1.parq"]
    group = opened(str(out))
    equal(group["a"][9990:10010], np.arange(9990, 10010, dtype="i2"), "a")


def test_the_command(tmp_path: Path, run: Run) -> None:
    paths = days(tmp_path, [3, 9])
    out = tmp_path / "refs.json"
    said = run("refs", *paths, "-o", out)
    assert "2 files along time" in said.stderr and "5 variables" in said.stderr
    assert json.loads(out.read_text()) == ncforge.references(paths)
    run("refs", *paths, "-o", out, code=2)
    made = ncforge.references(paths, tmp_path / "again.json")
    assert made.raw.keys() == json.loads(run("refs", *paths, "-o", out, "-O", "--json").stdout).keys() - {
        "schema",
        "version",
    }
    report = json.loads(run("refs", *paths, "-o", out, "-O", "--json").stdout)
    assert report["schema"] == "ncforge.refs" and report["along"] == "time"
    assert json.loads(run("refs", *paths, "-o", "-").stdout) == ncforge.references(paths)
    with xr.open_dataset(str(out), engine="kerchunk") as ds:
        equal(ds["v"].values, joined(paths, "v"), "v")
    assert store(str(out)) is not None


#: `_FillValue` as users of h5py write it: type of the variable, values, the attribute, what xarray's other engines read.
FILLS: dict[str, tuple[str, list[float], Any, list[float]]] = {
    "int64 on short": ("i2", [1, -999, 3], np.int64(-999), [1, np.nan, 3]),
    "double on short": ("i2", [1, -999, 3], -999.0, [1, np.nan, 3]),
    "double on float": ("f4", [1, -999, 3], -999.0, [1, np.nan, 3]),
    "in a list": ("i2", [1, -999, 3], np.array([-999]), [1, np.nan, 3]),
    "twice": ("i2", [1, -999, 3], np.array([-999, -999], "i2"), [1, np.nan, 3]),
    "two values": ("i2", [1, -999, 0], np.array([-999, 0], "i2"), [1, np.nan, np.nan]),
    "two, of another type": ("i4", [1, -999, 0], np.array([-999.0, 0]), [1, np.nan, np.nan]),
    "none of the type's": ("f4", [1, 1e20, 3], 1e20, [1, float(np.float32(1e20)), 3]),
    "too large": ("i2", [1, 4464, 3], np.int64(70_000), [1, 4464, 3]),
    "text": ("i2", [1, -999, 3], "-999", [1, -999, 3]),
}


def filled(path: Path, kind: str, values: list[float], fill: Any) -> Path:
    with h5py.File(path, "w", track_order=True) as f:
        x = f.create_dataset("x", data=np.arange(3.0))
        x.make_scale("x")
        v = f.create_dataset("v", data=np.array(values, kind))
        v.dims[0].attach_scale(x)
        v.attrs["_FillValue"] = fill
    return path


def values(path: Any, **options: Any) -> Any:
    with xr.open_dataset(path, **options) as ds:
        return ds.v.values.astype("f8")


@pytest.mark.filterwarnings("ignore::xarray.SerializationWarning")
@pytest.mark.parametrize("case", FILLS)
def test_masks_of_another_type(tmp_path: Path, run: Run, case: str) -> None:
    """Missing values are missing for readers of the references, and of copies; where nothing is equal to the attribute, it is said."""
    kind, stored, fill, wanted = FILLS[case]
    path = filled(tmp_path / "a.nc", kind, stored, fill)
    np.testing.assert_array_equal(values(path, engine="netcdf4"), wanted)
    inexact = case in ("none of the type's", "too large", "text")
    said = run("refs", path, "-o", tmp_path / "r.json", code=3 if inexact else 0).stderr
    assert ("`v:_FillValue` is not in the references" in said) == inexact
    options = {"consolidated": False, "storage_options": {"fo": str(tmp_path / "r.json"), "remote_protocol": "file"}}
    np.testing.assert_array_equal(values("reference://", engine="zarr", backend_kwargs=options), wanted)
    found = json.loads(run("doctor", "--json", path, code=(0, 3)).stdout)
    assert "NC601" in json.dumps(found)

    copied = tmp_path / "b.nc"
    said = run("copy", path, copied).stderr
    assert "`_FillValue`" in said
    np.testing.assert_array_equal(values(copied, engine="netcdf4"), wanted)
    if not inexact:
        with netCDF4.Dataset(copied) as ds:
            assert ds["v"]._FillValue.dtype == np.dtype(kind)
        assert "NC601" not in run("doctor", "--json", copied, code=(0, 3)).stdout


def test_masks_of_copies_pass_nccopy(tmp_path: Path, run: Run, tool: Any) -> None:
    path = filled(tmp_path / "a.nc", *FILLS["int64 on short"][:3])
    run("copy", path, tmp_path / "b.nc")
    tool("nccopy", str(tmp_path / "b.nc"), str(tmp_path / "c.nc"))
    np.testing.assert_array_equal(values(tmp_path / "c.nc", engine="netcdf4"), [1, np.nan, 3])
