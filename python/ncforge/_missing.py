"""Errors for names that a file does not have, with the most similar name that it has."""

from __future__ import annotations

from collections.abc import Iterable

from ncforge._core import nearest
from ncforge.errors import NotFoundError


def not_found(what: str, name: str, where: str, known: Iterable[str]) -> NotFoundError:
    """The error for a name; ``where`` follows it in the message.

    >>> not_found("variable", "tempp", " in `/`", ["temp", "salt"])
    NotFoundError('no variable `tempp` in `/` (hint: did you mean `temp`?)')
    """
    like = nearest(name, list(known))
    return NotFoundError(f"no {what} `{name}`{where}" + (f" (hint: did you mean `{like}`?)" if like else ""))
