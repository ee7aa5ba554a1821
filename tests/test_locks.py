"""Two programs and one file: the second writer gets an error at once, whoever the two are, and nobody's values are lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from datasets import FORMATS, created

Run = Callable[..., subprocess.CompletedProcess[str]]
SLOWLY = ["--codec", "zstd", "--level", "19"]
VARIABLE = "HDF5_USE_FILE_LOCKING"


@pytest.fixture(autouse=True)
def _default_locking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def make(path: Path, format: str = "NETCDF4", count: int = 3) -> None:
    with created(path, ncforge, format=format, t=None) as ds:
        ds.createVariable("v", "f8", ("t",))[0:count] = np.arange(count)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three values."""
    made = tmp_path / "a.nc"
    make(made)
    return made


def values(path: Path) -> list[float]:
    """As netCDF-C reads them; a zipped file as ncforge does."""
    library: Any = ncforge if path.suffix == ".ncz" else netCDF4
    with library.Dataset(path) as ds:
        return [float(x) for x in ds["v"][:]]


def elsewhere(program: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program in another process."""
    return execute(sys.executable, "-W", "always", "-c", textwrap.dedent(program), code=None, env=env)


def append(library: str, path: Path, value: float = 99.0) -> str:
    """A program that appends one value; it prints what it caught."""
    return f"""
        import {library} as nc
        try:
            with nc.Dataset({str(path)!r}, "a") as ds:
                ds["v"][len(ds.dimensions["t"])] = {value}
        except OSError as e:
            print(type(e).__name__, e.errno, e)
    """


@pytest.mark.parametrize("format", FORMATS)
def test_the_second_writer_gets_an_error_and_loses_nothing(tmp_path: Path, format: str) -> None:
    path = tmp_path / "a.nc"
    make(path, format)
    with ncforge.Dataset(path, "a") as first:
        first["v"][3] = 3.0
        reported = elsewhere(append("ncforge", path)).stdout
        assert (
            reported.startswith(f"LockedError {errno.EAGAIN}") and "a.nc" in reported and "open for writing" in reported
        )
        if format.startswith("NETCDF4"):
            assert elsewhere(append("netCDF4", path)).stdout, "HDF5 honours the lock"
        first["v"][4] = 4.0
    assert values(path) == [0, 1, 2, 3, 4]
    assert elsewhere(append("ncforge", path, 5.0)).stdout == ""
    assert values(path)[5:] == [5]


def test_zipped_files_have_one_writer_too(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "a.ncz"
    make(path, "NETCDF3_CLASSIC")
    with ncforge.Dataset(path, "a") as first:
        first["v"][3] = 3.0
        assert elsewhere(append("ncforge", path)).stdout.startswith("LockedError")
        done = run("compact", path, code=1)
        assert "open for writing" in done.stderr
    assert values(path) == [0, 1, 2, 3]
    run("compact", path)


def test_what_hdf5_has_open_is_not_written_to(path: Path) -> None:
    for mode in ("a", "r"):
        with netCDF4.Dataset(path, mode), pytest.raises(ncforge.errors.LockedError) as caught:
            ncforge.Dataset(path, "a")
        assert isinstance(caught.value, BlockingIOError) and caught.value.errno == errno.EAGAIN
        assert ("writing" if mode == "a" else "locks what it reads") in str(caught.value)
    ncforge.Dataset(path, "a").close()


def test_two_handles_of_one_program_are_two_writers(path: Path) -> None:
    with ncforge.Dataset(path, "a"):
        with pytest.raises(ncforge.errors.LockedError):
            ncforge.Dataset(path, "r+")
        with pytest.raises(ncforge.errors.LockedError):
            ncforge.Dataset(path, "w")
    ncforge.Dataset(path, "r+").close()


def test_ncforge_reads_what_ncforge_writes_to(path: Path) -> None:
    with ncforge.Dataset(path, "a") as writer, ncforge.Dataset(path) as early:
        writer["v"][3] = 3.0
        writer.sync()
        with ncforge.Dataset(path) as late:
            assert (len(early["v"][:]), len(late["v"][:])) == (3, 4)
        with pytest.raises(ncforge.errors.LockedError):
            ncforge.Dataset(path, locking=True)
    readers: list[Any] = [
        ncforge.Dataset(path, locking=True),
        ncforge.Dataset(path, locking="best-effort"),
        netCDF4.Dataset(path),
    ]
    with pytest.raises(ncforge.errors.LockedError):
        ncforge.Dataset(path, "a")
    for reader in readers:
        reader.close()
    with pytest.raises(ncforge.errors.InvalidError, match="best-effort"):
        ncforge.Dataset(path, "a", locking="sometimes")


def test_locks_can_be_left_out(path: Path) -> None:
    with ncforge.Dataset(path, "a") as first:
        ncforge.Dataset(path, "a", locking=False).close()
        assert elsewhere(append("ncforge", path), {VARIABLE: "FALSE"}).stdout == ""
        assert elsewhere(append("ncforge", path), {VARIABLE: "TRUE"}).stdout.startswith("LockedError")
        assert elsewhere(append("ncforge", path), {VARIABLE: "nonsense"}).stdout.startswith("LockedError")
        first["v"][0] = 0.0


def test_the_environment_overrides_the_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ncforge.Dataset(path, "a"):
        monkeypatch.setenv(VARIABLE, "FALSE")
        ncforge.Dataset(path, "a", locking=True).close()
        monkeypatch.setenv(VARIABLE, "BEST_EFFORT")
        with pytest.raises(ncforge.errors.LockedError):
            ncforge.Dataset(path, "a", locking=False)


@pytest.fixture(scope="module")
def no_locks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a program whose file systems have no locks."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("no_locks")
    source, library = folder / "no_locks.c", folder / "no_locks.so"
    source.write_text("#include <errno.h>\nint flock(int f, int o) { (void)f; (void)o; errno = ENOLCK; return -1; }\n")
    execute("cc", "-shared", "-fPIC", "-o", library, source)
    return {"LD_PRELOAD": str(library)}


def test_without_locks_everything_works_with_one_warning(
    path: Path, tmp_path: Path, no_locks: dict[str, str], ncforge_bin: Path
) -> None:
    program = f"""
        import ncforge
        for value in (3.0, 4.0):
            with ncforge.Dataset({str(path)!r}, "a") as ds:
                ds["v"][len(ds.dimensions["t"])] = value
        with ncforge.Dataset({str(tmp_path / "b.nc")!r}, "w") as ds:
            ds.title = "new"
        ncforge.copy({str(path)!r}, {str(tmp_path / "c.nc")!r})
    """
    done = elsewhere(program, no_locks)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("UnlockedWarning") == 1 and "no locks" in done.stderr
    assert values(path) == values(tmp_path / "c.nc") == [0, 1, 2, 3, 4]
    required = elsewhere(append("ncforge", path), {**no_locks, VARIABLE: "TRUE"}).stdout
    assert required.startswith(f"IoError {errno.ENOLCK}"), required
    for env, warnings in ((no_locks, 1), ({**no_locks, VARIABLE: "FALSE"}, 0)):
        copied = execute(ncforge_bin, "copy", path, tmp_path / "d.nc", "-O", env=env)
        assert copied.stderr.count("no locks") == warnings, copied.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "b.nc", "c.nc", "d.nc"]


def test_a_new_file_and_a_copy_of_one_name(tmp_path: Path, run: Run) -> None:
    source, out = tmp_path / "a.nc", tmp_path / "out.nc"
    make(source)
    ds = ncforge.Dataset(out, "w")
    refused = run("copy", source, out, "-O", code=1)
    assert "out.nc" in refused.stderr and "open for writing" in refused.stderr
    ds.createDimension("t", None)
    ds.createVariable("v", "f8", ("t",))[:] = [7.0, 8.0]
    run("copy", source, out, code=1)
    ds.close()
    assert values(out) == [7, 8]


def until(happens: Callable[[], bool], process: subprocess.Popen[Any]) -> None:
    end = time.monotonic() + 60
    while not happens():
        assert process.poll() is None and time.monotonic() < end, "it never came so far"
        time.sleep(0.001)


@pytest.fixture
def halted(tmp_path: Path, ncforge_bin: Path) -> Any:
    """Starts a copy of a large file to ``out.nc`` and stops it in the middle."""
    source = tmp_path / "large.nc"
    with created(source, ncforge, t=None) as ds:
        noise = np.random.default_rng(1).normal(size=1_000_000)
        ds.createVariable("v", "f8", ("t",), chunksizes=(100_000,))[:] = noise
    started: list[subprocess.Popen[Any]] = []

    def start(*options: str) -> subprocess.Popen[Any]:
        words: list[str | Path] = [ncforge_bin, "copy", source, tmp_path / "out.nc", *SLOWLY, *options]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        started.append(process)
        partial = tmp_path / ".out.nc.ncforge-partial"
        until(lambda: partial.exists() and partial.stat().st_size > 100_000, process)
        process.send_signal(signal.SIGSTOP)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_an_output_that_appears_meanwhile_stays(tmp_path: Path, halted: Any, run: Run) -> None:
    out, partial = tmp_path / "out.nc", tmp_path / ".out.nc.ncforge-partial"
    copying = halted()
    out.write_bytes(b"theirs")
    copying.send_signal(signal.SIGCONT)
    reported = copying.communicate(timeout=600)[1]
    assert copying.returncode == 1 and str(partial) in reported and "--resume -O" in reported, reported
    assert out.read_bytes() == b"theirs"
    assert len(values(partial)) == 1_000_000, "the work is not lost"
    run("copy", tmp_path / "large.nc", out, *SLOWLY, "--resume", "-O")
    assert len(values(out)) == 1_000_000
    assert not partial.exists()


def test_nobody_takes_the_name_of_a_running_copy(tmp_path: Path, halted: Any, run: Run) -> None:
    out = tmp_path / "out.nc"
    make(out)
    copying = halted("-O")
    for mode in ("w", "a"):
        with pytest.raises(ncforge.errors.LockedError, match=r"out\.nc"):
            ncforge.Dataset(out, mode)
    assert "out.nc" in run("copy", tmp_path / "large.nc", out, "-O", code=1).stderr
    assert values(out) == [0, 1, 2], "it can be read meanwhile"
    copying.send_signal(signal.SIGCONT)
    copying.communicate(timeout=600)
    assert copying.returncode == 0 and len(values(out)) == 1_000_000


def test_permissions_are_kept(tmp_path: Path, run: Run) -> None:
    source, out = tmp_path / "a.nc", tmp_path / "out.nc"
    make(source)
    old = os.umask(0o027)
    try:
        run("copy", source, out)
        assert out.stat().st_mode & 0o777 == 0o640
        out.chmod(0o600)
        run("copy", source, out, "-O")
        assert out.stat().st_mode & 0o777 == 0o600
        out.chmod(0o664)
        with ncforge.Dataset(out, "w") as ds:
            hidden = tmp_path / ".out.nc.ncforge-partial"
            assert hidden.stat().st_mode & 0o777 == 0o664
            ds.title = "new"
        assert out.stat().st_mode & 0o777 == 0o664
        run("info", source, "--html", tmp_path / "a.html")
        assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


@pytest.mark.parametrize("option", ["--json={}", "--csv={}", "--markdown {}", "--html {}"])
def test_reports_of_benchmarks_replace_nothing_unasked(path: Path, tmp_path: Path, run: Run, option: str) -> None:
    before = path.read_bytes()
    words = ["bench", "access", str(path), "--repetitions", "1", *option.format(path).split()]
    refused = run(*words, code=2)
    assert "exists already" in refused.stderr and "-O" in refused.stderr
    assert path.read_bytes() == before
    other = tmp_path / "report"
    words = ["bench", "access", str(path), "--repetitions", "1", *option.format(other).split()]
    run(*words)
    run(*words, code=2)
    run(*words, "-O")
    assert other.stat().st_size > 100
    run("bench", "access", str(path), "--repetitions", "1", *option.format("/dev/null").split())


def test_a_child_that_was_forked_leaves_its_parents_file_alone(tmp_path: Path) -> None:
    program = f"""
        import os, ncforge, netCDF4
        path = {str(tmp_path / "a.nc")!r}
        ds = ncforge.Dataset(path, "w")
        ds.createDimension("t", None)
        ds.createVariable("v", "f8", ("t",))[:] = [1.0, 2.0]
        child = os.fork()
        if child == 0:
            raise SystemExit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert not os.path.exists(path)
        ds["v"][2] = 3.0
        ds.close()
        ds = ncforge.Dataset(path, "a")
        child = os.fork()
        if child == 0:
            raise SystemExit(0)
        os.waitpid(child, 0)
        try:
            netCDF4.Dataset(path, "a")
        except OSError:
            print("still locked")
        ds.close()
        print(netCDF4.Dataset(path, "a")["v"][:].tolist())
    """
    done = elsewhere(program)
    assert done.stdout.splitlines() == ["still locked", "[1.0, 2.0, 3.0]"], done.stderr


def test_shared_writers_go_on_together(tmp_path: Path, run: Run) -> None:
    words = ["bench", "io", "-w", "-r", "-d", "4:10:20:5", "--ranks", "2", "--io-type", "ind", "--driver", "ncforge"]
    reported = run(*words, "--reps", "1", "--json", "-f", tmp_path / "t.nc").stdout
    assert json.loads(reported)


def test_a_file_that_is_closed_is_free_at_once(path: Path) -> None:
    for count in range(4, 40):
        with ncforge.Dataset(path, "a") as ds:
            ds["v"][count - 1] = count - 1
        with netCDF4.Dataset(path, "a") as ds:
            assert len(ds["v"][:]) == count
