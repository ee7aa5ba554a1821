"""The handle of files that are open as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ncforge import _core
from ncforge._core import File, shown
from ncforge._dataset.identity import Identity, identity_at
from ncforge.errors import ChangedError


class JoinedHandle:
    """Files that are open as one. Pickled as their paths and what identifies them."""

    __slots__ = ("_file", "_identities", "_paths", "_request", "path")

    def __init__(
        self, files: list[str], request: Mapping[str, Any], identities: list[Identity | None] | None = None
    ) -> None:
        self._request = dict(request)
        self._file, paths = _core.join(files, self._request)
        self.path = os.fspath(self._file.path)
        self._paths = [os.fspath(path) for path in paths]
        self._identities = [identity_at(path) for path in self._paths]
        for path, was, now in zip(self._paths, identities or self._identities, self._identities, strict=True):
            if was != now:
                raise ChangedError(f"`{shown(path)}` has changed since it was opened; open the files again")

    def file(self) -> File:
        """All of them."""
        return self._file

    def again(self) -> Callable[[], JoinedHandle]:
        """A function that opens these files, in this state and order, in another process."""
        return partial(JoinedHandle, self._paths, {**self._request, "unsorted": True}, self._identities)
