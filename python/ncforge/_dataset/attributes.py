"""Attributes of datasets, groups and variables, with netCDF4-python's methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ncforge._core import File
from ncforge._dataset.text import normalized
from ncforge._dataset.values import ATOMIC, TypeName, Types, UnfitError, exact, naming, plain_attributes, unmasked
from ncforge.errors import (
    InvalidError,
    NoSuchAttributeError,
    NotFoundError,
    NotRepresentableError,
    ReadOnlyError,
    RefusedAttributeError,
)

if TYPE_CHECKING:
    from ncforge._dataset.contents import Contents

CHANGEABLE = (np.ndarray, list)
"""Types of values that the caller might modify."""


def put_own(of: Attributes, **values: Any) -> None:
    """Sets what belongs to an object itself; ``of.name = value`` is for attributes of the file."""
    for name, value in values.items():
        object.__setattr__(of, name, value)


def _owner(of: Attributes, name: str) -> type | None:
    """The class whose name this is: such names are the object's own, all others are the file's. Not by ``hasattr``: a class also
    has the names of *its* class, such as ``mro``."""
    if name.startswith("__") and name.endswith("__"):
        return object
    return next((c for c in type(of).__mro__ if name in vars(c)), None)


class Attributes:
    """Access to attributes: as Python attributes, and by ``getncattr`` and its friends."""

    # Without a dictionary of their own: `__dict__` is that of the attributes, as in netCDF4-python.
    __slots__ = ("__weakref__", "_contents", "_core", "_group_id", "_key", "_known", "_types", "_var_id")

    _core: File
    _types: Types
    _contents: Contents
    _group_id: int
    _var_id: int | None
    _key: int
    """The key of this object among all that have attributes."""
    _known: dict[str, Any]
    """Attributes that are cached while the file is open; empty if none are."""

    def ncattrs(self) -> list[str]:
        """Names of the attributes, in the order of the file."""
        return list(self._known or self._values())

    def getncattr(self, name: str, encoding: str = "utf-8") -> Any:
        """The value of an attribute: text, a number, or an array of numbers or list of text.

        Parameters
        ----------
        name
            Its name.
        encoding
            Of its text.
        """
        values = self._known or self._values(name)
        if name not in values and normalized(name) != name:
            name = normalized(name)
            values = self._known or self._values(name)
        try:
            value = values[name]
        except KeyError:
            self._no_attribute(name)
        if encoding != "utf-8" and isinstance(value, str):
            return self._bytes(name).decode(encoding, "replace")
        # The caller gets copies of values that can be modified.
        return value.copy() if type(value) in CHANGEABLE else value

    def _no_attribute(self, name: str) -> NoReturn:
        raise NoSuchAttributeError(f"no attribute `{name}`") from None

    def _bytes(self, name: str) -> bytes:
        """The bytes of one text, without NULs."""
        found = self._core.attr(self._group_id, self._var_id, name)
        assert found is not None
        text: bytes | list[bytes | None] = found[1]
        return ((text[0] or b"") if isinstance(text, list) else text).replace(b"\0", b"")

    def _values(self, name: str | None = None) -> dict[str, Any]:
        """As :meth:`_stored_values`, for a program that asks for attributes."""
        try:
            return self._stored_values(name)
        except InvalidError as e:
            raise _refused(e) from None

    def _stored_values(self, name: str | None = None) -> dict[str, Any]:
        """All attributes; cached if nothing can change them, else those of this name are enough."""
        only = None if self._contents.settled else name
        values, odd = self._core.attrs(self._group_id, self._var_id, only)
        if odd:
            plain_attributes(self._types, values, odd)
        if self._contents.keep(self._key, values):
            put_own(self, _known=values)
        return values

    def _changing(self) -> File:
        """The file, if it can be changed."""
        if self._core.is_reading():
            raise ReadOnlyError("the dataset is open for reading only (mode 'r')")
        return self._core

    def setncattr(self, name: str, value: Any) -> None:
        """Sets an attribute. Text becomes ``char``, or ``string`` if it is not ASCII and the format has strings; a list or array
        of text becomes ``string``; numbers keep their type. ``bytes`` are text.
        """
        with naming(f"attribute `{name}`"):
            kind, plain = self._attribute(value)
        self._set(name, kind, plain)

    def _set(self, name: str, kind: TypeName, plain: Any) -> None:
        """Sets an attribute to a plain value of a type."""
        try:
            self._changing().set_attr(self._group_id, self._var_id, name, kind, plain)
        except InvalidError as e:
            raise _refused(e) from None

    def setncattr_string(self, name: str, value: Any) -> None:
        """Sets an attribute of type ``string``, if the value is text, or a list or array of text; else :meth:`setncattr` does it."""
        texts = np.asarray(unmasked(value), object).reshape(-1).tolist()
        if all(isinstance(v, str | bytes) for v in texts):
            self._set(name, "str", self._types.plain("str", texts))
        else:
            self.setncattr(name, value)

    def setncatts(self, attdict: Mapping[str, Any]) -> None:
        """Sets several attributes."""
        for name, value in attdict.items():
            self.setncattr(name, value)

    def delncattr(self, name: str) -> None:
        """Removes an attribute."""
        self._changing().del_attr(self._group_id, self._var_id, name)

    def renameAttribute(self, oldname: str, newname: str) -> None:
        """Gives an attribute another name."""
        self._changing().rename_attr(self._group_id, self._var_id, oldname, newname)

    def set_ncstring_attrs(self, ncstring_attrs: bool) -> None:
        """Whether all text is of type ``string`` from now on."""
        self._contents.set_strings(self._key, bool(ncstring_attrs))

    def _attribute(self, value: Any) -> tuple[TypeName, Any]:
        format = self._core.format()
        if isinstance(value, str | bytes):
            text = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
            wide = isinstance(value, str) and not value.isascii()
            if format == "NETCDF4" and (wide or self._contents.strings(self._key)):
                return "str", self._types.plain("str", [text])
            return "S1", text
        array = np.asarray(unmasked(value))
        if array.ndim > 1:
            raise UnfitError("an attribute has one dimension")
        if array.dtype.names is not None:
            of = self._types.compound_like(array.dtype)
            if of is None:
                raise UnfitError("define the compound type of this attribute first")
            return of, self._types.plain(of, array.reshape(-1))
        texts = array.reshape(-1).tolist() if array.dtype.kind in "USO" else [None]
        if all(isinstance(v, str | bytes) for v in texts):
            if array.ndim == 0 or (len(texts) < 2 and format != "NETCDF4"):
                return self._attribute(texts[0] if texts else "")
            if format != "NETCDF4":
                raise NotRepresentableError(f"{format} has no lists of text as attributes")
            return "str", self._types.plain("str", texts)
        code = "i1" if array.dtype.kind == "b" else f"{array.dtype.kind}{array.dtype.itemsize}"
        if code == "i8" and format in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF4_CLASSIC"):
            # Python's integers have 64 bits, those of these formats do not.
            code = "i4"
        if code not in ATOMIC:
            raise UnfitError(f"an attribute cannot have values of type {array.dtype}")
        return code, exact(array, np.dtype(code)).tobytes()

    def __getattr__(self, name: str) -> Any:
        if name == "__dict__":
            return {key: self.getncattr(key) for key in self.ncattrs()}
        if _owner(self, name) is not None:
            # It exists, but raised an `AttributeError`: this one.
            return object.__getattribute__(self, name)
        return self.getncattr(name)

    def __setattr__(self, name: str, value: Any) -> None:
        owner = _owner(self, name)
        if owner is None:
            self.setncattr(name, value)
        elif owner is object or owner.__module__.partition(".")[0] == "ncforge":
            raise _reserved(name, "setncattr")
        else:
            # Of a class that a program derives.
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if _owner(self, name) is not None:
            raise _reserved(name, "delncattr")
        try:
            self.delncattr(name)
        except NotFoundError as e:
            raise NoSuchAttributeError(str(e)) from None


def _refused(e: InvalidError) -> AttributeError:
    """What the file says, as an error that ``hasattr`` knows."""
    return e if isinstance(e, AttributeError) else RefusedAttributeError(str(e))


def _reserved(name: str, method: str) -> AttributeError:
    return AttributeError(f"`{name}` is of the object, not of the file: use {method}({name!r}, …)")
