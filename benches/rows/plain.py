"""Uncompressed netCDF-4 files, contiguous and in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.model import Peer, Row
from harness.plan import Plan, read, read_bare, write


def rows(plan: Plan) -> Iterator[Row]:
    """Reads, then writes, against h5py first of all."""
    kind = "smooth"
    for storage, chunks in (("contiguous", None), ("chunks-1MiB", (32, 64, 128))):
        spec = plan.file(f"{kind}-plain-{storage}", kind, chunks)
        expected = (kind, spec.shape)
        for threads in (1, 2):
            target = 1.0 if threads == 1 else None
            readers: tuple[Peer, ...] = (Peer(read("h5py", spec), target), Peer(read("netCDF4", spec)))
            if not chunks:
                readers += (Peer(replace(read_bare("numpy", spec), label="NumPy fromfile"), target),)
            ours = read("ncforge-python", spec)
            yield Row(f"plain-read/{storage}", threads, ours, readers, (spec,), expected=expected, cold=True)
            writers = (
                Peer(write("h5py", spec, plan), target),
                Peer(write("netCDF4", spec, plan)),
                Peer(write("netcdf-c", spec, plan)),
            )
            yield Row(f"plain-write/{storage}", threads, write("ncforge", spec, plan), writers, expected=expected)
