"""User-defined types of groups, and the ways to specify a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ncforge._dataset.attributes import Attributes
from ncforge._dataset.values import ATOMIC, TypeName, aligned, text_view
from ncforge.errors import InvalidError, NoSuchTypeError
from ncforge.types import CompoundType, EnumType, OpaqueType, UserType, VLType


class GroupTypes(Attributes):
    """Methods of groups for types."""

    __slots__ = ()

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
                base = self._types.dtype(info["base"])
                return VLType(info["name"], base, kind, str if info["base"] == "str" else base)
            case "opaque":
                return OpaqueType(info["name"], dtype, kind)
            case _:
                return CompoundType(info["name"], dtype, kind, text_view(dtype))

    def createCompoundType(self, datatype: Any, datatype_name: str) -> UserType:
        """Defines a compound type from a structured NumPy type.

        Its fields are aligned as a C compiler aligns them. A field of type ``str``, or ``O``, is a string; bytes of fixed
        length are an array of characters in the file.
        """
        dtype = np.dtype(datatype)
        if dtype.names is None:
            raise InvalidError("a compound type is made from a structured NumPy type")
        dtype = aligned(dtype)
        fields = []
        assert dtype.names is not None and dtype.fields is not None
        for name in dtype.names:
            field, offset = dtype.fields[name][:2]
            base, shape = field.subdtype or (field, ())
            fields.append((name, offset, self._kind(base), list(shape)))
        return self._define(datatype_name, {"kind": "compound", "size": dtype.itemsize, "fields": fields})

    def createVLType(self, datatype: Any, datatype_name: str) -> UserType:
        """Defines a ragged type. Of ``str``, it is the type of strings, as in netCDF4-python: nothing is defined in the file."""
        base = self._kind(datatype)
        if base == "str":
            return VLType(datatype_name, np.dtype("O"), base, str)
        return self._define(datatype_name, {"kind": "vlen", "base": base})

    def createEnumType(self, datatype: Any, datatype_name: str, enum_dict: Mapping[str, int]) -> UserType:
        """Defines an enum type: an integer type, and names for values."""
        base = self._kind(datatype)
        if not isinstance(base, str) or base[0] not in "iu":
            raise NoSuchTypeError(f"an enum is made of integers, not of {datatype!r}")
        members = [(name, int(value)) for name, value in enum_dict.items()]
        return self._define(datatype_name, {"kind": "enum", "base": base, "members": members})

    def _define(self, name: str, new: dict[str, Any]) -> UserType:
        ident = self._changing().def_type(self._group_id, name, new)
        made = self._datatype(ident)
        assert isinstance(made, UserType)
        return made

    def _kind(self, datatype: Any) -> TypeName:
        """The name of a type, from any specification that netCDF4-python accepts."""
        if isinstance(datatype, UserType):
            return datatype._id
        dtype = np.dtype(datatype)
        if dtype.kind in "OU" or (dtype.kind == "S" and dtype.itemsize != 1):
            # Text of any width but a single character is a string in the file.
            return "str"
        if dtype.names is not None:
            # A structured type inside another: found by its fields among the compound types of this file.
            found = self._types.compound_like(dtype)
            if found is None:
                raise InvalidError("define the inner compound type first")
            return found
        code = f"{dtype.kind}{dtype.itemsize}"
        if code not in ATOMIC:
            raise InvalidError(f"netCDF has no type like {dtype}")
        return code
