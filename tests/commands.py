"""Programs that tests run, before all the command under test; also for scripts without pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def find_binary() -> Path:
    """The command under test: ``NCFORGE_BIN``, else the newest that cargo built."""
    if given := os.environ.get("NCFORGE_BIN"):
        return Path(shutil.which(given) or given).absolute()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [p for profile in ("release", "debug") if (p := target / profile / "ncforge").exists()]
    if not built:
        raise FileNotFoundError("no `ncforge` command: run `cargo build -p ncforge-cli`, or set NCFORGE_BIN")
    return max(built, key=lambda p: p.stat().st_mtime)


def execute(
    *command: object,
    code: int | tuple[int, ...] | None = 0,
    text: bool = True,
    env: Mapping[str, str | None] | None = None,
    timeout: float = 600,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Runs a program; fails on another exit code than ``code``, or than all of them.

    ``env`` is what differs in its environment. Its output is text, or bytes without ``text``.
    """
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    line = [*map(str, command)]
    errors = "surrogateescape" if text else None
    environment = {name: value for name, value in {**os.environ, **(env or {})}.items() if value is not None}
    done = subprocess.run(line, text=text, errors=errors, env=environment, timeout=timeout, **options)
    codes = code if isinstance(code, tuple) else (code,)
    output = "".join(f"\n{said[-2000:]}" for said in (done.stdout, done.stderr) if said)
    assert code is None or done.returncode in codes, f"{line} gave {done.returncode}{output}"
    return done


def ncforge(*words: object, before: Sequence[object] = (), **options: Any) -> subprocess.CompletedProcess[Any]:
    """Runs the command under test, behind the words of a launcher, as :func:`execute` does."""
    return execute(*before, find_binary(), *words, **options)
