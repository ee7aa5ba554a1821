"""Results for machines and for people."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path

from harness.model import Result


def machine() -> str:
    """The machine and the day, in one line."""
    cpu = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    memory = next((int(line.split()[1]) / 2**20 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    now = datetime.datetime.now(datetime.timezone.utc)
    load = os.getloadavg()[0]
    return (
        f"{now:%Y-%m-%d %H:%M} UTC; {len(os.sched_getaffinity(0))} CPUs, {cpu}; {memory:.0f} GiB; "
        f"{platform.system()} {platform.release()}; Python {platform.python_version()}; load {load:.1f}"
    )


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def number(value: float, unit: str) -> str:
    """A value with its unit, three digits that count."""
    if unit == "bytes":
        return f"{value / 1e6:.4g} MB"
    if unit == "s" and value < 0.1:
        value, unit = value * 1e3, "ms"
    return f"{value:.3g} {unit}"


def line(r: Result) -> list[str]:
    """One row of the table."""
    met = {None: "", True: "yes", False: "NO"}[r.met]
    target = "" if r.target is None else f"{r.target:.3g}"
    least, cpu = ("" if ratio is None else f"{ratio:.2f}" for ratio in (r.ratio_least, r.ratio_cpu))
    peer = f"{r.peer_name} {r.peer_version}".strip()
    ours = number(r.ours, r.unit) + ("" if r.ours_name == "ncforge" else " (Python)")
    return [r.name, str(r.threads), ours, number(r.peer, r.unit), peer, f"{r.ratio:.2f}", least, cpu, target, met]


HEAD = ["what", "threads", "ours", "peer", "which peer", "ratio", "of minima", "by CPU time", "target", "met"]


def table(results: list[Result], about: str) -> str:
    """A Markdown table."""
    rows = [HEAD, ["---"] * len(HEAD), *map(line, results)]
    wanted = [r for r in results if r.target is not None]
    met = sum(bool(r.met) for r in wanted)
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"{about}\n\nratio = peer ÷ ours, of medians, above 1: ncforge is better. {met} of {len(wanted)} targets met.\n\n{text}\n"


def load(folder: Path) -> list[Result]:
    """The results of an earlier run, if there was one."""
    file = folder / "results.json"
    return [Result(**r) for r in json.loads(file.read_text())] if file.exists() else []


def write(results: list[Result], folder: Path, about: str) -> None:
    """Writes results.json and results.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("results.json", json.dumps([r.as_dict() for r in results], indent=1, ensure_ascii=False) + "\n"),
        ("results.txt", table(results, about)),
    ):
        unfinished = folder / f".{name}"
        unfinished.write_text(text)
        unfinished.rename(folder / name)
