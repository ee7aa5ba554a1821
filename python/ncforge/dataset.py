"""Datasets and groups."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Mapping
from numbers import Real
from types import TracebackType
from typing import Any

from ncforge._core import File, shown, write_whole
from ncforge._dataset.alignment import alignment
from ncforge._dataset.attributes import put_own
from ncforge._dataset.contents import Contents
from ncforge._dataset.group import Group
from ncforge._dataset.identity import Identity
from ncforge._dataset.remote import alone, is_url, placed
from ncforge._dataset.values import Types
from ncforge._missing import suggesting
from ncforge.errors import (
    ChangedError,
    ExistsError,
    InvalidError,
    NcforgeError,
    UnsupportedCallError,
    UnsupportedError,
)

__all__ = ["Dataset", "Group"]


class Dataset(Group):
    """An open netCDF file.

    Parameters
    ----------
    filename
        Its path.
    mode
        "r" reads; "r+" updates in place; "a" the same, and creates the file if it does not exist; "w" creates it;
        "x" creates it and does not replace an existing file.
    clobber
        Whether "w" may replace an existing file.
    format
        Of a new file: "NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET" or
        "NETCDF3_64BIT_DATA".
    diskless
        A new file is created in memory, and discarded when it is closed; with ``persist`` it is written to disk then, unless
        ``memory`` is given. An existing file cannot be updated in memory: "r+" and "a" are errors then.
    memory
        The bytes of a file, to be read; for a new file any number: it is created in memory, and ``close`` returns its bytes.
    keepweakref, comm, info
        Accepted for compatibility, without effect.
    encoding
        The encoding of the path in the file system; the system's own by default.
    parallel
        Not supported; must be false.
    auto_complex
        Whether complex numbers can be written, and pairs are read as such: compounds of two floats whose names begin with
        "r" and "i", and floats with a last dimension of length 2 called "_pfnc_complex", "complex" or "ri". They are written
        as compounds, or along a dimension in formats without compounds, as in netCDF4-python.
    locking
        Whether the file is locked while it is open, as in h5py: ``False`` never, ``True`` always (an error where the file
        system has no locks), "best-effort" where it is possible. By default, writers lock it where it is possible, and
        readers do not. The environment variable ``HDF5_USE_FILE_LOCKING`` overrides it, as in HDF5.
    durable
        Whether ``sync`` and ``close`` wait until the changes are on disk, so that they outlive a failure of the machine. Without,
        they outlive the program alone, as with netCDF4-python. The environment variable ``NCFORGE_DURABLE=1`` asks for it
        everywhere; zipped files always wait.
    storage_options
        How a URL (``s3://``, ``gs://``, ``az://``, ``https://``) is accessed: ``anonymous``, ``endpoint``, ``region``,
        ``timeout``, … by the names of the Rust crate ``object_store``; ``anon``, ``key`` and ``secret`` as in s3fs. The
        environment is used for what is not given.
    store
        An object that reads ranges of bytes of ``filename``: a store of obstore (obspec's ``get_ranges``), or a file system of
        fsspec (``cat_ranges``).
    follow
        Whether a file that is read may lead to others: HDF5's virtual datasets. ``False`` is for files of people who must not
        see this machine's own. A URL, and bytes in memory, lead to no file in any case.

    A new file appears under its name, complete, when it is synced or closed. After an exception in its ``with`` block, the
    state before remains: no file, the old one, or the state of the last ``sync``.

    One program at a time writes to a file: the second one gets a :class:`ncforge.errors.LockedError`. ncforge reads
    without a lock: threads and processes may read in parallel. While another one writes, a dataset keeps the
    description and the lengths that the file had when it was opened, and reads values of the newest ``sync`` (a zipped file: of its
    opening).
    """

    __slots__ = ("_discards", "_follow", "_handle", "_is_new", "_on_disk", "_persists", "_place", "_process", "_told")

    _discards: bool
    _follow: bool
    _handle: Any
    _is_new: bool
    _on_disk: bool
    _persists: bool
    """Whether a file in memory is written to disk when it is closed."""
    _place: str
    """Its path as it was opened, in whatever folder the process is now."""
    _process: int
    _told: bool

    @suggesting("Dataset")
    def __init__(
        self,
        filename: str | bytes | os.PathLike[str],
        mode: str = "r",
        clobber: bool = True,
        format: str = "NETCDF4",
        diskless: bool = False,
        persist: bool = False,
        keepweakref: bool = False,
        memory: bytes | bytearray | memoryview | int | None = None,
        encoding: str | None = None,
        parallel: bool = False,
        comm: Any = None,
        info: Any = None,
        auto_complex: bool = False,
        *,
        locking: bool | str | None = None,
        durable: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
        follow: bool = True,
        _memory: int | None = None,
    ) -> None:
        if parallel:
            raise UnsupportedError("files cannot be opened by several MPI processes together")
        plain_path = os.fspath(filename)
        if isinstance(plain_path, str) and encoding is not None:
            plain_path = plain_path.encode(encoding)
        path = os.fsdecode(plain_path)
        # "s" is for shared access in netCDF-C; nothing is buffered between processes here.
        plain = mode[:-1] if len(mode) > 1 and mode.endswith("s") else mode
        remote = store is not None or is_url(path)
        if remote and plain != "r":
            raise UnsupportedError(
                f"`{shown(path)}` can be read, not changed: write a local file and copy it to the URL"
            )
        if memory is not None and plain not in ("r", "w"):
            raise InvalidError(
                f"`{shown(path)}`: `memory` goes with mode 'r' or 'w'; to update bytes, write them to a file and open it"
            )
        if plain == "a" and not os.path.exists(path):
            plain = "w"
        if diskless and plain in ("r+", "a"):
            raise UnsupportedError(
                f"`{shown(path)}` cannot be updated in memory (`diskless`): copy the file, and open the copy with mode {mode!r}"
            )
        is_new = plain in ("w", "x")
        in_memory = memory is not None or (diskless and is_new)
        persists = diskless and persist and memory is None
        on_disk = not in_memory and store is None
        self._is(placed(path) if on_disk or persists else path, is_new, on_disk, follow, persists)
        match plain:
            case "r" if memory is not None:
                core = File.open_bytes(path, _bytes(memory))
            case "r" if remote:
                put_own(self, _handle=alone(path, storage_options, store, follow))
                core = self._handle.file()
            case "r":
                core = File.open(path, locking, None if follow else False)
            case "w" | "x" if in_memory:
                _check_size(0 if memory is None else memory)
                preserved = plain == "x" or (not clobber and persists)
                if preserved and os.path.exists(path):
                    raise ExistsError(f"`{path}` exists already")
                core = File.create_in_memory(path, format, alignment())
            case "r+" | "a":
                core = File.update(path, locking, durable)
            case "w":
                core = File.create(path, format, clobber, _memory, alignment(), locking, durable)
            case "x":
                core = File.create(path, format, False, _memory, alignment(), locking, durable)
            case _:
                raise InvalidError(f"mode is 'r', 'r+', 'a', 'w' or 'x', not {mode!r}")
        self._fill(core, Types(core), Contents(core), None, 0, "/")
        self._contents.auto_complex = bool(auto_complex)
        if plain != "r":
            _written.add(self)

    def _is(
        self,
        place: str,
        is_new: bool,
        on_disk: bool,
        follow: bool = True,
        persists: bool = False,
        handle: Any = None,
    ) -> None:
        """What a dataset of this process knows of its file."""
        put_own(
            self,
            _place=place,
            _persists=persists,
            _is_new=is_new,
            _on_disk=on_disk,
            _follow=follow,
            _handle=handle,
            _process=os.getpid(),
            _discards=False,
            _told=False,
        )

    @classmethod
    def _of(cls, core: File, handle: Any = None) -> Dataset:
        """The dataset of a file that is already open, and of what opens it again if a path is not enough."""
        new = cls.__new__(cls)
        new._is(core.path, False, core.identity() is not None, handle=handle)
        new._fill(core, Types(core), Contents(core), None, 0, "/")
        return new

    def __reduce__(self) -> Any:
        # A dataset that is read is pickled as its path, and the data that identify the file.
        identity = self._core.identity() if self._core.is_open() and self._core.is_reading() else None
        if self._handle is not None and self._core.is_open():
            return _from_handle, (self._handle.again(), self.auto_complex)
        if identity is None:
            raise UnsupportedCallError(
                f"`{self.filepath()}` is being written, is in memory, or is closed: such a dataset cannot be sent to another "
                "process; open the file there"
            )
        return _open_again, (self._place, identity, self.auto_complex, self._follow)

    def _title(self) -> str:
        return f"ncforge.Dataset {self.filepath()} · {self.data_model}"

    def close(self) -> memoryview | None:
        """Completes the file and closes it. For a file in memory, returns its bytes."""
        self._contents.forget()
        try:
            data = self._finished()
        except NcforgeError:
            put_own(self, _told=True)
            raise
        return None if data is None else memoryview(data)

    def _finished(self) -> bytes | None:
        """Completes the file and closes it; with ``persist``, a file in memory is written to disk. Returns the bytes of a file
        in memory."""
        data = self._core.close()
        if data is not None and self._persists:
            write_whole(self._place, data, True)
        return data

    def tocdl(
        self, coordvars: bool = False, data: bool = False, outfile: str | os.PathLike[str] | None = None
    ) -> str | None:
        """The file as CDL, as ``ncdump -s`` prints it. Written values are synced before (a new file gets its name then).

        Parameters
        ----------
        coordvars
            Whether the values of coordinate variables are printed.
        data
            Whether all values are printed. Values need netCDF's tool ``ncdump``; the header does not.
        outfile
            The file to write it to; by default the text is returned.

        Raises
        ------
        OSError
            If the dataset is not one file on disk, or values are requested and ``ncdump`` is not installed, or cannot
            read the file.

        Examples
        --------
        >>> print(ds.tocdl(data=True))           # doctest: +SKIP
        """
        if not self._on_disk:
            raise UnsupportedCallError(
                f"`{self.filepath()}` is not one file on disk: it is in memory, in a store, or several"
            )
        if not self._core.is_reading():
            self.sync()
        from ncforge._dataset.cdl import to_cdl

        text = to_cdl(self._place, self.disk_format == "NETCDF3", coordvars, data)
        if outfile is None:
            return text
        with open(outfile, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return None

    @staticmethod
    def fromcdl(
        cdlfilename: str | os.PathLike[str],
        ncfilename: str | os.PathLike[str] | None = None,
        mode: str = "a",
        format: str = "NETCDF4",
    ) -> Dataset:
        """Makes a file from CDL with netCDF's tool ``ncgen``, and opens it.

        Parameters
        ----------
        cdlfilename
            The path of the text.
        ncfilename
            The new file; by default the path of the text with the extension ``.nc``.
        mode
            How the new file is opened.
        format
            Of the new file, as for :class:`Dataset`.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        FileExistsError
            If the new file exists already.
        OSError
            If ``ncgen`` is not installed, or cannot parse the text; the message contains that of ``ncgen``.
        ValueError
            If there is no such format.

        Examples
        --------
        >>> with Dataset.fromcdl("sst.cdl") as ds:      # doctest: +SKIP
        ...     ds["sst"][:] = 0
        """
        from pathlib import Path

        from ncforge._dataset.cdl import from_cdl

        source = Path(cdlfilename)
        target = source.with_suffix(".nc") if ncfilename is None else Path(ncfilename)
        from_cdl(source, target, format)
        return Dataset(target, mode)

    def __del__(self) -> None:
        # A dataset without references is closed, so that a script without `close` loses nothing, as with
        # netCDF4-python. (Variables and groups refer to their dataset.) One that could not be opened has no `_core`.
        # When the interpreter ends, modules are emptied before the last objects go; datasets that were written are closed then.
        if hasattr(self, "_core") and globals().get("os") is not None:
            self._ended()

    def _ended(self) -> None:
        """Closes the file if the program did not. A file inherited by a forked process belongs to its parent."""
        if self._process != os.getpid():
            return
        if self._discards:
            self._abandon()
            return
        try:
            self._finished()
        except NcforgeError:
            # Nobody will try again; and a program that called `close` knows.
            self._abandon()
            if not self._told:
                raise

    def _abandon(self) -> None:
        """Closes the file without completing it: the state before remains, or that of the last sync."""
        self._contents.forget()
        self._core.abandon()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # `sys.exit()` is a regular end.
        failed = kind is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))
        if failed and self._is_new:
            # A partial file is discarded.
            self._abandon()
            return
        try:
            self.close()
        except NcforgeError as lost:
            # Nobody will try again.
            self._abandon()
            if error is None or not failed:
                raise
            if hasattr(error, "add_note"):
                error.add_note(f"ncforge: closing the file failed, too: {lost}")


def _bytes(memory: Any) -> bytes:
    """The bytes of a file; an error for a number, of which ``bytes`` would make zeros."""
    return bytes(memoryview(memory))


def _check_size(memory: Any) -> None:
    """An error if ``memory`` of a new file is not a number of bytes."""
    if not isinstance(memory, Real):
        raise TypeError(f"`memory` of a new file is a number of bytes, not {type(memory).__name__!r}")
    if memory < 0:
        raise OverflowError(f"`memory` of a new file is a number of bytes, not {memory}")


_written: weakref.WeakSet[Dataset] = weakref.WeakSet()
"""Datasets that may have unwritten changes."""


@atexit.register
def _close_all() -> None:
    """Completes files that the program has not closed, at exit, while all modules are still loaded."""
    errors: list[Exception] = []
    for dataset in list(_written):
        try:
            dataset._ended()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _from_handle(opened: Any, auto_complex: bool) -> Dataset:
    handle = opened()
    new = Dataset._of(handle.file(), handle)
    new._contents.auto_complex = auto_complex
    return new


def _open_again(path: str, identity: Identity, auto_complex: bool, follow: bool = True) -> Dataset:
    core = File.open(path, follow=None if follow else False)
    if core.identity() != identity:
        raise ChangedError(f"`{shown(path)}` has changed since it was opened")
    new = Dataset._of(core)
    put_own(new, _follow=follow)
    new._contents.auto_complex = auto_complex
    return new
