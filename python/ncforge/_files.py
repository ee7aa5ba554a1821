"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os


def write_whole(path: str, data: bytes) -> None:
    """Writes a file beside its place and gives it its name when it is whole: an earlier one stays where the disk is full."""
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(data)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(beside)
        raise
