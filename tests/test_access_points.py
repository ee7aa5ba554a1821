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
from access_point_files import SHAPE, field, raw_chunk, write
from commands import execute
from conftest import Run
from datasets import created
from programs import LINUX, run_python


def segments(path: Path, name: str = "v") -> int:
    """How many segments the first chunk has; 0 without access points."""
    with h5py.File(path) as f:
        v = f[name]
        elements = int(np.prod(v.chunks)) * (1 if v.shuffle else v.dtype.itemsize)
    table = access_points.table_of(raw_chunk(path, name=name), elements)
    return len(table[1]) if table else 0


def check_peers(path: Path, values: np.ndarray, name: str = "v") -> None:
    """That netCDF4-python, h5py and the system's netCDF-C read these values."""
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        assert np.array_equal(d[name][:], values)
    with h5py.File(path) as f:
        assert np.array_equal(f[name][:], values)
    plain = path.with_name("plain.nc")
    execute("nccopy", "-d", "0", "-V", name, path, plain)
    with netCDF4.Dataset(plain) as d:
        d.set_auto_maskandscale(False)
        assert np.array_equal(d[name][:], values)
    plain.unlink()


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


def test_a_variable_says_which_access_points_it_gets(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    for asked, count in [("off", 0), (20_000, 25), ("20000", 25), (np.int64(20_000), 25), ("1M", 0), ("64K", 8)]:
        values = write(path, "f4", access_points=asked)
        assert segments(path) == count, asked
        check_peers(path, values)
        path.unlink()
    write(path, "f4", access_points="auto")
    usual = raw_chunk(path)
    path.unlink()
    write(path, "f4")
    assert usual == raw_chunk(path) and segments(path) > 8
    path.unlink()
    for wrong in [8, "many", True, -1, 2**40]:
        with pytest.raises(ncforge.InvalidError, match="access_points"):
            write(path, "f4", access_points=wrong)
    others: list[dict[str, Any]] = [{"zlib": False}, {"zlib": False, "compression": "zstd"}]
    for how in others:
        with pytest.raises(ncforge.InvalidError, match="deflated"):
            write(path, "f4", access_points=65536, **how)
        write(path, "f4", access_points="off", **how)
        path.unlink()


def test_an_encoding_says_which_access_points_a_variable_gets(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    values = field("f4")
    ds = xr.Dataset({"v": (("t", "y", "x"), values)})
    for lazy in [False, True]:
        if lazy:
            pytest.importorskip("dask")
        for asked, count in [("off", 0), (20_000, 25)]:
            encoding = {"v": {"zlib": True, "chunksizes": (1, 300, 410), "access_points": asked}}
            path = tmp_path / f"{lazy}-{asked}.nc"
            ncforge.to_netcdf(ds.chunk({"t": 1}) if lazy else ds, path, encoding=encoding)
            assert segments(path) == count
            with xr.open_dataset(path, engine="ncforge") as again:
                assert np.array_equal(again["v"], values)
                # It is no property of the file.
                assert "access_points" not in again["v"].encoding
    with pytest.raises(ncforge.InvalidError, match="access_points"):
        ncforge.to_netcdf(ds, tmp_path / "wrong.nc", encoding={"v": {"zlib": True, "access_points": "many"}})


def values_of(path: Path) -> dict[str, np.ndarray]:
    """A file of netCDF-C: large deflate chunks and others, an attribute of each kind, and a time that can grow."""
    values = {
        "v": field("f4"),
        "checked": field("f4"),
        "bytes": field("i1"),
        "zstd": field("i2"),
        "plain": field("f4", 1),
    }
    hows: dict[str, dict[str, Any]] = {
        "v": {"zlib": True, "complevel": 2},
        "checked": {"zlib": True, "fletcher32": True},
        "bytes": {"zlib": True, "complevel": 1},
        "zstd": {"compression": "zstd"},
        "plain": {},
    }
    with created(path, **dict(zip("tyx", (None, *SHAPE[1:]), strict=True))) as d:
        d.title = "maps"
        for name, how in hows.items():
            v = d.createVariable(name, values[name].dtype, ("t", "y", "x"), chunksizes=(1, 300, 410), **how)
            v.set_auto_maskandscale(False)
            v.units = "K"
            v[:] = values[name]
        small = d.createVariable("small", "f4", ("t",), zlib=True, chunksizes=(10,))
        small[:] = values["small"] = np.arange(3, dtype="f4")
    return values


def test_access_points_are_added_to_what_has_none(tmp_path: Path, run: Any) -> None:
    source, path, twice = tmp_path / "in.nc", tmp_path / "out.nc", tmp_path / "twice.nc"
    values = values_of(source)
    planned = run("copy", source, path, "--add-access-points", "--dry-run").stdout
    ways = {line.split()[0]: line.split() for line in planned.splitlines() if " chunks " in line}
    assert "points" in ways["v"] and "points" in ways["bytes"]
    # netCDF-C puts checksums between shuffle and deflate.
    assert all("raw" in ways[name] for name in ["checked", "zstd", "plain", "small"])
    said = run("copy", source, path, "--add-access-points", "--verify", "--no-history").stderr
    assert "chunks of `checked` get no access points" in said and "--codec deflate" in said
    found = access_points.segments(raw_chunk(path, (1, 0, 0)), 300 * 410)
    assert found is not None and b"".join(found) == values["v"][1].tobytes()
    assert segments(path, "bytes") >= 8
    for name in ["checked", "zstd", "plain"]:
        for t in range(3):
            assert raw_chunk(path, (t, 0, 0), name=name) == raw_chunk(source, (t, 0, 0), name=name)
    with h5py.File(source) as a, h5py.File(path) as b:
        assert a["small"].id.read_direct_chunk((0,)) == b["small"].id.read_direct_chunk((0,))
    headers = [execute("ncdump", "-hs", "-n", "a", f, text=False) for f in (source, path)]
    provenance = re.compile(rb"_NCProperties.*|_SuperblockVersion.*")
    assert provenance.sub(b"", headers[0].stdout) == provenance.sub(b"", headers[1].stdout)
    for name in ["v", "bytes", "plain"]:
        check_peers(path, values[name], name)
    run("compare", source, path)
    # A copy without access points is not the output of a run that adds them, one with them is.
    run("copy", source, twice, "--no-history")
    run("copy", source, twice, "--add-access-points", "--resume", "--no-history", "-O")
    assert raw_chunk(twice, (1, 0, 0)) == raw_chunk(path, (1, 0, 0))
    before = twice.stat().st_mtime_ns
    run("copy", source, twice, "--add-access-points", "--resume", "--no-history", "-O")
    assert twice.stat().st_mtime_ns == before
    # Chunks with access points are moved.
    ncforge.copy(path, twice, add_access_points=True, verify=True, overwrite=True)
    for name in ["v", "bytes", "zstd"]:
        for t in range(3):
            assert raw_chunk(twice, (t, 0, 0), name=name) == raw_chunk(path, (t, 0, 0), name=name)


def test_chunks_that_are_not_worth_access_points_are_moved(tmp_path: Path) -> None:
    """Noise, of which the encoder makes nothing, gets some; a constant and what is damaged stay as they are."""
    source, path = tmp_path / "in.nc", tmp_path / "out.nc"
    with created(source, t=3, x=100_000) as d:
        v = d.createVariable("v", "f4", ("t", "x"), zlib=True, chunksizes=(1, 100_000))
        v[0] = 7
        v[1] = v[2] = np.random.default_rng(3).normal(size=100_000)
    with h5py.File(source) as f:
        damaged = f["v"].id.get_chunk_info_by_coord((2, 0))
    with source.open("r+b") as file:
        file.seek(damaged.byte_offset + damaged.size // 2)
        file.write(b"\xff" * 400)
    report = ncforge.copy(source, path, add_access_points=True)
    assert [n.split(":")[:2] for n in report.notes] == [["`v`", " 2 of 3 chunks have no access points"]]
    for t, changes in [(0, False), (1, True), (2, False)]:
        assert (raw_chunk(path, (t, 0)) != raw_chunk(source, (t, 0))) == changes, t


def test_options_of_access_points(tmp_path: Path, run: Any) -> None:
    source, classic = tmp_path / "in.nc", tmp_path / "classic.nc"
    values = values_of(source)
    for asked, count in [("off", 0), ("20000", 25), ("64K", 8)]:
        path = tmp_path / f"{asked}.nc"
        run("copy", source, path, "--codec", "deflate", "--access-points", asked, "--no-history")
        assert segments(path) == count == segments(path, "plain")
        check_peers(path, values["v"])
        # By several threads and by one, from the beginning and again: the same bytes.
        run(
            "copy",
            source,
            tmp_path / "one.nc",
            "--codec",
            "deflate",
            "--access-points",
            asked,
            "--no-history",
            "-O",
            "-j1",
        )
        assert (tmp_path / "one.nc").read_bytes() == path.read_bytes()
    # Moved chunks keep what they have, and a note says so.
    moved = run("copy", tmp_path / "20000.nc", tmp_path / "moved.nc", "--access-points", "off")
    assert "`v`" in moved.stderr and segments(tmp_path / "moved.nc") == 25
    # Filters that allow none are named, also where chunks are encoded.
    filters = ["--filters", "v,fletcher32|deflate,1", "--filters", "plain,shuffle|shuffle|deflate,1"]
    said = run("copy", source, tmp_path / "none.nc", "--access-points", "20000", *filters).stderr
    assert "chunks of `v`, `checked`, `plain` get no access points" in said, said
    # With the codec that has them, nothing needs any.
    run("copy", source, tmp_path / "none.nc", "--vars", "small", "--codec", "deflate", "--access-points", "20000", "-O")
    with created(tmp_path / "small.nc", x=3) as d:
        d.createVariable("v", "f4", ("x",))
    for points in [["--access-points", "20000"], ["--add-access-points"]]:
        run("copy", tmp_path / "small.nc", tmp_path / "none.nc", "--codec", "deflate", *points, "-O")
    run("copy", source, classic, "--format", "classic", "--vars", "plain")
    for wrong in [
        [source, "--access-points", "8"],
        [source, "--access-points", "many"],
        [classic, "--access-points", "64K"],
        [classic, "--access-points", "auto"],
        [classic, "--add-access-points"],
        [source, "--codec", "zstd", "--access-points", "64K"],
        [source, "--codec", "none", "--add-access-points"],
        [source, "--add-access-points", "--access-points", "off"],
    ]:
        said = run("copy", *wrong, tmp_path / "wrong.nc", code=2).stderr
        assert re.search("access[- _]points", said), said
        assert not (tmp_path / "wrong.nc").exists()
    run(
        "copy",
        source,
        tmp_path / "some.nc",
        "--codec",
        "zstd",
        "--filters",
        "v,shuffle|deflate,1",
        "--access-points",
        "20000",
    )
    assert segments(tmp_path / "some.nc") == 25
    run("copy", classic, tmp_path / "same.nc", "--access-points", "off")


def test_combined_tiles_have_access_points(tmp_path: Path, run: Any) -> None:
    source, path = tmp_path / "in.nc", tmp_path / "out.nc"
    values = write(source, "f4", zlib=False)
    ncforge.split(source, tmp_path / "tile", tiles=(2, 2))
    tiles = sorted(tmp_path.glob("tile*"))
    run("combine", *tiles, "-o", path, "--codec", "deflate", "--access-points", "20000", "--chunks", "t/1,y/300,x/410")
    assert segments(path) == 25
    check_peers(path, values)


@LINUX
def test_programs_of_netcdf_c_write_them(tmp_path: Path, run_under: Any) -> None:
    source, path, plain = tmp_path / "in.nc", tmp_path / "out.nc", tmp_path / "plain.nc"
    values = write(source, "f4", zlib=False)
    command: list[str | Path] = ["nccopy", "-d1", "-s", "-c", "t/1,y/300,x/410", source]
    execute(*command, plain)
    run_under(*command, path, wish="always")
    assert segments(plain) == 0 and segments(path) >= 8
    check_peers(path, values)
    run_python(
        f"""
        import netCDF4, ncforge
        assert all(lib.served for lib in ncforge.accelerate())
        with netCDF4.Dataset({str(source)!r}) as a, netCDF4.Dataset({str(path)!r}, "w") as b:
            for name, dim in a.dimensions.items():
                b.createDimension(name, len(dim))
            v = b.createVariable("v", "f4", ("t", "y", "x"), zlib=True, chunksizes=(1, 300, 410))
            for t in range(3):
                v[t] = a["v"][t]
        """,
        wish="always",
    )
    assert segments(path) >= 8
    check_peers(path, values)
