"""``ncforge.doctor``, ``combine``, ``bench`` and progress as Python functions, against the command; and the command that
comes with the package.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
import tiles as tl
from commands import execute
from conftest import DATA, Run
from datasets import created
from ncforge import bench


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """Daily maps, each a chunk: slow for series."""
    path = tmp_path / "slow.nc"
    values = np.random.default_rng(0).normal(size=(300, 64, 128)).astype("f4").round(2)
    with created(path, time=None, lat=64, lon=128) as ds:
        ds.createVariable("tas", "f4", ("time", "lat", "lon"), chunksizes=(1, 64, 128), zlib=True)[:] = values
    return path


@pytest.fixture
def mosaic(tmp_path: Path) -> tuple[tl.Whole, tl.Mosaic]:
    """A field in four tiles of NEMO."""
    rng = np.random.default_rng(3)
    fields = {
        "sst": tl.Field(("t", "y", "x"), rng.standard_normal((3, 20, 24)).astype("f4")),
        "t": tl.Field(("t",), np.arange(3.0)),
    }
    folder = tmp_path / "tiles"
    folder.mkdir()
    whole = tl.Whole(fields)
    return whole, tl.nemo(folder, whole, (2, 2), tl.Storage("NETCDF4", zlib=True), halo=1)


def test_doctor_is_the_commands(slow: Path, run: Run) -> None:
    found = ncforge.doctor(slow, library=None)
    (reported,) = json.loads(run("doctor", "--json", "--fail-on", "never", slow).stdout)["files"]
    assert [f.code for f in found.findings] == [f["code"] for f in reported["findings"]]
    first = found.findings[0]
    # All of it is read in a moment: a remark.
    assert first.code == "NC101" and first.name == "time-chunked-by-1" and first.severity == "info"
    assert first.variable == "tas" and "300 chunks" in first.message
    assert any("ncforge copy" in c and "--chunks" in c for c in first.commands)
    assert first.netcdf_c_cache is not None and first.netcdf_c_cache.size > 0
    assert found.format == "netCDF-4" and found.worst == "info" and found.raw["findings"]
    assert "NC101 info    time is chunked by 1" in str(found)

    assert not ncforge.doctor(slow, ignore="NC").findings
    assert {f.code for f in ncforge.doctor(slow, select=["NC101"]).findings} == {"NC101"}
    assert "NC101" not in {f.code for f in ncforge.doctor(slow, for_="map").findings}
    assert ncforge.doctor(slow, profile="cmip7").passes is False
    with pytest.raises(ValueError, match="storage"):
        ncforge.doctor(slow, storage="tape")
    with pytest.raises(FileNotFoundError):
        ncforge.doctor(slow.with_name("none.nc"))
    rules = {r.code: r for r in ncforge.doctor_rules()}
    assert rules["NC101"].fixed_by == "copy --chunks"


def test_doctor_of_many_files(slow: Path, tmp_path: Path, run: Run) -> None:
    other = tmp_path / "other.nc"
    ncforge.copy(slow, other, chunks="time/30,lat/4,lon/4")
    calls: list[tuple[str, int, int]] = []
    found = ncforge.doctor([slow, tmp_path / "none.nc", other], progress=lambda *a: calls.append(a))
    assert [d.file for d in found] == [str(slow), str(other)] and len(found) == 2
    (failed,) = found.failures
    assert failed.file.endswith("none.nc") and isinstance(failed.error, FileNotFoundError)
    assert calls == [("doctor", i, 3) for i in (1, 2, 3)]
    assert not found.across
    twin = tmp_path / "twin.nc"
    twin.write_bytes(slow.read_bytes())
    alike = [slow, other, twin]
    text = str(ncforge.doctor(alike))
    assert text + "\n" == run("doctor", "--fail-on", "never", *alike).stdout
    assert text.count("NC101") == 1 and f"ncforge copy {slow} {twin} {tmp_path}/fixed/ --chunks" in text
    both = ncforge.doctor([slow, other], across=True)
    assert str(both) + "\n" == run("doctor", "--fail-on", "never", "--across", slow, other).stdout
    assert [f.code for f in both[0]] == [f.code for f in both[0].findings] and both[0].findings
    assert "NC501" in {f.code for f in both.across} and set(both.across[0].files) <= {str(slow), str(other)}
    assert both.worst == "warning"


def test_combine_is_the_commands(mosaic: tuple[tl.Whole, tl.Mosaic], tmp_path: Path, run: Run) -> None:
    whole, parts = mosaic
    out, by_command = tmp_path / "out.nc", tmp_path / "command.nc"
    plan = ncforge.plan_combine(parts.paths, out)
    assert plan.scheme == "nemo" and plan.tiles == 4 and plan.reasons["sst"] and not out.exists()
    stages: list[str] = []
    report = ncforge.combine(parts.paths[0], out, verify=True, progress=lambda stage, done, total: stages.append(stage))
    tl.check(out, whole, parts)
    assert report.scheme == "nemo" and report.tiles == 4 and report.copy.verified and not report.missing
    (lies,) = report.mosaics
    assert lies.dims == ["y", "x"] and lies.lattice == [2, 2] and lies.hole_points == 0 and str(lies)
    assert "copy" in stages
    run("combine", parts.paths[0], "-o", by_command, "--no-history")
    assert by_command.read_bytes() == out.read_bytes()

    with pytest.raises(FileExistsError):
        ncforge.combine(parts.paths, out)
    for times in (slice(1, 3), range(1, 3), (1, 3)):
        ncforge.combine(parts.paths, out, overwrite=True, times=times, vars=["sst"])
        with ncforge.Dataset(out) as ds:
            assert ds["sst"].shape[0] == 2 and list(ds.variables) == ["sst"]
    with pytest.raises(ValueError, match="run of records"):
        ncforge.combine(parts.paths, out, times=slice(0, 3, 2))
    with pytest.raises(TypeError, match="colour"):
        ncforge.combine(parts.paths, out, colour="blue")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="holes"):
        ncforge.combine(parts.paths, out, overwrite=True, holes="deep")


def test_bench_access(slow: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.nc"
    ncforge.copy(slow, other, chunks="auto")
    report = bench.access([slow, other], repetitions=2, patterns=["map", "series"])
    assert [f.path for f in report.files] == [str(slow), str(other)] and report.files[0].variable == "tas"
    assert report.files[0].chunks == [1, 64, 128] and "cpus" in report.environment
    assert [(r.pattern, r.file) for r in report.rows] == [("map", 0), ("map", 1), ("series", 0), ("series", 1)]
    for row in report.rows:
        assert row.same_values and len(row.seconds) == 2 and 0 < row.summary.min <= row.summary.median
    lines = str(report).splitlines()
    assert lines[:2] == [f"[1] {slow}", f"[2] {other}"]
    assert [line.split(":")[0] for line in lines[2:]] == ["map", "series"] and lines[2].count(" ms") == 2
    with pytest.raises(ValueError, match="diagonal"):
        bench.access(slow, patterns=["diagonal"])


def test_bench_chunks(slow: Path) -> None:
    steps: list[tuple[int, int]] = []
    report = bench.chunks(
        slow,
        shapes=[(1, 64, 128), (50, 4, 8)],
        deflate=[1],
        repetitions=1,
        progress=lambda text, done, total: steps.append((done, total)),
    )
    assert report.variable.endswith("tas") and report.shape == [300, 64, 128]
    assert [r.chunks for r in report.rows] == [None, [1, 64, 128], [50, 4, 8]]
    assert all(r.same_values and r.slab.min > 0 and r.driver.startswith("ncforge") for r in report.rows)
    assert steps and all(done <= total for done, total in steps)

    def stop(*_: Any) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        bench.chunks(slow, shapes=[(1, 64, 128)], repetitions=1, progress=stop)


def test_pictures(slow: Path, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = [
        ncforge.doctor(slow).plot(),
        ncforge.doctor([slow, slow]).plot(),
        ncforge.doctor(slow, ignore="NC").plot(),
        bench.access(slow, repetitions=1).plot(),
        bench.chunks(slow, shapes=[(1, 64, 128)], repetitions=1).plot(),
    ]
    for i, ax in enumerate(drawn):
        path = tmp_path / f"{i}.png"
        ax.figure.savefig(path)  # type: ignore[union-attr]
        assert path.stat().st_size > 1000
    _, own = pyplot.subplots()
    assert ncforge.doctor(slow).plot(own) is own
    pyplot.close("all")


def test_progress_is_shown(slow: Path, tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    # Without tqdm there is a line.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    ncforge.copy(slow, tmp_path / "a.nc", progress=True)
    assert "copy: 100 %" in capfd.readouterr().err
    monkeypatch.undo()
    pytest.importorskip("tqdm")
    ncforge.copy(slow, tmp_path / "b.nc", progress=True)
    shown = capfd.readouterr()
    assert "copy: 100%" in shown.err and not shown.out
    ncforge.copy(slow, tmp_path / "c.nc", progress=False)
    assert not capfd.readouterr().err


SCRIPT = [sys.executable, "-m", "ncforge"]


def command(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return execute(*SCRIPT, *words, **options)


def test_the_command_comes_with_the_package(slow: Path, tmp_path: Path, run: Run) -> None:
    assert command("--version").stdout == run("--version").stdout
    assert command("info", slow).stdout == run("info", slow).stdout
    out = tmp_path / "out.nc"
    command("copy", slow, out, "--chunks", "auto")
    with ncforge.Dataset(out) as ds:
        assert "ncforge copy" in ds.history
    command("copy", slow, out, code=2)
    command("compare", slow, out)
    command("info", tmp_path / "none.nc", code=4)
    command("doctor", slow, "--fail-on", "info", code=3)
    command("nonsense", code=2)
    # The script of an installed package, where this one is installed.
    script = Path(sys.executable).with_name("ncforge")
    if script.exists():
        assert execute(script, "--version").stdout == run("--version").stdout
    link = tmp_path / "nccopy"
    link.write_text(f"#!{sys.executable}\nimport sys\nfrom ncforge.__main__ import main\nsys.exit(main())\n")
    link.chmod(0o755)
    execute(link, "-k", "cdf5", slow, tmp_path / "five.nc")
    assert ncforge.info(tmp_path / "five.nc").data["format"].lower().startswith(("cdf5", "64-bit data", "cdf-5"))


def test_ranks_of_the_command_are_started_again(tmp_path: Path) -> None:
    command("bench", "io", "--ranks", "2", "-d", "4:4:8:8", "--json", cwd=tmp_path)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_the_command_can_be_stopped(tmp_path: Path, first: signal.Signals) -> None:
    """A signal ends what writes where it can go on (exit code 5), with Python around it, too."""
    source = tmp_path / "in.nc"
    with created(source, ncforge, format="NETCDF3_64BIT_DATA", t=100, x=100_000) as ds:
        ds.createVariable("v", "f4", ("t", "x"))[...] = np.random.default_rng(1).random((100, 100_000), "f4")
    line = [*SCRIPT, "copy", source, tmp_path / "out.nc", "-4", "--codec", "deflate", "--memory", "16M"]
    words = [str(w) for w in [*line, "-j", "1"]]
    copy = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    partial = tmp_path / ".out.nc.ncforge-partial"
    while copy.poll() is None and not (partial.exists() and partial.stat().st_size > 1 << 20):
        time.sleep(0.01)
    copy.send_signal(first)
    _, reported = copy.communicate(timeout=600)
    assert copy.returncode == 5, reported
    assert "--resume" in reported and "Traceback" not in reported
    execute(*words, "--resume")
    assert ncforge.compare(source, tmp_path / "out.nc", vars=["v"]).differing_values == 0


def test_reading_commands_end_at_once() -> None:
    """Nothing of Python's own handling of Ctrl-C is in the way of a command that reads."""
    code = (
        "import os, signal, sys, threading\n"
        "sys.argv = ['ncforge', 'info', sys.argv[1]]\n"
        "from ncforge.__main__ import main\n"
        "import ncforge._core as core\n"
        "core.main = lambda *a: os.kill(os.getpid(), signal.SIGINT) or 0\n"
        "main()\n"
    )
    file = next(p for p in sorted(DATA.glob("*.nc")))
    done = execute(sys.executable, "-c", code, file, code=-signal.SIGINT)
    assert "Traceback" not in done.stderr


def test_files_are_copied_into_a_folder(run: Run, tmp_path: Path) -> None:
    """Under their own names, all or none refused, each with its own history; a damaged one does not keep the others back."""
    names = [f"day_{i}.nc" for i in range(3)]
    for i, name in enumerate(names):
        with created(tmp_path / name, x=1000) as d:
            d.createVariable("v", "f8", ("x",), chunksizes=(500,))[:] = i
    files = [tmp_path / name for name in names]
    out = tmp_path / "new" / "folder"
    run("copy", *files, out, code=2)
    assert not out.exists()
    done = run("copy", *files, f"{out}/", "--codec", "deflate", "--verify")
    assert "3 files -> " in done.stderr and ", verified" in done.stderr
    for i, name in enumerate(names):
        with netCDF4.Dataset(out / name) as d:
            assert (d["v"][:] == i).all() and d["v"].filters()["zlib"]
            assert d.history.endswith(f"copy --codec deflate --verify {files[i]} {out / name}")
    # Nothing is replaced without being asked for, and nothing is begun then.
    (out / names[0]).unlink()
    assert f"`{out / names[1]}` exists already" in run("copy", *files, f"{out}/", code=2).stderr
    assert not (out / names[0]).exists()
    run("copy", *files, out, "-O")
    (tmp_path / "b").mkdir()
    shutil.copy(files[0], tmp_path / "b" / names[0])
    assert (
        "two files have the same name"
        in run("copy", files[0], tmp_path / "b" / names[0], f"{tmp_path}/same/", code=2).stderr
    )
    files[1].write_bytes(files[1].read_bytes()[:100])
    other = tmp_path / "other"
    done = run("copy", *files, f"{other}/", code=4)
    assert f"`{files[1]}`" in done.stderr and "2 files -> " in done.stderr
    assert sorted(p.name for p in other.iterdir()) == [names[0], names[2]]
    run("copy", files[0], f"{tmp_path}/single/")
    assert (tmp_path / "single" / names[0]).exists()
    plan = run("copy", files[0], files[2], f"{tmp_path}/planned/", "--dry-run").stdout
    assert plan.count(" -> ") >= 2 and not (tmp_path / "planned").exists()
