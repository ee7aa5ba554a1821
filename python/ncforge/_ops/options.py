"""Options that several operations share, for type checkers; and keyword arguments on their way to the extension.

What options there are, what they take and what goes together is known to the extension alone: it refuses the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    #: What is selected along a dimension: an index, a slice, indices in even steps, two values of its coordinate or two dates in a tuple,
    #: or text as of the command.
    Pick = int | slice | str | tuple[Any, Any] | Iterable[int]
    #: The same by dimension, or as the command has it.
    Selection = str | Iterable[str] | Mapping[str, Pick]

    #: Chunk shapes by the names of dimensions (``None`` and -1: all of it) and of variables, or as the command has them.
    Chunks = str | Mapping[str, int | Iterable[int] | None]

    class EngineOptions(TypedDict, total=False):
        """Threads, memory, and whether files may lead to others."""

        threads: int | None
        memory: str | int | None
        follow: bool | None

    class ChoosingOptions(TypedDict, total=False):
        """The purpose of chunk shapes."""

        for_: str | None
        expect: str | Mapping[str, int] | None
        storage: str | None
        reader: str | None
        writer_memory: str | int | None

    class CodingOptions(TypedDict, total=False):
        """Format and compression."""

        format: str | None
        codec: str | None
        goal: str | None
        allow_zstd: bool
        level: int | None
        shuffle: bool | None
        access_points: str | int | None

    class RunOptions(EngineOptions, total=False):
        """The variables to take along, and how a long run goes."""

        vars: Iterable[str] | None
        select: Selection | None
        verify: bool
        overwrite: bool
        resume: bool
        checkpoint: float | None
        history: str | None


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments, as they can be read several times and sent to other processes."""
    return {name: _lasting(value) for name, value in options.items()}


def _lasting(value: Any) -> Any:
    if getattr(value, "ndim", None) == 0:
        # An array of one value, without a dimension.
        return value[()]
    if isinstance(value, Mapping):
        return {name: _lasting(one) for name, one in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike):
        # A tuple or a range may mean something else than a list.
        return value if isinstance(value, tuple | range) else list(value)
    return value
