"""User-defined types of netCDF-4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ncforge._dataset.values import TypeName

__all__ = ["CompoundType", "EnumType", "OpaqueType", "UserType", "VLType"]


@dataclass(frozen=True, repr=False)
class UserType:
    """The base class of user-defined types."""

    name: str
    """Its name, unique in its group."""
    dtype: np.dtype[Any]
    """The NumPy type of one value."""
    _id: TypeName

    def __repr__(self) -> str:
        # That module needs these classes.
        from ncforge._ops.printed import type_text

        return type_text(self)


@dataclass(frozen=True, repr=False)
class CompoundType(UserType):
    """A record with named fields: a structured NumPy type. Fields of strings and ragged rows are objects, fields of text
    are arrays of characters.
    """

    dtype_view: np.dtype[Any]
    """The type with text of fixed length for arrays of characters: that of values in reads and writes."""


@dataclass(frozen=True, repr=False)
class EnumType(UserType):
    """Integers with names."""

    enum_dict: dict[str, int]
    """The names and their values."""


@dataclass(frozen=True, repr=False)
class VLType(UserType):
    """Ragged rows: each value is an array of its own. ``dtype`` is that of the values of a row. A row of ``str`` is text: such
    variables are strings."""

    base: Any
    """The NumPy type of one value of a row (``str`` for strings)."""


@dataclass(frozen=True, repr=False)
class OpaqueType(UserType):
    """Blobs of fixed size: NumPy's ``V`` types."""
