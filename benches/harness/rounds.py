"""Rounds: every contestant of a row checked once, then timed in turn."""

from __future__ import annotations

import os
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.data import Data, nbytes
from harness.model import Entry, Fields, Peer, Result, Row
from harness.plan import MIB
from harness.processes import WorkerError, Workers

UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6}
# A row whose contestants need longer than this for one round gets fewer rounds.
LONG_ROUND = 12.0
# Seconds that each setting of a contestant with choices is tried for: more than decoding 200 MB takes, so that a cache
# that is filled by the first read shows what it is good for.
PROBE = 1.0
# At least so many rounds; after them a row ends as soon as its result is settled.
FEWEST = 3
# Settled: all rounds' ratios are on one side of the target and this far from it, or they lie this close together.
MARGIN = 1.2
NARROW = 1.06
# `NARROW` for peers without a target.
FOR_INFORMATION = 1.3


def memory_at_hand(folder: Path, amount: int) -> None:
    """Writes a file of so many bytes and removes it.

    A virtual machine hands free memory back to its host, and who needs it next waits for it, ten times as long as
    for memory that is there. So everyone who writes a file finds memory for it there.
    """
    block = np.ones(MIB, np.uint8).data
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(-(-amount // MIB)):
            file.write(block)


def memory_to_hold(amount: int) -> None:
    """Takes so much memory and gives it back, for the same reason: programs that read may need much of it, too, and one
    that kept what it had in the round before would otherwise be compared with one that gave it back.
    """
    np.ones(amount, np.uint8)


def bring_into_cache(path: Path) -> None:
    """Reads a file, or all files of a folder, so that the page cache has all of it: checks and first rounds may touch but a
    little.
    """
    if path.is_dir():
        for file_of_folder in path.iterdir():
            bring_into_cache(file_of_folder)
        return
    with path.open("rb", buffering=0) as file:
        block = bytearray(MIB)
        while file.readinto(block):
            pass


@dataclass
class Measured:
    """The measurements of one contestant."""

    entry: Entry
    fields: Fields
    label: str
    version: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)
    size: int | None = None


def settled(ours: Measured, theirs: Measured, peer: Peer) -> bool:
    """Whether more rounds would not change what the result says."""
    ratios = [b / a if a > 0 else float("inf") for a, b in zip(ours.wall, theirs.wall, strict=True)]
    low, high, target = min(ratios), max(ratios), peer.target
    if target is None:
        return high <= low * FOR_INFORMATION
    return high <= low * NARROW or low >= target * MARGIN or high * MARGIN <= target


class Rounds:
    """Measures rows."""

    def __init__(self, workers: Workers, data: Data, rounds: int, cold: bool) -> None:
        self.workers = workers
        self.data = data
        self.rounds = rounds
        self.cold = cold
        # The greatest share of a file that stayed in the page cache when it was evicted, in the current row.
        self._resident = 0.0
        self._sums: dict[tuple[str, tuple[int, ...]], str] = {}

    def measure(self, row: Row) -> list[Result]:
        """All results of a row. Different values are an error."""
        self._resident = 0.0
        for spec in row.files:
            self.data.ensure(spec)
            if not self.cold:
                bring_into_cache(spec.path)
        if row.expected:
            self.data.source(*row.expected)
        ours = self._contestant(row, row.ours)
        there = [peer for peer in row.peers if self.workers.available(peer.entry.backend, peer.entry.tool)]
        peers = [self._contestant(row, peer.entry) for peer in there]
        everyone = [ours, *peers]
        self._check(row, everyone)
        first = sum(self._time(row, one) for one in everyone)
        rounds = min(self.rounds, row.rounds or self.rounds)
        if first > LONG_ROUND:
            rounds = max(min(rounds, 2), int(rounds * LONG_ROUND / first))
        for n in range(1, rounds):
            if n >= min(FEWEST, rounds - 1) and all(map(settled, [ours] * len(peers), peers, there)):
                break
            for one in everyone if n % 2 == 0 else reversed(everyone):
                self._time(row, one)
        results = []
        for peer, theirs in zip(there, peers, strict=True):
            results += self._results(row, ours, peer, theirs)
        return results

    def _contestant(self, row: Row, entry: Entry) -> Measured:
        hello = self.workers.get(entry.backend, row.threads, entry.memory).hello
        fields = {key: value() if callable(value) else value for key, value in entry.fields.items()}
        label = entry.label or hello["name"]
        one = Measured(entry, fields, label, entry.version or hello["version"])
        if len(entry.choices) > 1:
            cost = [self._cost(row, self._ask(row, one, choice | {"limit": PROBE})) for choice in entry.choices]
            one.fields |= entry.choices[cost.index(min(cost))]
        elif entry.choices:
            one.fields |= entry.choices[0]
        if "setting" in one.fields:
            one.label += f", {one.fields['setting']}"
        return one

    def _ask(self, row: Row, one: Measured, more: Fields | None = None) -> dict[str, Any]:
        if one.entry.output:
            one.entry.output.unlink(missing_ok=True)
            # Nobody pays for what the one before left to the system to bring to disk.
            os.sync()
            if row.expected:
                memory_at_hand(one.entry.output.parent, nbytes(*row.expected))
        held = row.holds
        if row.expected and not one.entry.output:
            held = nbytes(*row.expected)
        if held:
            memory_to_hold(2 * held)
        if self.cold:
            for spec in row.files:
                answer = self.workers.get("ncforge", 1).ask({"do": "evict", "path": spec.path})
                self._resident = max(self._resident, float(answer["resident"]))
        worker = self.workers.get(one.entry.backend, row.threads, one.entry.memory, fresh=row.fresh)
        return worker.ask(one.fields | (more or {}))

    def _check(self, row: Row, everyone: list[Measured]) -> None:
        """Every contestant does its work once, and its values are compared."""
        if row.check is None:
            return
        wanted = self._expected(row)
        for one in everyone:
            # The bare codec knows no values, and plain writes no format: only their bytes can be counted.
            # Nothing is cut short here, so that all of them read the same.
            answer = self._ask(row, one, row.check | {"check": 1, "limit": ""})
            got = answer.get("checksum")
            if one.entry.output and one.entry.output.exists():
                one.size = one.entry.output.stat().st_size
                if one.entry.backend != "system":
                    got = self._values_of(str(one.entry.output))
                one.entry.output.unlink()
            if got is None:
                continue
            wanted = wanted or got
            if got != wanted:
                raise WorkerError(f"{row.name}: {one.label} has other values ({got}) than expected ({wanted})")

    def _values_of(self, path: str) -> str:
        """The checksum of what netCDF4-python reads."""
        answer = self.workers.get("netCDF4", 1).ask({"do": "read", "path": path, "var": "v", "check": 1})
        return str(answer["checksum"])

    def _expected(self, row: Row) -> str | None:
        """The checksum of the values that a row is about."""
        if row.expected is None:
            return None
        if row.expected not in self._sums:
            from workers.main import checksum

            source = self.data.source(*row.expected)
            self._sums[row.expected] = f"{checksum(np.fromfile(source, np.uint8)):016x}"
        return self._sums[row.expected]

    def _time(self, row: Row, one: Measured) -> float:
        answer = self._ask(row, one)
        if one.entry.output:
            one.entry.output.unlink(missing_ok=True)
        one.wall.append(self._cost(row, answer))
        one.cpu.append(self._cost(row, answer, "cpu"))
        if "peak" in answer:
            one.peak.append(float(answer["peak"]))
        return float(answer["wall"])

    def _cost(self, row: Row, answer: dict[str, Any], clock: str = "wall") -> float:
        value = float(answer[clock])
        if row.per == "read":
            value /= answer["reads"]
        elif row.per == "sweep" and answer["reads"] > 1:
            value *= row.reads / answer["reads"]
        return value * UNITS[row.unit]

    def _results(self, row: Row, ours: Measured, peer: Peer, theirs: Measured) -> list[Result]:
        def result(name: str, unit: str, a: float, b: float, target: float | None) -> Result:
            ratio = b / a if a > 0 else float("inf")
            cache = "warm"
            if self.cold:
                cache = "cold" if self._resident < 0.01 else f"cold, but {self._resident:.0%} resident"
            met = None if target is None else ratio >= target
            return Result(
                name, unit, a, b, theirs.label, theirs.version, ratio, row.threads, cache, len(ours.wall),
                target, met, ours_name=ours.label, row=row.key(self.cold),
            )  # fmt: skip

        wall = (statistics.median(ours.wall), statistics.median(theirs.wall))
        cpu = (statistics.median(ours.cpu), statistics.median(theirs.cpu))
        results = [result(row.name, row.unit, *wall, peer.target)]
        results[0].ratio_cpu = cpu[1] / cpu[0] if cpu[0] > 0 else None
        results[0].ours_least, results[0].peer_least = least = min(ours.wall), min(theirs.wall)
        results[0].ratio_least = least[1] / least[0] if least[0] > 0 else None
        if row.sizes and ours.size and theirs.size and peer.size_target is not None:
            results.append(result(f"{row.name}/size", "bytes", ours.size, theirs.size, peer.size_target))
        if ours.peak and theirs.peak:
            peaks = (statistics.median(ours.peak), statistics.median(theirs.peak))
            results.append(result(f"{row.name}/memory", "bytes", *peaks, peer.peak_target))
        return results
