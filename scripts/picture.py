"""Draws a saved result of `ncforge bench access BEFORE AFTER --json=RESULT` as the picture of the README.

    python scripts/picture.py docs/pictures/before-after.json docs/pictures/before-after.svg

Medians of every read, before and after, on a logarithmic axis; the figures stand beside their marks. Colours fit light and dark
paper. Needs nothing but Python.
"""

from __future__ import annotations

import datetime
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

STYLE = (
    ".paper{fill:#fefefe}text{font:14px system-ui,sans-serif;fill:#16191d;stroke:#fefefe;stroke-width:4px;"
    "stroke-linejoin:round;paint-order:stroke}.small{font-size:12px;fill:#5a6069}.line{stroke:#dddee2}"
    ".link{stroke-width:3}.before{fill:#fefefe;stroke:#5a6069;stroke-width:2}.better{fill:#009e73;stroke:#009e73}"
    ".worse{fill:#c24f00;stroke:#c24f00}@media(prefers-color-scheme:dark){.paper{fill:#15181c}text{fill:#e8eaed;stroke:#15181c}.small{fill:#a3abb5}"
    ".line{stroke:#343a42}.before{fill:#15181c;stroke:#a3abb5}.better{fill:#2bc49a;stroke:#2bc49a}"
    ".worse{fill:#ff9248;stroke:#ff9248}}"
)
WORDS = {"series": "time series at a point", "map": "one map", "full": "everything"}


def told(seconds: float) -> str:
    """A time as people read it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


def medians(result: dict[str, Any]) -> dict[str, list[float]]:
    """Seconds before and after, for every read."""
    (section,) = result["sections"]
    found: dict[str, list[float]] = {}
    for row in section["rows"]:
        times = [m["seconds"] for m in row["measurements"] if m["right"] is not False]
        found.setdefault(row["phase"], []).append(statistics.median(times))
    if any(len(pair) != 2 for pair in found.values()):
        raise SystemExit("error: the result is not of two files")
    return found


def picture(result: dict[str, Any]) -> str:
    """The picture."""
    pairs = sorted(medians(result).items(), key=lambda p: p[1][1] / p[1][0])
    first, second = result["sections"][0]["rows"][:2]
    everything = [s for pair in pairs for s in pair[1]]
    low, high = math.floor(math.log10(min(everything))), math.ceil(math.log10(max(everything)))
    left, width, row = 190, 760, 46
    bottom = 66 + row * len(pairs)

    def x(seconds: float) -> float:
        return left + (math.log10(seconds) - low) / (high - low) * (width - left - 60)

    shape = first["facts"]["data_shape"].replace(":", " × ")
    chunks = [r["facts"]["chunk_shape"].replace(":", " × ") for r in (first, second)]
    machine = result["environment"]
    day = datetime.datetime.fromtimestamp(result["time"], datetime.UTC).date().isoformat()
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 62}" role="img" aria-labelledby="t">',
        f"<title id='t'>Time of one read before and after ncforge copy --chunks auto: "
        f"{'; '.join(f'{WORDS.get(n, n)} {told(a)}, then {told(b)}' for n, (a, b) in pairs)}</title>",
        f"<style>{STYLE}</style>",
        # Of its own paper: a page may be dark where the reader's system is light.
        f'<rect class="paper" width="{width}" height="{bottom + 62}" rx="6"/>',
        f'<text x="8" y="18">One read of a field of {escape(shape)}, stored in chunks of {escape(chunks[0])} (ring)</text>',
        f'<text x="8" y="38">and, after ncforge copy --chunks auto, of {escape(chunks[1])} (disc)</text>',
    ]
    for decade in range(low, high + 1):
        at = x(10.0**decade)
        out.append(f'<line class="line" x1="{at:.1f}" x2="{at:.1f}" y1="52" y2="{bottom}"/>')
        out.append(
            f'<text class="small" x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{told(10.0**decade)}</text>'
        )
    for i, (name, (before, after)) in enumerate(pairs):
        y = 66 + row * (i + 0.5)
        kind = "better" if after <= before else "worse"
        out.append(f'<text x="8" y="{y + 5}">{escape(WORDS.get(name, name))}</text>')
        out.append(f'<line class="link {kind}" x1="{x(before):.1f}" x2="{x(after):.1f}" y1="{y}" y2="{y}"/>')
        out.append(f'<circle class="before" cx="{x(before):.1f}" cy="{y}" r="7"/>')
        out.append(f'<circle class="{kind}" cx="{x(after):.1f}" cy="{y}" r="6"/>')
        # The lesser stands to the left of its mark, so that near ones do not overlap.
        for seconds, anchor, aside in zip(sorted((before, after)), ("end", "start"), (-12, 12), strict=True):
            place = f'x="{x(seconds) + aside:.1f}" y="{y + 4}" text-anchor="{anchor}"'
            out.append(f'<text class="small" {place}>{told(seconds)}</text>')
    out.append(
        f'<text class="small" x="8" y="{bottom + 40}">Medians of {len(first["measurements"])} reads by ncforge {machine["ncforge"]}, '
        f"warm page cache, {machine['cpus']} cores of an {escape(machine['cpu'])}, {day}.</text>"
    )
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit((__doc__ or "").split("\n\n")[1])
    Path(sys.argv[2]).write_text(picture(json.loads(Path(sys.argv[1]).read_text())))
