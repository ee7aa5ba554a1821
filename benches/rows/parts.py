"""Little out of large chunks: with access points, as ncforge writes them, and without, as netCDF-C does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.data import SEED, Slabs
from harness.model import Entry, Peer, Row
from harness.plan import Plan

# The reads, and their targets against netCDF4-python on the same file and against ncforge on a file without access
# points.
TARGETS: dict[str, tuple[float, float]] = {
    "series": (50.0, 20.0),
    "map": (10.0, 10.0),
    "row": (10.0, 10.0),
    "box": (10.0, 10.0),
}


def rows(plan: Plan) -> Iterator[Row]:
    """A series through large maps, each a chunk; a map, a row and a box out of chunks that are long in time."""
    maps = (plan.count(60), 721, 1440)
    yield from _rows(plan, "maps", maps, (1, 721, 1440), {"series": (maps[0], 1, 1)})
    long = (1024, max(32, plan.count(160)), max(32, plan.count(288)))
    boxes: dict[str, tuple[int, ...]] = {
        "map": (1, *long[1:]),
        "row": (1, 1, long[2]),
        "box": (1, min(100, long[1]), min(100, long[2])),
    }
    yield from _rows(plan, "long", long, (1024, 32, 32), boxes)


def _rows(
    plan: Plan, name: str, shape: tuple[int, ...], chunks: tuple[int, ...], boxes: dict[str, tuple[int, ...]]
) -> Iterator[Row]:
    without = plan.file(f"parts-{name}", "smooth", chunks, shape=shape, deflate=1)
    points = plan.file(f"parts-{name}-points", "smooth", chunks, shape=shape, deflate=1, writer="ncforge")
    rng = np.random.Generator(np.random.PCG64(SEED))
    for what, box in boxes.items():
        start = [int(rng.integers(n - count + 1)) for n, count in zip(shape, box, strict=True)]
        slab: Slabs = [(tuple(start), box)]
        slabs = plan.slabs(f"parts-{what}-{'x'.join(map(str, shape))}", slab)

        def entry(backend: str, path: object, slabs: object = slabs, **more: object) -> Entry:
            return Entry(backend, {"do": "slabs", "path": path, "var": "v", "slabs": slabs, "rank": len(shape)}, **more)  # type: ignore[arg-type]

        netcdf4, ncforge = TARGETS[what]
        peers = (
            Peer(entry("netCDF4", points.path), netcdf4),
            Peer(entry("ncforge-python", without.path, label="ncforge, no access points"), ncforge),
        )
        for threads in (1, 2):
            yield Row(
                f"parts/{what}-of-{name}",
                threads,
                entry("ncforge-python", points.path),
                peers,
                (points, without),
                unit="ms",
                fresh=True,
                check={"reads": 1},
            )
