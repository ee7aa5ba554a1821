"""Many definitions, definitions and values in turn, and a sync after one of many variables was written."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model import Entry, Fields, Peer, Row
from harness.plan import Plan

# How many, and the ratio that is wanted against netCDF4-python.
TARGETS = {
    "variables": (16_000, 1.0),
    "attributes": (16_000, 1.0),
    "groups": (16_000, 1.0),
    "groups in turn": (2_000, 1.0),
    "dimensions in turn": (2_000, 1.0),
    "synced": (1_000, 0.5),
}


def rows(plan: Plan) -> Iterator[Row]:
    """Python against Python."""
    for what, (full, target) in TARGETS.items():
        count = max(plan.count(full), 10)

        def entry(backend: str, what: str = what, count: int = count) -> Entry:
            path = plan.output(f"define-{what.replace(' ', '-')}-{backend}")
            request: Fields = {"do": "define", "path": path, "what": what, "count": count}
            return Entry(backend, request, output=path)

        yield Row(
            f"define/{what.replace(' ', '-')}/{count}",
            1,
            entry("ncforge-python"),
            (Peer(entry("netCDF4"), target),),
            check=None,
            rounds=3,
        )
