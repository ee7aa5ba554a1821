"""The command that comes with the Python package: it is this process' Python, and must start itself, not Python, once more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench_common import ONCE, mpi_ranks
from commands import execute

SCRIPT = Path(sys.executable).parent / "ncforge"


@pytest.fixture(params=["script", "module", "called through another name"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The ways to start it."""
    if request.param == "module":
        return [sys.executable, "-m", "ncforge"]
    if not SCRIPT.exists():
        pytest.skip("the package is not installed with its script")
    if request.param == "script":
        return [str(SCRIPT)]
    link = tmp_path / "nf"
    link.symlink_to(SCRIPT)
    return [str(link)]


def run(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return execute(*words, cwd=folder, env={"NCFORGE_BIN": None})


def test_ranks(command: list[str], tmp_path: Path) -> None:
    """Ranks that it starts itself, and runs with more and more ranks."""
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-d=4:10:8:3", "-w", "-r", "--json", *ONCE]
    done = run(*command, *words, "--ranks", "2", folder=tmp_path)
    assert len(json.loads(done.stdout)["sections"][0]["detail"]["phases"][0]["ranks"]) == 2
    done = run(*command, *words, "-t=file", "-L", "ranks=1,2", folder=tmp_path)
    facts = [row["facts"] for row in json.loads(done.stdout)["sections"][0]["rows"]]
    assert {f["ranks"] for f in facts} == {"1", "2"}


def test_a_saved_result_is_run_again(command: list[str], tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-d=4:10:8:3", "-w", *ONCE]
    run(*command, *words, f"--json={saved}", folder=tmp_path)
    done = run(*command, "bench", "rerun", saved, folder=tmp_path)
    assert "write" in done.stdout


def test_a_folder_of_its_name_is_not_run(tmp_path: Path) -> None:
    """Files of the user's folder are no part of the command."""
    if not SCRIPT.exists():
        pytest.skip("the package is not installed with its script")
    (tmp_path / "ncforge").mkdir()
    (tmp_path / "ncforge" / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-d=4:10:8:3", "-w", *ONCE, "--ranks=2"]
    run(SCRIPT, *words, folder=tmp_path)


def test_under_mpi(tmp_path: Path) -> None:
    """A rank that is Python loads the launcher's MPI library."""
    words = ["bench", "io", f"-f={tmp_path / 't.nc'}", "-d=4:10:8:3", "-t=coll", "-w", "-r", "--json", *ONCE]
    done = run(*mpi_ranks(2), sys.executable, "-m", "ncforge", *words, folder=tmp_path)
    assert "MPI" in json.loads(done.stdout)["sections"][0]["detail"]["team"]
