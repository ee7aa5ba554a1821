"""Dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncforge._ops.printed import dimension_text

if TYPE_CHECKING:
    from ncforge.dataset import Group


class Dimension:
    """A named length, shared by variables."""

    def __init__(self, group: Group, ident: int, name: str, unlimited: bool) -> None:
        self._group = group
        self._id = ident
        self._first_name = name
        self._unlimited = unlimited

    @property
    def name(self) -> str:
        """Its name."""
        return self._group._contents.name("dimension", self._id, self._first_name)

    @property
    def size(self) -> int:
        """Its current length."""
        return self._group._core.dim_len(self._id)

    def group(self) -> Group:
        """The group that defines it."""
        return self._group

    def isunlimited(self) -> bool:
        """True if the dimension can grow."""
        return self._unlimited

    def __eq__(self, other: object) -> bool:
        # Objects are created for each access: two of the same dimension are equal.
        if not isinstance(other, Dimension):
            return NotImplemented
        return self._group._core is other._group._core and self._id == other._id

    def __hash__(self) -> int:
        return hash((id(self._group._core), self._id))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return dimension_text(self)
