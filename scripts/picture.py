"""Measures and draws the picture of the README: the same reads of the same field by netCDF4-python and by ncforge, and by ncforge
after `ncforge copy --add-access-points`, which keeps the chunks.

    python scripts/picture.py measure docs/pictures/reads.json       # needs ncforge, netCDF4 and xarray with Dask: two minutes
    python scripts/picture.py draw docs/pictures/reads.json docs/pictures/reads.svg

Every read is made by a process of its own, in turn, several times; its time begins after the imports, with the opening of the file. The
picture has medians on a logarithmic axis; the figures are beside their marks. Colours fit light and dark paper.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

SHAPE = (1461, 180, 360)
FILES, ROUNDS = 500, 7
READS = {
    "series": "one time series",
    "map": "one map",
    "full": "everything",
    "files": f"{FILES} files opened as one",
}
#: Names of who reads, with the class of the mark.
READERS = {
    "netCDF4": ("netCDF4-python", "theirs"),
    "ncforge": ("ncforge, the same file", "ours"),
    "points": ("ncforge, the same chunks with access points", "points"),
}
STYLE = (
    ".paper{fill:#fefefe}text{font:14px system-ui,sans-serif;fill:#16191d;stroke:#fefefe;stroke-width:4px;"
    "stroke-linejoin:round;paint-order:stroke}.small{font-size:12px;fill:#5a6069}.line{stroke:#dddee2}"
    ".link{stroke:#9aa0a8;stroke-width:2}.theirs{fill:#fefefe;stroke:#5a6069;stroke-width:2}.ours{fill:#0072b2;stroke:#0072b2}"
    ".points{fill:#009e73;stroke:#009e73}@media(prefers-color-scheme:dark){.paper{fill:#15181c}text{fill:#e8eaed;stroke:#15181c}"
    ".small{fill:#a3abb5}.line{stroke:#343a42}.link{stroke:#6a727c}.theirs{fill:#15181c;stroke:#a3abb5}"
    ".ours{fill:#56b4e9;stroke:#56b4e9}.points{fill:#2bc49a;stroke:#2bc49a}}"
)
CODE = """
import glob, json, sys, time
import numpy.ma
path, read, reader = sys.argv[1:]
if read == "files":
    import xarray
    if reader == "netCDF4":
        import netCDF4, xarray.backends.netCDF4_
        opened = lambda: xarray.open_mfdataset(sorted(glob.glob(path)), engine="netcdf4")
    else:
        import ncforge
        opened = lambda: ncforge.open_mfdataset(sorted(glob.glob(path)))
    began = time.perf_counter()
    size = opened()["tas"].sizes["time"]
else:
    if reader == "netCDF4":
        from netCDF4 import Dataset
    else:
        from ncforge import Dataset
    began = time.perf_counter()
    field = Dataset(path)["tas"]
    selection = {"series": (slice(None), 90, 180), "map": (700,), "full": (slice(None),)}[read]
    size = field[selection].size
print(json.dumps([time.perf_counter() - began, size]))
"""


def make(folder: Path) -> None:
    """A field of one chunk for each map, the same with access points, and files of a day."""
    import netCDF4
    import numpy as np

    rng = np.random.default_rng(20090301)
    y, x = np.linspace(-np.pi / 2, np.pi / 2, SHAPE[1])[:, None], np.linspace(0, 2 * np.pi, SHAPE[2], endpoint=False)

    def day(t: int) -> Any:
        wave = 285 + 20 * np.cos(y) + 5 * np.sin(3 * x + t / 50) * np.cos(2 * y) + 12 * np.sin(2 * np.pi * t / 365) * y
        return (wave + 0.3 * rng.standard_normal(SHAPE[1:])).astype("f4")

    def new(path: Path) -> Any:
        nc = netCDF4.Dataset(path, "w")
        for name, n in zip(("time", "lat", "lon"), (None, *SHAPE[1:]), strict=True):
            nc.createDimension(name, n)
        time = nc.createVariable("time", "f8", ("time",))
        time.units = "days since 2001-01-01"
        chunks = (1, *SHAPE[1:])
        return (
            nc,
            time,
            nc.createVariable("tas", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, chunksizes=chunks),
        )

    nc, time, tas = new(folder / "tas.nc")
    for t in range(SHAPE[0]):
        time[t], tas[t] = t, day(t)
    nc.close()
    (folder / "days").mkdir()
    for t in range(FILES):
        nc, time, tas = new(folder / "days" / f"{t:04}.nc")
        time[0], tas[0] = t, day(t)
        nc.close()
    import ncforge

    ncforge.copy(str(folder / "tas.nc"), str(folder / "points.nc"), add_access_points=True)


def measure() -> dict[str, Any]:
    """Seconds of every read by every reader."""
    import netCDF4

    import ncforge

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        found: dict[str, dict[str, list[float]]] = {}
        for _ in range(ROUNDS):
            for read in READS:
                for reader in READERS:
                    path = folder / {"points": "points.nc"}.get(reader, "tas.nc")
                    if read == "files":
                        if reader == "points":
                            continue
                        path = folder / "days" / "*.nc"
                    run = [sys.executable, "-c", CODE, str(path), read, reader]
                    seconds, _size = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
                    found.setdefault(read, {}).setdefault(reader, []).append(round(seconds, 6))
        stored = {n: (folder / n).stat().st_size for n in ("tas.nc", "points.nc")}
    with open("/proc/cpuinfo") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return {
        "command": "python scripts/picture.py measure docs/pictures/reads.json",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": cpu,
        "cpus": os.cpu_count(),
        "versions": {"ncforge": ncforge.__version__, "netCDF4": netCDF4.__version__},
        "shape": SHAPE,
        "bytes": stored,
        "seconds": found,
    }


def said(seconds: float) -> str:
    """A time as people read it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:.0f} {unit}"
    raise AssertionError


def title(result: dict[str, Any]) -> str:
    """The picture in words."""
    rows = []
    for read, by in result["seconds"].items():
        rows.append(f"{READS[read]} {', '.join(said(statistics.median(times)) for times in by.values())}")
    return f"netCDF4-python, ncforge, ncforge with access points: {'; '.join(rows)}"


def draw(result: dict[str, Any]) -> str:
    """The picture."""
    medians = {read: {who: statistics.median(t) for who, t in by.items()} for read, by in result["seconds"].items()}
    everything = [s for by in medians.values() for s in by.values()]
    low, high = math.floor(math.log10(min(everything))), math.ceil(math.log10(max(everything)))
    left, width, row = 190, 760, 46
    bottom = 72 + row * len(medians)

    def x(seconds: float) -> float:
        return left + (math.log10(seconds) - low) / (high - low) * (width - left - 60)

    shape = " × ".join(map(str, result["shape"]))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 62}" role="img" aria-labelledby="t">',
        f"<title id='t'>{escape(title(result))}</title>",
        f"<style>{STYLE}</style>",
        # Of its own paper: a page may be dark where the reader's system is light.
        f'<rect class="paper" width="{width}" height="{bottom + 62}" rx="6"/>',
        f'<text x="8" y="20">Reads of a field of {shape} floats, one deflated chunk for each map</text>',
    ]
    at = 8.0
    for words, kind in READERS.values():
        out.append(f'<circle class="{kind}" cx="{at + 7:.1f}" cy="40" r="6"/>')
        out.append(f'<text class="small" x="{at + 19:.1f}" y="44">{escape(words)}</text>')
        at += 38 + 6.3 * len(words)
    for decade in range(low, high + 1):
        at = x(10.0**decade)
        out.append(f'<line class="line" x1="{at:.1f}" x2="{at:.1f}" y1="58" y2="{bottom}"/>')
        out.append(
            f'<text class="small" x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{said(10.0**decade)}</text>'
        )
    for i, (read, by) in enumerate(medians.items()):
        y = 72 + row * (i + 0.5)
        out.append(f'<text x="8" y="{y + 5}">{escape(READS[read])}</text>')
        ends = [x(s) for s in sorted(by.values())]
        out.append(f'<line class="link" x1="{ends[0]:.1f}" x2="{ends[-1]:.1f}" y1="{y}" y2="{y}"/>')
        for reader, seconds in by.items():
            out.append(f'<circle class="{READERS[reader][1]}" cx="{x(seconds):.1f}" cy="{y}" r="6"/>')
        # The least is to the left of its mark, the greatest to the right, and one between them above.
        order = sorted(by.values())
        for n, seconds in enumerate(order):
            anchor, dx, dy = "middle", 0, -10
            if n == 0:
                anchor, dx, dy = "end", -11, 4
            elif n == len(order) - 1:
                anchor, dx, dy = "start", 11, 4
            place = f'x="{x(seconds) + dx:.1f}" y="{y + dy}" text-anchor="{anchor}"'
            out.append(f'<text class="small" {place}>{said(seconds)}</text>')
    runs = len(next(iter(result["seconds"]["map"].values())))
    out.append(
        f'<text class="small" x="8" y="{bottom + 40}">Medians of {runs} fresh processes, open and read, warm page cache, '
        f"{result['cpus']} cores of an {escape(result['cpu'])}, {result['date']}.</text>"
    )
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"] and len(sys.argv) == 3:
        Path(sys.argv[2]).write_text(json.dumps(measure(), indent=1) + "\n")
    elif sys.argv[1:2] == ["draw"] and len(sys.argv) == 4:
        Path(sys.argv[3]).write_text(draw(json.loads(Path(sys.argv[2]).read_text())))
    else:
        sys.exit((__doc__ or "").split("\n\n")[1])
