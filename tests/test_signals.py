"""Commands that write, and a signal: exit code 5 from those that the same command goes on with, else that of a program that the signal ended."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from datasets import created
from stopping import start

DEFLATE = ("--format", "netcdf4", "--codec", "deflate", "--level", "9", "-j", "1")
#: Commands by whether they have ``--resume``.
RESUMED = {
    "copy": ("copy", "a.nc", "out.nc", *DEFLATE),
    "folder": ("copy", "a.nc", "b.nc", "new/", *DEFLATE),
    "concat": ("concat", "a.nc", "b.nc", "-o", "out.nc", *DEFLATE),
    "series": ("series", "a.nc", "b.nc", "-o", "new", *DEFLATE),
    "combine": ("combine", "t_0000.nc", "-o", "out.nc", *DEFLATE),
    "nccopy": ("nccopy", "-d", "9", "a.nc", "out.nc"),
    "ncrcat": ("ncrcat", "-4", "-L", "9", "a.nc", "b.nc", "out.nc"),
}
ENDED = {
    "zip": ("zip", "big.nc", "out.ncz", "-j", "1"),
    "unzip": ("unzip", "z.ncz", "out.nc", "-j", "1"),
    "split": ("split", "a.nc", "--tiles", "2x2", "--dims", "x,y", "-o", "new", *DEFLATE),
    "bench": ("bench", "io", "-w", "-d", "512:64:64:64", "-f", "bench.nc", "--ranks", "1"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that take a second to be written."""
    folder = tmp_path_factory.mktemp("signals")
    values = np.cumsum(np.random.default_rng(1).standard_normal((12, 400, 600), "f4"), 0).round(2)
    for at, name in enumerate(("a.nc", "b.nc")):
        with created(folder / name, format="NETCDF3_64BIT_OFFSET", time=None, y=400, x=600) as ds:
            ds.createVariable("time", "f8", ("time",))[:] = np.arange(12.0) + 12 * at
            ds.createVariable("v", "f4", ("time", "y", "x"))[:] = values
    for tile in range(2):
        with netCDF4.Dataset(folder / f"t_{tile:04}.nc", "w", format="NETCDF3_64BIT_OFFSET") as ds:
            ds.DOMAIN_number_total, ds.DOMAIN_number = np.int32(2), np.int32(tile)
            ds.DOMAIN_dimensions_ids = np.array([1, 2], "i4")
            ds.DOMAIN_size_global, ds.DOMAIN_size_local = np.array([600, 800], "i4"), np.array([600, 400], "i4")
            ds.DOMAIN_position_first = np.array([1, 1 + 400 * tile], "i4")
            ds.DOMAIN_position_last = np.array([600, 400 + 400 * tile], "i4")
            ds.DOMAIN_halo_size_start = ds.DOMAIN_halo_size_end = np.array([0, 0], "i4")
            ds.DOMAIN_type = "BOX"
            for name, length in {"x": 600, "y": 400, "time": None}.items():
                ds.createDimension(name, length)
            ds.createVariable("v", "f4", ("time", "y", "x"))[:] = values
    with created(folder / "big.nc", format="NETCDF3_64BIT_OFFSET", n=12, time=12, y=400, x=600) as ds:
        v = ds.createVariable("v", "f4", ("n", "time", "y", "x"))
        for at in range(12):
            v[at] = values
    start("zip", folder / "big.nc", folder / "z.ncz").communicate(timeout=600)
    return folder


def catches(pid: int, number: int) -> bool:
    """Whether a process handles a signal itself by now."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next(line for line in lines if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def reads(pid: int, path: Path) -> bool:
    """Whether a process has a file open."""
    try:
        return any(entry.resolve() == path.resolve() for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def stopped(
    folder: Path, words: tuple[str, ...], first: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    """Exit code and messages of a command that got a signal once it handled it. It may have been done just then: some tries."""
    monkeypatch.chdir(folder)
    for wait in (0.1, 0.05, 0.02, 0.01, 0.0, 0.0):
        for name in ("out.nc", "out.ncz", "bench.nc"):
            (folder / name).unlink(missing_ok=True)
        for path in (*folder.glob("new*"), *folder.glob("new/*"), *folder.glob(".*ncforge*")):
            path.unlink() if path.is_file() else None
        running = start(*words)
        while running.poll() is None and not catches(running.pid, first):
            time.sleep(0.001)
        time.sleep(wait)
        running.send_signal(first)
        _, messages = running.communicate(timeout=600)
        if running.returncode != 0:
            return running.returncode, messages
    raise AssertionError("it was always done before the signal came")


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", [*RESUMED, *ENDED])
def test_the_first_signal(folder: Path, name: str, first: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (RESUMED | ENDED)[name]
    code, messages = stopped(folder, words, first, monkeypatch)
    assert code == (5 if name in RESUMED else 128 + first), messages
    assert ("--resume" in messages) == (name in RESUMED), messages
    assert ("Ctrl-C" in messages) == (first == signal.SIGINT) and ("SIGTERM" in messages) == (first == signal.SIGTERM)
    assert not (folder / "out.nc").exists() and not (folder / "out.ncz").exists()
    if name in RESUMED:
        running = start(*words, "--resume")
        assert running.communicate(timeout=600) and running.returncode == 0


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_command_at_once(
    folder: Path, first: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for _ in range(30):
        running = start("copy", "a.nc", "second.nc", *DEFLATE, "-O")
        while running.poll() is None and not catches(running.pid, first):
            time.sleep(0.001)
        for _ in range(2):
            running.send_signal(first)
            time.sleep(0.001)
        running.communicate(timeout=600)
        if running.returncode == 128 + first:
            return
    raise AssertionError("it had always stopped before")


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_commands_that_read_are_ended_by_the_system(folder: Path, first: signal.Signals) -> None:
    running = start("digest", *[folder / "big.nc"] * 500)
    while running.poll() is None and not reads(running.pid, folder / "big.nc"):
        time.sleep(0.001)
    running.send_signal(first)
    running.communicate(timeout=600)
    assert running.returncode == -first


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words", [["refs", "-o", "r.json"], ["concat", "-o", "c.nc"], ["copy", "c.nc"]], ids=lambda w: w[0]
)
def test_a_command_that_waits_for_a_server(tmp_path: Path, words: list[str], first: signal.Signals) -> None:
    """A server that never answers: before, the command waited until that was an error."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a.nc"
        at = 2 if words[0] == "concat" else 1
        rest = [*words[1:-1], str(tmp_path / words[-1])]
        running = start(words[0], *([url] * at), *rest) if words[0] != "copy" else start("copy", url, *rest)
        connection, _ = server.accept()
        while running.poll() is None and not catches(running.pid, first):
            time.sleep(0.001)
        running.send_signal(first)
        _, messages = running.communicate(timeout=600)
        connection.close()
    assert running.returncode == (5 if words[0] != "refs" else 128 + first), messages
    assert not list(tmp_path.iterdir())


def test_exceptions_of_signals_leave_every_read(tmp_path: Path) -> None:
    """Whenever a signal comes: what its handler raises comes out of the read, also of the first one of a process, which imports NumPy."""
    with created(tmp_path / "a.nc", x=1_000_000) as ds:
        ds.createVariable("v", "f8", ("x",), zlib=True, chunksizes=(10_000,))[:] = np.arange(1e6) % 977
    program = """
        import signal, sys
        class Signal(BaseException): pass
        def handler(*_): raise Signal
        import ncforge
        v = ncforge.Dataset(sys.argv[1])["v"]
        signal.signal(signal.SIGALRM, handler)
        seen = 0
        while seen < 40:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 * (1 + seen))
                while True: v[:]
            except Signal:
                seen += 1
        assert v[:].sum() > 0
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "a.nc")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
