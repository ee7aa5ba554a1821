"""Whole variables into netCDF-4 files, shuffled and deflated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.model import Peer, Row
from harness.plan import Plan, write
from rows.reading import KINDS, netcdf_c_file

TARGET = {1: 5.0, 2: 10.0}


def rows(plan: Plan) -> Iterator[Row]:
    """Into the system's cache, as the peers do; then with a sync on both sides, as ncforge does by itself."""
    for kind in KINDS:
        for level in (1, 4):
            spec = netcdf_c_file(plan, kind, 32, level)
            for threads in (1, 2):
                peers = (
                    Peer(write("netCDF4", spec, plan), TARGET[threads], size_target=1 / 1.02),
                    Peer(write("h5py", spec, plan)),
                )
                yield Row(
                    f"write/{kind}/1MiB/deflate{level}",
                    threads,
                    write("ncforge", spec, plan),
                    peers,
                    expected=(kind, spec.shape),
                    sizes=True,
                )
    spec = netcdf_c_file(plan, "smooth", 32, 1)
    for threads in (1, 2):
        ours, theirs = (write(b, spec, plan, durable=1) for b in ("ncforge-python", "netCDF4"))
        peer = Peer(replace(theirs, label="netCDF4-python + fsync"))
        yield Row("write-synced/smooth/1MiB/deflate1", threads, ours, (peer,), expected=(spec.kind, spec.shape))
