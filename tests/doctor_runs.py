"""``ncforge doctor`` as tests run it: its findings, and the commands that they carry."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commands import execute, find_binary
from commands import ncforge as run


def doctor(*words: str | Path, code: int | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    return run("doctor", *words, code=code, env={"NCFORGE_MACHINE": "/nonexistent"}, cwd=cwd)


def findings(path: Path, *words: str) -> list[dict[str, Any]]:
    """The findings on a file."""
    return list(one("--fail-on", "never", path, *words)["findings"])


def one(*words: str | Path) -> dict[str, Any]:
    """The report on one file."""
    document = json.loads(doctor("--json", *words, code=0).stdout)
    (reported,) = document["files"]
    return dict(reported)


def codes(path: Path, *words: str) -> set[str]:
    """The codes of what is found."""
    return {f["code"] for f in findings(path, *words)}


Make = Callable[[Path], None]


def type_in(command: str, folder: Path) -> Path:
    """Runs a finding's command in a shell, and compares the files. Gives the new one."""
    words = shlex.split(command)
    assert words[:2] == ["ncforge", "copy"], command
    execute("bash", "-c", f'ncforge() {{ {shlex.quote(str(find_binary()))} "$@"; }}; {command} -q', cwd=folder)
    source, copy = folder / words[2], folder / words[3]
    if "--vars" not in words:
        run("compare", "-q", source, copy)
    return copy
