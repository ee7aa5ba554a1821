"""What ``ncforge bench io`` tells of a measurement: the machine, where time went, what was used, what was moved by then."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from bench_common import ONCE
from conftest import Run


def test_the_card_tells_the_machine_and_pages_do_not_tell_whose(run: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--driver=ncforge,libnetcdf", *ONCE]
    text = run(*words, f"--json={out}", f"--html={page}").stdout
    card = json.loads(out.read_text())["environment"]
    for fact in ("system", "kernel", "cpus", "memory", "ncforge", "filesystem", "variables"):
        assert card[fact] or fact == "variables", fact
    assert card["filesystem"]["kind"] and card["filesystem"]["options"]
    codecs = card["libraries"][0]
    assert "libdeflate" in codecs and "zstd" in codecs and "lz4" in codecs
    assert any(line.startswith("libnetcdf") and "HDF5" in line for line in card["libraries"])
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    if commit.returncode == 0:
        assert card["revision"] == commit.stdout.strip()
    assert codecs in text and card["filesystem"]["kind"] in text
    shown = page.read_text()
    assert codecs in shown and str(tmp_path) not in shown
    if card["filesystem"]["device"].startswith("/"):
        assert card["filesystem"]["device"] not in shown


@pytest.mark.parametrize("options", [[], ["--ranks=2", "-p=2"], ["-c=auto", "-z=1"], ["-t=file"], ["--format=cdf5"]])
def test_phases_end_with_the_time(run: Run, tmp_path: Path, options: list[str]) -> None:
    """What was moved by then is what rates are of, and what is read and checked."""
    out = tmp_path / "out.json"
    words = ["-d=400:100:100:10", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--seconds=0.02", "--driver=ncforge,libnetcdf"]
    if "--ranks=2" in options:
        words[-1] = "--driver=ncforge,raw"
    done = run("bench", "io", *words, *options, "--csv", f"--json={out}", *ONCE)
    section = json.loads(out.read_text())["sections"][0]
    whole = 400 * 100 * 100 * 10 * 4
    written = [p for p in section["detail"]["phases"] if p["kind"] == "write"]
    assert any(p["partial"] for p in written)
    for p in section["detail"]["phases"]:
        assert p["partial"] == (p["bytes"] < whole)
        assert not p["partial"] or p["kind"] == "read" or p["io"] >= 0.02
        assert len({r["bytes"] for r in p["ranks"]}) == 1, "every rank has made as many calls"
        assert p["kind"] == "write" or p["verdict"]["wrong"] == 0
        assert p["kind"] == "write" or p["verdict"]["checked"] * 4 == p["bytes"]
    for row in csv.DictReader(io.StringIO(done.stdout)):
        rate = int(row["bytes_logical"]) / 2**20 / float(row["t_io_s"])
        assert rate == pytest.approx(float(row["rate_io_MiBps"]), rel=1e-2)
    assert any("ended after 0.02 s" in note for note in section["notes"])


def test_time_and_growing_files_exclude_one_another(run: Run, tmp_path: Path) -> None:
    for options in (["-u"], ["--rewrite"]):
        done = run("bench", "io", f"-f={tmp_path / 't.nc'}", "-w", "--seconds=1", *options, *ONCE, code=2)
        assert "--seconds goes with neither" in done.stderr
    assert "cannot take" in run("bench", "io", f"-f={tmp_path / 't.nc'}", "--seconds=0", *ONCE, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_chunk_caches_are_a_fact_of_the_row(run: Run, tmp_path: Path) -> None:
    words = ["-d=4:40:40:10", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-c=2:20:20:10", "-z=1", "--csv"]
    drivers = "--driver=ncforge,libnetcdf,h5"
    done = run("bench", "io", *words, drivers, "-L", "chunk-cache=default,1M,64M", *ONCE)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2 * 9
    assert {r["chunk_cache"] for r in rows} == {"default", str(1 << 20), str(64 << 20)}
    assert len({r["case"] for r in rows}) == 9
    assert {r["verify"] for r in rows if r["phase"] == "read"} == {"ok"}
    assert "chunk-cache" in run("bench", "io", *words, "--chunk-cache=lots", *ONCE, code=2).stderr


def test_saved_results_are_compared(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "a.json"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "--reps", "5", "--no-guard"]
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
    words = ["-d=8:50:50:10", "-w", "-r", "--driver=ncforge,libnetcdf,h5,raw", "--json", *ONCE]
    section = json.loads(run("bench", "io", *words, f"-f={tmp_path / 't.nc'}").stdout)["sections"][0]
    for row in section["rows"]:
        (m,) = row["measurements"]
        split = dict(m["split"])
        write = row["phase"] == "write"
        steps = {
            "libnetcdf": ["create", "define", "enddef"] if write else ["open", "inquire"],
            "h5": ["create", "define"] if write else ["open", "inquire"],
        }.get(row["engine"], ["open"])
        assert list(split) == [*steps, "first_call", "io", "close"]
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
    assert 0 < float(by_engine["libnetcdf"]["t_define_s"]) < float(by_engine["libnetcdf"]["t_open_s"])
    assert by_engine["ncforge"]["t_define_s"] == "" and float(by_engine["ncforge"]["t_first_call_s"]) > 0
    text = run("bench", "io", "-d=8:50:50:10", "-w", *ONCE, f"-f={tmp_path / 't.nc'}").stdout
    assert re.search(r"^ncforge, write: open .*, first call .*, io .*, close .*; .* user, .* page faults", text, re.M)
