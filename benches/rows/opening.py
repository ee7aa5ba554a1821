"""Opening a file of 1,000 variables, and all 10,000 attributes."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model import Entry, Fields, Peer, Row
from harness.plan import Plan

TARGET = {"netcdf4": 20.0, "cdf5": 4.0}


def rows(plan: Plan) -> Iterator[Row]:
    """The Rust library against the C library, Python against Python."""
    count = plan.count(1000)
    for format, target in TARGET.items():
        spec = plan.file(f"many-{format}", "many", format=format, shape=(count,))
        request: Fields = {"do": "open", "path": spec.path, "repeat": plan.count(5)}
        for ours, peer in (("ncforge", "netcdf-c"), ("ncforge-python", "netCDF4")):
            yield Row(
                f"open/{format}/{count}x10/{'python' if 'python' in ours else 'library'}",
                1,
                Entry(ours, request),
                (Peer(Entry(peer, request), target),),
                (spec,),
                unit="ms",
                per="read",
            )
