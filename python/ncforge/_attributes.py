"""Attributes of datasets, groups and variables, with netCDF4-python's methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ncforge._core import File
from ncforge._values import ATOMIC, TypeName, Types, exact, plain_attributes
from ncforge.errors import InvalidError, NotFoundError

if TYPE_CHECKING:
    from ncforge._contents import Contents

_CHANGEABLE = (np.ndarray, list)


def _is_ours(name: str) -> bool:
    """Whether it is of these objects, and not of the file: files have `_FillValue`, `_Unsigned`, `_Encoding`."""
    return name.startswith("_") and not name[1:2].isupper()


class Attributes:
    """Access to attributes: as Python attributes, and by ``getncattr`` and its friends."""

    _core: File
    _types: Types
    _contents: Contents
    _group_id: int
    _var_id: int | None
    _key: int
    """Of this object among all that have attributes."""
    _known: dict[str, Any]
    """What is known of them for as long as the file is open; empty if nothing is."""

    def ncattrs(self) -> list[str]:
        """Names of the attributes, in the order of the file."""
        return list(self._known or self._values())

    def getncattr(self, name: str) -> Any:
        """The value of an attribute: text, a number, or an array of numbers or list of text."""
        try:
            value = (self._known or self._values())[name]
        except KeyError:
            raise AttributeError(f"no attribute `{name}`") from None
        # Those that can be changed are the caller's own.
        return value.copy() if type(value) in _CHANGEABLE else value

    def _values(self) -> dict[str, Any]:
        """All attributes; kept if nothing can change them."""
        values = plain_attributes(self._types, *self._core.attrs(self._group_id, self._var_id))
        if self._contents.keep(self._key, values):
            self.__dict__["_known"] = values
        return values

    def setncattr(self, name: str, value: Any) -> None:
        """Sets an attribute. Text becomes ``char``, a list of text ``string``, numbers keep their type."""
        kind, plain = self._attribute(value)
        self._core.set_attr(self._group_id, self._var_id, name, kind, plain)

    def setncattr_string(self, name: str, value: str | list[str]) -> None:
        """Sets an attribute of type ``string``."""
        texts = [value] if isinstance(value, str) else list(value)
        self._core.set_attr(self._group_id, self._var_id, name, "str", self._types.plain("str", texts))

    def setncatts(self, values: Mapping[str, Any]) -> None:
        """Sets several attributes."""
        for name, value in values.items():
            self.setncattr(name, value)

    def delncattr(self, name: str) -> None:
        """Removes an attribute."""
        self._core.del_attr(self._group_id, self._var_id, name)

    def renameAttribute(self, oldname: str, newname: str) -> None:
        """Gives an attribute another name."""
        self._core.rename_attr(self._group_id, self._var_id, oldname, newname)

    def _attribute(self, value: Any) -> tuple[TypeName, Any]:
        if isinstance(value, str):
            return "S1", value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            return "S1", value
        array = np.asarray(value)
        if array.dtype.kind in "UO" and all(isinstance(v, str) for v in array.reshape(-1)):
            return "str", self._types.plain("str", [str(v) for v in array.reshape(-1)])
        if array.dtype.kind == "S":
            return "S1", array.tobytes()
        code = "i1" if array.dtype.kind == "b" else f"{array.dtype.kind}{array.dtype.itemsize}"
        if code == "i8" and self._core.format() in (
            "NETCDF3_CLASSIC",
            "NETCDF3_64BIT_OFFSET",
            "NETCDF4_CLASSIC",
        ):
            # Python's integers are 64 bits wide, those formats' are not.
            code = "i4"
        if code not in ATOMIC:
            raise InvalidError(f"an attribute cannot have values of type {array.dtype}")
        return code, exact(array.reshape(-1), np.dtype(code)).tobytes()

    def __getattr__(self, name: str) -> Any:
        if _is_ours(name):
            raise AttributeError(name)
        return self.getncattr(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_ours(name) or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            self.setncattr(name, value)

    def __delattr__(self, name: str) -> None:
        try:
            self.delncattr(name)
        except NotFoundError as e:
            raise AttributeError(str(e)) from None
