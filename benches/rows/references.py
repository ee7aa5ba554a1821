"""References to the chunks of 1,000 files of 50 variables."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model import Entry, Fields, Peer, Row
from harness.plan import Plan


def rows(plan: Plan) -> Iterator[Row]:
    """VirtualiZarr with ncforge's parser and with its own."""
    count = plan.count(1000)
    spec = plan.file("series", "series", shape=(count,))
    request: Fields = {"do": "references", "path": spec.path}
    ours, theirs = Entry("virtualizarr-ncforge", request), Entry("virtualizarr", request)
    yield Row(f"references/{count}x50", 1, ours, (Peer(theirs, 10.0),), (spec,), unit="ms", per="read", rounds=3)
