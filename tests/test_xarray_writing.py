"""``ncforge.to_netcdf``: what xarray's own engines read of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from peers import open_netcdf4
from xarray_days import back, dataset

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
# xarray says that it loads text which is a Dask array.
pytestmark = pytest.mark.filterwarnings("ignore:variable name has data in the form of a dask array")


@pytest.mark.parametrize("fmt", [None, "NETCDF4_CLASSIC", "NETCDF3_64BIT", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
@pytest.mark.parametrize("chunks", [None, {"time": 5, "y": 7}])
def test_others_read_what_is_written(tmp_path: Path, fmt: Any, chunks: Any) -> None:
    ds = dataset() if chunks is None else dataset().chunk(chunks)
    reported: list[tuple[str, int, int]] = []
    path = tmp_path / "new.nc"
    ncforge.to_netcdf(ds, path, format=fmt, progress=lambda *a: reported.append(a), memory="32MB")
    xr.testing.assert_allclose(back(path), dataset(), atol=1e-9)
    assert reported[0][1] == 0
    assert reported[-1][1] == reported[-1][2] > 0


def test_codec_and_chunks(tmp_path: Path) -> None:
    path = tmp_path / "c.nc"
    ds = dataset()
    ds["t2m"].encoding["chunksizes"] = (1, 20, 30)
    ds.ncforge.to_netcdf(
        path, codec="zstd", level=3, chunks={"time": 6, "x": 10}, encoding={"packed": {"dtype": "f4", "zlib": True}}
    )
    found = back(path)
    assert found["t2m"].encoding["zstd"] and found["t2m"].encoding["chunksizes"] == (6, 20, 10)
    assert found["packed"].encoding["zlib"] and found["packed"].encoding["dtype"] == np.dtype("f4")
    ncforge.to_netcdf(ds, path, codec="zlib", chunks="auto")
    assert back(path)["t2m"].encoding["chunksizes"] != (1, 20, 30)
    for wrong in ({"codec": "magic"}, {"chunks": "some"}, {"level": 3}, {"encoding": {"t2m": {"zlob": True}}}):
        with pytest.raises(ValueError, match=r"codec|chunks|zlob"):
            ncforge.to_netcdf(ds, tmp_path / "none.nc", **wrong)
        assert not (tmp_path / "none.nc").exists()


def chosen(path: Path, **options: Any) -> dict[str, Any]:
    """The chunks of a dataset of a variable that is large, one that is small, and coordinates."""
    values = np.zeros((400, 60, 80), "f4")
    ds = xr.Dataset(
        {
            "v": (("when", "north", "east"), values),
            "small": (("north",), np.zeros(60)),
            "label": (("north",), ["a"] * 60),
        },
        coords={
            "when": np.datetime64("2000-01-01", "ns") + np.arange(400) * np.timedelta64(1, "D"),
            "north": ("north", np.arange(60.0), {"units": "degrees_north"}),
            "east": ("east", np.arange(80.0), {"standard_name": "longitude"}),
        },
    )
    # As if it came from a file with other chunks.
    ds["v"].encoding.update(chunksizes=(1, 60, 80), original_shape=values.shape)
    ncforge.to_netcdf(ds, path, **options)
    with xr.open_dataset(path, engine="netcdf4") as made:
        xr.testing.assert_identical(made.load(), ds)
        return {name: made[name].encoding.get("chunksizes") for name in made.variables}


def test_chunks_are_chosen_for_reads(tmp_path: Path) -> None:
    maps = chosen(tmp_path / "map.nc", for_="map", codec="zlib")["v"]
    series = chosen(tmp_path / "series.nc", for_="series", codec="zlib")["v"]
    mixed = chosen(tmp_path / "mixed.nc", for_="series=3,map=1", codec="zlib")["v"]
    assert maps[1:] == (60, 80) and series[0] == 400
    assert maps[0] < mixed[0] < series[0] or mixed[1] * mixed[2] < 60 * 80
    assert mixed not in (maps, series)
    # The names of dimensions give these chunks, and so does the command for such a file.
    by_lengths = chosen(tmp_path / "lengths.nc", for_="when=all,north=1,east=1", codec="zlib")["v"]
    assert by_lengths == series
    assert chosen(tmp_path / "spelt.nc", chunks="auto:series=3,map=1", codec="zlib")["v"] == mixed
    ncforge.copy(tmp_path / "map.nc", tmp_path / "copied.nc", for_="series=3,map=1")
    with ncforge.Dataset(tmp_path / "copied.nc") as ds:
        copied = ds["v"].chunking()
    assert copied != list(maps)
    # Without compression, too; what is small stays in one piece; usual reads by "auto".
    plain = chosen(tmp_path / "plain.nc", for_="series")
    assert plain["v"][0] == 400 and plain["small"] is None and plain["when"] is None
    usual = chosen(tmp_path / "auto.nc", chunks="auto", codec="zlib", unlimited_dims=["when"])["v"]
    assert usual not in (None, (1, 60, 80))
    # Nothing says that "when" is time, so that nobody reads series along it.
    static = chosen(tmp_path / "static.nc", chunks="auto", codec="zlib")["v"]
    assert static[1:] == (60, 80) and static[0] < 100
    # Dimensions that grow are as long as they are, or will be.
    grown = chosen(tmp_path / "grown.nc", for_="series", unlimited_dims=["when"])["v"]
    assert grown[0] >= 400
    longer = chosen(tmp_path / "long.nc", for_="series", unlimited_dims=["when"], expect={"when": 100_000})["v"]
    assert longer[0] > grown[0]


def test_reads_that_make_no_sense(tmp_path: Path) -> None:
    for wrong, what in (
        ({"for_": "mpa"}, "neither a read"),
        ({"for_": "depth=all"}, "no dimension `depth`"),
        ({"for_": "map", "expect": {"depth": 3}}, "no unlimited dimension `depth`"),
        ({"for_": "map", "chunks": {"time": 3}}, "lengths of chunks are given"),
        ({"for_": "map", "chunks": "auto:series"}, "given twice"),
        ({"expect": {"time": 100}}, "needs for_"),
        ({"for_": "map", "expect": "time=lots"}, "time=3650"),
    ):
        with pytest.raises((ValueError, KeyError), match=what):
            ncforge.to_netcdf(dataset(), tmp_path / "no.nc", **wrong)
        assert not (tmp_path / "no.nc").exists()


@pytest.mark.parametrize("fmt", [None, "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("chunked", [False, True])
def test_appending(tmp_path: Path, fmt: Any, chunked: bool) -> None:
    path = tmp_path / "run.nc"
    parts = [dataset(0, 7), dataset(7, 5), dataset(12, 1)]
    for part in parts:
        ncforge.to_netcdf(part.chunk(time=3) if chunked else part, path, format=fmt, append_dim="time")
    whole = xr.concat(parts, dim="time", data_vars="minimal", coords="minimal", compat="override", join="override")
    xr.testing.assert_allclose(back(path), whole, atol=1e-9)
    assert back(path).encoding["unlimited_dims"] == {"time"}


@pytest.mark.parametrize("units", [None, "hours since 2001-01-01 00:00:00", "days since 2001-1-1"])
def test_times_are_appended_in_the_files_units(tmp_path: Path, units: str | None) -> None:
    # xarray writes the time of midnight where it finds the units itself, and leaves it out where they are given.
    path = tmp_path / "t.nc"
    time = np.datetime64("2001-01-01", "ns") + np.arange(6) * np.timedelta64(86_400_000_000_000, "ns")
    whole = xr.Dataset({"v": ("time", np.arange(6.0))}, {"time": time})
    first, rest = whole.isel(time=slice(0, 3)), whole.isel(time=slice(3, 6))
    encoding = {"time": {"units": units}} if units else None
    ncforge.to_netcdf(first, path, unlimited_dims=["time"], encoding=encoding)
    ncforge.to_netcdf(rest, path, append_dim="time")
    with xr.open_dataset(path) as back:
        xr.testing.assert_equal(back.load(), whole)


def test_what_cannot_be_appended(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    ncforge.to_netcdf(dataset(), path, append_dim="time")
    before = path.read_bytes()
    other = dataset(12, 2)
    for wrong, word in (
        (other.isel(y=slice(3)), "long"),
        (other.assign(extra=other["t2m"]), "not in the file"),
        (other.transpose("y", "x", "time"), "dimensions"),
        (other.isel(time=0, drop=True), "no dimension"),
    ):
        with pytest.raises(ValueError, match=word):
            ncforge.to_netcdf(wrong, path, append_dim="time")
    with pytest.raises(ValueError, match="not unlimited"):
        ncforge.to_netcdf(other.drop_vars("name"), path, append_dim="y")
    xr.testing.assert_allclose(back(path), dataset(), atol=1e-9)
    assert before


def test_regions(tmp_path: Path) -> None:
    path = tmp_path / "region.nc"
    ncforge.to_netcdf(dataset(), path)
    new = dataset(100)[["t2m"]].assign_coords(time=dataset()["time"])
    ncforge.to_netcdf(
        new.isel(time=slice(3, 6)).drop_vars(["y", "x"]).chunk(time=2), path, region={"time": slice(3, 6)}
    )
    ncforge.to_netcdf(new.isel(time=slice(8, 9)), path, region="auto")
    expected = dataset()["t2m"].values.copy()
    for part in (slice(3, 6), slice(8, 9)):
        expected[part] = new["t2m"].values[part]
    assert np.array_equal(back(path)["t2m"].values, expected)
    with pytest.raises(ValueError, match="not a contiguous range"):
        ncforge.to_netcdf(new.isel(time=[1, 4]), path, region="auto")


def test_trees_arrays_and_memory(tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({"/": dataset(), "/deep/er": dataset().chunk(time=4)})
    ncforge.to_netcdf(tree, tmp_path / "tree.nc", encoding={"/deep/er": {"t2m": {"zlib": True}}})
    with xr.open_datatree(tmp_path / "tree.nc", engine="netcdf4") as found:
        xr.testing.assert_allclose(found.load(), tree.load(), atol=1e-9)
        assert found["deep/er/t2m"].encoding["zlib"]
    array = dataset()["t2m"]
    array.ncforge.to_netcdf(tmp_path / "array.nc")
    xr.testing.assert_identical(xr.open_dataarray(tmp_path / "array.nc", engine="netcdf4").load(), array)
    view = ncforge.to_netcdf(dataset())
    assert isinstance(view, memoryview)
    xr.testing.assert_allclose(xr.open_dataset(bytes(view), engine="ncforge").load(), dataset(), atol=1e-9)
    file = io.BytesIO()
    ncforge.to_netcdf(dataset(), file)
    assert file.getvalue() == bytes(view)


@pytest.mark.filterwarnings("ignore:saving variable v with floating point")
@pytest.mark.parametrize("factor", [np.int16(2), 2, np.float32(2), np.array(2)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_packing_by_integers(tmp_path: Path, factor: Any, dtype: str) -> None:
    values = 2 * np.arange(6).astype(dtype)
    for more in ({}, {"_FillValue": -1}, {"add_offset": np.int16(-2)}):
        for ds in (xr.Dataset({"v": ("x", values)}), xr.Dataset({"v": ("x", values)}).chunk(x=3)):
            encoding = {"v": {"dtype": "i2", "scale_factor": factor, **more}}
            ncforge.to_netcdf(ds, tmp_path / "p.nc", encoding=encoding)
            with open_netcdf4(tmp_path / "p.nc") as nc:
                assert nc["v"][:].tolist() == [n + ("add_offset" in more) for n in range(6)]
                assert nc["v"].scale_factor.dtype == np.asarray(factor).dtype
                nc.set_auto_maskandscale(True)
                assert np.array_equal(nc["v"][:], values)


def test_a_tree_in_a_group(tmp_path: Path) -> None:
    path = tmp_path / "g.nc"
    dataset().to_netcdf(path, engine="netcdf4")
    tree = xr.DataTree.from_dict({"/": dataset(3)[["t2m"]], "/deep/er": dataset(3)[["t2m"]] + 1})
    ncforge.to_netcdf(tree, path, mode="a", group="g/h", encoding={"/deep/er": {"t2m": {"zlib": True}}})
    xr.testing.assert_allclose(back(path), dataset(), atol=1e-9)
    for group, ds in (("g/h", tree), ("g/h/deep/er", tree["deep/er"])):
        with xr.open_dataset(path, engine="netcdf4", group=group) as found:
            assert np.array_equal(found["t2m"].values, ds["t2m"].values)
            assert bool(found["t2m"].encoding["zlib"]) == ("deep" in group)


@pytest.mark.parametrize("inherited", [True, False])
@pytest.mark.parametrize("grows", [["/a"], ["/a", "/a/b"], ["/a/b"], []])
def test_groups_share_the_dimensions_above_them(tmp_path: Path, grows: list[str], inherited: bool) -> None:
    """Also one that grows, whose length is 0 until values are written."""
    a = xr.Dataset({"v": ("time", np.arange(7.0))}, {"time": np.arange(7)})
    tree = xr.DataTree.from_dict({"/a": a, "/a/b": xr.Dataset({"w": ("time", np.arange(7.0))})})
    how: dict[str, Any] = {"write_inherited_coords": inherited, "unlimited_dims": {key: ["time"] for key in grows}}
    ncforge.to_netcdf(tree, tmp_path / "ours.nc", **how)
    tree.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", **how)
    # As another file has it, where it does not grow; and blocks.
    tree["/a/b/w"].encoding["contiguous"] = True
    ncforge.to_netcdf(tree.chunk(time=3), tmp_path / "lazy.nc", **how)
    found = []
    for path in tmp_path.iterdir():
        with open_netcdf4(path) as nc:
            dims = {at: {k: (len(d), d.isunlimited()) for k, d in nc[at].dimensions.items()} for at in ("a", "a/b")}
            found.append((dims, nc["a/b/w"][:].tolist()))
    assert found == [found[0]] * 3


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_64BIT", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("value", [True, np.bool_(True), [True, False], np.array([True, False])], ids=repr)
def test_truth_in_attributes_by_the_rule_of_xarray(tmp_path: Path, format: Any, value: Any) -> None:
    """Both writers do what xarray does with netCDF4: numbers in formats of numbers, refused in NETCDF4."""
    import xarray as xr

    import ncforge.xarray

    ncforge.xarray.register_writer()
    writers: dict[str, Any] = {
        "theirs": lambda ds, path: ds.to_netcdf(path, engine="netcdf4", format=format),
        "engine": lambda ds, path: ds.to_netcdf(path, engine="ncforge", format=format),
        "own": lambda ds, path: ncforge.to_netcdf(ds, path, format=format),
    }
    for attrs in ({"attrs": {"b": value}}, {"data_vars": {"v": ((), 1.0, {"b": value})}}):
        found: dict[str, Any] = {}
        for name, write in writers.items():
            try:
                write(xr.Dataset(**attrs), tmp_path / f"{name}.nc")
            except TypeError:
                found[name] = "refused"
                continue
            with ncforge.Dataset(tmp_path / f"{name}.nc") as ds:
                stored = (ds["v"] if "data_vars" in attrs else ds).b
                found[name] = (stored.dtype.str, np.atleast_1d(stored).tolist())
        assert found["engine"] == found["own"] == found["theirs"], attrs


def test_writing_later(tmp_path: Path) -> None:
    import dask

    path = tmp_path / "later.nc"
    later = ncforge.to_netcdf(dataset().chunk(time=4), path, compute=False)
    assert not path.exists()
    later.compute()
    xr.testing.assert_allclose(back(path), dataset(), atol=1e-9)
    before = path.read_bytes()
    with pytest.raises(
        ncforge.NcforgeError, match=r"later\.nc` is closed: .* is computed once; .* call `to_netcdf` again"
    ):
        later.compute()
    with dask.config.set(scheduler="processes"), pytest.raises(ncforge.NcforgeError, match="workers would write"):
        ncforge.to_netcdf(dataset().chunk(time=4), path, compute=False)
    assert path.read_bytes() == before


@pytest.mark.filterwarnings("ignore")
def test_other_processes_compute_and_this_one_writes(tmp_path: Path) -> None:
    import dask

    distributed = pytest.importorskip("distributed")
    ds = dataset().chunk(time=5, y=7)
    with dask.config.set(scheduler="processes", num_workers=2):
        ncforge.to_netcdf(ds, tmp_path / "p.nc", chunks={"time": 4, "y": 6})
    xr.testing.assert_allclose(back(tmp_path / "p.nc"), dataset(), atol=1e-9)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster),
    ):
        lazy = xr.open_dataset(tmp_path / "p.nc", engine="ncforge", chunks={})
        ncforge.to_netcdf(lazy, tmp_path / "d.nc")
        xr.testing.assert_allclose(back(tmp_path / "d.nc"), dataset(), atol=1e-9)


def test_blocks_are_whole_chunks() -> None:
    import dask.array

    from ncforge._xarray.dask import align, aligned

    for lengths, chunk, start in (((10, 10, 10), 4, 3), ((7,), 3, 2), ((1,) * 9, 4, 1), ((5, 1, 9), 2, 0)):
        out = aligned(lengths, chunk, start)
        assert sum(out) == sum(lengths)
        assert all((start + n) % chunk == 0 for n in np.cumsum(out)[:-1])
    source = dask.array.zeros((12, 6), chunks=(5, 6))
    assert align(source, (4, 6), None).chunks == ((4, 4, 4), (6,))
    assert align(source, (5, 3), None) is source


@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("digits", [2, -1])
@pytest.mark.parametrize("lazy", [False, True])
def test_values_are_rounded_to_the_digits_of_an_encoding(tmp_path: Path, fmt: Any, digits: int, lazy: bool) -> None:
    """The bits are those that netCDF4-python writes, but for missing values, which stay."""

    def make(begin: int) -> Any:
        ds = dataset(begin)[["t2m", "packed"]]
        ds["t2m"][3, 4] = np.nan
        ds["t2m"].encoding = {"least_significant_digit": digits, "_FillValue": np.float32(-9999)}
        ds["packed"].encoding["least_significant_digit"] = 1
        # As an attribute it says something of the values, and does nothing.
        ds["said"] = ds["t2m"].variable.copy()
        ds["said"].attrs["least_significant_digit"] = ds["said"].encoding.pop("least_significant_digit")
        return ds.chunk(time=5) if lazy else ds

    make(0).to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", format=fmt, unlimited_dims=["time"])
    ncforge.to_netcdf(make(0), tmp_path / "ours.nc", format=fmt, unlimited_dims=["time"])
    with open_netcdf4(tmp_path / "theirs.nc") as theirs:
        theirs.set_auto_maskandscale(False)
        with open_netcdf4(tmp_path / "ours.nc") as file:
            file.set_auto_maskandscale(False)
            for var in ("t2m", "packed", "said"):
                assert file[var].least_significant_digit == theirs[var].least_significant_digit
                want = theirs[var][:]
                if var == "t2m":
                    assert not np.array_equal(want, dataset()["t2m"].values)
                    want[3, 4] = -9999
                np.testing.assert_array_equal(file[var][:], want)
    # Appended values are rounded as well.
    more = make(12)
    more["said"].attrs.clear()
    ncforge.to_netcdf(more, tmp_path / "ours.nc", append_dim="time")
    with open_netcdf4(tmp_path / "ours.nc") as file:
        step = 2.0 ** -np.ceil(np.log2(10.0**digits))
        assert file["t2m"].shape[0] == 24
        values = file["t2m"][12:]
        np.testing.assert_array_equal(values[values != -9999] % step, 0)


def test_a_codec_keeps_the_level_and_leaves_coordinates(tmp_path: Path) -> None:
    """Levels and filters of the dataset's file stay without a codec; another codec, or a level, replaces them."""
    first = tmp_path / "first.nc"
    ds = xr.Dataset({"v": (("y", "x"), np.zeros((40, 60)))}, {"y": np.arange(40.0), "x": ("x", np.arange(60.0))})
    ds["area"] = (("y", "x"), np.ones((40, 60)))
    ncforge.to_netcdf(ds, first, encoding={"v": {"zlib": True, "complevel": 1, "shuffle": False}, "y": {"zlib": True}})
    ways: dict[str, dict[str, Any]] = {
        "as it was": {},
        "zlib": {"codec": "zlib"},
        "level": {"codec": "zlib", "level": 6},
        "zstd": {"codec": "zstd"},
        "none": {"codec": "none"},
    }
    stored = {}
    with xr.open_dataset(first, engine="ncforge") as opened:
        for name, how in ways.items():
            ncforge.to_netcdf(opened, tmp_path / "copy.nc", **how)
            with ncforge.Dataset(tmp_path / "copy.nc") as made:
                stored[name] = {
                    n: (f["zlib"], f["zstd"], f["complevel"], f["shuffle"])
                    for n, f in ((n, v.filters() or {}) for n, v in made.variables.items())
                }
    plain = (False, False, 0, False)
    assert all(found["x"] == plain for found in stored.values())
    assert stored["as it was"]["v"] == stored["zlib"]["v"] == (True, False, 1, False)
    assert stored["as it was"]["y"] == stored["zlib"]["y"] == (True, False, 4, True)
    assert stored["zlib"]["area"] == (True, False, 4, True) and stored["as it was"]["area"] == plain
    assert stored["level"]["v"] == stored["level"]["y"] == (True, False, 6, True)
    assert [stored["zstd"][name][1] for name in ("v", "y", "area")] == [True] * 3
    assert [stored["none"][name] for name in ("v", "y", "area")] == [plain] * 3


def test_what_is_computed_later_may_be_nothing(tmp_path: Path) -> None:
    """Without Dask's arrays there was no object whose ``compute`` ends the file."""
    path = tmp_path / "a.nc"
    later = ncforge.to_netcdf(dataset(), path, compute=False)
    later.compute()
    xr.testing.assert_allclose(back(path), dataset(), atol=1e-9)
