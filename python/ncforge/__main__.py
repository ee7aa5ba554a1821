"""The command ``ncforge``: the script that comes with the package, and ``python -m ncforge``."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Runs the command line of this process; the exit code."""
    from ncforge import _core

    # Ctrl-C is the command's own business: it ends what only reads, and stops what writes where it can go on.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    called = sys.argv[0] if os.path.basename(sys.argv[0]) != "__main__.py" else "ncforge"
    return _core.main([called, *sys.argv[1:]], [sys.executable, "-m", "ncforge"])


if __name__ == "__main__":
    sys.exit(main())
