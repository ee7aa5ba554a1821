"""Files of many small records: a station's instruments, hour by hour. One call for each record, or for each value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.data import Slabs
from harness.model import Entry, Fields, FileSpec, Peer, Row
from harness.plan import Plan, write

INSTRUMENTS = 31


def rows(plan: Plan) -> Iterator[Row]:
    """One value of each record, whole records, value after value of a row; then such a file written."""
    count = plan.count(100_000)
    shape = (count, INSTRUMENTS)
    station = plan.file("station-cdf5", "station", shape=shape, format="cdf5", records=True)
    one: Slabs = [((t, 5), (1, 1)) for t in range(count)]
    all_of_it: Slabs = [((t, 0), (1, INSTRUMENTS)) for t in range(count)]
    yield from _reads(plan, "value-of-each", station, one)
    yield from _reads(plan, "each", station, all_of_it)
    smooth = plan.file("smooth-cdf5", "smooth", format="cdf5")
    _, lat, lon = smooth.shape
    singles: Slabs = [((n // (lat * lon), n // lon % lat, n % lon), (1, 1, 1)) for n in range(count)]
    yield from _reads(plan, "every-value", smooth, singles)
    for ours, theirs in (("ncforge", "netcdf-c"), ("ncforge-python", "netCDF4")):
        entries = [write(backend, station, plan) for backend in (ours, theirs)]
        peer = Peer(entries[1], 1.0)
        row = Row("classic-records/write-each", 1, entries[0], (peer,), expected=(station.kind, shape))
        yield replace(row, unit="µs", per="read")


def _reads(plan: Plan, name: str, spec: FileSpec, slabs: Slabs) -> Iterator[Row]:
    """The Rust library against C, and Python against Python."""
    path = plan.slabs(f"{name}-{len(slabs)}", slabs)
    request: Fields = {"do": "slabs", "path": spec.path, "var": "v", "slabs": path, "rank": len(spec.shape)}
    check = {"reads": min(1000, len(slabs))}
    for ours, theirs, most in (("ncforge", "netcdf-c", len(slabs)), ("ncforge-python", "netCDF4", 5000)):
        reads = min(most, len(slabs))
        entries = [Entry(backend, request | {"reads": reads}) for backend in (ours, theirs)]
        peer = Peer(entries[1], 1.0)
        yield Row(
            f"classic-records/{name}", 1, entries[0], (peer,), (spec,), unit="µs", per="read", reads=reads, check=check
        )
