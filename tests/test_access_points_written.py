"""Which chunks get access points: as a variable, an encoding, or options of ``copy`` and ``combine`` ask for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import access_points
import ncforge
from access_point_files import SHAPE, check_peers, field, raw_chunk, segments, write
from commands import execute
from datasets import created
from programs import LINUX, run_python


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
