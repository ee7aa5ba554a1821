"""Programs run on a terminal of their own: what they show there, and when."""

from __future__ import annotations

import math
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Shown:
    """The output of a program on its terminal."""

    text: str
    """All of it, escape sequences included."""
    busy: float | None
    """Seconds of processor time of the program until the first byte."""
    code: int
    """Its exit code."""


def processor_seconds(pid: int) -> float:
    """Seconds of processor time that a process has had."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # of a system without them
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def on_terminal(
    words: Sequence[object],
    typed: str = "",
    env: Mapping[str, str] | None = None,
    cwd: object = None,
    stdout: int | None = None,
    timeout: float = 600,
    enough: bytes | None = None,
    at_most: float = math.inf,
) -> Shown:
    """Runs a program whose streams are a terminal of 80 columns, types something, and waits for its end, or kills it: once it
    showed what is ``enough``, or had so many seconds of processor time.

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
    got, busy = b"", None
    try:
        while True:
            ended = running.poll() is not None
            if select.select([ours], [], [], 0 if ended else 0.05)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                busy = processor_seconds(running.pid) if busy is None and part else busy
                got += part
            elif ended:
                break
            if not ended and ((enough is not None and enough in got) or processor_seconds(running.pid) > at_most):
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
            if time.monotonic() - begun > timeout:
                running.kill()
                raise AssertionError(f"{words} did not end; it showed {got.decode(errors='replace')[-2000:]}")
        code = running.wait(timeout=timeout)
    finally:
        os.close(ours)
    return Shown(got.decode(errors="replace"), busy, code)
