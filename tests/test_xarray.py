"""The engine "ncforge" of xarray, against xarray's own engines."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import pickle
import shutil
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
from commands import execute
from datasets import created

xr = pytest.importorskip("xarray")
dask = pytest.importorskip("dask")
netCDF4 = pytest.importorskip("netCDF4")

SHAPE = (30, 40, 50)


def made(path: Path, fmt: str = "NETCDF4") -> Path:
    """A file by netCDF4-python: numbers with a fill value and a scale, text, a time."""
    random = np.random.default_rng(0)
    ds = xr.Dataset(
        {
            "a": (("t", "y", "x"), random.random(SHAPE).astype("f4"), {"units": "K"}),
            "packed": (("t", "y"), random.random(SHAPE[:2])),
            "text": ("y", np.array([f"row {i}" for i in range(SHAPE[1])], dtype=object)),
            "scalar": ((), 3.5),
        },
        coords={
            "t": np.arange(SHAPE[0]) * np.timedelta64(86_400_000_000_000, "ns") + np.datetime64("2000-01-01", "ns")
        },
        attrs={"title": "a test"},
    )
    encoding: dict[str, Any] = {"packed": {"dtype": "i2", "scale_factor": 1e-4, "_FillValue": -999}}
    if fmt.startswith("NETCDF4"):
        encoding["a"] = {"zlib": True, "chunksizes": (7, 8, 10)}
    ds.to_netcdf(path, engine="netcdf4", format=fmt, encoding=encoding, unlimited_dims=["t"])
    return path


@pytest.fixture(params=["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT"])
def path(request: Any, tmp_path: Path) -> Path:
    return made(tmp_path / "made.nc", request.param)


def both(path: Any, **options: Any) -> tuple[Any, Any]:
    return xr.open_dataset(path, engine="ncforge", **options), xr.open_dataset(path, engine="netcdf4", **options)


@pytest.mark.parametrize("on", [True, False])
def test_opening_leaves_the_garbage_collector_as_it_was(tmp_path: Path, on: bool) -> None:
    (tmp_path / "not.nc").write_bytes(b"no file of ours")
    good = made(tmp_path / "made.nc")
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        xr.open_dataset(good, engine="ncforge").close()
        assert gc.isenabled() == on
        with pytest.raises(Exception, match=r"not\.nc"):
            xr.open_dataset(tmp_path / "not.nc", engine="ncforge")
        assert gc.isenabled() == on
    finally:
        (gc.enable if was else gc.disable)()


def test_variables_packed_in_different_ways(tmp_path: Path) -> None:
    """The way of unpacking is found once for all that are packed alike, and only for those."""
    path = tmp_path / "packed.nc"
    ways = {"a": (-9, 0.5), "b": (-9, 0.25), "c": (-8, 0.5), "d": (-9, 0.5), "e": (-9, None)}
    with created(path, x=20) as ds:
        for kind in ("i2", "i4", "u1", "f4"):
            for name, (fill, scale) in ways.items():
                v = ds.createVariable(f"{name}_{kind}", kind, ("x",), fill_value=abs(fill) if kind == "u1" else fill)
                if scale is not None:
                    v.scale_factor = np.float32(scale)
                v.set_auto_maskandscale(False)
                v[:] = np.arange(20) if kind == "u1" else np.arange(-10, 10)
    for options in ({}, {"mask_and_scale": False}):
        ours, theirs = both(path, **options)
        with ours, theirs:
            xr.testing.assert_identical(ours.load(), theirs.load())
            assert {n: v.dtype for n, v in ours.items()} == {n: v.dtype for n, v in theirs.items()}


def test_datasets_are_those_of_netcdf4(path: Path) -> None:
    ours, theirs = both(path)
    xr.testing.assert_identical(ours.load(), theirs.load())
    assert ours.encoding == theirs.encoding
    for name, theirs_of in theirs.variables.items():
        # As text: a fill value may be NaN, which equals nothing.
        assert {k: repr(v) for k, v in ours[name].encoding.items()} == {
            k: repr(v) for k, v in theirs_of.encoding.items()
        }


def of_all_kinds(path: Path) -> Path:
    """Variables that one of xarray's decoders changes each, those that none does, and what names other variables."""
    with created(path, time=4, x=3, nv=2, chars=5, both=2) as ds:
        ds.title = "all kinds"
        ds.coordinates = "height"

        def add(name: str, kind: Any, dims: tuple[str, ...], values: Any, fill: Any = None, **attrs: Any) -> None:
            v = ds.createVariable(name, kind, dims, fill_value=fill)
            v.set_auto_maskandscale(False)
            v.setncatts(attrs)
            v[...] = values

        add("plain", "f4", ("time", "x"), np.arange(12).reshape(4, 3), units="K")
        add(
            "time",
            "f8",
            ("time",),
            np.arange(4),
            units="days since 2000-01-01",
            bounds="time_bnds",
            calendar="standard",
        )
        add("time_bnds", "f8", ("time", "nv"), np.arange(8).reshape(4, 2))
        add("lead", "i4", ("time",), np.arange(4), units="hours")
        add("packed", "i2", ("time", "x"), 7, np.int16(-1), scale_factor=np.float32(0.5), add_offset=np.float32(3))
        add("odd", "i2", ("x",), [1, 2, 3], np.int16(2), missing_value=np.int16(3), scale_factor=2.5)
        add("unsigned", "i1", ("x",), [-1, 2, 3], _Unsigned="true")
        add("flag", "i1", ("x",), [0, 1, 1], dtype="bool")
        add("x", "f8", ("x",), [1.0, 2.0, 3.0], axis="X")
        add("height", "f4", (), 2.0, units="m")
        add("area", "f8", ("x",), 1.0)
        add("crs", "i4", (), 0, grid_mapping_name="latitude_longitude")
        add("named", "f4", ("time", "x"), 1.0, coordinates="height area nowhere", grid_mapping="crs")
        add("measured", "f4", ("x",), 1.0, cell_measures="area: area", coordinates="lead")
        add("text", "S1", ("x", "chars"), netCDF4.stringtochar(np.array(["ab", "cde", "f"], "S5")), _Encoding="utf-8")
        add("word", str, ("x",), np.array(["a", "bc", "d"], object))
        add("twice", "i4", ("time", "both"), 1)
        add("both", "i4", ("x", "both"), 5)
        # A variable with the name of a dimension that is not its own.
        add("nv", "f4", ("x",), 6)
    return path


DECODING: list[dict[str, Any]] = [
    {},
    {"decode_cf": False},
    {"mask_and_scale": False},
    {"mask_and_scale": {"packed": False, "odd": True}},
    {"decode_times": False},
    {"decode_times": {"time": True, "lead": False}},
    {"decode_timedelta": False},
    {"decode_timedelta": True},
    {"decode_coords": False},
    {"decode_coords": "coordinates"},
    {"decode_coords": "all"},
    {"concat_characters": False},
    {"drop_variables": "plain"},
    {"drop_variables": ["plain", "packed", "x", "text"]},
    {"use_cftime": False},
    {"chunks": {}},
    {"chunks": {"time": 2}, "cache": False},
    {"create_default_indexes": False},
]


@pytest.mark.parametrize("options", DECODING, ids=str)
def test_decoding_is_xarrays(tmp_path: Path, options: dict[str, Any]) -> None:
    """The dataset is the one of xarray's own decoders and constructor, down to the order of variables and what is a coordinate, and the one
    of netCDF4.
    """
    file = of_all_kinds(tmp_path / "all.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(file, **options)
        from ncforge._xarray.store import NcforgeDataStore

        store = NcforgeDataStore.open(file)
        generic = xr.open_dataset(store, engine="store", **{**options, "cache": options.get("cache", True)})
        for other in (generic, theirs):
            assert list(ours.variables) == list(other.variables)
            assert ours.sizes == other.sizes and list(ours.sizes) == list(other.sizes)
            assert set(ours.coords) == set(other.coords)
            assert dict(ours.xindexes).keys() == dict(other.xindexes).keys()
            assert ours.encoding == other.encoding
            for name, variable in other.variables.items():
                mine = ours.variables[name]
                assert type(mine) is type(variable) and mine.dtype == variable.dtype, name
                assert mine.chunks == variable.chunks, name
                assert repr(sorted(mine.encoding.items())) == repr(sorted(variable.encoding.items())), name
            xr.testing.assert_identical(ours.compute(), other.compute())
    ours.close()


def test_a_scalar_called_like_a_dimension(tmp_path: Path) -> None:
    """xarray's refusals come here in the same words."""
    with created(tmp_path / "scalar.nc", x=3) as ds:
        ds.createVariable("x", "f4", ())[...] = 1
        ds.createVariable("v", "f4", ("x",))[:] = 1
    said = []
    for engine in ("ncforge", "netcdf4"):
        with pytest.raises(ValueError, match="already exists as a scalar") as error:
            xr.open_dataset(tmp_path / "scalar.nc", engine=engine)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_indexing_with_arrays(path: Path) -> None:
    random = np.random.default_rng(1)
    ours, theirs = both(path, cache=False)
    y = xr.DataArray(random.integers(-40, 40, 20), dims="p")
    x = xr.DataArray(random.integers(0, 50, 20), dims="p")
    two = xr.DataArray([[1, 2], [30, 4]], dims=("p", "q"))
    selections: list[dict[str, Any]] = [
        {"y": y, "x": x},
        {"x": x},
        {"t": xr.DataArray([3, 3, 29, 0], dims="p"), "y": 4},
        {"t": [3, 1, 2], "x": [5, -1]},
        {"t": slice(None, None, -3), "y": 4},
        {"y": two, "x": two, "t": slice(20, 3, -2)},
        {"y": [], "x": [1]},
        {"y": np.arange(40) % 3 == 0, "t": slice(2, 2)},
        {"t": -1, "y": -1, "x": -1},
    ]
    for by in selections:
        xr.testing.assert_identical(ours.isel(by).load(), theirs.isel(by).load())
    for wrong in (slice(None), [0, 1]):
        with pytest.raises(IndexError):
            ours["a"].isel(t=wrong, x=[50]).load()


def test_scattered_points_decode_each_chunk_once(tmp_path: Path) -> None:
    ds = xr.open_dataset(made(tmp_path / "p.nc"), engine="ncforge", cache=False)
    points = {"y": xr.DataArray([0, 39, 1, 38], dims="p"), "x": xr.DataArray([0, 49, 2, 47], dims="p")}
    before = ncforge.engine_stats()
    ds["a"].isel(points).load()
    after = ncforge.engine_stats()
    assert after.misses - before.misses == 5 * 2, "five chunks of times in two columns"


def test_lazy_datasets_travel(path: Path) -> None:
    ours, theirs = both(path)
    again = pickle.loads(pickle.dumps(ours))
    xr.testing.assert_identical(again.load(), theirs)
    script = "import pickle, sys; print(float(pickle.load(sys.stdin.buffer)['a'].sum()))"
    done = execute(sys.executable, "-c", script, text=False, input=pickle.dumps(ours))
    assert float(done.stdout) == pytest.approx(float(theirs["a"].sum()))


def test_a_changed_file_is_noticed(path: Path, tmp_path: Path) -> None:
    ours = xr.open_dataset(path, engine="ncforge", cache=False)
    sent = pickle.dumps(ours)
    other = made(tmp_path / "other.nc")
    with xr.open_dataset(other, engine="netcdf4") as ds:
        expected = ds.load()
    # Another file takes its place: who has it open goes on to read the old one, nobody else can.
    values = ours["a"][0].values.copy()
    del ours
    ours = xr.open_dataset(path, engine="ncforge", cache=False)
    os.replace(other, path)
    assert np.array_equal(ours["a"][0].values, values)
    del ours
    gc.collect()
    with pytest.raises(OSError, match="open it again"):
        pickle.loads(sent)
    again = xr.open_dataset(path, engine="ncforge")
    xr.testing.assert_identical(again.load(), expected)
    # Other bytes in the same file: its header is the old one, values would be anything.
    lazy = xr.open_dataset(path, engine="ncforge", cache=False)
    os.utime(path, ns=(0, 0))
    with pytest.raises(OSError, match="open it again"):
        lazy["a"].load()


def test_many_files_may_be_open(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    first = made(tmp_path / "0.nc")
    paths = [first]
    for i in range(1, 80):
        paths.append(tmp_path / f"{i}.nc")
        shutil.copy(first, paths[-1])
    script = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, {resource.getrlimit(resource.RLIMIT_NOFILE)[1]}))
import xarray as xr
all = [xr.open_dataset(p, engine="ncforge") for p in sys.argv[1:]]
print(sum(float(ds["a"][0, 0, 0]) for ds in all), sum(float(ds["scalar"]) for ds in all))
"""
    done = execute(sys.executable, "-c", script, *paths)
    assert done.stdout.split()[1] == str(3.5 * 80)


def test_threads_read_side_by_side(tmp_path: Path) -> None:
    path = made(tmp_path / "t.nc")
    ours, theirs = both(path, cache=False)
    expected = theirs["a"].values
    wrong: list[int] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(30):
            at = random.integers(0, 30, 5)
            if not np.array_equal(ours["a"].isel(t=xr.DataArray(at, dims="p")).values, expected[at]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_bytes_and_file_objects(path: Path) -> None:
    data = path.read_bytes()
    with xr.open_dataset(path, engine="netcdf4") as theirs, open(path, "rb") as file:
        for source in (data, memoryview(data), io.BytesIO(data), file):
            ours = xr.open_dataset(source, engine="ncforge")
            xr.testing.assert_identical(ours.load(), theirs.load())
    again = pickle.loads(pickle.dumps(xr.open_dataset(data, engine="ncforge")))
    xr.testing.assert_identical(again.load(), theirs)


class Broken(io.RawIOBase):
    """Reads nothing but errors."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = 0) -> int:
        return 1000 if whence == 2 else offset

    def read(self, size: int = -1) -> bytes:
        raise RuntimeError("the network is down")


def test_what_a_file_object_raises_is_reported() -> None:
    with pytest.raises(OSError, match="the network is down"):
        xr.open_dataset(Broken(), engine="ncforge")


def test_async_loading(tmp_path: Path) -> None:
    ours, theirs = both(made(tmp_path / "a.nc"))

    async def load() -> Any:
        return await ours.load_async()

    xr.testing.assert_identical(asyncio.run(load()), theirs.load())


def test_chunks_for_dask(tmp_path: Path) -> None:
    path = made(tmp_path / "c.nc")
    disk = xr.open_dataset(path, engine="ncforge", chunks={}, preferred_chunks="disk")
    assert disk["a"].chunks == ((7, 7, 7, 7, 2), (8,) * 5, (10,) * 5)
    xr.testing.assert_identical(disk, xr.open_dataset(path, engine="netcdf4", chunks={}))
    sized = xr.open_dataset(path, engine="ncforge", chunks={}, preferred_chunks="25kB")
    assert sized["a"].chunks == ((7, 7, 7, 7, 2), (16, 16, 8), (50,))
    for options in ({}, {"preferred_chunks": "auto"}):
        whole = xr.open_dataset(path, engine="ncforge", chunks={}, **options)
        assert whole["a"].chunks == tuple((n,) for n in SHAPE)
        # How it is stored is as other engines say it.
        assert whole["a"].encoding["preferred_chunks"] == disk["a"].encoding["preferred_chunks"]
        again = pickle.loads(pickle.dumps(whole["a"].encoding["preferred_chunks"]))
        assert again == {"t": 7, "y": 8, "x": 10} and again.get("x", 50) == 50 and again.get("x") == 10
    xr.testing.assert_identical(sized.compute(), xr.open_dataset(path, engine="netcdf4").load())
    for wrong in ("a lot", 0, "3 kiloparsec"):
        with pytest.raises(ValueError, match="size"):
            xr.open_dataset(path, engine="ncforge", preferred_chunks=wrong)


@pytest.mark.filterwarnings("error")
def test_given_lengths_are_compared_with_stored_chunks(tmp_path: Path) -> None:
    """Blocks are joined by default, and a user's lengths that cut these blocks cut no stored chunk."""
    path = made(tmp_path / "c.nc")
    lengths = {"t": 14, "y": 16}
    found = xr.open_dataset(path, engine="ncforge", chunks=lengths, drop_variables=["packed", "text"])
    assert found["a"].chunks == ((14, 14, 2), (16, 16, 8), (50,))
    with pytest.warns(UserWarning, match="separate the stored chunks"):
        xr.open_dataset(path, engine="ncforge", chunks={"t": 10})


def test_small_blocks_where_dask_is_told_so(tmp_path: Path) -> None:
    path = made(tmp_path / "c.nc")
    with dask.config.set({"array.chunk-size": "25kB"}):
        assert xr.open_dataset(path, engine="ncforge", chunks={})["a"].chunks == ((7, 7, 7, 7, 2), (16, 16, 8), (50,))


@pytest.mark.parametrize("opening", [xr.open_mfdataset, ncforge.open_mfdataset])
def test_a_file_of_many_is_a_block(tmp_path: Path, opening: Any) -> None:
    for i in range(4):
        how = {"a": {"zlib": True, "chunksizes": (1, 8, 10)}}
        times = xr.date_range(f"200{i}-01-01", periods=12, freq="MS")
        ds = xr.Dataset({"a": (("t", "y", "x"), np.full((12, 40, 50), i, "f4"))}, coords={"t": times})
        ds.to_netcdf(tmp_path / f"{i}.nc", engine="netcdf4", encoding=how)
    options = {"engine": "ncforge"} if opening is xr.open_mfdataset else {}
    found = opening(str(tmp_path / "*.nc"), **options)
    assert found["a"].chunks == ((12,) * 4, (40,), (50,))
    assert found["a"].resample(t="YS").mean().mean(("y", "x")).values.tolist() == [0, 1, 2, 3]


def test_groups_and_trees(tmp_path: Path) -> None:
    path = tmp_path / "g.nc"
    tree = xr.DataTree.from_dict(
        {
            "/": xr.Dataset({"top": ("x", [1, 2])}, coords={"x": [10, 20]}),
            "/deep/er": xr.Dataset({"v": (("x", "z"), np.ones((2, 3)))}),
        }
    )
    tree.to_netcdf(path, engine="netcdf4")
    ours, theirs = (xr.open_datatree(path, engine=e) for e in ("ncforge", "netcdf4"))
    xr.testing.assert_identical(ours.load(), theirs.load())
    below, those = (xr.open_datatree(path, engine=e, group="deep") for e in ("ncforge", "netcdf4"))
    xr.testing.assert_identical(below.load(), those.load())
    groups, theirs_of = (xr.open_groups(path, engine=e) for e in ("ncforge", "netcdf4"))
    assert list(groups) == list(theirs_of)
    inner = xr.open_dataset(path, engine="ncforge", group="/deep/er/")
    assert inner.sizes == {"x": 2, "z": 3}
    with pytest.raises(OSError, match="nowhere"):
        xr.open_dataset(path, engine="ncforge", group="deep/nowhere")


def test_guessing(tmp_path: Path) -> None:
    from ncforge.xarray import NcforgeBackendEntrypoint

    guess = NcforgeBackendEntrypoint().guess_can_open
    (tmp_path / "no.nc").write_bytes(b"GRIB....")
    (tmp_path / "user.block").write_bytes(b"\0" * 1024 + b"\x89HDF\r\n\x1a\n")
    (tmp_path / "CDF.txt").write_bytes(b"CDF\x02\0\0\0\0")
    with open(tmp_path / "CDF.txt", "rb") as file:
        assert guess(file)
        assert file.tell() == 0
    with ncforge.Dataset(tmp_path / "plain.nc", "w", format="NETCDF3_CLASSIC") as ds:
        ds.createVariable("v", "f4")[...] = 2
    ncforge.zip(tmp_path / "plain.nc", tmp_path / "small.ncz")
    with xr.open_dataset(tmp_path / "small.ncz") as opened:
        assert float(opened["v"]) == 2
    yes = [
        tmp_path / "small.ncz",
        (tmp_path / "small.ncz").read_bytes(),
        tmp_path / "absent.ncz",
        tmp_path / "user.block",
        str(tmp_path / "CDF.txt"),
        tmp_path / "absent.nc",
        b"CDF\x01....",
        io.BytesIO(b"CDF\x05"),
    ]
    no = [
        tmp_path / "no.nc",
        tmp_path,
        tmp_path / "absent.txt",
        "https://host/x.nc",
        b"",
        17,
        None,
        object(),
        io.StringIO("x"),
    ]
    assert [guess(s) for s in yes] == [True] * len(yes)
    assert [guess(s) for s in no] == [False] * len(no)


def test_looking_for_engines_loads_nothing() -> None:
    script = """
import sys, time
import xarray as xr
import numpy, pandas
begin = time.perf_counter()
import ncforge.xarray
took = time.perf_counter() - begin
assert "ncforge" in xr.backends.list_engines()
heavy = [m for m in ("ncforge._core", "ncforge.dataset", "dask", "netCDF4") if m in sys.modules and m != "netCDF4"]
print(heavy, took)
"""
    done = execute(sys.executable, "-c", script)
    assert done.stdout.startswith("[]"), done.stdout


def test_types_that_only_netcdf4_has(tmp_path: Path) -> None:

    path = tmp_path / "types.nc"
    with created(path, x=3) as nc:
        kinds = nc.createEnumType("u1", "sky_t", {"clear": 0, "cloudy": 1})
        nc.createVariable("sky", kinds, ("x",))[:] = np.array([0, 1, 1], "u1")
        nc.createVariable("word", str, ("x",))[:] = np.array(["a", "", "Ω"], object)
        nc.createVariable("zero", "f8", ("x",), compression="zstd", complevel=3, fletcher32=True)
    ours, theirs = both(path)
    xr.testing.assert_identical(ours.load(), theirs.load())
    assert ours["sky"].encoding["dtype"].metadata == theirs["sky"].encoding["dtype"].metadata
    for name in theirs:
        assert ours[name].encoding == theirs[name].encoding, name
