"""Files of a few kilobytes that say of their arrays that they are as long as numbers go, and options that do."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from commands import execute
from conftest import Run

LONG = 2**61 - 1
# The longest dimension that HDF5's file format can tell.
LONGEST = 2**64 - 2


@pytest.fixture(scope="module", params=[1, 1000], ids=["single", "thousand"])
def endless(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One value of very many; HDF5 itself makes no longer dimensions, the file's bytes do."""
    path = tmp_path_factory.mktemp("endless") / "endless.nc"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("v", shape=(LONG,), chunks=(request.param,), dtype="f4")[0] = 1
    reported = path.read_bytes()
    assert reported.count(struct.pack("<Q", LONG)) == 2
    path.write_bytes(reported.replace(struct.pack("<Q", LONG), struct.pack("<Q", LONGEST)))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["info"],
        ["info", "--json"],
        ["doctor", "--fail-on", "never"],
        ["tune", "chunks"],
        ["copy", "--dry-run", "out.nc"],
        ["copy", "--dry-run", "out.nc", "--chunks", "auto"],
        ["copy", "--dry-run", "out.nc", "--format", "cdf5"],
        ["bench", "access", "--patterns", "map", "--repetitions", "1"],
    ],
    ids=" ".join,
)
def test_nothing_is_made_of_what_is_only_said(
    ncforge_bin: Path, endless: Path, tmp_path: Path, words: list[str]
) -> None:
    command: list[Path | str] = [ncforge_bin.resolve(), *words, endless]
    if "out.nc" in words:
        command = [ncforge_bin.resolve(), "copy", endless, *words[2:], "--dry-run"]
    done = execute(*command, code=(0, 1, 2), cwd=tmp_path)
    assert "panicked" not in done.stderr and "memory allocation" not in done.stderr, done.stderr
    assert done.returncode == 0 or "hint: " in done.stderr, done.stderr


def test_reads_that_no_memory_holds_are_refused(run: Run, endless: Path) -> None:
    assert "--patterns names other reads" in run("bench", "access", str(endless), code=2).stderr


def test_options_that_no_machine_holds(run: Run, tmp_path: Path) -> None:
    done = run("bench", "combine", f"--shape={2**64 - 1},2,8,8", f"--folder={tmp_path}", code=2)
    assert "free in" in done.stderr
    once = ["--repetitions=1", "--warmup=0", "--no-guard", f"--folder={tmp_path}"]
    run("bench", "convert", "--floats=100", "--block=99999999999", *once)
    more = [f"--nn={2**63}", "--ppn=2"]
    assert "ranks" in run("bench", "io", "-d=4:4:4:4", "--dry-run", *more, code=2).stderr


def wide(path: Path, values: dict[tuple[int, int], float]) -> Path:
    """Two exbibytes, of which a few values are written."""
    with h5py.File(path, "w", libver="earliest") as file:
        v = file.create_dataset("v", shape=(2**30, 2**29), chunks=(64, 64), dtype="f4", fillvalue=-9)
        v.attrs["_FillValue"] = np.array([-9], "f4")
        for at, value in values.items():
            v[at] = value
    return path


def test_what_was_never_written_is_neither_compared_nor_split(run: Run, tmp_path: Path) -> None:
    places = {(0, 0): 1.0, (2**29 + 3, 7): 2.0, (2**30 - 1, 2**29 - 1): 3.0}
    one = wide(tmp_path / "one.nc", places)
    run("compare", one, wide(tmp_path / "same.nc", places))
    # Written here, and not there: what is read is the same, or it is not.
    run("compare", one, wide(tmp_path / "more.nc", {**places, (2**20, 2**20): -9.0}))
    other = wide(tmp_path / "other.nc", {**places, (5, 2**28): 4.0, (2**29 + 3, 7): 5.0})
    for pair in ((one, other), (other, one)):
        found = json.loads(run("compare", "--json", *pair, code=3).stdout)
        assert found["differing_values"] == 2, found
    run("split", one, "--tiles", "2x2", "--dims", "phony_dim_1,phony_dim_0", "-o", tmp_path / "tile")
    tiles = sorted(tmp_path.glob("tile_*.nc"))
    assert len(tiles) == 4
    values = []
    for tile in tiles:
        with h5py.File(tile) as file:
            values += [file["v"][0, 0], file["v"][3, 7], file["v"][-1, -1]]
    assert sorted(values) == [-9.0] * 9 + [1.0, 2.0, 3.0]


def test_sums_over_arrays_that_are_as_long_as_numbers_go(run: Run, tmp_path: Path) -> None:
    one, other = tmp_path / "one.nc", tmp_path / "other.nc"
    with h5py.File(one, "w", libver="earliest") as file:
        for name in ("a", "b", "c"):
            file.create_dataset(name, shape=(LONG,), chunks=(1000,), dtype="f8")[5] = 1
    run("copy", one, other, "--verify")
    found = json.loads(run("compare", "--json", one, other).stdout)
    assert found["variables"] == 3
    assert found["bytes"] == 2**64 - 1, "more than a number can tell, and not what is left of a sum that ran over"
