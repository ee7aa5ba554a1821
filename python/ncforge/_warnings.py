"""Warnings that name the line of the program, not one of this package."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

_HERE = os.path.dirname(__file__) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns about the first caller that is not in this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def relayed(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The function's result. What another library warns about a line of this package, is a warning about the caller's line."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            # The caller's filters decide, below.
            warnings.simplefilter("always")
            return function(*args, **options)
    finally:
        for one in caught:
            if one.filename.startswith(_HERE):
                warn(str(one.message), one.category)
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
