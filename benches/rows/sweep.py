"""The sweeps of the AR-5 study: all horizontal slabs in order, and time series, over its chunk shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from harness.data import Slabs, nbytes
from harness.model import Entry, Fields, FileSpec, Peer, Row
from harness.plan import MIB, Plan, netcdf_c_cache, read

SHAPES = tuple(product((1, 10, 256, 1024, 1560), (16, 64, 128), (32, 128, 256)))
# Of these the rows about the chunk cache are made, and all of a quick run.
CLIFFS = ((1, 16, 32), (256, 64, 128), (1024, 64, 128), (1560, 16, 32), (1560, 128, 256))
# Seconds after which a sweep is cut short; its cost is then that of the reads so far, times all reads.
# Long enough to decode everything once; a cache that fits is quick from then on.
LIMIT = 1.0
# The limit for sweeps that can be quick: ncforge's, and those of a tuned cache.
LONG = 3.0


def rows(plan: Plan) -> Iterator[Row]:
    """Every shape, uncompressed and deflated, slabs and series; then the rows about the cache."""
    shape = plan.shape("precip")
    last = (shape[1] - 1, shape[2] - 1)
    points = [(0, 0), last, (shape[1] // 3, shape[2] // 2), (shape[1] // 2, shape[2] // 5), (last[0], 7)]
    lists: dict[str, Slabs] = {
        "slab": [((t, 0, 0), (1, *shape[1:])) for t in range(shape[0])],
        "series": [((0, y, x), (shape[0], 1, 1)) for y, x in points],
    }
    counts = {name: len(slabs) for name, slabs in lists.items()}
    paths = {name: plan.slabs(f"{name}-{shape[0]}", slabs) for name, slabs in lists.items()}
    for chunks, deflate in product(SHAPES if plan.scale == 1 else CLIFFS, (0, 1)):
        spec = plan.file(f"ar5-{'x'.join(map(str, chunks))}-d{deflate}", "precip", chunks, deflate=deflate)
        spec = replace(spec, temporary=True)
        for pattern, path in paths.items():
            yield _against_netcdf_c(spec, chunks, pattern, path, counts[pattern])
        if deflate and chunks in CLIFFS:
            yield from _own_cost(spec, chunks, paths["slab"], counts["slab"])


def _sweep(backend: str, spec: FileSpec, slabs: Path, **more: object) -> Entry:
    request: Fields = {"do": "slabs", "path": spec.path, "var": "v", "slabs": slabs}
    return Entry(backend, request | {k: v for k, v in more.items() if k not in ("memory", "choices", "label")})


def _name(spec: FileSpec, chunks: tuple[int, ...]) -> str:
    return f"{'x'.join(map(str, chunks))}/deflate{spec.deflate}"


def _row_bytes(spec: FileSpec, pattern: str) -> int:
    """Decoded bytes of the chunks that a pattern comes back to: a row of chunks for slabs, a column for series."""
    assert spec.chunks
    lengths = [min(c, n) for c, n in zip(spec.chunks, spec.shape, strict=True)]
    along = (0,) if pattern == "series" else (1, 2)
    for d in along:
        lengths[d] *= -(-spec.shape[d] // spec.chunks[d])
    return nbytes(spec.kind, lengths)


def _held(spec: FileSpec, pattern: str) -> int:
    """Bytes of chunks that are held at once, where they are many."""
    held = _row_bytes(spec, pattern)
    return held if held >= 8 * MIB else 0


def _caches(spec: FileSpec, pattern: str) -> tuple[Fields, ...]:
    """Settings of netcdf-c's cache that an expert would try: small (chunks bypass it), and one that fits."""
    fits = _row_bytes(spec, pattern) + MIB
    return tuple(netcdf_c_cache(size) for size in sorted({MIB, 4 * MIB, 64 * MIB, max(fits, MIB)}))


def _against_netcdf_c(spec: FileSpec, chunks: tuple[int, ...], pattern: str, slabs: Path, count: int) -> Row:
    """Default settings on our side, on one thread; theirs by default, and tuned."""
    entry = _sweep("netcdf-c", spec, slabs, limit=LIMIT)
    tuned = _sweep("netcdf-c", spec, slabs, limit=LONG)
    tuned = replace(tuned, label="netcdf-c tuned", choices=_caches(spec, pattern))
    peers = (Peer(replace(entry, label="netcdf-c, default cache"), 1.0), Peer(tuned, 1.0))
    return Row(
        f"sweep-{pattern}/{_name(spec, chunks)}",
        1,
        _sweep("ncforge", spec, slabs, limit=LONG),
        peers,
        (spec,),
        unit="µs",
        per="read",
        reads=count,
        check={"reads": min(count, 2)},
        rounds=3,
        holds=_held(spec, pattern),
    )


def _own_cost(spec: FileSpec, chunks: tuple[int, ...], slabs: Path, count: int) -> Iterator[Row]:
    """A full sweep of slabs may cost three times reading all at once; on a quarter of the memory, four times that."""
    whole = Peer(replace(read("ncforge", spec), label="ncforge, one read of everything"), 1 / 3)
    sweep = _sweep("ncforge", spec, slabs, limit=LONG)
    quarter = max(_row_bytes(spec, "slab") // 4, MIB)
    for name, entry, peer in (
        ("cliff", sweep, whole),
        ("cliff-quarter", replace(sweep, memory=quarter), replace(whole, target=1 / 12)),
    ):
        for threads in (1, 2):
            yield Row(
                f"{name}/{_name(spec, chunks)}", threads, entry, (peer,), (spec,), per="sweep", reads=count, check=None,
                holds=_held(spec, "slab"),
            )  # fmt: skip
