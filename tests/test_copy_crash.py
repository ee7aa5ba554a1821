"""A copy that is killed, interrupted, or short of memory.

Whatever happens, the file under the final name is whole or not there, and ``--resume`` completes the work.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import execute, find_binary, ncforge
from datasets import created
from stopping import changes, interrupt, killed, processor_seconds

ROOT = Path(__file__).resolve().parent.parent
#: How many times a copy is killed, each time at another of its changes of files.
KILLS = int(os.environ.get("NCFORGE_TEST_KILLS", "20"))
#: Gibibytes of the variable of the memory test; 2 is what the project promises about.
MEMORY_TEST_GIB = float(os.environ.get("NCFORGE_TEST_GIB", "0.25"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with slabs, strings, a contiguous variable and some small ones."""
    path = tmp_path_factory.mktemp("source") / "in.nc"
    rng = np.random.default_rng(1)
    with created(path, t=None, y=128, x=128) as ds:
        names = ds.createVariable("name", str, ("y",))
        names[:] = np.array([f"row {i}" for i in range(128)], dtype=object)
        v = ds.createVariable("v", "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 128, 128))
        v[:] = rng.normal(size=(96, 128, 128)).astype("f4").round(2)
        fixed = ds.createVariable("fixed", "f8", ("y", "x"))
        fixed[:] = rng.normal(size=(128, 128))
        ds.createVariable("scalar", "i4", ())[:] = 7
    return path


BUDGET = ["--memory", "8M", "-j", "2"]
OPTIONS = ["--chunks", "t/96,y/16,x/16", "--codec", "deflate", "--level", "4", *BUDGET]
#: Shapes and codecs that are chosen, the codecs on samples of the values.
CHOSEN = ["--chunks", "auto", "--codec", "auto", "--goal", "small", *BUDGET]


@pytest.mark.parametrize(("options", "kills"), [(OPTIONS, KILLS), (CHOSEN, KILLS // 4)], ids=["given", "chosen"])
def test_killed_at_any_moment(source: Path, tmp_path: Path, options: list[str], kills: int) -> None:
    """Nothing under the final name that is not whole; --resume gives the bytes of a quiet copy."""
    wanted, out = tmp_path / "whole.nc", tmp_path / "out.nc"
    words = ["copy", source, out, *options, "--no-history", "-q", "--checkpoint", "0"]

    whole = changes(*words)
    reference = out.rename(wanted).read_bytes()
    rng = random.Random(20)
    resumed = 0
    # The last changes give the file its name. How many there are differs a little where threads take turns.
    last = range(whole - 2, whole + 1)
    for at in [*(rng.randrange(1, whole * 9 // 10) for _ in range(kills)), *last]:
        assert killed(at, *words) or at in last
        if out.exists():
            assert out.read_bytes() == reference
        # A second crash, while the copy is resumed after the first one.
        if rng.random() < 0.3:
            killed(rng.randrange(1, whole), *words, "--resume")
        again = ncforge(*words, "--resume", "--json")
        resumed += '"resumed_steps": 0' not in again.stdout
        assert out.read_bytes() == reference
        out.unlink()
        assert [p.name for p in tmp_path.iterdir()] == ["whole.nc"], at
    assert resumed > kills // 2
    ncforge("compare", source, wanted)


@pytest.mark.parametrize("left", ["empty", "link", "journal"])
def test_what_a_killed_program_left_of_a_complete_output_goes(source: Path, tmp_path: Path, left: str) -> None:
    """An empty file, a second name of the output, or a journal: nothing to go on with, and the output is not touched."""
    out = tmp_path / "out.nc"
    ncforge("copy", source, out, *OPTIONS)
    whole = out.read_bytes()
    partial = tmp_path / ".out.nc.ncforge-partial"
    if left == "link":
        os.link(out, partial)
    else:
        (partial if left == "empty" else tmp_path / ".out.nc.ncforge-journal").touch()
    done = ncforge("copy", source, out, *OPTIONS, "--resume", "--json")
    assert json.loads(done.stdout)["was_complete"], done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["out.nc"] and out.read_bytes() == whole
    if left == "link":
        # Another copy of this name begins a file of its own.
        os.link(out, partial)
        assert killed(10, "copy", source, out, "--chunks", "t/1,y/128,x/128", "--resume", "-O")
        assert out.read_bytes() == whole


def test_ctrl_c_keeps_what_is_done(source: Path, tmp_path: Path) -> None:
    """SIGINT: exit code 5, a hint, and --resume goes on."""
    out = tmp_path / "out.nc"
    interrupt(out, "copy", source, out, *OPTIONS)
    ncforge("copy", source, out, *OPTIONS, "--resume", "--verify")
    ncforge("compare", source, out)
    assert [p.name for p in tmp_path.iterdir()] == ["out.nc"]


@pytest.mark.parametrize("kind", [[], ["-6"]], ids=["chunks", "classic"])
def test_a_partial_file_that_lost_its_end_is_not_gone_on_with(source: Path, tmp_path: Path, kind: list[str]) -> None:
    """What the journal says was written, and a crash of the machine took away, is told; without ``--resume`` all begins anew."""
    if kind:
        values = tmp_path / "v.nc"
        ncforge("copy", source, values, "--vars", "v")
        source = values
    out = tmp_path / "out.nc"
    words = ["copy", source, out, *(kind or OPTIONS[:-4]), *BUDGET, "-q", "--checkpoint", "0"]
    partial = tmp_path / ".out.nc.ncforge-partial"
    journal = tmp_path / ".out.nc.ncforge-journal"
    end = changes(*words)
    out.unlink()
    assert killed(end * 2 // 3, *words)
    assert journal.read_text().count("\n") > 1
    os.truncate(partial, partial.stat().st_size // 2)
    done = ncforge(*words, "--resume", code=2)
    assert f"`{partial}` is shorter than its journal says" in done.stderr, done.stderr
    assert "without --resume" in done.stderr
    ncforge(*words)
    ncforge("compare", source, out)


def test_a_full_disk_is_an_error(source: Path, tmp_path: Path) -> None:
    """No room: exit code 1, nothing under the final name."""
    out = tmp_path / "out.nc"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = ncforge("copy", source, out, *OPTIONS, code=1, preexec_fn=small_files)
    assert done.stderr.startswith("ncforge: cannot write"), done.stderr
    assert not out.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory as Linux reports it")
def test_memory_stays_within_the_budget(tmp_path: Path) -> None:
    """Slabs (1, all, all) into columns (all, small, small), in a fraction of the variable's size."""
    steps = int(MEMORY_TEST_GIB * 256)
    path = tmp_path / "slabs.nc"
    # Deflate is quick where rows are alike.
    field = np.add.outer(np.arange(1024) // 64, np.arange(1024) % 8).astype("f4")
    with created(path, t=None, y=1024, x=1024) as ds:
        v = ds.createVariable("v", "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 1024, 1024))
        for t in range(steps):
            v[t] = field + np.float32(t)

    budget = min(256, max(16, int(MEMORY_TEST_GIB * 128)))
    out = tmp_path / "columns.nc"
    line = [find_binary(), "copy", path, out, "--chunks", f"t/{steps},y/32,x/32", "-q", "-O", "--memory"]
    peaks = []

    def copy(memory: str) -> None:
        # A process for each, so that the processor time is counted here.
        asked = json.dumps([600, [*map(str, [*line, memory])]])
        by = [sys.executable, "-S", "-E", str(ROOT / "tests/measured.py")]
        measured = json.loads(execute(*by, input=asked).stdout)
        assert measured["code"] == 0, measured["messages"]
        peaks.append(measured["peak"])

    free = processor_seconds(lambda: copy("8G"))
    bounded = processor_seconds(lambda: copy(f"{budget}M"))
    assert bounded < 3 * free + 2, (bounded, free)
    # The program itself, its threads' stacks and libraries come on top: 144 MB is generous.
    assert 0 < peaks[-1] < (budget + 144) << 20
    ncforge("compare", "--memory", "64M", path, out)
