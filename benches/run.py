"""Measures ncforge side by side with its peers: ``make bench``, or ``python benches/run.py --help``.

docs/benchmarks.md says how to read the result.

A row of ``results.json`` has ``name``, ``threads`` (of ncforge), ``unit`` (``s``, ``ms``, ``µs``, ``bytes``), the medians ``ours`` and
``peer`` with ``ours_name``, ``peer_name`` and ``peer_version``, the smallest values ``ours_least`` and ``peer_least``, ``cache``,
``rounds``, and ``row`` (the key for ``--resume``). ``ratio`` (wall time, or bytes), ``ratio_least`` (of the smallest values) and
``ratio_cpu`` (processor time) are peer ÷ ours. ``target`` is the aim of the project, ``met`` whether
this run reached it; both are null for rows that are information only.
"""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from harness import report
from harness.data import Data
from harness.model import FileSpec, Result, Row
from harness.plan import Plan
from harness.processes import WorkerError, Workers
from harness.rounds import Rounds

ROOT = Path(__file__).resolve().parent.parent
# Modules of `rows`, in the order of the table.
PARTS = (
    "reading",
    "writing",
    "classic",
    "plain",
    "sweep",
    "points",
    "parts",
    "records",
    "opening",
    "defining",
    "references",
    "series",
    "tasks",
    "commands",
    "programs",
    "fresh",
)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="PATTERN", help="rows with this in their name; repeatable")
    parser.add_argument("--threads", type=int, choices=(1, 2), help="only rows with so many threads")
    parser.add_argument("--rounds", type=int, help="rounds of every row (default 7; 3 with --quick)")
    parser.add_argument("--quick", action="store_true", help="small data: shows that it works, no numbers to quote")
    parser.add_argument("--tiny", action="store_true", help="a hundredth of the data: for tests of the harness")
    parser.add_argument("--resume", action="store_true", help="keep the rows of results.json, measure the others")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin no row after so long; --resume goes on")
    parser.add_argument("--cold", action="store_true", help="rows that read files, evicted from the page cache")
    parser.add_argument("--list", action="store_true", help="names of the rows, and no more")
    parser.add_argument("--target-dir", type=Path, default=ROOT / "target", help="cargo's target folder")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "bench", help="folder for data and results")
    return parser.parse_args()


def up_to_date(binary: Path, sources: Iterable[Path]) -> bool:
    """Whether a program was built after its sources were changed."""
    return binary.exists() and binary.stat().st_mtime > max(p.stat().st_mtime for p in sources)


def compile_netcdf_c(binary: Path) -> None:
    """Builds the worker of netcdf-c, where a compiler and the library's headers are."""
    if shutil.which("nc-config") is None or shutil.which("cc") is None:
        return
    sources = sorted((ROOT / "benches/workers/netcdf_c").glob("*.c"))
    if up_to_date(binary, [*sources, *(ROOT / "benches/workers/netcdf_c").glob("*.h")]):
        return
    flags = subprocess.run(["nc-config", "--cflags", "--libs"], capture_output=True, text=True, check=True)
    build = ["cc", "-O2", "-std=gnu11", "-o", str(binary), *map(str, sources), *flags.stdout.split()]
    subprocess.run(build, check=True)


# Programs that use the system's libraries as they are: name, source, compiler, and what prints its options.
PROGRAMS = (
    ("netcdf-program", "benches/netcdf_program.c", "cc", ("nc-config", "--cflags", "--libs")),
    ("netcdf-steps", "benches/netcdf_steps.f90", "gfortran", ("nf-config", "--fflags", "--flibs")),
    ("netcdf-ranks", "tests/netcdf_programs/ranks.c", "mpicc", ("nc-config", "--cflags", "--libs")),
)


def compile_programs(folder: Path) -> None:
    """Builds them, where their compilers and libraries are."""
    for name, source, compiler, config in PROGRAMS:
        stale = not up_to_date(folder / name, [ROOT / source])
        if stale and shutil.which(compiler) and shutil.which(config[0]):
            flags = subprocess.run(config, capture_output=True, text=True, check=True).stdout.split()
            subprocess.run([compiler, "-O2", "-o", str(folder / name), str(ROOT / source), *flags, "-lm"], check=True)


def selected(plan: Plan, args: argparse.Namespace) -> Iterator[Row]:
    """The rows that were asked for."""
    for part in PARTS:
        for row in import_module(f"rows.{part}").rows(plan):
            wanted = not args.only or any(fnmatch.fnmatch(row.name, f"*{p}*") for p in args.only)
            if wanted and args.threads in (None, row.threads) and (row.cold or not args.cold):
                yield row


def last_uses(rows: Iterable[Row]) -> dict[FileSpec, int]:
    """For each temporary file the number of the last row that needs it."""
    return {spec: n for n, row in enumerate(rows) for spec in row.files if spec.temporary}


def main() -> int:
    """Measures, and writes after every row what is known by then."""
    args = arguments()
    binaries = args.target_dir / "release"
    workers = Workers(binaries / "bench-worker", args.out / "netcdf-c-worker")
    size, scale = ("tiny", 0.01) if args.tiny else ("quick", 0.1) if args.quick else ("full", 1.0)
    data = Data(args.out / ("data" if scale == 1 else f"data-{size}"), workers)
    rows = list(selected(Plan(data, binaries / "ncforge", scale), args))
    if args.list:
        print("\n".join(dict.fromkeys(row.name for row in rows)))
        return 0
    compile_netcdf_c(args.out / "netcdf-c-worker")
    compile_programs(args.out)
    rounds = Rounds(workers, data, args.rounds or (7 if scale == 1 else 3), args.cold)
    about, began, failed, left = report.machine(), time.monotonic(), 0, 0
    if scale < 1:
        about += f"; {size.upper()}: small data, not to be quoted"
    print(about, flush=True)
    results: list[Result] = report.load(args.out) if args.resume else []
    known = {result.row for result in results}
    keep = last_uses(rows)
    for n, row in enumerate(rows):
        if row.key(args.cold) in known:
            continue
        if args.minutes is not None and time.monotonic() - began > 60 * args.minutes:
            left += 1
            continue
        print(f"[{n + 1}/{len(rows)}] {row.name}, threads {row.threads}", file=sys.stderr, flush=True)
        try:
            found = rounds.measure(row)
        except WorkerError as e:
            failed += 1
            print(f"FAILED: {e}", file=sys.stderr, flush=True)
            found = []
        for result in found:
            print("  " + "  ".join(report.line(result)), file=sys.stderr, flush=True)
        results += found
        report.write(results, args.out, about)
        for spec in row.files:
            if keep.get(spec) == n:
                data.forget(spec)
        if n + 1 < len(rows) and rows[n + 1].name.split("/")[0] != row.name.split("/")[0]:
            workers.release()
    workers.release()
    if left:
        print(f"{left} rows are left for --resume", file=sys.stderr)
    print(report.table(results, about))
    print(f"{args.out / 'results.json'}: {len(results)} results in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
