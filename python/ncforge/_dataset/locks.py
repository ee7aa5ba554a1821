"""Locks of what all threads of this process share."""

from __future__ import annotations

import os
import threading
from types import TracebackType

__all__ = ["ForkedLock"]


class ForkedLock:
    """A lock that is free in a forked process, whichever thread of its parent held it.

    The thread that holds it may take it again: the end of an object, which can come at any moment, may need what it protects.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
