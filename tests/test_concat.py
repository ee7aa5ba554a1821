"""``ncforge concat`` and ``ncforge ncrcat``: files of a series as one, judged by NCO's ncrcat and by netCDF4-python."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from conftest import Run
from datasets import FORMATS, created
from days import part, records, same, series
from ncforge import _core


@pytest.mark.parametrize("kind", FORMATS)
def test_the_output_is_that_of_ncrcat(tmp_path: Path, run: Run, tool: Callable[..., str], kind: str) -> None:
    lens = [3, 1, 4, 2]
    files = series(tmp_path, lens, kind=kind)
    out, judge, front = (tmp_path / name for name in ("out.nc", "judge.nc", "front.nc"))
    tool("ncrcat", "--no_cll_mth", "-O", *files, judge)
    run("concat", *files, "-o", out, "--verify")
    same(out, judge)
    run("ncrcat", *files, front)
    same(front, judge)
    with netCDF4.Dataset(out) as ds:
        assert ds.data_model.startswith(kind.split("_64")[0]) and ds["time"][:].tolist() == list(range(10))
        assert "concat" in ds.history and "made p_000.nc" in ds.history


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_random_series(tmp_path: Path, run: Run, tool: Callable[..., str], kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    types = ["i1", "i2", "i4", "f4", "f8", "S1"] + (
        [] if kind.startswith(("NETCDF3_C", "NETCDF3_64BIT_O", "NETCDF4_C")) else ["u2", "i8"]
    )
    deflated: dict[str, Any] = {"zlib": True, "shuffle": bool(seed % 2)} if kind.startswith("NETCDF4") else {}
    inner = {"x": int(rng.integers(1, 7)), "y": int(rng.integers(1, 5))}
    shapes = [("time",), ("time", "y", "x"), ("time", "x"), ("y", "x"), (), ("x",)]
    variables = [(f"v{i}", str(rng.choice(types)), shapes[rng.integers(len(shapes))]) for i in range(8)]
    fixed: dict[str, Any] = {}
    files = []
    for i in range(int(rng.integers(2, 7))):
        n = int(rng.integers(0, 5)) if i else 2
        path = tmp_path / f"r{i}.nc"
        with created(path, format=kind, time=None, **inner) as ds:
            for name, dtype, dims in variables:
                sizes = [n if d == "time" else inner[d] for d in dims]
                values = rng.integers(0, 100, sizes).astype("u1" if dtype == "S1" else dtype)
                values = values.view("S1") if dtype == "S1" else values
                if "time" not in dims:
                    values = fixed.setdefault(name, values)
                var = ds.createVariable(name, dtype, dims, **(deflated if dims else {}))
                var.set_auto_chartostring(False)
                var.long_name = f"the {name}"
                if values.size:
                    var[...] = values
            if not any("time" in dims for _, _, dims in variables):
                ds.createVariable("time", "f8", ("time",))[:] = 10.0 * i + np.arange(n)
        files.append(path)
    # NCO refuses files without records.
    tool("ncrcat", "--no_cll_mth", "-O", "-h", *(f for f in files if records(f)), tmp_path / "judge.nc")
    for name, options in {"a.nc": [], "b.nc": ["-j", "1", "--memory", "64M"]}.items():
        run("concat", *files, "-o", tmp_path / name, "--no-history", *options)
        same(tmp_path / name, tmp_path / "judge.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_groups_and_user_types(tmp_path: Path, run: Run, tool: Callable[..., str]) -> None:
    def more(ds: netCDF4.Dataset) -> None:
        n = len(ds.dimensions["time"])
        group = ds.createGroup("obs/deep")
        group.note = "below"
        group.createVariable("p", "f8", ("time",))[:] = np.arange(n) + ds["time"][0]
        own = ds.createGroup("own")
        own.createDimension("time", None)
        own.createVariable("q", "i4", ("time",))[:] = np.arange(2 * n)

    files = series(tmp_path, [2, 3], change=more)
    tool("ncrcat", "--no_cll_mth", "-O", *files, tmp_path / "judge.nc")
    run("concat", *files, "-o", tmp_path / "out.nc", "--verify")
    same(tmp_path / "out.nc", tmp_path / "judge.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds["own/q"][:].tolist() == [*range(4), *range(6)]


def test_strings_of_a_coordinate_keep_the_order(tmp_path: Path, run: Run) -> None:
    files = []
    for i, names in enumerate((["b", "c"], ["a"])):
        files.append(tmp_path / f"s{i}.nc")
        with created(files[-1], station=len(names)) as ds:
            ds.createVariable("station", str, ("station",))[:] = np.array(names, object)
            ds.createVariable("v", "i4", ("station",))[:] = np.arange(len(names)) + 10 * i
    run("concat", *files, "-o", tmp_path / "out.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds["station"][:].tolist() == ["b", "c", "a"] and ds["v"][:].tolist() == [0, 1, 10]
        assert not ds.dimensions["station"].isunlimited()


def test_a_fixed_dimension(tmp_path: Path, run: Run) -> None:
    values = np.arange(60, dtype="f4").reshape(3, 4, 5)
    cuts = [(0, 2), (2, 5)]
    for i, (a, b) in enumerate(cuts):
        with created(tmp_path / f"l{i}.nc", format="NETCDF3_CLASSIC", t=3, y=4, lon=b - a) as ds:
            ds.createVariable("lon", "f8", ("lon",))[:] = np.arange(a, b)
            ds.createVariable("v", "f4", ("t", "y", "lon"))[:] = values[:, :, a:b]
    files = [tmp_path / "l1.nc", tmp_path / "l0.nc"]
    done = run("concat", *files, "-o", tmp_path / "out.nc", "--along", "lon")
    assert "in the order of `lon`" in done.stderr
    run("concat", *files, "-o", tmp_path / "guessed.nc")
    same(tmp_path / "out.nc", tmp_path / "guessed.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert (ds["v"][:] == values).all() and ds["lon"][:].tolist() == [0, 1, 2, 3, 4]
    assert "--along DIM" in run("concat", files[0], "-o", tmp_path / "no.nc", code=2).stderr
    assert "latitude" in run("concat", *files, "-o", tmp_path / "no.nc", "--along", "latitude", code=2).stderr


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_the_order_is_that_of_the_coordinate(tmp_path: Path, run: Run, kind: str) -> None:
    files = series(tmp_path, [2, 1, 3, 1, 2], kind=kind)
    shuffled = [files[i] for i in (3, 0, 4, 2, 1)]
    for name, given in {"sorted": files, "shuffled": shuffled, "pattern": [tmp_path / "p_*.nc"]}.items():
        run("concat", *given, "-o", tmp_path / f"{name}.nc", "--no-history")
    same(tmp_path / "sorted.nc", tmp_path / "shuffled.nc")
    same(tmp_path / "sorted.nc", tmp_path / "pattern.nc")
    run("concat", *shuffled, "-o", tmp_path / "given.nc", "--unsorted")
    with netCDF4.Dataset(tmp_path / "given.nc") as ds:
        assert ds["time"][:].tolist() == [6, 0, 1, 7, 8, 3, 4, 5, 2]
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(f"{path}\n" for path in files))
    run("concat", f"@{listed}", "-o", tmp_path / "listed.nc", "--no-history")
    same(tmp_path / "sorted.nc", tmp_path / "listed.nc")


def test_overlaps_and_gaps(tmp_path: Path, run: Run) -> None:
    a, b, c = (part(tmp_path / f"{n}.nc", first, 3) for n, first in {"a": 0, "b": 2, "c": 6}.items())
    done = run("concat", b, a, "-o", tmp_path / "out.nc", code=4)
    assert re.search(r"`\S*b.nc` cannot follow `\S*a.nc`: there `time` ends at 2, here it begins at 2", done.stderr)
    assert "--unsorted" in done.stderr and not (tmp_path / "out.nc").exists()
    done = run("concat", a, c, "-o", tmp_path / "out.nc")
    assert re.search(r"lacks 3 steps between `\S*a.nc` \(2\) and `\S*c.nc` \(6\)", done.stderr)
    done = run("concat", b, a, "-o", tmp_path / "out.nc", "-O", "--unsorted")
    assert "cannot follow" in done.stderr
    with pytest.raises(ncforge.InvalidError, match="cannot follow"):
        ncforge.concat([a, b], tmp_path / "no.nc")


def set_scale(ds: netCDF4.Dataset) -> None:
    ds["count"].scale_factor = 0.5


def swap_flags(ds: netCDF4.Dataset) -> None:
    ds["flag"].flag_meanings = "sea land"


def no_fill(ds: netCDF4.Dataset) -> None:
    ds["tas"].units = "degC"


def new_lat(ds: netCDF4.Dataset) -> None:
    ds["lat"][1] = 77


def renamed(ds: netCDF4.Dataset) -> None:
    ds.renameVariable("flag", "flags")


def both(ds: netCDF4.Dataset) -> None:
    new_lat(ds)
    renamed(ds)


def longer(ds: netCDF4.Dataset) -> None:
    ds.createDimension("extra", 2)
    ds.createVariable("more", "f4", ("time", "extra"))


@pytest.mark.parametrize(
    ("change", "says"),
    [(set_scale, "count:scale_factor"), (swap_flags, "flag:flag_meanings"), (no_fill, "tas:units"),
     (new_lat, "`lat`, which does not lie along `time`"),
     (renamed, "`flag` is in 1 of 2 files"), (longer, "`more` is in 1 of 2 files")],
)  # fmt: skip
def test_files_that_do_not_go_together(tmp_path: Path, run: Run, change: Any, says: str) -> None:
    a, b = part(tmp_path / "a.nc", 0), part(tmp_path / "b.nc", 3, change=change)
    done = run("concat", a, b, "-o", tmp_path / "out.nc", code=4)
    assert says in done.stderr and ("b.nc" in done.stderr or "a.nc" in done.stderr)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "b.nc"]


def test_what_may_differ(tmp_path: Path, run: Run) -> None:
    def other(ds: netCDF4.Dataset) -> None:
        ds.tracking_id = ds.creation_date = ds.filepath()
        ds.title = "another"

    def first(ds: netCDF4.Dataset) -> None:
        ds.tracking_id = ds.creation_date = "x"

    a, b = part(tmp_path / "a.nc", 0, change=first), part(tmp_path / "b.nc", 3, change=other)
    done = run("concat", a, b, "-o", tmp_path / "out.nc")
    assert "global attribute `title` differs" in done.stderr and "tracking_id" not in done.stderr
    c = part(tmp_path / "c.nc", 6, change=both)
    done = run("concat", a, c, "-o", tmp_path / "out.nc", "-O", "--differing", "first", "--holes", "fill")
    assert "c.nc" in done.stderr
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds["lat"][1] == 1 and ds["flag"][3:].mask.all() and ds["flags"][:3].mask.all()
        assert not ds["flag"][:3].mask.any()


def test_empty_and_single_files(tmp_path: Path, run: Run, tool: Callable[..., str]) -> None:
    for kind in ("NETCDF3_CLASSIC", "NETCDF4"):
        empty, full = part(tmp_path / "e.nc", 0, 0, kind), part(tmp_path / "f.nc", 0, 2, kind)
        last = part(tmp_path / "g.nc", 2, 2, kind)
        for i, files in enumerate([[full, empty, last], [empty, full], [empty], [full], [empty, empty]]):
            out, judge = tmp_path / f"o{i}.nc", tmp_path / f"j{i}.nc"
            run("concat", *files, "-o", out, "-O", "--no-history", "--verify")
            if len(files) > 1 and files[0] is full:
                tool("ncrcat", "--no_cll_mth", "-O", "-h", *(f for f in files if records(f)), judge)
                same(out, judge)
            with netCDF4.Dataset(out) as ds:
                assert len(ds["time"]) == 2 * sum(f is not empty for f in files)


def chunk_bytes(path: Path, name: str) -> list[bytes]:
    """The chunks of a variable as they are stored, in the order of their places."""
    with h5py.File(path) as f:
        d = f[name].id
        infos = sorted((d.get_chunk_info(i) for i in range(d.get_num_chunks())), key=lambda c: c.chunk_offset)
        return [d.read_direct_chunk(c.chunk_offset)[1] for c in infos]


def test_chunks_are_moved_where_edges_agree(tmp_path: Path, run: Run) -> None:
    storage = {"zlib": True, "complevel": 4, "shuffle": True}
    files = series(tmp_path, [1] * 6, **storage)
    out = tmp_path / "out.nc"
    run("concat", *files, "-o", out)
    for name in ("tas", "count"):
        assert chunk_bytes(out, name) == [c for f in files for c in chunk_bytes(f, name)], name
    report = json.loads(run("concat", *files, "-o", out, "-O", "--json").stdout)
    assert report["copy"]["raw_variables"] >= 2 and report["files"] == 6
    run("concat", *files, "-o", out, "-O", "--codec", "none", "--chunks", "time/3")
    with netCDF4.Dataset(out) as ds:
        assert ds["tas"].chunking()[0] == 3 and not ds["tas"].filters()["zlib"]


@pytest.mark.parametrize("lens", [[4, 8, 3], [5, 3, 4], [4, 4, 1, 4]])
def test_chunks_that_edges_cut(tmp_path: Path, run: Run, tool: Callable[..., str], lens: list[int]) -> None:
    files, start = [], 0
    for i, n in enumerate(lens):
        files.append(tmp_path / f"c{i}.nc")
        with created(files[-1], time=None, x=5) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = np.arange(start, start + n)
            ds.createVariable("v", "i4", ("time", "x"), chunksizes=(4, 2), zlib=True, fletcher32=True)[:] = (
                np.random.default_rng(start).integers(0, 99, (n, 5))
            )
        start += n
    tool("ncrcat", "--no_cll_mth", "-O", "-h", *files, tmp_path / "judge.nc")
    run("concat", *files, "-o", tmp_path / "out.nc", "--no-history", "--verify")
    same(tmp_path / "out.nc", tmp_path / "judge.nc")


@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_more_files_than_descriptors(tmp_path: Path, ncforge_bin: Path, kind: str) -> None:
    files = series(tmp_path, [1] * 300, kind=kind)
    command = f"ulimit -n 64; exec {ncforge_bin} concat {tmp_path}/p_*.nc -o {tmp_path}/out.nc"
    execute("bash", "-c", command)
    with netCDF4.Dataset(tmp_path / "out.nc") as ds, netCDF4.Dataset(files[250]) as one:
        assert ds["time"][:].tolist() == list(range(300))
        assert (ds["tas"][250] == one["tas"][0]).all()


def test_an_interrupted_run_leaves_no_output(tmp_path: Path, run: Run, ncforge_bin: Path) -> None:
    files = []
    for i in range(12):
        files.append(tmp_path / f"big_{i:02}.nc")
        with created(files[-1], time=None, x=100_000) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = [i]
            ds.createVariable("v", "f8", ("time", "x"))[:] = np.random.default_rng(i).normal(size=(1, 100_000))
    out = tmp_path / "out.nc"
    options = ["--codec", "deflate", "--level", "9", "-j", "1", "--checkpoint", "0"]
    command = [ncforge_bin, "concat", *files, "-o", out, *options]
    running = subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL)
    partial = tmp_path / ".out.nc.ncforge-partial"
    while running.poll() is None and not (partial.exists() and partial.stat().st_size > 1_000_000):
        time.sleep(0.002)
    running.send_signal(signal.SIGINT)
    code = running.wait(timeout=60)
    assert code == 0 or not out.exists()
    run("concat", *files, "-o", out, *options, "--resume", *(["-O"] if code == 0 else []))
    with netCDF4.Dataset(out) as ds:
        assert all((ds["v"][i] == np.random.default_rng(i).normal(size=100_000)).all() for i in range(12))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*(f.name for f in files), "out.nc"])


def test_names_and_existing_outputs(tmp_path: Path, run: Run) -> None:
    files = series(tmp_path, [2, 2])
    done = run("concat", tmp_path / "p_*.nc", "-o", files[1], "-O", code=2)
    assert "is one of the files" in done.stderr and "-o" in done.stderr
    out = tmp_path / "year.nc"
    out.write_text("mine")
    assert "exists" in run("concat", *files, "-o", out, code=2).stderr and out.read_text() == "mine"
    assert "no file matches" in run("concat", tmp_path / "q_*.nc", "-o", out, "-O", code=4).stderr
    assert "none.nc" in run("concat", tmp_path / "none.nc", files[0], "-o", out, "-O", code=4).stderr
    run("concat", *files, "-o", out, "-O", "--dry-run")
    assert out.read_text() == "mine"
    run("concat", *files, "-o", out, "-O", "--vars", "tas,time", "-5")
    with netCDF4.Dataset(out) as ds:
        assert set(ds.variables) == {"tas", "time"} and ds.data_model == "NETCDF3_64BIT_DATA"


def test_python(tmp_path: Path) -> None:
    files = series(tmp_path, [2, 3], kind="NETCDF3_CLASSIC")
    plan = ncforge.plan_concat(files, tmp_path / "out.nc")
    assert (plan.files, plan.along, plan.length) == (2, "time", 5) and not (tmp_path / "out.nc").exists()
    report = ncforge.concat(
        str(tmp_path / "p_*.nc"), tmp_path / "out.nc", "time", format="netcdf4", codec="deflate", digest=True
    )
    assert report.length == 5 and report.copy.format == "netCDF-4" and report.raw["copy"]["digest"]
    with ncforge.Dataset(tmp_path / "out.nc") as ds:
        assert ds["time"][:].tolist() == list(range(5))
    with pytest.raises(TypeError, match="sorted"):
        ncforge.concat(files, tmp_path / "out.nc", sorted=True)  # type: ignore[call-arg]
    with pytest.raises(ncforge.ExistsError):
        ncforge.concat(files, tmp_path / "out.nc")


def test_what_is_told_is_what_was_written(tmp_path: Path, run: Run) -> None:
    """The steps are those of the output; chosen chunks and digests are told, as of a copy."""
    files = []
    for day in range(4):
        files.append(tmp_path / f"day_{day}.nc")
        with created(files[-1], time=None, x=60_000) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = np.arange(3.0) + 3 * day
            ds.createVariable("v", "f4", ("time", "x"), chunksizes=(1, 60_000))[:] = np.random.default_rng(day).random(
                (3, 60_000)
            )
    words = ["concat", *files, "--select", "time=2:7", "--chunks", "auto", "--for", "series", "--digest"]
    plan = run(*words, "-o", tmp_path / "a.nc", "--dry-run").stdout
    assert "`time`: 5 steps" in plan
    done = run(*words, "-o", tmp_path / "a.nc")
    assert "`time` has 5 steps" in done.stderr and "v: chunks of " in done.stderr
    again = run(*words, "-o", tmp_path / "a.nc", "--resume")
    assert again.stdout == done.stdout != "", "the digest"
    report = json.loads(run(*words, "-o", tmp_path / "b.nc", "--json").stdout)
    assert report["length"] == 5 and any(c["variable"] == "v" for c in report["copy"]["chosen"])
    for words in (["copy", *files], ["series", *files]):
        out = [f"{tmp_path / 'folder'}/"] if words[0] == "copy" else ["-o", tmp_path / "series"]
        said = run(*words, *out, "--chunks", "auto", "--for", "series").stderr
        assert said.count("v: chunks of ") == 1, said


def test_chunks_are_moved_whatever_else_a_file_has(tmp_path: Path, run: Run) -> None:
    """Another variable in one of the files is no reason to encode those that all have."""
    storage = {"zlib": True, "complevel": 4, "shuffle": True}
    files = series(tmp_path, [1] * 4, **storage)
    for file, name in ((files[0], "early"), (files[2], "late")):
        with netCDF4.Dataset(file, "a") as ds:
            ds.createVariable(name, "f4", ("time",))[:] = 1
    out = tmp_path / "out.nc"
    run("concat", *files, "-o", out, "--vars", "tas,count")
    for name in ("tas", "count"):
        assert chunk_bytes(out, name) == [c for f in files for c in chunk_bytes(f, name)], name
    run("concat", *files[1:], "-o", out, "-O", "--holes", "fill")
    assert chunk_bytes(out, "tas") == [c for f in files[1:] for c in chunk_bytes(f, "tas")]
    with netCDF4.Dataset(out) as ds:
        assert np.ma.getmaskarray(ds["late"][:]).tolist() == [True, False, True]


@pytest.mark.parametrize("what", ["padding", "NaN", "NaN of an attribute"])
def test_equal_values_of_other_bytes(tmp_path: Path, run: Run, what: str) -> None:
    """Bytes between the fields of a compound are no value, and a NaN is a NaN: ``compare``, ``concat``, ``combine`` and Python agree."""
    paths = [tmp_path / f"f_{i}.nc" for i in range(2)]
    nans = [np.array([bits, 0x3F800000], "u4").view("f4") for bits in (0x7FC00000, 0xFFC00000)]
    for i, path in enumerate(paths):
        with created(path, t=None, x=2, y=2) as ds:
            ds.createVariable("t", "i4", ("t",))[:] = [i]
            ds.createVariable("a", "i4", ("y",))[:] = [1, 2]
            if what == "padding":
                kind = np.dtype([("q", "i4"), ("r", "f8")], align=True)
                raw = np.full(2 * kind.itemsize, i * 85, "u1").view(kind)
                raw["q"], raw["r"] = [1, 2], [0.5, 0.25]
                ds.createVariable("s", ds.createCompoundType(kind, "ct"), ("x",))[:] = raw
            elif what == "NaN":
                s = ds.createVariable("s", "f4", ("x",))
                s.set_auto_mask(False)
                s[:] = nans[i]
            else:
                ds.createVariable("s", "f4", ("x",), fill_value=nans[i][0])[:] = [1, 2]
    run("compare", "--vars", "s,a", *paths)
    run("concat", *paths, "-o", tmp_path / "t.nc")
    place = ["--scheme", "generic", "--names", "f_{i}.nc", "--place", "y=tile:i", "--vars", "s,a"]
    run("combine", *paths, "-o", tmp_path / "y.nc", *place)
    if what == "NaN":
        run("refs", *paths, "-o", tmp_path / "t.json", "--along", "t")
    first, other = (ncforge.Dataset(path) for path in paths)
    with first, other:
        assert _core.equal_in_all(first._core, [other._core], [first["s"]._var_id]) == [True]


def test_an_empty_list_is_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    assert "/empty.txt` gives no arguments" in run("concat", f"@{tmp_path}/empty.txt", "-o", "out.nc", code=2).stderr
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        pool.submit((tmp_path / "pipe").write_text, "a.nc\n")
        assert "gives no arguments" not in run("concat", f"@{tmp_path}/pipe", "--unknown", code=2).stderr


def test_an_unlimited_dimension_behind_others(tmp_path: Path, run: Run) -> None:
    """As netCDF-C writes netCDF-4 files of the classic model. Classic formats have records, of which the dimension is the first."""
    files = [tmp_path / f"{i}.nc" for i in range(2)]
    for i, path in enumerate(files):
        with created(path, format="NETCDF4_CLASSIC", t=None, x=3) as ds:
            ds.createVariable("t", "f8", ("t",))[:] = [2 * i, 2 * i + 1]
            ds.createVariable("v", "f4", ("x", "t"))[:, :] = np.arange(6).reshape(3, 2) + 10 * i
    run("copy", files[0], tmp_path / "copy.nc")
    run("compare", files[0], tmp_path / "copy.nc")
    run("concat", *files, "-o", tmp_path / "out.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds.data_model == "NETCDF4_CLASSIC"
        assert ds["v"][:].tolist() == [[0, 1, 10, 11], [2, 3, 12, 13], [4, 5, 14, 15]]
    assert "is not the first" in run("copy", "-5", files[0], tmp_path / "five.nc", code=1).stderr
    assert "--fix-unlimited" in run("concat", "-5", *files, "-o", tmp_path / "five.nc", code=1).stderr
    run("concat", "-5", "--fix-unlimited", *files, "-o", tmp_path / "five.nc")


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_only_what_is_joined_has_to_agree(tmp_path: Path, run: Run, tool: Callable[..., str], kind: Any) -> None:
    """Variables that were not chosen may have other types, dimensions and units in each file, as with ncrcat."""
    files = series(tmp_path, [2, 1], kind=kind)
    for number, path in enumerate(files):
        with netCDF4.Dataset(path, "a") as ds:
            ds.createVariable("kind", ["f4", "i2"][number], ("time",))[:] = 1
            ds.createVariable("rank", "f4", [("time", "lat"), ("time", "lon")][number])[:] = 1
            ds.createVariable("meaning", "f4", ("time",)).units = ["K", "m"][number]
            ds.createVariable(f"own{number}", "f4", ("time",))[:] = 1
    for name in ("kind", "rank", "meaning"):
        assert f"{name}" in run("concat", *files, "-o", tmp_path / "no.nc", "--vars", f"tas,{name}", code=4).stderr
    judge, out = tmp_path / "judge.nc", tmp_path / "out.nc"
    tool("ncrcat", "--no_cll_mth", "-O", "-h", "-v", "tas", *files, judge)
    run("ncrcat", "-h", "-v", "tas", *files, out)
    same(out, judge)
    done = run("concat", *files, "-o", tmp_path / "two.nc", "--vars", "tas,time")
    assert "own" not in done.stderr and "meaning" not in done.stderr
    with netCDF4.Dataset(tmp_path / "two.nc") as ds:
        assert set(ds.variables) == {"tas", "time"} and len(ds["tas"]) == 3


def test_what_is_the_same_in_all_files_may_be_far_larger_than_what_is_stored(run: Run, tmp_path: Path) -> None:
    for t, value in ((0, 1), (1, 1), (2, 5)):
        with created(tmp_path / f"{t}.nc", t=None, x=2**40) as ds:
            ds.createVariable("t", "f8", ("t",))[0] = t
            ds.createVariable("v", "f4", ("x",), zlib=True, chunksizes=(1000,))[2**39] = value
    same, other = ([tmp_path / f"{t}.nc" for t in which] for which in ((0, 1), (0, 2)))
    assert "2 files" in run("concat", *same, "-o", tmp_path / "all.nc", "--dry-run", timeout=60).stdout
    said = run("concat", *other, "-o", tmp_path / "all.nc", "--dry-run", code=4, timeout=60).stderr
    assert f"[{2**39}]" in said


def test_two_byte_floats_are_floats(tmp_path: Path, run: Run) -> None:
    paths = [tmp_path / f"{i}.h5" for i in range(2)]
    kinds: dict[str, Any] = {"v": {"chunks": (2,), "compression": "gzip"}, "whole": {"chunks": (3,)}}
    for i, path in enumerate(paths):
        with h5py.File(path, "w") as f:
            time = f.create_dataset("time", data=np.arange(3.0) + 3 * i, maxshape=(None,), chunks=(3,))
            time.make_scale("time")
            for name, more in kinds.items():
                v = f.create_dataset(name, data=np.arange(3, dtype="f2") + 3 * i, maxshape=(None,), **more)
                v.dims[0].attach_scale(time)
    run("concat", *paths, "-o", tmp_path / "o.nc", "--verify")
    with netCDF4.Dataset(tmp_path / "o.nc") as ds:
        for name in ("v", "whole"):
            assert ds[name].dtype == "f4" and ds[name][:].tolist() == list(range(6))
