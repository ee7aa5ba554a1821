"""The engine that moves bytes: its statistics, and the memory that it holds."""

from __future__ import annotations

from dataclasses import dataclass

from ncforge import _core

__all__ = ["EngineStats", "clear_cache", "engine_stats"]


@dataclass(frozen=True)
class EngineStats:
    """Statistics of this process's engine, and its limits."""

    hits: int
    """Chunks that were found decoded in memory."""
    misses: int
    """Chunks that had to be fetched and decoded."""
    ahead_hits: int
    """Reads that were served from read-ahead windows; they touch no chunk."""
    bytes_decoded: int
    """Bytes that decoders produced."""
    bytes_prefetched: int
    """Bytes of read-ahead whose chunks were decoded in the background."""
    bytes_fetched: int
    """Bytes that were fetched from files."""
    bytes_delivered: int
    """Bytes that reads have returned."""
    bytes_kept: int
    """Bytes of decoded chunks that are cached now."""
    bytes_ahead: int
    """Bytes of read-ahead windows that are held now."""
    memory: int
    """The memory budget in bytes (``NCFORGE_MEMORY``)."""
    threads: int
    """Threads that work on one request (``NCFORGE_THREADS``)."""


def engine_stats() -> EngineStats:
    """Statistics of this process's engine so far. The difference of two shows the work between them."""
    return EngineStats(**dict(_core.engine_stats()))


def clear_cache() -> None:
    """Frees the memory of decoded chunks, of read-ahead windows and of dropped results."""
    _core.clear_cache()
