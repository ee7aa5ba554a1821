"""The harness of `make bench`: what it must get right whatever the libraries do."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import report
from harness.data import Data
from harness.model import Entry, Peer, Row
from harness.plan import Plan
from harness.processes import WorkerError, Workers
from harness.rounds import Rounds
from workers.main import checksum

PARTS = ("reading", "writing", "classic", "plain", "sweep", "points", "records", "opening", "commands")


class Canned:
    """Workers that give the answers which the requests hold, one after the other."""

    def __init__(self) -> None:
        self.hello = {"name": "canned", "version": "1"}
        self.asked: list[str] = []

    def get(self, backend: str, threads: int, memory: int | None = None) -> Canned:
        return self

    def available(self, backend: str) -> bool:
        return backend != "missing"

    def ask(self, fields: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(fields["who"])
        answer = {"wall": fields["wall"], "cpu": fields["wall"] / 2, "reads": fields.get("done", 1), "bytes": 0}
        return answer | ({"checksum": fields["sum"]} if "check" in fields else {})


def entry(who: str, wall: float, **more: Any) -> Entry:
    return Entry("canned", {"who": who, "wall": wall, "sum": "5"} | more, who)


def rounds(workers: Canned, n: int) -> Rounds:
    return Rounds(workers, None, n, cold=False)  # type: ignore[arg-type]


def test_results_are_ratios_of_medians_in_turn() -> None:
    workers = Canned()
    row = Row("r", 1, entry("ours", 2.0), (Peer(entry("a", 3.0), 1.4), Peer(entry("b", 1.0), 1.0)))
    a, b = rounds(workers, 2).measure(row)
    assert (a.ours, a.peer, a.ratio, a.ratio_cpu, a.met, a.rounds) == (2.0, 3.0, 1.5, 1.5, True, 2)
    assert (b.ratio, b.met) == (0.5, False)
    check, first, second = workers.asked[:3], workers.asked[3:6], workers.asked[6:]
    assert check == first == ["ours", "a", "b"]
    assert second == ["b", "a", "ours"]
    assert "1 of 2 targets met" in report.table([a, b], "here")


def test_other_values_are_an_error() -> None:
    row = Row("r", 1, entry("ours", 1.0), (Peer(entry("a", 1.0, sum="6")),))
    with pytest.raises(WorkerError, match="other values"):
        rounds(Canned(), 1).measure(row)


def test_a_sweep_cut_short_counts_as_a_whole_one() -> None:
    whole = entry("whole", 3.0, done=100)
    row = Row("r", 1, entry("cut", 2.0, done=10), (Peer(whole),), per="sweep", reads=100)
    (result,) = rounds(Canned(), 1).measure(row)
    assert (result.ours, result.peer) == (20.0, 3.0)


def test_a_library_that_is_not_there_is_left_out() -> None:
    missing = Entry("missing", {"who": "missing", "wall": 1.0})
    assert rounds(Canned(), 1).measure(Row("r", 1, entry("ours", 1.0), (Peer(missing),))) == []


def test_checksums_follow_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checksum(np.array([], np.uint8)) == 0
    assert checksum(np.array([1, 0, 0, 0, 0, 0, 0, 0, 2], np.uint8)) == 1 + 2 * 3
    monkeypatch.setattr("workers.main.BLOCK", 64)
    words = np.arange(643, dtype=np.uint64)
    expected = sum(int(w) * (2 * i + 1) for i, w in enumerate(words.tolist())) % 2**64
    assert checksum(words) == expected


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    workers = Workers(tmp_path / "none", tmp_path / "none")
    return Plan(Data(tmp_path, workers), quick=False, command=tmp_path / "none")


def test_every_row_of_the_table_is_there(plan: Plan) -> None:
    rows = [row for part in PARTS for row in import_module(f"rows.{part}").rows(plan)]
    seen = {(row.name, row.threads, row.ours.backend) for row in rows}
    assert len(seen) == len(rows)
    for part in ("read", "write", "classic-read", "classic-write", "plain-read", "sweep-slab", "sweep-series"):
        assert any(row.name.startswith(f"{part}/") for row in rows), part
    assert sum(row.name.startswith("sweep-slab/") for row in rows) == 5 * 3 * 3 * 2
    # Rows are made without making data: `--list` is quick.
    assert not list(plan.data.folder.glob("*.raw")) and not list(plan.data.folder.glob("*.nc"))
