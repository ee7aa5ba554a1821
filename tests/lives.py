"""Random lives of one file: ncforge, netCDF4 and h5py change it in turn, and every library must find what a model says.

The model is NumPy arrays and dictionaries (`Model`). A life is a file of one of six kinds (classic in three versions, zipped, netCDF-4
in two models); a session opens it with one library, does some operations (`lives_operations`, chosen by `lives_random`), and closes it,
or is killed. After every ``sync`` and every ``close`` the file is copied and judged: netCDF4, ncforge, h5py and ncdump or h5dump read the copy, dimensions,
attributes and values equal the model's, and an HDF5 superblock says where the file ends.

``python tests/lives.py --sessions 100000`` lives for as long as that takes and prints what it did; ``--seed N --lives 1`` lives one again.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

import ncforge
from lives_model import Found, Model, differences, found_by_h5py, found_by_netcdf, values_of_either
from lives_operations import Create, Operation, Sync
from lives_random import random_operation
from peers import CLASSIC, as_plain

#: Each kind of file: its format, its suffix, who may change it.
KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    **{name: (name, ".nc", ("ncforge", "netCDF4")) for name in CLASSIC},
    "zipped": ("NETCDF3_64BIT_OFFSET", ".ncz", ("ncforge",)),
    "NETCDF4_CLASSIC": ("NETCDF4_CLASSIC", ".nc", ("ncforge", "netCDF4", "h5py")),
    "NETCDF4": ("NETCDF4", ".nc", ("ncforge", "netCDF4", "h5py")),
}
#: One session in so many is killed.
KILLED = 15
#: Lives that `main` gives to one process.
BATCH = 100


class Lost(AssertionError):
    """A reader does not find what was written."""


@dataclass
class Session:
    """The operations between opening and closing."""

    writer: str
    operations: list[Operation] = field(default_factory=list)
    killed_after: int | None = None
    """Kill the process after so many operations."""

    def __str__(self) -> str:
        end = "close" if self.killed_after is None else f"killed after {self.killed_after}"
        return f"{self.writer}: " + "; ".join(map(str, self.operations)) + f"; {end}"


def opened(writer: str, path: Path, mode: str, file_format: str) -> Any:
    """A file, opened by one of the libraries."""
    if writer == "h5py":
        # netCDF-C changes no file that does not know the order of what is in it.
        return h5py.File(path, "w", track_order=True) if mode == "w" else h5py.File(path, "r+")
    library = ncforge if writer == "ncforge" else netCDF4
    ds = library.Dataset(path, mode, format=file_format) if mode == "w" else library.Dataset(path, mode)
    ds.set_auto_maskandscale(False)
    return ds


def run_session(path: Path, session: Session, file_format: str) -> Iterator[Operation]:
    """Does what a session says; stops after every ``sync``, for the caller to look."""
    mode = "w" if session.operations and isinstance(session.operations[0], Create) else "a"
    ds = opened(session.writer, path, mode, file_format)
    try:
        for i, operation in enumerate(session.operations):
            if session.killed_after == i:
                os.kill(os.getpid(), signal.SIGKILL)
            if session.writer == "h5py":
                operation.by_h5py(ds)
            else:
                operation.by_netcdf(ds)
            if isinstance(operation, Sync):
                yield operation
        if session.killed_after is not None:
            os.kill(os.getpid(), signal.SIGKILL)
    finally:
        ds.close()


def run_killed(path: Path, session: Session, file_format: str) -> None:
    """A session in a process of its own, which dies of it."""
    with tempfile.NamedTemporaryFile(suffix=".pickle") as work:
        pickle.dump((path, session, file_format), work)
        work.flush()
        done = subprocess.run([sys.executable, __file__, "--session", work.name], capture_output=True, text=True)
    if done.returncode != -signal.SIGKILL:
        raise Lost(f"the session that was to be killed ended with {done.returncode}:\n{done.stderr[-3000:]}")


def superblock_end(path: Path) -> int | None:
    """Where an HDF5 file ends, as its superblock says (HDF5 File Format Specification, II.A); `None` for other files."""
    head = path.read_bytes()[:64]
    if not head.startswith(b"\x89HDF\r\n\x1a\n"):
        return None
    at = 40 if head[8] < 2 else 28
    return int.from_bytes(head[at : at + 8], "little")


def without_misplaced(theirs: Found, raw: Found, model: Model) -> Found:
    """netCDF-C's values, with the model's in variables of which HDF5 has less than the lengths of several dimensions, or
    not of the first.

    It puts their values at wrong places, or shows memory that nobody wrote (a dimension has grown with another variable).
    """
    variables = dict(theirs.variables)
    for path, (dims, values, attributes) in theirs.variables.items():
        if path not in raw.variables or dims is None:
            continue
        stored = raw.variables[path][1].shape
        short = stored[1:] != values.shape[1:] or (
            stored != values.shape and len(model.unlimited.intersection(dims)) > 1
        )
        if short and path in model.variables and model.variables[path].values.shape == values.shape:
            variables[path] = (dims, model.variables[path].values, attributes)
    return replace(theirs, variables=variables)


def read_in_parts(v: Any) -> list[tuple[Any, np.ndarray]]:
    """Selections of a variable of two dimensions that take little of its chunks, and their values."""
    if 0 in v.shape or v.dtype == str:
        return []
    v.set_auto_maskandscale(False)
    y, x = v.shape[0] // 3, v.shape[1] // 2
    keys = [np.s_[y, :], np.s_[:, x], np.s_[y : y + 2, x : x + 9], np.s_[-1, -1:]]
    return [(key, np.asarray(v[key])) for key in keys]


def judged(path: Path, by: str, models: list[Model], folder: Path, behind: int = 0) -> Model:
    """Has every library read a copy of the file; it must show the last of the models, or any of them with values of each.

    Gives the model that fits, with the values that were found. ``behind``: bytes behind the superblock's end that were there before.
    """
    copy = folder / f"copy{path.suffix}"
    shutil.copyfile(path, copy)
    end, size = superblock_end(copy), copy.stat().st_size
    if end is not None and (end > size or (by == "ncforge" and size > end + behind)):
        raise Lost(f"the superblock says that the file ends at {end}, it has {size} bytes")
    with ncforge.Dataset(copy) as ds:
        parts = {name: read_in_parts(v) for name, v in ds.variables.items() if v.ndim == 2 and v.size > 1 << 14}
        ours = found_by_netcdf(ds)
    for name, of_variable in parts.items():
        for key, values in of_variable:
            if not np.array_equal(values, ours.variables[name][1][key], equal_nan=values.dtype.kind == "f"):
                raise Lost(f"`{name}`{list(key)} is not what is there when all of it is read")
    with as_plain(copy) as plain:
        with netCDF4.Dataset(plain) as ds:
            theirs = found_by_netcdf(ds)
        tool = ["ncdump", "-h"] if end is None else ["h5dump", "-H"]
        done = subprocess.run([*tool, str(plain)], capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise Lost(f"{tool[0]} fails: {done.stderr[-500:]}")
        raw = found_by_h5py(plain) if end is not None else None
    reasons = []
    for model in reversed(models):
        placed = theirs if raw is None else without_misplaced(theirs, raw, model)
        wrong = list(differences(model, placed, "netCDF4", models))
        wrong += differences(model, ours, "ncforge", models)
        if raw is not None:
            wrong += differences(model, raw, "h5py", models)
        if not wrong:
            return model if len(models) == 1 else values_of_either(model, placed, models)
        reasons.append(wrong)
    raise Lost("; or ".join("; ".join(wrong[:5]) for wrong in reasons))


@dataclass
class Life:
    """One file's."""

    kind: str
    seed: int
    folder: Path
    sessions: list[Session] = field(default_factory=list)
    model: Model | None = None

    def __post_init__(self) -> None:
        self.file_format, suffix, self.writers = KINDS[self.kind]
        self.path = self.folder / f"life{suffix}"
        self.random = random.Random(f"{self.kind} {self.seed}")

    def session(self) -> Session:
        """Opens, changes, closes (or is killed), and judges."""
        # Only ncforge is killed: nobody promises anything for the others.
        is_new = self.model is None
        makers = self.writers if self.file_format == "NETCDF4" else [w for w in self.writers if w != "h5py"]
        writer = self.random.choice(makers if is_new else self.writers)
        session = Session(writer)
        self.sessions.append(session)
        model = self.model or Model(self.file_format)
        model = model.copy()
        model.is_filling = True
        model.changed = set()
        states = [model.copy()]
        if is_new:
            session.operations.append(Create())
            states.append(model.copy())
        for _ in range(self.random.randint(1, 6)):
            operation = random_operation(model, writer, self.random)
            operation.on(model)
            session.operations.append(operation)
            states.append(model.copy())
        if writer == "ncforge" and self.random.randrange(KILLED) == 0:
            self.run_killed(session, states, is_new)
        else:
            self.run(session, states)
        return session

    def run(self, session: Session, states: list[Model]) -> None:
        # Data of a killed session stay until somebody has something to write.
        end = superblock_end(self.path) if self.path.exists() else None
        behind = self.path.stat().st_size - end if end is not None else 0
        for operation in run_session(self.path, session, self.file_format):
            at = next(i for i, o in enumerate(session.operations) if o is operation)
            judged(self.path, session.writer, [states[at + 1]], self.folder, behind)
        self.model = judged(self.path, session.writer, [states[-1]], self.folder, behind)

    def run_killed(self, session: Session, states: list[Model], is_new: bool) -> None:
        n = len(session.operations)
        session.killed_after = killed = self.random.randint(1 if is_new else 0, n)
        synced = max((i + 1 for i, o in enumerate(session.operations[:killed]) if isinstance(o, Sync)), default=0)
        run_killed(self.path, session, self.file_format)
        if is_new and synced == 0:
            # Nothing was published.
            if self.path.exists():
                raise Lost("a file that nobody closed or synced has its name")
            return
        # All that was done since the last sync may be there or not.
        self.model = judged(self.path, "killed", states[synced : killed + 1], self.folder)


def live(kind: str, seed: int, sessions: int, folder: Path) -> Counter[str]:
    """One life; what was done in it. Raises `Lost`, with the history, where something is."""
    life = Life(kind, seed, folder)
    done: Counter[str] = Counter()
    try:
        for _ in range(sessions):
            session = life.session()
            done[session.writer if session.killed_after is None else "killed"] += 1
    except Exception as e:
        history = "\n".join(f"  {i}. {s}" for i, s in enumerate(life.sessions))
        raise Lost(f"{kind}, seed {seed}: {type(e).__name__}: {e}\n{history}") from e
    finally:
        for path in folder.glob("*life*"):
            path.unlink()
    return done


def lives(sessions: int, seed: int, length: int = 12) -> Iterator[tuple[str, int]]:
    """Kinds and seeds of as many lives as so many sessions need."""
    kinds = list(KINDS)
    for i in range(-(-sessions // length)):
        yield kinds[i % len(kinds)], seed + i


def main() -> int:
    """Lives; says what was lost."""
    parser = argparse.ArgumentParser(description="Random lives of files.")
    parser.add_argument("--sessions", type=int, default=5000)
    parser.add_argument("--length", type=int, default=12, help="sessions of a life")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--keep-going", action="store_true", help="print what is lost, and go on")
    parser.add_argument("--session", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.session:
        path, session, file_format = pickle.loads(Path(options.session).read_bytes())
        for _ in run_session(path, session, file_format):
            pass
        return 1
    done: Counter[str] = Counter()
    lost = 0
    begun = time.monotonic()
    left = [of for of in lives(options.sessions, options.seed, options.length) if options.kind in (None, of[0])]
    while left:
        ended = batch(left[:BATCH], options.length)
        for report in ended:
            done += report.done
            if report.lost is not None:
                lost += 1
                print(report.lost, file=sys.stderr, flush=True)
                if not options.keep_going:
                    return 1
        left = left[len(ended) :]
        print(f"{done.total()} sessions, {lost} lives lost something", file=sys.stderr, flush=True)
    print(f"{done.total()} sessions {dict(done)} in {time.monotonic() - begun:.0f} s, {lost} lives lost something")
    return 1 if lost else 0


@dataclass
class Report:
    """A life that ended: what was done in it, and what was lost."""

    done: Counter[str] = field(default_factory=Counter)
    lost: str | None = None


def batch(which: list[tuple[str, int]], length: int) -> list[Report]:
    """Some lives, in a process of their own: a library that crashes as it reads a file ends that life and not the others."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        faulthandler.enable()
        with tempfile.TemporaryDirectory() as folder, os.fdopen(writing, "wb") as out:
            for kind, seed in which:
                report = Report()
                try:
                    report.done = live(kind, seed, length, Path(folder))
                except Lost as e:
                    report.lost = str(e)
                pickle.dump(report, out)
                out.flush()
        os._exit(0)
    os.close(writing)
    ended: list[Report] = []
    with os.fdopen(reading, "rb") as reports:
        while reports.peek(1):  # type: ignore[attr-defined]
            ended.append(pickle.load(reports))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        kind, seed = which[len(ended)]
        ended.append(Report(lost=f"{kind}, seed {seed}: the process that lived it ended with {status}"))
    return ended


if __name__ == "__main__":
    sys.exit(main())
