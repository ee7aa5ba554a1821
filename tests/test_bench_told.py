"""Facts on a measurement that ``ncforge bench io`` reports: the machine, where time went, what was used."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from bench_common import ONCE
from conftest import Run


def test_the_card_tells_the_machine_and_pages_do_not_tell_whose(run: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--driver=ncforge,netcdf-c", *ONCE]
    text = run(*words, f"--json={out}", f"--html={page}").stdout
    card = json.loads(out.read_text())["environment"]
    for fact in ("system", "kernel", "cpus", "memory", "ncforge", "filesystem", "variables"):
        assert card[fact] or fact == "variables", fact
    assert card["filesystem"]["kind"] and card["filesystem"]["options"]
    codecs = card["libraries"][0]
    assert "libdeflate" in codecs and "zstd" in codecs and "lz4" in codecs
    assert any(line.startswith("netcdf-c") and "HDF5" in line for line in card["libraries"])
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    if commit.returncode == 0:
        assert card["revision"] == commit.stdout.strip()
    assert codecs in text and card["filesystem"]["kind"] in text
    shown = page.read_text()
    assert codecs in shown and str(tmp_path) not in shown
    if card["filesystem"]["device"].startswith("/"):
        assert card["filesystem"]["device"] not in shown


def test_a_copy_and_reads_of_it_are_reported_in_sentences(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCFORGE_MACHINE", "/nonexistent")
    maps, series = tmp_path / "maps.nc", tmp_path / "series.nc"
    with netCDF4.Dataset(maps, "w") as d:
        for name, n in (("time", 730), ("lat", 64), ("lon", 128)):
            d.createDimension(name, n)
        v = d.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, chunksizes=(1, 64, 128))
        v[:] = np.random.default_rng(1).normal(size=(730, 64, 128)).round(1)
    said = run("copy", str(maps), str(series), "--for", "series").stderr
    with netCDF4.Dataset(series) as d:
        chunks = " x ".join(map(str, d["tas"].chunking()))
    # Its chunks have access points: a map takes no longer.
    assert f"tas: chunks of {chunks}\n" in said
    plan = run("copy", str(maps), str(tmp_path / "none.nc"), "--keep-digits", "3", "--dry-run").stdout
    assert "rounded to 3 digits" in plan
    text = run("bench", "access", str(maps), str(series), "--repetitions", "3").stdout
    for word in ("chance", "far out", "as-is", "by ncforge", "processor:"):
        assert word not in text, text
    compared = r"^series: (\[2\] series.nc is [\d.,]+× (faster|slower) than \[1\] maps.nc|no difference that could be measured .*)$"
    assert re.search(compared, text, re.MULTILINE), text
    details = run("-v", "bench", "access", str(maps), str(series), "--repetitions", "3").stdout
    assert "95 % intervals" in details and "processor:" in details


def test_saved_results_are_compared(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "a.json"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--reps", "5"]
    run(*words, f"--json={saved}")
    assert "beyond chance" in run("bench", "compare", str(saved), str(saved), "--fail-if-slower", "10%").stdout
    slow = json.loads(saved.read_text())
    for row in slow["sections"][0]["rows"]:
        for m in row["measurements"]:
            m["seconds"] *= 100
    other = tmp_path / "b.json"
    other.write_text(json.dumps(slow))
    done = run("bench", "compare", str(saved), str(other), "--fail-if-slower", "10%", code=3)
    assert "SLOWER" in done.stdout
    run("bench", "compare", str(saved), str(other))
    run("bench", "compare", str(other), str(saved), "--fail-if-slower", "10%")
    other.write_text("{}")
    run("bench", "compare", str(saved), str(other), code=4)


def test_phases_tell_what_they_used_and_where_time_went(run: Run, tmp_path: Path) -> None:
    words = ["-d=8:50:50:10", "-w", "-r", "--driver=ncforge,netcdf-c,hdf5,raw", "--json", *ONCE]
    section = json.loads(run("bench", "io", *words, f"-f={tmp_path / 't.nc'}").stdout)["sections"][0]
    for row in section["rows"]:
        (m,) = row["measurements"]
        split = dict(m["split"])
        write = row["phase"] == "write"
        steps = {
            "netcdf-c": ["create", "define", "enddef"] if write else ["open", "inquire"],
            "hdf5": ["create", "define"] if write else ["open", "inquire"],
        }.get(row["engine"], ["open"])
        assert list(split) == [*steps, "first_call", "io", *(["sync"] if write else []), "close"]
        assert sum(split[s] for s in steps) <= m["open"] * 1.01
        assert 0 < split["first_call"] <= split["io"] == m["seconds"]
        used = m["used"]
        assert used["user"] + used["system"] == pytest.approx(m["cpu"])
        calls = {"read_calls", "read_bytes", "write_calls", "write_bytes", "to_storage"}
        assert {"user", "system", "waited", "forced", "faults", "fetched"} | calls == set(used)
        assert m["memory"] > 1 << 20
    assert sum(m["used"]["faults"] for row in section["rows"] for m in row["measurements"]) > 0
    done = run("bench", "io", *[w for w in words if w != "--json"], "--csv=-", f"-f={tmp_path / 't.nc'}")
    by_engine = {r["engine"].split()[0]: r for r in csv.DictReader(io.StringIO(done.stdout)) if r["phase"] == "write"}
    assert 0 < float(by_engine["netcdf-c"]["t_define_s"]) < float(by_engine["netcdf-c"]["t_open_s"])
    assert by_engine["ncforge"]["t_define_s"] == "" and float(by_engine["ncforge"]["t_first_call_s"]) > 0
    text = run("bench", "io", "-d=8:50:50:10", "-w", *ONCE, f"-f={tmp_path / 't.nc'}").stdout
    assert re.search(r"^ncforge, write: open .*, first call .*, io .*, close .*; .* user, .* page faults", text, re.M)


def test_calls_of_the_system_are_counted(run: Run, tmp_path: Path) -> None:
    """Plain calls move the values and nothing else; looking at the counters is not among them."""
    out, table = tmp_path / "out.json", tmp_path / "out.csv"
    words = ["bench", "io", "-d=6:8:10:500", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--driver=raw", *ONCE, "-O"]
    done = run(*words, f"--json={out}", f"--csv={table}")
    values_of = 6 * 8 * 10 * 500 * 4
    for row in json.loads(out.read_text())["sections"][0]["rows"]:
        used = row["measurements"][0]["used"]
        calls, moved = ("write_calls", "write_bytes") if row["phase"] == "write" else ("read_calls", "read_bytes")
        assert values_of <= used[moved] < values_of + 4096 and 6 <= used[calls] < 60
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert int(rows[0]["bytes_written"]) >= values_of and int(rows[1]["bytes_read"]) >= values_of
    assert " calls read " in done.stdout
