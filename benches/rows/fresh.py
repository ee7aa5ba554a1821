"""Reads, writes and opening as a script meets them: a process imports its library, does one thing once, and ends.

The same contestants as in the other rows, each through its Python package. The clock starts after the imports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from harness.model import Entry, Fields, Peer, Row
from harness.plan import Plan
from rows import classic, opening, plain, reading, writing

# Wanted in a fresh process, where it is not what the other rows want: by what is done, the peer and the threads.
TARGET: dict[tuple[str, str, int], float] = {
    ("read", "netCDF4", 1): 3.0,
    ("plain-read", "h5py", 2): 1.5,
    ("plain-read", "numpy", 2): 1.5,
    ("classic-read", "numpy", 2): 1.5,
    ("classic-write", "system", 1): 1 / 1.4,
    ("classic-write", "system", 2): 1 / 1.1,
}


def rows(plan: Plan) -> Iterator[Row]:
    """Importing a library and opening a first file, then the rows of other parts."""
    for spec in (plan.file("smooth-plain-contiguous", "smooth"), plan.file("smooth-cdf5", "smooth", format="cdf5")):
        request: Fields = {"do": "open", "path": spec.path, "import": 1}
        ours, peer = (Entry(backend, request) for backend in ("ncforge-python", "netCDF4"))
        row = Row(f"fresh/import-and-open/{spec.format}", 1, ours, (Peer(peer),), (spec,), unit="ms", fresh=True)
        yield replace(row, check=None)
    for row in chain(*(part.rows(plan) for part in (reading, writing, classic, plain, opening))):
        what = row.name.split("/")[0]
        # The Rust library writes in other rows; reads and opening have rows of the Python packages.
        if not what.endswith("-synced") and (row.ours.output or row.ours.backend == "ncforge-python"):
            ours = replace(_once(row.ours), backend="ncforge-python")
            peers = tuple(
                replace(
                    peer,
                    entry=_once(peer.entry),
                    target=TARGET.get((what, peer.entry.backend, row.threads), peer.target),
                )
                for peer in row.peers
            )
            yield replace(row, name=f"fresh/{row.name}", ours=ours, peers=peers, fresh=True, sizes=False)


def _once(entry: Entry) -> Entry:
    """A contestant that does not repeat its work."""
    return replace(entry, fields=entry.fields | {"repeat": 1}) if "repeat" in entry.fields else entry
