"""``ncforge series``: one file for each variable, judged by NCO's ``ncrcat -v`` and by netCDF4-python."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from conftest import Run
from datasets import FORMATS, created
from days import described, same
from stopping import changes, killed, start

#: Days before each month of a year without leap days.
MONTHS = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def month(folder: Path, number: int, kind: Any, stream: str = "cam.h0", **storage: Any) -> Path:
    """A file as CAM writes it: means over a month, whose time is the end of the month. Month 0 is January of year 1."""
    year, at = divmod(number, 12)
    first, last = 365 * year + MONTHS[at], 365 * year + MONTHS[at + 1]
    rng = np.random.default_rng(number)
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"case.01.{stream}.{year + 1:04}-{at + 1:02}.nc"
    with created(path, format=kind, time=None, lev=3, lat=4, lon=6, nbnd=2, chars=8) as ds:
        ds.case = "case.01"
        ds.history = f"made {path.name}"
        t = ds.createVariable("time", "f8", ("time",))
        t.units, t.calendar, t.bounds = "days since 0001-01-01 00:00:00", "noleap", "time_bnds"
        t[:] = [last]
        ds.createVariable("time_bnds", "f8", ("time", "nbnd"))[:] = [[first, last]]
        lev = ds.createVariable("lev", "f8", ("lev",))
        lev.formula_terms, lev[:] = "a: hyam b: hybm p0: P0 ps: PS", [1.0, 2.0, 3.0]
        for name in ("hyam", "hybm"):
            ds.createVariable(name, "f8", ("lev",))[:] = [0.1, 0.2, 0.3]
        ds.createVariable("P0", "f8", ())[...] = 1e5
        ds.createVariable("lat", "f8", ("lat",))[:] = np.arange(4)
        ds.createVariable("lon", "f8", ("lon",))[:] = np.arange(6)
        ds.createVariable("area", "f8", ("lat", "lon"))[:] = 1.5
        ds.createVariable("date", "i4", ("time",))[:] = [10_000 * (year + 1) + number]
        ds.createVariable("co2vmr", "f8", ("time",))[:] = rng.random(1)
        written = ds.createVariable("date_written", "S1", ("time", "chars"))
        written[:] = np.array([list("11/27/26")], "S1")
        for name, dims in {"PS": (4, 6), "T": (3, 4, 6), "TS": (4, 6)}.items():
            over = ("time", *(("lev",) if len(dims) == 3 else ()), "lat", "lon")
            var = ds.createVariable(name, "f4", over, fill_value=np.float32(1e20), **storage)
            var.units, var.cell_measures = "1", "area: area"
            var[:] = rng.normal(size=(1, *dims))
    return path


def months(folder: Path, count: int, kind: Any = "NETCDF3_64BIT_DATA", first: int = 0, **storage: Any) -> list[Path]:
    """So many of them."""
    return [month(folder, number, kind, **storage) for number in range(first, first + count)]


def names(folder: Path) -> list[str]:
    """The files of a folder, hidden ones too."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", FORMATS)
def test_monthly_files_of_a_climate_model(tmp_path: Path, run: Run, tool: Callable[..., str], kind: str) -> None:
    storage: dict[str, Any] = {"zlib": True} if kind.startswith("NETCDF4") else {}
    files = months(tmp_path / "hist", 14, kind, **storage)
    files += [month(tmp_path / "land", number, kind, "clm2.h0") for number in range(2)]
    out = tmp_path / "out"
    run("series", *reversed(files), "-o", out, "--verify")
    assert names(out) == sorted(
        [f"case.01.cam.h0.{v}.000101-000202.nc" for v in ("PS", "T", "TS")]
        + [f"case.01.clm2.h0.{v}.000101-000102.nc" for v in ("PS", "T", "TS")]
    )
    for name in ("PS", "T", "TS"):
        tool("ncrcat", "--no_cll_mth", "-O", "-v", name, *files[:14], tmp_path / "judge.nc")
        same(out / f"case.01.cam.h0.{name}.000101-000202.nc", tmp_path / "judge.nc", more=True)
    with netCDF4.Dataset(out / "case.01.cam.h0.TS.000101-000202.nc") as ds:
        fixed = {"lev", "lat", "lon", "hyam", "hybm", "P0", "area"}
        along = {"time", "time_bnds", "date", "co2vmr", "date_written"}
        assert set(ds.variables) == {*fixed, *along, "TS"} and ds.dimensions["time"].isunlimited()
        assert "series" in ds.history and "..." in ds.history and "made case" in ds.history
    with netCDF4.Dataset(out / "case.01.cam.h0.T.000101-000202.nc") as ds:
        assert "PS" in ds.variables, "a term of the formula of its levels"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("has_times", [True, False])
def test_files_of_one_time_without_a_coordinate(
    tmp_path: Path, run: Run, tool: Callable[..., str], kind: Any, has_times: bool
) -> None:
    files = []
    for domain in (1, 2):
        for hour in range(0, 48, 6):
            stamp = f"2000-02-{28 + hour // 24}_{hour % 24:02}:00:00"
            files.append(tmp_path / f"wrfout_d{domain:02}_{stamp}")
            with created(files[-1], format=kind, Time=None, DateStrLen=19, y=3 * domain, x=4) as ds:
                ds.TITLE = "OUTPUT FROM WRF"
                if has_times:
                    ds.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = np.array([list(stamp)], "S1")
                for name in ("XLAT", "XLONG"):
                    ds.createVariable(name, "f4", ("Time", "y", "x"))[:] = 1.0
                for name in ("T2", "HGT"):
                    var = ds.createVariable(name, "f4", ("Time", "y", "x"))
                    var.coordinates, var.FieldType = "XLONG XLAT", np.int32(104)
                    var[:] = np.random.default_rng(hour + domain).normal(size=(1, 3 * domain, 4))
    out = tmp_path / "out"
    run("series", *reversed(files), "-o", out)
    end = "200002291800" if has_times else "20000229180000"
    begin = "200002280000" if has_times else "20000228000000"
    assert names(out) == sorted(f"wrfout_d{d:02}.{v}.{begin}-{end}.nc" for d in (1, 2) for v in ("T2", "HGT"))
    for d in (1, 2):
        ours = out / f"wrfout_d{d:02}.T2.{begin}-{end}.nc"
        judge = tmp_path / "judge.nc"
        tool("ncrcat", "--no_cll_mth", "-O", "-v", "T2", *files[8 * (d - 1) : 8 * d], judge)
        same(ours, judge, more=True)
        if has_times:
            shuffled = files[8 * d - 3 : 8 * d] + files[8 * d - 8 : 8 * d - 3]
            run("concat", *shuffled, "-o", tmp_path / "joined.nc", "-O")
            same(tmp_path / "joined.nc", judge, more=True)
        with netCDF4.Dataset(ours) as ds:
            assert ("Times" in ds.variables) == has_times and "HGT" not in ds.variables


@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_files_with_two_dates_in_their_names(tmp_path: Path, run: Run, tool: Callable[..., str], kind: Any) -> None:
    files = []
    for at, (first, last) in enumerate([("20000101", "20000131"), ("20000201", "20000229"), ("20000301", "20000331")]):
        for grid in ("T", "U"):
            folder = tmp_path / first[:6]
            folder.mkdir(exist_ok=True)
            files.append(folder / f"ORCA2_1m_{first}_{last}_grid_{grid}.nc")
            with created(files[-1], format=kind, time_counter=None, axis_nbounds=2, y=5, x=6, deptht=3) as ds:
                t = ds.createVariable("time_counter", "f8", ("time_counter",))
                t.units, t.calendar = "seconds since 1900-01-01 00:00:00", "gregorian"
                t.bounds = "time_counter_bounds"
                day = (np.datetime64(f"2000-{at + 1:02}-16T12") - np.datetime64("1900-01-01T00")) / np.timedelta64(
                    1, "s"
                )
                t[:] = [day]
                ds.createVariable("time_counter_bounds", "f8", ("time_counter", "axis_nbounds"))[:] = [
                    [day - 15.5 * 86400, day + 15.5 * 86400]
                ]
                for name in ("nav_lat", "nav_lon"):
                    ds.createVariable(name, "f4", ("y", "x"))[:] = 2.0
                for name in ("tos", "thetao") if grid == "T" else ("uo",):
                    three = name != "tos"
                    dims = ("time_counter", *(("deptht",) if three else ()), "y", "x")
                    var = ds.createVariable(name, "f4", dims, fill_value=np.float32(1e20))
                    var.coordinates, var.cell_methods = "nav_lat nav_lon", "time_counter: mean"
                    var[:] = np.random.default_rng(at).normal(size=(1, 3, 5, 6) if three else (1, 5, 6))
    out = tmp_path / "out"
    run("series", *files, "-o", out)
    assert names(out) == [
        "ORCA2_1m_grid_T.thetao.200001-200003.nc",
        "ORCA2_1m_grid_T.tos.200001-200003.nc",
        "ORCA2_1m_grid_U.uo.200001-200003.nc",
    ]
    for stream, name in (("T", "tos"), ("T", "thetao"), ("U", "uo")):
        tool(
            "ncrcat",
            "--no_cll_mth",
            "-O",
            "-v",
            name,
            *(f for f in files if f.stem.endswith(stream)),
            tmp_path / "j.nc",
        )
        same(out / f"ORCA2_1m_grid_{stream}.{name}.200001-200003.nc", tmp_path / "j.nc", more=True)


def test_outputs_are_cut_where_years_begin(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 40, "NETCDF4", first=100)
    run("series", *files, "-o", tmp_path / "all", "--vars", "TS", "--no-history")
    run("series", *files, "-o", tmp_path / "cut", "--vars", "TS", "--years", "2", "--no-history")
    # The 100th month is May of year 9.
    parts = ["000905-000912", "001001-001112", "001201-001208"]
    assert names(tmp_path / "cut") == [f"case.01.cam.h0.TS.{part}.nc" for part in parts]
    judge = tmp_path / "judge.nc"
    run("concat", *sorted((tmp_path / "cut").iterdir()), "-o", judge, "--no-history")
    with netCDF4.Dataset(tmp_path / "all" / "case.01.cam.h0.TS.000905-001208.nc") as a, netCDF4.Dataset(judge) as b:
        assert described(a) == described(b)


@pytest.mark.parametrize("options", [[], ["-4", "--codec", "deflate", "--chunks", "time/4"], ["--years", "1"]])
@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_DATA", "NETCDF4"])
def test_outputs_grow(tmp_path: Path, run: Run, kind: Any, options: list[str]) -> None:
    files = months(tmp_path / "hist", 15, kind)
    fresh, grown = tmp_path / "fresh", tmp_path / "grown"
    run("series", *files, "-o", fresh, *options, "--no-history")
    for known in (10, 11, 15):
        # Once with the new files alone, then with those that are in the outputs, too.
        given = files[10:11] if known == 11 else files[:known]
        done = run("series", *given, "-o", grown, "--append", *options, "--no-history", "--json")
        outputs = [o for s in json.loads(done.stdout)["streams"] for o in s["outputs"]]
        assert {o["state"] for o in outputs} <= {"made", "grown", "unchanged"}
        if known == 11 and (kind == "NETCDF4" or options[:1] == ["-4"]):
            assert all(o["raw_variables"] > 0 for o in outputs if o["state"] == "grown"), "what an output has is moved"
    assert names(grown) == names(fresh)
    for name in names(fresh):
        with netCDF4.Dataset(fresh / name) as a, netCDF4.Dataset(grown / name) as b:
            assert described(a) == described(b), name
            assert a["TS" if ".TS." in name else "PS"].filters() == b["TS" if ".TS." in name else "PS"].filters()
    before = {name: (grown / name).stat().st_mtime_ns for name in names(grown)}
    done = run("series", *files, "-o", grown, "--append", *options, "--json")
    assert {o["state"] for s in json.loads(done.stdout)["streams"] for o in s["outputs"]} == {"unchanged"}
    assert before == {name: (grown / name).stat().st_mtime_ns for name in names(grown)}
    # A file that has steps that the outputs have, and others.
    wide = tmp_path / "case.01.cam.h0.0002-03.nc"
    run("concat", files[14], month(tmp_path / "next", 15, kind), "-o", wide)
    assert "cannot follow" in run("series", wide, "-o", grown, "--append", *options, code=4).stderr
    assert "cannot be used with" in run("series", *files, "-o", grown, "--append", "-O", code=2).stderr


def test_growth_that_was_killed_is_completed(tmp_path: Path, run: Run) -> None:
    """Wherever it is killed, the next run has the outputs of one that was not, and nothing else; with and without ``--resume``."""
    files = months(tmp_path / "hist", 26, "NETCDF4", zlib=True)
    options = ["--vars", "TS", "--years", "1", "--no-history", "--checkpoint", "0"]
    fresh, old = tmp_path / "fresh", tmp_path / "old"
    run("series", *files, "-o", fresh, *options)
    run("series", *files[:8], "-o", old, *options)
    grown = tmp_path / "grown"
    command = ["series", *files, "-o", grown, "--append", *options]
    shutil.copytree(old, grown)
    work = changes(*command)
    for at in range(1, work + 1, max(1, work // 40)):
        shutil.rmtree(grown)
        shutil.copytree(old, grown)
        killed(at, *command)
        run(*command, *(["--resume"] if at % 2 else []))
        assert sorted(p.name for p in grown.iterdir()) == names(fresh), at
        for name in names(fresh):
            run("compare", fresh / name, grown / name)


@pytest.mark.parametrize("fixed", [False, True])
def test_outputs_grow_where_the_files_have_more_groups(tmp_path: Path, run: Run, fixed: bool) -> None:
    """Outputs have the group of their variable alone, and with `--fix-unlimited` no unlimited dimension."""
    paths = [tmp_path / f"run.st.2000-{m}.nc" for m in ("01", "02", "03")]
    for m, path in enumerate(paths):
        with created(path, time=None, x=3) as ds:
            t = ds.createVariable("time", "f8", ("time",))
            t.units, t[:] = "days since 2000-01-01", [31 * m]
            ds.createVariable("tas", "f4", ("time", "x"))[:] = m
            ds.createGroup("ocean").createVariable("tos", "f4", ("time", "x"))[:] = -m
            ds.createVariable("flag", "S1", ("time", "x", "x"))[:] = np.array(
                [[list(f"q{m}{s}") for s in range(3)]], "S1"
            )
    options = ["--fix-unlimited"] if fixed else []
    grown, fresh = tmp_path / "grown", tmp_path / "fresh"
    run("series", *paths[:2], "-o", grown, *options)
    run("series", paths[2], "-o", grown, "--append", *options)
    run("series", *paths, "-o", fresh, *options)
    assert names(grown) == names(fresh) and len(names(fresh)) == 3
    for name in names(fresh):
        run("compare", grown / name, fresh / name)
        with netCDF4.Dataset(grown / name) as ds:
            assert ds.dimensions["time"].isunlimited() != fixed
    with netCDF4.Dataset(next(grown.glob("*flag*"))) as ds:
        assert ds["flag"][2, 1].tobytes() == b"q21"
    with netCDF4.Dataset(next(grown.glob("*tos*"))) as ds:
        assert ds["ocean/tos"][:, 0].tolist() == [0, -1, -2]


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL])
def test_killed_and_resumed_gives_the_same_bytes(tmp_path: Path, run: Run, with_signal: signal.Signals) -> None:
    files = []
    for at in range(12):
        files.append(tmp_path / f"big.{2000 + at}.nc")
        with created(files[-1], time=None, x=10_000) as ds:
            t = ds.createVariable("time", "f8", ("time",))
            t.units, t[:] = "days since 2000-01-01", [365 * at]
            for v in range(6):
                values = np.random.default_rng([at, v]).normal(size=(1, 10_000))
                ds.createVariable(f"v{v}", "f8", ("time", "x"))[:] = values
    options = ["--codec", "deflate", "--level", "9", "-j", "1", "--checkpoint", "0", "--no-history"]
    whole = tmp_path / "whole"
    work = changes("series", *files, "-o", whole, *options)
    for part in (0.1, 0.5, 0.9, 1.0):
        out = tmp_path / f"out{part}"
        command = ["series", *files, "-o", out, *options]
        if with_signal == signal.SIGKILL:
            assert killed(round(part * work), *command)
        else:
            running = start(*command)
            while running.poll() is None and not (out.exists() and len(list(out.glob("*"))) > part * 6):
                time.sleep(0.002)
            running.send_signal(with_signal)
            running.communicate(timeout=60)
        if out.exists():
            assert {p.name for p in out.iterdir() if not p.name.startswith(".")} <= set(names(whole))
        run("series", *files, "-o", out, *options, "--resume")
        assert names(out) == names(whole)
        for name in names(out):
            assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    made = {p: p.stat().st_mtime_ns for p in out.iterdir()}
    done = json.loads(run("series", *files, "-o", out, *options, "--resume", "--json").stdout)
    assert {o["state"] for o in done["streams"][0]["outputs"]} == {"complete"}
    assert made == {p: p.stat().st_mtime_ns for p in out.iterdir()}


def test_bad_files_are_named_and_the_others_go_on(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 5, "NETCDF4")
    land = [month(tmp_path / "hist", number, "NETCDF4", "clm2.h0") for number in range(2)]
    files[2].write_bytes(files[2].read_bytes()[:3000])
    files[4].write_text("nothing")
    bad = {str(files[2]), str(files[4])}
    done = run("series", *files, *land, "-o", tmp_path / "no", code=4)
    assert any(name in done.stderr for name in bad) and "--keep-going" in done.stderr
    out = tmp_path / "out"
    done = run("series", *files, *land, "-o", out, "--keep-going", "--json", code=3)
    report = json.loads(done.stdout)
    stream = report["streams"][0]
    assert {b["file"] for b in stream["bad"]} == bad and report["failures"] == 2 and stream["files"] == 3
    assert all(name in done.stderr for name in bad)
    assert {o["path"].rsplit(".", 2)[1] for o in stream["outputs"]} == {"000101-000104"}
    assert len(names(out)) == 6


def test_overlaps_and_streams_that_do_not_go_together(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "a", 3, "NETCDF3_CLASSIC")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    other = [month(tmp_path / "a", number, "NETCDF3_CLASSIC", "cice.h") for number in range(3)]
    again = sorted((tmp_path / "b").iterdir())
    done = run("series", *files, *again[2:], *other, "-o", tmp_path / "no", code=4)
    assert "cannot follow" in done.stderr and str(again[2]) in done.stderr
    done = run("series", *files, *again[2:], *other, "-o", tmp_path / "out", "--keep-going", "--json", code=3)
    first, second = json.loads(done.stdout)["streams"]
    assert "cannot follow" in first["overlaps"][0] and first["error"] and not first["outputs"]
    assert second["error"] is None and len(second["outputs"]) == 3 and len(names(tmp_path / "out")) == 3
    with netCDF4.Dataset(other[1], "a") as ds:
        ds["TS"].units = "K"
    done = run("series", *files, *other, "-o", tmp_path / "more", "--keep-going", code=3)
    assert "case.01.cice.h" in done.stderr and "TS:units" in done.stderr
    assert {name.split(".")[-3] for name in names(tmp_path / "more") if "cice" in name} == {"PS", "T"}
    assert len(names(tmp_path / "more")) == 5
    # What is in every output differs: nothing can be made.
    for path in other[1:]:
        with netCDF4.Dataset(path, "a") as ds:
            ds["time"].units = "m"
    done = run("series", *other, "-o", tmp_path / "none", "--keep-going", code=3)
    assert "nothing is made" in done.stderr and "time:units" in done.stderr and not (tmp_path / "none").exists()


def test_variables_that_differ_between_files_are_left_out(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 4, "NETCDF4")
    with netCDF4.Dataset(files[2], "a") as ds:
        ds["PS"].units = "Pa"
        ds.renameVariable("T", "old")
        ds.createVariable("T", "f8", ("time", "lat"))[:] = 1
        ds.createVariable("NEW", "f4", ("time", "lat"))[:] = 2
    done = run("series", *files, "-o", tmp_path / "out", "--keep-going", "--json", code=3)
    (stream,) = json.loads(done.stdout)["streams"]
    states = {o["variable"]: o["state"] for o in stream["outputs"]}
    assert states == {"PS": "failed", "T": "failed", "TS": "made", "old": "failed", "NEW": "failed"}
    assert "PS:units" in done.stderr and "`T`" in done.stderr
    assert names(tmp_path / "out") == ["case.01.cam.h0.TS.000101-000104.nc"]
    # Only what is wanted has to agree.
    run("series", *files, "-o", tmp_path / "one", "--vars", "TS", "--verify")
    same(
        tmp_path / "one" / names(tmp_path / "one")[0],
        tmp_path / "out" / "case.01.cam.h0.TS.000101-000104.nc",
        more=True,
    )


def test_a_variable_that_only_later_files_have(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 3, "NETCDF3_CLASSIC")
    for path in files[1:]:
        with netCDF4.Dataset(path, "a") as ds:
            ds.createVariable("NEW", "f4", ("time", "lat"), fill_value=-9)[:] = 2
    command = ["series", *files, "-o", tmp_path / "out", "--vars"]
    done = run(*command, "NEW", code=4)
    assert "in 2 of 3 files" in done.stderr and files[0].name in done.stderr and "--holes fill" in done.stderr
    run(*command, "NEW", "--holes", "fill")
    (name,) = names(tmp_path / "out")
    with netCDF4.Dataset(tmp_path / "out" / name) as ds:
        assert ds["NEW"][:].filled().tolist() == [[-9] * 4, [2] * 4, [2] * 4] and {"lat", "time_bnds"} <= set(
            ds.variables
        )
    assert "no variable `NEVER`" in run(*command, "NEVER", code=2).stderr


def test_gaps_and_attributes_that_differ_are_told(tmp_path: Path, run: Run) -> None:
    def day(number: int, source: str) -> Path:
        path = tmp_path / f"x.2001-01-{number:02}.nc"
        with created(path, time=None, x=3) as ds:
            ds.source = source
            t = ds.createVariable("time", "f8", ("time",))
            t.units, t[:] = "days since 2001-01-01", [number - 1]
            ds.createVariable("v", "f4", ("time", "x"))[:] = number
        return path

    files = [day(number, "new" if number == 3 else "old") for number in (1, 2, 3, 4, 7, 8)]
    done = run("series", *files, "-o", tmp_path / "out", "--json")
    stream = json.loads(done.stdout)["streams"][0]
    assert len(stream["gaps"]) == 1 and "lacks 2 steps" in stream["gaps"][0]
    assert len(stream["differing"]) == 1 and "source" in stream["differing"][0]
    assert stream["start"] == "20010101" and stream["end"] == "20010108" and not stream["overlaps"]
    assert "lacks 2 steps" in done.stderr and names(tmp_path / "out") == ["x.v.20010101-20010108.nc"]


def test_a_plan_writes_nothing(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 14)
    out = tmp_path / "out"
    done = run("series", *files, "-o", out, "--dry-run", "--years", "1")
    assert not out.exists()
    assert "case.01.cam.h0: 14 files" in done.stdout and "case.01.cam.h0.T.000201-000202.nc" in done.stdout
    plan = json.loads(run("series", *files, "-o", out, "-n", "--years", "1", "--json").stdout)
    assert plan["schema"] == "ncforge.series-plan" and plan["outputs"] == 6
    outputs = plan["streams"][0]["outputs"]
    assert [o["steps"] for o in outputs[:2]] == [12, 2] and all(o["state"] == "planned" for o in outputs)
    run("series", *files, "-o", out, "--years", "1")
    made = {path.name: path.stat().st_size for path in out.iterdir()}
    assert sorted(made) == sorted(Path(o["path"]).name for o in outputs)


def test_outputs_that_exist(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 3)
    out = tmp_path / "out"
    run("series", *files, "-o", out)
    kept = (out / "case.01.cam.h0.TS.000101-000103.nc").read_bytes()
    done = run("series", *files, "-o", out, code=2)
    assert "exists" in done.stderr and "--append" in done.stderr
    (out / "case.01.cam.h0.TS.000101-000103.nc").write_bytes(b"mine")
    run("series", *files, "-o", out, "-O", "--no-history")
    with netCDF4.Dataset(out / "case.01.cam.h0.TS.000101-000103.nc") as ds:
        assert len(ds["time"]) == 3 and kept
    assert "no file matches" in run("series", tmp_path / "q_*.nc", "-o", out, code=4).stderr


def test_names_and_variables(tmp_path: Path, run: Run) -> None:
    files = [*months(tmp_path / "hist", 3), month(tmp_path / "hist", 0, "NETCDF3_CLASSIC", "clm2.h0")]
    out = tmp_path / "out"
    run("series", *files, "-o", out, "--name", "{var}_{stream}_{start}.nc", "--vars", "co2vmr,TS")
    assert names(out) == [f"{v}_{s}_000101.nc" for v in ("TS", "co2vmr") for s in ("cam.h0", "clm2.h0")]
    with netCDF4.Dataset(out / "co2vmr_cam.h0_000101.nc") as ds:
        assert "TS" not in ds.variables and {"co2vmr", "time", "time_bnds", "area"} <= set(ds.variables)
    assert "did you mean" in run("series", *files, "-o", out, "--vars", "TZ", code=2).stderr
    assert "does not lie along" in run("series", *files, "-o", out, "--vars", "area", code=2).stderr
    done = run("series", *files, "-o", tmp_path / "one", "--name", "{var}.nc", code=2)
    assert "two outputs" in done.stderr
    assert "braces" in run("series", *files, "-o", out, "--name", "{variable}.nc", code=2).stderr
    run("series", *files[:3], "-o", tmp_path / "part", "--select", "time=1:3,lat=0:2", "--vars", "TS")
    assert names(tmp_path / "part") == ["case.01.cam.h0.TS.000102-000103.nc"]
    with netCDF4.Dataset(tmp_path / "part" / names(tmp_path / "part")[0]) as ds:
        assert ds["TS"].shape == (2, 2, 6)


def test_more_files_than_descriptors(tmp_path: Path, ncforge_bin: Path) -> None:
    files = months(tmp_path / "hist", 150, "NETCDF3_CLASSIC")
    command = f"ulimit -n 48; exec {ncforge_bin} series {tmp_path}/hist/*.nc -o {tmp_path}/out --years 5"
    execute("bash", "-c", command)
    assert len(names(tmp_path / "out")) == 9
    with (
        netCDF4.Dataset(tmp_path / "out" / "case.01.cam.h0.T.001001-001306.nc") as ds,
        netCDF4.Dataset(files[-1]) as one,
    ):
        assert (ds["T"][-1] == one["T"][0]).all()


def test_layouts_of_copies(tmp_path: Path, run: Run) -> None:
    files = months(tmp_path / "hist", 6, "NETCDF3_CLASSIC")
    run("series", *files, "-o", tmp_path / "out", "--profile", "cmip7", "--codec", "deflate", "--digest", "--verify")
    for name in names(tmp_path / "out"):
        with netCDF4.Dataset(tmp_path / "out" / name) as ds:
            assert ds.data_model.startswith("NETCDF4") and ds["time"].chunking()[0] >= 6
            assert ds[name.split(".")[4]].filters()["zlib"]


def test_python(tmp_path: Path) -> None:
    files = months(tmp_path / "hist", 14, "NETCDF4")
    out = tmp_path / "out"
    plan = ncforge.plan_series(files, out, years=1)
    assert plan.outputs == 6 and plan.streams[0].outputs[0].state == "planned" and not out.exists()
    seen: list[tuple[str, int, int]] = []
    report = ncforge.series(
        str(tmp_path / "hist" / "*.nc"), out, vars=["TS"], codec="deflate", progress=lambda *told: seen.append(told)
    )
    (stream,) = report.streams
    assert (stream.case, stream.stream, stream.along, stream.length) == ("case.01", "cam.h0", "time", 14)
    (output,) = stream.outputs
    assert output.state == "made" and output.variable == "TS" and Path(output.path).stat().st_size == output.bytes
    assert report.failures == 0 and seen and report.raw["streams"][0]["case"] == "case.01"
    with pytest.raises(ncforge.ExistsError):
        ncforge.series(files, out, vars=["TS"])
    with pytest.raises(TypeError, match="year"):
        ncforge.series(files, out, year=1)  # type: ignore[call-arg]
