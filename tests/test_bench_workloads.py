"""``ncforge bench convert``, ``like``, ``seeds`` and ``selftest``, and libhdf5 as a driver, as their users type them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from conftest import Run

ONCE = ["--repetitions", "1", "--warmup", "0", "--no-guard"]


def test_floats_go_to_disk_in_every_way(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    done = run("bench", "convert", "--floats", "30k,50000", "--library", "find", "--library", "h5", "--folder",
               str(tmp_path), "--repetitions", "3", "--no-guard", f"--json={out}")  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.endswith("right")]
    names = ("raw", "stream", "memory", "vectorised", "ncforge, classic", "libnetcdf, classic", "ncforge, netcdf4")
    for name in (*names, "libnetcdf, netcdf4", "h5"):
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


def test_known_faults_are_found(run: Run, tmp_path: Path) -> None:
    done = run("bench", "selftest", "--folder", str(tmp_path), timeout=600)
    assert "MISSED" not in done.stdout
    assert len(done.stdout.splitlines()) == 19
    assert list(tmp_path.iterdir()) == []


#: Every check whose outcome does not hang on how busy the machine is.
BREAKABLE = [
    "clock",
    "calls",
    "latency",
    "open",
    "close",
    "ranks",
    "clean",
    "one-bit",
    "lost-write",
    "no-read",
    "swapped",
    "alike",
]


@pytest.mark.parametrize("check", [*BREAKABLE, "ratio", "regression", "outlier", "cold", "warm", "neighbour"])
def test_what_is_not_there_is_not_found(ncforge_bin: Path, tmp_path: Path, check: str) -> None:
    """Without its injection a check must fail, and the command with it: a check that cannot fail proves nothing."""
    command = [
        str(ncforge_bin),
        "bench",
        "selftest",
        "--only",
        check,
        "--leave-out",
        check,
        "--folder",
        str(tmp_path),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    found = json.loads(done.stdout)["checks"][0]
    if found["outcome"] == "impossible" or (check not in BREAKABLE and done.returncode == 0):
        pytest.skip("not on this machine, or something disturbed it")
    assert found["outcome"] == "missed" and done.returncode == 1
    assert check in done.stderr


def series(path: Path, **options: Any) -> None:
    """A file as somebody has it: a time series of maps."""
    with netCDF4.Dataset(path, "w") as nc:
        for name, length in (("time", None), ("lat", 30), ("lon", 40)):
            nc.createDimension(name, length)
        var = nc.createVariable("t2m", "f4", ("time", "lat", "lon"), **options)
        var[:] = np.random.default_rng(1).normal(280, 10, (200, 30, 40)).round(1)


@pytest.mark.parametrize(
    "options",
    [{"zlib": True, "complevel": 1, "chunksizes": (1, 30, 40)}, {"chunksizes": (1, 30, 40)}, {"compression": "zstd"}],
)
def test_like_a_file(run: Run, tmp_path: Path, options: dict[str, Any]) -> None:
    file, out = tmp_path / "in.nc", tmp_path / "out.json"
    series(file, **options)
    before = file.read_bytes()
    folder = tmp_path / "folder"
    folder.mkdir()
    run(
        "bench",
        "like",
        str(file),
        "--for",
        "series=9,map",
        "--library",
        "find",
        "--folder",
        str(folder),
        f"--json={out}",
        *ONCE,
    )
    assert file.read_bytes() == before
    assert list(folder.iterdir()) == []
    section = json.loads(out.read_text())["sections"][0]
    assert {r["phase"] for r in section["rows"]} == {"write", "series", "map"}
    layouts = {r["facts"].get("layout") for r in section["rows"]}
    assert {"as it is", "chosen chunks"} <= layouts
    reads = [r for r in section["rows"] if r["phase"] != "write"]
    assert all(m["right"] for r in reads for m in r["measurements"])
    now = next(r for r in reads if r["facts"]["layout"] == "as it is")
    assert now["facts"]["chunk_shape"] == ":".join(map(str, options.get("chunksizes", (1, 30, 40))))
    assert ("deflate" in now["facts"]["codec"]) == ("zlib" in options)
    chosen = next(r for r in reads if r["facts"]["layout"] == "chosen chunks")
    assert int(chosen["facts"]["chunk_shape"].split(":")[0]) > 1, "mostly series are read"
    words = " ".join(section["words"])
    if copy := re.search(r"ncforge (copy in.nc new.nc --chunks \S+)", words):
        run(*copy.group(1).replace("in.nc", str(file)).replace("new.nc", str(tmp_path / "new.nc")).split())


def test_like_a_part_of_a_classic_file(run: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "in.nc", tmp_path / "out.json"
    with netCDF4.Dataset(file, "w", format="NETCDF3_64BIT_OFFSET") as nc:
        for name, length in (("time", None), ("x", 500)):
            nc.createDimension(name, length)
        nc.createVariable("v", "i2", ("time", "x"))[:] = np.arange(100_000).reshape(200, 500) % 999
    run("bench", "like", str(file), "--array-bytes", "50K", "--library", "find", f"--json={out}", *ONCE)
    section = json.loads(out.read_text())["sections"][0]
    assert any("50:500" in n or "51:500" in n for n in section["notes"]), section["notes"]
    assert all(m["right"] for r in section["rows"] if r["phase"] != "write" for m in r["measurements"])
    assert "no" in run("bench", "like", str(tmp_path / "nothing.nc"), code=4).stderr
    run("bench", "like", str(file), "--for", "nonsense", code=2)


def test_libhdf5_is_a_driver(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    words = [
        "bench",
        "io",
        "-d=6:8:10:5",
        f"-f={path}",
        "-w",
        "-r",
        "--driver",
        "h5",
        "--reps",
        "1",
        "--warmup",
        "0",
        "--no-guard",
    ]
    for more in (["-c=auto"], ["-u"], ["-z=4", "--shuffle"], ["-F"], []):
        run(*words, *more)
        with h5py.File(path) as h5:
            data = h5["data"]
            assert data.shape == (6, 8, 10, 5)
            assert (data.maxshape[0] is None) == ("-u" in more)
            assert data.compression == ("gzip" if "-z=4" in more else None)
            ours = np.asarray(data)
    run("bench", "io", "-d=6:8:10:5", f"-f={path}", "-O", "-w", "--reps", "1", "--no-guard")
    with netCDF4.Dataset(path) as nc:
        assert np.array_equal(nc["data"][:], ours)
    assert "HDF5" in run(*words, "--format", "cdf5", "-O", code=2).stderr
    run(*words[:-1], "-t=f", "--ranks", "2", "--no-guard", "-O")
    assert "file" in run(*words, "--ranks", "2", "-O", code=2).stderr


def test_seeds(run: Run, tmp_path: Path) -> None:
    """What is short of them; all of them run when the example report is made."""
    plan = run("bench", "seeds", "--quick", "--dry-run").stdout.splitlines()
    assert [line.split()[0] for line in plan] == ["000", "000", "001", "002", "003", "003", "004"]
    out, page = tmp_path / "s.json", tmp_path / "s.html"
    done = run("bench", "seeds", "--quick", "--only", "io", "--folder", str(tmp_path), f"--json={out}", "--html", str(page),
               timeout=600)  # fmt: skip
    section = json.loads(out.read_text())["sections"][0]
    figures = [r["seed"] for r in section["rows"] if r["seed"]]
    assert figures and all(f["value"] == pytest.approx(200.617, abs=1e-3) for f in figures)
    assert "published figures" in done.stdout and "NetCDF-Bench" in page.read_text()
    assert "no seed" in run("bench", "seeds", "--only", "005", code=2).stderr


def test_the_cliff_is_set_beside_its_figures(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    run("bench", "chunks", "--array", "precip", "--array-bytes", "2M", "--shapes", "16,8,16", "--deflate", "1", "--shuffle",
        "off", "--series", "1", "--caches", "1M,default", "--cell-seconds", "0.05", "--repetitions", "1", "--library",
        "find", "--library", "h5", f"--json={out}")  # fmt: skip
    section = json.loads(out.read_text())["sections"][0]
    assert {r["engine"] for r in section["rows"]} == {"ncforge", "libnetcdf", "h5"}
    assert all(m["right"] for r in section["rows"] for m in r["measurements"])


@pytest.mark.parametrize("words", [["convert", "--floats=1k"], ["records", "--only=station", "--records=500"]])
def test_every_card_tells_file_system_codecs_and_what_lies_below(run: Run, tmp_path: Path, words: list[str]) -> None:
    more = ["--repetitions=1"] + ([] if words[0] == "convert" else ["--variables=4", "--reads=20"])
    done = run("bench", *words, *more, f"--folder={tmp_path}", "--library=find", "--json")
    card = json.loads(done.stdout)["environment"]
    assert card["filesystem"]["kind"] and card["filesystem"]["options"]
    assert "libdeflate" in card["libraries"][0]
    assert re.fullmatch(r"libnetcdf [\d.]+\S*: HDF5 \d+\.\d+\.\d+.*", card["libraries"][1])
