"""The engine that moves bytes: what it has done, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass

from ncforge import _core

__all__ = ["EngineStats", "clear_cache", "engine_stats"]


@dataclass(frozen=True)
class EngineStats:
    """What this process' engine has done so far, and its limits."""

    hits: int
    """Chunks that were found decoded in memory."""
    misses: int
    """Chunks that had to be fetched and decoded."""
    ahead_hits: int
    """Reads that were served from memory into which the engine had looked ahead; they touch no chunk."""
    bytes_decoded: int
    """Bytes that came out of decoders."""
    bytes_prefetched: int
    """Bytes of coming reads whose chunks were decoded in the background."""
    bytes_fetched: int
    """Bytes that were fetched from files."""
    bytes_delivered: int
    """Bytes that reads have given."""
    bytes_kept: int
    """Bytes of decoded chunks that are kept now."""
    bytes_ahead: int
    """Bytes of coming reads that are kept now."""
    memory: int
    """The memory budget in bytes (``NCFORGE_MEMORY``)."""
    threads: int
    """Threads that work on one request (``NCFORGE_THREADS``)."""


def engine_stats() -> EngineStats:
    """What this process' engine has done so far. Take the difference of two to see what a piece of work did."""
    return EngineStats(**dict(_core.engine_stats()))


def clear_cache() -> None:
    """Gives the memory of decoded chunks, of coming reads and of dropped results back."""
    _core.clear_cache()
