"""What ncforge does, on real files: serves a program that nobody changes, adds access points, copies, and checks the results.

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
    if s >= 1:
        return f"{s:.2f} s"
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


#: A program of netCDF4-python that knows nothing of ncforge. Prints the seconds of each kind of read.
PROGRAM = """
import sys, time
import netCDF4

def timed(read):
    began = time.perf_counter()
    with netCDF4.Dataset(sys.argv[1]) as nc:
        read(nc["taux"])
    return time.perf_counter() - began

print(timed(lambda v: v[180]))
print(timed(lambda v: v[:, 70, 130]))
print(timed(lambda v: [v[:, 20 * n, 40 * n] for n in range(5)]))
print(timed(lambda v: v[:]))
"""
READS = ["one map", "one time series", "five time series", "everything"]


def daily(source: str, path: str) -> None:
    """The stress of the wind on each day, between the months of the source and on a finer grid: one compressed map a chunk, as models
    write them.
    """
    with netCDF4.Dataset(ROOT / source) as old:
        winds = np.asarray(old["UWND"][:16], "f8")
    rows, columns = 2 * winds.shape[1] - 1, 2 * winds.shape[2]
    with netCDF4.Dataset(ROOT / path, "w") as new:
        for name, n in (("time", None), ("lat", rows), ("lon", columns)):
            new.createDimension(name, n)
        dims, chunks = ("time", "lat", "lon"), (1, rows, columns)
        stress = new.createVariable("taux", "f4", dims, zlib=True, complevel=1, chunksizes=chunks)
        stress.units = "Pa"
        for day in range(450):
            month, part = divmod(day / 30.5, 1)
            wind = finer((1 - part) * winds[int(month)] + part * winds[int(month) + 1])
            stress[day] = 1.22 * 0.0013 * wind * np.abs(wind)


def finer(field: Any) -> Any:
    """Twice as many rows and columns; longitudes go round."""
    rows = np.empty((2 * len(field) - 1, field.shape[1]))
    rows[::2], rows[1::2] = field, (field[:-1] + field[1:]) / 2
    return np.stack([rows, (rows + np.roll(rows, -1, 1)) / 2], 2).reshape(len(rows), -1)


def unchanged(demo: Demo) -> None:
    """A program of netCDF4-python without ncforge, with it, and with access points in the file."""
    field, points = str(OUT / "daily.nc"), str(OUT / "daily-points.nc")
    header("1. Winds of 450 days, one compressed map a chunk, read by a program of netCDF4-python that nobody changes")
    daily("data/navy_winds.nc", field)
    program = ROOT / OUT / "reads.py"
    program.write_text(PROGRAM)
    script = str(OUT / "reads.py")
    demo.run("copy", field, points, "-O", "--no-history", "--add-access-points", "--verify")
    print(f"{DIM}$ python {script} {field}")
    print(f"$ ncforge run python {script} {field}")
    print(f"$ ncforge run python {script} {points}{OFF}")
    ways = [([], field), ([demo.binary, "run"], field), ([demo.binary, "run"], points)]
    seconds: list[list[list[float]]] = [[] for _ in ways]
    for _ in range(3):
        for way, (prefix, path) in zip(seconds, ways, strict=True):
            line = [*prefix, sys.executable, str(program), path]
            done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=True)
            way.append([float(word) for word in done.stdout.split()])
    medians = [[statistics.median(runs) for runs in zip(*way, strict=True)] for way in seconds]
    rows = [["", "without ncforge", "ncforge run", "with access points"]]
    rows.append(["size of the file", *(size((ROOT / path).stat().st_size) for _, path in ways)])
    rows += [[words, *(duration(m[i]) for m in medians)] for i, words in enumerate(READS)]
    table(rows)
    print("  The chunks have the same shape; any netCDF library reads the new file as before.")
    found = json.loads(demo.run("compare", field, points, "--json"))
    print(f"  same: {found['values']:,} values, all attributes")


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
    header("2. Eleven years of monthly winds, stored one month a chunk: a map is quick, a time series is not")
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
    header("3. A sea surface temperature climatology in the classic format, as compressed netCDF-4 and back")
    how = ["--format", "netcdf4", "--chunks", "auto", "--codec", "deflate", "--verify"]
    demo.run("copy", source, fast, "-O", "--no-history", *how)
    compared(demo.access([source, fast]), ["before", "after"])
    demo.check(source, fast)
    demo.run("copy", fast, back, "-O", "--no-history", "--format", "classic", "--codec", "none", "--verify")
    demo.check(source, back)


def show(demo: Demo) -> None:
    """What a file holds, and how it is stored."""
    header("4. What is in a file, and how it is stored: as ncdump -hs prints it")
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
    unchanged(demo)
    winds(demo)
    climatology(demo)
    show(demo)
    print(f"\nThe files are in {OUT}/. Times are medians (of 3 runs in 1, of 9 reads below), the page cache warm.")
    print(f"The command was built with cargo's profile `{args.profile}`.")


if __name__ == "__main__":
    main()
