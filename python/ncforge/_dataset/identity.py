"""Which file a path means, and in which state, as the extension's ``File.identity()`` says it of an open file."""

from __future__ import annotations

import os

Identity = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, inode."""


def identity_of(found: os.stat_result) -> Identity:
    """That these facts are of."""
    return found.st_size, found.st_mtime_ns, found.st_ino


def identity_at(path: str) -> Identity | None:
    """Of what a path means; ``None`` if there is no such file here."""
    try:
        return identity_of(os.stat(path))
    except OSError:
        return None
