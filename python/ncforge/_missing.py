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
    return NotFoundError(f"no {what} `{name}`{where}{hint(name, known)}")


def hint(name: str, known: Iterable[str]) -> str:
    """The end of a message: the name that was meant, or nothing if none is similar.

    >>> hint("tim", ["time", "lat"])
    ' (hint: did you mean `time`?)'
    """
    like = nearest(name, list(known))
    return f" (hint: did you mean `{like}`?)" if like else ""
