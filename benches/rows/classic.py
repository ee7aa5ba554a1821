"""Classic files: big-endian values, no compression. The tax of the conversion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.model import Peer, Row
from harness.plan import Plan, read, read_bare, write


def rows(plan: Plan) -> Iterator[Row]:
    """Whole reads; writes of 10 and 100 million floats (the conversion test of 1993)."""
    for kind in ("smooth", "packed"):
        yield from _reads(plan, kind)
    for millions in (10, 100):
        yield from _writes(plan, millions)


def _reads(plan: Plan, kind: str) -> Iterator[Row]:
    spec = plan.file(f"{kind}-cdf5", kind, format="cdf5")
    expected = (kind, spec.shape)
    for threads in (1, 2):
        peers = (
            Peer(read("netCDF4", spec), 1.7),
            Peer(read_bare("numpy", spec), 1.0 if threads == 1 else None),
            Peer(replace(read_bare("system", spec), label="plain pread into warm memory"), 0.7),
        )
        ours = read("ncforge-python", spec)
        yield Row(f"classic-read/{kind}", threads, ours, peers, (spec,), expected=expected, cold=True)


def _writes(plan: Plan, millions: int) -> Iterator[Row]:
    count = plan.count(millions * 1_000_000)
    spec = plan.file(f"floats-{millions}M", "floats", format="cdf5", shape=(count,))
    expected = (spec.kind, spec.shape)
    for threads in (1, 2):
        for durable in (0, 1):
            suffix = " + fsync" if durable else ""
            entry = {b: write(b, spec, plan, durable=durable) for b in ("ncforge", "system", "netcdf-c", "netCDF4")}
            peers = (
                Peer(
                    replace(entry["system"], label=f"plain write{suffix}"),
                    (1 / 1.15 if threads == 1 else 1 / 1.05) if not durable else None,
                ),
                Peer(replace(entry["netcdf-c"], label=f"netcdf-c{suffix}"), None if durable else 3.0),
                Peer(replace(entry["netCDF4"], label=f"netCDF4-python{suffix}")),
            )
            name = "classic-write-synced" if durable else "classic-write"
            yield Row(f"{name}/{millions}M-floats", threads, entry["ncforge"], peers, expected=expected)
