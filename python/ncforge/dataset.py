"""Datasets and groups."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from ncforge._alignment import alignment
from ncforge._complex import complex_type, fill_of, storage_of, variable_of
from ncforge._contents import Contents, Variables
from ncforge._core import File, write_whole
from ncforge._grouptools import GroupTools
from ncforge._grouptypes import GroupTypes
from ncforge._printed import group_text
from ncforge._remote import alone, is_url
from ncforge._values import NUMBERS, TypeName, Types
from ncforge.dimension import Dimension
from ncforge.errors import (
    ChangedError,
    ExistsError,
    InvalidError,
    NotFoundError,
    UnsupportedCallError,
    UnsupportedError,
)
from ncforge.variable import Variable, plain_fill

__all__ = ["Dataset", "Group"]


_BLOSC = {"blosc_lz": 0, "blosc_lz4": 1, "blosc_lz4hc": 2, "blosc_zlib": 4, "blosc_zstd": 5}
"""Compressors by the numbers that blosc gives them."""


def _codec(compression: str | None, level: int, blosc_shuffle: int) -> int | tuple[int, int, int] | None:
    """A compression as an argument of the extension module; ``None`` for none."""
    match compression:
        case None:
            return None
        case "zlib" | "zstd" | "bzip2" if level == 0:
            return None
        case "zlib" | "zstd":
            return level
        case "bzip2":
            return min(max(level, 1), 9)
        case "szip":
            raise UnsupportedError("ncforge reads szip and does not write it: use zlib or zstd")
        case _ if compression in _BLOSC:
            return level, blosc_shuffle, _BLOSC[compression]
    raise InvalidError(f"compression is None, 'zlib', 'zstd', 'bzip2' or one of {sorted(_BLOSC)}, not {compression!r}")


def _storage(
    compression: str | None = None,
    zlib: bool = False,
    complevel: int = 4,
    shuffle: bool | None = None,
    blosc_shuffle: int = 1,
    fletcher32: bool = False,
    contiguous: bool = False,
    chunksizes: Iterable[int] | None = None,
    endian: str = "native",
    fills: bool = True,
    **others: Any,
) -> dict[str, Any]:
    """The storage of a variable for the extension module, from the arguments of ``createVariable``."""
    if zlib and compression is None:
        compression = "zlib"
    codec = _codec(compression, complevel, blosc_shuffle)
    return {
        "contiguous": contiguous,
        "chunks": None if chunksizes is None else [int(c) for c in chunksizes],
        "shuffle": compression == "zlib" if shuffle is None else shuffle,
        "deflate": codec if compression == "zlib" else None,
        "zstd": codec if compression == "zstd" else None,
        "bzip2": codec if compression == "bzip2" else None,
        "blosc": codec if isinstance(codec, tuple) else None,
        "fletcher32": fletcher32,
        "endian": endian,
        "fill": fills,
    }


class Group(GroupTools, GroupTypes):
    """A group of a dataset: dimensions, variables, attributes, and groups below.

    ``Group(parent, name)`` is ``parent.createGroup(name)``.
    """

    __slots__ = ("_name", "_parent")

    def __init__(self, parent: Group, name: str) -> None:
        ident = parent._changing().def_group(parent._group_id, name)
        self._fill(parent._core, parent._types, parent._contents, parent, ident, name)

    @classmethod
    def _at(cls, parent: Group, ident: int, name: str) -> Group:
        """An existing group."""
        new = Group.__new__(Group)
        new._fill(parent._core, parent._types, parent._contents, parent, ident, name)
        return new

    def _fill(self, core: File, types: Types, contents: Contents, parent: Group | None, ident: int, name: str) -> None:
        self._core = core
        self._types = types
        self._contents = contents
        self._key = -1 - ident
        self._known = contents.known.get(self._key, {})
        self._parent = parent
        self._group_id = ident
        self._var_id = None
        self._name = name

    # Contents.

    @property
    def name(self) -> str:
        """Its name; "/" for the root."""
        return self._name

    @property
    def path(self) -> str:
        """Its path from the root."""
        if self._parent is None:
            return "/"
        return f"{self._parent.path.rstrip('/')}/{self._name}"

    @property
    def parent(self) -> Group | None:
        """The group that contains it."""
        return self._parent

    @property
    def dimensions(self) -> dict[str, Dimension]:
        """The dimensions that it defines, by name."""
        own = ((i, d) for i, d in enumerate(self._contents.dims()) if d[1] == self._group_id)
        return {name: Dimension(self, i, name, unlimited) for i, (name, _, unlimited) in own}

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Its variables, by name, in the order of the file. Accessing a damaged one is an error that says what is wrong."""
        return Variables(self, self._contents.vars(self._group_id))

    @property
    def groups(self) -> dict[str, Group]:
        """The groups below it, by name."""
        below = ((i, g) for i, g in enumerate(self._core.groups()) if g[1] == self._group_id)
        return {name: Group._at(self, i, name) for i, (name, _) in below}

    def _variable(self, ident: int, name: str, kind: TypeName, dims: list[int]) -> Variable:
        """An existing variable."""
        return variable_of(self, ident, name, kind, dims)

    def __getitem__(self, path: str) -> Any:
        # A variable or a group; the caller knows which.
        at = self._root() if path.startswith("/") else self
        *above, last = [p for p in path.split("/") if p not in ("", ".")] or [""]
        for part in above:
            if part not in at.groups:
                self._core.explain(f"{at.path.rstrip('/')}/{part}")
                raise NotFoundError(f"no group `{part}` in `{at.path}`")
            at = at.groups[part]
        if last == "":
            return at
        if last in at._contents.vars(at._group_id):
            return at.variables[last]
        found = at.groups.get(last)
        if found is None:
            self._core.explain(f"{at.path.rstrip('/')}/{last}")
            raise NotFoundError(f"no variable or group `{last}` in `{at.path}`")
        return found

    # Definitions

    def createDimension(self, dimname: str, size: int | None = None) -> Dimension:
        """Defines a dimension. ``None`` or 0 is an unlimited one."""
        ident = self._changing().def_dim(self._group_id, dimname, size or None)
        return Dimension(self, ident, dimname, not size)

    def createGroup(self, groupname: str) -> Group:
        """Defines a group; with a path, also those above it. An existing one is returned."""
        at = self
        for part in [p for p in groupname.split("/") if p not in ("", ".")]:
            at = Group(at, part)
        return at

    def createVariable(
        self,
        varname: str,
        datatype: Any,
        dimensions: str | Dimension | Iterable[str | Dimension] = (),
        compression: str | None = None,
        zlib: bool = False,
        complevel: int = 4,
        shuffle: bool | None = None,
        szip_coding: str = "nn",
        szip_pixels_per_block: int = 8,
        blosc_shuffle: int = 1,
        fletcher32: bool = False,
        contiguous: bool = False,
        chunksizes: Iterable[int] | None = None,
        endian: str = "native",
        least_significant_digit: int | None = None,
        significant_digits: int | None = None,
        quantize_mode: str = "BitGroom",
        fill_value: Any = None,
        chunk_cache: int | None = None,
    ) -> Variable:
        """Defines a variable.

        Parameters
        ----------
        varname
            Its name, or its path; missing groups on the path are created.
        datatype
            A NumPy type, ``str``, or a user-defined type.
        dimensions
            Names or dimensions, slowest first.
        compression
            ``None``, "zlib", "zstd", "bzip2", or "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd".
            ("szip" is read, not written.)
        zlib
            The same as ``compression="zlib"``.
        complevel
            1 to 9 for zlib, bzip2 and blosc, 1 to 22 for zstd; 0 is no compression (of blosc: blocks that are not
            compressed).
        shuffle
            Whether bytes are shuffled before compression; by default only for zlib, as in netCDF4-python.
        szip_coding, szip_pixels_per_block
            For "szip".
        blosc_shuffle
            0 none, 1 bytes, 2 bits.
        fletcher32
            Whether every chunk gets a checksum.
        contiguous
            Whether it is stored without chunks.
        chunksizes
            Chunk lengths; chosen if the variable must be chunked and none are given.
        endian
            Byte order in the file: "native", "little" or "big"; only "native" in classic files and for types other than numbers.
        least_significant_digit
            Numbers are rounded to this number of decimals (also negative) when they are written, which makes them
            compress better. Stored as an attribute.
        significant_digits, quantize_mode
            Floats are rounded when they are written, which makes them compress better: ``significant_digits`` are decimal
            digits for "BitGroom" and "GranularBitRound", bits of the mantissa for "BitRound". They are stored in
            netCDF-C's attribute, and the bits are those that netCDF-C writes.
        fill_value
            The value of elements that were never written (``_FillValue``); "default" for netCDF's own; ``False``: they are
            not filled.
        chunk_cache
            Bytes of a chunk cache: see :meth:`Variable.set_var_chunk_cache`.
        """
        names = (dimensions,) if isinstance(dimensions, str | Dimension) else dimensions
        *above, last = [part for part in varname.split("/") if part not in ("", ".")] or [varname]
        if above:
            return self.createGroup("/".join(above)).createVariable(
                last, datatype, names, compression, zlib, complevel, shuffle, szip_coding, szip_pixels_per_block,
                blosc_shuffle, fletcher32, contiguous, chunksizes, endian, least_significant_digit, significant_digits,
                quantize_mode, fill_value, chunk_cache,
            )  # fmt: skip
        varname = last
        part = complex_type(datatype)
        if part is not None:
            if not self._contents.auto_complex:
                raise InvalidError(
                    f"netCDF has no type like {datatype!r}; Dataset(..., auto_complex=True) stores pairs"
                )
            datatype, more = storage_of(self, part)
            names = [*names, *more]
            fill_value = fill_of(fill_value, part, bool(more))
            if chunksizes is not None and more:
                chunksizes = [*chunksizes, 2]
        dims = [self._dimension(d.name if isinstance(d, Dimension) else d) for d in names]
        kind = self._kind(datatype)
        if endian != "native" and (kind not in NUMBERS or self._core.format().startswith("NETCDF3")):
            where = "numbers" if kind not in NUMBERS else "files of format NETCDF4"
            raise InvalidError(f"`{varname}`: a byte order can be chosen for {where} only, not endian={endian!r}")
        fills = fill_value is not False and (fill_value is not None or self._contents.fills)
        storage = _storage(
            compression, zlib, complevel, shuffle, blosc_shuffle, fletcher32, contiguous, chunksizes, endian, fills
        )
        fill = None if fill_value is None or fill_value is False else plain_fill(self._types, kind, varname, fill_value)
        ident = self._changing().def_var(self._group_id, varname, kind, dims, storage)
        var = self._variable(ident, varname, kind, dims)
        if chunk_cache is not None:
            var.set_var_chunk_cache(int(chunk_cache))
        if fill is not None:
            self._core.set_attr(self._group_id, ident, "_FillValue", kind, fill)
        if significant_digits is not None:
            self._core.quantize(ident, quantize_mode, int(significant_digits))
        if least_significant_digit is not None:
            var.setncattr("least_significant_digit", least_significant_digit)
        return var

    def _chosen_chunks(
        self,
        datatype: Any,
        dimensions: Iterable[str],
        given: Mapping[str, Any],
        request: dict[str, Any],
        coordinates: list[tuple[str, list[tuple[str, str]]]],
        lengths: list[tuple[str, int]],
    ) -> list[int] | None:
        """The chunk lengths of a variable that ``createVariable`` would create with these arguments."""
        dims = [self._dimension(d) for d in dimensions]
        kind = self._kind(datatype)
        return self._core.choose_chunks(kind, dims, _storage(**given), request, coordinates, lengths)

    def _root(self) -> Group:
        at = self
        while at._parent is not None:
            at = at._parent
        return at

    def _dimension(self, name: str) -> int:
        dims = self._contents.dims()
        at: Group | None = self
        while at is not None:
            for i, (n, group, _) in enumerate(dims):
                if n == name and group == at._group_id:
                    return i
            at = at._parent
        raise NotFoundError(f"no dimension `{name}` in `{self.path}` or above")

    def __iter__(self) -> Any:
        raise TypeError("a dataset is not iterable; use its `variables`, `dimensions` or `groups`")

    def __contains__(self, name: object) -> bool:
        raise TypeError("`in` is ambiguous here; use `variables`, `dimensions` or `groups`")

    def __eq__(self, other: object) -> bool:
        # Objects are created for each access: two of the same group are equal.
        if not isinstance(other, Group):
            return NotImplemented
        return self._core is other._core and self._group_id == other._group_id

    def __hash__(self) -> int:
        return hash((id(self._core), self._group_id))

    def __reduce__(self) -> Any:
        # Pickled as its dataset and its path.
        return Group.__getitem__, (self._root(), self.path)

    def _repr_html_(self) -> str | None:
        from ncforge._groupview import group_html

        return group_html(self, self._title()) if self._core.is_open() else None

    def _title(self) -> str:
        return f"ncforge.Group {self.path}"

    def __repr__(self) -> str:
        return group_text(self)


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
        A new file is created in memory, and discarded when it is closed; with ``persist`` it is written to disk then.
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
    storage_options
        How a URL (``s3://``, ``gs://``, ``az://``, ``https://``) is accessed: ``anonymous``, ``endpoint``, ``region``,
        ``timeout``, … by the names of the Rust crate ``object_store``; ``anon``, ``key`` and ``secret`` as in s3fs. The
        environment is used for what is not given.
    store
        An object that reads ranges of bytes of ``filename``: a store of obstore (obspec's ``get_ranges``), or a file system of
        fsspec (``cat_ranges``).

    A new file appears under its name, complete, when it is synced or closed. After an exception in its ``with`` block, the
    state before remains: no file, the old one, or the state of the last ``sync``.

    One program at a time writes to a file: the second one gets a :class:`ncforge.errors.LockedError`. ncforge reads
    without a lock: threads and processes may read in parallel, also while one of them writes.
    """

    __slots__ = ("_handle", "_is_new", "_on_disk", "_persist", "_process")

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
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
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
            raise UnsupportedError(f"`{path}` can be read, not changed: write a local file and copy it to the URL")
        if plain == "a" and not os.path.exists(path):
            plain = "w"
        self._handle: Any = None
        self._persist = path if diskless and persist else None
        self._is_new = plain in ("w", "x")
        in_memory = (
            diskless or memory is not None if self._is_new else isinstance(memory, bytes | bytearray | memoryview)
        )
        self._on_disk = not in_memory
        self._process = os.getpid()
        match plain:
            case "r" if memory is not None and not isinstance(memory, int):
                core = File.open_bytes(path, bytes(memory))
            case "r" if remote:
                self._handle = alone(path, storage_options, store)
                core = self._handle.file()
            case "r":
                core = File.open(path, locking)
            case "w" | "x" if diskless or memory is not None:
                preserved = plain == "x" or (not clobber and self._persist is not None)
                if preserved and os.path.exists(path):
                    raise ExistsError(f"`{path}` exists already")
                core = File.create_in_memory(path, format, alignment())
            case "r+" | "a":
                core = File.update(path, locking)
            case "w":
                core = File.create(path, format, clobber, _memory, alignment(), locking)
            case "x":
                core = File.create(path, format, False, _memory, alignment(), locking)
            case _:
                raise InvalidError(f"mode is 'r', 'r+', 'a', 'w' or 'x', not {mode!r}")
        self._fill(core, Types(core), Contents(core), None, 0, "/")
        self._contents.auto_complex = bool(auto_complex)
        if plain != "r":
            _written.add(self)

    @classmethod
    def _of(cls, core: File) -> Dataset:
        """The dataset of a file that is already open."""
        new = cls.__new__(cls)
        new._persist, new._is_new, new._process, new._handle = None, False, os.getpid(), None
        new._on_disk = core.identity() is not None
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
        return _open_again, (os.path.abspath(self.filepath()), identity, self.auto_complex)

    def _title(self) -> str:
        return f"ncforge.Dataset {self.filepath()} · {self.data_model}"

    def close(self) -> memoryview | None:
        """Completes the file and closes it. For a file in memory, returns its bytes."""
        self._contents.forget()
        data = self._finished()
        return None if data is None else memoryview(data)

    def _finished(self) -> bytes | None:
        """Completes the file and closes it; with ``persist``, a file in memory is written to disk. Returns the bytes of a file
        in memory."""
        data = self._core.close()
        if data is not None and self._persist is not None:
            write_whole(self._persist, data, True)
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
            If the dataset has no file (it is in memory), or values are requested and ``ncdump`` is not installed, or cannot
            read the file.

        Examples
        --------
        >>> print(ds.tocdl(data=True))           # doctest: +SKIP
        """
        if not self._on_disk:
            raise UnsupportedCallError(f"`{self.filepath()}` is not on disk, it is in memory")
        if not self._core.is_reading():
            self.sync()
        from ncforge._cdl import to_cdl

        text = to_cdl(self.filepath(), self.disk_format == "NETCDF3", coordvars, data)
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

        from ncforge._cdl import from_cdl

        source = Path(cdlfilename)
        target = source.with_suffix(".nc") if ncfilename is None else Path(ncfilename)
        from_cdl(source, target, format)
        return Dataset(target, mode)

    def __del__(self) -> None:
        # A dataset without references is closed, so that a script without `close` loses nothing, as with
        # netCDF4-python. (Variables and groups refer to their dataset.) One that could not be opened has no `_core`.
        if hasattr(self, "_core"):
            self._ended()

    def _ended(self) -> None:
        """Closes the file if the program did not. A file inherited by a forked process belongs to its parent."""
        if self._process == os.getpid():
            self._finished()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # `sys.exit()` is a regular end.
        failed = kind is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))
        if failed and self._is_new:
            # A partial file is discarded: the state before remains, or that of the last sync.
            self._contents.forget()
            self._core.abandon()
        else:
            self.close()


_written: weakref.WeakSet[Dataset] = weakref.WeakSet()
"""Datasets that may have unwritten changes."""


@atexit.register
def _close_all() -> None:
    """Completes files that the program has not closed, at exit, while all modules are still loaded."""
    for dataset in list(_written):
        dataset._ended()


def _from_handle(opened: Any, auto_complex: bool) -> Dataset:
    handle = opened()
    new = Dataset._of(handle.file())
    new._handle = handle
    new._contents.auto_complex = auto_complex
    return new


def _open_again(path: str, identity: tuple[int, int, int], auto_complex: bool) -> Dataset:
    core = File.open(path)
    if core.identity() != identity:
        raise ChangedError(f"`{path}` is another file, or has other contents, than the one that was sent here")
    new = Dataset._of(core)
    new._contents.auto_complex = auto_complex
    return new
