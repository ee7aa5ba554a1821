"""Times `suite.py`: every engine in turn, round after round.

    python benches/python/engines.py [--only NAME] [--rounds N] [--quick] [--out FOLDER]

Prints medians and how many times faster ncforge is than each other engine, and writes `results.json`. Before anything is
timed the engines' results are compared.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from suite import CASES, Case, installed

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases with this in their name; repeatable")
    parser.add_argument("--engines", metavar="A,B", help="only these, besides ncforge")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: shows that it works, no numbers to quote")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "bench" / "python")
    return parser.parse_args()


def measure(case: Case, engines: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds of every repetition. A first round, which is not timed, compares what the engines gave."""
    seconds: dict[str, list[float]] = {e: [] for e in engines}
    results: dict[str, float] = {}
    for turn in range(-1, rounds):
        for engine in engines:
            at = case.ready(engine)
            gc.collect()
            began = time.perf_counter()
            result = case.run(engine, at)
            took = time.perf_counter() - began
            if turn < 0:
                results[engine] = case.same(result)
                first = results[engines[0]]
                if abs(results[engine] - first) > 1e-9 * abs(first):
                    raise SystemExit(f"{case.name}: {engine} gave {results[engine]!r}, {engines[0]} {first!r}")
            else:
                seconds[engine].append(took)
            case.done(result, at)
            del result, at
    return seconds


def working(case: Case, engines: list[str]) -> list[str]:
    """Engines that can do it at all."""
    found = []
    for engine in engines:
        try:
            at = case.ready(engine)
            case.done(case.run(engine, at), at)
        except BaseException as e:  # hidefix panics, which is no Exception
            if isinstance(e, KeyboardInterrupt) or engine == "ncforge":
                raise
            print(f"{case.name}: {engine} is left out: {type(e).__name__}: {str(e).splitlines()[:1]}", file=sys.stderr)
            continue
        found.append(engine)
    return found


def machine() -> dict[str, Any]:
    """Where the numbers belong."""
    packages = ("ncforge", "netCDF4", "h5netcdf", "h5py", "hidefix", "xarray", "dask", "numpy")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)),
        "versions": {p: version(p) for p in packages if installed(p)},
    }


def main() -> int:
    """Measures, prints, writes."""
    args = arguments()
    warnings.simplefilter("ignore")
    args.out.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    missed = 0
    for kind in CASES:
        if args.only and not any(o in kind.name for o in args.only):
            continue
        case = kind(args.out, args.quick)
        case.once()
        wanted = [
            e for e in kind.engines if installed(e) and (not args.engines or e in ("ncforge", *args.engines.split(",")))
        ]
        engines = working(case, wanted)
        seconds = measure(case, engines, args.rounds)
        middle = {e: statistics.median(s) for e, s in seconds.items()}
        ratios = {e: middle[e] / middle["ncforge"] for e in engines if e != "ncforge"}
        met = all(r >= case.target and r > 1 for r in ratios.values())
        missed += not met
        cells = "  ".join(
            f"{e} {middle[e] * 1000:.1f} ms" + (f" ({ratios[e]:.2f}×)" if e in ratios else "") for e in engines
        )
        print(f"{case.name:36} {cells}  {'met' if met else 'MISSED'} (target {case.target:g}×)", flush=True)
        results.append({"case": case.name, "target": case.target, "met": met, "seconds": seconds, "median": middle})
        about = {"quick": args.quick, "rounds": args.rounds, "machine": machine(), "results": results}
        (args.out / "results.json").write_text(json.dumps(about, indent=1) + "\n")
    return 1 if missed and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
