"""Errors for names that a file or a function does not have, with the most similar name that it has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from ncforge.errors import NotFoundError

F = TypeVar("F", bound=Callable[..., Any])


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
    # xarray imports this module in every program: the extension is loaded when it is needed.
    from ncforge._core import nearest

    like = nearest(name, list(known))
    return f" (hint: did you mean `{like}`?)" if like else ""


def arguments_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names that a function's arguments can be given by."""
    code = function.__code__
    return code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]


def check_options(name: str, given: Iterable[str], known: Iterable[str], strict: bool = True) -> None:
    """``TypeError`` for arguments that a function does not have, with the name that was meant; if not ``strict``, only for
    those that are like one that it has."""
    known = [k for k in known if not k.startswith("_") and k != "self"]
    for key in given:
        if key in known:
            continue
        like = hint(key, known)
        if strict or like:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}{like}")


def suggesting(name: str) -> Callable[[F], F]:
    """Decorates a function of this name: for an argument that it does not have, the error names the one that was meant."""

    def decorated(function: F) -> F:
        known = arguments_of(function)

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if not options.keys() <= set(known):
                check_options(name, options, known)
            return function(*args, **options)

        return cast("F", call)

    return decorated
