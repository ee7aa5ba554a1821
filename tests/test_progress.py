"""Whatever takes longer than a second shows on a terminal that it is alive, and nowhere else."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from conftest import Run
from terminal import Shown, on_terminal

# A colour, a place, a line that is wiped.
WIPED = "\x1b[2K"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """A folder with a file that no codec makes smaller, and what is made of it."""
    folder = tmp_path_factory.mktemp("progress")
    with netCDF4.Dataset(folder / "noise.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        for name, length in (("time", 96), ("y", 512), ("x", 512)):
            file.createDimension(name, length)
            # The tiles of some models tell their place by these.
            file.createVariable(name, "f8", (name,))[:] = np.arange(length)
        var = file.createVariable("noise", "f4", ("time", "y", "x"))
        var.set_auto_mask(False)
        var[:] = np.random.default_rng(1).integers(0, 1 << 30, (96, 512, 512), "i4").view("f4")
    quickly = ["-4", "--chunks", "auto", "--codec", "deflate", "--level", "1"]
    run("copy", folder / "noise.nc", folder / "deflated.nc", *quickly)
    run("zip", folder / "noise.nc", folder / "noise.ncz", "--codec", "lz4")
    run("split", folder / "noise.nc", "-o", folder / "tile", "--tiles", "4x4", "--dims", "x,y", "--scheme", "fms")
    return folder


DEFLATE = "-4 --chunks auto --codec deflate --level 9 -j 1 -O"
# Work that is counted in bytes, and the name that it begins with.
COUNTED = {
    "copy noise.nc out.nc -4 --chunks auto --codec deflate --level 1 -O": "copy",
    "nccopy -4 -d 1 noise.nc out.nc": "copy",
    "combine tile.nc.0000 -o out.nc -O": "copy",
    "mppnccombine tile.nc": "copy",
    "split noise.nc -o again --tiles 2x2 --dims x,y --scheme fms -O": "copy",
    "compare noise.nc deflated.nc": "compare",
    "zip noise.nc again.ncz -O": "zip",
    "unzip noise.ncz out.nc -O": "unzip",
    "verify noise.ncz": "verify",
    "compact noise.ncz": "compact",
}
# Each takes seconds on any machine; it is killed once it has shown what it shows.
SLOW = {
    "copy": f"copy noise.nc out.nc {DEFLATE}",
    "verify": "verify " + "noise.ncz " * 2000,
    "info": "info --json " + "deflated.nc " * 5000,
    "info --html": "info --html - " + "deflated.nc " * 2000,
    "doctor": "doctor --fail-on never " + "deflated.nc " * 500,
    "bench access": "bench access noise.nc deflated.nc --repetitions 200",
    "bench chunks": "bench chunks deflated.nc --shapes 1,512,512 --repetitions 1 --deflate 1",
    "bench records": "bench records --only station --records 20000",
    "bench convert": "bench convert --quick",
    "bench combine": "bench combine --shape 2,8,480,480 --tiles 4x4",
    "bench io": "bench io -w -r -d 64:4:256:256 --reps 9 -f io.nc -O",
    "bench doctor": "bench doctor",
}
#: Seconds of processor time in which a sign must come: one on all processors.
SOON = float(os.cpu_count() or 1)


def shown(binary: Path, room: Path, line: str, **end: Any) -> Shown:
    """The text on the terminal; the data of the command goes elsewhere."""
    on = on_terminal([binary.resolve(), *line.split()], cwd=room, stdout=subprocess.DEVNULL, **end)
    for left in [*room.glob(".out.nc.*"), room / "io.nc"]:
        left.unlink(missing_ok=True)
    return on


@pytest.mark.parametrize("line", COUNTED)
def test_what_can_be_counted_is_counted(run: Run, room: Path, line: str) -> None:
    done = run("--progress", "json", *line.split(), cwd=room)
    reported = [json.loads(text) for text in done.stderr.splitlines() if text.startswith("{")]
    assert reported[0]["stage"] == COUNTED[line]
    last = reported[-1]
    # Not all that is counted must be looked at: chunks that are alike in both files are.
    assert 0 < last["done_bytes"] <= last["total_bytes"] * 1.01


@pytest.mark.parametrize("name", SLOW)
def test_a_second_without_a_sign_is_too_long(ncforge_bin: Path, room: Path, name: str) -> None:
    on = shown(ncforge_bin, room, SLOW[name], enough=WIPED.encode())
    assert on.code in (0, 3, -signal.SIGKILL), on.text
    assert on.busy is not None, "nothing was shown"
    assert on.busy < SOON, on.text[:300]
    # Lines fit the terminal, else what is redrawn climbs up the screen; the last one is wiped.
    assert "\x1b[1A" not in on.text
    assert WIPED in on.text
    drawn, _, _ = on.text.rpartition(WIPED)
    for line in re.split(r"[\r\n]", drawn):
        assert len(ESCAPE.sub("", line)) <= 80, line


def test_the_bar_says_how_far_it_is(ncforge_bin: Path, room: Path) -> None:
    on = shown(ncforge_bin, room, SLOW["copy"], enough=b"/96.01 MiB  ")
    assert "copy [" in on.text
    assert " %  " in on.text
    assert "/96.01 MiB  " in on.text


@pytest.mark.parametrize("option", ["--quiet", "--progress=none"])
def test_who_wants_silence_has_it(ncforge_bin: Path, room: Path, option: str) -> None:
    for name in ("copy", "bench access", "doctor"):
        on = shown(ncforge_bin, room, f"{SLOW[name]} {option}", at_most=SOON)
        assert WIPED not in on.text, name
        if option == "--quiet":
            assert not on.text


def test_a_log_shows_only_what_can_be_counted(run: Run, room: Path) -> None:
    for line in ("bench access noise.nc deflated.nc --repetitions 7", "doctor --fail-on never " + "deflated.nc " * 20):
        words = [str(room / w) if w.endswith(".nc") else w for w in line.split()]
        assert not run(*words).stderr, line
    # Lines come every five seconds; a copy that takes less says nothing but what it did.
    words = [str(room / w) if w.endswith(".nc") else w for w in SLOW["copy"].split()]
    reported = run(*words).stderr.splitlines()
    did = [line for line in reported if not line.startswith("ncforge: copy ")]
    assert " -> " in did[0] and len(did) <= 2 and all("chunks of" in line for line in did[1:]), reported


def test_parts_of_one_piece_of_work_are_counted_together(run: Run, room: Path) -> None:
    """Tiles of a split, and files that are copied into a folder: one total, reached once."""
    split = "split noise.nc -o again --tiles 2x2 --dims x,y --scheme fms -O"
    for words in (split.split(), ["copy", "noise.nc", "deflated.nc", "parts/", "-O", "--verify"]):
        done = run("--progress", "json", *words, cwd=room)
        told = [json.loads(t) for t in done.stderr.splitlines() if t.startswith("{")]
        assert len({t["total_bytes"] for t in told}) == 1, done.stderr
        counts = [t["done_bytes"] for t in told]
        assert counts == sorted(counts) and counts[-1] == told[-1]["total_bytes"]
