"""Chunk shapes of variables that ``to_netcdf`` defines, for the given reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xarray.core.variable import Variable

from ncforge._ops.reports import choosing
from ncforge.dataset import Group
from ncforge.errors import InvalidError

_TELL = ("axis", "standard_name", "units", "positive")
"""Attributes of a coordinate that define the role of its dimension (CF conventions, 4)."""


@dataclass
class Choosing:
    """The reads for which shapes are chosen, and facts about the dimensions."""

    request: dict[str, Any]
    coordinates: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    lengths: list[tuple[str, int]] = field(default_factory=list)
    is_asked: bool = True
    """Whether shapes of all variables are chosen, and not only of those that grow."""

    @classmethod
    def of(cls, chunks: Any, for_: str | None, expect: str | Mapping[Any, int] | None) -> Choosing | None:
        """The request; ``None`` if no reads are given."""
        if isinstance(chunks, str) and chunks.startswith("auto:"):
            if for_ is not None:
                raise InvalidError("the reads are given twice: as for_=, and after auto:")
            for_ = chunks.removeprefix("auto:")
        elif for_ is not None and chunks not in (None, "auto"):
            raise InvalidError("for_ needs chunks='auto'; lengths of chunks are given")
        if for_ is None:
            if expect is not None:
                raise InvalidError("expect needs for_")
            return None
        if isinstance(expect, Mapping):
            expect = ",".join(f"{name}={length}" for name, length in expect.items()) or None
        return cls(choosing(for_, expect))

    @classmethod
    def usual(cls) -> Choosing:
        """For variables that grow, with the usual reads: their chunks are not longer than what is written first."""
        return cls(choosing(None, None), is_asked=False)

    def note(self, variables: Mapping[Any, Variable], unlimited: Iterable[Any]) -> None:
        """Records the roles of dimensions from coordinate variables, and the lengths of those that can grow."""
        self.coordinates = [
            (name, [(key, str(v.attrs[key])) for key in _TELL if isinstance(v.attrs.get(key), str)])
            for name, v in variables.items()
            if v.dims == (name,)
        ]
        sizes = {d: n for v in variables.values() for d, n in v.sizes.items()}
        self.lengths = [(d, sizes[d]) for d in unlimited if sizes.get(d)]

    def chunks(self, group: Group, kind: Any, dims: Iterable[Any], given: Mapping[str, Any]) -> list[int] | None:
        """Chunk lengths of a variable with these arguments of ``createVariable``; ``None`` if it is not chunked."""
        if not isinstance(kind, np.dtype):
            return None
        return group._chosen_chunks(kind, dims, given, self.request, self.coordinates, self.lengths)
