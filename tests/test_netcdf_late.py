"""ncforge under a netCDF-C that a program loads after it began: Python, R, GDAL, and whoever calls ``dlopen``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from programs import LINUX, SOURCES, call, compiled, python, served

pytestmark = LINUX


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Maps, each a compressed chunk."""
    path = tmp_path_factory.mktemp("late") / "a.nc"
    with netCDF4.Dataset(path, "w") as d:
        for name, n in (("t", None), ("y", 120), ("x", 240)):
            d.createDimension(name, n)
        v = d.createVariable("v", "f4", ("t", "y", "x"), zlib=True, chunksizes=(1, 120, 240))
        v[:] = (np.arange(30 * 120 * 240) * 7919 % 1000).reshape(30, 120, 240) / 4
    return path


def copies() -> list[str]:
    """Several copies of netCDF-C: the system's, and that of the package netCDF4."""
    found = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libnetcdf" in line]
    system = subprocess.run(["nc-config", "--libdir"], capture_output=True, text=True).stdout.strip()
    return [f"{system}/libnetcdf.so", *dict.fromkeys(found)]


def test_copies_that_are_loaded_by_dlopen(run_under, tmp_path):
    late, libraries = compiled("late", tmp_path), copies()
    plain = call(late, tmp_path / "plain", *libraries)
    ours = run_under(late, tmp_path / "ours", *libraries, wish="always")
    assert ours.stdout == plain.stdout
    assert len(re.findall(rb"netCDF-C \d\S* is served", ours.stderr)) == len(libraries) >= 2
    assert served(ours, "writes") == 12 * len(libraries)
    assert served(ours) == 29 * len(libraries)
    for i in range(len(libraries)):
        with netCDF4.Dataset(f"{tmp_path}/plain.{i}") as a, netCDF4.Dataset(f"{tmp_path}/ours.{i}") as b:
            assert np.array_equal(a["v"][:], b["v"][:])


SCRIPT = """
import netCDF4, sys
with netCDF4.Dataset(sys.argv[1]) as d, netCDF4.Dataset(sys.argv[2], "w") as out:
    v = d["v"]
    for name, dim in d.dimensions.items():
        out.createDimension(name, None if dim.isunlimited() else len(dim))
    w = out.createVariable("v", "f4", v.dimensions, zlib=True, chunksizes=(1, 120, 240))
    for t in range(30):
        w[t] = v[t] + 1
    print(sum(float(v[:, j, 3].sum()) for j in range(0, 120, 5)))
"""


def test_a_python_script(run_under, file, tmp_path):
    plain = call(sys.executable, "-c", SCRIPT, file, tmp_path / "plain.nc")
    ours = run_under(sys.executable, "-c", SCRIPT, file, tmp_path / "ours.nc", wish="always")
    assert ours.stdout == plain.stdout
    assert served(ours, "writes") == 30 and served(ours) == 54
    with netCDF4.Dataset(tmp_path / "plain.nc") as a, netCDF4.Dataset(tmp_path / "ours.nc") as b:
        assert np.array_equal(a["v"][:], b["v"][:])
    reads_only = run_under(sys.executable, "-c", SCRIPT, file, tmp_path / "ours.nc", wish="read,always")
    assert reads_only.stdout == plain.stdout
    assert served(reads_only, "writes") == 0 and served(reads_only) == 54
    assert b"is served, for reading: NCFORGE_NETCDF=read" in reads_only.stderr


# The package and how it reads a series; both count from 1, with the fastest dimension first.
R = {
    "ncdf4": "nc <- nc_open(f); get <- function(j) ncvar_get(nc, 'v', start=c(4, j, 1), count=c(1, 1, -1))",
    "RNetCDF": "nc <- open.nc(f); get <- function(j) var.get.nc(nc, 'v', start=c(4, j, 1), count=c(1, 1, NA))",
}


@pytest.mark.parametrize("package", R)
def test_an_r_script(run_under, file, package):
    if (
        shutil.which("Rscript") is None
        or call("Rscript", "-e", "cat(.packages(TRUE))").stdout.find(package.encode()) < 0
    ):
        pytest.skip(f"needs R with {package}")
    code = f"library({package}); f <- commandArgs(TRUE)[1]; {R[package]}; for (j in 1:120) cat(sum(get(j)), '\\n')"
    plain = call("Rscript", "-e", code, file)
    ours = run_under("Rscript", "-e", code, file, wish="always")
    assert ours.stdout == plain.stdout
    assert served(ours) >= 120


def test_gdal(run_under, file, tmp_path):
    if shutil.which("gdal_translate") is None:
        pytest.skip("needs gdal-bin")
    plain, out = tmp_path / "plain.tif", tmp_path / "ours.tif"
    call("gdal_translate", "-q", f"NETCDF:{file}:v", plain)
    done = run_under("gdal_translate", "-q", f"NETCDF:{file}:v", out, wish="always")
    assert out.read_bytes() == plain.read_bytes()
    assert served(done) >= 30
    info = ["gdalinfo", "-checksum", f"NETCDF:{file}:v"]
    assert run_under(*info).stdout == call(*info).stdout


OCTAVE = """
pkg load netcdf
args = argv();
nc = netcdf_open(args{1}, 'NOWRITE');
v = netcdf_inqVarID(nc, 'v');
for j = 0:119
  printf('%.6f\\n', sum(netcdf_getVar(nc, v, [3 j 0], [1 1 30])(:)));
end
out = netcdf_create(args{2}, bitor(netcdf_getConstant('CLOBBER'), netcdf_getConstant('NETCDF4')));
dims = [netcdf_defDim(out, 'x', 240) netcdf_defDim(out, 'y', 120) netcdf_defDim(out, 't', netcdf_getConstant('UNLIMITED'))];
w = netcdf_defVar(out, 'v', 'float', dims);
netcdf_defVarChunking(out, w, 'CHUNKED', [240 120 1]);
netcdf_defVarDeflate(out, w, true, true, 1);
netcdf_endDef(out);
for k = 0:29
  netcdf_putVar(out, w, [0 0 k], [240 120 1], single(netcdf_getVar(nc, v, [0 0 k], [240 120 1]) + 1));
end
netcdf_close(out);
"""


def test_an_octave_script(run_under, file, tmp_path):
    octave = ("octave-cli", "--no-init-file", "--norc", "-q")
    if shutil.which("octave-cli") is None or b"netcdf" not in call(*octave, "--eval", "pkg list").stdout:
        pytest.skip("needs Octave with its package netcdf")
    (tmp_path / "s.m").write_text(OCTAVE)
    plain = call(*octave, tmp_path / "s.m", file, tmp_path / "plain.nc")
    ours = run_under(*octave, tmp_path / "s.m", file, tmp_path / "ours.nc", wish="always")
    assert ours.stdout == plain.stdout and ours.stdout.count(b"\n") == 120
    assert served(ours) == 150 and served(ours, "writes") == 30
    with netCDF4.Dataset(tmp_path / "plain.nc") as a, netCDF4.Dataset(tmp_path / "ours.nc") as b:
        assert np.array_equal(a["v"][:], b["v"][:])


def test_a_shell_script_and_what_it_starts(run_under, file, tmp_path):
    script = tmp_path / "pipeline.sh"
    script.write_text(f"ncdump -v v {file} | md5sum; {sys.executable} -c '{SCRIPT}' {file} {tmp_path}/out.nc\n")
    plain = call("bash", script)
    ours = run_under("bash", script, wish="always")
    assert ours.stdout == plain.stdout
    assert served(ours) > 54


# The address of a symbol must not depend on who stands in front of `dlsym`.
NEXT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int puts(const char *text) {
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
    return printf("next: ") + next(text);
}
int main(void) {
    int (*own)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "puts");
    return own("text") < 0 || dlsym(RTLD_DEFAULT, "no_such_symbol") || !dlerror();
}
"""


def test_symbols_are_those_that_the_caller_would_get(run_under, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "next.c").write_text(NEXT)
    call("cc", "-rdynamic", "-o", tmp_path / "next", tmp_path / "next.c", "-ldl")
    assert run_under(tmp_path / "next").stdout == b"next: text\n" == call(tmp_path / "next").stdout


def test_accelerate_and_preloading_are_one(run_under, file, tmp_path, packaged):
    code = f"""
        import threading, multiprocessing, ncforge
        first = ncforge.accelerate()
        import netCDF4
        again = []
        threads = [threading.Thread(target=lambda: again.append(ncforge.accelerate())) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert again == [first] * 4, again
        assert all(lib.served and lib.writing_served for lib in first) and len(first) == 1, first
        def child(path):
            assert ncforge.accelerate() == first
            with netCDF4.Dataset(path) as d:
                return float(d["v"][:, 7, 9].sum())
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(child, [{str(file)!r}] * 4) == [child({str(file)!r})] * 4)
    """
    assert python(code) == "True\n"
    done = run_under(sys.executable, "-c", "import netCDF4, ncforge; print(ncforge.accelerate()[0].served)", wish="log")
    assert done.stdout == b"True\n"
    assert len(re.findall(rb"netCDF-C \d\S* is served", done.stderr)) == 1
    code = "import netCDF4, ncforge; lib, = ncforge.accelerate(); print(lib.served, lib.writing_served, lib.writing_reason)"
    assert call(sys.executable, "-c", code, wish="read").stdout == b"True False NCFORGE_NETCDF=read\n"


def test_sources_are_all_compiled_by_a_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_netcdf_*.py"))
    # Headers are compiled with the programs.
    for source in (path for path in SOURCES.iterdir() if path.suffix != ".h"):
        assert f'"{source.stem}"' in tests or source.name in tests, source.name


def test_what_was_open_before_is_written_by_somebody_else(packaged, tmp_path):
    code = f"""
        import sys, netCDF4, numpy as np
        path = {str(tmp_path / "a.nc")!r}
        w = netCDF4.Dataset(path, "w")
        w.createDimension("y", 400)
        w.createDimension("x", 1000)
        v = w.createVariable("v", "i4", ("y", "x"), zlib=True, chunksizes=(20, 1000))
        v[:] = 1
        w.sync()
        v[:] = 2
        if sys.argv[1] == "ours":
            import ncforge
            ncforge.accelerate()
        def show(*variables):
            print(*(np.unique(v[first : first + 5]) for v in variables for first in (0, 5, 15, 20)))
        with netCDF4.Dataset(path) as r:
            show(r["v"])
        with netCDF4.Dataset(path, "a") as other:
            for first, value in ((0, 3), (15, 4)):
                other["v"][first : first + 15] = value
                show(v, other["v"])
            v[0:5] = 5
            show(v, other["v"])
        w.close()
        # Now nobody has it open.
        for mode in "aw":
            with netCDF4.Dataset(path, mode) as again:
                if mode == "w":
                    again.createDimension("x", 4000)
                    again.createVariable("v", "i4", ("x",), zlib=True)
                again["v"][:] = 6
    """
    plain, ours = (call(sys.executable, "-c", textwrap.dedent(code), who, wish="always") for who in ("plain", "ours"))
    assert ours.stdout == plain.stdout
    found = re.findall(rb": (\d+) (reads|writes) served", ours.stderr)
    assert found == [(b"0", b"reads"), (b"1", b"writes"), (b"1", b"writes")]
    assert b"(this process has it open for writing)" in ours.stderr
