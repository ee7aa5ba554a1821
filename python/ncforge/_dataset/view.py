"""The layout of a variable in its file, and a drawing of it for notebooks."""

from __future__ import annotations

import html as escape
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncforge.variable import Variable

__all__ = ["Chunk", "Layout", "html", "size_words", "table"]


@dataclass(frozen=True)
class Chunk:
    """One stored chunk."""

    at: tuple[int, ...]
    """Its position in the chunk grid."""
    offset: int
    """Its first byte in the file."""
    size: int
    """Its bytes in the file."""
    filter_mask: int
    """If bit i is set, filter i was skipped for this chunk."""


@dataclass(frozen=True)
class Layout:
    """How a variable is stored."""

    kind: str
    """"contiguous", "compact" or "chunked"; "records" for a variable of a classic file with an unlimited dimension; "virtual" for one whose
    values are in other files."""
    chunk_shape: tuple[int, ...] | None
    grid: tuple[int, ...] | None
    """Number of chunks along each dimension."""
    filters: tuple[str, ...]
    """Names, in the order in which they were applied."""
    values_bytes: int
    """Bytes of all its values, decoded."""
    stored_bytes: int
    """Bytes that the variable takes in the file, or about as many in other files."""
    offset: int | None
    """The offset of its first byte, if it is contiguous or stored in records."""
    record_stride: int | None
    """Bytes from one record to the next."""
    pieces: tuple[Chunk, ...]
    """The stored chunks, in the order of the file. Those that were never written are not among them."""

    @classmethod
    def of(cls, variable: Variable) -> Layout:
        """The layout of a variable."""
        core, ident = variable._core, variable._var_id
        stored = core.storage(ident)
        shape = variable.shape
        itemsize = 16 if variable._types.is_heap(variable._kind) else variable._types.dtype(variable._kind).itemsize
        size = math.prod(shape) * itemsize
        chunks = None if stored["chunks"] is None else tuple(stored["chunks"])
        kind, nbytes, place, listed = core.stored(ident)
        return cls(
            kind=kind or stored["kind"],
            chunk_shape=chunks,
            grid=None if chunks is None else tuple(-(-n // c) for n, c in zip(shape, chunks, strict=True)),
            filters=tuple(name for _, name, _ in stored["filters"]),
            values_bytes=size,
            stored_bytes=nbytes,
            offset=None if place is None else place[0],
            record_stride=place[1] if place is not None and kind == "records" else None,
            pieces=tuple(Chunk(tuple(at), offset, n, mask) for at, offset, n, mask in listed),
        )


def size_words(n: float) -> str:
    """A number of bytes as text, with a unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.2f} {unit}"
        n /= 1024
    return f"{n:.2f} TiB"


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Rows of text as a table whose first column has the names."""
    cells = "".join(
        "<tr>"
        + "".join(f"<{tag}>{escape.escape(c)}</{tag}>" for c, tag in zip(row, ("th", *["td"] * len(row)), strict=False))
        + "</tr>"
        for row in rows
    )
    return f"<table style='display:inline-table;vertical-align:top'>{cells}</table>"


def html(variable: Variable) -> str:
    """A table of sizes next to a drawing of the chunks on disk."""
    found = Layout.of(variable)
    shape = variable.shape
    chunk = found.chunk_shape or shape
    whole = found.values_bytes
    one = math.prod(chunk) * (whole // max(1, math.prod(shape)))
    rows = [
        ("", "Array", "Chunk"),
        ("Bytes", size_words(whole), size_words(one)),
        ("Shape", str(shape), str(tuple(chunk))),
        ("Dimensions", ", ".join(variable.dimensions), ""),
        ("Type", str(getattr(variable.datatype, "name", variable.datatype)), ""),
    ]
    if found.grid is not None and found.kind == "chunked":
        rows.append(("Chunks", f"{math.prod(found.grid)}", f"{len(found.pieces)} stored"))
    rows.append(("Stored", size_words(found.stored_bytes), ", ".join(found.filters) or "no filter"))
    rows.append(("Storage", found.kind, ""))
    name = escape.escape(variable.name)
    return (
        f"<div><div><b>{name}</b></div>{table(rows)}"
        f"<span style='display:inline-block;margin-left:2em'>{_drawing(shape, tuple(chunk))}</span></div>"
    )


_WIDTH = 140.0
_MOST_LINES = 30


def _drawing(shape: tuple[int, ...], chunk: tuple[int, ...]) -> str:
    """Rectangles cut along the chunk grid: the last two dimensions, the one before as depth, and one more drawing for
    every three further dimensions.
    """
    if not shape or 0 in shape:
        return ""
    parts = []
    last = len(shape)
    while last > 0:
        first = max(0, last - 3)
        parts.append(_block(shape[first:last], chunk[first:last]))
        last = first
    return "".join(reversed(parts))


def _block(shape: tuple[int, ...], chunk: tuple[int, ...]) -> str:
    most = max(shape)
    # Lengths on a logarithmic scale, so that a long thin array is still visible.
    size = [max(12.0, _WIDTH * (math.log(n + 1) / math.log(most + 1)) ** 1.5) for n in shape]
    width = size[-1]
    height = size[-2] if len(shape) > 1 else 14.0
    depth = size[-3] * 0.4 if len(shape) > 2 else 0.0
    cuts = [_cuts(n, c) for n, c in zip(shape, chunk, strict=True)]
    lines: list[tuple[float, float, float, float]] = []
    for x in cuts[-1]:
        lines.append((depth + x * width, depth, depth + x * width, depth + height))
        lines.append((x * width, 0, depth + x * width, depth))
    for y in cuts[-2] if len(shape) > 1 else [0.0, 1.0]:
        lines.append((depth, depth + y * height, depth + width, depth + y * height))
        lines.append((0, y * height, depth, depth + y * height))
    for z in cuts[-3] if len(shape) > 2 else []:
        lines.append((z * depth, z * depth, z * depth + width, z * depth))
        lines.append((z * depth, z * depth, z * depth, z * depth + height))
    drawn = "".join(f"<line x1='{a:.1f}' y1='{b:.1f}' x2='{c:.1f}' y2='{d:.1f}'/>" for a, b, c, d in lines)
    fill = (
        f"<polygon points='{depth:.1f},{depth:.1f} {depth + width:.1f},{depth:.1f} {depth + width:.1f},{depth + height:.1f} "
        f"{depth:.1f},{depth + height:.1f}' fill='#7aa6c2' fill-opacity='0.5' stroke='none'/>"
    )
    total = (depth + width + 60, depth + height + 24)
    labels = f"<text x='{depth + width / 2:.1f}' y='{depth + height + 16:.1f}' text-anchor='middle'>{shape[-1]}</text>"
    if len(shape) > 1:
        labels += f"<text x='{depth + width + 6:.1f}' y='{depth + height / 2 + 4:.1f}'>{shape[-2]}</text>"
    if len(shape) > 2:
        labels += f"<text x='0' y='{depth + 16:.1f}' font-size='10'>{shape[-3]}</text>"
    return (
        f"<svg width='{total[0]:.0f}' height='{total[1]:.0f}' font-family='sans-serif' font-size='12' fill='currentColor'>"
        f"{fill}<g stroke='currentColor' stroke-width='0.7'>{drawn}</g>{labels}</svg>"
    )


def _cuts(length: int, chunk: int) -> list[Any]:
    """Where chunks end, from 0 to 1; only some of them if there are too many to draw."""
    count = -(-length // max(1, chunk))
    step = max(1, count // _MOST_LINES)
    return [*(min(1.0, i * chunk / length) for i in range(0, count, step)), 1.0]
