"""Yearly means and a climatology of 20 files of monthly maps by xarray with Dask, which makes a task of every block."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model import Entry, Fields, Peer, Row
from harness.plan import Plan

# After `copy --chunks auto`, ncforge's engine may take a fifth longer than before.
TARGET = 1 / 1.2


def rows(plan: Plan) -> Iterator[Row]:
    """Map chunks, and what ``copy --chunks auto`` makes of them; by both engines."""
    shape = (20, plan.count(60), 180, 360)
    maps = plan.file("maps", "maps", shape=shape)
    chosen = plan.file("maps-auto", "maps-auto", shape=shape, writer="ncforge")
    before: Fields = {"do": "reduce", "path": maps.path}
    after: Fields = {"do": "reduce", "path": chosen.path}
    ours = Entry("xarray-ncforge", after, label="ncforge (xarray), after copy --chunks auto")
    peers = (
        Peer(Entry("xarray-ncforge", before, label="ncforge (xarray), before"), TARGET),
        Peer(Entry("xarray-netcdf4", after, label="netcdf4 (xarray), after")),
        Peer(Entry("xarray-netcdf4", before, label="netcdf4 (xarray), before")),
    )
    for threads in (1, 2):
        yield Row("dask/yearly-and-climatology", threads, ours, peers, (maps, chosen), rounds=3)
