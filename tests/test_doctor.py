"""``ncforge doctor``: every rule finds its problem, finds nothing where there is none, and its command fixes it.

The files are made by netCDF4-python, h5py and NCO; the commands that the findings carry are typed into a shell.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
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
from doctor_runs import Make, codes, doctor, findings, one, type_in

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def cache() -> int:
    """Bytes of the default cache of the netCDF-C that is installed, as the doctor found it."""
    found = one(ROOT / "data/navy_winds.nc", "--fail-on", "never")["reader_cache"]
    assert found["slots"] > 0 and 0 <= found["preemption"] <= 1
    size: int = found["size"]
    return size


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
    "NC105": (lambda p: field(p, bounds=1, **z((64, 8, 16))), lambda p: field(p, bounds=N, **z((64, 8, 16)))),
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
    "NC202": (lambda p: field(p, (1200, 32, 64), **z((1, 32, 64))), lambda p: field(p, **z((64, 8, 16)))),
    "NC203": (
        lambda p: field(p, (10, 720, 1440), values=False, unlimited=False, **z((3, 720, 1440))),
        lambda p: field(p, (10, 720, 1440), values=False, unlimited=False, **z((5, 72, 144))),
    ),
    "NC301": (lambda p: field(p, **z((64, 8, 16), shuffle=False)), lambda p: field(p, **z((64, 8, 16)))),
    "NC302": (
        lambda p: field(p, values=noise(N, NY, NX), **z((64, 8, 16), complevel=9)),
        lambda p: field(p, values=noise(N, NY, NX), **z((64, 8, 16))),
    ),
    "NC303": (lambda p: contiguous(p, values=np.round(smooth())), lambda p: contiguous(p, values=noise(N, NY, NX))),
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
    scattered(path, front=False)
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
