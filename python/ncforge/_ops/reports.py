"""Converts reports of the extension from JSON text to data classes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ncforge.ops import Comparison, CopyReport

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
    """The purpose of chunk shapes, as the extension reads it."""
    return {"for_": for_, "expect": expect}


_MOST_ROWS = 100
"""Differences that a notebook shows; further ones are counted."""


def copy_html(report: CopyReport) -> str:
    """A copy as a table: the two files side by side, and its notes."""
    from ncforge._dataset.view import size_words, table

    rows = [
        ("", "input", "output"),
        ("File", report.input, report.output),
        ("Format", report.source_format, report.format),
        ("Size", size_words(report.input_bytes), size_words(report.output_bytes)),
        ("Variables", str(report.variables), ""),
        ("Values", size_words(report.values_bytes), "compared" if report.verified else ""),
        ("Time", f"{report.seconds:.3g} s", ""),
    ]
    return f"<div>{table(rows)}{_list(report.notes)}</div>"


def comparison_html(report: Comparison) -> str:
    """A comparison as a table with a row for each difference, and what was not compared."""
    from ncforge._dataset.view import table

    found = report.differences
    count = f"{len(found)} difference{'s' * (len(found) != 1)}"
    title = "the same" if report.same else count
    rows: list[tuple[str, ...]] = [
        ("", "difference", "first at", "first file", "second file", "elements", "largest difference", "relative")
    ]
    for d in found[:_MOST_ROWS]:
        elements = "" if d.differing is None else f"{d.differing} of {d.of}"
        cells = (d.index, d.left, d.right, elements, d.largest_absolute, d.largest_relative)
        rows.append((d.path, d.what, *("" if cell is None else str(cell) for cell in cells)))
    more = f"<div>… and {len(found) - _MOST_ROWS} more</div>" if len(found) > _MOST_ROWS else ""
    left = [*(f"not compared: {what}" for what in report.not_compared), *report.notes]
    return f"<div><div><b>{title}</b></div>{table(rows) if found else ''}{more}{_list(left)}</div>"


def _list(lines: Iterable[str]) -> str:
    return "".join(f"<div>{escape(line)}</div>" for line in lines)
