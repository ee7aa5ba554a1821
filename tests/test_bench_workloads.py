"""``ncforge bench convert`` and ``published``, and libhdf5 as a driver, as their users type them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from conftest import Run


def test_floats_go_to_disk_in_every_way(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    done = run("bench", "convert", "--floats", "30k,50000", "--library", "netcdf-c", "--library", "hdf5", "--folder",
               str(tmp_path), "--repetitions", "3", "--no-guard", f"--json={out}")  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.endswith("right")]
    names = ("raw", "stream", "memory", "vectorised", "ncforge, classic", "netcdf-c, classic", "ncforge, netcdf4")
    for name in (*names, "netcdf-c, netcdf4", "hdf5"):
        assert sum(line.startswith(name) for line in lines) == 2, name
    section = json.loads(out.read_text())["sections"][0]
    rows = {(r["case"], r["facts"]["floats"]): r for r in section["rows"]}
    assert all(r["bytes"] == 4 * int(floats) for (_, floats), r in rows.items())
    assert all(len(r["measurements"]) == 3 for r in rows.values())
    for way in ("raw", "stream", "memory", "vectorised"):
        assert rows[way, "50000"]["stored"] == 200_000
    raw, stream = (rows[w, "50000"] for w in ("raw", "stream"))

    def median(row: dict[str, Any]) -> float:
        return float(np.median([m["seconds"] for m in row["measurements"]]))

    penalty = (median(stream) / median(raw) - 1) * 100
    assert float(stream["facts"]["penalty"]) == pytest.approx(penalty, abs=0.06)
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]
    assert "no number" in run("bench", "convert", "--floats", "many", code=2).stderr
    assert "memory" in run("bench", "convert", "--floats", "9000G", code=2).stderr


def test_libhdf5_is_a_driver(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = ["bench", "io", "-d=6:8:10:5", f"-f={path}", "-w", "-r", "--driver", "hdf5", "--reps=1"]
    for more in (["-c=auto"], ["-u"], ["-z=4", "--shuffle"], ["-F"], []):
        run(*words, *more)
        with h5py.File(path) as h5:
            data = h5["data"]
            assert data.shape == (6, 8, 10, 5)
            assert (data.maxshape[0] is None) == ("-u" in more)
            assert data.compression == ("gzip" if "-z=4" in more else None)
            ours = np.asarray(data)
    run("bench", "io", "-d=6:8:10:5", f"-f={path}", "-O", "-w", "--reps", "1")
    with netCDF4.Dataset(path) as nc:
        assert np.array_equal(nc["data"][:], ours)
    assert "HDF5" in run(*words, "--format", "cdf5", "-O", code=2).stderr
    run(*words, "-t=f", "--ranks", "2", "-O")
    assert "file" in run(*words, "--ranks", "2", "-O", code=2).stderr


def test_published_measurements(run: Run, tmp_path: Path) -> None:
    """The short ones; all of them run when the example report is made."""
    plan = run("bench", "published", "--quick", "--dry-run").stdout.splitlines()
    assert [line.split()[0] for line in plan] == [
        *("unidata-2013", "unidata-2013", "cray-1993", "nocscombine"),
        *("netcdf-bench", "netcdf-bench", "compressed-netcdf"),
    ]
    out, page = tmp_path / "s.json", tmp_path / "s.html"
    done = run("bench", "published", "--quick", "--only", "io", "--folder", str(tmp_path), f"--json={out}", "--html", str(page),
               timeout=600)  # fmt: skip
    section = json.loads(out.read_text())["sections"][0]
    figures = [r["published"] for r in section["rows"] if r["published"]]
    assert figures and all(f["value"] == pytest.approx(200.617, abs=1e-3) for f in figures)
    assert "published figures" in done.stdout and "NetCDF-Bench" in page.read_text()
    assert "no publication" in run("bench", "published", "--only", "005", code=2).stderr
    # Its old name.
    assert len(run("bench", "seeds", "--quick", "--dry-run").stdout.splitlines()) == len(plan)


def test_the_cliff_is_set_beside_its_figures(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    run("bench", "chunks", "--array", "precip", "--array-bytes", "2M", "--shapes", "16,8,16", "--deflate", "1", "--shuffle",
        "off", "--series", "1", "--caches", "1M,default", "--cell-seconds", "0.05", "--repetitions", "1", "--library",
        "find", "--library", "hdf5", f"--json={out}")  # fmt: skip
    section = json.loads(out.read_text())["sections"][0]
    assert {r["engine"] for r in section["rows"]} == {"ncforge", "netcdf-c", "hdf5"}
    assert all(m["right"] for r in section["rows"] for m in r["measurements"])


@pytest.mark.parametrize("words", [["convert", "--floats=1k"], ["records", "--only=station", "--records=500"]])
def test_every_card_tells_file_system_codecs_and_what_lies_below(run: Run, tmp_path: Path, words: list[str]) -> None:
    more = ["--repetitions=1"] + ([] if words[0] == "convert" else ["--variables=4", "--reads=20"])
    done = run("bench", *words, *more, f"--folder={tmp_path}", "--library=netcdf-c", "--json")
    card = json.loads(done.stdout)["environment"]
    assert card["filesystem"]["kind"] and card["filesystem"]["options"]
    assert "libdeflate" in card["libraries"][0]
    assert re.fullmatch(r"netcdf-c [\d.]+\S*: HDF5 \d+\.\d+\.\d+.*", card["libraries"][1])
