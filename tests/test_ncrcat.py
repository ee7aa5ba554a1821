"""``ncforge ncrcat``: the options of NCO's tool, held against that tool where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import netCDF4
import pytest

from commands import execute
from conftest import Run
from days import part, same, series


def around(ds: netCDF4.Dataset) -> None:
    lon = ds.createVariable("lon", "f8", ("lon",))
    lon.units, lon[:] = "degrees_east", [0, 45, 90, 270, 315]


def test_options_of_ncrcat(tmp_path: Path, run: Run, tool: Callable[..., str], ncforge_bin: Path) -> None:
    files = series(tmp_path, [2, 1, 3], kind="NETCDF3_CLASSIC")
    names = [f.name for f in files]
    for i, options in enumerate(
        [
            ["-v", "tas"],
            ["-v", "tas,count", "-C"],
            ["-x", "-v", "tas"],
            ["-v", "flag", "-c"],
            ["-4"],
            ["-7", "-L", "1"],
            ["-5"],
            ["-d", "time,1,4"],
            ["-d", "time,1,5,2"],
            ["-d", "lat,1,2", "-d", "lon,,3"],
            ["-d", "lat,-2,-1", "-d", "time,1.,4."],
            ["-d", "lon,2"],
            ["-d", "lat,2.,1."],
            ["-d", "lat,2.5,0."],
        ]
    ):
        judge, out = tmp_path / f"j{i}.nc", tmp_path / f"o{i}.nc"
        tool("ncrcat", "--no_cll_mth", "-O", "-h", *options, *files, judge)
        run("ncrcat", "--no_cll_mth", "-O", "-h", *options, *files, "-o", out)
        same(out, judge)
    judge, out = tmp_path / "jn.nc", tmp_path / "on.nc"
    tool("ncrcat", "--no_cll_mth", "-O", "-h", "-p", tmp_path, "-n", "3,3,1", names[0], judge)
    run("ncrcat", "-O", "-h", "-p", tmp_path, "-n", "3,3,1", names[0], out)
    same(out, judge)
    run("ncrcat", "-O", "-4", "--cnk_dmn", "time,2", "--cnk_dmn", "lat,3", *files, out)
    with netCDF4.Dataset(out) as ds:
        assert ds["tas"].chunking()[:2] == [2, 3]
    # Longitudes are values like others, and what only later files have is left out.
    east = [part(tmp_path / f"e{i}.nc", i, 1, change=around) for i in range(2)]
    with netCDF4.Dataset(east[1], "a") as ds:
        ds.createVariable("later", "i4", ("time",))[:] = 5
    for options in (["-d", "lon,-90.,90."], ["-d", "lon,315.,45."], ["-d", "lon,400.,10."], []):
        tool("ncrcat", "--no_cll_mth", "-O", "-h", *options, *east, judge)
        run("ncrcat", "-O", "-h", *options, *east, "-o", out)
        same(out, judge)
    failed = run("ncrcat", "-O", *reversed(east), "-o", out, code=4).stderr
    assert "`ncforge concat --holes fill`" in failed and "--vars" not in failed
    assert "nearest" in run("ncrcat", "-O", "-d", "lat,1.2", *files, out, code=2).stderr
    assert "-A" in run("ncrcat", "-A", *files, out, code=2).stderr
    assert "--rec_apn" in run("ncrcat", "--rec_apn", *files, out, code=2).stderr
    assert "exists" in run("ncrcat", *files, out, code=2).stderr
    link = tmp_path / "ncrcat"
    link.symlink_to(shutil.which(str(ncforge_bin)) or ncforge_bin)
    execute(link, "-O", "-h", files[2], files[0], out)
    with netCDF4.Dataset(out) as ds:
        assert ds["time"][:].tolist() == [3, 4, 5, 0, 1]


def test_ncrcat_ends_where_dimensions_do(tmp_path: Path, run: Run, tool: Callable[..., str]) -> None:
    files = series(tmp_path, [2, 1], kind="NETCDF3_CLASSIC")
    judge, out = tmp_path / "judge.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(files[0]) as ds:
        length = len(ds.dimensions["lat"])
    for options in (["-d", f"lat,1,{length}"], ["-d", f"lat,,{length}"], ["-v", "lat"]):
        command = ["ncrcat", "-O", "-h", *options, *map(str, files), str(judge)]
        if shutil.which("ncrcat"):
            assert subprocess.run(command, capture_output=True, timeout=60).returncode != 0, options
        assert "ncrcat: " in run("ncrcat", "-O", *options, *files, out, code=2).stderr
    assert f"its length is {length}" in run("ncrcat", "-O", "-d", f"lat,1,{length}", *files, out, code=2).stderr
    for options in (["-d", "lat,1,"], ["-d", "time,0,99"], ["-v", "time", "-C", "-d", f"lat,1,{length}"]):
        tool("ncrcat", "--no_cll_mth", "-O", "-h", *options, *files, judge)
        run("ncrcat", "-O", "-h", *options, *files, "-o", out)
        same(out, judge)


@pytest.mark.parametrize("conventions", [None, "CF-1.8", "ACDD-1.3, CF-1.6", "NCAR-CSM", "COARDS"])
def test_ncrcat_takes_along_what_ncrcat_does(
    tmp_path: Path, run: Run, tool: Callable[..., str], conventions: str | None
) -> None:
    """What attributes name comes along in files of the CF conventions alone, and with it its dimensions."""
    files = []
    for at in range(2):
        files.append(tmp_path / f"{at}.nc")
        with netCDF4.Dataset(files[-1], "w") as ds:
            if conventions:
                ds.Conventions = conventions
            for name, length in {"time": None, "bnds": 2, "x": 3, "y": 2}.items():
                ds.createDimension(name, length)
            time = ds.createVariable("time", "f8", ("time",))
            time.bounds, time[:] = "time_bnds", [at]
            ds.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = [[at, at + 1]]
            ds.createVariable("x", "f4", ("x",))[:] = range(3)
            ds.createVariable("area", "f4", ("x", "y"))[:] = 1
            v = ds.createVariable("v", "f4", ("time", "x"))
            v.coordinates, v[:] = "area", at
    judge, out = tmp_path / "judge.nc", tmp_path / "out.nc"
    for options in (["-v", "v"], ["-v", "time"], ["-v", "v", "-C"], ["-C", "-x", "-v", "area"]):
        tool("ncrcat", "--no_cll_mth", "-O", "-h", *options, *files, judge)
        run("ncrcat", "-O", "-h", *options, *files, out)
        same(out, judge)
        with netCDF4.Dataset(out) as ours, netCDF4.Dataset(judge) as theirs:
            assert list(ours.dimensions) == list(theirs.dimensions), options
            assert ("bnds" in ours.dimensions) == (
                options == ["-C", "-x", "-v", "area"] or "time_bnds" in ours.variables
            )


def test_messages_speak_of_the_options_that_were_typed(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "a.nc", tmp_path / "out.nc"
    with netCDF4.Dataset(path, "w") as new:
        new.createDimension("time", None)
        new.createDimension("lat", 4)
        new.createVariable("lat", "f8", ("lat",))[:] = [-1, 0, 1, 2]
        new.createVariable("v", "f8", ("time", "lat"))[:] = 1
    # An index that is a value, too, of another element: ncrcat's numbers without a point are always indices.
    done = run("ncrcat", "-O", "-d", "lat,0,0", path, out)
    assert (done.stdout, done.stderr) == ("", "")
    # So is a slice of one index.
    assert "lat=" not in run("copy", path, tmp_path / "slice.nc", "--select", "lat=0:1").stderr
    assert "`lat=0..0` is the value" in run("copy", path, tmp_path / "index.nc", "--select", "lat=0").stderr
    for slab, why in (
        ("lat,3,1", "MIN lies behind MAX"),
        ("lat,0,2,0", "STRIDE is below 1"),
        (",0,0", "DIM is missing"),
        ("lat,7.0,9.0", "no value"),
        ("lat,-9,-8", "no index"),
    ):
        said = run("ncrcat", "-O", "-d", slab, path, out, code=2).stderr
        assert f"ncrcat: -d {slab}: " in said and why in said, said
        assert "--select" not in said.replace("`ncforge concat --select`", "") and "DIM=" not in said, said
