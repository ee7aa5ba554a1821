"""The command ``ncforge``: the script that comes with the package, and ``python -m ncforge``."""

from __future__ import annotations

import os
import signal
import sys


def _again(called: str) -> list[str]:
    """The command line that starts this command again; benchmarks run it for every rank and every step."""
    # The script itself where there is one: with `-m`, a folder `ncforge` in the working directory would be imported instead.
    is_script = os.path.basename(called) != "__main__.py" and os.path.isfile(called)
    return [sys.executable, os.path.abspath(called)] if is_script else [sys.executable, "-m", "ncforge"]


def main() -> int:
    """Runs the command line of this process; the exit code."""
    from ncforge import _core

    # The command handles Ctrl-C itself: it ends commands that only read, and stops writing ones where they can be resumed.
    # `ncforge run` hands on what a program would get from the shell, and Python ignores signals that end programs.
    for one in (signal.SIGINT, signal.SIGXFSZ):
        signal.signal(one, signal.SIG_DFL)
    called = sys.argv[0] if os.path.basename(sys.argv[0]) != "__main__.py" else "ncforge"
    return _core.main([called, *sys.argv[1:]], _again(sys.argv[0]))


if __name__ == "__main__":
    sys.exit(main())
