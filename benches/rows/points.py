"""Little from a lot: series of single pixels out of chunks that are maps, and single values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from harness.data import SEED, Slabs, nbytes
from harness.model import Entry, Fields, FileSpec, Peer, Row
from harness.plan import MIB, Plan, netcdf_c_cache


def rows(plan: Plan) -> Iterator[Row]:
    """8 and 100 pixels; 100,000 values of four bytes."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    shape = plan.shape("precip")
    maps = plan.file("maps-d1", "precip", (1, *shape[1:]), deflate=1)
    for pixels in (8, 100):
        places = zip(rng.integers(shape[1], size=pixels), rng.integers(shape[2], size=pixels), strict=True)
        series: Slabs = [((0, int(y), int(x)), (shape[0], 1, 1)) for y, x in places]
        slabs = plan.slabs(f"pixels-{pixels}-{shape[0]}", series)
        request: Fields = {"do": "slabs", "path": maps.path, "var": "v", "slabs": slabs}
        # The cache that netcdf-c needs to keep everything; few people give it that.
        whole = netcdf_c_cache(nbytes(maps.kind, shape) + MIB)
        entry = Entry("netcdf-c", request | {"limit": 4.0})
        peers = (
            Peer(replace(entry, label="netcdf-c, default cache"), 4.0),
            Peer(replace(entry, label="netcdf-c", choices=(whole,))),
        )
        for threads in (1, 2):
            yield _row(f"pixels/{pixels}-series", threads, Entry("ncforge", request), peers, maps, pixels)
    classic = plan.file("smooth-cdf5", "smooth", format="cdf5")
    reads = plan.count(100_000)
    starts = zip(*(rng.integers(n, size=reads) for n in classic.shape), strict=True)
    singles = plan.slabs(f"singles-{classic.shape[0]}", [(tuple(map(int, s)), (1, 1, 1)) for s in starts])
    request = {"do": "slabs", "path": classic.path, "var": "v", "slabs": singles}
    peer = Peer(Entry("netcdf-c", request), 3.0)
    row = _row("classic-random/4-bytes", 1, Entry("ncforge", request), (peer,), classic, reads)
    yield replace(row, unit="µs", per="read")


def _row(name: str, threads: int, ours: Entry, peers: tuple[Peer, ...], spec: FileSpec, reads: int) -> Row:
    check = {"reads": min(reads, 1000) if reads > 100 else 4}
    return Row(name, threads, ours, peers, (spec,), per="sweep", reads=reads, check=check)
