"""Groups: their contents by name, and what is defined in them. ``ncforge.dataset`` is the place from where they are imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from ncforge._core import File
from ncforge._dataset.attributes import put_own
from ncforge._dataset.complex import complex_type, fill_of, storage_of, variable_of
from ncforge._dataset.contents import Contents, Members
from ncforge._dataset.grouptools import GroupTools
from ncforge._dataset.grouptypes import GroupTypes
from ncforge._dataset.storage import storage_for
from ncforge._dataset.text import normalized
from ncforge._dataset.values import NUMBERS, TypeName, Types
from ncforge._dataset.write import plain_fill
from ncforge._missing import not_found
from ncforge._ops.printed import group_text
from ncforge.dimension import Dimension
from ncforge.errors import CorruptError, InvalidError, NoSuchAttributeError
from ncforge.variable import Variable

__all__ = ["Group"]


class Group(GroupTools, GroupTypes):
    """A group of a dataset: dimensions, variables, attributes, and groups below.

    ``Group(parent, name)`` is ``parent.createGroup(name)``.
    """

    __slots__ = ("_first_name", "_parent")

    _first_name: str
    _parent: Group | None

    # Where programs import it from, and the name by which it is pickled.
    __module__ = "ncforge.dataset"

    def __init__(self, parent: Group, name: str) -> None:
        if not name.isascii() and name not in parent.groups:
            name = normalized(name)
        ident = parent._changing().def_group(parent._group_id, name)
        self._fill(parent._core, parent._types, parent._contents, parent, ident, name)

    @classmethod
    def _at(cls, parent: Group, ident: int, name: str) -> Group:
        """An existing group."""
        new = Group.__new__(Group)
        new._fill(parent._core, parent._types, parent._contents, parent, ident, name)
        return new

    def _fill(self, core: File, types: Types, contents: Contents, parent: Group | None, ident: int, name: str) -> None:
        key = -1 - ident
        put_own(
            self,
            _core=core,
            _types=types,
            _contents=contents,
            _key=key,
            _known=contents.known.get(key, {}),
            _parent=parent,
            _group_id=ident,
            _var_id=None,
            _first_name=name,
        )

    # Contents.

    @property
    def name(self) -> str:
        """Its name; "/" for the root."""
        return self._contents.name("group", self._group_id, self._first_name)

    @property
    def path(self) -> str:
        """Its path from the root."""
        if self._parent is None:
            return "/"
        return f"{self._parent.path.rstrip('/')}/{self.name}"

    @property
    def parent(self) -> Group | None:
        """The group that contains it."""
        return self._parent

    @property
    def dimensions(self) -> Mapping[str, Dimension]:
        """The dimensions that it defines, by name."""
        contents, own = self._contents, self._group_id
        return Members(
            lambda: contents.dims(own),
            lambda name: contents.dim_of(own, name),
            lambda name, facts: Dimension(self, facts[0], name, facts[1]),
        )

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Its variables, by name, in the order of the file. Accessing a damaged one is an error that says what is wrong."""
        contents, own = self._contents, self._group_id
        return Members(
            lambda: contents.vars(own),
            lambda name: contents.var(own, name),
            lambda name, facts: self._variable(facts[0], name, facts[1], facts[2]),
            self._no_variable,
        )

    def _no_variable(self, name: str) -> NoReturn:
        # An error that says so if it exists, but is damaged or not supported.
        self._core.explain(f"{self.path.rstrip('/')}/{name}")
        raise not_found("variable", name, f" in `{self.path}`", self._contents.vars(self._group_id))

    def _no_attribute(self, name: str) -> NoReturn:
        try:
            # All attributes of a group are left out together if they are damaged.
            self._core.explain(f"{self.path.rstrip('/')}/:*")
        except CorruptError as e:
            # Programs ask for attributes that need not be there: the error is the usual one, with the reason.
            raise NoSuchAttributeError(f"attribute `{name}` cannot be read: {e}") from None
        super()._no_attribute(name)

    @property
    def groups(self) -> Mapping[str, Group]:
        """The groups below it, by name."""
        contents, own = self._contents, self._group_id
        return Members(
            lambda: contents.groups(own),
            lambda name: contents.group(own, name),
            lambda name, ident: Group._at(self, ident, name),
        )

    def _variable(self, ident: int, name: str, kind: TypeName, dims: list[int]) -> Variable:
        """An existing variable."""
        return variable_of(self, ident, name, kind, dims)

    def __getitem__(self, path: str) -> Any:
        # A variable or a group; the caller knows which.
        at = self._root() if path.startswith("/") else self
        *above, last = [p for p in path.split("/") if p not in ("", ".")] or [""]
        for part in above:
            if part not in at.groups:
                part = normalized(part)
            if part not in at.groups:
                self._core.explain(f"{at.path.rstrip('/')}/{part}")
                raise not_found("group", part, f" in `{at.path}`", at.groups)
            at = at.groups[part]
        if last == "":
            return at
        if last in at.variables:
            return at.variables[last]
        found = at.groups.get(last)
        if found is None and normalized(last) != last:
            return at[normalized(last)]
        if found is None:
            self._core.explain(f"{at.path.rstrip('/')}/{last}")
            raise not_found("variable or group", last, f" in `{at.path}`", [*at.variables, *at.groups])
        return found

    # Definitions

    def createDimension(self, dimname: str, size: int | None = None) -> Dimension:
        """Defines a dimension. ``None`` or 0 is an unlimited one."""
        dimname = normalized(dimname)
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
        access_points: str | int | None = None,
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
            digits for "BitGroom" and "GranularBitRound", bits of the mantissa for "BitRound". The bits are
            those that netCDF-C writes. Attributes say so: netCDF-C's, and those of CF 1.12, section 8.4, which ask for a
            variable of the file, ``quantization_info``.
        fill_value
            The value of elements that were never written (``_FillValue``); "default" for netCDF's own; ``False``: they are
            not filled.
        chunk_cache
            Bytes of a chunk cache: see :meth:`Variable.set_var_chunk_cache`.
        access_points
            Of chunks that are compressed with zlib, for reading parts of them: "auto" (the default: where a chunk is worth them), "off", or
            the bytes of a chunk's values from one to the next. They are not stored with the variable: another session decides anew.
        """
        names = (dimensions,) if isinstance(dimensions, str | Dimension) else dimensions
        *above, last = [part for part in varname.split("/") if part not in ("", ".")] or [varname]
        if above:
            return self.createGroup("/".join(above)).createVariable(
                last, datatype, names, compression, zlib, complevel, shuffle, szip_coding, szip_pixels_per_block,
                blosc_shuffle, fletcher32, contiguous, chunksizes, endian, least_significant_digit, significant_digits,
                quantize_mode, fill_value, chunk_cache, access_points,
            )  # fmt: skip
        varname = normalized(last)
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
        storage = storage_for(
            compression,
            zlib,
            complevel,
            shuffle,
            blosc_shuffle,
            fletcher32,
            contiguous,
            chunksizes,
            endian,
            fills,
            access_points,
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
        return self._core.choose_chunks(kind, dims, storage_for(**given), request, coordinates, lengths)

    def _root(self) -> Group:
        at = self
        while at._parent is not None:
            at = at._parent
        return at

    def _dimension(self, name: str) -> int:
        at: Group | None = self
        while at is not None:
            found = at._contents.dim_of(at._group_id, name)
            if found is not None:
                return found[0]
            at = at._parent
        if normalized(name) != name:
            return self._dimension(normalized(name))
        above = self
        known = [*self.dimensions]
        while above._parent is not None:
            above = above._parent
            known += above.dimensions
        raise not_found("dimension", name, f" in `{self.path}` or above", known)

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
        from ncforge._dataset.groupview import group_html

        return group_html(self, self._title()) if self._core.is_open() else None

    def _title(self) -> str:
        return f"ncforge.Group {self.path}"

    def __repr__(self) -> str:
        return group_text(self)
