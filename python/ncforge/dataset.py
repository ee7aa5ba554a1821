"""Datasets and groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from ncforge._attributes import Attributes
from ncforge._contents import Contents, Variables
from ncforge._core import File, info_cdl
from ncforge._grouptools import GroupTools
from ncforge._values import ATOMIC, TypeName, Types
from ncforge.dimension import Dimension
from ncforge.errors import (
    ChangedError,
    ExistsError,
    InvalidError,
    NotFoundError,
    UnsupportedCallError,
    UnsupportedError,
)
from ncforge.types import CompoundType, EnumType, OpaqueType, UserType, VLType
from ncforge.variable import Variable

__all__ = ["Dataset", "Group"]

_NAMES = {"b": "i1", "B": "u1", "h": "i2", "H": "u2", "i": "i4", "l": "i4", "f": "f4", "d": "f8", "c": "S1"}


_BLOSC = {"blosc_lz": 0, "blosc_lz4": 1, "blosc_lz4hc": 2, "blosc_zlib": 4, "blosc_zstd": 5}
"""Compressors by the numbers that blosc gives them."""


def _codec(compression: str | None, level: int, blosc_shuffle: int) -> int | tuple[int, int, int] | None:
    """What the extension module wants to know of a compression; ``None`` for none."""
    match compression:
        case None:
            return None
        case "zlib":
            return level if level > 0 else None
        case "zstd":
            return level
        case "bzip2":
            return min(max(level, 1), 9)
        case "szip":
            raise UnsupportedError("ncforge reads szip and does not write it: use zlib or zstd")
        case _ if compression in _BLOSC:
            return level, blosc_shuffle, _BLOSC[compression]
    raise InvalidError(f"compression is None, 'zlib', 'zstd', 'bzip2' or one of {sorted(_BLOSC)}, not {compression!r}")


class Group(GroupTools, Attributes):
    """A group of a dataset: dimensions, variables, attributes, and groups below."""

    def __init__(
        self, core: File, types: Types, contents: Contents, parent: Group | None, ident: int, name: str
    ) -> None:
        self._core = core
        self._types = types
        self._contents = contents
        self._key = -1 - ident
        self._known = contents.known.get(self._key, {})
        self._parent = parent
        self._group_id = ident
        self._var_id = None
        self._name = name

    # What is in it.

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
        """The group that holds it."""
        return self._parent

    @property
    def dimensions(self) -> dict[str, Dimension]:
        """The dimensions that it defines, by name."""
        own = ((i, d) for i, d in enumerate(self._contents.dims()) if d[1] == self._group_id)
        return {name: Dimension(self, i, name, unlimited) for i, (name, _, unlimited) in own}

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Its variables, by name, in the order of the file. Asking for one that is damaged says what is wrong."""
        return Variables(self, self._contents.vars(self._group_id))

    @property
    def groups(self) -> dict[str, Group]:
        """The groups below it, by name."""
        below = ((i, g) for i, g in enumerate(self._core.groups()) if g[1] == self._group_id)
        return {name: Group(self._core, self._types, self._contents, self, i, name) for i, (name, _) in below}

    @property
    def cmptypes(self) -> dict[str, UserType]:
        """Its compound types, by name."""
        return self._user_types("compound")

    @property
    def vltypes(self) -> dict[str, UserType]:
        """Its ragged types, by name."""
        return self._user_types("vlen")

    @property
    def enumtypes(self) -> dict[str, UserType]:
        """Its enum types, by name."""
        return self._user_types("enum")

    def _user_types(self, kind: str) -> dict[str, UserType]:
        out: dict[str, UserType] = {}
        for i, info in enumerate(self._core.types()):
            if info["kind"] == kind and info["group"] == self._group_id:
                found = self._datatype(i)
                assert isinstance(found, UserType)
                out[found.name] = found
        return out

    def _datatype(self, kind: TypeName) -> Any:
        if isinstance(kind, str):
            return str if kind == "str" else np.dtype(kind)
        info = self._types.info(kind)
        dtype = self._types.dtype(kind)
        match info["kind"]:
            case "enum":
                return EnumType(info["name"], dtype, kind, dict(info["members"]))
            case "vlen":
                base = info["base"]
                return VLType(info["name"], dtype, kind, str if base == "str" else self._types.dtype(base))
            case "opaque":
                return OpaqueType(info["name"], dtype, kind)
            case _:
                return CompoundType(info["name"], dtype, kind)

    def __getitem__(self, path: str) -> Any:
        # A variable or a group; which one, the caller knows.
        at = self._root() if path.startswith("/") else self
        *above, last = [p for p in path.split("/") if p] or [""]
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
        ident = self._core.def_dim(self._group_id, dimname, size or None)
        return Dimension(self, ident, dimname, not size)

    def createGroup(self, groupname: str) -> Group:
        """Defines a group; with a path, also those above. An existing one is given back."""
        at = self
        for part in [p for p in groupname.split("/") if p]:
            ident = self._core.def_group(at._group_id, part)
            at = Group(self._core, self._types, self._contents, at, ident, part)
        return at

    def createCompoundType(self, datatype: Any, datatype_name: str) -> UserType:
        """Defines a compound type from a structured NumPy type.

        A field of NumPy type ``O`` is a string.
        """
        dtype = np.dtype(datatype)
        if dtype.names is None or dtype.fields is None:
            raise InvalidError("a compound type is made from a structured NumPy type")
        fields = []
        for name in dtype.names:
            field, offset = dtype.fields[name][:2]
            base, shape = field.subdtype or (field, ())
            fields.append((name, offset, self._kind(base), list(shape)))
        return self._define(datatype_name, {"kind": "compound", "size": dtype.itemsize, "fields": fields})

    def createVLType(self, datatype: Any, datatype_name: str) -> UserType:
        """Defines a ragged type."""
        return self._define(datatype_name, {"kind": "vlen", "base": self._kind(datatype)})

    def createEnumType(self, datatype: Any, datatype_name: str, enum_dict: Mapping[str, int]) -> UserType:
        """Defines an enum type: an integer type, and names for values."""
        members = [(name, int(value)) for name, value in enum_dict.items()]
        return self._define(datatype_name, {"kind": "enum", "base": self._kind(datatype), "members": members})

    def _define(self, name: str, new: dict[str, Any]) -> UserType:
        ident = self._core.def_type(self._group_id, name, new)
        made = self._datatype(ident)
        assert isinstance(made, UserType)
        return made

    def _kind(self, datatype: Any) -> TypeName:
        """The name of a type, from all that netCDF4-python's users write for one."""
        if isinstance(datatype, UserType):
            return datatype._id
        if datatype is str or datatype in ("str", "S") or (isinstance(datatype, np.dtype) and datatype.kind == "O"):
            return "str"
        if isinstance(datatype, str) and datatype in _NAMES:
            return _NAMES[datatype]
        dtype = np.dtype(datatype)
        if dtype.names is not None:
            # A structured type inside another: by the fields that a compound type of this file has.
            for i, info in enumerate(self._core.types()):
                if info["kind"] == "compound" and self._types.dtype(i) == dtype:
                    return i
            raise InvalidError("define the inner compound type first")
        code = f"{dtype.kind}{dtype.itemsize}"
        if code not in ATOMIC:
            raise InvalidError(f"netCDF has no type like {dtype}")
        return code

    def createVariable(
        self,
        varname: str,
        datatype: Any,
        dimensions: str | Iterable[str | Dimension] = (),
        compression: str | None = None,
        zlib: bool = False,
        complevel: int = 4,
        shuffle: bool = True,
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
            Its name, or its path; groups on the way are made.
        datatype
            A NumPy type, ``str``, or a user-defined type.
        dimensions
            Names, slowest dimension first.
        compression
            ``None``, "zlib", "zstd", "bzip2", or "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd".
            ("szip" is read, not written.)
        zlib
            The same as ``compression="zlib"``.
        complevel
            0 to 9 for zlib and blosc, 1 to 22 for zstd, 1 to 9 for bzip2.
        shuffle
            Whether bytes are shuffled before compression.
        szip_coding, szip_pixels_per_block
            For "szip".
        blosc_shuffle
            0 none, 1 bytes, 2 bits.
        fletcher32
            Whether every chunk gets a checksum.
        contiguous
            Whether it shall not be chunked.
        chunksizes
            Chunk lengths; chosen when the variable must be chunked and nothing is given.
        endian
            Byte order in the file: "native", "little" or "big".
        least_significant_digit
            Numbers are rounded at this digit behind the point as they are written (also negative), which makes them
            compress better. Kept as an attribute.
        significant_digits, quantize_mode
            Floats are rounded as they are written, which makes them compress better: "BitGroom" and
            "GranularBitRound" keep so many decimal digits, "BitRound" so many bits of the mantissa. An attribute says
            so, with netCDF-C's name, and the bits are those that netCDF-C writes.
        fill_value
            What values read as that nobody wrote (``_FillValue``); ``False``: they are not filled.
        chunk_cache
            Accepted for the sake of programs that pass it: ncforge chooses what to keep.
        """
        if "/" in varname.strip("/"):
            path, varname = varname.strip("/").rsplit("/", 1)
            names = (dimensions,) if isinstance(dimensions, str) else dimensions
            return self.createGroup(path).createVariable(
                varname, datatype, names, compression, zlib, complevel, shuffle, szip_coding, szip_pixels_per_block,
                blosc_shuffle, fletcher32, contiguous, chunksizes, endian, least_significant_digit, significant_digits,
                quantize_mode, fill_value, chunk_cache,
            )  # fmt: skip
        if zlib and compression is None:
            compression = "zlib"
        codec = _codec(compression, complevel, blosc_shuffle)
        names = (dimensions,) if isinstance(dimensions, str) else dimensions
        dims = [self._dimension(d.name if isinstance(d, Dimension) else d) for d in names]
        kind = self._kind(datatype)
        storage = {
            "contiguous": contiguous,
            "chunks": None if chunksizes is None else [int(c) for c in chunksizes],
            "shuffle": shuffle,
            "deflate": codec if compression == "zlib" else None,
            "zstd": codec if compression == "zstd" else None,
            "bzip2": codec if compression == "bzip2" else None,
            "blosc": codec if isinstance(codec, tuple) else None,
            "fletcher32": fletcher32,
            "endian": endian,
            "fill": fill_value is not False,
        }
        ident = self._core.def_var(self._group_id, varname, kind, dims, storage)
        var = Variable(self, ident, varname, kind, dims)
        if fill_value is not None and fill_value is not False:
            fill = [fill_value] if self._types.is_heap(kind) else fill_value
            plain = self._types.plain(kind, fill)
            self._core.set_attr(self._group_id, ident, "_FillValue", kind, plain)
        if significant_digits is not None:
            self._core.quantize(ident, quantize_mode, int(significant_digits))
        if least_significant_digit is not None:
            var.setncattr("least_significant_digit", least_significant_digit)
        return var

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
        raise TypeError("a dataset is not iterated over; use its `variables`, `dimensions` or `groups`")

    def __contains__(self, name: object) -> bool:
        raise TypeError("`in` does not say what is meant; use `variables`, `dimensions` or `groups`")

    def __reduce__(self) -> Any:
        # Travels as its dataset and its path.
        return Group.__getitem__, (self._root(), self.path)

    def __repr__(self) -> str:
        return (
            f"<ncforge.{type(self).__name__} {self.path!r}: {len(self.dimensions)} dimensions, "
            f"{len(self.variables)} variables, {len(self.groups)} groups>"
        )


class Dataset(Group):
    """An open netCDF file.

    Parameters
    ----------
    filename
        Its path.
    mode
        "r" reads; "r+" updates in place; "a" the same, and creates the file if it is not there; "w" creates it;
        "x" creates it and refuses to replace one.
    clobber
        Whether "w" may replace an existing file.
    format
        Of a new file: "NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET" or
        "NETCDF3_64BIT_DATA".
    diskless
        A new file is made in memory, and goes when it is closed; with ``persist`` it is written to disk then.
    memory
        The bytes of a file, to be read; for a new file any number: it is made in memory, and ``close`` gives its bytes.
    keepweakref, comm, info
        Accepted for the sake of programs that pass them.
    encoding
        Of a path that is given as bytes.
    parallel, auto_complex
        Not supported; must be false.

    A new file appears under its name when it is closed, complete. Reading takes no lock: threads may read the same
    dataset, and different ones, side by side.
    """

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
        _memory: int | None = None,
    ) -> None:
        if parallel:
            raise UnsupportedError("files are not opened by several MPI processes together")
        if auto_complex:
            raise UnsupportedError("complex numbers are not read or written as such")
        plain_path = os.fspath(filename)
        if isinstance(plain_path, bytes):
            plain_path = plain_path.decode(encoding or "utf-8", "surrogateescape")
        path: str = plain_path
        # "s" is for shared access in netCDF-C; nothing is buffered between processes here.
        plain = mode[:-1] if len(mode) > 1 and mode.endswith("s") else mode
        if plain == "a" and not os.path.exists(path):
            plain = "w"
        self.__dict__["_persist"] = path if diskless and persist else None
        match plain:
            case "r" if memory is not None and not isinstance(memory, int):
                core = File.open_bytes(path, bytes(memory))
            case "r":
                core = File.open(path)
            case "w" | "x" if diskless or memory is not None:
                if plain == "x" and os.path.exists(path):
                    raise ExistsError(f"`{path}` exists already")
                core = File.create_in_memory(path, format)
            case "r+" | "a":
                core = File.update(path)
            case "w":
                core = File.create(path, format, clobber, _memory)
            case "x":
                core = File.create(path, format, False, _memory)
            case _:
                raise InvalidError(f"mode is 'r', 'r+', 'a', 'w' or 'x', not {mode!r}")
        super().__init__(core, Types(core), Contents(core), None, 0, "/")

    @classmethod
    def _of(cls, core: File) -> Dataset:
        """The dataset of a file that is open already."""
        new = cls.__new__(cls)
        new.__dict__["_persist"] = None
        Group.__init__(new, core, Types(core), Contents(core), None, 0, "/")
        return new

    def __reduce__(self) -> Any:
        # What is read travels to other processes as its path, and what tells whether it is still the same file there.
        identity = self._core.identity() if self._core.is_open() and self._core.is_reading() else None
        if identity is None:
            raise UnsupportedCallError(
                f"`{self.filepath()}` is being written, lies in memory, or is closed: such a dataset stays in its "
                "process; open the file there"
            )
        return _open_again, (os.path.abspath(self.filepath()), identity)

    def filepath(self) -> str:
        """The path that it was opened with."""
        return os.fspath(self._core.path)

    @property
    def data_model(self) -> str:
        """Its format, in the words of the argument ``format``."""
        return self._core.format()

    file_format = data_model

    def isopen(self) -> bool:
        """Whether it is open."""
        return self._core.is_open()

    def sync(self) -> None:
        """Makes everything written so far durable. (``close`` of a new file leaves that to the system.)"""
        self._core.sync()

    def close(self) -> memoryview | None:
        """Completes the file and closes it. One in memory gives its bytes."""
        self._contents.forget()
        data = self._core.close()
        if data is None:
            return None
        persist = self.__dict__["_persist"]
        if persist is not None:
            with open(persist, "wb") as file:
                file.write(data)
        return memoryview(data)

    @property
    def disk_format(self) -> str:
        """What the file is: "HDF5" or "NETCDF3"."""
        return "NETCDF3" if self.data_model.startswith("NETCDF3") else "HDF5"

    def tocdl(self, coordvars: bool = False, data: bool = False, outfile: str | None = None) -> str | None:
        """Its header as CDL, as ``ncdump -h`` prints it. (Values are not printed: ``data`` must be false.)"""
        if data or coordvars:
            raise UnsupportedError("tocdl gives the header; values are not printed")
        text = info_cdl(self.filepath(), False).decode("utf-8", "surrogateescape")
        if outfile is None:
            return text
        with open(outfile, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return None

    def __del__(self) -> None:
        # A dataset that nobody holds any more is closed, so that a script without `close` loses nothing.
        # (Variables and groups hold their dataset.)
        core = self.__dict__.get("_core")
        if core is not None:
            with contextlib.suppress(Exception):
                core.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_again(path: str, identity: tuple[int, int, int]) -> Dataset:
    core = File.open(path)
    if core.identity() != identity:
        raise ChangedError(f"`{path}` is another file, or has other contents, than the one that was sent here")
    return Dataset._of(core)
