"""The command, started and stopped in the middle of its work."""

from __future__ import annotations

import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import execute, find_binary


def start(*words: object, **environment: str) -> subprocess.Popen[str]:
    """Starts the command as in the foreground: what a script starts in the background ignores SIGINT, and hands that on."""
    line = [str(find_binary()), *map(str, words)]

    def foreground() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    env = os.environ | environment
    return subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=foreground, env=env
    )


@functools.cache
def _killing() -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """The library that counts changes of files, with the folder that keeps it until the tests end."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    folder = tempfile.TemporaryDirectory()
    library = Path(folder.name) / "killing.so"
    source = Path(__file__).with_name("killing.c")
    execute("cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl")
    return library, folder


def changes(*words: object) -> int:
    """Runs the command to its end; how many times it changes a file: a write, a truncation, a renaming or a deletion."""
    library, folder = _killing()
    count = Path(folder.name) / "count"
    running = start(*words, LD_PRELOAD=str(library), COUNT_INTO=str(count))
    _, messages = running.communicate(timeout=600)
    assert running.returncode == 0, messages
    return int(count.read_text())


def killed(at: int, *words: object) -> bool:
    """Runs the command, and kills it in the middle of its ``at``-th change of a file. False: it had fewer."""
    running = start(*words, LD_PRELOAD=str(_killing()[0]), KILL_AT=str(at))
    _, messages = running.communicate(timeout=600)
    assert running.returncode in (0, -signal.SIGKILL), messages
    return running.returncode != 0


def processor_seconds(work: Callable[[], object]) -> float:
    """Seconds of processor time that commands take."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    work()
    return spent() - before


def interrupt(output: Path, *words: object) -> None:
    """Runs the command until something of its output stands in the folder, and sends SIGINT: exit code 5, a hint, nothing
    under the final name.

    The work may be done just then; so it is tried a few times.
    """
    for _ in range(5):
        before = set(output.parent.iterdir())
        running = start(*words)
        while running.poll() is None and set(output.parent.iterdir()) == before:
            time.sleep(0.002)
        running.send_signal(signal.SIGINT)
        _, messages = running.communicate(timeout=600)
        if running.returncode != 0:
            assert running.returncode == 5, messages
            assert "--resume" in messages
            assert not output.exists()
            return
        output.unlink()
    raise AssertionError("it was always done before the signal came")
