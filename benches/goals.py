"""How near the codecs that ``ncforge copy --codec auto`` chooses come to the best, by measured times and bytes.

Every codec that may be tried is written and read whole by one thread, in the chunks that ``--chunks auto`` chooses; processor time counts,
beyond what the same takes without compression. From that follow the prices of the goals as docs/choosing.md has them, on two threads; the
outcome is the price of the chosen codec divided by the least.

    python benches/goals.py --binary target/release/ncforge pr.nc tas.nc
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4

GOALS = ("balanced", "fast-read", "small")
#: Coder, level, whether bytes are shuffled.
CODECS = [("none", 0, False)] + [
    (coder, level, shuffle)
    for coder, levels in (("deflate", (1, 4, 6)), ("zstd", (1, 3, 9)))
    for shuffle in (True, False)
    for level in levels
]
#: Bytes a second: of the storage that ``balanced`` supposes, and of the page cache by the rates that ncforge comes with.
STORAGE, MEMORY = 250e6, 8.9e9
THREADS = 2
#: How often everything is done; the least time counts, since what others do on the machine only ever adds.
WRITES, READS = 2, 4
#: Reads a variable whole, in a process of its own; prints the processor time.
READ = f"""
import sys, time, ncforge
times = []
for _ in range({READS}):
    with ncforge.open(sys.argv[1]) as data:
        data.set_auto_maskandscale(False)
        begun = time.process_time()
        data.variables[sys.argv[2]][...]
        times.append(time.process_time() - begun)
print(min(times))
"""


@dataclass
class Stored:
    """The size of a file, and the processor time in seconds."""

    size: int
    encode: float
    decode: float

    def price(self, goal: str, plain: Stored) -> float:
        """The price by the goal: seconds, or bytes."""
        encode, decode = (
            max(a - b, 0.0) / THREADS for a, b in ((self.encode, plain.encode), (self.decode, plain.decode))
        )
        if goal == "balanced":
            return 11 * self.size / STORAGE + 10 * decode + encode
        return self.size / MEMORY + decode if goal == "fast-read" else self.size


def copied(binary: Path, source: Path, target: Path, *options: str) -> float:
    """Copies as netCDF-4 with one thread. The processor time."""
    used = [resource.getrusage(resource.RUSAGE_CHILDREN)]
    command = [str(binary), "copy", str(source), str(target), "--format", "netcdf4", "--threads", "1", "-O", *options]
    subprocess.run(command, check=True, capture_output=True)
    used.append(resource.getrusage(resource.RUSAGE_CHILDREN))
    before, after = (u.ru_utime + u.ru_stime for u in used)
    return after - before


def chosen(binary: Path, source: Path, spec: str, goal: str, *options: str) -> str:
    """The codec that is chosen, by its name here."""
    command = [
        str(binary),
        "copy",
        str(source),
        "unused.nc",
        "--format",
        "netcdf4",
        "--chunks",
        spec,
        "--codec",
        "auto",
    ]
    done = subprocess.run(
        [*command, "--goal", goal, "--dry-run", "--json", *options], check=True, capture_output=True, text=True
    )
    (codec,) = (v["codec"] for v in json.loads(done.stdout)["variables"] if v["name"] == spec.split(":")[0])
    return named(codec["method"])


def named(method: Any) -> str:
    """A method as the plan of a copy has it."""
    if method == "none":
        return "none"
    ((coder, how),) = method.items()
    return name(coder, how["level"], how["shuffle"])


def name(coder: str, level: int, shuffle: bool) -> str:
    """A codec's name."""
    return "none" if coder == "none" else f"{'shuffle, ' if shuffle else ''}{coder} {level}"


def measured(binary: Path, source: Path, folder: Path) -> tuple[str, dict[str, Stored]]:
    """The chunks of the largest variable, and what became of it with every codec."""
    file = folder / "stored.nc"
    copied(binary, source, file, "--chunks", "auto", "--codec", "deflate")
    with netCDF4.Dataset(file) as data:
        var = max(data.variables.values(), key=lambda v: v.size)
        spec = f"{var.name}:{','.join(map(str, var.chunking()))}"
    found = {}
    for coder, level, shuffle in CODECS:
        how = ["--codec", coder]
        if coder != "none":
            how += ["--level", str(level), "--shuffle" if shuffle else "--no-shuffle"]
        encode = min(copied(binary, source, file, "--chunks", spec, *how) for _ in range(WRITES))
        read = subprocess.run(
            [sys.executable, "-c", READ, str(file), spec.split(":")[0]],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "NCFORGE_THREADS": "1"},
        )
        found[name(coder, level, shuffle)] = Stored(file.stat().st_size, encode, float(read.stdout))
    return spec, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures all files, and says how near the choices are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True, help="the command")
    parser.add_argument("files", type=Path, nargs="+", help="netCDF files")
    args = parser.parse_args(arguments)
    ratios: dict[str, list[float]] = {}
    for source in args.files:
        with tempfile.TemporaryDirectory() as folder:
            spec, found = measured(args.binary, source, Path(folder))
        print(f"{source.name}, {spec}")
        for codec, stored in found.items():
            print(
                f"  {codec:18} {stored.size:>12,} bytes, encoding {stored.encode:.3f} s, decoding {stored.decode:.3f} s"
            )
        for zstd in (False, True):
            allowed = {c: s for c, s in found.items() if zstd or "zstd" not in c}
            for goal in GOALS:
                prices = {c: s.price(goal, found["none"]) for c, s in allowed.items()}
                choice = chosen(args.binary, source, spec, goal, *(["--allow-zstd"] if zstd else []))
                best = min(prices, key=prices.__getitem__)
                ratio = prices[choice] / prices[best]
                label = f"{goal}, zstd allowed" if zstd else goal
                ratios.setdefault(label, []).append(ratio)
                print(f"    {label}: {choice}; the best is {best}: {ratio:.3f}")
    for goal, all_of in ratios.items():
        print(f"{goal}: mean {statistics.mean(all_of):.3f}, worst {max(all_of):.3f} of {len(all_of)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
