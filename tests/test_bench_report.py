"""Pages of benchmark results: what stands in them, that a browser shows them without a complaint, and what is left out.

A browser (Chromium) lays the pages out; machines without one skip that part.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from browser import laid_out, screenshot
from conftest import Run

ROOT = Path(__file__).resolve().parent.parent
ONCE = ["--reps", "3"]


@pytest.fixture(scope="module")
def saved(run: Run, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Results of all workloads, small."""
    folder = tmp_path_factory.mktemp("results")
    shutil.copy(ROOT / "data" / "uv300.nc", folder / "uv300.nc")
    source = str(folder / "uv300.nc")
    io, chunks, records, access = (folder / f"{n}.json" for n in ("io", "chunks", "records", "access"))
    run("bench", "io", "--ranks", "2", "-d=30:16:8:5", f"-f={folder / 't.nc'}", "-w", "-r", "--driver", "raw,ncforge",
        "-L", "chunk=none,auto", f"--json={io}", *ONCE)  # fmt: skip
    run("bench", "chunks", source, "--var", "U", "--shapes", "1,64,128;2,16,16;12,8,8", "--repetitions", "1",
        "--deflate", "1", f"--json={chunks}")  # fmt: skip
    run("bench", "records", "--only", "station", "--records", "400", "--reads", "20", "--repetitions", "3", "--blocks",
        "4K,16K", "--chunks", "64", f"--json={records}")  # fmt: skip
    run("bench", "access", source, "--repetitions", "3", f"--json={access}")
    return [io, chunks, records, access]


def test_one_page_of_all_workloads(run: Run, saved: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    run("report", *map(str, saved), "-o", str(page))
    text = page.read_text()
    assert len(text.encode()) < 3e6
    outside = set(re.findall(r"https?://[^\"' )]+", text)) - {"http://www.w3.org/2000/svg"}
    assert not outside, "the page needs no network"
    dom = laid_out(page, tmp_path)
    for heading in ("What was found", "Machine", "Blocks:", "Chunks of", "Records:", "Reads of"):
        assert re.search(f"<h2>{heading}", dom), heading
    for title in ("ranks over time", "single calls", "what a series costs", "write: rates"):
        assert re.search(f"<strong>[^<]*{title}", dom), title
    assert dom.count('role="img" aria-label="') == dom.count("<figure>") >= 10
    assert "95 % interval" in dom and "ceiling" in dom


def test_light_and_dark(run: Run, saved: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    run("report", str(saved[0]), "-o", str(page))
    light, dark = (screenshot(page, tmp_path, 900, 1400, is_dark) for is_dark in (False, True))
    assert light.mean() > 200 > 60 > dark.mean(), "dark paper is not light paper"
    assert min(light.std(), dark.std()) > 10, "something is drawn"


def test_what_tells_whose_machine_it_is_is_left_out(run: Run, saved: list[Path], tmp_path: Path) -> None:
    host = Path("/proc/sys/kernel/hostname")
    secrets = [str(saved[0].parent), *([host.read_text().strip()] if host.exists() else [])]
    for name in ("out.html", "out.md"):
        out = tmp_path / name
        run("report", str(saved[0]), "-o", str(out))
        assert not [s for s in secrets if s in out.read_text()]
        run("report", str(saved[0]), "-o", str(out), "-O", "--show-paths")
        assert all(s in out.read_text() for s in secrets)


def test_forms_and_mistakes(run: Run, saved: list[Path], tmp_path: Path) -> None:
    io, chunks = str(saved[0]), str(saved[1])
    markdown = tmp_path / "out.md"
    run("report", io, chunks, "-o", str(markdown))
    lines = markdown.read_text().splitlines()
    assert lines[0] == "# ncforge bench"
    assert sum(line.startswith("## ") for line in lines) == 3, "two sections and the machine"
    tables = [line for line in lines if line.startswith("| ")]
    assert all(line.endswith(" |") for line in tables)
    run("report", io, chunks, "-o", str(tmp_path / "both.json"))
    assert len(json.loads((tmp_path / "both.json").read_text())["sections"]) == 2
    run("report", io, "-o", str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text().startswith("schema,run_id,case,rep,phase,")
    assert "exists" in run("report", io, "-o", str(markdown), code=2).stderr
    assert ".html" in run("report", io, "-o", str(tmp_path / "out.pdf"), code=2).stderr
    (tmp_path / "bad.json").write_text("{}")
    assert "bad.json" in run("report", str(tmp_path / "bad.json"), "-o", str(tmp_path / "x.html"), code=4).stderr
    assert not (tmp_path / "x.html").exists()


def test_more_and_more_ranks(run: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "r.json", tmp_path / "r.html"
    words = ["bench", "io", "-d=6:8:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", "-t", "coll", *ONCE]
    done = run(*words, "-L", "ranks=1,2", "-L", "chunk=none,auto", f"--json={out}", "--html", str(page))
    assert "with 2 ranks as with 1" in done.stdout
    section = json.loads(out.read_text())["sections"][0]
    assert {r["facts"]["ranks"] for r in section["rows"]} == {"1", "2"}
    assert len({(r["case"], r["phase"]) for r in section["rows"]}) == 8
    assert "more and more ranks" in page.read_text()
    assert "no list" in run(*words, "-L", "ranks=two", code=2).stderr
    assert "exclude" in run(*words, "-L", "ranks=2", "--ranks", "2", code=2).stderr


def test_a_saved_benchmark_is_run_again(run: Run, saved: list[Path], tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    for result in (saved[0], saved[3]):
        done = run("bench", "rerun", str(result), f"--json={again}", "-O")
        assert "95 % interval" in done.stdout
        old, new = (json.loads(p.read_text()) for p in (result, again))
        names = [[(r["case"], r["phase"]) for r in d["sections"][0]["rows"]] for d in (old, new)]
        assert names[0] == names[1]
        assert old["time"] <= new["time"]
    old["arguments"] = []
    again.write_text(json.dumps(old))
    assert "by hand" in run("bench", "rerun", str(again), code=2).stderr


def test_a_machine_is_examined(run: Run, tmp_path: Path) -> None:
    done = run("bench", "doctor", "--folder", tmp_path, "--json", code=(0, 3))
    checks = {c["what"]: c for c in json.loads(done.stdout)["checks"]}
    assert {"file system", "cold reads", "netCDF-C", "MPI", "quiet"} <= set(checks)
    bad = any(c["standing"] == "bad" for c in checks.values())
    assert done.returncode == (3 if bad else 0)
    assert list(tmp_path.iterdir()) == []


def test_benchmarks_write_pages_themselves(run: Run, tmp_path: Path) -> None:
    page, csv = tmp_path / "p.html", tmp_path / "p.csv"
    words = ["bench", "io", "-d=4:6:8:5", f"-f={tmp_path / 't.nc'}", "-w", "-r", *ONCE]
    done = run(*words, "--html", str(page), "--csv", str(csv), "--markdown", "-")
    assert done.stdout.startswith("# ncforge bench")
    assert page.read_text().startswith("<!DOCTYPE html>") and csv.stat().st_size > 0
    nowhere = tmp_path / "no" / "p.html"
    assert "no such folder" in run(*words, "--html", str(nowhere), code=2).stderr


def test_the_example_in_the_documents(tmp_path: Path) -> None:
    """It is a real one: all publications, the machine, nobody's folders; and a browser shows it."""
    page = ROOT / "docs" / "bench-published.html"
    text = page.read_text()
    assert len(text.encode()) < 3e6
    assert not re.search(r"/(home|work|tmp|root|usr)/", text)
    assert not set(re.findall(r"https?://[^\"' )<]+", text)) - {"http://www.w3.org/2000/svg"}
    dom = laid_out(page, tmp_path)
    for name in ("unidata-2013", "cray-1993", "nocscombine", "netcdf-bench", "compressed-netcdf"):
        assert re.search(f"<h2>{name}", dom), name
    assert dom.count("Beside published figures") >= 5
    assert "<h2>Machine" in dom and "NOT MEASURED" not in dom and "WRONG" not in dom


def test_patterns_of_reads_beside_storage(run: Run, tmp_path: Path) -> None:
    """A map of what each read costs from each storage; the values of every pattern are those of the first file."""
    source = ROOT / "data" / "uv300.nc"
    files = [tmp_path / f"{name}.nc" for name in ("maps", "series", "plain")]
    for file, chunks in zip(files, ("1,64,128", "2,8,8", "2,64,128"), strict=True):
        run("copy", str(source), str(file), "--format=netcdf4", "--chunks", f"U:{chunks}", "--codec=deflate")
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    patterns = ["map", "series", "full", "profile", "box", "stride"]
    words = ["--var", "U", f"--patterns={','.join(patterns)}", "--repetitions=3", f"--json={out}", f"--html={page}"]
    done = run("bench", "access", *map(str, files), *words)
    assert "WRONG" not in done.stdout and done.stdout.count(" right\n") == 3 * len(patterns)
    section = json.loads(out.read_text())["sections"][0]
    shape = [int(n) for n in section["rows"][0]["facts"]["data_shape"].split(":")]
    blocks = {r["phase"]: [int(n) for n in r["facts"]["block_shape"].split(":")] for r in section["rows"]}
    assert blocks["box"] == [-(-n // 2) for n in shape] and blocks["stride"] == [max(n // 4, 1) for n in shape]
    assert blocks["profile"] == [shape[0], 1, 1]
    text = page.read_text()
    assert "what each read costs from each storage" in text and "in every column pale is its fastest" in text
    assert "across: pattern" in text and "[1] 1:64:128" in text
    dom = laid_out(page, tmp_path)
    assert dom.count('role="img" aria-label="') == dom.count("<figure>") >= len(patterns) + 1


def test_many_repetitions_are_drawn_as_their_spread(run: Run, tmp_path: Path) -> None:
    few, many = tmp_path / "few.html", tmp_path / "many.html"
    words = ["bench", "io", "-d=4:8:8:5", f"-f={tmp_path / 't.nc'}", "-w", "--driver=raw,ncforge", "-O"]
    run(*words, "--reps=3", f"--html={few}")
    run(*words, "--reps=20", f"--html={many}")
    assert "dots: repetitions" in few.read_text() and "outlines: how repetitions are spread" in many.read_text()
    circles = [page.read_text().count("<circle") for page in (few, many)]
    assert circles[0] >= 6 > circles[1], "an outline stands for the dots"
    assert many.read_text().count("<polygon") >= few.read_text().count("<polygon") + 2
    laid_out(many, tmp_path)
