"""Progress of long operations: reported to a function, or shown as a bar."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[str, int, int], object]
"""Called with the stage, the work done and the total: bytes of values, or files. An exception that it raises stops the work."""


@contextlib.contextmanager
def reporter(progress: Progress | bool | None, unit: str = "B") -> Iterator[Progress | None]:
    """The function to call: the argument itself; for ``True`` one that draws a bar (with ``tqdm`` where it is installed, which
    supports notebooks, else a line on stderr), which is removed with the context; none for ``None`` and ``False``.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    bar: _Bar | _Line
    try:
        bar = _Bar(unit)
    except ImportError:
        bar = _Line()
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """A bar of tqdm, a new one for every stage."""

    def __init__(self, unit: str) -> None:
        from tqdm.auto import tqdm

        self._tqdm: Any = tqdm
        self._unit = unit
        self._bar: Any = None
        self._stage: str | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._bar is None or stage != self._stage or total != self._bar.total:
            self.close()
            scaled = self._unit == "B"
            self._bar = self._tqdm(
                desc=stage, total=total, unit=self._unit, unit_scale=scaled, unit_divisor=1024 if scaled else 1000
            )
            self._stage = stage
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Line:
    """A line that is overwritten."""

    def __init__(self) -> None:
        self._shown = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        text = f"{stage}: {done * 100 // max(total, 1)} %"
        if text != self._shown:
            self._shown = text
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._shown:
            print(file=sys.stderr, flush=True)
