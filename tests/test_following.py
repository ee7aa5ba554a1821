"""A reader that stays open while others write the file: after each sync it has what was synced, and never older values again."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import created

#: Writes boxes of random values that standard input names, syncs, and stores what the array is now.
WRITER = """
import sys
import h5py, netCDF4, numpy as np
path, kind, packed = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
if kind == "netcdf4":
    ds = netCDF4.Dataset(path, "w")
    ds.createDimension("t", None)
    ds.createDimension("x", 1000)
    v = ds.createVariable("v", "i4", ("t", "x"), chunksizes=(4, 100), zlib=packed)
    text = ds.createVariable("text", str, ("t",))
    v.set_auto_mask(False)
    sync = ds.sync
else:
    ds = h5py.File(path, "w", libver=kind)
    v = ds.create_dataset("v", (0, 1000), "i4", chunks=(4, 100), maxshape=(None, 1000), compression="gzip" if packed else None)
    sync, text = ds.flush, None
for line in sys.stdin:
    first, column, rows, columns, seed = map(int, line.split())
    if text is None:
        v.resize((max(first + rows, len(v)), 1000))
    else:
        text[first] = "t" * (seed % 50)
    # Of some values compression leaves little, of others all: chunks change their size, and move.
    v[first : first + rows, column : column + columns] = np.random.default_rng(seed).integers(
        0, 2 << seed % 30, (rows, columns)
    )
    sync()
    np.save(path + ".npy", v[:])
    print(len(v), flush=True)
"""


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["netcdf4", "earliest", "latest"])
@pytest.mark.parametrize("seed", range(2))
def test_a_reader_has_what_another_library_synced(tmp_path: Path, kind: str, packed: bool, seed: int) -> None:
    dice = random.Random(seed)
    path = tmp_path / "run.nc"
    line = [sys.executable, "-c", WRITER, str(path), kind, str(packed)]
    off = {**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"}
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=off) as writer:
        assert writer.stdin and writer.stdout

        def write(*box: int) -> int:
            print(*box, dice.getrandbits(30), file=writer.stdin, flush=True)
            return int(writer.stdout.readline())  # type: ignore[union-attr]

        rows = write(0, 0, 8, 1000)
        with ncforge.Dataset(path) as follower:
            follower.set_auto_mask(False)
            for step in range(20):
                count, width = dice.randint(1, 9), dice.choice([1, 50, 100, 1000])
                first = dice.randint(0, rows) if step % 2 else dice.randint(0, max(rows - count, 0))
                rows = write(first, dice.randint(0, 1000 - width), count, width)
                want = np.load(f"{path}.npy")
                got = np.asarray(follower["v"][:])
                np.testing.assert_array_equal(got, want[: len(got)], err_msg=f"step {step}")
                with ncforge.Dataset(path) as fresh:
                    fresh.set_auto_mask(False)
                    np.testing.assert_array_equal(fresh["v"][:], want, err_msg=f"step {step}, opened now")
                    if kind == "netcdf4":
                        assert set("".join(follower["text"][:])) <= {"t"}
        writer.stdin.close()
        assert writer.wait() == 0


#: Opens a file in mode "a", and in turn takes lines from standard input: Python that is executed, with the dataset as `ds`.
UPDATER = """
import sys
import numpy as np
import {library}
ds = {library}.Dataset(sys.argv[1], "a")
print("open", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
ds.close()
"""


class Elsewhere:
    """A writer in another process."""

    def __init__(self, path: Path, library: str) -> None:
        line = [sys.executable, "-c", UPDATER.format(library=library), str(path)]
        off = {**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"}
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=off)
        self._answer()

    def _answer(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() in ("open\n", "done\n")

    def __call__(self, line: str) -> None:
        """Executes a line."""
        print(line, file=self.process.stdin, flush=True)
        self._answer()

    def close(self) -> None:
        """Ends it."""
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
            assert self.process.wait(30) == 0


class Here:
    """A writer in this process."""

    def __init__(self, path: Path, library: str) -> None:
        self.ds = ncforge.Dataset(path, "a") if library == "ncforge" else netCDF4.Dataset(path, "a")

    def __call__(self, line: str) -> None:
        """Executes a line."""
        exec(line, {"ds": self.ds, "np": np})

    def close(self) -> None:
        """Ends it."""
        self.ds.close()


#: Times of files are those of the last tick of the system's clock, of 1 to 10 ms. What others write in the tick of a look has the
#: time of what was looked at: a reader that asks for the time alone sees it a tick later. Three times the longest.
TICK = 0.03

SHAPE = (4, 6)
#: Formats whose readers stay in the state of their opening.
KEPT = ("zipped", "zipped records")

#: How `v` is stored: the format, and what `createVariable` is told.
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cdf1": ("NETCDF3_CLASSIC", {}),
    "cdf2": ("NETCDF3_64BIT_OFFSET", {}),
    "cdf5": ("NETCDF3_64BIT_DATA", {}),
    "records": ("NETCDF3_64BIT_OFFSET", {"unlimited": True}),
    "contiguous": ("NETCDF4", {}),
    "chunked": ("NETCDF4", {"chunksizes": (2, 3)}),
    "compressed": ("NETCDF4", {"chunksizes": (2, 3), "zlib": True}),
    "one chunk": ("NETCDF4", {"chunksizes": SHAPE, "zlib": True, "shuffle": False}),
    "extensible": ("NETCDF4", {"chunksizes": (1, 6), "zlib": True, "unlimited": True}),
    "strings": ("NETCDF4", {"datatype": str}),
    "ragged": ("NETCDF4", {"vlen": True}),
    "compact": ("HDF5", {}),
    "zipped": ("NETCDF3_64BIT_OFFSET", {"zipped": True}),
    "zipped records": ("NETCDF3_64BIT_OFFSET", {"zipped": True, "unlimited": True}),
}
KINDS = [(layout, library) for layout in LAYOUTS for library in ("ncforge", "netCDF4")]
KINDS = [(layout, library) for layout, library in KINDS if not layout.startswith("zipped") or library == "ncforge"]


def make(folder: Path, layout: str) -> Path:
    """A file whose variable `v` is of generation 0."""
    data_model, how = LAYOUTS[layout]
    how = dict(how)
    path = folder / ("v.ncz" if how.pop("zipped", False) else "v.nc")
    if data_model == "HDF5":
        # netCDF-C writes only to files that keep the order of their objects.
        with h5py.File(path, "w", track_order=True) as file:
            create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            create.set_layout(h5py.h5d.COMPACT)
            h5py.h5d.create(file.id, b"v", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple(SHAPE), create)
            file["v"][...] = 0
        return path
    library = ncforge if path.suffix == ".ncz" else netCDF4
    with created(
        path, library, format=data_model, t=None if how.pop("unlimited", False) else SHAPE[0], x=SHAPE[1]
    ) as ds:
        dtype = how.pop("datatype", "i4")
        if how.pop("vlen", False):
            dtype = ds.createVLType("i4", "row")
        v = ds.createVariable("v", dtype, ("t", "x"), **how)
        for at in np.ndindex(SHAPE):
            v[at] = element(layout, 0)
    return path


def element(layout: str, generation: int) -> Any:
    """One value. Texts and rows have various lengths."""
    if layout == "strings":
        return f"{generation} " + "x" * (generation * 7 % 50)
    return np.full(1 + generation % 5, generation, "i4") if layout == "ragged" else generation


def assignment(layout: str, rows: slice, columns: slice, generation: int) -> str:
    """The line that writes a box."""
    key = f"ds['v'][{rows.start}:{rows.stop}, {columns.start}:{columns.stop}]"
    if layout == "strings":
        return f"{key} = np.full({(rows.stop - rows.start, columns.stop - columns.start)}, {element(layout, generation)!r}, object)"
    if layout == "ragged":
        boxes = [(i, j) for i in range(rows.start, rows.stop) for j in range(columns.start, columns.stop)]
        value = f"np.full({1 + generation % 5}, {generation}, 'i4')"
        return "; ".join(f"ds['v'][{i}, {j}] = {value}" for i, j in boxes)
    return f"{key} = {generation}"


def generations(layout: str, found: Any) -> Any:
    """The generations of values that were read."""
    if layout == "strings":
        texts = np.asarray(found, object)
        for text in texts.flat:
            assert text == element(layout, int(text.split()[0])), f"no value that was written: {text!r}"
        return np.vectorize(lambda text: int(text.split()[0]), otypes=[int])(texts)
    if layout == "ragged":
        rows = np.empty(np.shape(found)[:2] if np.ndim(found) else (), object)
        if rows.ndim == 0 or not isinstance(found, np.ndarray) or found.dtype != object:
            assert len(set(np.asarray(found).tolist())) == 1
            return int(np.asarray(found)[0])
        for _, row in np.ndenumerate(found):
            assert len(row) == 1 + row[0] % 5, f"no value that was written: {row}"
            assert set(row.tolist()) == {row[0]}, f"no value that was written: {row}"
        return np.vectorize(lambda row: int(row[0]), otypes=[int])(found)
    return np.asarray(found)


def reads_of_an_open_reader(
    folder: Path, layout: str, library: str, where: Callable[[Path, str], Here | Elsewhere]
) -> Iterator[None]:
    """Writes and reads; where the reader is to wait, it yields. The file is new then, was read once, or was synced."""
    path = make(folder, layout)
    yield
    with ncforge.Dataset(path) as follower:
        follower.set_auto_mask(False)
        v = follower["v"]
        keys: list[Any] = [(1, 3), np.s_[:], np.s_[1:3, 2:5], np.s_[::2, ::2], ([0, 3], [1, 4])]
        assert all(np.all(generations(layout, v[key]) == 0) for key in keys)
        yield
        writer = where(path, library)
        everywhere = (slice(0, SHAPE[0]), slice(0, SHAPE[1]))
        for generation in range(1, 4):
            writer(assignment(layout, *everywhere, generation))
            writer("ds.sync()")
            yield
            wanted = 0 if layout in KEPT else generation
            for key in keys:
                found = generations(layout, v[key])
                assert np.all(found == wanted), f"{layout} by {library}: v[{key}] is of {found}, not of {wanted}"
        writer.close()
        assert np.all(generations(layout, v[1, 3]) == wanted)
    with ncforge.Dataset(path) as again:
        assert np.all(generations(layout, again["v"][:]) == 3)


@pytest.mark.parametrize(("where", "pause"), [(Here, 0.0), (Here, 0.05), (Elsewhere, 0.05)])
@pytest.mark.parametrize(("layout", "library"), KINDS)
def test_an_open_reader_has_what_was_synced(
    tmp_path: Path, layout: str, library: str, where: Callable[[Path, str], Here | Elsewhere], pause: float
) -> None:
    # With less than a tick, single values of another process may be late.
    assert where is Here or pause > TICK
    for _ in reads_of_an_open_reader(tmp_path, layout, library, where):
        time.sleep(pause)


@pytest.mark.parametrize("where", [Here, Elsewhere])
def test_an_open_reader_has_what_was_synced_long_ago(
    tmp_path: Path, where: Callable[[Path, str], Here | Elsewhere]
) -> None:
    """After a second, files are no longer young. All layouts wait together; of other processes, one of each kind."""
    runs = []
    one_of_each = ("compressed", "records", "strings", "zipped")
    kinds = [kind for kind in KINDS if where is Here or kind[0] in one_of_each]
    for n, (layout, library) in enumerate(kinds):
        (tmp_path / str(n)).mkdir()
        runs.append(reads_of_an_open_reader(tmp_path / str(n), layout, library, where))
    while runs:
        runs = [run for run in runs if next(run, "ended") is None]
        time.sleep(1.0 if runs else 0.0)


@pytest.mark.parametrize(("layout", "library"), KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_nobody_reads_new_and_then_old(tmp_path: Path, layout: str, library: str, seed: int) -> None:
    dice = random.Random(f"{layout} {library} {seed}")
    path = make(tmp_path, layout)
    writer: Here | Elsewhere = Here(path, library) if dice.random() < 0.5 else Elsewhere(path, library)
    with contextlib.closing(writer), ncforge.Dataset(path) as follower:
        follower.set_auto_mask(False)
        seen, synced = np.zeros(SHAPE, int), np.zeros(SHAPE, int)
        generation = 0

        def box() -> tuple[slice, slice]:
            corners = [sorted(dice.sample(range(n + 1), 2)) for n in SHAPE]
            return slice(*corners[0]), slice(*corners[1])

        for _ in range(60):
            time.sleep(dice.choice([0, 0, 0, 0.001, 0.005, 0.03]))
            if dice.random() < 0.4:
                generation += 1
                where = box()
                writer(assignment(layout, *where, generation))
                writer("ds.sync()")
                synced[where] = generation
                if layout in ("cdf1", "cdf2", "cdf5", "records") and dice.random() < 0.2:
                    # The header outgrows its place.
                    writer(f"ds.setncattr('a{generation}', 'y' * 9000); ds.sync()")
                    if library == "netCDF4":
                        # It moves the data in place: for a tick, other bytes are where a value was.
                        time.sleep(TICK)
                continue
            key = box() if dice.random() < 0.5 else (dice.randrange(SHAPE[0]), dice.randrange(SHAPE[1]))
            found = generations(layout, follower["v"][key])
            assert np.all(found >= seen[key]), f"v[{key}]: {found} after {seen[key]}"
            assert np.all(found <= generation)
            seen[key] = found
        time.sleep(TICK)
        last = generations(layout, follower["v"][:])
        np.testing.assert_array_equal(last, np.zeros(SHAPE) if layout in KEPT else synced)


@pytest.mark.parametrize("attribute", [0, 20000])
@pytest.mark.parametrize("where", [Here, Elsewhere])
def test_a_classic_file_whose_header_grows_is_followed(
    tmp_path: Path, attribute: int, where: Callable[[Path, str], Here | Elsewhere]
) -> None:
    path = make(tmp_path, "records")
    with ncforge.Dataset(path) as follower:
        v = follower["v"]
        assert v[0, 0] == 0
        writer = where(path, "ncforge")
        for generation in range(1, 4):
            if attribute:
                writer(f"ds.setncattr('h{generation}', 'y' * {attribute})")
            writer(assignment("records", slice(0, 1), slice(0, 6), generation))
            writer("ds.sync()")
            time.sleep(TICK)
            assert (v[0, 0], v[:][0, 0]) == (generation, generation)
        writer.close()
        # A variable before it moves it.
        with ncforge.Dataset(path, "a") as again:
            again.createVariable("w", "f8", ("x",))[:] = 1
            again["v"][0] = 9
        assert (v[0, 0], v[:][0, 0]) == (9, 9)


def test_a_file_that_another_one_replaced_stays_what_it_is(tmp_path: Path) -> None:
    path = make(tmp_path, "records")
    with ncforge.Dataset(path) as follower:
        assert follower["v"][0, 0] == 0
        with created(path, ncforge, t=None, x=6) as other:
            other.createVariable("v", "i4", ("t", "x"))[0:4] = 5
        assert follower["v"][0, 0] == 0
        assert np.all(follower["v"][:] == 0)


def test_a_variable_that_is_no_longer_there_has_changed(tmp_path: Path) -> None:
    path = make(tmp_path, "compressed")
    with ncforge.Dataset(path) as follower:
        assert follower["v"][1, 3] == 0
        time.sleep(TICK)
        with h5py.File(path, "a", locking=False) as file:
            del file["v"]
            file.create_dataset("v", (4, 6), "f8", chunks=(2, 3))
        with pytest.raises(ncforge.errors.ChangedError):
            follower["v"][1, 3]
        with pytest.raises(ncforge.errors.ChangedError):
            follower["v"][:]
