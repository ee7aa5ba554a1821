"""The profile ``virtual``: ``doctor`` names what keeps references from joining files, and its commands fix it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import Run
from datasets import created
from virtual import equal, opened, raw

pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")


def months(folder: Path, lengths: list[int], chunk: int | None, format: Any = "NETCDF4") -> list[Path]:
    """Files of one month each."""
    paths, begin = [], 0
    for i, n in enumerate(lengths):
        paths.append(folder / f"{i}.nc")
        with created(paths[-1], format=format, time=None if chunk else n, x=700) as new:
            how: dict[str, Any] = {"chunksizes": (1,)} if chunk else {}
            time = new.createVariable("time", "f8", ("time",), **how)
            time.units = "days since 2000-01-01"
            time[:] = np.arange(begin, begin + n)
            how = {"zlib": True, "chunksizes": (chunk, 700)} if chunk else {}
            var = new.createVariable("v", "f8", ("time", "x"), **how)
            var[:] = np.random.default_rng(i).normal(size=(n, 700))
        begin += n
    return paths


def findings(run: Run, *files: Path, across: bool = True) -> dict[str, list[dict[str, Any]]]:
    """The findings of `doctor`, by code."""
    options = ["--across"] if across else []
    said = run("doctor", "--profile", "virtual", *options, "--json", "--fail-on", "never", *files)
    document = json.loads(said.stdout)
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in document["across"] + [f for file in document["files"] for f in file["findings"]]:
        found.setdefault(finding["code"], []).append(finding)
    return found


def fixed(run: Run, finding: dict[str, Any]) -> list[Path]:
    """Runs the commands of a finding; the files that they write."""
    out = []
    for command in finding["commands"]:
        words = shlex.split(command)
        run(*words[1:])
        folder = next((i for i, word in enumerate(words) if word.endswith("/")), None)
        out += [Path(words[3])] if folder is None else [Path(words[folder], Path(p).name) for p in words[2:folder]]
    return out


@pytest.mark.parametrize(("lengths", "chunk"), [([31, 28, 31], 30), ([12, 18, 7], 4)])
def test_partial_chunks(tmp_path: Path, run: Run, lengths: list[int], chunk: int) -> None:
    paths = months(tmp_path, lengths, chunk)
    many = [p for p in paths for _ in range(60)]  # Too many to be stored in the references.
    with pytest.raises(ncforge.InvalidError, match="do not fill chunks"):
        ncforge.references(many, unsorted=True)
    found = findings(run, *paths)
    # `time` is stored in the references.
    assert set(found) == {"NC508"}
    (finding,) = found["NC508"]
    assert finding["variable"] == "v" and f"do not fill chunks of {chunk}" in finding["message"]
    after = fixed(run, finding)
    assert len(after) == len(paths) and not findings(run, *after)
    refs = ncforge.references(after, inline=0)
    assert isinstance(refs["refs"]["v/0.0"], list)
    want = np.concatenate([raw(netCDF4.Dataset(p)["v"]) for p in paths])
    equal(opened(refs)["v"][...], want, "v")


def year(path: Path, begin: int, days: int) -> Path:
    """A file whose chunks of one variable are of 23 days, and of another hold more than there is."""
    with created(path, time=None, lat=40, lon=60) as new:
        time = new.createVariable("time", "f8", ("time",), chunksizes=(512,))
        time.units = "days since 2000-01-01"
        time[:] = np.arange(begin, begin + days)
        tas = new.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(23, 4, 60))
        tas[:] = np.random.default_rng(days).normal(size=(days, 40, 60))
    return path


def test_small_coordinates_join_whatever_their_chunks(tmp_path: Path, run: Run) -> None:
    paths = [year(tmp_path / f"{i}.nc", *part) for i, part in enumerate([(0, 366), (366, 365), (731, 365)])]
    (finding,) = findings(run, *paths)["NC508"]
    assert finding["variable"] == "tas"
    # Steps of 1, the only common divisor; the other axes make up for it.
    after = fixed(run, finding)
    with netCDF4.Dataset(after[0]) as file:
        assert file["tas"].chunking() == [1, 40, 60]
    refs = ncforge.references(after)
    want = np.concatenate([raw(netCDF4.Dataset(p)["tas"]) for p in paths])
    equal(opened(refs)["tas"][...], want, "tas")


def test_chunks_for_object_stores_divide_time(tmp_path: Path, run: Run) -> None:
    paths = [year(tmp_path / "0.nc", 0, 365), year(tmp_path / "1.nc", 365, 365)]
    out = [tmp_path / "0-out.nc", tmp_path / "1-out.nc"]
    for one, other in zip(paths, out, strict=True):
        run("copy", one, other, "--storage", "object", "--profile", "virtual")
        with netCDF4.Dataset(other) as file:
            assert 365 % file["tas"].chunking()[0] == 0
    ncforge.references(out, inline=0)
    assert not findings(run, *out)
    # Lengths that the user chose stay, but for that along time.
    run("copy", paths[0], tmp_path / "own.nc", "--profile", "virtual", "--chunks", "time/23,lat/4,lon/30")
    with netCDF4.Dataset(tmp_path / "own.nc") as own:
        assert own["tas"].chunking()[1:] == [4, 30] and 365 % own["tas"].chunking()[0] == 0


def test_contiguous_variables_of_other_lengths(tmp_path: Path, run: Run) -> None:
    paths = months(tmp_path, [30, 20], None, "NETCDF3_64BIT_DATA")
    found = findings(run, *paths)
    assert set(found) == {"NC509"} and {f["variable"] for f in found["NC509"]} == {"time", "v"}
    finding = next(f for f in found["NC509"] if f["variable"] == "v")
    assert "contiguous, and 20 to 30 steps long along time" in finding["message"]
    assert "--format netcdf4" in finding["commands"][0] and "v:10,700" in finding["commands"][0]
    assert not findings(run, *months(tmp_path, [30, 30], None))


def test_one_file(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "odd.nc", tmp_path / "out.nc"
    values = np.arange(48, dtype="f8").reshape(4, 12)
    with created(path, t=None, x=12) as new:
        new.createVariable("names", str, ("x",))[0] = "one"
        # netCDF-C puts the checksum in front of shuffle.
        new.createVariable("checked", "f8", ("t", "x"), zlib=True, fletcher32=True, chunksizes=(3, 3))[:] = values
    with h5py.File(path, "a") as file:
        file.create_dataset("lzf", data=values, chunks=(2, 4), compression="lzf")
        masked = file.create_dataset("masked", data=values, chunks=(4, 4), compression="gzip", shuffle=True)
        masked.id.write_direct_chunk((0, 4), np.ascontiguousarray(values[:, 4:8]).tobytes(), 0b11)
    found = findings(run, path, across=False)
    assert {code: sorted(f["variable"] for f in list) for code, list in found.items()} == {
        "NC801": ["checked", "lzf"],
        "NC802": ["masked"],
        "NC803": ["names"],
    }
    assert run("doctor", "--profile", "virtual", path, code=3).stdout.startswith(f"{path}: fails")
    run("copy", path, out, "--profile", "virtual", "--verify")
    assert set(findings(run, out, across=False)) == {"NC803"}
    refs = ncforge.references(out, inline=0)
    for name in ("checked", "lzf", "masked"):
        assert all(
            isinstance(r, list) for key, r in refs["refs"].items() if key.startswith(f"{name}/") and ".z" not in key
        )
        equal(opened(refs)[name][...], values, name)
    with netCDF4.Dataset(out) as file:
        assert file["checked"].chunking() == [2, 3] or file["checked"].chunking() == [4, 3]


def test_classic_files_stay_classic(tmp_path: Path, run: Run) -> None:
    (path,) = months(tmp_path, [5], None, "NETCDF3_CLASSIC")
    run("copy", path, tmp_path / "out.nc", "--profile", "virtual")
    assert run("info", "--kind", tmp_path / "out.nc").stdout.strip() == "classic"
