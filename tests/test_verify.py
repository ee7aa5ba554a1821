"""``verify`` of files that are not zipped: it finds the chunks that h5py cannot read, and no others."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from access_point_files import write as write_points
from access_points import crc32c
from conftest import DATA, Run
from datasets import created

FILTERS: dict[str, dict[str, Any]] = {
    "zlib": {"compression": "zlib"},
    "fletcher32": {"fletcher32": True},
    "shuffle-zlib-fletcher32": {"compression": "zlib", "shuffle": True, "fletcher32": True},
}


def write(path: Path) -> None:
    """A variable of 35 chunks for each set of filters, one without filters, and texts."""
    values = np.random.default_rng(1).normal(size=(50, 33)).round(2)
    with created(path, y=50, x=33) as file:
        for name, filters in FILTERS.items():
            file.createVariable(name, "f8", ("y", "x"), chunksizes=(8, 7), **filters)[:] = values
        file.createVariable("plain", "f8", ("y", "x"))[:] = values
        file.createVariable("texts", str, ("y",))[:] = np.array([f"text {n}" for n in range(50)], dtype=object)


def unreadable(path: Path, name: str) -> set[tuple[int, ...]]:
    """Where chunks begin that h5py cannot read."""
    found = set()
    with h5py.File(path) as file:
        var = file[name]
        for chunk in var.iter_chunks():
            try:
                var[chunk]
            except OSError:
                found.add(tuple(part.start for part in chunk))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_chunks_that_are_damaged(tmp_path: Path, run: Run, seed: int) -> None:
    """Chunks with changed bytes, as many as h5py finds, the first of them by its place."""
    path = tmp_path / "a.nc"
    write(path)
    assert "all is well: 5 variables" in run("verify", path).stderr
    rng = np.random.default_rng(seed)
    with h5py.File(path) as file:
        chunks = {name: [file[name].id.get_chunk_info(i) for i in range(35)] for name in FILTERS}
    with path.open("r+b") as raw:
        for name in FILTERS:
            for i in rng.choice(35, size=rng.integers(1, 12), replace=False):
                info = chunks[name][i]
                raw.seek(info.byte_offset + info.size // 2)
                byte = raw.read(1)[0]
                raw.seek(info.byte_offset + info.size // 2)
                raw.write(bytes([byte ^ 0x55]))
    report = ncforge.verify(path)
    assert not report
    assert (report.variables, report.commit) == (5, None)
    said = {problem.touches[0]: problem.what for problem in report.problems}
    assert said.keys() == FILTERS.keys()
    for name, what in said.items():
        bad = unreadable(path, name)
        assert f"{len(bad)} of 35 chunks cannot be read, the first at {list(min(bad))}" in what
    done = run("verify", path, "--json", code=3)
    assert [p["what"] for p in json.loads(done.stdout)["files"][0]["problems"]] == list(said.values())


def table_of(path: Path, at: tuple[int, ...], behind: int) -> tuple[int, int, int]:
    """Where a chunk's table of access points, its footer and the chunk itself end, in the file."""
    with h5py.File(path) as file:
        info = file["v"].id.get_chunk_info_by_coord(at)
        end = info.byte_offset + info.size - behind
    with path.open("rb") as raw:
        raw.seek(end - 24)
        (length,) = struct.unpack("<I", raw.read(4))
    return end - 24 - length, end - 24, end


def rewrite(path: Path, place: int, change: int) -> None:
    """Changes a byte of a file."""
    with path.open("r+b") as raw:
        raw.seek(place)
        (byte,) = raw.read(1)
        raw.seek(place)
        raw.write(bytes([byte ^ change]))


def sign(path: Path, table: int, footer: int) -> None:
    """Gives a table the checksum that it should have."""
    with path.open("r+b") as raw:
        raw.seek(table)
        summed = raw.read(footer + 12 - table)
        raw.write(struct.pack("<I", crc32c(summed)))


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("table", "is not what its checksum says"),
        ("sum", "the checksum of segment 2 is not that of its elements"),
        ("point", "decoded from its access points, is not what the whole stream has there"),
    ],
)
def test_access_points_that_disagree_with_their_stream(
    tmp_path: Path, run: Run, damage: str, says: str, checksum: bool
) -> None:
    """Everybody reads the values; a reader of segments would fall back to the whole chunk, each time."""
    path = tmp_path / "a.nc"
    values = write_points(path, "f4", fletcher32=checksum, complevel=2)
    assert "all is well" in run("verify", path).stderr
    table, footer, _ = table_of(path, (1, 0, 0), 4 * checksum)
    with path.open("rb") as raw:
        raw.seek(footer + 4)
        (segment,) = struct.unpack("<I", raw.read(4))
    segments = -(-300 * 410 // segment)
    # Behind the checksums: the number of blocks, then of the first one its points, its place, that of its first point, and the
    # distance of the next.
    place = {"table": table + 1, "sum": table + 4 * 2 + 1, "point": footer - 1}[damage]
    assert segments >= 8 and place < footer
    rewrite(path, place, 2)
    if damage != "table":
        sign(path, table, footer)
    if checksum:
        refresh_checksum(path, (1, 0, 0))
    with netCDF4.Dataset(path) as file:
        assert np.array_equal(file["v"][:], values)
    with ncforge.Dataset(path) as file:
        assert np.array_equal(file["v"][:], values)
        assert np.array_equal(file["v"][:, 7, 9], values[:, 7, 9])
    (problem,) = ncforge.verify(path).problems
    assert problem.touches == ["v"]
    assert "`v`: 1 of 3 chunks have damaged access points, the first at [1, 0, 0]" in problem.what
    assert says in problem.what
    (at,) = re.findall(r"`[^`]*a\.nc` is damaged at byte (\d+)", problem.what)
    with h5py.File(path) as file:
        info = file["v"].id.get_chunk_info_by_coord((1, 0, 0))
    assert info.byte_offset <= int(at) < info.byte_offset + info.size
    if damage != "point":
        assert int(at) == (table if damage == "table" else table + 8)
    done = run("verify", path, code=3)
    assert says in done.stdout


def refresh_checksum(path: Path, at: tuple[int, ...]) -> None:
    """Gives a chunk with changed bytes the fletcher32 that it should have, as HDF5 computes it."""
    with h5py.File(path) as file:
        info = file["v"].id.get_chunk_info_by_coord(at)
    with path.open("rb") as raw:
        raw.seek(info.byte_offset)
        chunk = raw.read(info.size - 4)
    scratch = path.with_name("scratch.h5")
    with h5py.File(scratch, "w") as file:
        var = file.create_dataset("v", (len(chunk),), "u1", chunks=(len(chunk),), fletcher32=True)
        var[:] = np.frombuffer(chunk, "u1")
        _, summed = var.id.read_direct_chunk((0,))
    with path.open("r+b") as raw:
        raw.seek(info.byte_offset)
        raw.write(summed)


def test_a_checksum_that_only_the_whole_chunk_shows(tmp_path: Path, run: Run) -> None:
    """A long chunk with access points is read by its segments; verify decodes the stream, too, and checks fletcher32."""
    short, long = tmp_path / "short.nc", tmp_path / "long.nc"
    values = write_points(short, "f8", (1, 300, 410), fletcher32=True, complevel=1)
    with created(long, ncforge, x=400_000) as d:
        d.createVariable("v", "f8", ("x",), zlib=True, fletcher32=True, chunksizes=(400_000,))[:] = np.resize(
            values, 400_000
        )
    for path, at in ((short, (2, 0, 0)), (long, (0,))):
        with h5py.File(path) as file:
            info = file["v"].id.get_chunk_info_by_coord(at)
        # fletcher32's own bytes.
        rewrite(path, info.byte_offset + info.size - 1, 1)
        assert unreadable(path, "v") == {at}
        (problem,) = ncforge.verify(path).problems
        assert f"1 of {3 if len(at) > 1 else 1} chunks cannot be read, the first at {list(at)}" in problem.what
        assert "fletcher32" in problem.what
        assert "cannot be read" in run("verify", path, code=3).stdout


def damaged_attributes(path: Path, where: str) -> Path:
    """A file with many attributes of the root, or of a group in it, one byte of which is changed."""
    with created(path, x=3) as file:
        group = file.createGroup("g")
        for at, name in ((file, "v"), (group, "w")):
            at.createVariable(name, "i4", ("x",))[:] = [1, 2, 3]
        # More than an object's header holds: they are in a heap with checksums.
        for i in range(12):
            (group if where == "/g" else file).setncattr(f"name{i:02}", f"value {i:02}")
    damaged = path.read_bytes().replace(b"value 05", b"value 06")
    path.write_bytes(damaged)
    return path


@pytest.mark.parametrize("where", ["/", "/g"])
def test_damaged_attributes_leave_the_rest(tmp_path: Path, run: Run, where: str) -> None:
    path, out = damaged_attributes(tmp_path / "a.nc", where), tmp_path / "out.nc"
    named = f"{where.rstrip('/')}/:*"
    report = run("verify", path, code=3)
    assert f"`{named}`: the attributes of the group cannot be read" in report.stdout and "2 variables" in report.stderr
    assert named in run("info", "--storage", path).stdout
    assert "w = 1, 2, 3" in run("dump", path).stdout
    with ncforge.Dataset(path) as file:
        assert (file["v"][:].tolist(), file["g/w"][:].tolist()) == ([1, 2, 3], [1, 2, 3])
        assert file[where].ncattrs() == [] and not hasattr(file[where], "name01")
        with pytest.raises(AttributeError, match="is damaged at byte"):
            file[where].getncattr("name01")
    # What would pass for the whole is not made; of what is chosen, it is said.
    assert named in run("copy", path, out, code=4).stderr
    assert named in run("digest", path, code=4).stderr
    with pytest.raises(ncforge.CorruptError, match="attributes of the group"):
        ncforge.Dataset(path, "a")
    assert f"`{named}` is not copied" in run("copy", path, out, "--vars", "v,g/w").stderr
    with netCDF4.Dataset(out) as file:
        assert file["g/w"][:].tolist() == [1, 2, 3]


def test_damaged_attributes_behind_a_link(tmp_path: Path, run: Run) -> None:
    damaged_attributes(tmp_path / "other.nc", "/g")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["link"] = h5py.ExternalLink("other.nc", "/")
    assert "`/link/g/:*`" in run("verify", tmp_path / "a.h5", code=3).stdout
    assert "`/link/g/:*`" in run("copy", tmp_path / "a.h5", tmp_path / "out.nc", code=4).stderr


def test_files_without_damage(run: Run) -> None:
    """Real files."""
    for path in sorted(DATA.glob("*.nc")):
        run("verify", path)


def test_what_is_missing_at_the_end(tmp_path: Path, run: Run) -> None:
    """A classic file, and a contiguous variable, that were cut."""
    classic, hdf5 = tmp_path / "classic.nc", tmp_path / "hdf5.nc"
    for path, format in ((classic, "NETCDF3_CLASSIC"), (hdf5, "NETCDF4")):
        with created(path, format=format, x=100_000) as file:
            file.createVariable("v", "f8", ("x",))[:] = 1.5
        with path.open("r+b") as raw:
            raw.truncate(400_000)
        done = run("verify", path, code=(3, 4))
        assert "all is well" not in done.stderr
        assert str(path) in done.stdout + done.stderr


def test_of_several_files_all_are_read(tmp_path: Path, run: Run) -> None:
    """One that is no netCDF file does not keep the next from being read."""
    path, text = tmp_path / "a.nc", tmp_path / "text.nc"
    write(path)
    text.write_text("no netCDF file")
    done = run("verify", text, path, code=4)
    assert "all is well" in done.stderr


@pytest.mark.parametrize(
    ("byte", "says"),
    [
        (4, "outside of the array"),
        (8, "a chunk that begins at element"),
        (16, "at byte 2 of an element"),
    ],
)
def test_chunks_that_are_in_no_place_of_the_array(tmp_path: Path, run: Run, byte: int, says: str) -> None:
    """No checksum covers the keys of a tree of version 1: HDF5 reads fill values."""
    path = tmp_path / "a.nc"
    with created(path, t=10, x=4) as file:
        file.createVariable("v", "f8", ("t", "x"), zlib=True, chunksizes=(1, 4))[:] = np.arange(40).reshape(10, 4) + 1.0
    bytes_ = bytearray(path.read_bytes())
    # The offsets of the fourth key: after the head of the node, each key has its length, mask and offsets, and an address follows.
    key = bytes_.index(b"TREE\x01") + 24 + 3 * (8 + 8 * 3 + 8) + 8
    bytes_[key + byte] |= 2
    path.write_bytes(bytes_)
    assert says in run("verify", path, code=3).stdout
