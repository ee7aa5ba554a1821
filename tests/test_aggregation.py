"""Aggregation variables (CF conventions, section 2.8): netCDF4 writes the files, NumPy or cfdm says what they mean."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
from aggregations import FILL, archive, fragment, read
from datasets import created


@pytest.fixture
def cfdm() -> Any:
    """The reference implementation."""
    try:
        import cfdm
    except (ImportError, OSError) as e:  # it needs a library of UDUNITS
        pytest.skip(f"cfdm, which writes and reads aggregation files, cannot be imported: {e}")
    return cfdm


@pytest.mark.parametrize("data_model", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
@pytest.mark.parametrize("own", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
def test_an_aggregation_variable_is_the_array_of_its_fragments(tmp_path: Path, own: str, data_model: str) -> None:
    want = np.arange(60.0).reshape(6, 10)
    boxes = [
        (slice(0, 2), slice(0, 7)),
        (slice(0, 2), slice(7, 10)),
        (slice(2, 6), slice(0, 7)),
        (slice(2, 6), slice(7, 10)),
    ]
    uris = []
    for n, box in enumerate(boxes):
        uris.append(f"part {n}.nc")
        fragment(tmp_path / uris[-1], want[box], data_model=data_model)
    uris[3] = "part%203.nc"
    path = tmp_path / "all.nc"
    archive(path, [[2, 4], [7, 3]], [uris[:2], uris[2:]], data_model=own)
    with ncforge.Dataset(path) as ds:
        v = ds["tas"]
        assert v.dimensions == ("time", "x")
        np.testing.assert_array_equal(v[:], want)
        np.testing.assert_array_equal(v[1:4, 5:9], want[1:4, 5:9])
        np.testing.assert_array_equal(v[::2, ::-3], want[::2, ::-3])
        np.testing.assert_array_equal(v[5, [0, 8]], want[5, [0, 8]])
        assert set(ds.variables) == {"tas", "time"}
        assert set(ds.dimensions) == {"time", "x"}
        assert "aggregated_data" not in v.ncattrs()
    with xr.open_dataset(path, engine="ncforge") as seen:
        np.testing.assert_array_equal(seen["tas"].isel(time=[1, 4]).values, want[[1, 4]])
    with ncforge.Dataset(path, follow=False) as ds:
        assert ds["time"][2] == 2
        with pytest.raises(ncforge.NcforgeError, match="not followed"):
            ds["tas"][:]


def test_the_command_takes_it_for_an_array(tmp_path: Path, run: Any) -> None:
    want = np.arange(12.0).reshape(4, 3)
    fragment(tmp_path / "a.nc", want[:1])
    fragment(tmp_path / "b.nc", want[1:])
    path, plain, copy = tmp_path / "all.nc", tmp_path / "plain.nc", tmp_path / "copy.nc"
    archive(path, [[1, 3], [3]], [["a.nc"], ["b.nc"]], attrs={"units": "K"})
    fragment(plain, want, attrs={"units": "K", "_FillValue": FILL})
    with netCDF4.Dataset(plain, "a") as ds:
        ds.createVariable("time", "f8", ("time",))[:] = np.arange(4)
    run("compare", path, plain)
    run("copy", path, copy)
    run("compare", copy, plain)
    with netCDF4.Dataset(copy) as ds:
        assert set(ds.variables) == {"tas", "time"}
        np.testing.assert_array_equal(ds["tas"][:], want)
    assert "tas(time, x)" in run("info", path).stdout
    assert "virtual" in run("info", "--storage", path).stdout
    # Two archives with the same header, and other fragments.
    fragment(tmp_path / "c.nc", want[:1] + 100)
    fragment(tmp_path / "d.nc", want[1:] + 100)
    archive(tmp_path / "all2.nc", [[1, 3], [3]], [["c.nc"], ["d.nc"]], attrs={"units": "K"})
    with ncforge.Dataset(tmp_path / "all2.nc", "a") as ds:
        ds["time"][:] += 4
    run("concat", path, tmp_path / "all2.nc", "--along", "time", "-o", tmp_path / "joined.nc")
    np.testing.assert_array_equal(read(tmp_path / "joined.nc"), np.concatenate([want, want + 100]))
    for words in (["verify", path], ["digest", path], ["dump", path], ["refs", path, "-o", tmp_path / "refs.json"]):
        run(*words)
    refused = run("--no-follow", "copy", path, tmp_path / "no.nc", code=1)
    assert "not followed" in refused.stderr
    # Its instructions can be changed.
    with ncforge.Dataset(path, "a") as ds:
        assert ds["tas"].shape == ()
        ds["fragment_uris"][0, 0] = "b.nc"


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    path = tmp_path / "all.nc"
    archive(path, [[2, 2, 2], [3]], [["a.nc"], ["nowhere.nc"], [""]])
    got = read(path)
    assert got[:2].tolist() == [[1, 1, 1]] * 2
    assert got.mask[2:].all()
    with ncforge.Dataset(path) as ds:
        ds.set_auto_mask(False)
        assert set(ds["tas"][2:].ravel()) == {FILL}
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as ds:
        ds.renameVariable("tas", "other")
    with pytest.raises(ncforge.NcforgeError, match="tas"):
        read(path)
    (tmp_path / "a.nc").write_bytes(b"no file")
    with pytest.raises(ncforge.NcforgeError, match=r"a\.nc"):
        read(path)


@pytest.mark.parametrize("chunks", [None, (1, 2)])
def test_fragments_are_converted(tmp_path: Path, chunks: Any) -> None:
    """Types, packing, missing values, units, dimensions of length 1, an unlimited dimension."""
    path = tmp_path / "all.nc"
    cases: list[tuple[Any, dict[str, Any], list[float]]] = [
        (np.array([[1, 2, 3]], "i2"), {}, [1, 2, 3]),
        (
            np.array([[1, 2, -1]], "i2"),
            {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(-1)},
            [10.5, 11, FILL],
        ),
        (np.array([[1, 2, 5]], "f4"), {"missing_value": np.float32(5)}, [1, 2, FILL]),
        (np.array([[1, 2, 7]], "i4"), {"valid_range": np.array([0, 5], "i4")}, [1, 2, FILL]),
        (np.array([[1, 2, 3]], "f8"), {"units": "degC"}, [274.15, 275.15, 276.15]),
        (np.array([[1000, 2, 3]], "i8"), {"units": "mK"}, [1, 0.002, 0.003]),
        (np.array([1, 2, netCDF4.default_fillvals["f8"]]), {}, [1, 2, FILL]),
        (np.array([200, 100, 0], "u1"), {"units": "K"}, [200, 100, 0]),
    ]
    uris = []
    for n, (values, attrs, _) in enumerate(cases):
        uris.append([f"{n}.nc"])
        dims = ("time", "x")[2 - values.ndim :]
        fragment(tmp_path / f"{n}.nc", values, dims=dims, attrs=attrs)
    with created(tmp_path / "grown.nc", time=None, x=3) as ds:
        ds.createVariable("tas", "f4", ("time", "x"), chunksizes=chunks)[0] = [1, 2, 3]
        ds.createVariable("time", "f4", ("time",))[:] = [1, 2]
    uris.append(["grown.nc"])
    archive(path, [[1] * len(cases) + [2], [3]], uris, attrs={"units": "K"})
    with ncforge.Dataset(path) as ds:
        ds.set_auto_mask(False)
        got = ds["tas"][:]
        np.testing.assert_allclose(got[:-2], [case[2] for case in cases], rtol=1e-14)
        np.testing.assert_array_equal(got[-2:], [[1, 2, 3], [FILL] * 3])
        np.testing.assert_array_equal(ds["tas"][:, 1], got[:, 1])


@pytest.mark.parametrize(
    ("values", "attrs", "dtype", "words"),
    [
        (np.ones((2, 3)), {"units": "m"}, "f8", "units"),
        (
            np.full((2, 3), 1.5),
            {"units": "K"},
            "i4",
            r"all.nc: tas`: unpacking 6 of 6 numbers that are no numbers of type int",
        ),
        (np.full((2, 3), 300, "i2"), {"units": "K"}, "i1", "no numbers of type byte"),
        (np.ones((2, 4)), {"units": "K"}, "f8", "shape"),
        (np.ones((2, 3, 1)), {"units": "K"}, "f8", "shape"),
        (np.full((2, 3), b"a", "S1"), {}, "f8", "type"),
        # Of the same type, but 255 in place of -1.
        (np.full((2, 3), -1, "i1"), {"units": "K", "_Unsigned": "true"}, "i1", "_Unsigned"),
    ],
)
def test_what_changes_its_meaning_is_refused(tmp_path: Path, values: Any, attrs: Any, dtype: Any, words: str) -> None:
    fragment(tmp_path / "a.nc", values, dims=("time", "x", "y")[: values.ndim], attrs=attrs)
    path = tmp_path / "all.nc"
    archive(path, [[2], [3]], [["a.nc"]], attrs={"units": "K"}, dtype=dtype, fill=-9)
    with pytest.raises(ncforge.NcforgeError, match=words):
        read(path)


@pytest.mark.parametrize("of_fragment", [None, "K", "degC", "days since 2000-01-01"])
def test_an_aggregation_variable_without_units(tmp_path: Path, cfdm: Any, of_fragment: str | None) -> None:
    """Units of a fragment have to be equivalent to those of the aggregation variable, which is no number of kelvins then."""
    fragment(tmp_path / "a.nc", np.ones((2, 3)), attrs={"units": of_fragment} if of_fragment else {})
    path = tmp_path / "all.nc"
    archive(path, [[2], [3]], [[str(tmp_path / "a.nc")]], attrs={"standard_name": "air_temperature"})
    if of_fragment is None:
        assert (read(path) == 1).all() and (cfdm.read(str(path), dask_chunks=None)[0].array == 1).all()
        return
    with pytest.raises(RuntimeError, match="Can't"):
        _ = cfdm.read(str(path), dask_chunks=None)[0].array
    with pytest.raises(ncforge.NcforgeError, match="aggregation variable without units"):
        read(path)


def test_unique_values(tmp_path: Path) -> None:
    path = tmp_path / "all.nc"
    archive(path, [[2, 3], [1, 2]], unique=np.array([[1.5, FILL], [3, 4]]))
    want = np.array([[1.5, FILL, FILL]] * 2 + [[3, 4, 4]] * 3)
    got = read(path)
    np.testing.assert_array_equal(got.filled(), want)
    assert got.mask.tolist() == (want == FILL).tolist()
    archive(path, [[2, 1]], unique=np.array(["a", "bcd"], object), dims=("time",), dtype=str, fill=None)
    assert list(read(path)) == ["a", "a", "bcd"]
    archive(path, [], unique=np.array(7.0), dims=())
    assert read(path) == 7


def test_text(tmp_path: Path) -> None:
    for n, names in enumerate((["a", "bc"], ["def"])):
        with created(tmp_path / f"{n}.nc", n=len(names)) as ds:
            ds.createVariable("name", str, ("n",))[:] = np.array(names, object)
    path = tmp_path / "all.nc"
    archive(path, [[2, 1]], ["0.nc", "1.nc"], ["name", "name"], dims=("time",), dtype=str, fill=None)
    assert list(read(path)) == ["a", "bc", "def"]


@pytest.mark.parametrize("kind", ["folder", "absolute", "file", "link"])
def test_names_of_fragments(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    fragment(data / "a.nc", np.ones((2, 3)))
    path = tmp_path / "archive" / "all.nc"
    path.parent.mkdir()
    uri = {"folder": "../data/a.nc", "absolute": f"{data}/a.nc", "file": f"file://{data}/a.nc", "link": "../data/a.nc"}[
        kind
    ]
    archive(path, [[2], [3]], [[uri]])
    if kind == "link":
        link = tmp_path / "b"
        link.mkdir()
        path = (link / "all.nc").absolute()
        path.symlink_to(tmp_path / "archive" / "all.nc")
    monkeypatch.chdir(path.parent)
    assert read(path).sum() == 6
    with ncforge.Dataset("all.nc") as ds:
        monkeypatch.chdir("/")
        assert ds["tas"][:].sum() == 6


def test_groups(tmp_path: Path) -> None:
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    path = tmp_path / "all.nc"
    archive(path, [[2], [3]], [["a.nc"]])
    with netCDF4.Dataset(path, "a") as ds:
        group = ds.createGroup("g")
        v = group.createVariable("t2", "f4", ())
        v.setncatts({name: ds["tas"].getncattr(name) for name in ("aggregated_dimensions", "aggregated_data")})
        w = group.createVariable("t3", "f4", ())
        w.aggregated_dimensions = "/time /x"
        w.aggregated_data = "map: /fragment_map uris: /fragment_uris identifiers: /fragment_identifiers"
    for name in ("tas", "/g/t2", "/g/t3"):
        assert read(path, name).tolist() == [[1, 1, 1]] * 2, name


def test_instructions_that_are_wrong_are_named(tmp_path: Path, run: Any) -> None:
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    good = tmp_path / "all.nc"
    archive(good, [[2], [3]], [["a.nc"]])

    def changed(**attrs: str) -> Path:
        path = tmp_path / "changed.nc"
        shutil.copy(good, path)
        with netCDF4.Dataset(path, "a") as ds:
            ds["tas"].setncatts(attrs)
        return path

    for attrs in ({"aggregated_dimensions": "time y"}, {"aggregated_data": "map: fragment_map"}):
        path = changed(**attrs)
        assert read(path, "time").tolist() == [0, 1]
        with pytest.raises(ncforge.NcforgeError, match="aggregation variable"):
            read(path)
        assert "aggregation variable" in run("info", path).stdout
    with netCDF4.Dataset(changed(), "a") as ds:
        ds["fragment_map"][0, 0] = 3
    with pytest.raises(ncforge.NcforgeError, match="fragments have"):
        read(tmp_path / "changed.nc")


def test_an_aggregation_of_aggregations_and_a_circle(tmp_path: Path) -> None:
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    archive(tmp_path / "inner.nc", [[2], [3]], [["a.nc"]])
    archive(tmp_path / "outer.nc", [[2, 2], [3]], [["inner.nc"], ["a.nc"]])
    assert read(tmp_path / "outer.nc").sum() == 12
    archive(tmp_path / "circle.nc", [[2], [3]], [["circle.nc"]])
    with pytest.raises(ncforge.NcforgeError, match="circle"):
        read(tmp_path / "circle.nc")


def test_a_fragment_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "all.nc"
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    archive(path, [[2], [3]], [["a.nc"]])
    with ncforge.Dataset(path) as ds:
        assert ds["tas"][:].sum() == 6
        fragment(tmp_path / "b.nc", np.full((2, 3), 2.0))
        os.replace(tmp_path / "b.nc", tmp_path / "a.nc")
        assert ds["tas"][:].sum() == 12


def test_a_url_leads_to_its_server_alone(tmp_path: Path, server: str) -> None:
    fragment(tmp_path / "a.nc", np.ones((2, 3)))
    archive(tmp_path / "all.nc", [[2, 2], [3]], [["a.nc"], ["nowhere.nc"]])
    got = ncforge.Dataset(f"{server}/all.nc")["tas"][:]
    assert got.mask.any(axis=1).tolist() == [False, False, True, True]
    assert got.sum() == 6
    archive(tmp_path / "file.nc", [[2], [3]], [[f"{tmp_path}/a.nc"]])
    with pytest.raises(ncforge.NcforgeError, match="another server, or to a file"):
        ncforge.Dataset(f"{server}/file.nc")["tas"][:]
    # A file leads to URLs.
    archive(tmp_path / "urls.nc", [[2], [3]], [[f"{server}/a.nc"]])
    assert read(tmp_path / "urls.nc").sum() == 6
    with (
        ncforge.Dataset("memory.nc", memory=(tmp_path / "all.nc").read_bytes()) as ds,
        pytest.raises(ncforge.NcforgeError, match="no local file"),
    ):
        ds["tas"][:]


@pytest.mark.parametrize("data_model", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_cfdm_writes_what_ncforge_reads(
    tmp_path: Path, cfdm: Any, data_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # cfdm 1.13.3 looks for relative names in the current folder.
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for n in range(3):
        fragment(
            tmp_path / f"{n}.nc",
            rng.integers(0, 1000, (2, 4)).astype("i2"),
            data_model=data_model,
            attrs={"scale_factor": 0.1, "add_offset": 5.0, "units": "K", "standard_name": "air_temperature"},
        )
    path, again = tmp_path / "all.nc", tmp_path / "again.nc"
    archive(
        path, [[2, 2, 2], [4]], [["0.nc"], ["1.nc"], ["2.nc"]], attrs={"units": "K", "standard_name": "air_temperature"}
    )
    with netCDF4.Dataset(path, "a") as ds:
        ds.Conventions = "CF-1.13"
    field = cfdm.read(str(path), dask_chunks=None)[0]
    np.testing.assert_array_equal(read(path), field.array)
    cfdm.write(field, str(again), cfa="auto")
    with netCDF4.Dataset(again) as ds:
        name = next(n for n in ds.variables if "aggregated_data" in ds[n].ncattrs())
    np.testing.assert_array_equal(read(again, name), field.array)


def series(
    folder: Path, steps: Sequence[int], packed: bool = False, data_model: Any = "NETCDF4"
) -> tuple[list[Path], Any]:
    """Files that continue one another, and their values together."""
    rng = np.random.default_rng(len(steps))
    folder.mkdir(exist_ok=True)
    paths, all_values, begin = [], [], 0
    for i, n in enumerate(steps):
        path = folder / f"day_{i:03}.nc"
        with created(path, format=data_model, time=None, y=40, x=50) as ds:
            ds.Conventions = "CF-1.7 ACDD-1.3"
            t = ds.createVariable("time", "f8", ("time",))
            t.units, t.standard_name = "days since 2000-01-01", "time"
            if n:
                t[:] = np.arange(begin, begin + n)
            ds.createVariable("y", "f4", ("y",))[:] = np.arange(40)
            ds.createVariable("mask", "i4", ("y", "x"))[:] = np.arange(2000).reshape(40, 50)
            v = ds.createVariable("tas", "i2" if packed else "f4", ("time", "y", "x"), fill_value=-9)
            v.units, v.standard_name = "K", "air_temperature"
            if packed:
                v.scale_factor, v.add_offset, v.valid_max = np.float32(0.01), np.float32(280), np.int16(3000)
            values = np.ma.masked_less(rng.random((n, 40, 50)) * 20 + 280, 281)
            if n:
                v[:] = values
                all_values.append(v[:])
            ds.createVariable("area", "f4", ("time", "y", "x"), fill_value=-1)
        paths.append(path)
        begin += n
    return paths, np.ma.concatenate(all_values)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("data_model", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
def test_references_as_an_aggregation_file(tmp_path: Path, packed: bool, data_model: str, run: Any) -> None:
    paths, want = series(tmp_path / "data", [3, 1, 0, 2], packed, data_model)
    path = tmp_path / "archive.nc"
    run("refs", *paths, "--format", "cf", "--inline", "10K", "-o", path)
    with netCDF4.Dataset(path) as ds:
        assert ds.Conventions == "CF-1.13 ACDD-1.3"
        assert ds["tas"].shape == ()
        uris = ds["fragment_uris"][:].ravel().tolist()
        assert uris == ["data/day_000.nc", "data/day_001.nc", "data/day_003.nc"]
        assert ("scale_factor" in ds["tas"].ncattrs(), "valid_max" in ds["tas"].ncattrs()) == (False, False)
        assert ds["time"][:].tolist() == list(range(6))
        assert ds["mask"][3, 4] == 154
    with ncforge.Dataset(path) as ds:
        got = ds["tas"][:]
        np.testing.assert_array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(want))
        np.testing.assert_array_equal(got.compressed(), want.compressed())
        assert got.dtype == want.dtype
        assert ds["area"][:].mask.all()
        assert set(ds.variables) == {"time", "y", "mask", "tas", "area"}
    with (
        xr.open_dataset(path, engine="ncforge") as a,
        xr.open_mfdataset(
            paths,
            engine="netcdf4",
            combine="nested",
            concat_dim="time",
            data_vars="minimal",
            coords="minimal",
            compat="override",
        ) as b,
    ):
        np.testing.assert_array_equal(a["tas"].values, b["tas"].values)
        np.testing.assert_array_equal(a["time"].values, b["time"].values)
    # Together they can be moved.
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(path, moved / "archive.nc")
    shutil.move(tmp_path / "data", moved / "data")
    copy = tmp_path / "copy.nc"
    run("copy", moved / "archive.nc", copy)
    with netCDF4.Dataset(copy) as ds:
        np.testing.assert_array_equal(ds["tas"][:].compressed(), want.compressed())
    os.remove(moved / "data" / "day_001.nc")
    assert read(moved / "archive.nc")[3].mask.all()


def test_cfdm_reads_references(tmp_path: Path, cfdm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for packed in (False, True):
        paths, want = series(tmp_path / str(packed), [3, 1, 2], packed)
        path = tmp_path / f"{packed}.nc"
        report = ncforge.references(paths, path, format="cf", inline="10K")
        assert (report.files, report.left_out) == (3, [])
        field = next(f for f in cfdm.read(str(path)) if f.nc_get_variable() == "tas")
        got = field.array
        np.testing.assert_array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(want))
        np.testing.assert_array_equal(got.compressed(), want.compressed())
        np.testing.assert_array_equal(field.construct("time").array, np.arange(6))


def test_one_file_and_groups_as_an_aggregation_file(tmp_path: Path, run: Any) -> None:
    source = tmp_path / "a.nc"
    with created(source, x=100) as ds:
        ds.createVariable("v", "f8", ("x",))[:] = np.arange(100)
        ds.createVariable("x", "f8", ("x",))[:] = np.arange(100)
        ds.createVariable("small", "i4", ())[...] = 3
        g = ds.createGroup("g")
        g.createVariable("w", "f4", ("x",))[:] = np.arange(100)
        g.createVariable("name", str, ())[...] = "text"
    path = tmp_path / "out" / "all.nc"
    path.parent.mkdir()
    run("refs", source, "--format", "cf", "--inline", "100", "-o", path)
    with netCDF4.Dataset(path) as ds:
        # Coordinates have their values: HDF5 gives a scalar of a dimension's name another one, which cfdm shows.
        assert ds["x"].dimensions == ("x",) and ds["v"].dimensions == ()
    with netCDF4.Dataset(path) as ds:
        assert ds["fragment_uris"][:].ravel().tolist() == ["../a.nc"]
    with ncforge.Dataset(path) as ds:
        assert ds["v"][:].tolist() == ds["g/w"][:].tolist() == list(range(100))
        assert (ds["small"][...], ds["g/name"][...]) == (3, "text")
    again = run("refs", source, "--format", "cf", "-o", path, code=(1, 2, 3, 4))
    assert again.returncode != 0, "it exists"
    assert run("refs", source, "--format", "cf", "-o", "-", code=(1, 2, 3, 4)).returncode != 0
    assert (
        run(
            "refs", source, "--format", "cf", "--select", "x=0:3", "-o", tmp_path / "s.nc", code=(1, 2, 3, 4)
        ).returncode
        != 0
    )


def test_a_virtual_variable_is_a_fragment(tmp_path: Path, run: Any) -> None:
    """An aggregation file names variables of files, whatever their storage; ranges of bytes hold no such values."""
    want = np.arange(12.0).reshape(4, 3)
    for n, part in enumerate((want[:1], want[1:3], want[3:])):
        fragment(tmp_path / f"{n}.nc", part)
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    archive(paths[0], [[1, 2], [3]], [["0.nc"], ["1.nc"]])
    archive(paths[1], [[1], [3]], [["2.nc"]])
    with netCDF4.Dataset(paths[1], "a") as ds:
        ds["time"][:] = [3]
    run("refs", *paths, "--along", "time", "--inline", "0", "-o", tmp_path / "all.nc")
    assert (read(tmp_path / "all.nc") == want).all() and (read(tmp_path / "all.nc", "time") == np.arange(4)).all()
    with netCDF4.Dataset(tmp_path / "all.nc") as ds:
        assert ds["fragment_uris"][:].ravel().tolist() == ["a.nc", "b.nc"]
    refs = ncforge.references(paths, along="time", inline=0)["refs"]
    assert isinstance(refs["tas/0.0"], str)


def test_many_fragments_open_at_once(tmp_path: Path) -> None:
    """An archive of 100,000 fragments: nothing is read of them when it is opened, and a few of them when some values are read."""
    n = 100_000
    fragment(tmp_path / "a.nc", np.ones((1, 3)))
    path = tmp_path / "all.nc"
    archive(path, [[1] * n, [3]], [["a.nc"], *[[f"some/folder/with/files/tas_day_{i:06}.nc"] for i in range(1, n)]])
    with ncforge.Dataset(path) as ds:
        assert ds["tas"].shape == (n, 3)
        got = ds["tas"][0:3]
        assert got[0].tolist() == [1, 1, 1]
        assert got.mask[1:].all()
        for i in range(5, 105):
            assert ds["tas"][i * 900].mask.all()
