"""The JSON documents of the commands: each has a name, a version, and the members that docs/reference/json.md lists."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import tiles as tl
from bench_common import ONCE
from combining import CLASSIC, ocean
from conftest import DATA, ROOT, Run

#: By name of the document: the command lines that print it.
COMMANDS = {
    "info": ["info --json navy.nc", "info --json navy.nc uv.nc"],
    "info-requests": ["info --requests --json navy.nc"],
    "doctor": [
        "doctor --json --fail-on never navy.nc",
        "doctor --json --fail-on never navy.nc uv.nc",
        "doctor --json --across --fail-on never navy.nc navy2.nc",
    ],
    "doctor-rules": ["doctor --rules --json"],
    "compare": ["compare --json navy.nc navy2.nc"],
    "copy": ["copy --json navy.nc c1.nc", "copy --json -O navy.nc c1.nc --verify"],
    "copy-plan": ["copy --json --dry-run navy.nc c2.nc"],
    "copies": ["copy --json navy.nc uv.nc many/", "copy --json -O navy.nc many/"],
    "copies-plan": ["copy --json --dry-run navy.nc uv.nc planned/"],
    "combine": ["combine --json nemo_0000.nc -o c3.nc", "combine --json nemo_0000.nc -o c3.nc -O --verify"],
    "combine-plan": ["combine --json --dry-run nemo_0000.nc -o c4.nc"],
    "concat": [
        "concat --json --unsorted navy.nc navy2.nc -o c5.nc",
        "concat --json --unsorted navy.nc navy2.nc -o c5.nc -O --verify",
    ],
    "concat-plan": ["concat --json --dry-run --unsorted navy.nc navy2.nc -o c6.nc"],
    "series": ["series --json navy.nc -o made/", "series --json navy.nc -o made/ --append"],
    "series-plan": ["series --json --dry-run navy.nc -o planned/"],
    "split": ["split --json uv.nc --tiles 2x2 -o s"],
    "refs": ["refs --json navy.nc -o refs.json"],
    "zip": ["zip --json uv.nc p.ncz"],
    "unzip": ["unzip --json given.ncz u.nc"],
    "compact": ["compact --json given.ncz"],
    "verify": ["verify --json given.ncz", "verify --json given.ncz given2.ncz"],
    "digest": ["digest --json navy.nc", "digest --variables --json navy.nc uv.nc"],
    "digest-check": ["digest --json --check listed"],
    "tune-chunks": ["tune chunks --json navy.nc"],
    "tune-calibrate": ["tune calibrate --dry-run --json --threads 2 --folder given/"],
    "bench-compare": ["bench compare --json r.json r.json"],
    "bench-doctor": ["bench doctor --json"],
}


def documented() -> dict[str, set[str]]:
    """The members of each document, as the page lists them."""
    found: dict[str, set[str]] = {}
    for section in (ROOT / "docs" / "reference" / "json.md").read_text().split("\n## ")[1:]:
        names = re.findall(r"`ncforge\.([a-z-]+)`", section.splitlines()[0])
        rows = re.findall(r"^\| (`.*?) \| ", section, re.MULTILINE)
        members = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
        found.update(dict.fromkeys(names, members))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """The files that the commands are about."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "given").mkdir()
    for name, given in (("navy.nc", "navy_winds.nc"), ("navy2.nc", "navy_winds.nc"), ("uv.nc", "uv300.nc")):
        shutil.copy(DATA / given, folder / name)
    tl.nemo(folder, ocean(), (2, 2), CLASSIC)
    for name in ("given.ncz", "given2.ncz"):
        run("zip", folder / "uv.nc", folder / name)
    run("bench", "io", f"-f={folder / 't.nc'}", "-d=2:4:4:2", "-w", f"--json={folder / 'r.json'}", *ONCE)
    (folder / "listed").write_text(run("digest", "--variables", folder / "navy.nc").stdout)
    return folder


def words(line: str, folder: Path) -> list[str]:
    """The words of a line, names of files as paths in the folder."""
    is_file = re.compile(r"[a-z0-9_]+\.(nc|ncz|json)|s|listed|[a-z]+/")
    return [f"{folder}/{word}" if is_file.fullmatch(word) else word for word in line.split()]


def test_every_document_is_on_the_page() -> None:
    assert documented().keys() == COMMANDS.keys()


def document_of(line: str, name: str, folder: Path, run: Run) -> dict[str, Any]:
    """What a command prints, which has the members of the page."""
    document: dict[str, Any] = json.loads(run(*words(line, folder), code=(0, 3)).stdout)
    assert (document.pop("schema"), document.pop("version")) == (f"ncforge.{name}", 1)
    assert document.keys() == documented()[name], line
    return document


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"tune-calibrate"}))
def test_documents_have_the_members_of_the_page(name: str, folder: Path, run: Run) -> None:
    for line in COMMANDS[name]:
        document_of(line, name, folder, run)


def test_a_calibration_is_plausible_and_leaves_nothing_behind(folder: Path, run: Run) -> None:
    (line,) = COMMANDS["tune-calibrate"]
    machine = document_of(line, "tune-calibrate", folder, run)["calibration"]["machine"]
    assert 0 < machine["request"] < 1 and machine["bandwidth"] > 1e6
    assert machine["chunk"] < 1 and machine["deliver"] > 1e6 and machine["keep"] > 1e6
    assert machine["threads"] == 2 and 0 <= machine["gain"] <= 1
    assert not list((folder / "given").iterdir())


@pytest.mark.parametrize("command", ["info", "doctor", "verify", "digest"])
def test_failed_files_stand_in_the_list(command: str, folder: Path, run: Run) -> None:
    """In their places, with what the message says, also where it is the only file."""
    good = folder / ("given.ncz" if command == "verify" else "navy.nc")
    damaged, missing = folder / "damaged.nc", folder / "missing.nc"
    damaged.write_bytes(b"CDF\x01")
    options = ["--fail-on", "never"] if command == "doctor" else []
    for files in ([missing], [good, missing, damaged], [damaged, good]):
        done = run(command, "--json", *options, *files, code=4)
        entries = json.loads(done.stdout)["files"]
        assert [entry["file"] for entry in entries] == [str(file) for file in files]
        for entry in entries:
            if entry["file"] == str(good):
                assert "error" not in entry
            else:
                assert entry["error"]["exit_code"] == 4
                assert f"ncforge: {entry['error']['message']}\n" in done.stderr
                assert entry["error"]["hint"]
