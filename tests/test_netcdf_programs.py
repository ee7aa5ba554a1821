"""ncforge under netCDF-C: unmodified programs print, write and return the same with it and without it."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from commands import execute
from conftest import DATA
from datasets import CLASSIC, FORMATS, created
from programs import LINUX, call, compiled, header, python, served, values

FILES = sorted(p for p in DATA.iterdir() if p.suffix in (".nc", ".cdf"))
# Small: netCDF-C reads with strides one element at a time.
SHAPE = (11, 13, 53)
pytestmark = LINUX


def random_values(kind: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Values at all magnitudes, with NaN and infinities; integers over all of their range."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(kind)
    if kind == "S1":
        return rng.integers(32, 127, shape).astype("u1").view("S1")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wide = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        narrow = rng.integers(0, 100, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.5, wide, narrow)
    values = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 12, shape))
    if values.size > 1:
        flat = values.reshape(-1)
        flat[::97] *= 1e30
        flat[::101], flat[::103], flat[1::103] = np.nan, np.inf, -np.inf
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def make(path: Path, form: Any) -> None:
    """Variables of every type that the format has, in several layouts."""
    kinds = ["i1", "S1", "i2", "i4", "f4", "f8"]
    kinds += ["u1", "u2", "u4", "i8", "u8"] if form in ("NETCDF4", "NETCDF3_64BIT_DATA") else []
    layouts: dict[str, dict] = {"plain": {}}
    if form.startswith("NETCDF4"):
        deflate = {"zlib": True, "shuffle": True}
        layouts |= {
            "deflate": {**deflate, "chunksizes": (3, 5, 17)},
            "chunks": {"chunksizes": (4, 13, 10)},
            "checked": {**deflate, "fletcher32": True, "chunksizes": (11, 3, 3)},
        }
    with created(path, format=form, **dict(zip("tyxc", (None, *SHAPE[1:], 9), strict=True))) as d:
        for i, kind in enumerate(kinds):
            for layout, options in layouts.items():
                for dims in ("tyx", "yx", ""):
                    options = dict(options)
                    if "chunksizes" in options:
                        if not dims:
                            continue
                        options["chunksizes"] = options["chunksizes"][-len(dims) :]
                    v = d.createVariable(f"{kind}_{layout}_{dims}", kind, tuple(dims), **options)
                    v.set_auto_maskandscale(False)
                    v[...] = random_values(kind, SHAPE[3 - len(dims) :] if dims else (), i)
        if form == "NETCDF4":
            make_netcdf4_only(d)


def make_netcdf4_only(d: netCDF4.Dataset) -> None:
    """Groups, strings, enums, other byte orders, variables shorter than their dimensions, and one that nobody wrote."""
    g = d.createGroup("g").createGroup("h")
    g.createVariable("deep", "f4", ("t", "x"), zlib=True)[:] = random_values("f4", (SHAPE[0], SHAPE[2]), 1)
    s = g.createVariable("s", str, ("c",))
    for i in range(9):
        s[i] = "é" * i
    g.createDimension("u", None)
    g.createVariable("short", "i2", ("u", "x"))[0:3] = 1
    g.createVariable("long", "i2", ("u", "x"))[0:7] = 2
    e = d.createEnumType("u1", "e", {"a": 0, "b": 1})
    d.createVariable("enum", e, ("x",))[:] = np.arange(SHAPE[2]) % 2
    d.createVariable("big", ">f4", ("y", "x"), endian="big", zlib=True)[:] = random_values("f4", SHAPE[1:], 2)
    d.createVariable("never", "f8", ("y", "x"), zlib=True, chunksizes=(9, 9))


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each format."""
    folder = tmp_path_factory.mktemp("files")
    for form in FORMATS:
        make(folder / f"{form}.nc", form)
    return {form: folder / f"{form}.nc" for form in FORMATS}


@pytest.fixture(scope="session")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that reads everything as everything."""
    return compiled("reads", tmp_path_factory.mktemp("bin"))


@pytest.mark.parametrize("form", FORMATS)
def test_every_type_in_memory_of_every_type_in_a_file(files, reads, run_under, form):
    # netCDF-C reads strided selections of netCDF-4 files element by element.
    for seed, count in ((1, 4),) if form.startswith("NETCDF4") else ((1, 20), (2, 20)):
        plain = call(reads, files[form], seed, count)
        for wish in ("log", "always"):
            ours = run_under(reads, files[form], seed, count, wish=wish)
            assert ours.stdout == plain.stdout
            assert served(ours) > 0


def test_quantized_variables_as_other_types(reads, run_under, tmp_path):
    # NetCDF-C 4.9.0 quantizes once more when it converts what it reads.
    path = tmp_path / "a.nc"
    with created(path, x=5000) as d:
        for kind in ("f4", "f8"):
            for mode in ("BitGroom", "GranularBitRound", "BitRound"):
                options: dict[str, Any] = {"zlib": True, "significant_digits": 3, "quantize_mode": mode}
                d.createVariable(f"{mode}_{kind}", kind, ("x",), **options)[:] = np.arange(5000) * 0.37 + 1
    plain = call(reads, path, 1, 40)
    ours = run_under(reads, path, 1, 40, wish="always")
    assert ours.stdout == plain.stdout
    # As what they are stored.
    assert served(ours) > 0


@pytest.mark.parametrize("form", CLASSIC)
def test_zipped_files_read_like_the_file_that_they_represent(files, reads, run, run_under, tmp_path, form):
    zipped = tmp_path / "a.ncz"
    run("zip", files[form], zipped)
    assert run_under(reads, zipped, 3, 20).stdout == call(reads, files[form], 3, 20).stdout
    # The name of the file is in the first line of the dump.
    plain = tmp_path / "a.nc"
    shutil.copy(files[form], plain)
    # With -s, netCDF-C's own ncdump fails on CDF-5.
    special = [] if form == "NETCDF3_64BIT_DATA" else ["-s"]
    assert run_under("ncdump", *special, zipped).stdout == call("ncdump", *special, plain).stdout
    assert run_under("ncdump", "-k", zipped).stdout == call("ncdump", "-k", plain).stdout
    assert call("ncdump", zipped, code=1).stderr


def test_zipped_files_are_not_written(files, run, run_under, tmp_path):
    zipped = tmp_path / "a.ncz"
    run("zip", files["NETCDF3_CLASSIC"], zipped)
    before = zipped.read_bytes()
    run_under("ncatted", "-O", "-h", "-a", "x,global,c,c,y", zipped, code=1)
    assert zipped.read_bytes() == before


def test_zipped_files_are_opened_however_they_are_to_be_buffered(files, run, run_under, tmp_path):
    zipped = tmp_path / "a.ncz"
    run("zip", files["NETCDF3_CLASSIC"], zipped)
    code = """
        import sys, netCDF4
        for how in ({"mode": "r"}, {"mode": "rs"}, {"mode": "r", "diskless": True}, {"mode": "r", "persist": True}):
            with netCDF4.Dataset(sys.argv[1], **how) as d:
                d.set_auto_maskandscale(False)
                print([v[...].tobytes() for v in d.variables.values()])
    """
    read = [sys.executable, "-c", textwrap.dedent(code)]
    assert run_under(*read, zipped).stdout == call(*read, files["NETCDF3_CLASSIC"]).stdout


def test_a_program_opens_as_many_files_as_without_ncforge(packaged, run_under, tmp_path):
    for i in range(100):
        with created(tmp_path / f"{i}.nc", format="NETCDF4" if i % 2 else "NETCDF3_CLASSIC", x=3) as d:
            d.createVariable("v", "i4", ("x",))[:] = i
    code = f"""
        import resource, netCDF4
        v = netCDF4.Dataset({str(tmp_path / "0.nc")!r})["v"][:]
        resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
        files = []
        try:
            for i in range(100):
                files.append(netCDF4.Dataset({str(tmp_path)!r} + f"/{{i}}.nc"))
                assert files[-1]["v"][0] == i
        except OSError:
            pass
        assert all(file["v"][1] == i for i, file in enumerate(files))
        print(len(files))
    """
    read = [sys.executable, "-c", textwrap.dedent(code)]
    plain = int(call(*read).stdout)
    assert 50 < plain < 96 and int(run_under(*read, wish="always").stdout) == plain


TOOLS = {
    "ncdump": ["ncdump", "{in}"],
    "nccopy": ["nccopy", "{in}", "{out}"],
    "nccopy -k": ["nccopy", "-k", "nc4", "-d", "1", "{in}", "{out}"],
    "ncks": ["ncks", "-O", "-h", "{in}", "{out}"],
    "ncra": ["ncra", "-O", "-h", "{in}", "{out}"],
    "ncap2": ["ncap2", "-O", "-h", "-s", "zzz=1", "{in}", "{out}"],
    "cdo": ["cdo", "-s", "--no_history", "timmean", "{in}", "{out}"],
}


def outcome(command: list[str], out: Path) -> tuple[int, bytes, Any]:
    """Exit code, what was printed, and what the output holds."""
    out.unlink(missing_ok=True)
    done = execute(*command, code=None, text=False)
    held = (header(out), values(out)) if out.exists() else None
    return done.returncode, done.stdout, held


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_give_the_same_on_real_files(ncforge_bin, library, tmp_path, tool, monkeypatch):
    if shutil.which(TOOLS[tool][0]) is None:
        pytest.skip(f"{tool} is not installed")
    monkeypatch.delenv("NCFORGE_NETCDF", raising=False)
    out = tmp_path / "out.nc"
    for file in FILES:
        command = [word.format(**{"in": file, "out": out}) for word in TOOLS[tool]]
        plain = outcome(command, out)
        assert outcome([str(ncforge_bin), "run", *command], out) == plain, file.name
        monkeypatch.setenv("NCFORGE_NETCDF", "always")
        assert outcome([str(ncforge_bin), "run", *command], out) == plain, file.name
        monkeypatch.delenv("NCFORGE_NETCDF")


@pytest.mark.parametrize("tool", ["ncks", "cdo"])
def test_tools_read_zipped_files(run, run_under, tmp_path, tool):
    source = DATA / "sst30e_netcdf.nc"
    run("zip", source, tmp_path / "a.ncz")
    shutil.copy(source, tmp_path / "a.nc")
    command = {"ncks": ["ncks", "-O", "-h"], "cdo": ["cdo", "-s", "--no_history", "timmean"]}[tool]
    call(*command, tmp_path / "a.nc", tmp_path / "plain.nc")
    run_under(*command, tmp_path / "a.ncz", tmp_path / "ours.nc")
    assert (tmp_path / "plain.nc").read_bytes() == (tmp_path / "ours.nc").read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_netcdf4_python_reads_the_same(files, packaged, form):
    code = f"""
        import sys, hashlib, numpy as np
        if sys.argv[1:] or {{accelerate}}:
            import ncforge
            assert all(lib.served for lib in ncforge.accelerate())
        import netCDF4
        def walk(g):
            for name, v in g.variables.items():
                v.set_auto_maskandscale(False)
                for key in (..., 0, slice(1, None, 3), -1) if v.shape else (...,):
                    x = np.asarray(v[key])
                    print(name, x.dtype, x.shape, hashlib.md5(repr(x.tolist()).encode()).hexdigest())
            for sub in g.groups.values():
                walk(sub)
        with netCDF4.Dataset({str(files[form])!r}) as d:
            walk(d)
    """
    plain = python(code.replace("{accelerate}", "False"))
    assert python(code.replace("{accelerate}", "True")) == plain
    assert python(code.replace("{accelerate}", "True"), NCFORGE_NETCDF="always") == plain


def test_accelerated_python_forks_threads_and_opens_zipped_files(files, run, packaged, tmp_path):
    zipped = tmp_path / "a.ncz"
    run("zip", files["NETCDF3_CLASSIC"], zipped)
    code = f"""
        import multiprocessing, threading, numpy as np, ncforge, netCDF4
        ncforge.accelerate()
        path = {str(files["NETCDF4"])!r}
        def total(path):
            with netCDF4.Dataset(path) as d:
                return int(d["i4_deflate_tyx"][:].astype("i8").sum())
        want = total(path)
        before = netCDF4.Dataset(path)
        def child(_):
            return int(before["i4_deflate_tyx"][:].astype("i8").sum()), total(path)
        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map(child, range(6)) == [(want, want)] * 6
        with netCDF4.Dataset({str(zipped)!r}) as p, netCDF4.Dataset({str(files["NETCDF3_CLASSIC"])!r}) as c:
            for name in c.variables:
                a, b = (np.ma.getdata(d[name][...]) for d in (p, c))
                assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name
        lock, seen = threading.Lock(), []
        def work():
            for _ in range(20):
                with lock:
                    seen.append(total(path))
        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert seen == [want] * 80
        print("done")
    """
    assert python(code, NCFORGE_NETCDF="always") == "done\n"


def test_what_is_written_meanwhile_is_read(packaged, tmp_path):
    code = f"""
        import numpy as np, ncforge, netCDF4, time
        ncforge.accelerate()
        n = 300000
        for form in {FORMATS!r}:
            path = {str(tmp_path)!r} + "/" + form
            with netCDF4.Dataset(path, "w", format=form) as d:
                d.createDimension("x", n)
                d.createVariable("v", "i4", ("x",), zlib=form.startswith("NETCDF4"))[:] = 1
            time.sleep(0.1)
            if form.startswith("NETCDF4"):
                # HDF5 shows what this process wrote and did not sync to its other opens of the file.
                with netCDF4.Dataset(path, "a") as writer:
                    writer["v"][:] = 2
                    with netCDF4.Dataset(path) as reader:
                        assert (reader["v"][:] == 2).all(), form
                        writer["v"][:] = 3
                        assert (reader["v"][:] == 3).all(), form
                continue
            # The other formats show it from the sync on, and what other programs write at once, but for what is in buffers.
            reader = netCDF4.Dataset(path)
            assert (reader["v"][: n // 2] == 1).all()
            with netCDF4.Dataset(path, "a") as writer:
                writer["v"][:] = 2
                writer.sync()
                assert (reader["v"][n // 2 + 50000 :] == 2).all(), form
            reader.close()
            time.sleep(0.1)
            reader = netCDF4.Dataset(path)
            assert (reader["v"][: n // 2] == 2).all()
            with open(path, "r+b") as f:
                f.seek(-4 * n, 2)
                f.write(np.full(n, 3, ">i4").tobytes())
            assert (reader["v"][n // 2 + 50000 :] == 3).all(), form
            reader.close()
        print("done")
    """
    assert python(code) == "done\n"
    assert python(code, NCFORGE_NETCDF="off") == "done\n"


@pytest.mark.parametrize("form", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_damaged_files_end_the_program_in_no_other_way(reads, run_under, tmp_path, form):
    path = tmp_path / "a.nc"
    with created(path, format=form, t=None, x=30) as d:
        for i, kind in enumerate(("f4", "i2", "f8")):
            deflate: dict[str, Any] = {"zlib": True, "shuffle": True, "chunksizes": (50, 10)}
            options = deflate if form == "NETCDF4" else {}
            d.createVariable(f"v{i}", kind, ("t", "x"), **options)[:] = np.arange(6000).reshape(200, 30) % 997
    whole, rng = path.read_bytes(), np.random.default_rng(7)
    for _ in range(40):
        damaged = bytearray(whole)
        for _ in range(rng.integers(1, 5)):
            damaged[rng.integers(0, rng.choice([200, 3000, len(whole)]))] = rng.integers(0, 256)
        path.write_bytes(damaged[: rng.integers(1, len(damaged))] if rng.random() < 0.1 else damaged)
        plain = execute(reads, path, 1, 2, code=None, text=False, timeout=60)
        ours = run_under(reads, path, 1, 2, wish="always", code=plain.returncode)
        assert ours.stdout == plain.stdout


def test_the_program_gets_its_arguments_its_environment_and_its_exit_code(ncforge_bin, library, run):
    code = "import os, sys; print(sys.argv[1:], os.environ['LD_PRELOAD']); sys.exit(7)"
    done = call(ncforge_bin, "run", sys.executable, "-c", code, "-v", "@none", "--help", code=7)
    assert done.stdout.decode() == f"['-v', '@none', '--help'] {library}\n"
    before = call("bash", "-c", "ulimit -n; env | grep -v -e ^_= -e ^LD_PRELOAD= | sort").stdout
    assert (
        call(ncforge_bin, "run", "bash", "-c", "ulimit -n; env | grep -v -e ^_= -e ^LD_PRELOAD= | sort").stdout
        == before
    )
    assert "cannot start `no-such-program`" in run("run", "no-such-program", code=127).stderr


@pytest.mark.parametrize("front", [["-j", "3", "--memory", "1G", "-v", "run"], ["run", "-j", "3", "--memory=1G", "-v"]])
def test_options_of_ncforge_reach_the_library(ncforge_bin, library, front):
    code = "import os, sys; print(*(os.environ[f'NCFORGE_{n}'] for n in sys.argv[1:4]), *sys.argv[4:])"
    names = ["THREADS", "MEMORY", "NETCDF", "-j", "5", "@none"]
    assert call(ncforge_bin, *front, sys.executable, "-c", code, *names).stdout == b"3 1073741824 log -j 5 @none\n"
    code = "import os; print(os.environ['NCFORGE_NETCDF'])"
    assert call(ncforge_bin, *front, sys.executable, "-c", code, wish="off").stdout == b"off\n"


@pytest.mark.parametrize("way", ["write", "read"])
def test_the_heap_is_what_it_is_after_netcdf_c_has_chunks_in_hand(run_under, tmp_path, way, monkeypatch):
    # Clusters of Dask in the same process leave it.
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    # From which block on malloc asks the system; as long as that is 128 KiB, zlib moves the end of the heap for every chunk.
    heap, path = compiled("heap", tmp_path), tmp_path / "a.nc"
    call(heap, "write", path)
    plain = call(heap, way, path)
    ours = run_under(heap, way, path, wish="always")
    assert re.search(rb": 24 (reads|writes) served", ours.stderr)
    assert int(plain.stdout) >= 1 << 20 and int(ours.stdout) >= 1 << 20


def test_off_and_status(run, run_under, library, tmp_path):
    file = DATA / "sst30e_netcdf.nc"
    assert run_under("ncdump", "-h", file, wish="off").stderr == b""
    assert b"is served" in run_under("ncdump", "-h", file, wish="log").stderr
    assert re.search(r"ncdump: netCDF-C \d.*: served\n", run("netcdf", "status", "ncdump").stdout)
    mpi = next(iter(sorted(Path("/usr/lib").rglob("libmpi.so.*"))), None)
    if mpi is not None:
        done = call("ncdump", "-h", file, wish="log", LD_PRELOAD=f"{library} {mpi}")
        assert b"is served" in done.stderr
    (tmp_path / "a.c").write_text('#include <stdio.h>\nint main(void) { fputs("trouble", stderr); return 3; }')
    execute("cc", "-static", "-o", tmp_path / "a.out", tmp_path / "a.c")
    said = run("netcdf", "status", tmp_path / "a.out").stdout
    assert "not served: it ends with exit status: 3: trouble" in said
    assert (
        "no netCDF-C is loaded when it starts; one that it loads later is served"
        in run("netcdf", "status", "cat").stdout
    )


@pytest.mark.parametrize("way", ["closed", "replaced", "unknown"])
def test_the_log_goes_to_standard_error_and_nowhere_else(run_under, tmp_path, way):
    path = tmp_path / "a.nc"
    code = """
        import os, sys, netCDF4
        path, way = sys.argv[1:]
        with netCDF4.Dataset(path, "w") as d:
            d.createDimension("x", 9)
        # What comes next gets the number of standard error.
        os.close(2)
        if way == "unknown":
            os.closerange(3, 1000)
        if way == "replaced":
            os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), 2)
        else:
            assert os.open(path, os.O_RDWR | os.O_APPEND) == 2
        for _ in range(2):
            with netCDF4.Dataset(path) as d:
                assert d.dimensions["x"].size == 9
    """
    done = run_under(sys.executable, "-c", textwrap.dedent(code), path, way, wish="log")
    assert b"ncforge: " not in path.read_bytes()
    assert (b"0 reads served" in done.stderr) == (way != "unknown")


def test_netcdf_c_loads_it_by_its_configuration_file(files, run, packaged, tmp_path):
    rc = tmp_path / ".ncrc"
    zipped = tmp_path / "a.ncz"
    run("zip", files["NETCDF3_CLASSIC"], zipped)
    run("netcdf", "enable", "--file", rc)
    code = f"""
        import netCDF4
        assert netCDF4.__netcdf4libversion__.split()[0] >= "4.10.1", "this netCDF-C cannot"
        with netCDF4.Dataset({str(files["NETCDF4"])!r}) as d:
            print(d["i4_deflate_tyx"][:].astype("i8").sum())
        with netCDF4.Dataset({str(zipped)!r}) as d:
            print(d["i4_plain_tyx"][:].astype("i8").sum())
    """
    with netCDF4.Dataset(files["NETCDF4"]) as d, netCDF4.Dataset(files["NETCDF3_CLASSIC"]) as c:
        want = [d["i4_deflate_tyx"][:].astype("i8").sum(), c["i4_plain_tyx"][:].astype("i8").sum()]
    done = call(sys.executable, "-c", textwrap.dedent(code), wish="always", NCRCENV_RC=str(rc))
    assert [int(n) for n in done.stdout.split()] == want
    assert served(done) >= 2
    run("netcdf", "disable", "--file", rc)
    assert not rc.exists()


def test_run_has_the_exit_code_of_a_shell(tmp_path: Path, ncforge_bin: Path) -> None:
    """127 for a program that is not there, 126 for one that cannot be executed, else the program's own, or that of its signal."""
    plain, folder = tmp_path / "plain", tmp_path / "folder"
    plain.write_text("text")
    folder.mkdir()
    for program in ("nosuchprogram", tmp_path / "none"):
        assert b"cannot start" in call(ncforge_bin, "run", program, code=127).stderr
    for program in (plain, folder, plain / "below"):
        assert b"hint: " in call(ncforge_bin, "run", program, code=126).stderr
    call(ncforge_bin, "netcdf", "status", "nosuchprogram", code=127)
    call(ncforge_bin, "run", "sh", "-c", "exit 42", code=42)
    call(ncforge_bin, "run", "sh", "-c", "kill -TERM $$", code=-15)
    call("sh", "-c", f"{ncforge_bin} run sh -c 'kill -9 $$'; exit $?", code=137)
    # Python ignores the signal of files that become too long.
    limited = f"ulimit -f 1; {sys.executable} -B -m ncforge run sh -c 'exec head -c 9999 /dev/zero > {tmp_path}/long'; exit $?"
    call("sh", "-c", limited, code=128 + 25)
