"""Classic files: big-endian values, no compression. The tax of the conversion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.data import dtype_of, nbytes, offset_in_classic
from harness.model import Entry, FileSpec, Peer, Row
from harness.plan import Plan, read, write


def rows(plan: Plan) -> Iterator[Row]:
    """Whole reads; writes of 10 and 100 million floats (the conversion test of 1993)."""
    for kind in ("smooth", "packed"):
        yield from _reads(plan, kind)
    for millions in (10, 100):
        yield from _writes(plan, millions)


def _bare(backend: str, plan: Plan, spec: FileSpec) -> Entry:
    """The values' bytes, read without a netCDF library."""
    fields = {"type": dtype_of(spec.kind).str[1:], "offset": lambda: offset_in_classic(spec)}
    return read(backend, spec, nbytes=nbytes(spec.kind, spec.shape), **fields)


def _reads(plan: Plan, kind: str) -> Iterator[Row]:
    spec = plan.file(f"{kind}-cdf5", kind, format="cdf5")
    expected = (kind, spec.shape)
    for threads in (1, 2):
        pread = replace(_bare("system", plan, spec), label="plain pread into warm memory")
        peers = (
            Peer(read("netCDF4", spec), 1.7),
            Peer(_bare("numpy", plan, spec), 1.0 if threads == 1 else None),
            Peer(pread, 0.7),
        )
        name = f"classic-read/{kind}"
        yield Row(f"{name}/fresh", threads, read("ncforge-python", spec), peers, (spec,), expected=expected, cold=True)
        warm = (Peer(read("netcdf-c", spec, memory="warm")), Peer(pread))
        ours = read("ncforge", spec, memory="warm")
        yield Row(f"{name}/into-warm", threads, ours, warm, (spec,), expected=expected)


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
