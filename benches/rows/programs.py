"""Programs of netCDF-C as they are, with ncforge under the library (`ncforge run`) and without: the times of whole processes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.model import Entry, FileSpec, Peer, Row
from harness.plan import Plan
from rows.commands import version

# Chunk shapes of the AR-5 study whose rows of chunks a cache of netCDF-C does not hold, and one that it does.
CHUNKS = ((1560, 16, 32), (1024, 64, 128), (256, 64, 128), (1, 128, 256))


def rows(plan: Plan) -> Iterator[Row]:
    """A C program, then NCO and CDO."""
    maps = plan.file("programs-maps", "precip", (1, 128, 256), deflate=1)
    classic = plan.file("programs-classic", "precip", format="cdf5")
    for threads, target in ((1, 2.0), (2, 3.0)):
        yield _reader(plan, "whole", maps, threads, target)
    for chunks in CHUNKS:
        spec = plan.file(f"programs-{'x'.join(map(str, chunks))}", "precip", chunks, deflate=1)
        yield _reader(plan, "slab0", spec, 2, 1.0, str(plan.count(40)))
        yield _reader(plan, "series", spec, 2, 1.0, str(plan.count(5)))
    for spec in (maps, classic):
        yield _reader(plan, "one", spec, 2, 0.95, "1000000")
        yield _reader(plan, "open", spec, 2, 0.9, str(plan.count(5000)))
    point = ["-d", "d1,60", "-d", "d2,100"]
    yield _tool(plan, "ncks-series", ["ncks", "-O", "-h", *point], maps, 1.0)
    yield _tool(plan, "ncks-whole", ["ncks", "-O", "-h", "-L", "0"], maps, None)
    yield _tool(plan, "nccopy", ["nccopy", "-d", "0"], maps, None)
    yield _tool(plan, "cdo-timmean", ["cdo", "-s", "-O", "timmean"], maps, None)
    yield from _writers(plan)
    yield from _ranks(plan)
    yield from _late(plan, maps)


def _writers(plan: Plan) -> Iterator[Row]:
    """Programs that write compressed variables."""
    raw = plan.file("programs-raw", "precip", (1, 128, 256))
    yield _tool(plan, "nccopy-d1", ["nccopy", "-d", "1"], raw, 1.0)
    yield _tool(plan, "ncks-L1", ["ncks", "-O", "-h", "-4", "-L", "1"], raw, 1.0)
    folder = plan.data.folder.parent
    yield _writer(plan, "puts", folder / "netcdf-program", ["v", "puts", str(plan.count(1_000_000))], 0.95)
    if shutil.which("gfortran") and shutil.which("nf-config"):
        yield _writer(plan, "fortran-steps", folder / "netcdf-steps", [str(plan.count(100))], 3.0)


def _writer(
    plan: Plan, name: str, program: Path, arguments: list[str], target: float, threads: int = 2, launcher: str = ""
) -> Row:
    outputs = [plan.output(f"{name}-{who}") for who in ("with", "without")]
    with_it, without = ([str(program), str(out), *arguments] for out in outputs)
    ours = _entry(plan, "ncforge", [*launcher.split(), *_under(plan, threads, with_it)], outputs[0])
    peer = Peer(_entry(plan, "netcdf-c", [*launcher.split(), *without], outputs[1]), target)
    return Row(f"program/{name}", threads, ours, (peer,), (), check=None)


def _ranks(plan: Plan) -> Iterator[Row]:
    """A model with MPI whose rank 0 gathers and writes: one core to each rank, and an idle one for rank 0."""
    if not shutil.which("mpicc") or not shutil.which("mpiexec"):
        return
    program, steps = plan.data.folder.parent / "netcdf-ranks", str(plan.count(1000))
    root = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    yield _writer(plan, "rank-0-of-2", program, [steps, "close"], 1.8, 1, f"{root} mpiexec -n 2")
    idle = f"{root} mpiexec -n 1 --bind-to none"
    yield _writer(plan, "rank-0-idle-core", program, [steps, "close"], 3.0, 2, idle)


PYTHON = """
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1]) as d:
    v = d["v"]
    for j in range(int(sys.argv[2])):
        v[:, j * 5 % v.shape[1], j * 11 % v.shape[2]]
"""
R = """
library(ncdf4); a <- commandArgs(TRUE); nc <- nc_open(a[1]); n <- nc$var$v$varsize
for (j in seq_len(as.integer(a[2]))) ncvar_get(nc, "v", start = c((j * 11) %% n[1] + 1, (j * 5) %% n[2] + 1, 1), count = c(1, 1, -1))
"""


def _late(plan: Plan, maps: FileSpec) -> Iterator[Row]:
    """Programs that load netCDF-C when they need it, and one that never does."""
    count = str(plan.count(60))
    scripts = {"python-series": [sys.executable, "-c", PYTHON, str(maps.path), count]}
    if shutil.which("Rscript"):
        scripts["r-series"] = ["Rscript", "-e", R, str(maps.path), count]
    scripts["start"] = [sys.executable, "-c", "pass"]
    for name, argv in scripts.items():
        ours = _entry(plan, "ncforge", _under(plan, 2, argv))
        target = 0.95 if name == "start" else 20.0
        yield Row(f"program/{name}", 2, ours, (Peer(_entry(plan, "netcdf-c", argv), target),), (maps,), check=None)
    if shutil.which("gdal_translate"):
        outputs = [plan.output(f"gdal-{who}") for who in ("with", "without")]
        argv = ["gdal_translate", "-q", "-of", "GTiff", f"NETCDF:{maps.path}:v"]
        ours = _entry(plan, "ncforge", _under(plan, 2, [*argv, str(outputs[0])]), outputs[0])
        peer = Peer(_entry(plan, "netcdf-c", [*argv, str(outputs[1])], outputs[1]), 2.0)
        yield Row("program/gdal-translate", 2, ours, (peer,), (maps,), check=None)


def _entry(plan: Plan, label: str, argv: list[str], output: Path | None = None, tool: str | None = None) -> Entry:
    fields = {"do": "run", "argv": json.dumps(argv), "log": plan.data.folder / "program.log"}
    return Entry("commands", fields, label, version(tool) if tool else "", tool=tool, output=output)


def _under(plan: Plan, threads: int, argv: list[str]) -> list[str]:
    return ["env", f"NCFORGE_THREADS={threads}", str(plan.command), "run", *argv]


def _reader(plan: Plan, way: str, spec: FileSpec, threads: int, target: float, *count: str) -> Row:
    argv = [str(plan.data.folder.parent / "netcdf-program"), str(spec.path), "v", way, *count]
    ours = _entry(plan, "ncforge", _under(plan, threads, argv))
    peer = Peer(_entry(plan, "netcdf-c", argv), target)
    return Row(f"program/{way}/{spec.path.stem}", threads, ours, (peer,), (spec,), check=None)


def _tool(plan: Plan, name: str, argv: list[str], spec: FileSpec, target: float | None) -> Row:
    outputs = [plan.output(f"{name}-{who}") for who in ("with", "without")]
    with_it, without = ([*argv, str(spec.path), str(out)] for out in outputs)
    ours = _entry(plan, "ncforge", _under(plan, 2, with_it), outputs[0], argv[0])
    peer = Peer(_entry(plan, argv[0], without, outputs[1], argv[0]), target)
    return Row(f"program/{name}", 2, ours, (peer,), (spec,), check=None)
