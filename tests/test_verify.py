"""``verify`` of files that are not zipped: it finds the chunks that h5py cannot read, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import DATA, Run

FILTERS: dict[str, dict[str, Any]] = {
    "zlib": {"compression": "zlib"},
    "fletcher32": {"fletcher32": True},
    "shuffle-zlib-fletcher32": {"compression": "zlib", "shuffle": True, "fletcher32": True},
}


def write(path: Path) -> None:
    """A variable of 35 chunks for each set of filters, one without filters, and texts."""
    values = np.random.default_rng(1).normal(size=(50, 33)).round(2)
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 50)
        file.createDimension("x", 33)
        for name, filters in FILTERS.items():
            file.createVariable(name, "f8", ("y", "x"), chunksizes=(8, 7), **filters)[:] = values
        file.createVariable("plain", "f8", ("y", "x"))[:] = values
        file.createVariable("texts", str, ("y",))[:] = np.array([f"text {n}" for n in range(50)], dtype=object)


def unreadable(path: Path, name: str) -> set[tuple[int, ...]]:
    """Where chunks begin that h5py cannot read."""
    found = set()
    with h5py.File(path) as file:
        var = file[name]
        for chunk in var.iter_chunks():
            try:
                var[chunk]
            except OSError:
                found.add(tuple(part.start for part in chunk))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_chunks_that_are_damaged(tmp_path: Path, run: Run, seed: int) -> None:
    """Chunks with changed bytes, as many as h5py finds, the first of them by its place."""
    path = tmp_path / "a.nc"
    write(path)
    assert "all is well: 5 variables" in run("verify", path).stderr
    rng = np.random.default_rng(seed)
    with h5py.File(path) as file:
        chunks = {name: [file[name].id.get_chunk_info(i) for i in range(35)] for name in FILTERS}
    with path.open("r+b") as raw:
        for name in FILTERS:
            for i in rng.choice(35, size=rng.integers(1, 12), replace=False):
                info = chunks[name][i]
                raw.seek(info.byte_offset + info.size // 2)
                byte = raw.read(1)[0]
                raw.seek(info.byte_offset + info.size // 2)
                raw.write(bytes([byte ^ 0x55]))
    report = ncforge.verify(path)
    assert not report
    assert (report.variables, report.commit) == (5, None)
    said = {problem.touches[0]: problem.what for problem in report.problems}
    assert said.keys() == FILTERS.keys()
    for name, what in said.items():
        bad = unreadable(path, name)
        assert f"{len(bad)} of 35 chunks cannot be read, the first at {list(min(bad))}" in what
    done = run("verify", path, "--json", code=3)
    assert [p["what"] for p in json.loads(done.stdout)["files"][0]["problems"]] == list(said.values())


def test_files_without_damage(run: Run) -> None:
    """Real files."""
    for path in sorted(DATA.glob("*.nc")):
        run("verify", path)


def test_what_is_missing_at_the_end(tmp_path: Path, run: Run) -> None:
    """A classic file, and a contiguous variable, that were cut."""
    classic, hdf5 = tmp_path / "classic.nc", tmp_path / "hdf5.nc"
    for path, format in ((classic, "NETCDF3_CLASSIC"), (hdf5, "NETCDF4")):
        with netCDF4.Dataset(path, "w", format=format) as file:  # type: ignore[arg-type]
            file.createDimension("x", 100_000)
            file.createVariable("v", "f8", ("x",))[:] = 1.5
        with path.open("r+b") as raw:
            raw.truncate(400_000)
        done = run("verify", path, code=(3, 4))
        assert "all is well" not in done.stderr
        assert str(path) in done.stdout + done.stderr


def test_of_several_files_all_are_read(tmp_path: Path, run: Run) -> None:
    """One that is no netCDF file does not keep the next from being read."""
    path, text = tmp_path / "a.nc", tmp_path / "text.nc"
    write(path)
    text.write_text("no netCDF file")
    done = run("verify", text, path, code=4)
    assert "all is well" in done.stderr
