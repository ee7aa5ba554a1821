#!/usr/bin/env python3
"""Copies every netCDF file it is given through ncforge and asks other tools what they see.

    roundtrip.py [--binary PATH] [--jobs N] [--quick] FILE-OR-FOLDER...

For every netCDF file F:

* ``ncforge copy F out.nc --format netcdf4 --chunks auto --codec deflate --verify`` succeeds, or fails with a clear
  error for a file that ``ncdump -h`` cannot open either;
* ``ncforge compare F out.nc`` exits 0;
* ``ncdump -h out.nc`` succeeds;
* netCDF4-python and h5py read every variable of out.nc, equal to netCDF4-python's reading of F;
* the same to ``cdf5`` and ``classic`` and from there back to ``netcdf4``, where the types allow it.

Exit code 0: all of it holds for all files. The last line tells how many files, copies and values that were.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import netCDF4
import numpy as np

from commands import find_binary

#: First bytes of the files that are tried.
MAGIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05", b"\x89HDF\r\n\x1a\n")
#: Values of a variable that are read at a time.
PIECE = 4_000_000


@dataclass
class Outcome:
    """The result for one file."""

    path: Path
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    copies: int = 0
    values: int = 0


def is_netcdf(path: Path) -> bool:
    """Whether a file starts as netCDF files do."""
    try:
        with path.open("rb") as f:
            head = f.read(8)
    except OSError:
        return False
    return head.startswith(MAGIC)


def find(paths: list[Path]) -> list[Path]:
    """All netCDF files among files and below folders, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (Path(top) / name for top, _, names in os.walk(path) for name in sorted(names))
            found.update((p, None) for p in inside if p.is_file() and is_netcdf(p))
        else:
            found[path] = None
    return list(found)


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Runs a command, its output as text."""
    words = [str(c) for c in command]
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)


def pieces(shape: tuple[int, ...]):
    """Index expressions that walk over an array in parts of about PIECE values along its first axis."""
    if not shape:
        yield ()
        return
    row = int(np.prod(shape[1:], dtype=np.int64))
    step = max(1, PIECE // max(row, 1))
    for start in range(0, shape[0], step):
        yield (slice(start, min(start + step, shape[0])),)


def same(a: object, b: object) -> bool:
    """Whether two readings hold the same values, NaN being equal to NaN."""
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape:
        return False
    if x.dtype == object or y.dtype == object:
        return all(same_one(p, q) for p, q in zip(x.ravel(), y.ravel(), strict=True))
    if x.dtype.kind in "SU" or y.dtype.kind in "SU":
        return bool(np.array_equal(x.astype("S"), y.astype("S")))
    if x.dtype.names and y.dtype.kind == "c":
        # h5py's own reading of a compound of two floats.
        real, imaginary = x.dtype.names
        return same(x[real], y.real) and same(x[imaginary], y.imag)
    if x.dtype.names:
        return all(same(x[n], y[n]) for n in x.dtype.names)
    if x.dtype.kind == "V":
        return x.tobytes() == y.tobytes()
    x, y = x.astype(x.dtype.newbyteorder("=")), y.astype(y.dtype.newbyteorder("="))
    if x.tobytes() == y.tobytes():
        return True
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))


def same_one(p: object, q: object) -> bool:
    """As :func:`same`, for one element of an array of objects: a string or a ragged row."""
    if isinstance(p, bytes):
        p = p.decode("utf-8", "surrogateescape")
    if isinstance(q, bytes):
        q = q.decode("utf-8", "surrogateescape")
    if isinstance(p, str) or isinstance(q, str):
        return p == q
    return same(p, q)


def groups(ds: netCDF4.Dataset):
    """A dataset and all groups below it."""
    yield ds
    for g in ds.groups.values():
        yield from groups(g)


def beyond_the_stored(h5: h5py.File | None, path: str, v: netCDF4.Variable) -> np.ndarray | None:
    """All values of a variable that is stored shorter than its dimensions are; None for all others.

    NetCDF-C up to 4.10 puts the values of such variables at wrong places when several are read at once and the
    dimension is not the first, so they are put together here.
    """
    if h5 is None:
        return None
    d = h5.get(h5_name(h5, path))
    if not isinstance(d, h5py.Dataset) or d.shape == v.shape or d.dtype.kind not in "iufS":
        return None
    if d.shape[1:] == v.shape[1:] and sum(dim.isunlimited() for dim in v.get_dims()) < 2:
        return None
    whole = np.full(v.shape, d.fillvalue, d.dtype)
    whole[tuple(slice(0, n) for n in d.shape)] = d[()]
    return whole


def check_values(source: Path, copy: Path, out: Outcome, label: str, with_h5py: bool, skipped: set[str]) -> None:
    """netCDF4-python (and h5py) must read the same of the copy as netCDF4-python reads of the source."""
    try:
        netCDF4.Dataset(source).close()
    except OSError as e:
        out.notes.append(f"{label}: netCDF4-python cannot open the source: {e}")
        return
    original = h5py.File(source, "r") if h5py.is_hdf5(source) else None
    with netCDF4.Dataset(source) as a, netCDF4.Dataset(copy) as b:
        h5 = h5py.File(copy, "r") if with_h5py else None
        for ds in (a, b):
            ds.set_auto_maskandscale(False)
            for g in groups(ds):
                g.set_auto_maskandscale(False)
                for v in g.variables.values():
                    v.set_auto_chartostring(False)
        for g in groups(a):
            other = b if g is a else b[g.path]
            names = [n for n in g.variables if f"{g.path.rstrip('/')}/{n}" not in skipped]
            if names != list(other.variables):
                out.problems.append(f"{label}: other variables in {g.path}: {list(other.variables)}")
                continue
            for name in names:
                v = g.variables[name]
                w = other.variables[name]
                where = f"{g.path.rstrip('/')}/{name}"
                whole = beyond_the_stored(original, where, v)
                for index in pieces(v.shape):
                    try:
                        read = v if whole is None else whole
                        want = read[index] if index else read[...]
                    except Exception as e:  # a damaged or odd source: nothing to compare with
                        out.notes.append(f"{where}: netCDF4-python cannot read the source: {e}")
                        break
                    got = w[index] if index else w[...]
                    out.values += int(np.asarray(want).size)
                    if not same(want, got):
                        if original is not None and h5 is not None and peers_disagree(original, h5, where, want):
                            out.notes.append(f"{label}: {where}: h5py and netCDF4-python read the source differently")
                            break
                        out.problems.append(f"{label}: {where}: netCDF4-python reads other values")
                        break
                    if h5 is not None:
                        d = h5[h5_name(h5, where)]
                        part = d[index] if index else d[()]
                        if not same(want, part):
                            out.problems.append(f"{label}: {where}: h5py reads other values")
                            break
        if h5 is not None:
            h5.close()
    if original is not None:
        original.close()


def peers_disagree(original: h5py.File, copy: h5py.File, path: str, want: object) -> bool:
    """Whether h5py reads other values of the source than netCDF4-python does, and the same of the copy.

    (NetCDF-C takes a text field of a compound for one character.)
    """
    a, b = original[h5_name(original, path)][()], copy[h5_name(copy, path)][()]
    if a.dtype.names and b.dtype.names:
        # A text field of a fixed length is a row of characters in netCDF.
        a, b = ([x[n].astype(x[n].dtype.newbyteorder("=")).tobytes() for n in x.dtype.names] for x in (a, b))
        return a == b
    return same(a, b) and not same(a, want)


def h5_name(h5: h5py.File, path: str) -> str:
    """The HDF5 object of a variable: one with a dimension's name that is no coordinate is called otherwise."""
    parent, _, name = path.rpartition("/")
    hidden = f"{parent}/_nc4_non_coord_{name}"
    return hidden if hidden in h5 else path


def copy_and_check(
    ncforge: Path, source: Path, original: Path, copy: Path, options: list[str], out: Outcome, label: str
) -> int:
    """One copy, and everything that must hold for it. Gives the exit code of ``ncforge copy``."""
    done = run(ncforge, "copy", source, copy, *options, "--verify", "--quiet", "--json")
    if done.returncode != 0:
        return report_failure(done, source, out, label)
    out.copies += 1
    compared = run(ncforge, "compare", "--quiet", original, copy)
    if compared.returncode != 0:
        first = (compared.stdout + compared.stderr).strip().splitlines()[:1]
        out.problems.append(f"{label}: compare exits {compared.returncode}: {' '.join(first)}")
    dumped = run("ncdump", "-h", copy)
    if dumped.returncode != 0:
        out.problems.append(f"{label}: ncdump -h fails: {dumped.stderr.strip()}")
        return 0
    try:
        skipped = {note.split("`")[1] for note in json.loads(done.stdout)["notes"] if note.endswith("netCDF has not")}
        check_values(original, copy, out, label, "netcdf4" in options, skipped)
    except Exception as e:
        out.problems.append(f"{label}: reading the copy fails: {type(e).__name__}: {e}")
    return 0


def report_failure(done: subprocess.CompletedProcess[str], source: Path, out: Outcome, label: str) -> int:
    """A copy that failed: allowed for what netCDF-C cannot open either, and for what a format cannot hold."""
    message = done.stderr.strip()
    opens = run("ncdump", "-h", source).returncode == 0
    if done.returncode < 0 or "panicked" in message or not message.startswith("ncforge: "):
        out.problems.append(f"{label}: copy ends with {done.returncode}: {message[:300]}")
    elif not opens:
        out.notes.append(f"{label}: neither ncforge nor ncdump opens it: {message}")
    elif "cannot hold" in message and label != "netcdf4":
        out.notes.append(f"{label}: {message.splitlines()[0]}")
    else:
        out.problems.append(f"{label}: copy fails ({done.returncode}): {message[:300]}")
    return done.returncode


def check_file(ncforge: Path, source: Path, quick: bool) -> Outcome:
    """All checks of one file."""
    # netCDF4-python tells of every type that it does not know.
    warnings.simplefilter("ignore")
    out = Outcome(source)
    folder = Path(tempfile.mkdtemp(prefix="ncforge-roundtrip-"))
    try:
        deflated = ["--format", "netcdf4", "--chunks", "auto", "--codec", "deflate"]
        copy_and_check(ncforge, source, source, folder / "out.nc", deflated, out, "netcdf4")
        for name in [] if quick else ["cdf5", "classic"]:
            there = folder / f"{name}.nc"
            if copy_and_check(ncforge, source, source, there, ["--format", name], out, name) == 0:
                back = folder / f"{name}-back.nc"
                copy_and_check(ncforge, there, source, back, deflated, out, f"{name} and back")
    except Exception as e:
        out.problems.append(f"{type(e).__name__}: {e}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return out


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--binary", type=Path, default=None, help="the command (default: the newest one built)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="netcdf4 only, not cdf5 and classic")
    args = parser.parse_args()
    ncforge = args.binary or find_binary()
    files = find(args.paths)
    if not files:
        print("no netCDF file found", file=sys.stderr)
        return 2
    failed = copies = values = 0
    with ProcessPoolExecutor(max_workers=args.jobs) as pool:
        for out in pool.map(check_file, [ncforge] * len(files), files, [args.quick] * len(files)):
            copies += out.copies
            values += out.values
            for note in out.notes:
                print(f"note  {out.path}: {note}")
            for problem in out.problems:
                print(f"FAIL  {out.path}: {problem}")
            failed += bool(out.problems)
    print(f"{len(files)} files, {copies} copies, {values} values read by peers, {failed} files with problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
