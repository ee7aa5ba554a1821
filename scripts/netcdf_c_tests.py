"""Runs netCDF-C's own test programs with and without ncforge under the library, and compares program by program.

    python scripts/netcdf_c_tests.py LIBRARY [--work DIR] [--only PATTERN]

LIBRARY is ``libncforge_netcdf.so``. The sources are Debian's package ``netcdf``, fetched from the package sources of this machine
(the version that is installed); they are compiled against the system's libnetcdf. Every program runs three times in folders of its own:
without ncforge, with it, and with it serving reads of every size. Its exit code must be the same each time. Nothing is written outside of DIR.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# What the programs ask of netCDF-C's own config.h.
CONFIG = """
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_FCNTL_H 1
#define HAVE_GETOPT_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDBOOL_H 1
#define HAVE_STRDUP 1
#define HAVE_GETRLIMIT 1
#define HAVE_GETTIMEOFDAY 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_SSIZE_T 1
#define HAVE_PTRDIFF_T 1
#define SIZEOF_SIZE_T 8
#define SIZEOF_LONG 8
#define SIZEOF_OFF_T 8
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_LONG_LONG 8
#define SIZEOF_UNSIGNED_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define USE_NETCDF4 1
#define USE_HDF5 1
#define ENABLE_CDF5 1
#define USE_CDF5 1
#define LARGE_FILE_TESTS 0
#define TEMP_LARGE "."
#define TOPSRCDIR "."
#define TOPBINDIR "."
#define FILLONLYFILE "ref_fillonly.nc"
#define NC_MAX_PERFORMANCE 0
#define DLL_EXPORT
"""
# Programs of several sources: the folder, the sources, and options of the compiler.
SEVERAL = {
    "nc_test": (
        "nc_test",
        ["nc_test.c", "error.c", "test_get.c", "test_put.c", "test_read.c", "test_write.c", "util.c"],
    ),
    "nctest": ("nctest", None),
}
# What netCDF-C's configuration defines for them.
TYPES = ["-Duchar=unsigned char", "-Dlonglong=long long", "-Dulonglong=unsigned long long", "-Duint=unsigned int"]
# Minutes each, gigabytes each, or another library.
LEFT_OUT = (
    "*large*",
    "*big*",
    "*par*",
    "*pnetcdf*",
    "bm_*",
    "*perf*",
    "*http*",
    "*byterange*",
    "tst_parallel*",
    "*h5_s3*",
    "*mpi*",
)
SECONDS = 240


def fetch(work: Path) -> Path:
    """The sources, extracted."""
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${source:Version}", "libnetcdf19"], capture_output=True, text=True, check=True
    )
    found = sorted(work.glob("netcdf-c-*"))
    if found:
        return found[0]
    sources = work / "private.sources"
    entries = []
    for file in Path("/etc/apt/sources.list.d").glob("debian*.sources"):
        entries += [re.sub(r"(?m)^Types:.*$", "Types: deb-src", file.read_text())]
    sources.write_text("\n".join(entries))
    (work / "lists/partial").mkdir(parents=True, exist_ok=True)
    (work / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": work / "lists",
        "Dir::Cache": work / "cache",
    }
    apt = ["apt-get", "-q", *[f"-o{k}={v}" for k, v in options.items()]]
    quiet = {"cwd": work, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*apt, "update"], **quiet)
    subprocess.run([*apt, "source", "--download-only", f"netcdf={version.stdout}"], **quiet)
    (archive,) = work.glob("netcdf_*.orig.tar.*")
    subprocess.run(["tar", "xf", archive.name], **quiet)
    return next(iter(sorted(work.glob("netcdf-c-*"))))


def compile_all(source: Path, bin_dir: Path, only: str) -> dict[str, str]:
    """Every program that can be compiled, with the folder of its sources."""
    bin_dir.mkdir(exist_ok=True)
    (source / "config.h").write_text(CONFIG)
    flags = [
        "-w",
        "-O1",
        "-DHAVE_CONFIG_H",
        f"-I{source}",
        f"-I{source}/include",
        f"-I{source}/nc_test",
        "-I/usr/include/hdf5/serial",
    ]
    libraries = ["-L/usr/lib/x86_64-linux-gnu/hdf5/serial", "-lnetcdf", "-lhdf5_hl", "-lhdf5", "-lm"]
    wanted: dict[str, tuple[str, list[Path]]] = {}
    for folder in ("nc_test", "nc_test4", "nctest", "unit_test"):
        for file in sorted((source / folder).glob("tst_*.c")) + sorted((source / folder).glob("t_*.c")):
            wanted[file.stem] = (folder, [file])
    for name, (folder, files) in SEVERAL.items():
        everything = sorted((source / folder).glob("*.c"))
        wanted[name] = (folder, everything if files is None else [source / folder / f for f in files])
    wanted["nctest"] = ("nctest", [f for f in wanted["nctest"][1] if not f.name.startswith(("tst_", "compare"))])
    built = {}
    for name, (folder, files) in wanted.items():
        if any(fnmatch.fnmatch(name, p) for p in LEFT_OUT) or not fnmatch.fnmatch(name, only):
            continue
        out = bin_dir / name
        types = TYPES if name == "nc_test" else []
        build = ["cc", *flags, *types, f"-I{source}/{folder}", "-o", str(out), *map(str, files), *libraries]
        if out.exists() or subprocess.run(build, capture_output=True).returncode == 0:
            built[name] = folder
    return built


def run(program: Path, folder: Path, data: Path, environment: dict[str, str]) -> str:
    """How a program ends in a fresh folder that has the files of its sources' one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in data.iterdir():
        if file.suffix in (".nc", ".cdl", ".h5", ".txt"):
            shutil.copy(file, folder)
    log = folder / "output.txt"
    with log.open("wb") as out:
        try:
            done = subprocess.run(
                [str(program)], cwd=folder, env={**os.environ, **environment}, stdout=out, stderr=out, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return "timeout"
    return str(done.returncode)


def main() -> int:
    """The number of programs that differ, as exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--work", type=Path, default=Path("target/netcdf-c-tests"))
    parser.add_argument("--only", default="*")
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    library = str(args.library.resolve(strict=True))
    source = fetch(work)
    built = compile_all(source, work / "bin", args.only)
    ways = {"without": {}, "with": {"NCFORGE_NETCDF": "log"}, "always": {"NCFORGE_NETCDF": "always"}}
    for way, environment in ways.items():
        if way != "without":
            environment["LD_PRELOAD"] = library
    different, passed, served, written = [], 0, 0, 0
    for name, folder in built.items():
        ends = {way: run(work / "bin" / name, work / "run" / way / name, source / folder, e) for way, e in ways.items()}
        passed += ends["without"] == "0"
        text = (work / "run" / "always" / name / "output.txt").read_bytes().decode(errors="replace")
        served += sum(int(n) for n in re.findall(r": (\d+) reads served", text))
        written += sum(int(n) for n in re.findall(r": (\d+) writes served", text))
        if len(set(ends.values())) > 1:
            different.append(name)
            print(name, ends, flush=True)
    print(
        f"{len(built)} programs, {passed} pass without ncforge, {len(different)} differ; {served} reads, {written} writes served"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
