"""Whole variables of netCDF-4 files, shuffled and deflated."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model import Entry, FileSpec, Peer, Row
from harness.plan import Plan, chunk_name, locked_version, read

KINDS = ("smooth", "precip", "packed")
# Time steps of a chunk of (steps, 64, 128) 4-byte values: 256 KiB, 1 MiB, 4 MiB.
STEPS = (8, 32, 128)
# Wanted against netCDF4-python on one thread and on two.
TARGET = {1: 2.5, 2: 5.0}


def chunks_of(kind: str, steps: int) -> tuple[int, int, int]:
    """A chunk of the same bytes for every kind."""
    return (steps * (2 if kind == "packed" else 1), 64, 128)


def netcdf_c_file(plan: Plan, kind: str, steps: int, level: int) -> FileSpec:
    """A file that netcdf-c writes."""
    chunks = chunks_of(kind, steps)
    return plan.file(f"{kind}-{chunk_name(chunks, kind)}-d{level}", kind, chunks, deflate=level)


def rows(plan: Plan) -> Iterator[Row]:
    """Files of netcdf-c, then files of ncforge's own."""
    for kind in KINDS:
        for steps, level in (*((steps, 1) for steps in STEPS), (32, 4)):
            spec = netcdf_c_file(plan, kind, steps, level)
            name = f"read/{kind}/{chunk_name(chunks_of(kind, steps), kind)}/deflate{level}"
            for threads in (1, 2):
                yield from _theirs(plan, name, spec, threads)
    for kind in KINDS:
        for level in (1, 4):
            for threads in (1, 2):
                yield _own(plan, kind, level, threads)


def _theirs(plan: Plan, name: str, spec: FileSpec, threads: int) -> Iterator[Row]:
    """A file of netcdf-c: Python packages against each other, then the Rust library against C and the bare codec."""
    expected = (spec.kind, spec.shape)
    python = (
        Peer(read("netCDF4", spec), TARGET[threads]),
        Peer(read("h5py", spec)),
        Peer(read("hidefix", spec)),
    )
    yield Row(name, threads, read("ncforge-python", spec), python, (spec,), expected=expected, cold=True)
    bare = Entry(
        "libdeflate",
        {"do": "inflate", "path": spec.path, "var": "v", "threads": threads},
        "bare libdeflate, chunks in memory",
        locked_version("libdeflater"),
    )
    others = (Peer(bare, 0.85), Peer(read("netcdf-c", spec)))
    yield Row(name, threads, read("ncforge", spec), others, (spec,), expected=expected)


def _own(plan: Plan, kind: str, level: int, threads: int) -> Row:
    """ncforge reads its own file, netCDF4-python reads netcdf-c's of the same level."""
    theirs = netcdf_c_file(plan, kind, 32, level)
    own = plan.file(f"own-{kind}-d{level}", kind, theirs.chunks, deflate=level, writer="ncforge")
    target = 4.0 if threads == 1 and kind != "precip" else None
    ours = read("ncforge-python", own)
    return Row(
        f"read-own/{kind}/1MiB/deflate{level}",
        threads,
        ours,
        (Peer(read("netCDF4", theirs), target),),
        (own, theirs),
        expected=(kind, theirs.shape),
        cold=True,
    )
