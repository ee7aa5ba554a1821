"""Pictures of reports. Needs matplotlib: ``pip install "ncforge[report]"``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ncforge._ops.doctor import Diagnosis
    from ncforge.bench import AccessReport, ChunksReport

# Okabe and Ito's colours, which colour-blind people can distinguish.
_SEVERITY = {"info": "#56B4E9", "warning": "#E69F00", "error": "#D55E00"}
_CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def _axes(ax: Axes | None, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
        from matplotlib.pyplot import subplots
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "ncforge[report]"') from error
    made: tuple[Figure, Any] = subplots(figsize=size, layout="constrained")
    return made[1]


def findings(files: Sequence[Diagnosis], ax: Axes | None) -> Axes:
    """Rules against variables, a square for each finding in the colour of its severity."""
    several = len(files) > 1
    cells: dict[tuple[str, str], str] = {}
    for of in files:
        for f in of.findings:
            row = f.variable or "(file)"
            cells[f"{os.path.basename(of.file)}: {row}" if several else row, f"{f.code} {f.name}"] = f.severity
    rows = list(dict.fromkeys(r for r, _ in cells))
    columns = sorted({c for _, c in cells})
    ax = _axes(ax, (2.5 + 0.6 * len(columns), 1.5 + 0.3 * len(rows)))
    for severity, colour in _SEVERITY.items():
        at = [(columns.index(c), rows.index(r)) for (r, c), s in cells.items() if s == severity]
        if at:
            x, y = zip(*at, strict=True)
            ax.scatter(x, y, marker="s", s=120, color=colour, label=severity)
    ax.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.set_title(f"{len(files)} files" if several else f"{os.path.basename(files[0].file)}" if files else "")
    if cells:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    else:
        ax.text(0.5, 0.5, "nothing found", ha="center", transform=ax.transAxes)
    return ax


def accesses(report: AccessReport, ax: Axes | None) -> Axes:
    """Median seconds of every pattern, a bar for every file, logarithmic; lines from the fastest to the slowest."""
    patterns = list(dict.fromkeys(r.pattern for r in report.rows))
    count = max(len(report.files), 1)
    ax = _axes(ax, (2 + 0.5 * count * len(patterns), 4))
    width = 0.8 / count
    for i, file in enumerate(report.files):
        rows = [r for r in report.rows if r.file == i]
        x = [patterns.index(r.pattern) + (i - (count - 1) / 2) * width for r in rows]
        middle = [r.summary.median for r in rows]
        spread = [
            [r.summary.median - r.summary.min for r in rows],
            [r.summary.max - r.summary.median for r in rows],
        ]
        label = f"{os.path.basename(file.path)} ({file.driver})"
        ax.bar(x, middle, width, yerr=spread, label=label, color=_CYCLE[i % len(_CYCLE)])
    ax.set_yscale("log")
    ax.set_xticks(range(len(patterns)), patterns)
    ax.set_ylabel("seconds for a read")
    ax.legend(frameon=False)
    return ax


def chunk_shapes(report: ChunksReport, ax: Axes | None) -> Axes:
    """Each way to store the variable as a point: seconds for a slab, seconds for a series; its area shows the file's size."""
    ax = _axes(ax, (7, 5))
    largest = max((r.bytes for r in report.rows), default=1)
    drivers = list(dict.fromkeys(r.driver for r in report.rows))
    for i, driver in enumerate(drivers):
        for chunked, marker in ((True, "o"), (False, "^")):
            rows = [r for r in report.rows if r.driver == driver and (r.chunks is not None) == chunked]
            if rows:
                ax.scatter(
                    [r.slab.median for r in rows],
                    [r.series.median for r in rows],
                    s=[20 + 180 * r.bytes / largest for r in rows],
                    marker=marker,
                    alpha=0.7,
                    color=_CYCLE[i % len(_CYCLE)],
                    label=f"{driver}, {'chunked' if chunked else 'classic'}",
                )
    best = min((r for r in report.rows if r.chunks), key=lambda r: r.slab.median * r.series.median, default=None)
    if best is not None and best.chunks is not None:
        name = " × ".join(map(str, best.chunks))
        ax.annotate(name, (best.slab.median, best.series.median), textcoords="offset points", xytext=(6, 6))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("seconds for a slab")
    ax.set_ylabel("seconds for a series")
    ax.set_title(f"{report.variable}, {' × '.join(map(str, report.shape))}")
    ax.legend(frameon=False)
    return ax
