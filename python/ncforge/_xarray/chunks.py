"""Chunk lengths of variables for Dask."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ncforge import _core

Preferred = Literal["auto", "disk"] | str | int
"""Blocks of small stored chunks ("auto"), the stored chunks ("disk"), or blocks of about this many bytes (a number, "64MiB")."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
_ANY = 1 << 62


def size_of(text: str | int) -> int:
    """Bytes of a size such as 1000000, "64MiB" or "100 MB"."""
    if isinstance(text, int):
        bytes_ = text
    else:
        found = re.fullmatch(r"\s*([0-9.]+)\s*([KMG]?I?)B?\s*", text.upper())
        if found is None:
            raise ValueError(f"a size is a number of bytes, or text such as '64MiB', not {text!r}")
        bytes_ = int(float(found[1]) * _UNITS[found[2]]) if found[2] in _UNITS else 0
    if bytes_ <= 0:
        raise ValueError(f"no size of chunks: {text!r}")
    return bytes_


class Blocks(dict[Any, int]):
    """An encoding's ``preferred_chunks``, by dimension: the stored chunks, and the blocks of whole ones that Dask should have.

    xarray asks with a default for the length that a block gets where the user gives none, and without one for the stored
    chunks, when it checks whether the user's lengths cut these.
    """

    def __init__(self, dims: Sequence[Any], stored: Sequence[int], blocks: Sequence[int]) -> None:
        super().__init__(zip(dims, stored, strict=True))
        self._blocks = dict(zip(dims, blocks, strict=True))

    def __reduce__(self) -> Any:
        return Blocks, (list(self), list(self.values()), list(self._blocks.values()))

    def get(self, key: Any, default: Any = None) -> Any:
        """The length of a block, or without a default that of a stored chunk."""
        return super().get(key) if default is None else self._blocks.get(key, default)


class Blocking(NamedTuple):
    """How stored chunks become blocks."""

    is_stored: bool
    """Whether each is one."""
    bytes: int | None
    """The size of a block, if one is given."""
    most: int
    """The size that Dask itself is told not to exceed."""

    @classmethod
    def of(cls, how: Preferred) -> Blocking:
        """As the option says. ``ValueError`` for what is no size."""
        try:
            return cls(how == "disk", None if how in ("auto", "disk") else size_of(how), _most())
        except ValueError as e:
            raise ValueError(f"preferred_chunks is 'auto', 'disk' or a size: {e}") from None

    def chunked(
        self, dims: Sequence[Any], chunks: Sequence[int], shape: Sequence[int], itemsize: int, filtered: bool
    ) -> Mapping[Any, int]:
        """The preferred chunks of a variable with stored chunks.

        >>> maps = Blocking.of("1MiB").chunked(("t", "y", "x"), (1, 100, 100), (365, 400, 400), 4, False)
        >>> maps, maps.get("x", 400)
        ({'t': 1, 'y': 100, 'x': 100}, 400)
        """
        if self.is_stored:
            return dict(zip(dims, chunks, strict=True))
        wanted = _core.blocks(list(chunks), list(shape), itemsize, filtered, self.bytes, self.most)
        return Blocks(dims, chunks, wanted)

    def plain(self, dims: Sequence[Any], shape: Sequence[int], itemsize: int) -> Mapping[Any, int]:
        """Those of a variable without stored chunks, cut into blocks of the size that is given."""
        wanted = _core.blocks([1, *shape[1:]], list(shape), itemsize, False, self.bytes, self.most)
        return dict(zip(dims, wanted, strict=True))


def _most() -> int:
    dask = sys.modules.get("dask")
    if dask is None:
        return _ANY
    from dask.utils import parse_bytes

    return max(1, int(parse_bytes(dask.config.get("array.chunk-size", _ANY))))
