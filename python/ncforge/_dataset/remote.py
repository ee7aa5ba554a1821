"""Files that are not on a disk of this machine: URLs, and objects of Python that read ranges of bytes."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from ncforge._core import File, set_remote_options
from ncforge._dataset.identity import Identity
from ncforge._dataset.locks import ForkedLock
from ncforge.errors import ChangedError, InvalidError

__all__ = [
    "StoreHandle",
    "UrlHandle",
    "access",
    "alone",
    "is_url",
    "open_file",
    "placed",
    "reader_of",
    "set_storage_options",
]

Access = tuple[bool, tuple[tuple[str, str], ...]]
"""Whether requests are anonymous, and the other options."""

_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https")
_MOST_OPEN = 64
"""Files that this process keeps open for handles that arrive again and again, as they do in Dask's workers."""


def is_url(source: Any) -> bool:
    """Whether this is a URL that ncforge opens.

    >>> is_url("s3://bucket/a.nc"), is_url("a.nc")
    (True, False)
    """
    return isinstance(source, str) and source.partition("://")[0].lower() in _SCHEMES and "://" in source


def placed(path: Any) -> str:
    """A path that means the same file in any folder, and any process; a URL as it is. A ``..`` remains, as the folder to which it leads
    depends on links.

    >>> placed("/data/run/../a.nc"), placed("s3://bucket/a.nc")
    ('/data/run/../a.nc', 's3://bucket/a.nc')
    """
    # The folder of the process may be gone: only relative paths need it.
    return os.fspath(path) if is_url(path) or os.path.isabs(path) else os.path.join(os.getcwd(), path)


def access(storage_options: Mapping[str, Any] | None, anonymous: bool = False) -> Access:
    """Options for the extension module. Names are those of the Rust crate ``object_store``, and of s3fs what has one
    meaning: ``anon``, ``key``, ``secret``, ``endpoint_url``, and ``client_kwargs`` with ``endpoint_url`` and
    ``region_name``.

    >>> access({"anon": True, "client_kwargs": {"region_name": "eu-west-2"}})
    (True, (('region', 'eu-west-2'),))
    """
    given = dict(storage_options or {})
    anonymous = bool(given.pop("anonymous", False) or given.pop("anon", False) or anonymous)
    given |= given.pop("client_kwargs", None) or {}
    renamed = {"key": "access_key_id", "secret": "secret_access_key", "region_name": "region"}
    found = {renamed.get(name, name): value for name, value in given.items() if value is not None}
    return anonymous, tuple(sorted((name, _text(value)) for name, value in found.items()))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise InvalidError(f"a storage option is text, a number or a bool, not {value!r}")


def set_storage_options(storage_options: Mapping[str, Any] | None) -> None:
    """How this process accesses URLs that are opened without options of their own, such as those of :func:`ncforge.copy`.

    Parameters
    ----------
    storage_options
        As for :class:`ncforge.Dataset`; ``None``: what the environment says.

    Examples
    --------
    >>> ncforge.set_storage_options({"anonymous": True, "region": "us-west-2"})  # doctest: +SKIP
    """
    anonymous, options = access(storage_options)
    set_remote_options(anonymous, dict(options))


def open_file(url: str, how: Access, follow: bool = True) -> File:
    """Opens a URL."""
    return File.open_url(url, how[0], dict(how[1]), None if follow else False)


class _Reader:
    """Reads a file of a store: ranges of the version that was opened."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.size, self.version = self._state()

    def get_ranges(self, starts: list[int], ends: list[int]) -> list[bytes] | None:
        """The bytes of several ranges; ``None`` if the file has changed."""
        parts = [part if isinstance(part, bytes) else bytes(memoryview(part)) for part in self._parts(starts, ends)]
        # Stores do not say which version a range is of. What differs from request to request is no version.
        now = self._state()
        return None if now != (self.size, self.version) and now == self._state() else parts

    def _state(self) -> tuple[int, str]:
        """The length and the version of the object now."""
        raise NotImplementedError

    def _parts(self, starts: list[int], ends: list[int]) -> Iterable[Any]:
        raise NotImplementedError


class _Obspec(_Reader):
    """Reads an object of a store with obspec's methods, such as obstore's."""

    def __init__(self, store: Any, path: str) -> None:
        self._store, self._path = store, path
        super().__init__(path)

    def _state(self) -> tuple[int, str]:
        head = getattr(self._store, "head", None)
        if head is None:
            import obstore

            head = partial(obstore.head, self._store)
        meta = head(self._path)
        return int(meta["size"]), f"{meta.get('e_tag')} {meta.get('last_modified')}"

    def _parts(self, starts: list[int], ends: list[int]) -> Iterable[Any]:
        return cast("Iterable[Any]", self._store.get_ranges(self._path, starts=starts, ends=ends))


class _Fsspec(_Reader):
    """Reads a file of an fsspec file system."""

    def __init__(self, system: Any, path: str) -> None:
        self._system = system
        self._path = system._strip_protocol(path)
        super().__init__(path)

    def _state(self) -> tuple[int, str]:
        if hasattr(self._system, "invalidate_cache"):
            # Not what a list of the folder has said before.
            self._system.invalidate_cache(self._path.rpartition("/")[0])
        info = self._system.info(self._path)
        if info.get("size") is None:
            raise InvalidError(f"the file system does not know the length of `{self.name}`")
        marks = ("ETag", "etag", "mtime", "LastModified", "updated", "created")
        return int(info["size"]), " ".join(str(info[mark]) for mark in marks if mark in info)

    def _parts(self, starts: list[int], ends: list[int]) -> Iterable[Any]:
        return cast(
            "Iterable[Any]", self._system.cat_ranges([self._path] * len(starts), starts, ends, on_error="raise")
        )


def reader_of(store: Any, path: str) -> Any:
    """The reader of ranges of a file in a store."""
    if hasattr(store, "get_ranges"):
        return _Obspec(store, path)
    if hasattr(store, "cat_ranges"):
        return _Fsspec(store, path)
    raise TypeError(
        f"store= is an object with `get_ranges` (obstore) or `cat_ranges` (fsspec), not {type(store).__name__}"
    )


_files: OrderedDict[Any, File] = OrderedDict()
_lock = ForkedLock()


def _remembered(key: Any) -> File | None:
    with _lock:
        file = _files.get(key)
        if file is not None:
            _files.move_to_end(key)
        return file


def _remember(key: Any, file: File) -> None:
    with _lock:
        _files[key] = file
        _files.move_to_end(key)
        while len(_files) > _MOST_OPEN:
            _files.popitem(last=False)


class UrlHandle:
    """A URL that lazy arrays read. Pickled as the URL, its options, and the version of the object.

    Handles of one URL share a file in each process, unless ``shared`` is false: who closes a file needs one of its own.
    """

    __slots__ = ("_access", "_file", "_follow", "_identity", "path")

    def __init__(
        self, url: str, how: Access, identity: Identity | None = None, shared: bool = True, follow: bool = True
    ) -> None:
        self.path, self._access, self._follow = url, how, follow
        file = _remembered((url, how, identity, follow)) if shared and identity is not None else None
        self._take(file or open_file(url, how, follow), identity, shared)

    def _take(self, file: File, identity: Identity | None, shared: bool) -> None:
        found = file.identity()
        assert found is not None
        if identity is not None and found != identity:
            raise ChangedError(f"`{self.path}` has changed since it was opened; open it again")
        self._file, self._identity = file, found
        if shared:
            _remember((self.path, self._access, found, self._follow), file)

    @classmethod
    def adopted(cls, url: str, how: Access, file: File) -> UrlHandle:
        """The handle of a file that is already open."""
        new = cls.__new__(cls)
        new.path, new._access, new._follow = url, how, True
        new._take(file, None, True)
        return new

    def file(self) -> File:
        """The open file."""
        return self._file

    def again(self) -> Callable[[], UrlHandle]:
        """A function that opens this version once more, in another process."""
        return partial(UrlHandle, self.path, self._access, self._identity, False, self._follow)

    def __reduce__(self) -> Any:
        return UrlHandle, (self.path, self._access, self._identity, True, self._follow)

    def __dask_tokenize__(self) -> Any:
        return ("ncforge", self.path, self._identity, self._follow)


class StoreHandle:
    """A file in a store of Python's. Picklable if the store is."""

    __slots__ = ("_file", "_store", "_version", "path")

    def __init__(self, store: Any, path: str, version: tuple[int, str] | None = None) -> None:
        reader = reader_of(store, path)
        found = (reader.size, reader.version)
        if version is not None and version != found:
            raise ChangedError(f"`{path}` has changed since it was opened; open it again")
        self.path, self._store, self._version = path, store, found
        self._file = File.open_reader(path, reader.size, reader)

    def file(self) -> File:
        """The open file."""
        return self._file

    def again(self) -> Callable[[], StoreHandle]:
        """A function that opens this version once more, in another process."""
        return partial(StoreHandle, self._store, self.path, self._version)

    def __reduce__(self) -> Any:
        return StoreHandle, (self._store, self.path, self._version)

    def __dask_tokenize__(self) -> Any:
        return ("ncforge", self.path, self._version)


def alone(
    path: str, storage_options: Mapping[str, Any] | None, store: Any, follow: bool = True
) -> UrlHandle | StoreHandle:
    """A URL, or a path in a store, opened for one user, who may close it."""
    if store is not None:
        return StoreHandle(store, path)
    return UrlHandle(path, access(storage_options), shared=False, follow=follow)
