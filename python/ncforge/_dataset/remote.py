"""Files that are not on a disk of this machine: URLs, and objects of Python that read ranges of bytes."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

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


State = tuple[int, str]
"""The length and the version of a file in a store."""


class _Reader:
    """Reads ranges of a file in a store, of the version that was opened. ``state`` asks what it is now, ``parts`` for ranges."""

    def __init__(self, state: Callable[[], State], parts: Callable[[list[int], list[int]], Any]) -> None:
        self._now, self._parts = state, parts
        self.state = state()

    def get_ranges(self, starts: list[int], ends: list[int]) -> list[bytes] | None:
        """The bytes of several ranges; ``None`` if the file has changed."""
        parts = [part if isinstance(part, bytes) else bytes(memoryview(part)) for part in self._parts(starts, ends)]
        # Stores do not say which version a range is of.
        return parts if self._now() == self.state else None


def _version(tag: Any, *dates: Any) -> str:
    """The version that a store's marks say: the ETag, unless it is weak (RFC 9110, section 8.8.1), else the dates."""
    return str(tag) if tag is not None and not str(tag).startswith("W/") else " ".join(map(str, dates))


def _of_obspec(store: Any, path: str) -> _Reader:
    """The reader of an object in a store with obspec's methods, such as obstore's."""

    def state() -> State:
        if hasattr(store, "head"):
            meta = store.head(path)
        else:
            import obstore

            meta = obstore.head(store, path)
        return int(meta["size"]), _version(meta.get("e_tag"), meta.get("last_modified"))

    return _Reader(state, lambda starts, ends: store.get_ranges(path, starts=starts, ends=ends))


def _of_fsspec(system: Any, name: str) -> _Reader:
    """The reader of a file of an fsspec file system."""
    path = system._strip_protocol(name)

    def state() -> State:
        if hasattr(system, "invalidate_cache"):
            # Not what a list of the folder has said before.
            system.invalidate_cache(path.rpartition("/")[0])
        info = system.info(path)
        if info.get("size") is None:
            raise InvalidError(f"the file system does not know the length of `{name}`")
        dates = ("mtime", "LastModified", "updated", "created")
        tag = info.get("ETag", info.get("etag"))
        return int(info["size"]), _version(tag, *(info[date] for date in dates if date in info))

    return _Reader(state, lambda starts, ends: system.cat_ranges([path] * len(starts), starts, ends, on_error="raise"))


def reader_of(store: Any, path: str) -> _Reader:
    """The reader of ranges of a file in a store."""
    if hasattr(store, "get_ranges"):
        return _of_obspec(store, path)
    if hasattr(store, "cat_ranges"):
        return _of_fsspec(store, path)
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

    def __init__(self, store: Any, path: str, version: State | None = None) -> None:
        reader = reader_of(store, path)
        if version is not None and version != reader.state:
            raise ChangedError(f"`{path}` has changed since it was opened; open it again")
        self.path, self._store, self._version = path, store, reader.state
        self._file = File.open_reader(path, reader.state[0], reader)

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
