"""Files of all variables of a month each into files of one variable: the transposition of a model's output."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.model import Entry, FileSpec, Peer, Row
from harness.plan import Plan
from harness.processes import BENCHES
from rows.commands import version

MONTHS, VARIABLES, GRID = 120, 60, (144, 192)


def rows(plan: Plan) -> Iterator[Row]:
    """Classic records, and deflated chunks that are moved; 0.8 GB of values."""
    shape = (plan.count(MONTHS), plan.count(VARIABLES), *GRID)
    for form, deflate in (("cdf5", 0), ("netcdf4", 1)):
        folder = plan.data.folder / f"history-{form}"
        spec = FileSpec(folder, "history", shape, form, deflate=deflate)
        for threads in (1, 2):
            yield _row(plan, spec, threads)


def _row(plan: Plan, spec: FileSpec, threads: int) -> Row:
    out = plan.data.folder / f"out-series-{spec.format}"
    log = plan.data.folder / "command.log"

    def command(label: str, argv: list[str], tool: str | None = None) -> Entry:
        fields = {"do": "run", "argv": json.dumps(argv), "log": log}
        return Entry("commands", fields, label, version(tool) if tool else "", tool=tool)

    def loop(way: str, tool: str | None = None) -> Entry:
        argv = [sys.executable, str(BENCHES / "workers/loop_series.py"), way, str(spec.path), f"{out}-{way}"]
        return command(f"{way}, variable by variable", argv, tool)

    # A file that takes another's place is brought to disk before; what `cat` writes is not.
    series = shlex.join([str(plan.command), "series", *_options(out, threads)])
    ours = command("ncforge series", ["sh", "-c", f"rm -rf {out}; exec {series} {spec.path}/*.nc"])
    copy = command("cat of the files", ["sh", "-c", f"cat {spec.path}/*.nc > {_cat(out)}"])
    peers = (Peer(loop("netCDF4"), 10.0), Peer(loop("ncrcat", "ncks"), 10.0), Peer(copy, 0.6))
    row = Row(f"series/{spec.format}", threads, ours, peers, (spec,), check=None)
    return replace(row, rounds=3)


def _options(out: Path, threads: int) -> list[str]:
    return ["-o", str(out), "--threads", str(threads), "--no-history", "--progress", "none"]


def _cat(out: Path) -> str:
    return f"{out}-cat"
