"""Programs run on a terminal of their own: what they show there, and when."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """The output of a program on its terminal."""

    text: str
    """All of it, escape sequences included."""
    first: float | None
    """Seconds until the first byte."""
    seconds: float
    """Seconds until the program ended."""
    code: int
    """Its exit code."""


def on_terminal(
    words: Sequence[object],
    typed: str = "",
    env: Mapping[str, str] | None = None,
    cwd: object = None,
    stdout: int | None = None,
    timeout: float = 600,
) -> Shown:
    """Runs a program whose streams are a terminal of 80 columns, types something, and waits for its end.

    With ``stdout`` (of ``subprocess``), its standard output goes there, and the terminal sees the messages alone.
    """
    ours, theirs = pty.openpty()
    with open(theirs, "rb+", buffering=0) as end:
        os.set_blocking(ours, False)
        subprocess.run(["stty", "cols", "80", "rows", "24"], stdin=end, check=True)
        begun = time.monotonic()
        running = subprocess.Popen(
            [str(w) for w in words],
            stdin=end,
            stdout=end if stdout is None else stdout,
            stderr=end,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})},
            cwd=None if cwd is None else str(cwd),
            start_new_session=True,
        )
    os.write(ours, typed.encode())
    got, first = b"", None
    try:
        while True:
            ended = running.poll() is not None
            if select.select([ours], [], [], 0 if ended else 0.05)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                first = time.monotonic() - begun if first is None and part else first
                got += part
            elif ended:
                break
            if time.monotonic() - begun > timeout:
                running.kill()
                raise AssertionError(f"{words} did not end; it showed {got.decode(errors='replace')[-2000:]}")
        code = running.wait(timeout=timeout)
    finally:
        os.close(ours)
    return Shown(got.decode(errors="replace"), first, time.monotonic() - begun, code)
