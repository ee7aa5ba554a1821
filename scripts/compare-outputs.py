#!/usr/bin/env python3
"""Compare what two builds of `ncforge` write, byte by byte.

    python scripts/compare-outputs.py OLD NEW [--data FOLDER]

OLD and NEW are two `ncforge` programs. Both copy, zip, split and combine the same inputs with the same options: every file of
`data/`, and files made of those by OLD (other formats, chunks, filters, tiles of several models). Each output of OLD is compared
with that of NEW; those that differ are printed with their command, as are commands that fail with one of the two only. The exit
status is 1 where anything differs.

A change that does not mean to change files runs this before and after; one that does says which of the lines are meant.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Options of `copy`, for every input.
COPIES = [
    "",
    "-3",
    "-4",
    "-5",
    "-6",
    "-7",
    "-4 --chunks auto",
    "-4 --chunks keep --codec deflate",
    "-4 --chunks auto --codec deflate --level 4",
    "-4 --codec zstd",
    "-4 --codec auto",
    "-4 --codec auto --goal small --allow-zstd",
    "-4 --codec auto --goal fast-read --storage object",
    "-4 --codec deflate --shuffle --fletcher32",
    "-4 --codec deflate --no-shuffle --chunks auto",
    "-4 --filters *,shuffle|deflate,6 --chunks auto",
    "-4 --filters *,zstd,3|fletcher32 --chunks auto",
    "-4 --codec deflate --chunks auto --for series",
    "-4 --codec deflate --chunks auto --for map --reader netcdf-c",
    "-4 --codec deflate --keep-digits 4 --chunks auto",
    "-4 --endian big --chunks auto --skip-fill",
    "-4 --fix-unlimited --codec deflate",
    "-4 --profile cmip7",
    "-4 --chunks /",
]
#: Options of `zip`, for every classic input.
ZIPS = ["", "--block 4K", "--block 256K --codec deflate", "--codec lz4", "--block 64K --codec zstd --level 9"]
#: How made inputs are made: a name, and options of `copy`.
MADE = [("deflated", "-4 --chunks auto --codec deflate"), ("plain", "-4 --chunks auto"), ("cdf5", "-5")]
#: Schemes and options of `split`, whose tiles are combined again.
SPLITS = [
    "--scheme nemo --tiles 3x2",
    "--scheme nemo --tiles 2x2 --halo 1",
    "--scheme fms --tiles 2x3",
    "--scheme wrf --tiles 2x2",
]
#: Options of `combine`, for every set of tiles.
COMBINES = ["", "-4 --codec deflate", "-4 --codec auto", "-4 --chunks auto"]


class Pair:
    """Two programs that are asked the same."""

    def __init__(self, old: Path, new: Path, folder: Path) -> None:
        self.programs = {"old": old, "new": new}
        self.folder = folder
        self.compared = 0
        self.differing: list[str] = []
        # A calibration of this machine would decide, and differ from machine to machine.
        # The date goes into the attribute `history`.
        self.environment = os.environ | {"NCFORGE_MACHINE": str(folder / "no-machine.json"), "SOURCE_DATE_EPOCH": "0"}

    def run(self, program: Path, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Runs one command in a folder; by the same name, since `history` says it."""
        return subprocess.run(
            ["ncforge", *words],
            executable=program,
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
            cwd=folder,
        )

    def make(self, words: list[str], output: Path) -> bool:
        """Makes an input with the old program; whether it could."""
        return self.run(self.programs["old"], words, self.folder).returncode == 0 and output.exists()

    def compare(self, words: list[str]) -> None:
        """Runs a command, in which `OUT` stands for the output, with both, and compares the outputs."""
        written = {}
        for which, program in self.programs.items():
            # The same name in two folders: a file may say its own name.
            output = self.folder / which / "out.nc"
            output.parent.mkdir(exist_ok=True)
            output.unlink(missing_ok=True)
            done = self.run(program, [output.name if word == "OUT" else word for word in words], output.parent)
            written[which] = output.read_bytes() if done.returncode == 0 and output.exists() else None
        if written["old"] is None and written["new"] is None:
            return
        self.compared += 1
        if written["old"] != written["new"]:
            sizes = {
                which: "failed" if content is None else f"{len(content)} bytes" for which, content in written.items()
            }
            self.differing.append(f"ncforge {' '.join(words)}: {sizes['old']}, now {sizes['new']}")


def inputs(pair: Pair, data: Path) -> list[Path]:
    """The files of `data/`, and what is made of them."""
    found = sorted(path for path in data.iterdir() if path.suffix in {".nc", ".cdf", ".nc4"})
    made = []
    for path in found:
        for name, options in MADE:
            output = pair.folder / f"{path.stem}-{name}.nc"
            if pair.make(["copy", str(path), str(output), *options.split()], output):
                made.append(output)
    return found + made


def copies_and_zips(pair: Pair, files: list[Path]) -> None:
    """Every file, copied and zipped with all options."""
    for path in files:
        for options in COPIES:
            pair.compare(["copy", str(path), "OUT", *options.split()])
        for options in ZIPS:
            pair.compare(["zip", str(path), "OUT", *options.split()])


def combinations(pair: Pair, files: list[Path]) -> None:
    """Tiles of every file that can be split, combined."""
    for path in files:
        for number, split in enumerate(SPLITS):
            folder = pair.folder / "tiles" / f"{path.stem}-{number}"
            folder.mkdir(parents=True)
            done = pair.run(pair.programs["old"], ["split", str(path), "-o", str(folder / "t"), *split.split()], folder)
            tiles = sorted(folder.iterdir())
            if done.returncode != 0 or len(tiles) < 2:
                continue
            for options in COMBINES:
                pair.compare(["combine", *map(str, tiles), "-o", "OUT", *options.split()])


def main() -> int:
    """Compares, prints what differs."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", maxsplit=1)[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder of inputs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(arguments.old.resolve(), arguments.new.resolve(), Path(folder))
        files = inputs(pair, arguments.data)
        copies_and_zips(pair, files)
        combinations(pair, files)
    for line in pair.differing:
        print(line)
    print(f"{pair.compared} outputs compared, {len(pair.differing)} differ")
    return 1 if pair.differing else 0


if __name__ == "__main__":
    sys.exit(main())
