"""A copy that is killed, interrupted, or short of memory.

Whatever happens, the file under the final name is whole or not there, and ``--resume`` completes the work.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from conftest import find_binary
from stopping import interrupt, start

ROOT = Path(__file__).resolve().parent.parent
#: How many times a copy is killed (the time of each is random).
KILLS = int(os.environ.get("NCFORGE_TEST_KILLS", "20"))
#: Gibibytes of the variable of the memory test; 2 is what the project promises about.
MEMORY_TEST_GIB = float(os.environ.get("NCFORGE_TEST_GIB", "0.25"))


def ncforge(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    line = [str(find_binary()), *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with slabs, strings, a contiguous variable and some small ones."""
    path = tmp_path_factory.mktemp("source") / "in.nc"
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w") as ds:
        ds.createDimension("t", None)
        ds.createDimension("y", 256)
        ds.createDimension("x", 256)
        names = ds.createVariable("name", str, ("y",))
        names[:] = np.array([f"row {i}" for i in range(256)], dtype=object)
        v = ds.createVariable("v", "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 256, 256))
        v[:] = rng.normal(size=(96, 256, 256)).astype("f4").round(2)
        fixed = ds.createVariable("fixed", "f8", ("y", "x"))
        fixed[:] = rng.normal(size=(256, 256))
        ds.createVariable("scalar", "i4", ())[:] = 7
    return path


BUDGET = ["--memory", "8M", "-j", "2"]
OPTIONS = ["--chunks", "t/96,y/16,x/16", "--codec", "deflate", "--level", "4", *BUDGET]
#: Shapes and codecs that are chosen, the codecs on samples of the values.
CHOSEN = ["--chunks", "auto", "--codec", "auto", "--goal", "small", *BUDGET]


def whole(folder: Path, source: Path, options: list[str]) -> tuple[Path, float]:
    """The copy nobody disturbs, and its seconds."""
    path = folder / "whole.nc"
    begun = time.monotonic()
    done = ncforge("copy", source, path, *options, "--no-history", "-q")
    assert done.returncode == 0, done.stderr
    return path, time.monotonic() - begun


@pytest.mark.parametrize(("options", "kills"), [(OPTIONS, KILLS), (CHOSEN, KILLS // 4)], ids=["given", "chosen"])
def test_killed_at_any_moment(source: Path, tmp_path: Path, options: list[str], kills: int) -> None:
    """kill -9: nothing under the final name that is not whole; --resume gives the bytes of a quiet copy."""
    wanted, seconds = whole(tmp_path, source, options)
    reference = wanted.read_bytes()
    out = tmp_path / "out.nc"
    rng = random.Random(20)
    killed = resumed = 0
    for _ in range(kills):
        words = ["copy", source, out, *options, "--no-history", "-q", "--checkpoint", "0.05"]
        running = start(*words)
        time.sleep(rng.uniform(0, 1.1 * seconds))
        running.kill()
        running.communicate()
        if running.returncode == -signal.SIGKILL:
            killed += 1
        if out.exists():
            assert out.read_bytes() == reference
            with netCDF4.Dataset(out) as ds:
                assert ds["v"].shape == (96, 256, 256)
        # A second crash, while the copy is resumed after the first one.
        if rng.random() < 0.3:
            again = start(*words, "--resume")
            time.sleep(rng.uniform(0, seconds))
            again.kill()
            again.communicate()
        done = ncforge(*words, "--resume", "--json")
        assert done.returncode == 0, done.stderr
        resumed += '"resumed_steps": 0' not in done.stdout
        assert out.read_bytes() == reference
        out.unlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["whole.nc"]
    assert killed >= kills // 2
    assert resumed > 0
    assert ncforge("compare", source, wanted).returncode == 0


def test_ctrl_c_keeps_what_is_done(source: Path, tmp_path: Path) -> None:
    """SIGINT: exit code 5, a hint, and --resume goes on."""
    out = tmp_path / "out.nc"
    interrupt(out, "copy", source, out, *OPTIONS)
    assert ncforge("copy", source, out, *OPTIONS, "--resume", "--verify").returncode == 0
    assert ncforge("compare", source, out).returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["out.nc"]


def test_a_full_disk_is_an_error(source: Path, tmp_path: Path) -> None:
    """No room: exit code 1, nothing under the final name."""
    out = tmp_path / "out.nc"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    line = [str(find_binary()), "copy", str(source), str(out), *OPTIONS]
    done = subprocess.run(line, capture_output=True, text=True, preexec_fn=small_files, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("ncforge: cannot write"), done.stderr
    assert not out.exists()


def high_water(pid: int) -> int:
    """The most memory that a process has had resident so far, in bytes."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in text.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory as Linux reports it")
def test_memory_stays_within_the_budget(tmp_path: Path) -> None:
    """Slabs (1, all, all) into columns (all, small, small), in a fraction of the variable's size."""
    steps = int(MEMORY_TEST_GIB * 256)
    path = tmp_path / "slabs.nc"
    field = np.add.outer(np.sin(np.arange(1024)), np.cos(np.arange(1024))).round(2).astype("f4")
    with netCDF4.Dataset(path, "w") as ds:
        ds.createDimension("t", None)
        ds.createDimension("y", 1024)
        ds.createDimension("x", 1024)
        v = ds.createVariable("v", "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 1024, 1024))
        for t in range(steps):
            v[t] = field + np.float32(t)

    def peak(*options: str) -> tuple[float, int]:
        out = tmp_path / "columns.nc"
        line = [str(find_binary()), "copy", str(path), str(out), "--chunks", f"t/{steps},y/32,x/32", "-q", *options]
        begun = time.monotonic()
        running = subprocess.Popen(line)
        most = 0
        # Not getrusage: that counts the memory of this process, too, from before the program was loaded.
        while running.poll() is None:
            most = max(most, high_water(running.pid))
            time.sleep(0.01)
        assert running.returncode == 0
        seconds = time.monotonic() - begun
        assert ncforge("compare", "--memory", "64M", path, out).returncode == 0
        out.unlink()
        return seconds, most

    budget = min(256, max(16, int(MEMORY_TEST_GIB * 128)))
    free, _ = peak("--memory", "8G")
    bounded, most = peak("--memory", f"{budget}M")
    # The program itself, its threads' stacks and libraries come on top: 144 MB is generous.
    assert 0 < most < (budget + 144) << 20
    assert bounded < 3 * free + 2, (bounded, free)
