"""ncforge under netCDF-C: what unmodified programs write is the same with it and without it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from commands import execute
from conftest import DATA, ROOT
from programs import LINUX, call, compiled, header, python, run_python, served, values

pytestmark = LINUX

# The library's memory: of the machine, so little that chunks are handed on all the time; and no thread but the program's.
WAYS: dict[str, dict[str, str]] = {
    "log": {"wish": "log"},
    "always": {"wish": "always"},
    "memory": {"wish": "always", "NCFORGE_MEMORY": "1M"},
    "alone": {"wish": "always", "NCFORGE_THREADS": "1"},
}


def contents(path: Path) -> dict[str, Any]:
    """Shapes, types and bytes of all datasets, but of those where nothing fills what was never written."""
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None:
            never = item.id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER
            found[name] = (item.shape, item.dtype, item.chunks, None if never else item[()].tobytes())

    with h5py.File(path) as f:
        f.visititems(visit)
    return found


@pytest.fixture(scope="session")
def writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that does a random session of writing."""
    return compiled("writes", tmp_path_factory.mktemp("bin"))


#: Random sessions; `make soak` does more.
SESSIONS = int(os.environ.get("NCFORGE_SESSIONS", "16"))


@pytest.mark.parametrize("first", range(0, SESSIONS, 8))
def test_random_sessions(writes, run_under, tmp_path, first):
    def session(way: str, seed: int, run: Any, **options: str) -> tuple[Any, bytes, bytes, dict[str, Any]]:
        # Names must be equal, since ncdump prints them.
        path = tmp_path / way / "a.nc"
        path.parent.mkdir(exist_ok=True)
        done = run("sh", "-c", f"cd {path.parent}; {writes} a.nc {seed} 120; echo $?", **options)
        return done, done.stdout, header(path), contents(path)

    counts = dict.fromkeys(WAYS, 0)
    for seed in range(first, first + 8):
        plain = session("plain", seed, call)
        for way, options in WAYS.items():
            ours = session(way, seed, run_under, **options)
            assert ours[1:] == plain[1:], (seed, way)
            counts[way] += served(ours[0], "writes")
    assert all(n > 0 for way, n in counts.items() if way != "log"), counts


def make_raw(path: Path) -> None:
    """An uncompressed file of several types, and more than one chunk."""
    rng = np.random.default_rng(5)
    with netCDF4.Dataset(path, "w") as d:
        for name, n in (("t", None), ("y", 90), ("x", 200)):
            d.createDimension(name, n)
        for kind in ("i2", "i4", "f4", "f8", "u1"):
            v = d.createVariable(kind, kind, ("t", "y", "x"))
            v[:] = (rng.standard_normal((30, 90, 200)).cumsum(axis=2) * 5 % 100).astype(kind)
        d.createVariable("time", "f8", ("t",), zlib=True)[:] = np.arange(30)


TOOLS = {
    "nccopy -d1": ["nccopy", "-d1", "-s", "{in}", "{out}"],
    "nccopy -c": ["nccopy", "-d1", "-c", "t/30,y/10,x/25", "{in}", "{out}"],
    "ncks": ["ncks", "-O", "-h", "-4", "-L1", "{in}", "{out}"],
    "ncks of chunks": [
        *[
            "ncks",
            "-O",
            "-h",
            "-4",
            "-L1",
            "--cnk_dmn",
            "t,7",
            "--cnk_dmn",
            "y,17",
            "--cnk_dmn",
            "x,33",
            "{in}",
            "{out}",
        ]
    ],
    "ncap2": ["ncap2", "-O", "-h", "-4", "-L2", "-s", "f4=f4*2;z=f8+1;i2(0:3,:,:)=7s", "{in}", "{out}"],
    "ncra": ["ncra", "-O", "-h", "-4", "-L1", "--mro", "-d", "t,,,5,5", "{in}", "{out}"],
    "ncrcat": ["ncrcat", "-O", "-h", "-4", "-L1", "{in}", "{in}", "{out}"],
    "ncpdq": ["ncpdq", "-O", "-h", "-4", "-L1", "-a", "x,t,y", "{in}", "{out}"],
    "cdo": ["cdo", "-s", "--no_history", "-f", "nc4", "-z", "zip_1", "mulc,2", "{in}", "{out}"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_write_the_same(run_under, tmp_path, tool):
    if shutil.which(TOOLS[tool][0]) is None:
        pytest.skip(f"{tool} is not installed")
    source, out = tmp_path / "raw.nc", tmp_path / "a.nc"
    make_raw(source)
    command = [word.format(**{"in": source, "out": out}) for word in TOOLS[tool]]
    call(*command)
    plain = header(out), values(out)
    out.unlink()
    done = run_under(*command, wish="log")
    assert (header(out), values(out)) == plain
    assert served(done, "writes") > 0


def test_a_fortran_program_writes_the_same(run_under, tmp_path):
    if shutil.which("gfortran") is None or shutil.which("nf-config") is None:
        pytest.skip("needs gfortran and libnetcdff-dev")
    program, out = tmp_path / "steps", tmp_path / "a.nc"
    flags = call("nf-config", "--fflags", "--flibs").stdout.decode().split()
    call("gfortran", "-O1", "-o", program, ROOT / "benches/netcdf_steps.f90", *flags)
    call(program, out, 20)
    plain = header(out), values(out)
    done = run_under(program, out, 20, wish="log")
    assert (header(out), values(out)) == plain
    assert served(done, "writes") == 20


def session(path: Path) -> str:
    """Python that writes a file, reads in between, syncs, adds variables, and appends; it prints what it read."""
    return f"""
        import ncforge, netCDF4, numpy as np, hashlib
        ncforge.accelerate()
        path = {str(path)!r}
        rng = np.random.default_rng(3)
        def show(v):
            print(v.name, v.shape, hashlib.md5(np.ma.getdata(v[...]).tobytes()).hexdigest(), flush=True)
        with netCDF4.Dataset(path, "w") as d:
            for name, n in (("t", None), ("y", 70), ("x", 90)):
                d.createDimension(name, n)
            options = dict(zlib=True, shuffle=True, complevel=2)
            a = d.createVariable("a", "f4", ("t", "y", "x"), chunksizes=(4, 30, 90), fletcher32=True, **options)
            b = d.createVariable("b", "i2", ("y", "x"), chunksizes=(16, 90), fill_value=-5, **options)
            c = d.createVariable("c", "f8", ("t",), chunksizes=(1024,), **options)
            q = d.createVariable("q", "f4", ("t", "y"), least_significant_digit=2, significant_digits=3, **options)
            g = d.createGroup("g").createVariable("big", "f4", ("y", "x"), endian="big", **options)
            for t in range(13):
                a[t] = rng.standard_normal((70, 90)).cumsum(1)
                c[t] = t / 7
                q[t] = rng.standard_normal(70)
                if t == 5:
                    show(a)
                if t == 8:
                    d.sync()
            b[3:40:3, ::2] = rng.integers(-99, 99, (13, 45))
            g[:] = 3
            z = d.createVariable("z", "f4", ("y", "x"), compression="zstd", chunksizes=(35, 45))
            z[:35] = 1.5
            z[35:] = rng.standard_normal((35, 90))
            for v in (a, b, c, q, z, g):
                show(v)
        with netCDF4.Dataset(path, "a") as d:
            d["a"][13:16] = 1
            d["a"][2, 5] = 9
            d["c"][20] = 2.5
            show(d["c"])
        with netCDF4.Dataset(path) as d:
            for v in d.variables.values():
                show(v)
    """


def test_netcdf4_python_writes_the_same(packaged, tmp_path):
    path = tmp_path / "a.nc"
    plain = python(session(path), NCFORGE_NETCDF="off"), contents(path)
    for wish in ("log", "always"):
        done = run_python(session(path), wish=wish)
        assert (done.stdout.decode(), contents(path)) == plain
        assert served(done, "writes") > 20


OPEN = """
    import ncforge, netCDF4, numpy as np, os, signal, sys
    ncforge.accelerate()
    path = {path!r}
    field = (np.arange(200 * 300) % 991).reshape(200, 300).astype("f4")
    def create(path):
        d = netCDF4.Dataset(path, "w")
        for name, n in (("t", None), ("y", 200), ("x", 300)):
            d.createDimension(name, n)
        d.createVariable("v", "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(4, 200, 300))
        return d
"""


def program(path: Path, rest: str) -> str:
    """A program that has made a file and goes on."""
    lines = OPEN.format(path=str(path)).strip("\n").splitlines() + rest.strip("\n").splitlines()
    return "\n".join(line[4:] for line in lines)


def test_what_was_synced_survives_a_kill(packaged, tmp_path):
    path = tmp_path / "a.nc"
    code = program(
        path,
        """
    d = create(path)
    for t in range(6):
        d["v"][t] = field + t
    d.sync()
    for t in range(6, 10):
        d["v"][t] = field + t
    os.kill(os.getpid(), signal.SIGKILL)
""",
    )
    call(sys.executable, "-c", code, code=-signal.SIGKILL)
    want = (np.arange(200 * 300) % 991).reshape(200, 300)
    with netCDF4.Dataset(path) as d:
        for t in range(6):
            assert np.array_equal(d["v"][t], want + t)


def test_a_program_that_does_not_close_loses_nothing(packaged, tmp_path):
    path = tmp_path / "a.nc"
    # Python closes what it can; this is a program that cannot be asked to.
    code = program(
        path,
        """
    import ctypes
    d = create(path)
    for t in range(10):
        d["v"][t] = field + t
    ctypes.CDLL(None).exit(0)
""",
    )
    call(sys.executable, "-c", code)
    want = (np.arange(200 * 300) % 991).reshape(200, 300)
    with netCDF4.Dataset(path) as d:
        assert all(np.array_equal(d["v"][t], want + t) for t in range(10))


def test_forks_write_what_they_close(packaged, tmp_path):
    path = tmp_path / "a.nc"
    code = program(
        path,
        """
    # The parent goes on, the child writes a file of its own.
    d = create(path)
    for t in range(6):
        d["v"][t] = field + t
    child = os.fork()
    if child == 0:
        e = create(path + "child")
        for t in range(9):
            e["v"][t] = field - t
        e.close()
        os._exit(0)
    for t in range(6, 9):
        d["v"][t] = field + t
    d.close()
    assert os.waitpid(child, 0)[1] == 0
    # The child goes on, the parent ends.
    d = create(path + "both")
    for t in range(6):
        d["v"][t] = field + t
    child = os.fork()
    if child == 0:
        for t in range(6, 9):
            d["v"][t] = field + t
        d.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    os._exit(0)
""",
    )
    call(sys.executable, "-c", code)
    want = (np.arange(200 * 300) % 991).reshape(200, 300)
    for name, sign in (("", 1), ("child", -1), ("both", 1)):
        with netCDF4.Dataset(f"{path}{name}") as d:
            assert all(np.array_equal(d["v"][t], want + sign * t) for t in range(9)), name


def test_a_sync_in_a_fork_leaves_what_the_parent_has_to_store(run_under, tmp_path):
    path = tmp_path / "a.nc"
    # What the child stores, its parent does not know: the chunks that it stores itself come to the same place.
    code = f"""
        import os, sys, netCDF4, numpy as np
        rng = np.random.default_rng(1)
        fields = rng.integers(0, 1 << np.arange(1, 13)[:, None], (12, 60000)).astype("f4").reshape(12, 200, 300)
        d = netCDF4.Dataset({str(path)!r}, "w")
        for name, n in dict(t=None, y=200, x=300).items():
            d.createDimension(name, n)
        variables = [
            d.createVariable(name, "f4", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(4, 200, 300)) for name in "vw"
        ]
        d.sync()
        def put(t):
            for v, sign in zip(variables, (1, -1)):
                v[t] = sign * fields[t]
        for t in range(6):
            put(t)
        before = os.path.getsize({str(path)!r})
        child = os.fork()
        if child == 0:
            d.sync()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(os.path.getsize({str(path)!r}) - before)
        for t in range(6, 12):
            put(t)
        d.close()
        with netCDF4.Dataset({str(path)!r}) as d:
            for name, sign in dict(v=1, w=-1).items():
                assert (d[name][:] == sign * fields).all(), name
    """
    done = run_under(sys.executable, "-c", textwrap.dedent(code), wish="log")
    assert served(done, "writes") > 0
    # The child stored neither the parent's chunks nor an index without them.
    assert int(done.stdout) == 0


def test_threads_that_take_turns(packaged, tmp_path):
    path = tmp_path / "a.nc"
    code = program(
        path,
        """
    import threading
    turn = threading.Lock()
    def work(n):
        with turn:
            d = create(path + str(n))
        for t in range(9):
            with turn:
                d["v"][t] = field + n * t
        with turn:
            d.close()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
""",
    )
    call(sys.executable, "-c", code)
    want = (np.arange(200 * 300) % 991).reshape(200, 300)
    for n in range(4):
        with netCDF4.Dataset(f"{path}{n}") as d:
            assert all(np.array_equal(d["v"][t], want + n * t) for t in range(9))


@pytest.mark.parametrize("mode", ["r", "a"])
def test_every_opening_of_a_file_shows_what_was_written(packaged, tmp_path, mode):
    code = program(
        tmp_path / "a.nc",
        f"""
    create(path).close()
    mode = {mode!r}
    d = netCDF4.Dataset(path, "a")
    d["v"][0] = field
    d.sync()
    other = netCDF4.Dataset(path, mode)
    for n in range(3):
        d["v"][0] = field + n
        assert (other["v"][0] == field + n).all()
        if mode == "a":
            other["v"][0, 5] = 7
            assert (d["v"][0, 5] == 7).all()
    other.close()
    d.close()
""",
    )
    done = call(sys.executable, "-c", code, wish="log")
    if mode == "a":
        assert re.search(
            rb"1 writes served, 3 left to netCDF-C \(it is open for writing more than once: 3\)", done.stderr
        )
    else:
        assert re.search(rb"4 writes served, 0 left to netCDF-C", done.stderr)


def test_the_log_says_what_is_written_and_why_not(packaged, tmp_path):
    with_reasons = {
        "dict(zlib=True)": rb"1 writes served, 0 left to netCDF-C\n",
        "dict()": rb"0 writes served, 1 left to netCDF-C \(not compressed: 1\)\n",
        "dict(zlib=True, endian='big')": rb"0 writes served, 1 left to netCDF-C \(another byte order: 1\)\n",
        "dict(compression='bzip2')": rb"0 writes served, 1 left to netCDF-C \(another filter: 1\)\n",
        "dict(zlib=True, chunksizes=(20,))": rb"0 writes served, 1 left to netCDF-C \(small chunks: 1\)\n",
    }
    for options, want in with_reasons.items():
        code = f"""
            import ncforge, netCDF4
            ncforge.accelerate()
            with netCDF4.Dataset({str(tmp_path / "a.nc")!r}, "w") as d:
                d.createDimension("x", 3000)
                v = d.createVariable("v", "i4", ("x",), **{options})
                v.set_auto_maskandscale(False)
                v[:] = range(3000)
        """
        done = run_python(code, wish="log")
        assert re.search(want, done.stderr), (options, done.stderr)


def test_the_log_counts_each_reason(packaged, tmp_path):
    code = f"""
        import ncforge, netCDF4
        ncforge.accelerate()
        with netCDF4.Dataset({str(tmp_path / "a.nc")!r}, "w") as d:
            d.createDimension("x", 3000)
            d.createVariable("plain", "i4", ("x",))[:] = range(3000)
            v = d.createVariable("small", "i4", ("x",), zlib=True, chunksizes=(20,))
            for first in range(0, 3000, 1000):
                v[first : first + 1000] = range(1000)
    """
    done = run_python(code, wish="log")
    assert re.search(rb"0 writes served, 4 left to netCDF-C \(small chunks: 3, not compressed: 1\)\n", done.stderr)


def test_enums_are_written(run_under, tmp_path):
    code = """
        import sys, netCDF4, numpy as np
        with netCDF4.Dataset(sys.argv[1], "w") as d:
            d.createDimension("x", 9000)
            kind = d.createEnumType("u1", "kind", {"land": 0, "sea": 1})
            d.createVariable("mask", kind, ("x",), zlib=True)[:] = np.arange(9000) // 100 % 2
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    plain, ours = tmp_path / "plain.nc", tmp_path / "ours.nc"
    call(*command, plain)
    assert served(run_under(*command, ours, wish="log"), "writes") == 1
    assert values(ours) == values(plain)


@pytest.mark.parametrize("cache", [4 << 20, 1])
def test_chunks_that_netcdf_c_keeps_are_encoded_once(packaged, tmp_path, cache):
    # Six variables, each with 2.4 MB of chunks at a time, in 1 MiB of memory, and in HDF5's cache or not.
    code = """
        import sys, netCDF4, numpy as np
        with netCDF4.Dataset(sys.argv[1], "w") as d:
            for name, n in {"t": None, "y": 100, "x": 500}.items():
                d.createDimension(name, n)
            for i in range(6):
                v = d.createVariable(f"v{i}", "f4", ("t", "y", "x"), zlib=True, chunksizes=(12, 25, 125))
                v.set_var_chunk_cache(size=int(sys.argv[2]), nelems=1000)
            for t in range(12):
                for i in range(6):
                    d[f"v{i}"][t] = np.random.default_rng(t + i).normal(size=(100, 500)).round(1)
    """
    plain, ours = tmp_path / "plain.nc", tmp_path / "ours.nc"
    call(sys.executable, "-c", textwrap.dedent(code), plain, cache)
    code = code.replace("import sys,", "import ncforge; ncforge.accelerate(); import sys,")
    command = [sys.executable, "-c", textwrap.dedent(code), ours, cache]
    done = call(*command, wish="always,log", NCFORGE_MEMORY="16M")
    assert values(ours) == values(plain)
    if cache > 1:
        assert re.search(rb"72 writes served, 0 left to netCDF-C\n", done.stderr), done.stderr
        # A chunk that is encoded again seldom fits into its place.
        assert ours.stat().st_size < 1.1 * plain.stat().st_size
    else:
        assert re.search(rb"left to netCDF-C \(more chunks at a time than memory holds: \d+\)\n", done.stderr), (
            done.stderr
        )


def test_a_full_disk_is_an_error(packaged, tmp_path):
    code = program(
        tmp_path / "a.nc",
        """
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
    field = np.random.default_rng(1).standard_normal((200, 300))
    d = create(path)
    try:
        for t in range(40):
            d["v"][t] = field
        d.close()
    except RuntimeError as e:
        print(e)
    os._exit(0)
""",
    )
    assert call(sys.executable, "-c", code).stdout == call(sys.executable, "-c", code, wish="off").stdout != b""


def test_files_of_the_repository_are_copied_the_same(run_under, tmp_path):
    out = tmp_path / "a.nc"
    for source in sorted(p for p in DATA.iterdir() if p.suffix == ".nc"):
        command = ["nccopy", "-k", "nc4", "-d", "1", source, out]
        plain = execute(*command, code=None)
        want = (header(out), values(out)) if out.exists() else None
        out.unlink(missing_ok=True)
        run_under(*command, wish="always", code=plain.returncode)
        assert ((header(out), values(out)) if out.exists() else None) == want, source.name
        out.unlink(missing_ok=True)
