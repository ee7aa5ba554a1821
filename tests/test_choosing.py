"""ncforge's own choices: netCDF-C reads them, and ``ncforge doctor`` has nothing against them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import ncforge as command
from datasets import created


@pytest.mark.parametrize("goal", ["balanced", "fast-read", "small"])
def test_codecs_that_are_chosen_are_read_by_netcdf_c(tmp_path: Path, goal: str) -> None:
    rng = np.random.default_rng(3)
    fields = {
        "smooth": np.cumsum(rng.normal(size=(40, 60, 70)), axis=2).astype("f4"),
        "packed": np.cumsum(rng.integers(-2, 3, (40, 60, 70)), axis=0).astype("i2"),
        "noise": rng.integers(-(2**63), 2**63 - 1, (40, 60, 70), dtype="i8"),
        "flags": (rng.random((40, 60, 70)) < 0.02).astype("i1"),
    }
    source, target = tmp_path / "in.nc", tmp_path / "out.nc"
    with created(source, format="NETCDF3_64BIT_DATA", t=40, y=60, x=70) as ds:
        for name, values in fields.items():
            ds.createVariable(name, values.dtype, ("t", "y", "x"))[:] = values
    ncforge.copy(source, target, format="netcdf4", chunks="auto", codec="auto", goal=goal, verify=True)
    with netCDF4.Dataset(target) as ds:
        ds.set_auto_maskandscale(False)
        for name, values in fields.items():
            np.testing.assert_array_equal(ds[name][:], values)
        if goal == "small":
            assert {name for name in fields if ds[name].filters()["zlib"]} == {"smooth", "packed", "flags"}
    first = target.read_bytes()
    ncforge.copy(source, target, format="netcdf4", chunks="auto", codec="auto", goal=goal, overwrite=True)
    assert target.read_bytes() == first
    mistakes: list[dict[str, Any]] = [
        {"codec": "deflate", "goal": goal},
        {"codec": "auto", "goal": "best"},
        {"codec": "auto", "level": 3},
    ]
    for wrong in mistakes:
        with pytest.raises(ValueError, match=r"goal|level"):
            ncforge.copy(source, tmp_path / "no.nc", format="netcdf4", **wrong)


Array = np.ndarray[Any, np.dtype[Any]]


def run(*words: object, code: int = 0) -> str:
    """Runs the command, with the rates that it comes with. Gives what it printed."""
    printed: str = command(*words, code=code, env={"NCFORGE_MACHINE": "/nonexistent"}).stdout
    return printed


def waves(*shape: int) -> Array:
    """A field that compresses as measured ones do."""
    rng = np.random.default_rng(2)
    total = np.zeros(shape)
    for d, n in enumerate(shape):
        total += np.sin(np.arange(n) * 6.3 / max(n, 2) * (d + 1)).reshape(
            [-1 if e == d else 1 for e in range(len(shape))]
        )
    return (280 + 10 * total + 0.01 * rng.normal(size=shape)).astype("f4")


def define(d: netCDF4.Dataset, dims: dict[str, int | None], **storage: Any) -> Callable[..., Any]:
    """Makes dimensions, and coordinates named by CF attributes; gives what makes variables."""
    about = {
        "time": {"units": "days since 1850-01-01", "axis": "T", "bounds": "time_bnds"},
        "lat": {"units": "degrees_north", "axis": "Y"},
        "lon": {"units": "degrees_east", "axis": "X"},
        "depth": {"units": "m", "positive": "down", "axis": "Z"},
    }

    def variable(name: str, kind: str, along: tuple[str, ...], values: Array) -> None:
        v = d.createVariable(name, kind, along, **storage)
        v[:] = values

    for name, n in dims.items():
        d.createDimension(name, n)
    for name, n in dims.items():
        if name in about and n is not None:
            variable(name, "f8", (name,), np.arange(n, dtype="f8"))
            d[name].setncatts({k: v for k, v in about[name].items() if k != "bounds" or "bnds" in dims})
    return variable


def months(d: netCDF4.Dataset, variable: Callable[..., Any], n: int) -> None:
    """A growing time with bounds."""
    variable("time", "f8", ("time",), 30.0 * np.arange(n))
    d["time"].setncatts({"units": "days since 1850-01-01", "axis": "T", "bounds": "time_bnds"})
    variable("time_bnds", "f8", ("time", "bnds"), np.stack([30.0 * np.arange(n), 30.0 * np.arange(1, n + 1)], 1))


def climate_model(path: Path, form: Any) -> None:
    """As of CMIP3 (AR-4, AR-5): one field, time grows, with bounds."""
    with netCDF4.Dataset(path, "w", format=form) as d:
        variable = define(d, {"time": None, "lat": 64, "lon": 128, "bnds": 2})
        months(d, variable, 360)
        variable("pr", "f4", ("time", "lat", "lon"), waves(360, 64, 128))


def ocean(path: Path, form: Any) -> None:
    """Fields of three and four dimensions on a curved grid, a mask, depths, a scalar."""
    with netCDF4.Dataset(path, "w", format=form) as d:
        variable = define(d, {"time_counter": None, "depth": 25, "y": 120, "x": 150})
        for name in ("nav_lon", "nav_lat"):
            variable(name, "f4", ("y", "x"), waves(120, 150))
        variable("tmask", "i1", ("depth", "y", "x"), waves(25, 120, 150) > 280)
        variable("votemper", "f4", ("time_counter", "depth", "y", "x"), waves(6, 25, 120, 150))
        variable("sossheig", "f4", ("time_counter", "y", "x"), waves(6, 120, 150))
        variable("time_counter", "f8", ("time_counter",), np.arange(6.0))
        d["time_counter"].units = "seconds since 1900-01-01"
        variable("nn_it", "i4", (), np.array(7))


def stations(path: Path, form: Any) -> None:
    """Many stations, each with a month of values, names and places."""
    with netCDF4.Dataset(path, "w", format=form) as d:
        variable = define(d, {"station": 25_000, "time": 31, "letters": 12})
        names = np.array([list(f"station{i:05}") for i in range(25_000)], "S1")
        variable("name", "S1", ("station", "letters"), names)
        variable("rain", "f4", ("station", "time"), waves(25_000, 31))
        variable("height", "f8", ("station",), np.arange(25_000.0))


def swath(path: Path, form: Any) -> None:
    """Scan lines that grow; two dimensions do in netCDF-4."""
    along: dict[str, int | None] = {"band": 6, "line": None, "pixel": 400}
    with netCDF4.Dataset(path, "w", format=form) as d:
        if form == "NETCDF4":
            along["band"] = None
            variable = define(d, along)
            variable("radiance", "i2", ("band", "line", "pixel"), waves(6, 900, 400))
        else:
            variable = define(d, along)
            variable("radiance", "i2", ("line", "band", "pixel"), waves(900, 6, 400))
        for name in ("latitude", "longitude"):
            variable(name, "f4", ("line", "pixel"), waves(900, 400))


def records(path: Path, form: Any) -> None:
    """Thirty fields on few points, one record each after the other."""
    with netCDF4.Dataset(path, "w", format=form) as d:
        variable = define(d, {"time": None, "lat": 20, "lon": 30, "bnds": 2})
        months(d, variable, 400)
        for i in range(30):
            variable(f"v{i}", "f4" if i % 3 else "i2", ("time", "lat", "lon"), waves(400, 20, 30))


FILES = [climate_model, ocean, stations, swath, records]


@pytest.mark.parametrize("make", FILES, ids=[f.__name__ for f in FILES])
@pytest.mark.parametrize("form", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_the_doctor_is_content_with_copies(tmp_path: Path, make: Callable[[Path, Any], None], form: str) -> None:
    """Nothing that ncforge chose is worth a warning; from a classic file it chooses all of it."""
    source = tmp_path / "in.nc"
    make(source, form)
    given = [
        ["--chunks", "auto"],
        ["--chunks", "auto", "--codec", "deflate"],
        ["--chunks", "auto", "--codec", "auto"],
        ["--chunks", "auto", "--codec", "auto", "--goal", "small", "--skip-fill"],
    ]
    if form != "NETCDF4":
        given += [[], ["--codec", "deflate"]]
    for i, words in enumerate(given):
        out = tmp_path / f"out{i}.nc"
        run("copy", "-q", "--format", "netcdf4", source, out, *words)
        run("compare", "-q", source, out)
        run("doctor", out)


def test_the_doctor_is_content_with_what_programs_make(tmp_path: Path) -> None:
    """Shapes that nobody gave, in a file that Python writes."""
    path = tmp_path / "new.nc"
    with created(path, ncforge, time=None, lat=64, lon=128, bnds=2) as d:
        time = d.createVariable("time", "f8", ("time",))
        time.units, time.bounds = "days since 1850-01-01", "time_bnds"
        bounds = d.createVariable("time_bnds", "f8", ("time", "bnds"))
        v = d.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, complevel=1)
        for i in range(0, 360, 90):
            time[i : i + 90], bounds[i : i + 90] = np.arange(i, i + 90), np.zeros((90, 2))
            v[i : i + 90] = waves(90, 64, 128)
    run("doctor", path)


def test_the_cache_that_is_reported_for_netcdf_c_is_enough(tmp_path: Path) -> None:
    """With it, loops of the reads that were named fetch every chunk once; with a little less, again and again."""
    values = np.random.default_rng(5).integers(0, 2**31, (96, 40, 80), dtype="i4")
    source, path = tmp_path / "in.nc", tmp_path / "chunked.nc"

    def write(path: Path, **given: Any) -> None:
        with created(path, **dict(zip(("time", "lat", "lon"), values.shape, strict=True))) as ds:
            ds.createVariable("v", "i4", ("time", "lat", "lon"), **given)[:] = values

    write(source)
    given = ["tune", "chunks", "--for", "series,map", "--reader", "netcdf-c", source]
    (reported,) = json.loads(run(*given, "--json"))["variables"]
    chunks, cache = reported["choice"]["chunks"], reported["choice"]["cache"]
    call = f"nc_set_var_chunk_cache(ncid, varid, {cache['size']}, {cache['slots']}, {cache['preemption']})"
    assert call in run(*given)
    assert "nc_set_var_chunk_cache" not in run(*given[:4], source)
    write(path, zlib=True, complevel=1, shuffle=True, chunksizes=chunks)

    def fetched(size: int) -> int:
        def count() -> int:
            lines = Path("/proc/self/io").read_text().splitlines()
            return int(dict(line.split(": ") for line in lines)["rchar"])

        with netCDF4.Dataset(path) as ds:
            v = ds["v"]
            v.set_var_chunk_cache(size, cache["slots"], cache["preemption"])
            before = count()
            for t in range(0, values.shape[0], 2):
                np.testing.assert_array_equal(v[t], values[t])
            points = np.indices(values.shape[1:]).reshape(2, -1).T[::3]
            for y, x in sorted(points.tolist(), key=lambda p: [p[0] // chunks[1], p[1] // chunks[2], *p]):
                np.testing.assert_array_equal(v[:, y, x], values[:, y, x])
            return count() - before

    enough, less = fetched(cache["size"]), fetched(min(cache["size"] - 1, 4 * cache["size"] // 5))
    # Each loop fetches all once.
    assert enough < 2.2 * path.stat().st_size
    assert less > 2 * enough


#: Lengths of time, lat and lon, and filters: the same question to everybody.
QUESTIONS = [
    ((365, 64, 128), {"zlib": True, "complevel": 1, "shuffle": True}),
    ((120, 96, 96), {}),
    ((12, 90, 180), {"zlib": True, "complevel": 1, "shuffle": True}),
    ((2000, 8, 9), {}),
]


@pytest.mark.parametrize(("shape", "filters"), QUESTIONS)
def test_everybody_gives_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], filters: dict[str, Any]
) -> None:
    """``tune chunks``, ``copy --chunks auto`` and its equal in Python, the doctor's command, and a variable that is about to be
    created with no values yet."""
    monkeypatch.setenv("NCFORGE_MACHINE", "/nonexistent")
    source = tmp_path / "in.nc"
    noise = np.random.default_rng(4).random(shape, dtype="f4")
    with netCDF4.Dataset(source, "w") as d:
        define(d, dict(zip(("time", "lat", "lon"), shape, strict=True)))
        d.createVariable("v", "f4", ("time", "lat", "lon"), chunksizes=(1, *shape[1:]), **filters)[:] = noise

    def chunks_of(path: Path) -> list[int]:
        with netCDF4.Dataset(path) as d:
            found: list[int] = d["v"].chunking()
            return found

    def tuned(*options: str) -> list[int]:
        (found,) = json.loads(run("tune", "chunks", source, "--vars", "v", "--json", *options))["variables"]
        chunks: list[int] = found["choice"]["chunks"]
        return chunks

    answers = {"tune": tuned()}
    run("copy", "-q", "--chunks", "auto", source, tmp_path / "copy.nc")
    answers["copy"] = chunks_of(tmp_path / "copy.nc")
    ncforge.copy(source, tmp_path / "python.nc", chunks="auto")
    answers["copy in Python"] = chunks_of(tmp_path / "python.nc")
    findings = json.loads(run("doctor", "--json", "--fail-on", "never", source))["files"][0]["findings"]
    commands = [c for f in findings if f["code"] == "NC101" for c in f["commands"]]
    words = {c.split("--chunks v:")[1].split()[0] for c in commands}
    assert words <= {",".join(map(str, tuned()))}, commands
    assert words or not filters or shape[0] < 100, "time chunked by 1 is slow"
    bare = tuned("--no-sample")
    with created(tmp_path / "new.nc", ncforge, **dict(zip(("time", "lat", "lon"), shape, strict=True))) as new:
        chunks = new.createVariable("v", "f4", ("time", "lat", "lon"), **filters).chunking()
    # Without filters nothing needs chunks there.
    assert chunks == (bare if filters else "contiguous")
    assert len({tuple(a) for a in answers.values()}) == 1, answers
    # Asked again, of what it made itself, it has nothing to say.
    again = json.loads(run("doctor", "--json", tmp_path / "copy.nc"))["files"][0]["findings"]
    assert not [f for f in again if f["code"].startswith(("NC1", "NC2"))], again


def test_bounds_are_not_cut_apart(tmp_path: Path) -> None:
    """The corners of a cell lie together, also in long variables."""
    path = tmp_path / "in.nc"
    with created(path, format="NETCDF3_64BIT_OFFSET", cell=300_000, corner=4) as d:
        d.createVariable("lat", "f8", ("cell",)).bounds = "lat_edges"
        d.createVariable("lat_edges", "f8", ("cell", "corner"))[:] = np.arange(1_200_000.0).reshape(-1, 4)
    out = tmp_path / "out.nc"
    run("copy", "-q", "--format", "netcdf4", "--chunks", "auto", "--codec", "deflate", path, out)
    with netCDF4.Dataset(out) as d:
        cells, corners = d["lat_edges"].chunking()
        assert corners == 4 and cells > 100


#: Lengths of time (and whether it can grow), lat and lon, and the least bytes of a chunk when that is created, and when all is written.
LARGE = [
    ((400, False, 64, 128), 1 << 20, 1 << 20),
    ((40, True, 180, 360), 180 * 360 * 4, 1 << 20),
    ((3, True, 721, 1440), 1 << 20, 1 << 20),
    ((100, False, 60, 90), 1 << 20, 1 << 20),
]


@pytest.mark.parametrize(("shape", "at_first", "written"), LARGE)
def test_large_variables_get_no_small_chunks_unasked(
    tmp_path: Path, shape: tuple[int, bool, int, int], at_first: int, written: int
) -> None:
    """Dask makes a task of every chunk: `createVariable` and `to_netcdf` choose none that is small."""
    xr = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    (time, grows, lat, lon), names = shape, ("time", "lat", "lon")
    lengths = (time, lat, lon)
    with created(
        tmp_path / "new.nc", ncforge, **dict(zip(names, (None if grows else time, lat, lon), strict=True))
    ) as new:
        chunks = new.createVariable("v", "f4", names, compression="zlib").chunking()
    assert isinstance(chunks, list) and math.prod(chunks) * 4 >= at_first
    ds = xr.Dataset({"v": (names, np.zeros(lengths, "f4"))}).chunk({"time": 10})
    sizes = {}
    asked: dict[str, dict[str, Any]] = {"plain": {}, "auto": {"chunks": "auto"}, "reads": {"for_": "series=3,map=1"}}
    for name, options in asked.items():
        path = tmp_path / f"{name}.nc"
        ncforge.to_netcdf(ds, path, codec="zlib", unlimited_dims=["time"] if grows else [], **options)
        with netCDF4.Dataset(path) as made:
            sizes[name] = math.prod(made["v"].chunking()) * 4
    assert min(sizes.values()) >= written, sizes
    ncforge.copy(tmp_path / "plain.nc", tmp_path / "alone.nc", chunks="auto", reader="ncforge")
    with netCDF4.Dataset(tmp_path / "alone.nc") as made:
        assert math.prod(made["v"].chunking()) * 4 <= min(sizes.values())
