"""The command, started and stopped in the middle of its work."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from conftest import find_binary


def start(*words: object, until: float = 0) -> subprocess.Popen[str]:
    """Starts the command as in the foreground: what a script starts in the background ignores SIGINT, and hands that on.

    The kernel ends it after ``until`` seconds of its own processor time, as suddenly as SIGKILL would.
    """
    line = [str(find_binary()), *map(str, words)]

    def foreground() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if until:
            signal.setitimer(signal.ITIMER_PROF, until)

    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=foreground)


def killed(until: float, *words: object) -> bool:
    """Runs the command; whether it was killed after so many seconds of processor time, which other work of the machine hardly
    changes. Else it was done before.
    """
    running = start(*words, until=until)
    _, messages = running.communicate(timeout=600)
    assert running.returncode in (0, -signal.SIGPROF), messages
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
