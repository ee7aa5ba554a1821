"""Every public item of the Python package says what it is."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import ncforge
from programs import python


def modules() -> Iterator[ModuleType]:
    """The package and its public modules."""
    yield ncforge
    for found in pkgutil.iter_modules(ncforge.__path__):
        if not found.name.startswith("_"):
            yield importlib.import_module(f"ncforge.{found.name}")


def items() -> Iterator[tuple[str, Any]]:
    """Public functions and classes, and their public methods and properties."""
    for module in modules():
        names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for name in names:
            item = getattr(module, name)
            of = getattr(item, "__module__", None) or ""
            if not (inspect.isclass(item) or inspect.isroutine(item)) or not of.startswith("ncforge"):
                continue
            yield f"{module.__name__}.{name}", item
            if not inspect.isclass(item):
                continue
            for key, member in inspect.getmembers(item):
                routine = inspect.isroutine(member) or isinstance(member, property)
                of = getattr(getattr(member, "fget", member), "__module__", None) or ""
                if not key.startswith("_") and routine and of.startswith("ncforge"):
                    yield f"{module.__name__}.{name}.{key}", member


def test_everything_public_is_documented() -> None:
    found = dict(items())
    assert len(found) > 150, "the search finds what there is"
    silent = [name for name, item in found.items() if not (inspect.getdoc(item) or "").strip()]
    assert not silent, f"no docstring: {silent}"


def test_modules_are_documented() -> None:
    silent = [m.__name__ for m in modules() if not (m.__doc__ or "").strip()]
    assert not silent, f"no docstring: {silent}"


EXAMPLES = """
import doctest, importlib, pkgutil, ncforge

names = ["ncforge", *(m.name for m in pkgutil.walk_packages(ncforge.__path__, "ncforge.") if not m.name.endswith("__main__"))]
failed = [name for name in names if doctest.testmod(importlib.import_module(name)).failed]
assert not failed, f"python -m doctest of {failed} says which"
"""


def test_examples_give_what_they_say() -> None:
    """In a process of their own: one lets ncforge serve netCDF-C, by which all other tests judge."""
    python(EXAMPLES)
