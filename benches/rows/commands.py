"""Whole commands: chunks reshaped, classic files compressed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.model import Entry, FileSpec, Peer, Row
from harness.plan import Plan

# Settings of nccopy's copy buffer (-m) and chunk cache (-h, -e) for 200 MB; the quickest is measured.
BIG_CACHES = ("-m 300M", "-h 300M -e 100003", "-m 300M -h 300M -e 100003")


def rows(plan: Plan) -> Iterator[Row]:
    """Against the tools that people use for it."""
    for kind in ("precip", "smooth"):
        for threads in (1, 2):
            yield _rechunk(plan, kind, threads)
            yield _compress(plan, kind, threads)


def version(tool: str) -> str:
    """The version that a command prints."""
    flags = {"nccopy": [], "ncks": ["--version"], "cdo": ["-V"], "h5repack": ["-V"]}
    try:
        done = subprocess.run([tool, *flags[tool]], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return ""
    found = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
    return found[0] if found else ""


def _command(plan: Plan, label: str, argv: list[str], output: Path) -> Entry:
    fields = {"do": "run", "argv": json.dumps(argv), "log": plan.data.folder / "command.log"}
    tool = None if label == "ncforge" else argv[0]
    return Entry("commands", fields, label, version(tool) if tool else "", tool=tool, output=output)


def _ours(plan: Plan, spec: FileSpec, output: Path, threads: int, *more: str) -> Entry:
    argv = [str(plan.command), "copy", str(spec.path), str(output), "-O", "--threads", str(threads), "--no-history"]
    return _command(plan, "ncforge", [*argv, "--progress", "none", *more], output)


def _rechunk(plan: Plan, kind: str, threads: int) -> Row:
    """(1, 128, 256) to (1560, 16, 32), deflate 1 on both sides."""
    shape = plan.shape(kind)
    spec = plan.file(f"maps-{kind}-d1", kind, (1, *shape[1:]), deflate=1)
    chunks = (shape[0], 16, 32)
    out = {tool: plan.output(f"rechunk-{kind}-{tool}") for tool in ("ncforge", "nccopy", "nccopy-tuned", "h5repack")}
    by_dim = ",".join(f"d{i}/{n}" for i, n in enumerate(chunks))
    nccopy = ["nccopy", "-d", "1", "-s", "-c", by_dim]
    repack = ["h5repack", "-l", f"v:CHUNK={'x'.join(map(str, chunks))}", "-f", "v:SHUF", "-f", "v:GZIP=1"]
    target = 4.0 if threads == 2 else None
    peers = (
        Peer(
            replace(
                _command(plan, "nccopy tuned", nccopy, out["nccopy-tuned"]),
                choices=tuple(
                    {"argv": json.dumps([*nccopy, *flags.split(), str(spec.path), str(out["nccopy-tuned"])])}
                    | {"setting": flags}
                    for flags in BIG_CACHES
                ),
            ),
            target,
            peak_target=1.0,
        ),
        Peer(_command(plan, "nccopy, defaults", [*nccopy, str(spec.path), str(out["nccopy"])], out["nccopy"])),
        Peer(
            _command(plan, "h5repack", [*repack, str(spec.path), str(out["h5repack"])], out["h5repack"]),
            target,
            peak_target=1.0,
        ),
    )
    ours = _ours(plan, spec, out["ncforge"], threads, "--chunks", by_dim, "--codec", "deflate", "--level", "1")
    return Row(f"copy/rechunk/{kind}", threads, ours, peers, (spec,), expected=(kind, shape))


def _compress(plan: Plan, kind: str, threads: int) -> Row:
    """Classic to netCDF-4, deflate 1, chunks as each tool chooses them."""
    spec = plan.file(f"{kind}-cdf5", kind, format="cdf5")
    out = {tool: plan.output(f"compress-{kind}-{tool}") for tool in ("ncforge", "nccopy", "ncks", "cdo")}
    source = str(spec.path)
    target = 5.0 if threads == 2 else None
    commands = {
        "nccopy": ["nccopy", "-k", "nc4", "-d", "1", "-s", source, str(out["nccopy"])],
        "ncks": ["ncks", "-O", "-4", "-L", "1", source, str(out["ncks"])],
        "cdo": ["cdo", "-s", "-O", "-f", "nc4", "-z", "zip_1", "copy", source, str(out["cdo"])],
    }
    peers = tuple(Peer(_command(plan, tool, argv, out[tool]), target) for tool, argv in commands.items())
    ours = _ours(plan, spec, out["ncforge"], threads, "--format", "netcdf4", "--codec", "deflate", "--level", "1")
    return Row(f"copy/classic-to-netcdf4/{kind}", threads, ours, peers, (spec,), expected=(kind, spec.shape))
