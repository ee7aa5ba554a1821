"""``ncforge bench io`` in several formats, Zarr stores among them: the same array by every library that has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_common import ONCE, expected, values
from conftest import Run

SHAPE = (4, 6, 8, 5)


def section(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["sections"][0]
    return found


def chunks_of(store: Path, name: str = "data") -> np.ndarray:
    """The values of an uncompressed Zarr array, put together from its files by nobody's library."""
    reported = json.loads((store / name / ".zarray").read_text())
    assert reported["zarr_format"] == 2 and reported["compressor"] is None and not reported["filters"]
    out = np.zeros(reported["shape"], reported["dtype"])
    for file in (store / name).glob("[0-9]*"):
        at = [int(n) for n in file.name.split(".")]
        box = tuple(slice(i * c, (i + 1) * c) for i, c in zip(at, reported["chunks"], strict=True))
        chunk = np.fromfile(file, reported["dtype"]).reshape(reported["chunks"])
        out[box] = chunk[tuple(slice(0, n) for n in out[box].shape)]
    return out


def test_an_array_is_the_same_in_every_format(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=netcdf-c,ncforge,raw", *ONCE]
    run(*words, "-L", "format=netcdf4,cdf5", f"--json={out}")
    found = section(out)
    names = [c["name"] for c in found["detail"]["cases"]]
    assert names == ["netcdf-c, netcdf4", "netcdf-c, cdf5", "ncforge, netcdf4", "ncforge, cdf5", "raw, bytes"]
    assert all(m["right"] is not False for row in found["rows"] for m in row["measurements"])
    # And by readers that are not ours.
    for number in range(1, 5):
        assert np.array_equal(values(tmp_path / f"t.{number}.nc"), expected(SHAPE)), names[number - 1]


@pytest.mark.parametrize(
    "options",
    [
        ["-c=1:4:4:5"],
        ["-c=auto", "-F"],
        ["--dtype=f8"],
        ["--dtype=f4", "--quantize=bitround=9", "--data-content=hash"],
        ["-t=file", "--ranks=2", "-p=2"],
    ],
)
def test_zarr_stores_are_written_and_read(run: Run, tmp_path: Path, options: list[str]) -> None:
    out = tmp_path / "out.json"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=netcdf-c,raw", *ONCE]
    run(*words, "-L", "format=netcdf4,zarr", f"--json={out}", *options)
    found = section(out)
    assert [c["name"] for c in found["detail"]["cases"]] == ["netcdf-c, netcdf4", "netcdf-c, zarr", "raw, bytes"]
    assert all(m["right"] is not False for row in found["rows"] for m in row["measurements"])
    audit = found["detail"]["cases"][1]["audit"]
    assert audit["format"] == "zarr" and audit["chunks"] and audit["bytes"] > audit["values"]
    if "-t=file" in options:
        both = [chunks_of(tmp_path / f"t.2.zarr-{rank}") for rank in range(2)]
        assert np.array_equal(np.concatenate(both, axis=2), expected(SHAPE))
    elif not any(o.startswith("--dtype") for o in options):
        assert np.array_equal(chunks_of(tmp_path / "t.2.zarr"), expected(SHAPE))
    # They are a benchmark's, and may be replaced.
    run(*words, "-L", "format=netcdf4,zarr", *options)


def test_cold_reads_of_a_store_are_proven(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["bench", "io", "-d=8:64:64:16", f"-f={tmp_path / 't.zarr'}", "-w", "-r", "--driver=netcdf-c", *ONCE]
    run(*words, "--format=zarr", "-c=1:64:64:16", "--cache=cold,warm", f"--json={out}")
    reads = [p["measurement"] for p in section(out)["detail"]["phases"] if p["kind"] == "read"]
    if reads[0]["cache"]["label"] != "cold-verified":
        pytest.skip("the folder for temporary files is not on a disk")
    assert reads[0]["stored"] > 8 * 64 * 64 * 16 * 4
    assert reads[0]["from_storage"] >= 0.99 * reads[0]["stored"]
    assert reads[1]["cache"]["label"] == "warm-verified"
    assert (tmp_path / "t.zarr" / ".zgroup").exists()


def test_folders_that_no_benchmark_has_made_are_left_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.zarr"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={path}", "-w", "--driver=netcdf-c", *ONCE, "--format=zarr"]
    path.mkdir()
    (path / "letter.txt").write_text("dear")
    for more in ([], ["-O"]):
        assert "is a folder, and no Zarr store" in run(*words, *more, code=2).stderr
    assert "is a folder, and no Zarr store" in run(*words[:-1], "--format=netcdf4", "-O", code=2).stderr
    assert (path / "letter.txt").read_text() == "dear"
    # Somebody else's store: only when that is asked for.
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    assert "no benchmark has written it" in run(*words, code=2).stderr
    assert (path / "letter.txt").exists()
    run(*words, "-O")
    assert np.array_equal(chunks_of(path), expected(SHAPE)) and not (path / "letter.txt").exists()
    run(*words)


@pytest.mark.parametrize("name", ["ä", "a b", "a#b", "a?b", "a%20b"])
def test_a_folder_that_netcdf_c_would_mistake_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    """NetCDF-C 4.9.0 takes what stands before the letter for the store, and empties it."""
    (tmp_path / "precious").write_text("dear")
    words = ["bench", "io", "-d=4:6:8:5", "-w", "--driver=netcdf-c", "--format=zarr", *ONCE]
    assert "letters, digits" in run(*words, f"-f={tmp_path / name / 't.zarr'}", code=2).stderr
    assert "letters, digits" in run(*words, f"-f={tmp_path / name}", code=2).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["precious"]


def test_what_zarr_stores_cannot_do_is_said(run: Run, tmp_path: Path) -> None:
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.zarr'}", "-w", *ONCE]
    for options, message in (
        (["--format=zarr"], "ncforge writes no Zarr stores"),
        (["--format=zarr", "--driver=hdf5"], "HDF5 writes no Zarr stores"),
        (["--format=zarr", "--driver=netcdf-c", "-u"], "leave out --unlimited"),
        (["--format=zarr", "--driver=netcdf-c", "-n=1", "-p=2"], "--io-type file"),
        (["--format=zarr", "--driver=netcdf-c", "--codec=lzf", "-c=auto"], "Zarr store"),
        (["--format=hdf4"], "no format `hdf4`"),
        (["-L", "format=netcdf4,hdf4"], "no format `hdf4`"),
    ):
        assert message in run("bench", "io", *words[2:], *options, code=2).stderr, options
    assert list(tmp_path.iterdir()) == []
