"""``ncforge bench io``: types, codecs, rounding and samples of real files, by every driver.

What one library writes another one reads: netCDF4-python, or ncforge where it has the filter and that has not.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from bench_common import ONCE, mpi_ranks
from commands import ncforge
from conftest import Run

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
SHAPE = (4, 10, 8, 3)
GEOMETRY = "-d=4:10:8:3"
#: A netCDF-C that is newer than the system's, and its plug-ins: those of netCDF4-python's wheel.
WHEEL = Path(netCDF4.__file__).parent
NEWER = next(iter(sorted(WHEEL.parent.glob("netcdf4.libs/libnetcdf-*.so*"))), None)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The detail of the only section."""
    return json.loads(done.stdout)["sections"][0]


def ramp(dtype: str) -> np.ndarray:
    """The values of ``--data-content ramp``."""
    return np.arange(int(np.prod(SHAPE))).astype(dtype).reshape(SHAPE)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type(run: Run, tmp_path: Path, dtype: str) -> None:
    drivers = ["ncforge", "netcdf-c", "hdf5", "raw"]
    words = [GEOMETRY, f"-f={tmp_path / 't.nc'}", "-w", "-r", f"--dtype={dtype}", *ONCE]
    section = report(run("bench", "io", "--json", f"--driver={','.join(drivers)}", "--data-content=ramp", *words))
    assert all(m["right"] for r in section["rows"] if r["phase"] == "read" for m in r["measurements"])
    order = sys.byteorder
    for number, driver in enumerate(drivers, 1):
        case = section["detail"]["cases"][number - 1]
        if driver == "raw":
            raw = np.fromfile(tmp_path / f"t.{number}.raw", np.dtype(dtype), 960)
            assert np.array_equal(raw.reshape(SHAPE), ramp(dtype))
            continue
        assert case["audit"]["endian"] == (None if dtype[1] == "1" else order)
        if driver == "hdf5":
            continue
        with netCDF4.Dataset(tmp_path / f"t.{number}.nc") as nc:
            nc.set_auto_mask(False)
            assert nc["data"].dtype == np.dtype(dtype)
            assert np.array_equal(nc["data"][:], ramp(dtype))


@pytest.mark.parametrize("options", [[], ["-c=auto"], ["-c=auto", "--codec=zstd=1", "--shuffle"]])
@pytest.mark.parametrize("access", ["ind", "coll", "file"])
def test_several_ranks_round(run: Run, tmp_path: Path, access: str, options: list[str]) -> None:
    if access == "ind" and "--shuffle" in options:
        pytest.skip("compressed variables are written together")
    words = ["-n=1", "-p=2", GEOMETRY, f"-f={tmp_path / 't.nc'}", f"-t={access}", "-w", "-r", "--dtype=f8"]
    run("bench", "io", *words, *options, *ONCE)
    run("bench", "io", *words, *options, "--data-content=field", "--quantize=bitround=20", *ONCE)


@pytest.mark.parametrize("form", ["classic", "cdf2", "cdf5"])
def test_classic_files_are_big_endian(run: Run, tmp_path: Path, form: str) -> None:
    words = [GEOMETRY, f"-f={tmp_path / 't.nc'}", "-w", "-r", f"--format={form}", *ONCE]
    for driver in ("ncforge", "netcdf-c"):
        section = report(run("bench", "io", "--json", f"--driver={driver}", *words))
        assert section["detail"]["cases"][0]["audit"]["endian"] == "big"


CODECS = ["none", "deflate=1", "zstd=3", "lz4", "lzf", "bzip2=9", "blosc-lz4=5", "blosc-zstd=5"]


def test_codecs_shuffles_and_what_is_stored(run: Run, tmp_path: Path) -> None:
    words = [GEOMETRY, f"-f={tmp_path / 't.nc'}", "-w", "-r", "-c=auto", "-L", f"codec={','.join(CODECS)}", *ONCE]
    done = run("bench", "io", *words, "-L", "shuffle=off,bytes,bits", f"--json={tmp_path / 'out.json'}", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2 * 3 * len(CODECS)
    for row in rows:
        assert row["verify"] == ("ok" if row["phase"] == "read" else "")
        assert float(row["ratio"]) == pytest.approx(3840 / int(row["bytes_stored"]), rel=1e-2)
        stored = int(row["bytes_stored"]) / 2**20 / float(row["t_total_s"])
        assert float(row["rate_stored_MiBps"]) == pytest.approx(stored, rel=1e-2)
    cases = json.loads((tmp_path / "out.json").read_text())["sections"][0]["detail"]["cases"]
    filters = {(c["ask"]["coding"]["codec"], c["ask"]["coding"]["shuffle"]): c["audit"]["filters"] for c in cases}
    assert filters["none", "off"] == []
    assert filters["zstd=3", "bytes"] == ["shuffle", "zstd"]
    assert filters["zstd=3", "bits"] == filters["lz4", "bits"] == ["bitshuffle"]
    assert filters["deflate=1", "bits"] == ["bitshuffle", "deflate"]
    assert filters["blosc-lz4=5", "bytes"] == ["blosc"]
    text = run("bench", "io", *words).stdout
    assert "ratio" in text and "stored rate" in text
    # Encoding may be left for closing: calls alone would be compared in vain.
    assert "write, with open and close: ncforge, not compressed is" in text
    assert "read warm: ncforge, not compressed is" in text


def test_what_a_library_lacks_is_said(run: Run, tmp_path: Path) -> None:
    words = [GEOMETRY, f"-f={tmp_path / 't.nc'}", "-w", *ONCE]
    for driver in ("netcdf-c", "hdf5"):
        done = run("bench", "io", *words, f"--driver={driver}", "--codec=lzf", code=2)
        assert "no filter lzf (32000)" in done.stderr and "HDF5_PLUGIN_PATH" in done.stderr
    done = run("bench", "io", *words, "--driver=hdf5", "--dtype=f4", "--quantize=bitround=9", code=2)
    assert "does not quantize" in done.stderr
    for options, message in [
        (["--quantize=bitround=9"], "float and double"),
        (["--quantize=bitround=60", "--dtype=f8"], "1 to 52"),
        (["--dtype=u2", "--format=netcdf4-classic"], "no values of type ushort"),
        (["--dtype=i8", "--format=classic"], "no values of type int64"),
        (["--codec=snappy"], "no codec `snappy`"),
        (["--codec=deflate=10"], "1 to 9"),
        (["--codec=zstd", "-z=1"], "cannot be used with"),
        (["--codec=zstd", "--format=cdf5"], "not compressed"),
        (["--quantize=granular=3", "--format=cdf5", "--dtype=f4"], "quantize"),
        (["--data-content", "sample=nothing"], "sample=ocean.nc:sst"),
    ]:
        assert message in run("bench", "io", *words, *options, code=2).stderr, options
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(NEWER is None, reason="netCDF4-python brings no library of its own")
def test_a_newer_netcdf_c_writes_what_its_plugins_can(tmp_path: Path) -> None:
    environment = {"HDF5_PLUGIN_PATH": str(WHEEL / "plugins")}
    # (Blosc's plug-in fails where a chunk does not become smaller.)
    words = ["bench", "io", "-d=3:40:40:8", "--data-content=compressible=70", f"-f={tmp_path / 't.nc'}", "-w", "-r"]
    words += ["-c=auto", "--dtype=f4", "--json", *ONCE]
    sweep = ["-L", "codec=deflate=4,zstd=3,bzip2=9,blosc-lz4=5", "-L", "shuffle=off,bytes"]
    quantize = ["-L", "quantize=none,bitround=9,granular=3,bitgroom=3"]
    done = ncforge(*words, "--driver=ncforge", f"--library={NEWER}", *sweep, *quantize, env=environment)
    section = report(done)
    assert len(section["detail"]["cases"]) == 2 * 4 * 2 * 4
    ours, theirs = (section["detail"]["cases"][half::1] for half in (0, 32))
    for a, b in zip(ours[:32], theirs, strict=True):
        for fact in ("chunks", "filters", "endian", "rounding"):
            assert a["audit"][fact] == b["audit"][fact], (a["name"], b["name"])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kind", ["bitround=5", "granular=2", "bitgroom=2"])
def test_rounded_values_are_checked_as_what_is_left_of_them(run: Run, tmp_path: Path, dtype: str, kind: str) -> None:
    words = [f"-f={tmp_path / 't.nc'}", GEOMETRY, "-u", "-w", "-r", f"--dtype={dtype}", f"--quantize={kind}", *ONCE]
    section = report(run("bench", "io", "--json", "--driver=ncforge,raw", *words))
    assert section["detail"]["cases"][0]["audit"]["rounding"] == kind
    assert all(m["right"] for r in section["rows"] if r["phase"] == "read" for m in r["measurements"])
    with netCDF4.Dataset(tmp_path / "t.1.nc") as nc:
        nc.set_auto_mask(False)
        rounded = np.asarray(nc["data"][:])
    exact = np.fromfile(tmp_path / "t.2.raw", dtype, 960).reshape(SHAPE)
    assert not np.array_equal(rounded, exact)
    assert np.allclose(rounded, exact, rtol=0.05)


def test_a_sample_of_a_real_file_is_repeated(run: Run, tmp_path: Path) -> None:
    source, path = tmp_path / "ocean.nc", tmp_path / "t.nc"
    field = np.random.default_rng(1).normal(size=(3, 4, 5)).astype("f8")
    with netCDF4.Dataset(source, "w") as nc:
        for name, n in zip("tyx", field.shape, strict=True):
            nc.createDimension(name, n)
        nc.createGroup("sea").createVariable("sst", "f8", ("t", "y", "x"))[:] = field
    words = [f"-f={path}", "-w", "-r", f"--data-content=sample={source}:sea/sst", *ONCE]
    run("bench", "io", "-d=5:6:7", *words)
    with netCDF4.Dataset(path) as nc:
        assert nc["data"].dtype == np.float64
        assert np.array_equal(nc["data"][:], np.tile(field, (2, 2, 2))[:5, :6, :7])
    run("bench", "io", "-d=2:3:4:10", *words, "-n=1", "-p=2", "-z=1", "--quantize=bitround=8")
    run("bench", "io", "-d=2:3:4:10", *words, "--driver=netcdf-c")
    with netCDF4.Dataset(path) as nc:
        assert np.array_equal(np.asarray(nc["data"][:]).ravel(), np.resize(field, 240))
    before = path.read_bytes()
    assert "leave out --dtype" in run("bench", "io", "-d=5:6:7", *words, "--dtype=f4", code=2).stderr
    run("bench", "io", "-d=5:6:7", *words[:3], f"--data-content=sample={source}:salt", *ONCE, code=2)
    assert path.read_bytes() == before


def test_parallel_netcdf_c_rounds(tmp_path: Path) -> None:
    library = Path("/usr/lib/x86_64-linux-gnu/libnetcdf_pnetcdf.so.19")
    if not library.exists() or not shutil.which("mpiexec.openmpi"):
        pytest.skip("no parallel netCDF-C")
    words = ["-n=1", "-p=2", GEOMETRY, f"-f={tmp_path / 't.nc'}", "-t=coll", "-w", "-r", "--dtype=f4", "--json", *ONCE]
    sweep = ["-L", "quantize=none,bitround=9"]
    options = [*words, *sweep, "-c=auto", "--driver=ncforge", f"--library={library}"]
    done = ncforge("bench", "io", *options, before=mpi_ranks(2))
    assert {c["audit"]["rounding"] for c in report(done)["detail"]["cases"]} == {None, "bitround=9"}
