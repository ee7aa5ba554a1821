"""Deflate chunks with access points: read by everybody as ordinary chunks, and by ncforge a segment at a time."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import access_points
import ncforge
import servers
from access_point_files import SHAPE, check_peers, field, raw_chunk, write
from commands import execute
from conftest import Run
from datasets import created


@pytest.mark.parametrize(
    ("dtype", "how"),
    [
        ("f4", {}),
        ("f8", {"complevel": 4}),
        ("f4", {"fletcher32": True, "complevel": 7}),
        (">f4", {"endian": "big", "complevel": 2}),
        ("f8", {"complevel": 6, "fletcher32": True}),
    ],
)
def test_an_independent_reader_decodes_every_segment(tmp_path: Path, dtype: str, how: dict[str, Any]) -> None:
    values = write(tmp_path / "a.nc", dtype, **how)
    chunk = raw_chunk(tmp_path / "a.nc", (1, 0, 0), bool(how.get("fletcher32")))
    found = access_points.segments(chunk, 300 * 410)
    assert found is not None and len(found) >= 8
    stored = values[1].astype(values.dtype.newbyteorder(">" if "endian" in how else "<"))
    assert b"".join(found) == stored.tobytes()


def test_the_documented_chunks_are_read() -> None:
    text = (Path(__file__).parents[1] / "docs" / "access-points-vectors.txt").read_text()
    parts = text.split("## ")[1:]
    assert len(parts) >= 3
    for part in parts:
        head, _, rest = part.partition("\n")
        elements = int(re.findall(r"(\d+) elements", head)[0])
        chunk, _, want = rest.removeprefix("chunk:\n").partition("elements:\n")
        found = access_points.segments(bytes.fromhex(chunk), elements)
        assert found is not None
        assert b"".join(found) == bytes.fromhex(want)


@pytest.mark.parametrize("level", range(1, 10))
@pytest.mark.parametrize("dtype", ["i1", "i2", "f4", ">i4", "f8"])
def test_peers_read_what_was_written(tmp_path: Path, dtype: str, level: int) -> None:
    """Chunks that end beyond the array, too."""
    path, copy = tmp_path / "a.nc", tmp_path / "b.nc"
    endian = "big" if dtype.startswith(">") else "native"
    values = write(path, dtype, (2, 200, 333), complevel=level, fletcher32=level % 2 == 0, endian=endian)
    with netCDF4.Dataset(path) as d:
        d.set_auto_mask(False)
        assert np.array_equal(d["v"][:], values)
    with h5py.File(path) as f:
        assert np.array_equal(f["v"][:], values)
    execute("nccopy", path, copy)
    with netCDF4.Dataset(copy) as d:
        d.set_auto_mask(False)
        assert np.array_equal(d["v"][:], values)


def test_selections_of_all_kinds_equal_the_array(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for dtype, chunks in [("f4", (1, 300, 410)), ("f8", (3, 150, 150)), ("i2", (2, 300, 205))]:
        values = write(tmp_path / "a.nc", dtype, chunks, fletcher32=True)
        for _ in range(60):
            key: list[Any] = []
            for n in SHAPE:
                a, b = sorted(int(i) for i in rng.integers(0, n + 1, 2))
                kinds = [
                    int(rng.integers(n)),
                    slice(a, b),
                    slice(a, min(b, a + 3)),
                    slice(None, None, int(rng.integers(1, 90))),
                ]
                key.append(kinds[int(rng.integers(len(kinds)))])
            with ncforge.Dataset(tmp_path / "a.nc") as d:
                v = d["v"]
                v.set_auto_maskandscale(False)
                assert np.array_equal(v[tuple(key)], values[tuple(key)]), key
                rows = np.unique(rng.integers(0, 300, 5))
                assert np.array_equal(v[0, rows, 7], values[0, rows, 7])


def test_info_counts_the_chunks_that_have_them(tmp_path: Path, run: Run) -> None:
    """All of them, some, or of very many chunks a sample."""

    def told(path: Path) -> tuple[str, dict[str, int]]:
        (line,) = [x for x in run("info", "--storage", path).stdout.splitlines() if x.startswith("//   v ")]
        (var,) = [
            v for v in json.loads(run("info", "--json", path).stdout)["files"][0]["variables"] if v["name"] == "v"
        ]
        return line, var["storage"]["access_points"]

    path = tmp_path / "a.nc"
    write(path, "f4", fletcher32=True)
    tables = [len(c) - access_points_begin(c) for c in (raw_chunk(path, (t, 0, 0), True) for t in range(3))]
    line, found = told(path)
    assert found == {"chunks_looked_at": 3, "chunks": 3, "table_bytes": sum(tables)}
    assert "deflate level 1, fletcher32, access points (" in line
    with netCDF4.Dataset(path, "a") as d:
        d["v"][1, 2, 3] = 4
    line, found = told(path)
    assert found == {"chunks_looked_at": 3, "chunks": 2, "table_bytes": tables[0] + tables[2]}
    assert "access points in 2 of them (" in line
    page = ncforge.doctor(path)._repr_html_()
    assert page is None or "access points in 2 of them" in page
    with created(path, **dict(zip("tyx", SHAPE, strict=True))) as d:
        d.createVariable("v", "f4", ("t", "y", "x"), zlib=True, shuffle=True, chunksizes=(1, 8, 41))[:] = field("f4")
        d.createVariable("w", "f4", ("t", "y", "x"), compression="szip")[:] = field("f4")
    line, found = told(path)
    assert found == {"chunks_looked_at": 1000, "chunks": 0, "table_bytes": 0} and "access points" not in line
    (var,) = [v for v in json.loads(run("info", "--json", path).stdout)["files"][0]["variables"] if v["name"] == "w"]
    assert var["storage"]["access_points"] is None
    with created(path, ncforge, t=1100, x=20_000) as many:
        v = many.createVariable("v", "f4", ("t", "x"), zlib=True, chunksizes=(1, 20_000))
        v[:1100] = np.tile(field("f4").reshape(-1)[:20_000], (1100, 1))
    line, found = told(path)
    assert found["chunks"] == found["chunks_looked_at"] == 1000
    assert "1,000 of 1,000 chunks looked at" in line


def access_points_begin(chunk: bytes) -> int:
    """Where a chunk's table begins."""
    return len(chunk) - 24 - int.from_bytes(chunk[-24:-20], "little")


def test_files_with_and_without_them_say_the_same(tmp_path: Path, run: Run) -> None:
    with_points, without = tmp_path / "with.nc", tmp_path / "without.nc"
    write(with_points, "f4", fletcher32=True)
    execute("nccopy", with_points, without)
    assert access_points.segments(raw_chunk(without, (0, 0, 0), True), 300 * 410) is None
    for first, second in [(with_points, without), (without, with_points), (with_points, with_points)]:
        done = run("compare", first, second)
        assert "point" not in done.stdout + done.stderr
        assert ncforge.compare(first, second)


def test_the_profile_of_cmip7_writes_them_and_asks_nobody_else_for_them(tmp_path: Path, run: Run) -> None:
    loose, packed, others = (tmp_path / f"{name}.nc" for name in ("loose", "packed", "others"))
    with created(
        loose, format="NETCDF4_CLASSIC", **dict(zip(("time", "lat", "lon"), (60, 180, 360), strict=True))
    ) as d:
        d.variable_id = "tas"
        t = d.createVariable("time", "f8", ("time",), chunksizes=(1,))
        t.units = "days since 1850-01-01"
        t[:] = np.arange(60)
        noise = np.random.default_rng(2).normal(size=(60, 180, 360))
        v = d.createVariable("tas", "f4", ("time", "lat", "lon"), chunksizes=(1, 180, 360), zlib=True, shuffle=True)
        v[:] = 280 + np.sin(np.arange(360) / 40) + noise
    run("copy", "--profile", "cmip7", loose, packed)
    run("doctor", "--profile", "cmip7", packed)
    with h5py.File(packed) as f:
        chunk = f["tas"].chunks
        assert np.prod(chunk) * 4 >= 4 << 20
        _, encoded = f["tas"].id.read_direct_chunk((0, 0, 0))
    assert access_points_begin(encoded[:-4]) > 0 and encoded[:-4].endswith(access_points.MAGIC)
    # Files that other writers make of it are as valid.
    execute("nccopy", packed, others)
    found = json.loads(run("doctor", "--profile", "cmip7", "--json", "--fail-on", "never", others).stdout)
    assert not [f for f in found["files"][0]["findings"] if f["code"] != "NC704"], "the index lies elsewhere"


def test_chunks_that_others_stored_anew_are_read_beside_those_that_were_not(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    values = write(path, "f4")
    with netCDF4.Dataset(path, "a") as d:
        d["v"][1, 100:120, 50:90] = values[1, 100:120, 50:90] = 7
    with h5py.File(path, "a") as f:
        f["v"][2, 5, 6] = values[2, 5, 6] = -3
    assert [access_points.segments(raw_chunk(path, (t, 0, 0)), 300 * 410) is None for t in range(3)] == [
        False,
        True,
        True,
    ]
    with ncforge.Dataset(path, "a") as d:
        for y, x in [(110, 60), (5, 6), (299, 409)]:
            assert np.array_equal(d["v"][:, y, x], values[:, y, x])
        d["v"][0, 7, 8] = values[0, 7, 8] = 11
    with netCDF4.Dataset(path) as d:
        assert np.array_equal(d["v"][:], values)
    assert access_points.segments(raw_chunk(path, (0, 0, 0)), 300 * 410) is not None


def far_file(path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], **how: Any) -> np.ndarray:
    """Maps of floats with noise, a dozen megabytes or more in the file."""
    rng = np.random.default_rng(3)
    t, y, x = np.ogrid[: shape[0], : shape[1], : shape[2]]
    values = (280 + 20 * np.sin(y / 50) + np.cos(x / 70 + t / 9) + 0.1 * rng.normal(size=shape)).astype("f4")
    with created(path, ncforge, **dict(zip("tyx", shape, strict=True))) as d:
        d.createVariable("v", "f4", ("t", "y", "x"), chunksizes=chunks, zlib=True, complevel=1, **how)[:] = values
    return values


@pytest.mark.parametrize(
    ("shape", "chunks", "keys"),
    [
        ((24, 512, 640), (1, 512, 640), [np.s_[:, 131, 77], np.s_[:, 17, 300]]),
        ((64, 256, 256), (64, 128, 128), [np.s_[40], np.s_[7]]),
    ],
    ids=["series", "map"],
)
def test_of_a_far_file_few_bytes_are_fetched(
    tmp_path: Path, run: Run, shape: tuple[int, ...], chunks: tuple[int, ...], keys: list[Any]
) -> None:
    """A series out of maps, a map out of chunks of 4 MiB: of the same chunks with and without access points."""
    values = far_file(tmp_path / "with.nc", shape, chunks)
    shutil.copyfile(tmp_path / "with.nc", tmp_path / "without.nc")
    with h5py.File(tmp_path / "without.nc", "a") as f:
        f["v"][...] = values
    sent: dict[str, list[int]] = {}
    with servers.web(tmp_path) as web:
        for name in ("with", "without"):
            with ncforge.Dataset(f"{web.url}/{name}.nc") as d:
                for key in keys:
                    web.behaviour.sent = 0
                    assert np.array_equal(d["v"][key], values[key])
                    sent.setdefault(name, []).append(web.behaviour.sent)
    assert all(part <= 0.05 * sent["without"][0] for part in sent["with"]), sent
    reads = json.loads(run("info", "--requests", "--json", tmp_path / "with.nc").stdout)["files"][0]["variables"][0]
    predicted = reads["series" if chunks[0] == 1 else "map"]["bytes"]
    assert sent["with"][0] / 2 <= predicted <= 2 * sent["with"][0], (predicted, sent)


def test_of_a_far_file_small_chunks_are_fetched_whole(tmp_path: Path) -> None:
    values = far_file(tmp_path / "a.nc", (64, 256, 320), (8, 64, 80))
    with servers.web(tmp_path) as web, ncforge.Dataset(f"{web.url}/a.nc") as d:
        assert d["v"].shape == values.shape
        web.behaviour.requests.clear()
        assert np.array_equal(d["v"][:, 131, 77], values[:, 131, 77])
        assert len(web.behaviour.requests) <= 8


@pytest.mark.parametrize(
    ("dtype", "how"),
    [
        ("i1", {}),
        ("u1", {"shuffle": False, "complevel": 5, "fletcher32": True}),
        ("i2", {"shuffle": False, "complevel": 4}),
        ("f4", {"shuffle": False}),
        (">f8", {"shuffle": False, "complevel": 9, "endian": "big"}),
    ],
)
def test_chunks_that_are_not_shuffled_are_one_plane(tmp_path: Path, dtype: str, how: dict[str, Any]) -> None:
    path, plain = tmp_path / "a.nc", tmp_path / "b.nc"
    values = write(path, dtype, **how)
    write(plain, dtype, access_points="off", **how)
    chunk = raw_chunk(path, (1, 0, 0), bool(how.get("fletcher32")))
    found = access_points.segments(chunk, values[1].nbytes)
    stored = values[1].astype(values.dtype.newbyteorder(">" if "endian" in how else "<"))
    assert found is not None and len(found) >= 8
    assert b"".join(found) == stored.tobytes()
    assert path.stat().st_size <= 1.011 * plain.stat().st_size
    check_peers(path, values)
    with ncforge.Dataset(path) as d:
        v = d["v"]
        v.set_auto_maskandscale(False)
        for key in [(slice(None), 17, 33), (1, slice(100, 103)), (2, slice(None, None, 50), slice(7, 9)), (0, -1, -1)]:
            assert np.array_equal(v[key], values[key]), key
        before = ncforge.engine_stats().bytes_decoded
        assert np.array_equal(v[:, 250, 250], values[:, 250, 250])
        assert ncforge.engine_stats().bytes_decoded - before < values.nbytes
