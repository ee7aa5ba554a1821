"""Chunk shapes of variables that ``to_netcdf`` defines, for the reads that were named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xarray.core.variable import Variable

from ncforge._reports import choosing
from ncforge.dataset import Group
from ncforge.errors import InvalidError

_TELL = ("axis", "standard_name", "units", "positive")
"""Attributes of a coordinate that say what its dimension is (CF conventions, 4)."""


@dataclass
class Choosing:
    """What shapes are chosen for, and what is known of the dimensions."""

    request: dict[str, Any]
    coordinates: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    lengths: list[tuple[str, int]] = field(default_factory=list)

    @classmethod
    def of(cls, chunks: Any, for_: str | None, expect: str | Mapping[Any, int] | None) -> Choosing | None:
        """What was asked for; ``None`` if no reads are named."""
        if isinstance(chunks, str) and chunks.startswith("auto:"):
            if for_ is not None:
                raise InvalidError("the reads are given twice: as for_=, and behind auto:")
            for_ = chunks.removeprefix("auto:")
        elif for_ is not None and chunks not in (None, "auto"):
            raise InvalidError("for_ is what chunks='auto' is for; lengths of chunks are given already")
        if for_ is None:
            if expect is not None:
                raise InvalidError("expect goes with for_")
            return None
        if isinstance(expect, Mapping):
            expect = ",".join(f"{name}={length}" for name, length in expect.items()) or None
        return cls(choosing(for_, expect))

    def note(self, variables: Mapping[Any, Variable], unlimited: Iterable[Any]) -> None:
        """Notes what coordinate variables say of dimensions, and how long those that can grow are."""
        self.coordinates = [
            (name, [(key, str(v.attrs[key])) for key in _TELL if isinstance(v.attrs.get(key), str)])
            for name, v in variables.items()
            if v.dims == (name,)
        ]
        sizes = {d: n for v in variables.values() for d, n in v.sizes.items()}
        self.lengths = [(d, sizes[d]) for d in unlimited if sizes.get(d)]

    def chunks(self, group: Group, kind: Any, dims: Iterable[Any], given: Mapping[str, Any]) -> list[int] | None:
        """Chunk lengths of a variable with these arguments of ``createVariable``; ``None`` if it needs none."""
        if not isinstance(kind, np.dtype):
            return None
        return group._chosen_chunks(kind, dims, given, self.request, self.coordinates, self.lengths)
