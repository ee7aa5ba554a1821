"""Files that lazy arrays read from: opened once in each process, closed when many others are open, opened again when
they are needed, and picklable for other processes.
"""

from __future__ import annotations

import contextlib
import io
import os
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ncforge._core import File
from ncforge._dataset.identity import Identity, identity_at, identity_of
from ncforge._dataset.locks import ForkedLock
from ncforge._dataset.remote import StoreHandle, UrlHandle, access, is_url
from ncforge.errors import ChangedError


def most_open(share: float) -> int:
    """How many files may be open at a time: a share of the system's limit."""
    try:
        import resource

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, ValueError, OSError):
        return 128
    return 4096 if soft == resource.RLIM_INFINITY else max(8, min(4096, int(soft * share)))


Key = tuple[str, Identity, bool]
"""Path, identity, and whether the file may lead to others."""


class _Shared:
    """An open file, shared by all handles of this process."""

    __slots__ = ("__weakref__", "file", "key", "status")

    def __init__(self, key: Key, file: File | None, status: int | None) -> None:
        self.key = key
        self.file = file
        self.status = status
        """Time of the last change of its inode in nanoseconds: nobody can set it back, as can be done with that of its contents
        (``touch -r``, ``rsync``)."""


_known: weakref.WeakValueDictionary[Key, _Shared] = weakref.WeakValueDictionary()
_open: OrderedDict[int, weakref.ref[_Shared]] = OrderedDict()
_lock = ForkedLock()
_most = most_open(1 / 2)
"""The rest is left for the program."""


def _remember(shared: _Shared) -> None:
    """Registers it as open, and releases the one that was opened longest ago if there are too many."""
    with _lock:
        _open[id(shared)] = weakref.ref(shared)
        _open.move_to_end(id(shared))
        while len(_open) > _most:
            _, oldest = _open.popitem(last=False)
            gone = oldest()
            if gone is not None and gone is not shared:
                # A reader holds a reference to the file while it reads.
                gone.file = None


def _share(path: str, wanted: Identity | None, follow: bool) -> _Shared:
    if wanted is not None:
        shared = _known.get((path, wanted, follow))
        if shared is not None:
            return shared
    status = None
    with contextlib.suppress(OSError):
        found = os.stat(path)
        status = found.st_ctime_ns
        shared = _known.get((path, identity_of(found), follow))
        if wanted is None and shared is not None and shared.status == status:
            return shared
    file = _opened(path, follow)
    identity = file.identity()
    assert identity is not None
    if wanted is not None and identity != wanted:
        raise ChangedError(f"`{path}` is another file, or has other contents, than when it was opened; open it again")
    return _register((path, identity, follow), file, status)


def _opened(path: str, follow: bool) -> File:
    return File.open(path, follow=None if follow else False)


def _register(key: Key, file: File, status: int | None) -> _Shared:
    shared = _Shared(key, file, status)
    _known[key] = shared
    _remember(shared)
    return shared


def adopted(path: str, file: File) -> FileHandle:
    """The handle of a file that is already open."""
    identity = file.identity()
    assert identity is not None
    # Referenced until the handle refers to it.
    status = None
    with contextlib.suppress(OSError):
        status = os.stat(path).st_ctime_ns
    shared = _known.get((path, identity, True))
    if shared is None or shared.status != status:
        shared = _register((path, identity, True), file, status)
    handle = FileHandle(path, identity)
    del shared
    return handle


class FileHandle:
    """A file on disk. Pickled as its path, size, time of change and inode."""

    __slots__ = ("_shared", "path")

    def __init__(self, path: str, identity: Identity | None = None, follow: bool = True) -> None:
        self.path = path
        self._shared = _share(path, identity, follow)

    def file(self) -> File:
        """The open file. An error if it was changed or replaced."""
        shared = self._shared
        file = shared.file
        path, identity, follow = shared.key
        if file is None:
            if identity_of(os.stat(path)) != identity:
                raise self._changed()
            file = _opened(path, follow)
            if file.identity() != identity:
                raise self._changed()
            shared.file = file
            _remember(shared)
            return file
        # A file that was replaced by another stays readable through open descriptors. One that was overwritten does not: the
        # header in memory is the old one, and its values would be arbitrary.
        now = identity_at(path)
        if now is not None and now != identity and now[2] == identity[2]:
            raise self._changed()
        return file

    def _changed(self) -> ChangedError:
        return ChangedError(f"`{self.path}` has changed since it was opened; open it again")

    def __reduce__(self) -> Any:
        return FileHandle, self._shared.key

    def __dask_tokenize__(self) -> Any:
        return ("ncforge", *self._shared.key)


class BytesHandle:
    """A file in memory."""

    __slots__ = ("_data", "_file", "path")

    def __init__(self, data: bytes) -> None:
        self.path = "<bytes>"
        self._data = data
        self._file = File.open_bytes(self.path, data)

    def file(self) -> File:
        """The open file."""
        return self._file

    def __reduce__(self) -> Any:
        return BytesHandle, (self._data,)


class ObjectHandle:
    """A file behind an object with ``read``, ``seek`` and ``tell``. Picklable if the object is."""

    __slots__ = ("_file", "_object", "path")

    def __init__(self, source: Any) -> None:
        name = getattr(source, "path", None) or getattr(source, "name", None)
        self.path = name if isinstance(name, str) else f"<{type(source).__name__}>"
        self._object = source
        self._file = File.open_object(self.path, source)

    def file(self) -> File:
        """The open file."""
        return self._file

    def __reduce__(self) -> Any:
        return ObjectHandle, (self._object,)


class WritingHandle:
    """A file that is being written: cannot be pickled."""

    __slots__ = ("_file", "path")

    def __init__(self, file: File, path: str) -> None:
        self.path = path
        self._file = file

    def file(self) -> File:
        """The open file."""
        return self._file

    def __reduce__(self) -> Any:
        raise TypeError("a file that is being written cannot be sent to another process")


Handle = FileHandle | BytesHandle | ObjectHandle | WritingHandle | UrlHandle | StoreHandle


def handle_of(
    source: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None, follow: bool = True
) -> Handle:
    """The handle of a path, a URL, bytes, an object that reads and seeks, or a path in a store. ``follow``: whether it may lead
    to other files."""
    if store is not None:
        return StoreHandle(store, os.fspath(source))
    if is_url(source):
        return UrlHandle(source, access(storage_options), follow=follow)
    if isinstance(source, bytes | bytearray | memoryview):
        return BytesHandle(bytes(source))
    if isinstance(source, io.BytesIO):
        return BytesHandle(source.getvalue())
    if isinstance(source, str | os.PathLike):
        return FileHandle(os.path.abspath(os.path.expanduser(os.fspath(source))), follow=follow)
    if hasattr(source, "read") and hasattr(source, "seek"):
        return ObjectHandle(source)
    raise TypeError(f"neither a path, nor bytes, nor a file object: {type(source).__name__}")
