"""What operations make of a subset (``--select``): moved chunks, resumed copies, comparisons, tiles, references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
import tiles as tl
from combining import ocean
from conftest import Run
from datasets import created
from selecting import picked, raw, same, selected, write
from stopping import interrupt


def chunks_of(path: Path, name: str) -> dict[tuple[int, ...], bytes]:
    with h5py.File(path) as f:
        d = f[name].id
        return {
            d.get_chunk_info(i).chunk_offset: d.read_direct_chunk(d.get_chunk_info(i).chunk_offset)[1]
            for i in range(d.get_num_chunks())
        }


def test_chunks_are_moved_where_edges_fall_on_theirs(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    old = chunks_of(path, "tas")
    plan = ncforge.plan_copy(path, out, select={"time": slice(8, 20), "lon": slice(6, 24)})
    assert {v["name"].strip("/"): v["route"] for v in plan.raw["variables"]}["tas"] == "raw"
    ncforge.copy(path, out, select={"time": slice(8, 20), "lon": slice(6, 24)})
    new = chunks_of(out, "tas")
    assert len(new) == 3 * 4 * 3
    for (t, y, x), stored in new.items():
        assert stored == old[t + 8, y, x + 6]
    # Where a longitude wraps at edges of chunks, both parts are moved.
    ncforge.copy(path, out, select={"lon": (288.0, 60.0)}, overwrite=True)
    new = chunks_of(out, "tas")
    for (t, y, x), stored in new.items():
        assert stored == old[t, y, (x + 24) % 30]
    # A chunk that the end cuts is encoded again: what was not selected is not in the file.
    ncforge.copy(path, out, select={"time": slice(4, 10)}, overwrite=True)
    new, moved = chunks_of(out, "tas"), 0
    for (t, y, x), stored in new.items():
        moved += stored == old[t + 4, y, x]
        assert t == 4 or stored == old[t + 4, y, x]
    with netCDF4.Dataset(out, "a") as d:
        d["time"][7] = 99
        assert np.ma.getmaskarray(d["tas"][6:8]).all()
    assert moved == len(new) // 2


def test_steps_of_single_chunks_are_moved(tmp_path: Path) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:single")
    ncforge.copy(path, out, select={"time": slice(1, None, 5), "lon": slice(None, None, 4)})
    old, new = chunks_of(path, "tas"), chunks_of(out, "tas")
    assert {at: old[at[0] * 5 + 1, at[1], at[2] * 4] for at in new} == new and len(new) == 5 * 8


def test_what_cannot_be_selected(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:contiguous")
    with netCDF4.Dataset(path, "a") as d:
        for name, values in (("mixed", [1, 3, 2]), ("holes", np.ma.masked_equal([1, 9, 3], 9)), ("months", [1, 2, 3])):
            d.createDimension(name, 3)
            d.createVariable(name, "f8", (name,), fill_value=-1.0)[:] = values
        d["months"].units = "months since 2000-01-01"
        d.createDimension("bare", 4)
    for text, *words in (
        ("tiem=3", "did you mean `time`"),
        ("time=50:60", "0 to 22"),
        ("time=2010", "2000-01-20", "2000-02-11"),
        # One date within another is no reversed range.
        ("time=2000..2000-01-05", "2000-01-20", "2000-02-11"),
        ("time=2000-01..2000-01-05", "2000-01-20", "2000-02-11"),
        ("lat=85..90", "80 to -80"),
        ("lat=2000-01-01", "is a date"),
        ("mixed=1..2", "neither rises nor falls", "indices can"),
        ("holes=1..2", "no value at index 1"),
        ("months=2000-02", "length"),
        ("bare=1..2", "no coordinate"),
        ("time=2000-02-30", "2000-02-30"),
        ("time=3,time=4", "twice"),
        ("time=3:2:0", "step"),
        ("time", "DIM="),
    ):
        said = run("copy", path, out, "--select", text, code=(1, 2)).stderr
        assert all(word in said for word in words), (text, said)
        assert not out.exists()
    for text in ("mixed=1:", "holes=:2", "months=1", "bare=1:3", "months=1..2"):
        run("copy", "-O", path, out, "--select", text)


def test_dimensions_of_groups(tmp_path: Path, run: Run) -> None:
    """A name is every dimension of that name, each with its own coordinate; a path is one."""
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as d:
        for at, begin in (("/", 0), ("/a", 10), ("/b", 20)):
            g = d if at == "/" else d.createGroup(at)
            g.createDimension("x", 10)
            g.createVariable("x", "i4", ("x",))[:] = np.arange(10) + begin
    assert {k: v.tolist() for k, v in selected(run, path, out, "x=8:").items()} == {
        "x": [8, 9],
        "a/x": [18, 19],
        "b/x": [28, 29],
    }
    assert {k: len(v) for k, v in selected(run, path, out, "/a/x=12..15").items()} == {"x": 10, "a/x": 4, "b/x": 10}
    assert "`a/x`" in run("copy", "-O", path, out, "--select", "x=0..5", code=(1, 2)).stderr
    # Dimensions of variables that are not copied do not matter.
    run("copy", "-O", path, out, "--select", "x=0..5", "--vars", "x")
    assert raw(out)["x"].tolist() == [0, 1, 2, 3, 4, 5]


def test_resuming_knows_the_selection(tmp_path: Path, run: Run) -> None:
    """A finished output of another selection is none of this one, where the few values that are looked at are the same, too."""
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    with created(path, x=40_000) as d:
        v = d.createVariable("v", "i4", ("x",))
        v[:] = 0
        v[4500] = 1
    run("copy", path, out, "--select", "x=:20000", "--no-history")
    made = out.stat()
    assert "complete already" in run("copy", path, out, "--select", "x=0:20000", "--no-history", "--resume").stderr
    assert "exists" in run("copy", path, out, "--select", "x=20000:", "--no-history", "--resume", code=2).stderr
    assert out.stat() == made and raw(out)["v"][4500] == 1
    run("copy", path, out, "--select", "x=20000:", "--no-history", "--resume", "-O")
    assert raw(out)["v"].tolist() == [0] * 20_000


def test_an_interrupted_copy_of_another_selection_is_refused(tmp_path: Path, run: Run) -> None:
    path, folder = tmp_path / "in.nc", tmp_path / "made"
    folder.mkdir()
    out = folder / "out.nc"
    write(path, "NETCDF4:deflated", shape=(240, 60, 90))
    words = ("--chunks", "time/1,lat/60,lon/90", "--codec", "deflate", "--level", 9, "--memory", "8M", "--no-history")
    interrupt(out, "copy", path, out, *words, "--select", "time=0:120")
    assert "other options" in run("copy", path, out, *words, "--select", "time=1:121", "--resume", code=2).stderr
    run("copy", path, out, *words, "--select", "time=:120", "--resume")
    same(out, picked(path, {"time": np.arange(120)}))


def test_a_short_classic_file_gives_what_it_has(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF3_64BIT_DATA:chunked")
    whole = raw(path)
    with path.open("r+b") as f:
        f.truncate(path.stat().st_size * 3 // 4)
    assert "ends here" in run("copy", path, out, "--select", "lat=3:5", code=4).stderr
    run("copy", path, out, "--select", "time=:12")
    np.testing.assert_array_equal(raw(out)["tas"], whole["tas"][:12])


def test_dry_run_and_json(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    plan = json.loads(run("copy", "-n", "--json", path, out, "--select", "time=:2,lat=0..20").stdout)
    shapes = {v["name"].strip("/"): v["shape"] for v in plan["variables"]}
    assert shapes["tas"] == [2, 3, 30] and not out.exists()
    digest = run("copy", path, out, "--select", "time=:2", "--digest", "--no-history").stdout
    assert ncforge.digest(out).digest in digest


def test_compare(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "in.nc", tmp_path / "out.nc"
    write(path, "NETCDF4:deflated")
    run("copy", path, out, "--select", "time=3:9,lon=20..130", "--no-history")
    assert not ncforge.compare(path, out)
    run("compare", path, out, "--select", "lon=20..130", code=3)
    # Each file by its own coordinates.
    run("compare", path, out, "--select", "time=2000-01-23..2000-01-28,lon=20..130")
    assert ncforge.compare(path, out, select={"time": (3.5, 8.5), "lon": (20.0, 130.0)})
    with netCDF4.Dataset(out, "a") as d:
        d["tas"][0, 0, 0] = 9
    assert not ncforge.compare(path, out, select={"time": (3.5, 8.5), "lon": (20.0, 130.0)})
    assert ncforge.compare(path, out, select={"time": (4.5, 8.5), "lon": (20.0, 130.0)}, vars=["tas"])


@pytest.mark.parametrize("storage", [tl.Storage(), tl.Storage("NETCDF4", zlib=True)])
def test_combine(tmp_path: Path, run: Run, storage: tl.Storage) -> None:
    """A part of the whole that tiles make: what is copied of the whole."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (3, 2), storage=storage)
    all_of_it, out, part = (tmp_path / f"{name}.nc" for name in ("all", "out", "part"))
    run("combine", mosaic.paths[0], "-o", all_of_it, "--no-history")
    for select in ("x=5:20", "y=3::4,x=::3", "x=-1", "y=8:16"):
        run("combine", mosaic.paths[0], "-o", out, "-O", "--no-history", "--verify", "--select", select)
        run("copy", "-O", all_of_it, part, "--select", select, "--no-history")
        assert ncforge.compare(out, part), select
    said = run("combine", mosaic.paths[0], "-o", out, "-O", "--select", "x=5:20", "--verify", "--delete-tiles").stderr
    assert all(path.exists() for path in mosaic.paths), said
    run("combine", mosaic.paths[0], "-o", out, "--append", "--select", "x=5:20", code=(1, 2))


def referred(refs: Any) -> xr.Dataset:
    return xr.open_dataset(
        "reference://",
        engine="zarr",
        backend_kwargs={"consolidated": False, "storage_options": {"fo": refs, "remote_protocol": "file"}},
    )


@pytest.mark.parametrize("kind", ["NETCDF4:deflated", "NETCDF4:contiguous", "NETCDF3_64BIT_DATA:chunked"])
@pytest.mark.filterwarnings("ignore")
def test_references(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "in.nc"
    write(path, kind)
    for select in (
        {"time": slice(8, 19)},
        {"time": slice(8, None), "lon": slice(6, 20)},
        {"lat": (-45.0, 45.0)},
        {"lon": (-36.0, 60.0)},
    ):
        refs = ncforge.references(path, inline=0, select=select)
        out = tmp_path / "out.nc"
        ncforge.copy(path, out, select=select, overwrite=True)
        with referred(refs) as found, xr.open_dataset(out) as wanted:
            xr.testing.assert_equal(found.load(), wanted[list(found.variables)].load())
            assert "tas" in found


@pytest.mark.filterwarnings("ignore")
def test_references_of_several_files(tmp_path: Path) -> None:
    paths = []
    for i in range(5):
        paths.append(tmp_path / f"{i}.nc")
        write(paths[-1], "NETCDF4:deflated", 0, (8, 17, 30))
        with netCDF4.Dataset(paths[-1], "a") as d:
            d["time"][:] = d["time"][:] + 8 * i
            d["tas"][:] = d["tas"][:] + i
    with xr.open_mfdataset(
        paths,
        combine="nested",
        concat_dim="time",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        decode_times=False,
    ) as all_of_it:
        tas = all_of_it["tas"].load()
    for select, first, end in (
        ({"time": slice(12, 30)}, 12, 30),
        ({"time": ("2000-02-01", "2000-02-13")}, 12, 25),
        ({"time": slice(16, 20)}, 16, 20),
    ):
        refs = ncforge.references(paths, along="time", select=select)
        with referred(refs) as found:
            np.testing.assert_array_equal(found["tas"], tas[first:end])
            assert found.sizes["time"] == end - first
    refs = ncforge.references(paths, along="time", select=select, inline=0)
    used = {chunk[0] for chunk in refs["refs"].values() if isinstance(chunk, list)}
    # What does not lie along `time` is the first file's.
    assert used == {str(paths[0]), str(paths[2])}


@pytest.mark.parametrize("where", ["x=3:10", "y=0:400:2", "x=1:"])
def test_chunks_that_a_subset_cuts(tmp_path: Path, run: Run, where: str) -> None:
    """Values are those of the chunks, written or not; a chunk that passes the memory is an error that says so."""
    source, out = tmp_path / "a.nc", tmp_path / "b.nc"
    with created(source, y=400, x=4096) as d:
        some = d.createVariable("some", "f4", ("y", "x"), zlib=True, chunksizes=(50, 64), fill_value=-1)
        some[100:150, :900] = np.arange(45000).reshape(50, 900)
        large = d.createVariable("large", "f4", ("y", "x"), zlib=True, chunksizes=(400, 4096))
        large[:] = 1
    dim, _, indices = where.partition("=")
    cut = slice(*(int(n) if n else None for n in indices.split(":")))
    index = {"x": (slice(None), cut), "y": (cut, slice(None))}[dim]
    run("copy", source, out, "--select", where, "--vars", "some", "--chunks", "y/50,x/64", "--verify")
    with netCDF4.Dataset(source) as a, netCDF4.Dataset(out) as b:
        assert np.array_equal(a["some"][index].filled(), b["some"][:].filled())
    run("compare", source, source, "--select", where)
    done = run("copy", source, out, "-O", "--select", where, "--memory", "4M", code=2)
    assert "needs 655" in done.stderr and "bytes of memory, the budget is" in done.stderr
    done = run("compare", source, source, "--select", where, "--memory", "4M", code=2)
    assert "needs 655" in done.stderr and "bytes of memory, the budget is" in done.stderr


@pytest.mark.parametrize(
    "where", ["lon=300..10", "lon=200..100", "lon=180..135", "lon==315..45", "lon=3", "lon=2:6", "lon=:"]
)
def test_a_part_is_compared_with_the_selection_of_the_whole(tmp_path: Path, run: Run, where: str) -> None:
    whole, out = tmp_path / "whole.nc", tmp_path / "part.nc"
    with created(whole, lon=8) as ds:
        lon = ds.createVariable("lon", "f8", ("lon",))
        lon.units, lon[:] = "degrees_east", np.arange(8) * 45.0
        ds.createVariable("v", "i4", ("lon",))[:] = np.arange(8)
    run("copy", whole, out, "--select", where)
    run("compare", whole, out, "--select", where)
    run("compare", whole, whole, "--select", where)
    with netCDF4.Dataset(out, "a") as ds:
        ds["v"][0] = 99
    run("compare", whole, out, "--select", where, code=3)
