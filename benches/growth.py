"""How time and memory grow with the size of the work: bytes, variables, chunks, tiles, definitions.

    python benches/growth.py --command target/release/ncforge --gigabytes 1,4,16 --variables 1000,10000,100000 \\
        --chunks 10000,100000,1000000 --tiles 16,256,4096 --history 100,1000 --definitions 1000,4000,16000

The defaults are small. Each task has a process of its own; its peak memory is the greatest resident set. Of each kind of work
the table has an exponent: the slope of the logarithms, 1 for work that grows like its size, 0 for what stays as it is. The
files of a task are removed before the next one is prepared: at most three times the largest size is on disk.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from harness import report
from harness.data import SEED
from harness.model import Fields
from harness.processes import Workers
from workers.defining import TASKS

ROOT = Path(__file__).resolve().parent.parent
# Of the large files: the points of a map, and of a chunk of the source and of the output of `rechunk`.
MAP, SOURCE, TARGET = (1024, 1024), (1, 256, 256), (64, 32, 32)
# The points of a small chunk, and of a tile's map.
SMALL, TILE = (8, 8), (64, 64)
LEVELS = 16


def numbers(text: str) -> list[float]:
    """Sizes, separated by commas."""
    return sorted(float(n) for n in text.split(","))


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", type=Path, default=ROOT / "target/release/ncforge", help="the command ncforge")
    parser.add_argument("--gigabytes", type=numbers, default="0.016,0.064", help="copied, rechunked, combined")
    parser.add_argument("--variables", type=numbers, default="100,1000", help="variables of a file that is opened")
    parser.add_argument("--chunks", type=numbers, default="1000,10000", help="chunks of a variable that is read")
    parser.add_argument("--tiles", type=numbers, default="4,16", help="tiles combined; square numbers")
    parser.add_argument("--history", type=numbers, default="10,100", help="files, or variables, made series of")
    parser.add_argument(
        "--definitions", type=numbers, default="100,1000", help="things defined, all at once or in turn"
    )
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="kinds of work with this in their name; repeatable"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1, help="the quickest counts")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "bench", help="folder for data and growth.json")
    return parser.parse_args(given)


class Bench:
    """Runs tasks, each in a new process."""

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args = args
        self.folder = folder
        self.workers = Workers(args.command.with_name("bench-worker"), folder / "none")

    def command(self, *argv: object, output: Path | None = None) -> dict[str, Any]:
        """The command, with these arguments."""
        request = {"do": "run", "argv": json.dumps([str(a) for a in (self.args.command, *argv)])}
        return self.task("commands", request | {"log": self.folder / "log"}, output)

    def python(self, **request: object) -> dict[str, Any]:
        """The Python package."""
        return self.task("ncforge-python", request, None)

    def task(self, backend: str, request: Fields, output: Path | None) -> dict[str, Any]:
        answers = []
        for _ in range(self.args.rounds):
            if output:
                output.unlink(missing_ok=True)
            # Nobody pays for what was left to the system to bring to disk.
            os.sync()
            worker = self.workers.get(backend, self.args.threads, fresh=True)
            answers.append({"peak": 0} | worker.ask(request))
            answers[-1]["peak"] = answers[-1]["peak"] or worker.peak()
        self.workers.release()
        return min(answers, key=lambda a: float(a["wall"])) | {"peak": max(a["peak"] for a in answers)}


def large(path: Path, gigabytes: float) -> np.ndarray:
    """Writes maps of a drifting field, uncompressed; returns the last one."""
    steps = max(round(gigabytes * 1e9 / (4 * math.prod(MAP))), 1)
    noise = np.random.Generator(np.random.PCG64(SEED)).standard_normal((LEVELS, *MAP), np.float32)
    with netCDF4.Dataset(path, "w") as new:
        dims = ("time", "y", "x")
        for dim, n in zip(dims, (steps, *MAP), strict=True):
            new.createDimension(dim, n)
        var = new.createVariable("v", "f4", dims, chunksizes=SOURCE)
        for t in range(steps):
            var[t] = last = noise[t % LEVELS] + np.float32(t)
    return last


def check(path: Path, last: np.ndarray) -> None:
    """An output has the last map: work that was not done took no time."""
    with netCDF4.Dataset(path) as data:
        if not np.array_equal(data["v"][-1], last):
            raise SystemExit(f"{path}: other values than were written")


def bytes_moved(bench: Bench, gigabytes: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """A file copied, rechunked, and put together from 16 tiles."""
    source, output = bench.folder / "source.nc", bench.folder / "output.nc"
    last = large(source, gigabytes)
    chunks = ",".join(f"{dim}/{n}" for dim, n in zip(("time", "y", "x"), TARGET, strict=True))
    for name, options in (("copied", ()), ("rechunked", ("--chunks", chunks))):
        yield f"{name}, GB", bench.command("copy", source, output, *options, output=output)
        check(output, last)
        output.unlink()
    bench.command("split", source, "-O", "-o", bench.folder / "tile", "--tiles", "4x4")
    source.unlink()
    tiles = sorted(bench.folder.glob("tile*"))
    yield "combined, GB", bench.command("combine", *tiles, "-o", output, output=output)
    check(output, last)


def variables(bench: Bench, count: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """A file of many variables, opened from Python."""
    path, classic = bench.folder / "many.nc", bench.folder / "classic.nc"
    with netCDF4.Dataset(path, "w") as new:
        for n in range(int(count)):
            # HDF5 cannot list more variables of one dimension than an attribute can hold.
            if n % 1000 == 0:
                new.createDimension(dim := f"x{n}", 4)
            new.createVariable(f"variable_{n}", "f4", (dim,)).units = "K"
    # Copied: netCDF4-python writes the header of a classic file anew for each variable.
    bench.command("copy", path, classic, "--format", "cdf5", output=classic)
    for kind, file in (("netCDF-4", path), ("CDF-5", classic)):
        yield f"opened, variables of {kind}", bench.python(do="open", path=file)


def chunks(bench: Bench, count: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """A variable of many small chunks, read whole."""
    path = bench.folder / "chunks.nc"
    rows = math.isqrt(int(count))
    columns = round(count / rows)
    row = (
        np.random.Generator(np.random.PCG64(SEED)).standard_normal((SMALL[0], SMALL[1] * columns), np.float32).round(1)
    )
    with netCDF4.Dataset(path, "w") as new:
        for dim, n, size in zip("yx", (rows, columns), SMALL, strict=True):
            new.createDimension(dim, n * size)
        var = new.createVariable("v", "f4", ("y", "x"), chunksizes=SMALL, compression="zlib", complevel=1)
        var.set_var_chunk_cache(4 * row.nbytes, 10 * columns, 0.75)
        for y in range(0, rows * SMALL[0], SMALL[0]):
            var[y : y + SMALL[0]] = row + np.float32(y)
    yield "read, chunks", bench.python(do="read", path=path, var="v")


def tiles(bench: Bench, count: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tiles of one size put together."""
    source, output = bench.folder / "whole.nc", bench.folder / "output.nc"
    side = math.isqrt(int(count))
    noise = np.random.Generator(np.random.PCG64(SEED)).standard_normal([n * side for n in TILE], np.float32)
    with netCDF4.Dataset(source, "w", format="NETCDF3_64BIT_DATA") as new:
        for dim, n in zip(("time", "y", "x"), (LEVELS, *noise.shape), strict=True):
            new.createDimension(dim, n)
        var = new.createVariable("v", "f4", ("time", "y", "x"))
        for t in range(LEVELS):
            var[t] = last = noise + np.float32(t)
    bench.command("split", source, "-O", "-o", bench.folder / "tile", "--tiles", f"{side}x{side}")
    source.unlink()
    # The base name: thousands of names are longer than a command may be.
    yield "combined, tiles", bench.command("combine", bench.folder / "tile", "-o", output, output=output)
    check(output, last)


def history(bench: Bench, count: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """So many files of a few variables, and a few files of so many variables, into a file for each variable."""
    for what, months, names in (("files", int(count), 10), ("variables", 12, int(count))):
        folder, out = bench.folder / f"history-{what}", bench.folder / f"out-{what}"
        shape = f"{months},{names},{TILE[0]},{TILE[1]}"
        subprocess.run(
            [sys.executable, ROOT / "benches/workers/make_history.py", folder, "cdf5", shape, "0"], check=True
        )
        # A pattern: thousands of names are longer than a command may be.
        yield f"series, {what}", bench.command("series", f"{folder}/*.nc", "-o", out, "-O")
        shutil.rmtree(folder)
        shutil.rmtree(out)


def definitions(bench: Bench, count: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Things that are defined, by both libraries. Time, of `synced` for a hundred syncs, stays as it is there."""
    for what in TASKS:
        for backend in ("ncforge-python", "netCDF4"):
            path = bench.folder / "defined.nc"
            request = {"do": "define", "what": what, "path": path, "count": int(count)}
            yield f"{what}, {backend}", bench.task(backend, request, path)


# The operations, and the option that has their sizes.
WORK: dict[str, Callable[[Bench, float], Iterator[tuple[str, dict[str, Any]]]]] = {
    "gigabytes": bytes_moved,
    "variables": variables,
    "chunks": chunks,
    "tiles": tiles,
    "history": history,
    "definitions": definitions,
}


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder that is removed at the end, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="growth-", dir=folder))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def exponent(points: list[tuple[float, float]]) -> float | None:
    """The slope of the logarithms; ``None`` for a single size."""
    sizes, values = np.log(np.array(points)).T
    return float(np.polyfit(sizes, values, 1)[0]) if len(points) > 1 else None


def table(results: list[dict[str, Any]]) -> Iterator[str]:
    """A Markdown table: every size, then the exponents."""
    yield "| what | size | time | processor time | peak memory |"
    yield "|---|---|---|---|---|"
    for what in dict.fromkeys(r["what"] for r in results):
        rows = [r for r in results if r["what"] == what]
        for r in rows:
            yield f"| {what} | {r['size']:,g} | {r['wall']:.4g} s | {r['cpu']:.4g} s | {r['peak'] / 1e6:,.0f} MB |"
        slopes = [exponent([(r["size"], r[key]) for r in rows]) for key in ("wall", "cpu", "peak")]
        yield f"| **{what}** | exponent | " + " | ".join("" if s is None else f"{s:.2f}" for s in slopes) + " |"


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints a table, writes growth.json."""
    args = arguments(given)
    results: list[dict[str, Any]] = []
    for option, work in WORK.items():
        if args.only and not any(only in option for only in args.only):
            continue
        for size in getattr(args, option):
            with scratch(args.out) as folder:
                for what, found in work(Bench(args, folder), size):
                    results.append({"what": what, "size": size} | {k: found[k] for k in ("wall", "cpu", "peak")})
                    print(f"{what}: {size:,g}: {found['wall']:.4g} s", file=sys.stderr, flush=True)
            found = {"machine": report.machine(), "threads": args.threads, "results": results}
            (args.out / "growth.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(f"{report.machine()}; {args.threads} threads\n")
    print("\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
