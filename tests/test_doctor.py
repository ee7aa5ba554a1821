"""``ncforge doctor``: every rule finds its problem, finds nothing where there is none, and its command fixes it.

The files are made by netCDF4-python, h5py and NCO; the commands that the findings carry are typed into a shell.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute, find_binary
from commands import ncforge as run
from datasets import created
from doctor_files import (
    NX,
    NY,
    N,
    big_endian,
    cmip,
    contiguous,
    dimensions,
    field,
    fixed_cmip,
    header_with_room,
    header_without_room,
    maps,
    masked,
    noise,
    record_file,
    scattered,
    smooth,
    z,
)

ROOT = Path(__file__).resolve().parent.parent


def doctor(*words: str | Path, code: int | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    return run("doctor", *words, code=code, env={"NCFORGE_MACHINE": "/nonexistent"}, cwd=cwd)


def findings(path: Path, *words: str) -> list[dict[str, Any]]:
    """The findings on a file."""
    return list(one("--fail-on", "never", path, *words)["findings"])


def one(*words: str | Path) -> dict[str, Any]:
    """The report on one file."""
    document = json.loads(doctor("--json", *words, code=0).stdout)
    (reported,) = document["files"]
    return dict(reported)


def codes(path: Path, *words: str) -> set[str]:
    """The codes of what is found."""
    return {f["code"] for f in findings(path, *words)}


@functools.cache
def cache() -> int:
    """Bytes of the default cache of the netCDF-C that is installed, as the doctor found it."""
    found = one(ROOT / "data/navy_winds.nc", "--fail-on", "never")["reader_cache"]
    assert found["slots"] > 0 and 0 <= found["preemption"] <= 1
    size: int = found["size"]
    return size


Make = Callable[[Path], None]

# For every rule: a file in which it is found, one in which it is not.
CASES: dict[str, tuple[Make, Make]] = {
    "NC101": (lambda p: field(p, **z((1, NY, NX))), lambda p: field(p, **z((64, 8, 16)))),
    "NC102": (lambda p: field(p, **z((N, 1, 1))), lambda p: field(p, **z((64, 8, 16)))),
    "NC103": (lambda p: field(p, **z((2, 8, 8))), lambda p: field(p, **z((64, 8, 16)))),
    "NC104": (
        lambda p: field(
            p, (9, 1024, cache() // 12288), values=False, unlimited=False, **z((1, 1024, cache() // 12288))
        ),
        lambda p: field(p, (20, 720, 1440), values=False, unlimited=False, **z((10, 72, 144))),
    ),
    "NC105": (
        lambda p: field(p, bounds=1, **z((64, 8, 16))),
        lambda p: field(p, bounds=N, **z((64, 8, 16))),
    ),
    "NC106": (lambda p: field(p, zlib=True), lambda p: field(p, **z((64, 8, 16)))),
    "NC107": (
        lambda p: field(p, (1200, 64, 64), unlimited=False, **z((10, 16, 16))),
        lambda p: field(p, (1200, 64, 64), unlimited=False, **z((120, 32, 32))),
    ),
    "NC108": (lambda p: maps(p), lambda p: field(p, **z((64, 8, 16)))),
    "NC201": (
        lambda p: field(p, (9, 1024, cache() // 3072), values=False, unlimited=False, **z((1, 1024, cache() // 3072))),
        lambda p: field(p, (40, 720, 1440), values=False, unlimited=False, **z((10, 72, 144))),
    ),
    "NC202": (
        lambda p: field(p, (1200, 32, 64), **z((1, 32, 64))),
        lambda p: field(p, **z((64, 8, 16))),
    ),
    "NC203": (
        lambda p: field(p, (10, 720, 1440), values=False, unlimited=False, **z((3, 720, 1440))),
        lambda p: field(p, (10, 720, 1440), values=False, unlimited=False, **z((5, 72, 144))),
    ),
    "NC301": (
        lambda p: field(p, **z((64, 8, 16), shuffle=False)),
        lambda p: field(p, **z((64, 8, 16))),
    ),
    "NC302": (
        lambda p: field(p, values=noise(N, NY, NX), **z((64, 8, 16), complevel=9)),
        lambda p: field(p, values=noise(N, NY, NX), **z((64, 8, 16))),
    ),
    "NC303": (
        lambda p: contiguous(p, values=np.round(smooth())),
        lambda p: contiguous(p, values=noise(N, NY, NX)),
    ),
    "NC304": (lambda p: masked(p, fill=True), lambda p: masked(p, fill=False)),
    "NC305": (lambda p: big_endian(p, big=True), lambda p: big_endian(p, big=False)),
    "NC401": (lambda p: record_file(p, 31), lambda p: record_file(p, 1)),
    "NC402": (lambda p: scattered(p, front=False), lambda p: scattered(p, front=True)),
    "NC403": (
        lambda p: field(p, (2000, 32, 32), unlimited=False, values=noise(2000, 32, 32), **z((1, 8, 8))),
        lambda p: field(p, **z((64, 8, 16))),
    ),
    "NC404": (lambda p: dimensions(p, used=False), lambda p: dimensions(p, used=True)),
    "NC405": (header_without_room, header_with_room),
}
CMIP7: dict[str, tuple[Make, Make]] = {
    "NC701": (lambda p: cmip(p, time=1), lambda p: cmip(p)),
    "NC702": (lambda p: cmip(p, bounds=1), lambda p: cmip(p)),
    "NC703": (lambda p: cmip(p, data=1), lambda p: cmip(p)),
    "NC704": (lambda p: cmip(p, data=1), lambda p: fixed_cmip(p)),
    "NC705": (lambda p: field(p, form="NETCDF3_CLASSIC"), lambda p: cmip(p)),
}


def type_in(command: str, folder: Path) -> Path:
    """Runs a finding's command in a shell, and compares the files. Gives the new one."""
    words = shlex.split(command)
    assert words[:2] == ["ncforge", "copy"], command
    execute("bash", "-c", f'ncforge() {{ {shlex.quote(str(find_binary()))} "$@"; }}; {command} -q', cwd=folder)
    source, copy = folder / words[2], folder / words[3]
    if "--vars" not in words:
        run("compare", "-q", source, copy)
    return copy


@pytest.mark.parametrize("code", [*CASES, *CMIP7])
def test_rule(code: str, tmp_path: Path) -> None:
    """A rule's two files, and its command."""
    bad, good = tmp_path / "bad file.nc", tmp_path / "good.nc"
    make_bad, make_good = {**CASES, **CMIP7}[code]
    make_bad(bad)
    make_good(good)
    words = ["--profile", "cmip7"] if code in CMIP7 else []
    assert code not in codes(good, *words), findings(good, *words)
    found = [f for f in findings(bad, *words) if f["code"] == code]
    assert found, findings(bad, *words)
    assert re.search(r"\d|unlimited|format", found[0]["message"]), found[0]["message"]
    assert found[0]["commands"], "every one of these can be fixed"
    fixed = type_in(found[0]["commands"][0], tmp_path)
    after = [f for f in findings(fixed, *words) if f["code"] == code and f["variable"] == found[0]["variable"]]
    assert not after, after


def test_every_rule_has_a_test() -> None:
    """Rules of the code, of these tests, and of the page in the docs are the same."""
    listed = json.loads(doctor("--rules", "--json", code=0).stdout)["rules"]
    here = {*CASES, *CMIP7, "NC501", "NC502", "NC503", "NC504", "NC505", "NC506", "NC507"}
    here |= {"NC508", "NC509", "NC801", "NC802", "NC803"}  # test_profile_virtual.py
    here |= {"NC601", "NC602"}  # test_references.py, test_quantize.py
    assert {r["code"] for r in listed} == here
    text = doctor("--rules", code=0).stdout
    page = (ROOT / "docs/reference/doctor-rules.md").read_text()
    for rule in listed:
        assert f"{rule['code']} {rule['severity']}" in text
        row = f"| {rule['code']} | `{rule['name']}` | {rule['severity']} | {rule['about']} | {rule['fixed_by']} |"
        assert row in page, row


def test_the_figures_are_right(tmp_path: Path) -> None:
    """Maps as chunks: what a series decodes, counted by hand."""
    path = tmp_path / "maps.nc"
    field(path, **z((1, NY, NX)))
    (found,) = [f for f in findings(path) if f["code"] == "NC101"]
    bytes_each = NY * NX * 4
    assert found["message"].startswith(
        f"time is chunked by 1: a point series decodes {N} chunks, {N * bytes_each / 2**20:.1f} MiB, "
        f"to deliver {N * 4 / 2**10:.2f} KiB ({NY * NX:,}×)"
    )
    assert found["severity"] == "info" and found["variable"] == "tas", "the whole file is read in some milliseconds"
    cache = found["netcdf_c_cache"]
    assert cache["size"] == N * bytes_each and cache["slots"] > 2 * N and cache["preemption"] == 0.75
    # With reads of maps only, there is nothing to fix.
    assert "NC101" not in codes(path, "--for", "map")


def test_what_access_points_cure_is_not_reported(tmp_path: Path) -> None:
    """Maps as chunks: with access points a series decodes a segment of each, and neither other chunks nor a warning are needed."""
    without, with_points = tmp_path / "without.nc", tmp_path / "with.nc"
    maps(without)
    with netCDF4.Dataset(without) as old, ncforge.Dataset(with_points, "w") as new:
        for name in ("time", "lat", "lon"):
            new.createDimension(name, len(old.dimensions[name]))
        new.createVariable("tas", "f4", ("time", "lat", "lon"), **z((1, 360, 720)))[:] = old["tas"][:]
    found = {f["code"]: f for f in findings(without)}
    assert "NC108" in found and not {"NC101", "NC102"} & set(found), "other chunks would bring no more"
    assert found["NC108"]["commands"] == [f"ncforge copy {without} {tmp_path}/without-fixed.nc --add-access-points"]
    said = re.search(
        r"without access points, a point series decodes 40 chunks, .*It takes ([\d.]+) ms; with access "
        r"points in the same chunks ([\d.]+) (m|µ)s \(([\d.]+)× faster\)",
        found["NC108"]["message"],
    )
    assert said, found["NC108"]["message"]
    assert float(said[4]) > 4
    assert not {"NC101", "NC102", "NC108"} & codes(with_points)
    # Another reader decodes all of them: what concerns its cache is said as before.
    assert "NC202" in codes(with_points) or "NC202" not in set(found)
    # Half of the chunks were stored anew by a library that does not know of access points.
    with netCDF4.Dataset(with_points, "a") as d:
        d["tas"][::2] = d["tas"][::2]
    (half,) = [f for f in findings(with_points) if f["code"] == "NC108"]
    assert "20 of 40 with access points" in half["message"]
    # Values that become very small get none: the whole chunk is decoded in no time.
    maps(tmp_path / "same.nc", values=np.zeros((40, 360, 720), "f4"))
    assert "NC108" not in codes(tmp_path / "same.nc")
    assert ncforge.doctor(without, select="NC108").findings[0].message == found["NC108"]["message"]


def test_select_ignore_fail_on(tmp_path: Path) -> None:
    """Which rules count, and the exit code."""
    path = tmp_path / "maps.nc"
    field(path, **z((1, NY, NX), shuffle=False))
    assert codes(path, "--select", "NC3") == {"NC301"}
    assert codes(path, "--select", "NC301,time-chunked-by-1") == {"NC101", "NC301"}
    assert "NC301" not in codes(path, "--ignore", "no-shuffle")
    # Read in some milliseconds, it is worth remarks; with a request for each chunk, warnings.
    doctor(path, code=0)
    doctor(path, "--storage", "object", code=3)
    doctor(path, "--storage", "object", "--fail-on", "error", code=0)
    doctor(path, "--storage", "object", "--select", "NC106", code=0)
    doctor(path, "--select", "NC106", "--fail-on", "info", code=3)
    doctor(path, "--select", "NC9", code=2)
    doctor(path, "--for", "mapp", code=2)
    doctor(tmp_path / "no.nc", code=4)
    doctor(code=2)
    (tmp_path / "bad.nc").write_bytes(b"CDF\x01\0\0")
    assert "tas" in doctor(tmp_path / "bad.nc", path, code=4).stdout


def test_the_text_is_folded_and_narrow(tmp_path: Path) -> None:
    """Variables that are alike share their lines; only commands are longer than 80 columns."""
    path = tmp_path / "many.nc"
    with created(path, time=None, lat=NY, lon=NX) as d:
        values = smooth()
        for i in range(13):
            d.createVariable(f"v{i}", "f4", ("time", "lat", "lon"), **z((1, NY, NX)))[:] = values
    text = doctor("many.nc", "--for", "map,series", code=0, cwd=tmp_path).stdout
    assert text.count("NC101") == 1 and "v0, v1, v2" in text and "and 1 more" in text
    long = [line for line in text.splitlines() if len(line) > 80]
    assert all("ncforge copy" in line for line in long), long
    assert "\x1b[" not in text
    assert "\x1b[" in doctor("--color", "always", path, code=0).stdout
    all_of_it = [line for line in text.splitlines() if "ncforge copy" in line][-1].strip()
    after = codes(type_in(all_of_it, tmp_path))
    assert "NC101" not in after


def test_files_that_are_alike_share_their_lines(tmp_path: Path) -> None:
    """A folder of daily files: one list of findings, and one command for all."""
    field(tmp_path / "day_0.nc", **z((1, NY, NX)))
    names = [f"day_{i}.nc" for i in range(13)]
    for name in names[1:]:
        shutil.copy(tmp_path / "day_0.nc", tmp_path / name)
    text = doctor(*names, "--fail-on", "never", code=0, cwd=tmp_path).stdout
    assert text.count("NC101") == 1 and text.startswith("13 files, each netCDF-4") and "and 1 more" in text
    assert len(text.splitlines()) < 40, text
    (command,) = [line.strip() for line in text.splitlines() if "ncforge copy" in line]
    env = {"PATH": f"{find_binary().parent}:{os.environ['PATH']}"}
    execute("sh", "-e", "-c", command, cwd=tmp_path, env=env)
    # In a folder of their own: a pattern that meant the files means them still.
    assert sorted(p.name for p in tmp_path.glob("*.nc")) == sorted(names)
    for i in range(13):
        with netCDF4.Dataset(tmp_path / "fixed" / f"day_{i}.nc") as d:
            assert d["tas"].chunking() != [1, NY, NX]
            assert f"day_{(i + 1) % 13}.nc" not in d.history, "each tells of its own copy"


def test_more_files_than_may_be_open(tmp_path: Path) -> None:
    """Files are closed when they have been looked at, across files, too."""
    field(tmp_path / "day_000.nc", (64, NY, NX), **z((32, 8, 16)))
    paths = [tmp_path / f"day_{i:03d}.nc" for i in range(80)]
    for path in paths[1:]:
        path.hardlink_to(paths[0])
    paths[-1].unlink()
    field(paths[-1], (64, NY, NX), **z((16, 8, 16)))
    script = (
        "import json, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); "
        "import ncforge; found = ncforge.doctor(sys.argv[1:], across=True); "
        "print(json.dumps([len(found), len(found.failures), [f.code for f in found.across if f.variable == 'tas']]))"
    )
    done = execute(sys.executable, "-c", script, *paths)
    assert json.loads(done.stdout) == [80, 0, ["NC501"]]
    line = f"ulimit -n 60; '{find_binary()}' doctor --across --fail-on never {tmp_path}/day_*.nc"
    done = execute("sh", "-c", line)
    assert "across 80 files" in done.stdout and not done.stderr


def test_zipped_files_are_as_good_as_they_are(tmp_path: Path) -> None:
    """Their blocks are compressed, and hold a variable's records one after the other."""
    record_file(tmp_path / "r.nc", 31)
    assert "NC401" in codes(tmp_path / "r.nc")
    run("zip", tmp_path / "r.nc", tmp_path / "r.ncz")
    found = findings(tmp_path / "r.ncz")
    assert not {"NC401", "NC303"} & {f["code"] for f in found}
    for at, command in enumerate(
        c for f in [*found, *findings(tmp_path / "r.ncz", "--profile", "cmip7")] for c in f["commands"]
    ):
        folder = tmp_path / str(at)
        folder.mkdir()
        shutil.copy(tmp_path / "r.ncz", folder)
        type_in(command.replace(str(tmp_path) + "/", ""), folder)


def test_interleaved_records_that_take_a_moment_are_worth_no_warning(tmp_path: Path) -> None:
    """Of a file in the page cache small gaps are read over, and no index says where records are."""
    with created(tmp_path / "r.nc", format="NETCDF3_64BIT_OFFSET", time=None, x=100) as d:
        for i in range(10):
            d.createVariable(f"v{i}", "f4", ("time", "x"))[0:3000] = np.zeros((3000, 100), "f4")
    found = [f for f in findings(tmp_path / "r.nc") if f["code"] == "NC401"]
    assert len(found) == 10 and {f["severity"] for f in found} == {"info"}
    far = [f for f in findings(tmp_path / "r.nc", "--storage", "object") if f["code"] == "NC401"]
    assert {f["severity"] for f in far} == {"warning"}


def test_both_times_and_calls_for_the_curious(tmp_path: Path) -> None:
    """A gain is two times and their ratio; calls of netCDF-C come with -v."""
    path = tmp_path / "maps.nc"
    field(path, **z((1, NY, NX)))
    text = doctor(path, code=0).stdout
    assert re.search(r"It takes [\d.]+ [mµ]?s; with chunks of [\dx ]+ [\d.]+ [mµ]?s", " ".join(text.split())), text
    for word in ("nc_set_var_chunk_cache", "slots", "preemption", "cliff"):
        assert word not in text, text
    assert "nc_set_var_chunk_cache" in doctor("-v", path, code=0).stdout


def test_python_says_what_the_command_says(tmp_path: Path) -> None:
    """Equal text, and an equal cache of netCDF-C."""
    path = tmp_path / "maps.nc"
    field(path, **z((1, NY, NX)))
    found = ncforge.doctor(path)
    assert found.reader_cache == one("--fail-on", "never", path)["reader_cache"]
    assert found.reader_cache["name"] == "netCDF-C 4.9.3 and later"
    times = re.compile(r"[\d.,]+ ?(?:ns|µs|ms|s|×|times)\b|[\d.]+×")
    lines = [re.sub(r"\s+", " ", times.sub("", t)) for t in (str(found), doctor(path, code=0).stdout)]
    assert str(found).count("ncforge copy") == lines[1].count("ncforge copy")
    assert {w for w in lines[0].split() if w.startswith("NC")} == {w for w in lines[1].split() if w.startswith("NC")}


def test_metadata_have_one_size(tmp_path: Path) -> None:
    """`info --storage` counts what doctor counts."""
    path = tmp_path / "scattered.nc"
    CASES["NC402"][0](path)
    (found,) = [f for f in findings(path) if f["code"] == "NC402"]
    info = run("info", "--storage", path).stdout
    (size,) = re.findall(r"metadata ([\d.]+ \S+)\)", info)
    assert found["message"].startswith(f"{size} of metadata"), (size, found["message"])
    assert found["severity"] == "info", "on a local disk, requests take no time"


def test_little_that_could_be_saved_is_not_reported(tmp_path: Path) -> None:
    """A small file without compression, and few chunks of fill values."""
    small = tmp_path / "little.nc"
    field(small, (32, 32, 64), unlimited=False, values=np.zeros((32, 32, 64), "f4"))
    assert "NC303" not in codes(small)
    values = smooth(64, NY, NX, noise=3.0)
    values[-1] = netCDF4.default_fillvals["f4"]
    few = tmp_path / "few.nc"
    field(few, (64, NY, NX), values=values, **z((1, NY, NX)))
    assert "NC304" not in codes(few)


def test_little_is_read(tmp_path: Path) -> None:
    """A file of a thousand variables: metadata and a few chunks."""
    path = tmp_path / "wide.nc"
    with h5py.File(path, "w") as f:
        for i in range(1000):
            v = f.create_dataset(f"v{i}", (40, 16, 32), "f4", chunks=(8, 16, 32), compression=1)
            if i < 100:
                v[...] = noise(40, 16, 32)
    found = one("--fail-on", "never", path)
    assert found["variables"] == 1000
    assert found["bytes_read"] < path.stat().st_size / 2 < 64 << 20


def test_across(tmp_path: Path) -> None:
    """Properties that must agree in files that belong together, and do not."""
    for name in "abc":
        field(tmp_path / f"{name}.nc", (64, NY, NX), **z((32, 8, 16)))
    field(tmp_path / "longer.nc", (128, NY, NX), **z((32, 8, 16)))
    same = [str(tmp_path / f"{name}.nc") for name in ["a", "b", "c", "longer"]]

    def differ(make: Make) -> dict[str, Any]:
        path = tmp_path / "d.nc"
        make(path)
        out = json.loads(doctor("--across", "--json", "--fail-on", "never", *same, path, code=0).stdout)
        return {f["code"]: f for f in out["across"] if f["variable"] != "time"}

    assert differ(lambda p: field(p, (64, NY, NX), **z((32, 8, 16)))) == {}
    other = differ(lambda p: field(p, (64, NY, NX), **z((16, 8, 16))))
    assert set(other) == {"NC501"} and other["NC501"]["files"] == [str(tmp_path / "d.nc")]
    assert "32 x 8 x 16 in 4 of 5 files, 16 x 8 x 16" in other["NC501"]["message"]
    type_in(other["NC501"]["commands"][0].replace(str(tmp_path) + "/", ""), tmp_path)
    fixed = tmp_path / "d-fixed.nc"
    again = doctor("--across", "--select", "NC501", "--fail-on", "never", *same, fixed, code=0)
    assert " tas" not in again.stdout, again.stdout
    fixed.unlink()
    other = differ(lambda p: field(p, (64, NY, NX), **z((32, 8, 16), complevel=5)))
    assert set(other) == {"NC502"}
    type_in(other["NC502"]["commands"][0].replace(str(tmp_path) + "/", ""), tmp_path)
    assert set(differ(lambda p: field(p, (64, NY, NX), dtype="f8", **z((32, 8, 16))))) == {"NC504"}
    assert set(differ(lambda p: field(p, (64, NY, 32), **z((32, 8, 16))))) == {"NC505"}

    def packed(p: Path) -> None:
        field(p, (64, NY, NX), **z((32, 8, 16)))
        with netCDF4.Dataset(p, "a") as d:
            d["tas"].scale_factor = 0.1

    assert set(differ(packed)) == {"NC503"}

    def kelvin(p: Path) -> None:
        field(p, (64, NY, NX), **z((32, 8, 16)))
        with netCDF4.Dataset(p, "a") as d:
            d["tas"].units = "K"

    assert set(differ(kelvin)) == {"NC507"}

    def less(p: Path) -> None:
        field(p.with_name("e.nc"), (64, NY, NX), **z((32, 8, 16)))
        execute("ncks", "-O", "-h", "-C", "-v", "time", p.with_name("e.nc"), p)

    assert set(differ(less)) == {"NC506"}
    doctor("--across", "--fail-on", "error", *same, tmp_path / "d.nc", code=3)


def test_profile_cmip7(tmp_path: Path) -> None:
    """A verdict a file, and the same one that the archive's checker gives, where that is installed."""
    files = {"good": tmp_path / "good.nc", "bad": tmp_path / "bad.nc", "mended": tmp_path / "mended.nc"}
    fixed_cmip(files["mended"])
    cmip(files["good"])
    field(tmp_path / "tiny.nc", (4, 8, 8), zlib=True)
    out = doctor("--profile", "cmip7", files["bad"], files["mended"], code=3).stdout
    assert f"{files['bad']}: fails" in out and f"{files['mended']}: passes" in out
    assert {"NC701", "NC702", "NC703"} <= codes(files["bad"], "--profile", "cmip7")
    with netCDF4.Dataset(files["mended"]) as d:
        assert d["time"].chunking() == [160] and d["time_bnds"].chunking() == [160, 2]
        chunk = d["tas"].chunking()
        assert np.prod(chunk) * 4 >= 4 << 20 > np.prod(chunk) * 4 - 90 * 300 * 4 and chunk[1:] == [90, 300]
        filters = d["tas"].filters()
        assert filters["zlib"] and filters["complevel"] == 4 and filters["shuffle"] and filters["fletcher32"]
    run("compare", "-q", files["bad"], files["mended"])
    checker = os.environ.get("CHECK_CMIP7_PACKING") or shutil.which("check_cmip7_packing")
    if checker is None:
        pytest.skip("check_cmip7_packing is not installed")
    for path in [*files.values(), tmp_path / "tiny.nc"]:
        theirs = execute(sys.executable, checker, path, code=None)
        ours = doctor("--profile", "cmip7", path)
        assert (theirs.returncode == 0) == (ours.returncode == 0), theirs.stdout + ours.stdout


def test_what_is_proposed_spoils_no_read(tmp_path: Path) -> None:
    """Compression is advised with chunks that suit it, and reads that take longer are listed; the result has no warnings."""
    path = tmp_path / "plain.nc"
    n, ny, nx = 780, 96, 192
    field(path, (n, ny, nx), unlimited=False, values=np.round(smooth(n, ny, nx)), chunksizes=(n, 12, 24))
    (found,) = [f for f in findings(path) if f["code"] == "NC303"]
    (command,) = found["commands"]
    assert "--filters" in command and "--chunks" in command, "chunks of a whole series decode slowly for a map"
    reported = {s["read"]: s for s in found["slower"]}
    assert all(s["then"] > s["now"] > 0 for s in reported.values())
    assert not reported or "takes longer" in doctor("--fail-on", "never", path).stdout
    fixed = type_in(command, tmp_path)
    assert not [f for f in findings(fixed) if f["code"][:3] in {"NC1", "NC2", "NC3"}]
    # The share of the copy that a map decodes, by its own chunk grid: not the whole file, as it would with the old chunks.
    with netCDF4.Dataset(fixed) as d:
        chunks = d["tas"].chunking()
    assert chunks[0] < n // 4, chunks


def test_names_with_separators_get_the_same_fixes(tmp_path: Path) -> None:
    """Characters that mean something in a list of variables: the fixes of each variable, alone and together, are those of `tas`."""
    names = ["tas", "a;b", "a,b:c", "a|b&c\\d", "a\\;b"]
    path = tmp_path / "odd.nc"
    values = smooth()
    with created(path, time=None, lat=NY, lon=NX) as d:
        for name in names:
            d.createVariable(name, "f4", ("time", "lat", "lon"), **z((1, NY, NX), shuffle=False))[:] = values
    by_name = {f["variable"]: f for f in findings(path, "--select", "NC101,NC301")}
    assert sorted(by_name) == sorted(names)
    one_fixed = type_in(by_name["a;b"]["commands"][0], tmp_path)
    (whole,) = one("--fail-on", "never", path, "--select", "NC101,NC301")["commands"]
    found = ncforge.doctor(path, select=["NC101", "NC301"])
    found.apply(tmp_path / "all.nc")
    assert found.commands == [whole]
    with netCDF4.Dataset(tmp_path / "all.nc") as d, netCDF4.Dataset(one_fixed) as alone:
        for name in names:
            assert d[name].chunking() == d["tas"].chunking() != [1, NY, NX], name
            assert d[name].filters()["shuffle"], name
            assert (alone[name].chunking() != [1, NY, NX]) == (name == "a;b"), name
    one_fixed.unlink()
    with netCDF4.Dataset(type_in(whole, tmp_path)) as d:
        assert all(d[name].chunking() == d["tas"].chunking() != [1, NY, NX] for name in names)


def test_findings_are_applied(tmp_path: Path) -> None:
    """Python makes the copies that the commands would make."""
    path = tmp_path / "maps.nc"
    field(path, **z((1, NY, NX)))
    found = ncforge.doctor(path, for_="series")
    finding: Any
    (finding,) = [f for f in found if f.code == "NC101"]
    assert finding.fix and set(finding.fix) == {"chunks"}
    report = finding.apply(tmp_path / "new.nc", verify=True)
    assert report.verified and report.output == str(tmp_path / "new.nc")
    typed = type_in(finding.commands[0], tmp_path)
    with netCDF4.Dataset(tmp_path / "new.nc") as ours, netCDF4.Dataset(typed) as theirs:
        assert ours["tas"].chunking() == theirs["tas"].chunking() != [1, NY, NX]
    assert "NC101" not in {f.code for f in ncforge.doctor(tmp_path / "new.nc", for_="series")}
    with pytest.raises(ncforge.ExistsError):
        finding.apply(tmp_path / "new.nc")
    assert finding.apply(tmp_path / "new.nc", overwrite=True, chunks="keep").output_bytes > 0, (
        "options win over the fix"
    )
    with netCDF4.Dataset(tmp_path / "new.nc") as d:
        assert d["tas"].chunking() == [1, NY, NX]
    # Where several files differ, each gets its copy in a folder.
    for name, chunks in (("a", (32, 8, 16)), ("b", (32, 8, 16)), ("c", (16, 8, 16))):
        field(tmp_path / f"{name}.nc", (64, NY, NX), **z(chunks))
    both = ncforge.doctor([tmp_path / f"{name}.nc" for name in "abc"], across=True)
    across: Any
    (across,) = [f for f in both.across if f.code == "NC501" and f.variable == "tas"]
    (done,) = across.apply(tmp_path / "alike")
    assert done.output == str(tmp_path / "alike" / "c.nc")
    again = ncforge.doctor([tmp_path / "a.nc", tmp_path / "alike" / "c.nc"], across=True)
    assert not [f for f in again.across if f.variable == "tas"]
    # No copy can fix it.
    field(tmp_path / "d.nc", (64, NY, NX), dtype="f8", **z((32, 8, 16)))
    both = ncforge.doctor([tmp_path / "a.nc", tmp_path / "d.nc"], across=True)
    (across,) = [f for f in both.across if f.code == "NC504"]
    assert across.fix is None and not across.commands
    with pytest.raises(ncforge.InvalidError, match="no copy"):
        across.apply(tmp_path / "no.nc")


def test_small_files_are_worth_no_warning(tmp_path: Path) -> None:
    """A file that is read in a moment needs no mending, however it is cut."""
    for name in ("navy_winds.nc", "uv300.nc", "etopo60.cdf", "sst30e_netcdf.nc", "nc4uvt.nc", "binned_GSHHS_c.nc"):
        doctor(ROOT / "data" / name, code=0)
    path = tmp_path / "worst.nc"
    field(path, (64, 16, 16), **z((64, 1, 1), shuffle=False))
    doctor(path, code=0)
    assert {f["severity"] for f in findings(path)} <= {"info"}


def test_a_static_field_has_no_series(tmp_path: Path) -> None:
    """No axis of it is time: it is cut for maps, blocks and the whole."""
    path = tmp_path / "topo.nc"
    with created(path, lat=1800, lon=3600) as d:
        d.createVariable("topo", "f4", ("lat", "lon"), **z((1800, 5)))[:] = smooth(1, 1800, 3600)[0]
    (reported,) = json.loads(run("tune", "chunks", "--json", path).stdout)["variables"]
    assert {r["pattern"]["name"] for r in reported["choice"]["told"]} == {"map"}
    chunks = reported["choice"]["chunks"]
    assert min(chunks) >= 60, chunks
    assert not [f for f in findings(path) if "series" in f["message"]]


def test_a_name_that_is_not_utf8_is_told_as_bash_reads_it(tmp_path: Path) -> None:
    """What stands for such a name in a command is no name."""
    path = os.path.join(os.fsencode(tmp_path), b"it's \xff.nc")
    with netCDF4.Dataset(tmp_path / "a.nc", "w"):
        pass
    os.rename(tmp_path / "a.nc", path)
    said = one(os.fsdecode(path))["notes"]
    word = next(note for note in said if "not UTF-8" in note).split(" is ", 2)[2].removesuffix(" in commands")
    assert execute("bash", "-c", f"printf %s {word}", text=False).stdout == path
