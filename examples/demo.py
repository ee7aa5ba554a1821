"""What ncforge does, on real files: copies them, shows what changed, and checks the result.

    python examples/demo.py [--binary PATH] [--profile NAME]

``make demo`` runs it. It uses the command only, as a user would; ``ncdump`` and netCDF4-python are the judges.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("examples/out")
BOLD, DIM, OFF = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


class Demo:
    """The command, and how its work is shown."""

    def __init__(self, binary: str) -> None:
        self.binary = binary

    def run(self, *args: str, show: bool = True) -> str:
        """Runs the command; its failure is the demo's."""
        if show:
            print(f"{DIM}$ ncforge {shlex.join(args)}{OFF}")
        done = subprocess.run([self.binary, *args], capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"`ncforge {shlex.join(args)}` gave {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def access(self, files: list[str]) -> dict[str, Any]:
        """How long a map, a series and everything take."""
        done = self.run("bench", "access", "--repetitions", "9", "--json", *files, show=False)
        return json.loads(done)["sections"][0]["detail"]

    def check(self, before: str, after: str) -> None:
        """Three judges: ncforge itself, ncdump, and netCDF4-python."""
        found = json.loads(self.run("compare", before, after, "--json"))
        print(f"  same: {found['values']:,} values of {found['variables']} variables, all attributes, their order")
        if dump(before) != dump(after):
            sys.exit(f"ncdump prints {before} and {after} differently")
        print("  ncdump prints the same text, byte for byte, for both files")


def dump(path: str) -> str:
    """All of a file as ncdump prints it, every digit of it."""
    command = ["ncdump", "-p", "9,17", "-n", "x", path]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def header(text: str) -> None:
    print(f"\n{BOLD}{text}{OFF}")


def size(n: float) -> str:
    return f"{n / 1e6:.2f} MB"


def duration(s: float) -> str:
    return f"{s * 1e3:.3g} ms" if s >= 1e-3 else f"{s * 1e6:.0f} µs"


def table(rows: list[list[str]]) -> None:
    widths = [max(len(r[c]) for r in rows) for c in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        print(("  " + "   ".join(cells)).rstrip())


def compared(report: dict[str, Any], names: list[str]) -> None:
    """A table of what was measured: one column a file."""
    files = report["files"]
    shapes = [" × ".join(map(str, f["chunks"])) if f["chunks"] else "none" for f in files]
    rows = [["", *names], ["size of the file", *(size(f["bytes"]) for f in files)], ["chunks", *shapes]]
    for pattern, words in [("map", "read a map"), ("series", "read a series"), ("full", "read all of it")]:
        cells = [r for r in report["rows"] if r["pattern"] == pattern]
        if any(r["same_values"] is not True for r in cells):
            sys.exit(f"{words}: the files gave different values")
        rows.append([words, *(duration(r["summary"]["median"]) for r in cells)])
    table(rows)


def by_netcdf4(path: str, var: str) -> float:
    """Median time of a series by netCDF4-python, at nine places, the file opened anew each time."""
    random = np.random.default_rng(1)
    seconds = []
    for _ in range(9):
        with netCDF4.Dataset(ROOT / path) as nc:
            v = nc[var]
            v.set_auto_maskandscale(False)
            place = tuple(int(random.integers(0, n)) for n in v.shape[1:])
            began = time.perf_counter()
            v[(slice(None), *place)]
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def winds(demo: Demo) -> None:
    """The same values in three chunk shapes."""
    source = "data/navy_winds.nc"
    balanced, series = str(OUT / "winds-auto.nc"), str(OUT / "winds-series.nc")
    header("1. Eleven years of monthly winds, stored one month a chunk: a map is quick, a time series is not")
    demo.run("copy", source, balanced, "-O", "--no-history", "--chunks", "auto", "--codec", "deflate", "--verify")
    spec = "TIME/132,FNOCY/10,FNOCX/10"
    demo.run("copy", source, series, "-O", "--no-history", "--chunks", spec, "--codec", "deflate", "--verify")
    report = demo.access([source, balanced, series])
    compared(report, ["before", "--chunks auto", "for series"])
    old, new = by_netcdf4(source, "UWND"), by_netcdf4(series, "UWND")
    print(f"  The shape helps every tool: a series by netCDF4-python took {duration(old)}, now {duration(new)}.")
    print(
        "  No shape is best for every read: what series gain, maps pay. `auto` balances them in chunks of about 1 MiB."
    )
    demo.check(source, balanced)
    demo.check(source, series)


def climatology(demo: Demo) -> None:
    """A classic file becomes a compressed netCDF-4 one, and comes back."""
    source, fast, back = "data/sst30e_netcdf.nc", str(OUT / "sst.nc"), str(OUT / "sst-back.nc")
    header("2. A sea surface temperature climatology in the classic format, as compressed netCDF-4 and back")
    how = ["--format", "netcdf4", "--chunks", "auto", "--codec", "deflate", "--verify"]
    demo.run("copy", source, fast, "-O", "--no-history", *how)
    compared(demo.access([source, fast]), ["before", "after"])
    demo.check(source, fast)
    demo.run("copy", fast, back, "-O", "--no-history", "--format", "classic", "--codec", "none", "--verify")
    demo.check(source, back)


def show(demo: Demo) -> None:
    """What a file holds, and how it is stored."""
    header("3. What is in a file, and how it is stored: as ncdump -hs prints it")
    text = demo.run("info", "-s", str(OUT / "winds-series.nc"))
    lines = [line for line in text.splitlines() if "UWND" in line]
    print("\n".join(f"  {line.strip()}" for line in lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="ncforge", help="the command [default: ncforge]")
    parser.add_argument("--profile", default="unknown", help="the cargo profile that it was built with")
    args = parser.parse_args()
    demo = Demo(args.binary)
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    winds(demo)
    climatology(demo)
    show(demo)
    print(f"\nThe files are in {OUT}/. Times are medians of 9 reads at random places, the page cache warm.")
    print(f"The command was built with cargo's profile `{args.profile}`.")


if __name__ == "__main__":
    main()
