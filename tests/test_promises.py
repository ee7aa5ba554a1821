"""Promises of a writer: data that it reports as written are there, whatever fails; a forked child leaves its parent's file alone; and the
disk is waited for where that was asked for.

System calls are counted by a small library that is loaded before the C library.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from commands import ncforge as command
from datasets import created
from ncforge.errors import LockedError

X = 3000
#: Without the exact types of its arguments.
THEIRS: Any = netCDF4
#: Name, format, options of the variable, extension.
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "plain": ("NETCDF4", {"chunksizes": (1, X)}, ".nc"),
    "compressed": ("NETCDF4", {"zlib": True, "chunksizes": (1, X)}, ".nc"),
    "shared chunks": ("NETCDF4", {"zlib": True, "chunksizes": (4, 100)}, ".nc"),
    "classic": ("NETCDF3_64BIT_OFFSET", {}, ".nc"),
    "zipped": ("NETCDF3_64BIT_DATA", {}, ".ncz"),
}  # fmt: skip


def make(path: Path, kind: str, records: int = 1) -> None:
    fmt, options, _ = KINDS[kind]
    with created(path, ncforge, format=fmt, t=None, x=X) as ds:
        ds.createVariable("v", "f8", ("t", "x"), **options)[:] = np.zeros((records, X))
        ds.createVariable("n", "i4", ("t",))[:] = np.zeros(records, "i4")


def values(path: Path) -> Any:
    """The values of the file; another library judges where there is one that reads it."""
    opener: Any = ncforge if path.suffix == ".ncz" else netCDF4
    with opener.Dataset(path) as ds:
        ds.set_auto_mask(False)
        return np.asarray(ds["v"][:])


@pytest.fixture
def full() -> Iterator[Callable[[Path | None], None]]:
    """Makes the disk full for a file that would grow, or (without one) makes space again."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(path: Path | None) -> None:
        most = before[0] if path is None else path.stat().st_size + 100
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def attempt(work: Callable[[], object]) -> str | None:
    """The error message of a call."""
    try:
        work()
    except OSError as e:
        return str(e)
    return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attempts", [1, 3])
def test_what_could_not_be_written_is_written_later_or_named(
    tmp_path: Path, kind: str, attempts: int, full: Callable[[Path | None], None]
) -> None:
    path = tmp_path / f"a{KINDS[kind][2]}"
    make(path, kind)
    record = np.random.default_rng(0).normal(size=X)
    ds = ncforge.Dataset(path, "a")
    full(path)
    said = [attempt(lambda: ds["v"].__setitem__(1, record)), *(attempt(ds.sync) for _ in range(attempts))]
    full(None)
    assert any(said)
    lost = attempt(ds.sync)
    if lost is not None:
        assert "`v[1:2, 0:3000]`" in lost
        assert "write them again" in lost
        assert attempt(ds.close) == lost
        ds["v"][1] = record
    ds.close()
    np.testing.assert_array_equal(values(path)[1], record)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_writes_while_the_disk_is_full_now_and_then(
    tmp_path: Path, kind: str, seed: int, full: Callable[[Path | None], None]
) -> None:
    """Another library reads the data that a sync reports as written; failed data can be written again."""
    dice = np.random.default_rng(seed)
    path, look = tmp_path / f"a{KINDS[kind][2]}", tmp_path / f"look{KINDS[kind][2]}"
    make(path, kind, 4)
    model, unsure = np.zeros((4, X)), set[int]()
    ds = ncforge.Dataset(path, "a")

    def write(first: int, new: np.ndarray) -> None:
        nonlocal model
        rows = range(first, first + len(new))
        if attempt(lambda: ds["v"].__setitem__(slice(rows.start, rows.stop), new)) is not None:
            unsure.update(rows)
            return
        model = np.concatenate([model, np.full((max(rows.stop - len(model), 0), X), np.nan)])
        model[rows.start : rows.stop] = new
        unsure.difference_update(rows)

    def check() -> None:
        shutil.copyfile(path, look)
        sure = [row for row in range(len(model)) if row not in unsure]
        np.testing.assert_array_equal(values(look)[sure], model[sure])

    for _ in range(30):
        match dice.choice(["write", "write", "write", "sync", "full", "space"]):
            case "full":
                full(path)
            case "space":
                full(None)
            case "sync":
                if attempt(ds.sync) is None:
                    check()
            case _:
                rows = int(dice.integers(1, 3))
                # Of some values compression leaves little.
                new = dice.normal(size=(rows, X)) if dice.random() < 0.7 else np.full((rows, X), dice.integers(9))
                write(int(dice.integers(0, len(model) + 1)), new)
    full(None)
    if attempt(ds.sync) is not None:
        for row in range(max([len(model), *(row + 1 for row in unsure)])):
            write(row, dice.normal(size=(1, X)))
    assert not unsure
    ds.close()
    check()


@pytest.mark.parametrize("kind", KINDS)
def test_closing_on_a_full_disk_can_be_tried_again(
    tmp_path: Path, kind: str, full: Callable[[Path | None], None]
) -> None:
    path = tmp_path / f"a{KINDS[kind][2]}"
    make(path, kind)
    rows = np.random.default_rng(1).normal(size=(3, X))
    ds = ncforge.Dataset(path, "a")
    ds["v"][1:4] = rows[:]
    ds.title = "x" * 20_000
    full(path)
    assert attempt(ds.close) is not None
    assert ds.isopen()
    full(None)
    ds.close()
    np.testing.assert_array_equal(values(path)[1:], rows)
    with ncforge.Dataset(path) as ds:
        assert len(ds.title) == 20_000


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("closes", [True, False])
def test_lost_values_are_told_once(
    tmp_path: Path, closes: bool, full: Callable[[Path | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By ``close``; when the dataset goes, only if the program did not close it."""
    path = tmp_path / "a.nc"
    make(path, "compressed")
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_value))
    ds = ncforge.Dataset(path, "a")
    ds["v"][1] = np.random.default_rng(1).normal(size=X)
    full(path)
    if closes:
        assert attempt(ds.close) is not None
    del ds
    full(None)
    assert len(told) == (0 if closes else 1)
    with ncforge.Dataset(path, "a") as again:
        assert again["v"].shape == (1, X)


def test_a_block_that_ends_on_a_full_disk_says_so_and_lets_go(
    tmp_path: Path, full: Callable[[Path | None], None]
) -> None:
    path = tmp_path / "a.nc"
    make(path, "compressed")

    def block(fails: bool) -> None:
        with ncforge.Dataset(path, "a") as ds:
            ds["v"][1] = np.random.default_rng(1).normal(size=X)
            full(path)
            if fails:
                raise ZeroDivisionError

    assert attempt(lambda: block(False)) is not None
    full(None)
    with pytest.raises(ZeroDivisionError):
        block(True)
    full(None)
    with ncforge.Dataset(path, "a") as ds:
        assert ds["v"].shape == (1, X)


def test_to_netcdf_on_a_full_disk_leaves_the_old_records(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    import ncforge.xarray  # noqa: F401

    path = tmp_path / "a.nc"
    noise = np.random.default_rng(2).normal(size=(40, X))
    data = xr.Dataset({"v": (("t", "x"), noise)})
    data.ncforge.to_netcdf(path, unlimited_dims=["t"])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, before[1]))
    try:
        assert attempt(lambda: data.ncforge.to_netcdf(path, append_dim="t")) is not None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    np.testing.assert_array_equal(values(path)[:40], noise)
    data.ncforge.to_netcdf(path, append_dim="t")
    assert np.array_equal(values(path)[-40:], noise)


def child_does(path: Path, what: str, ds: Any) -> None:
    """In the child; whatever it does, the parent's file is not changed."""
    if what == "closes":
        ds.close()
    elif what == "syncs":
        ds.sync()
    elif what == "exits":
        with ds:
            raise SystemExit(0)
    elif what == "fails":
        try:
            with ds:
                raise RuntimeError
        except RuntimeError:
            pass
    elif what == "writes":
        for work in (
            lambda: ds["v"].__setitem__(2, -77.0),
            lambda: ds["n"].__setitem__(2, -77),
            lambda: ds.setncattr("title", "child"),
            lambda: ds.createDimension("more", 5),
        ):
            with pytest.raises(LockedError, match="forked"):
                work()
        ds.close()
    elif what == "deletes":
        ds._contents.forget()
        del ds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["closes", "syncs", "exits", "fails", "writes", "deletes"])
@pytest.mark.parametrize("is_new", [False, True])
def test_a_child_only_forgets(tmp_path: Path, kind: str, what: str, is_new: bool) -> None:
    path = tmp_path / f"a{KINDS[kind][2]}"
    if is_new:
        fmt, options, _ = KINDS[kind]
        ds: Any = ncforge.Dataset(path, "w", format=fmt)
        ds.createDimension("t", None)
        ds.createDimension("x", X)
        ds.createVariable("v", "f8", ("t", "x"), **options)
        ds.createVariable("n", "i4", ("t",))
    else:
        make(path, kind, 5)
        ds = ncforge.Dataset(path, "a")
    rows = np.arange(20)[:, None] + np.zeros(X)
    ds["v"][0:7] = rows[:7]
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(ready, 1)
            child_does(path, what, ds)
            code = 0
        except SystemExit:
            code = 0
        finally:
            os._exit(code)
    ds["v"][7:15] = rows[7:15]
    if not is_new:
        ds.sync()
    os.write(go, b"x")
    assert os.waitpid(child, 0)[1] == 0
    if kind != "zipped":
        with pytest.raises(LockedError):
            ncforge.Dataset(path, "a" if path.exists() else "w")
    ds["v"][15:20] = rows[15:20]
    ds.close()
    np.testing.assert_array_equal(values(path), rows)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that notes certain system calls in the file `CALLS`."""
    folder = tmp_path_factory.mktemp("counter")
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler, or not Linux")
    source = folder / "counter.c"
    source.write_text(
        textwrap.dedent("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static void note(const char *name) {
            int fd = open(getenv("CALLS"), O_WRONLY | O_APPEND | O_CREAT, 0600);
            if (write(fd, name, strlen(name)) < 0) abort();
            close(fd);
        }
        #define REAL(name, ...) \\
            static __typeof__(__VA_ARGS__) real; \\
            if (!real) real = (__typeof__(__VA_ARGS__))dlsym(RTLD_NEXT, name)
        int fdatasync(int fd) { REAL("fdatasync", int (*)(int)); note("fdatasync "); return real(fd); }
        int fsync(int fd) { REAL("fsync", int (*)(int)); note("fsync "); return real(fd); }
        ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
            REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t)); note("pwrite64 "); return real(fd, b, n, o);
        }
        int ftruncate64(int fd, off64_t n) { REAL("ftruncate64", int (*)(int, off64_t)); note("ftruncate64 "); return real(fd, n); }
        """)
    )
    library = folder / "counter.so"
    execute(compiler, "-shared", "-fPIC", "-o", library, source, "-ldl")
    return library


def calls(counter: Path, program: str, **environment: str) -> list[str]:
    """The system calls of a program."""
    notes = counter.with_suffix(".calls")
    notes.unlink(missing_ok=True)
    env = {"LD_PRELOAD": str(counter), "CALLS": str(notes), **environment}
    execute(sys.executable, "-c", textwrap.dedent(program), env=env)
    return notes.read_text().split() if notes.exists() else []


@pytest.mark.parametrize("kind", KINDS)
def test_the_disk_is_waited_for_where_that_was_asked_for(tmp_path: Path, kind: str, counter: Path) -> None:
    path = tmp_path / f"a{KINDS[kind][2]}"
    make(path, kind)
    program = f"""
        import ncforge
        with ncforge.Dataset({str(path)!r}, "a", durable={{}}) as ds:
            ds["v"][len(ds.dimensions["t"])] = 5.0
    """
    always = kind == "zipped"
    for durable, environment in [(False, {}), (True, {}), (False, {"NCFORGE_DURABLE": "1"})]:
        found = calls(counter, program.format(durable), **environment)
        assert "pwrite64" in found
        waits = always or durable or bool(environment)
        assert bool({"fdatasync", "fsync"} & set(found)) is waits, (durable, environment, found)
    with ncforge.Dataset(path) as ds:
        assert ds["v"].shape == (4, X)
    nothing = f"""
        import ncforge
        with ncforge.Dataset({str(path)!r}, "a", durable={{}}) as ds:
            ds["v"][0], ds.ncattrs()
            ds.sync()
    """
    for durable in (False, True):
        assert calls(counter, nothing.format(durable)) == [], "nothing was changed"


def test_a_new_file_is_waited_for_where_that_was_asked_for_or_an_old_one_goes(tmp_path: Path, counter: Path) -> None:
    program = f"""
        import os
        import ncforge
        os.chdir({str(tmp_path)!r})
        with ncforge.Dataset("a.nc", "w", durable={{}}) as ds:
            ds.createDimension("x", 5)
            ds.createVariable("v", "f8", ("x",))[:] = 1.0
            {{}}
        os.path.exists("a.nc") or 1 / 0
    """
    path = tmp_path / "a.nc"
    for also in ("", "ds.sync()"):
        path.unlink(missing_ok=True)
        assert "fsync" not in calls(counter, program.format(False, also))
        assert "fsync" in calls(counter, program.format(False, also)), "it takes the place of another one"
        path.unlink()
        assert "fsync" in calls(counter, program.format(True, also))


SMALL_MACHINE = """
    import resource
    import ncforge
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
    with ncforge.Dataset({path!r}) as ds:
        for work in ({works}):
            try:
                work(ds["v"])
            except MemoryError as e:
                print(type(e).__module__)
            else:
                print("no error")
        assert ds["v"][3, 4] == 5.0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_64BIT_DATA"])
def test_a_result_that_does_not_fit_is_an_error(tmp_path: Path, fmt: str) -> None:
    path = tmp_path / "a.nc"
    with THEIRS.Dataset(path, "w", format=fmt) as ds:
        ds.set_fill_off()
        ds.createDimension("y", 20_000)
        ds.createDimension("x", 20_000)
        options = {"chunksizes": (100, 100), "zlib": True} if fmt == "NETCDF4" else {}
        v = ds.createVariable("v", "f4", ("y", "x"), **options)
        v[3, 4] = 5.0
        if fmt == "NETCDF4":
            v.scale_factor = np.float32(1.0)
    works = "lambda v: v[:]", "lambda v: v[::2, ::2]", "lambda v: v[list(range(0, 20000, 2))]"
    program = textwrap.dedent(SMALL_MACHINE.format(path=str(path), works=", ".join(works)))
    done = execute(sys.executable, "-c", program)
    assert "no error" not in done.stdout, done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_the_command_says_that_memory_does_not_suffice(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with created(path, THEIRS, y=10_000, x=10_000) as ds:
        ds.createVariable("v", "f4", ("y", "x"), chunksizes=(10_000, 10_000), zlib=True, complevel=1)[0, 0] = 1.0

    def small_machine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    for words in (["compare", path, path], ["verify", path]):
        done = command(*words, "--memory", "8G", "--threads", "1", code=1, preexec_fn=small_machine)
        assert "memory" in done.stderr and "panicked" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_memory_for_the_filters_of_a_chunk_is_asked_for(tmp_path: Path) -> None:
    """With a little more memory each time: an error, until there is enough; nothing aborts where the chunk fits and what its filters need
    does not."""
    path = tmp_path / "a.nc"
    with created(path, THEIRS, x=64 << 20) as ds:
        ds.createVariable("v", "f4", ("x",), chunksizes=(64 << 20,), zlib=True, complevel=1, fletcher32=True)[:2] = 1.0
    line = ["verify", path, "--memory", "8G", "--threads", "1"]
    codes = []
    for limit in [size << 20 for size in range(300, 1200, 100)] + 20 * [600 << 20]:

        def small_machine(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        done = command(*line, code=(0, 1), preexec_fn=small_machine)
        codes.append(done.returncode)
        assert done.returncode == 0 or "memory" in done.stderr, (limit >> 20, done)
    assert {0, 1} == set(codes), codes


def test_nothing_written_leaves_nothing(tmp_path: Path) -> None:
    path, out = tmp_path / "a.nc", tmp_path / "out.nc"
    make(path, "compressed", 30)

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for words in (
        ["copy", path, out],
        ["copy", path, tmp_path / "out.ncz"],
        ["copy", path, out, "--chunks", "t/30,x/100"],
    ):
        done = command(*words, code=1, preexec_fn=no_room)
        assert "resume" not in done.stderr, done.stderr
        assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
