"""Converts reports of the extension from JSON text to data classes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

Path = str | os.PathLike[str]
T = TypeVar("T")


def only(kind: type[T], values: dict[str, Any]) -> T:
    """The data class with the values of its fields: a report may contain more."""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{k: v for k, v in values.items() if k in known})


def names(paths: Path | Iterable[Path]) -> list[str]:
    """Paths as text, of one or several."""
    if isinstance(paths, str | os.PathLike):
        return [os.fspath(paths)]
    return [os.fspath(p) for p in paths]


def size(memory: str | int | None) -> str | None:
    """A budget as an argument of the extension."""
    return None if memory is None else str(memory)


def choosing(for_: str | None, expect: str | None = None) -> dict[str, Any]:
    """What chunk shapes are chosen for, as the extension reads it."""
    return {"for_": for_, "expect": expect}
