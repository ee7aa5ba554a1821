"""The cost of the benchmark itself: netCDF-C driven by ``ncforge bench io``, against a plain loop in C.

Both write the same array by the same library, one step in each call, from one buffer. Rounds take turns; of each round's repetitions
the fastest counts, since what others do on the machine only ever adds. The outcome is the ratio of medians over the rounds with its
95 % interval (bootstrap), by wall time of the calls, and by processor time of the whole phase from creating to closing, which stays
when others use the machine. At most 2 % is the aim.

    python benches/overhead.py --binary target/release/ncforge
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Large calls, as NetCDF-Bench makes them, and small ones, where a driver's own cost shows most: what they are, and the array.
CASES = {"calls of 400 kB": (100, 100, 100, 10), "calls of 4 kB": (5000, 10, 10, 10)}
#: How many times slower the benchmark may be.
AIM = 1.02
#: What is compared, in the order in which repetitions are given.
CLOCKS = ("wall", "processor")
Times = list[tuple[float, ...]]


def built(folder: Path) -> Path:
    """The loop, compiled against the system's netCDF-C."""
    program = folder / "loop"
    subprocess.run(["cc", "-O2", "-o", str(program), str(HERE / "overhead" / "loop.c"), "-lnetcdf"], check=True)
    return program


def by_loop(program: Path, file: Path, shape: tuple[int, ...], repetitions: int) -> Times:
    """Seconds of every repetition: of the calls, and of the processor."""
    command = [str(program), str(file), *map(str, shape), str(repetitions)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [tuple(float(word) for word in line.split()) for line in done.stdout.splitlines()]


def by_bench(binary: Path, file: Path, shape: tuple[int, ...], repetitions: int) -> Times:
    """The times of the benchmark."""
    command = [
        str(binary), "bench", "io", "-w", "--driver", "netcdf-c", "-d=" + ":".join(map(str, shape)), f"-f={file}",
        "-x", "parser", "--reps", str(repetitions), "-O", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    row = json.loads(done.stdout)["sections"][0]["rows"][0]
    return [(m["seconds"], m["cpu"]) for m in row["measurements"]]


def interval(a: list[float], b: list[float]) -> tuple[float, float, float]:
    """How many times larger the median of ``a`` is than that of ``b``, and the middle 95 % of 2,000 draws of it."""
    chance = random.Random(17)
    drawn = sorted(
        statistics.median(chance.choices(a, k=len(a))) / statistics.median(chance.choices(b, k=len(b)))
        for _ in range(2000)
    )
    return statistics.median(a) / statistics.median(b), drawn[50], drawn[-51]


def measure(args: argparse.Namespace, folder: Path, shape: tuple[int, ...]) -> dict[str, Times]:
    """The fastest repetition of every round, by each clock."""
    program = built(folder)
    seconds: dict[str, Times] = {"bench": [], "loop": []}
    for number in range(args.rounds + 1):
        for who in ("bench", "loop") if number % 2 else ("loop", "bench"):
            run, by = (by_bench, args.binary) if who == "bench" else (by_loop, program)
            times = run(by, folder / f"{who}.nc", shape, args.repetitions)
            # The first round warms up.
            if number:
                seconds[who].append(tuple(min(column) for column in zip(*times, strict=True)))
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=HERE.parent / "target" / "release" / "ncforge")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repetitions", type=int, default=5, help="in each round")
    parser.add_argument("--folder", type=Path, help="for the file")
    parser.add_argument("--tiny", action="store_true", help="a tenth of the steps: shows that it works")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        for what, (steps, *rest) in CASES.items():
            calls = steps // 10 if args.tiny else steps
            seconds = measure(args, Path(name), (calls, *rest))
            for clock, title in enumerate(CLOCKS):
                bench, loop = ([times[clock] for times in seconds[who]] for who in ("bench", "loop"))
                ratio, low, high = interval(bench, loop)
                print(
                    f"{calls} {what}, {title} time: bench {statistics.median(bench) * 1e3:.3f} ms, "
                    f"loop {statistics.median(loop) * 1e3:.3f} ms, ratio {ratio:.3f} [{low:.3f}, {high:.3f}] "
                    f"({'met' if ratio <= AIM else 'missed'}: at most {AIM}); "
                    f"fastest {min(bench) * 1e3:.3f} and {min(loop) * 1e3:.3f} ms, {min(bench) / min(loop):.3f}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
