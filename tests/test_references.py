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
from virtual import chunks_of_hdf5, equal, every_kind, files_of_all_indexes, opened, raw, same_values, store, variables

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")

# zarr-python warns of types without a specification, netCDF4-python of types that it leaves out.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:The .fastparquet. engine:Warning"),
]
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


def days(folder: Path, lengths: list[int], **change: Any) -> list[Path]:
    """Files that follow each other."""
    paths, begin = [], 0
    for i, n in enumerate(lengths):
        path = folder / f"{i}.nc"
        with created(
            path, format=change.get("format", "NETCDF4"), time=None if change.get("unlimited", True) else n, x=50
        ) as new:
            time = new.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            time[:] = np.arange(begin, begin + n)
            new.createVariable("x", "f4", ("x",))[:] = np.arange(50)
            how = change.get("how", {"zlib": True, "chunksizes": (change.get("chunk", 1), 50)})
            values = np.random.default_rng(i).normal(size=(n, 50)).astype("f4")
            new.createVariable("v", "f4", ("time", "x"), **how)[:] = values
            if "format" not in change:
                new.createVariable("w", "f4", ("x", "time"))[:] = values.T
            new.createVariable("plain", "i4")[...] = 5
        paths.append(path)
        begin += n
    return paths


def joined(paths: list[Path], name: str) -> np.ndarray:
    """The values of a variable of all files."""
    parts = []
    for path in paths:
        with netCDF4.Dataset(path) as file:
            var = file[name]
            axis = var.dimensions.index("time") if "time" in var.dimensions else None
            parts.append(raw(var))
    return parts[0] if axis is None else np.concatenate(parts, axis=axis)


@pytest.mark.parametrize("inline", [0, "64K"])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"chunk": 3},
        {"format": "NETCDF3_CLASSIC"},
        {"format": "NETCDF3_64BIT_DATA", "unlimited": False, "how": {}},
        {"unlimited": False, "how": {"contiguous": True}},
        {"chunk": 5, "lengths": [10, 5, 3]},
    ],
    ids=str,
)
def test_files_are_joined(tmp_path: Path, change: dict[str, Any], inline: Any) -> None:
    if change.get("format", "").startswith("NETCDF3"):
        change = {**change, "how": {}}
    paths = days(tmp_path, **{"lengths": [3, 9, 6], **change})
    refs = ncforge.references(paths, inline=inline)
    group = opened(refs)
    names = {key.split("/")[0] for key in refs["refs"] if key.endswith("/.zarray")}
    assert {"time", "x", "v", "plain"} <= names
    for name in names:
        equal(group[name][...], joined(paths, name), name)
    assert isinstance(refs["refs"]["v/0.0"], list) or inline


def test_large_contiguous_variables_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "large.nc"
    with created(path, format="NETCDF3_64BIT_OFFSET", z=6, y=2000, x=1001) as new:
        new.createVariable("v", "f4", ("z", "y", "x"))[:] = np.random.default_rng(1).normal(size=(6, 2000, 1001))
    refs = ncforge.references(path)
    assert json.loads(refs["refs"]["v/.zarray"])["chunks"] == [2, 2000, 1001]
    assert same_values(path, opened(refs)) == 1


def test_what_does_not_fit_together_is_named(tmp_path: Path) -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(ncforge.InvalidError, match=match):
            ncforge.references([tmp_path / "0.nc", tmp_path / "1.nc"], **options)

    def changed(change: Any) -> None:
        days(tmp_path, [4, 6])
        with netCDF4.Dataset(tmp_path / "1.nc", "a") as file:
            change(file)

    changed(lambda f: f["time"].setncattr("units", "m"))
    refused(
        r'0.nc` and `.*1.nc` do not go together: .*`time:units` differs: "days since 2000-01-01" in the first, "m" in the second'
    )
    changed(lambda f: f["v"].setncattr("scale_factor", 0.5))
    refused(r"`v:scale_factor` differs: none in the first, 0.5 in the second")
    changed(lambda f: f.createVariable("more", "f4", ("time",)))
    refused(r"`more` is in 1 of 2 files, and not in `.*0.nc`$")
    changed(lambda f: f["x"].__setitem__(0, -1.0))
    refused(r"do not go together: `x`, which does not lie along `time`, differs")
    for i in range(2):
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "a") as file:
            file.createVariable("names", str, ("x",))[0] = f"station {i}"
            file["x"][0] = 0.0
    refused(r"do not go together: `names`, which does not lie along `time`, differs")
    with pytest.raises(ncforge.NotFoundError, match="no dimension `there`"):
        ncforge.references([tmp_path / "0.nc", tmp_path / "1.nc"], along="there")


def test_partial_chunks_are_named_where_values_are_too_many(tmp_path: Path) -> None:
    for i in range(3):
        with created(tmp_path / f"{i}.nc", time=None, x=1000) as new:
            new.createVariable("v", "f8", ("time", "x"), zlib=True, chunksizes=(300, 1000))[:] = np.ones((365, 1000))
    paths = [tmp_path / f"{i}.nc" for i in range(3)]
    with pytest.raises(ncforge.InvalidError, match=r"`v` in `.*0.nc`: its 365 steps do not fill chunks of 300"):
        ncforge.references(paths)


def test_files_are_in_the_order_of_their_coordinate(tmp_path: Path, run: Run) -> None:
    first, second, third = days(tmp_path, [4, 6, 1])
    out = tmp_path / "refs.json"
    for paths in ([second, first], [third, second], [first, third, second]):
        said = run("refs", *paths, "-o", out, "-O").stderr
        assert "the files are joined in the order of `time`, not as they are given" in said
        for inline in (0, "64K"):
            refs = ncforge.references(paths, inline=inline)
            equal(opened(refs)["v"][...], joined(sorted(paths), "v"), "v")
            refs = ncforge.references(paths, inline=inline, unsorted=True)
            equal(opened(refs)["v"][...], joined(paths, "v"), "v")
    out.unlink()
    said = run("refs", first, second, second, "-o", out, code=4).stderr
    assert f"`{second}` cannot follow `{second}`: there `time` ends at 9, here it begins at 4" in said
    assert "--unsorted" in said and not out.exists()
    with pytest.raises(ncforge.InvalidError, match="cannot follow"):
        ncforge.references([first, second, second], inline=0)
    refs = ncforge.references([first, second, second], unsorted=True)
    equal(opened(refs)["v"][...], joined([first, second, second], "v"), "v")
    run("refs", second, first, "-o", out, "--unsorted")
    for path in (first, second, third):
        with netCDF4.Dataset(path, "a") as file:
            file["time"][:] = -file["time"][:]
    ncforge.references([first, second, third])  # Falling values are in order, too.


def test_times_that_count_from_other_dates(tmp_path: Path) -> None:
    """Converted, as ``concat`` does; no range of bytes holds such values, so many of them are an error."""
    paths = days(tmp_path, [4, 6])
    with netCDF4.Dataset(paths[1], "a") as file:
        file["time"].units = "days since 2000-01-02"
        file["time"][:] = np.arange(3, 9)
    refs = ncforge.references(paths, inline=0)
    group = opened(refs)
    equal(group["time"][...], np.arange(10.0), "time")
    equal(group["v"][...], joined(paths, "v"), "v")
    assert isinstance(refs["refs"]["time/0"], str) and isinstance(refs["refs"]["v/0.0"], list)


def test_large_variables_without_the_dimension_are_not_compared(tmp_path: Path) -> None:
    paths = days(tmp_path, [4, 6])
    for i, path in enumerate(paths):
        with netCDF4.Dataset(path, "a") as file:
            file.createDimension("cell", 600_000)
            file.createVariable("area", "f8", ("cell",))[:] = np.full(600_000, i)
    with pytest.warns(UserWarning, match=r"`area` is taken from `.*0.nc`: values of more than 4.* are not compared"):
        refs = ncforge.references(paths)
    equal(opened(refs)["area"][...], np.zeros(600_000), "area")


@pytest.mark.parametrize("inline", [0, "64K"])
def test_a_selection_of_joined_files(tmp_path: Path, inline: Any) -> None:
    paths = days(tmp_path, [4, 6, 5])
    for select, cut in (
        ({"time": slice(2, 12)}, slice(2, 12)),
        ({"time": slice(1, None, 3)}, slice(1, None, 3)),
        ({"time": slice(5, 9)}, slice(5, 9)),
    ):
        group = opened(ncforge.references(paths, inline=inline, select=select))
        for name in ("v", "time"):
            equal(group[name][...], joined(paths, name)[cut], name)
    contiguous = days(tmp_path, [4, 6, 5], unlimited=False, how={"contiguous": True})
    refs = ncforge.references(contiguous, inline=inline, select={"time": slice(2, 12)})
    equal(opened(refs)["v"][...], joined(contiguous, "v")[2:12], "v")
    assert inline or isinstance(refs["refs"]["v/0.0"], list)


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


def test_attributes_that_differ_are_noted(tmp_path: Path, run: Run) -> None:
    """Names, signs and cells of values, and what the files say of themselves."""
    paths = days(tmp_path, [4, 6, 5])
    for path in paths:
        with netCDF4.Dataset(path, "a") as file:
            file.title = "one run"
            file["v"].standard_name = "air_temperature"
            file["plain"].positive = "up"
    with netCDF4.Dataset(paths[2], "a") as file:
        file.title = "another run"
        file["v"].standard_name = "sea_surface_temperature"
        file["v"].cell_methods = "time: mean"
        del file["plain"].positive
    out = tmp_path / "refs.json"
    said = run("refs", *paths, "-o", out).stderr
    report = ncforge.references(paths, out, overwrite=True)
    assert len(report.notes) == 4
    for what, is_, was in (
        ("global attribute `title`", '"one run"', '"another run"'),
        ("attribute `v:standard_name`", '"air_temperature"', '"sea_surface_temperature"'),
        ("attribute `v:cell_methods`", "none", '"time: mean"'),
        ("attribute `plain:positive`", '"up"', "none"),
    ):
        note = f"the {what} differs: {is_} in `{paths[0]}`, {was} in `{paths[2]}`; 1 of 3 files differs from the first"
        assert sum(one.startswith(note) for one in report.notes) == 1, report.notes
        assert f"note: {note}" in said
    assert json.loads(json.loads(out.read_text())["refs"]["v/.zattrs"])["standard_name"] == "air_temperature"
    # Without a report, Python says it at once; and the command, where the references are its output.
    with pytest.warns(UserWarning, match="`v:standard_name` differs"):
        ncforge.references(paths)
    assert run("refs", *paths, "-o", "-").stderr.count("differs from the first") == 4
    # Of what is not wanted nothing is said.
    assert len(ncforge.references(paths, out, overwrite=True, vars=["time", "v"]).notes) == 3
    assert not ncforge.references(paths[:2], out, overwrite=True).notes


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
