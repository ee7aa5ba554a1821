"""The display of a dataset or a group in a notebook: its contents, folded, with a drawing of each variable.

Colours are those of the notebook's text, which works for light and dark themes. Items that are not drawn are counted.
"""

from __future__ import annotations

import html as escape
import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ncforge._dataset.view import size_words, table

if TYPE_CHECKING:
    from ncforge.dataset import Group
    from ncforge.variable import Variable

__all__ = ["group_html"]

_MOST_VARIABLES = 40
"""Variables that are drawn, in a group and all groups below it."""
_MOST_LINES = 400
"""Lines in a list; further ones are counted."""
_MOST_CHUNKS = 100_000
"""Chunks of a variable that are drawn one by one."""
_MOST_TEXT = 300
"""Characters of an attribute's value."""
_INDENT = "margin-left:1.2em"


def group_html(group: Group, title: str) -> str:
    """A group under a title: dimensions, variables, groups and attributes, each a part that can be folded."""
    left = [_MOST_VARIABLES]
    return f"<div><div><b>{escape.escape(title)}</b></div>{_parts(group, left)}</div>"


def _parts(group: Group, left: list[int]) -> str:
    dims = [
        (name, f"{len(dim)}", "unlimited" if dim.isunlimited() else "")
        for name, dim in islice(group.dimensions.items(), _MOST_LINES)
    ]
    return "".join(
        (
            _part("Dimensions", len(group.dimensions), table(dims) if dims else ""),
            _part("Variables", len(group.variables), "".join(_variables(group, left))),
            _part("Groups", len(group.groups), "".join(_groups(group, left))),
            _part("Attributes", len(group.ncattrs()), _attributes(group)),
        )
    )


def _part(title: str, count: int, body: str) -> str:
    if count == 0:
        return ""
    more = f"<div>… and {count - _MOST_LINES} more</div>" if count > _MOST_LINES else ""
    return f"<details open><summary>{title} ({count})</summary><div style='{_INDENT}'>{body}{more}</div></details>"


def _variables(group: Group, left: list[int]) -> Iterator[str]:
    for name in islice(group.variables, _MOST_LINES):
        variable = group.variables[name]
        line = _line(variable)
        if left[0] <= 0 or _chunks(variable) > _MOST_CHUNKS:
            yield f"<div>{line}</div>"
            continue
        left[0] -= 1
        body = f"{variable._repr_html_() or ''}{_attributes(variable)}"
        yield f"<details><summary>{line}</summary><div style='{_INDENT}'>{body}</div></details>"


def _line(variable: Variable) -> str:
    dims = ", ".join(f"{n}={size}" for n, size in zip(variable.dimensions, variable.shape, strict=True))
    kind = variable.datatype
    kind = str(getattr(kind, "name", None) or getattr(kind, "__name__", kind))
    size = (
        "" if variable._types.is_heap(variable._kind) else f" · {size_words(variable.size * variable.dtype.itemsize)}"
    )
    return f"<b>{escape.escape(variable.name)}</b> ({escape.escape(dims)}) {escape.escape(kind)}{size}"


def _chunks(variable: Variable) -> int:
    chunks = variable.chunking()
    return math.prod(-(-n // c) for n, c in zip(variable.shape, chunks, strict=True)) if isinstance(chunks, list) else 1


def _groups(group: Group, left: list[int]) -> Iterator[str]:
    for name, below in islice(group.groups.items(), _MOST_LINES):
        body = _parts(below, left) if left[0] > 0 else ""
        head = f"<b>{escape.escape(name)}</b> {len(below.variables)} variables, {len(below.groups)} groups"
        yield f"<details><summary>{head}</summary><div style='{_INDENT}'>{body}</div></details>"


def _attributes(of: Any) -> str:
    names = of.ncattrs()[:_MOST_LINES]
    return table([(name, _shortened(str(of.getncattr(name)))) for name in names]) if names else ""


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"
