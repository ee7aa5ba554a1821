"""Contents that an output cannot hold as the source has them: copies, combinations and splittings report them, comparisons know them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
import tiles as tl
from commands import execute
from commands import ncforge as run
from datasets import created
from test_combine_unreadable import _tiles

#: Names that netCDF-C hides in netCDF-4 files, and that classic files may have.
HIDDEN = ["_NCProperties", "_ARRAY_DIMENSIONS", "_Format", "_Netcdf4Dimid", "_Netcdf4Coordinates", "CLASS", "NAME"]


def _hide(ds: netCDF4.Dataset, _rank: int = 0) -> None:
    for name in HIDDEN:
        ds.setncattr(name, "mine")
        ds["v"].setncattr(name, "its")
    ds.title = "stays"
    ds["v"].units = "m"


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    path = tmp_path / "classic.nc"
    with created(path, format="NETCDF3_CLASSIC", y=4, x=6) as ds:
        ds.createVariable("y", "f8", ("y",))[:] = range(4)
        ds.createVariable("x", "f8", ("x",))[:] = range(6)
        ds.createVariable("v", "f4", ("y", "x"))[:] = np.arange(24).reshape(4, 6)
        _hide(ds)
    return path


def _said(text: str) -> None:
    """Each of the attributes is named."""
    for name in HIDDEN:
        assert f"the global attribute `{name}` is not copied" in text, (name, text)
        assert f"the attribute `v:{name}` is not copied" in text, (name, text)


@pytest.mark.parametrize("form", ["netcdf4", "netcdf4-classic"])
def test_names_that_netcdf4_files_hide(hidden: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out.nc"
    _said(run("copy", hidden, out, "--format", form, "--verify", "--no-history").stderr)
    with netCDF4.Dataset(out) as ds:
        assert ds.ncattrs() == ["title"] and ds["v"].ncattrs() == ["units"]
        np.testing.assert_array_equal(ds["v"][:], np.arange(24).reshape(4, 6))
    for pair in ((hidden, out), (out, hidden)):
        compared = run("compare", "-v", *pair)
        assert f":{HIDDEN[0]}` is only in the" in compared.stdout + compared.stderr
    ncforge.copy(hidden, tmp_path / "p.nc", format=form, verify=True)
    assert len(ncforge.copy(hidden, out, format=form, overwrite=True).notes) == 2 * len(HIDDEN)
    # An attribute of one file that both could have is a difference as before.
    run("copy", hidden, tmp_path / "same.nc", "--format", "cdf5", "--verify", "--no-history")
    with netCDF4.Dataset(tmp_path / "same.nc", "a") as ds:
        assert ds.getncattr("CLASS") == "mine"
        ds.delncattr("CLASS")
    run("compare", hidden, tmp_path / "same.nc", code=3)
    # The library refuses to define them.
    with ncforge.Dataset(tmp_path / "new.nc", "w") as ds, pytest.raises((ValueError, RuntimeError, OSError)):
        ds.setncattr("_NCProperties", "mine")


def test_split_and_combine_leave_them_out(hidden: Path, tmp_path: Path) -> None:
    split = run("split", hidden, "--tiles", "2x1", "--scheme", "fms", "-o", tmp_path / "t", "--format", "netcdf4")
    _said(split.stderr)
    tiles = _tiles(tmp_path / "tiles", _hide, "NETCDF3_CLASSIC")
    _said(run("combine", *tiles, "-o", tmp_path / "whole.nc", "--format", "netcdf4", "--delete-tiles").stderr)
    assert all(tile.exists() for tile in tiles), "what the output lacks stays"
    with netCDF4.Dataset(tmp_path / "whole.nc") as ds:
        assert ds["v"].ncattrs() == ["units"] and ds.title == "stays"
    run("combine", *tiles, "-o", tmp_path / "classic.nc", "--delete-tiles", "-O")
    assert not any(tile.exists() for tile in tiles)


def _halve(path: Path, name: str) -> None:
    """Makes a variable one of 2-byte floats, in the metadata: combining others is refused."""
    with h5py.File(path, "a") as file:
        values, scales = file[name][...].astype("f2"), [d[0] for d in file[name].dims]
        del file[name]
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        kind, space = h5py.h5t.py_create(values.dtype), h5py.h5s.create_simple(values.shape)
        made = h5py.h5d.create(file.id, name.encode(), kind, space, compact)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        for i, scale in enumerate(scales):
            file[name].dims[i].attach_scale(scale)


def test_types_that_change_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "half.h5"
    with h5py.File(path, "w") as file:
        file["a"] = np.arange(24, dtype="f2").reshape(4, 6)
        file["b"] = np.arange(24, dtype="f2").reshape(4, 6)
    said = run("copy", path, tmp_path / "all.nc", "--verify").stderr
    assert "`/a` holds 2-byte floats" in said and "`/b` holds 2-byte floats" in said
    said = run("copy", path, tmp_path / "one.nc", "--vars", "a").stderr
    assert "`/a` holds 2-byte floats" in said and "`/b`" not in said
    assert any("2-byte floats" in note for note in ncforge.copy(path, tmp_path / "p.nc").notes)
    plan = run("copy", path, tmp_path / "none.nc", "--dry-run")
    assert "2-byte floats" in plan.stdout + plan.stderr
    with h5py.File(tmp_path / "all.nc") as file:
        assert file["a"].dtype == np.dtype("f4")
    tiles = _tiles(tmp_path / "tiles")
    for tile in tiles:
        _halve(tile, "v")
    said = run("combine", *tiles, "-o", tmp_path / "whole.nc", "--verify").stderr
    assert said.count("`/v` holds 2-byte floats") == 1 and "and 1 other tile" in said
    with netCDF4.Dataset(tmp_path / "whole.nc") as ds:
        assert ds["v"][:, 0].tolist() == [1, 1, 2, 2]


def test_holes_of_text_and_rows(tmp_path: Path) -> None:
    """They read as what netCDF reads where nothing was written."""

    def ragged(ds: netCDF4.Dataset, rank: int) -> None:
        row = ds.createVLType("i4", "row")
        rows = ds.createVariable("rows", row, ("y", "x"))
        words = ds.createVariable("words", str, ("y", "x"))
        if rank < 2:
            for j in range(2):
                for i in range(4):
                    rows[j, i] = np.arange(rank + i, dtype="i4")
                    words[j, i] = f"{rank} {j} {i}"

    one, other = _tiles(tmp_path, ragged)
    out = tmp_path / "out.nc"
    run("combine", one, "-o", out, "--allow-missing", "--verify")
    with created(tmp_path / "never.nc", y=2, x=4) as ds:
        ragged(ds, 2)
    with netCDF4.Dataset(out) as ds, netCDF4.Dataset(tmp_path / "never.nc") as never, netCDF4.Dataset(one) as tile:
        for name in ("rows", "words"):
            for j in range(2):
                for i in range(4):
                    np.testing.assert_array_equal(ds[name][j, i], tile[name][j, i])
                    np.testing.assert_array_equal(ds[name][j + 2, i], never[name][j, i])
    run("combine", other, "-o", out, "--append", "--verify")
    with netCDF4.Dataset(out) as ds:
        assert ds["words"][3, 2] == "1 1 2" and ds["rows"][2, 2].tolist() == [0, 1, 2]
        assert ds["words"][1, 2] == "0 1 2" and ds["rows"][1, 2].tolist() == [0, 1]


def test_a_tile_that_is_named_is_all_that_is_meant(tmp_path: Path) -> None:
    """The old commands name their tiles: one of them does not stand for the others."""
    whole = tl.Whole(
        {
            "x": tl.Field(("x",), np.arange(6.0)),
            "y": tl.Field(("y",), np.arange(4.0)),
            "v": tl.Field(("y", "x"), np.arange(24, dtype="f4").reshape(4, 6)),
        }
    )
    mosaic = tl.fms(tmp_path, whole, (2, 1), tl.Storage("NETCDF3_CLASSIC"), base="o.nc")
    out = tmp_path / "out.nc"
    run("mppnccombine", out, mosaic.paths[0], code=4)
    run("mppnccombine", "-f", out, mosaic.paths[0])
    with netCDF4.Dataset(out) as ds:
        # As the tool: 0 where a variable has no missing value.
        assert np.array_equal(ds["v"][:2], np.arange(12).reshape(2, 6)) and not ds["v"][2:].any()
    # It leaves space behind the header: something to know of the file, but not of a copy.
    assert "bytes are free between the header and the data" in run("info", out).stdout
    assert "are free" not in run("copy", out, tmp_path / "copy.nc").stderr


def test_tiles_that_read_otherwise_where_nothing_was_written(tmp_path: Path) -> None:
    """A fill value need not be that of netCDF: each tile reads as its own says."""
    tiles = _tiles(tmp_path / "tiles")
    for tile, fill in zip(tiles, (netCDF4.default_fillvals["f4"], 7), strict=True):
        with h5py.File(tile, "a") as file:
            w = file.create_dataset("w", (2, 4), "f4", chunks=(1, 2), fillvalue=fill)
            w[0, 0] = 1
            for i, dim in enumerate("yx"):
                w.dims[i].attach_scale(file[dim])
    want = []
    for tile in tiles:
        with netCDF4.Dataset(tile) as ds:
            ds.set_auto_mask(False)
            want.append(ds["w"][:])
    for words in ((), ("--codec", "deflate"), ("--format", "cdf5")):
        run("combine", *tiles, "-o", tmp_path / "out.nc", "-O", *words)
        with netCDF4.Dataset(tmp_path / "out.nc") as ds:
            ds.set_auto_mask(False)
            np.testing.assert_array_equal(ds["w"][:], np.concatenate(want), err_msg=str(words))


@pytest.mark.parametrize("words", [(), ("--codec", "deflate"), ("--chunks", "/"), ("--chunks", "c:4;z:4;n:4")], ids=str)
def test_zeros_that_hdf5_does_not_store(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Without a fill value, HDF5 reads zeros where nothing was written; in a dataset that is never filled, anything."""
    path, out = tmp_path / "a.h5", tmp_path / "out.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("c", (4000,), "i4", chunks=(10,))[20:30] = 5
        file.create_dataset("z", (4000,), "i4", chunks=(10,), compression="gzip")[20:30] = 5
        file.create_dataset("n", (4000,), "i4")
    run("copy", path, out, "--verify", *words)
    with h5py.File(path) as source, h5py.File(out) as copied, netCDF4.Dataset(out) as ds:
        for name in "czn":
            assert copied[name].id.get_create_plist().get_fill_time() != h5py.h5d.FILL_TIME_NEVER
            np.testing.assert_array_equal(copied[name][:], source[name][:])
            np.testing.assert_array_equal(ds[name][:], source[name][:])
            assert ds[name].get_fill_value() is None


@pytest.mark.parametrize("fill", ["netcdf4", "zeros", "none"])
@pytest.mark.parametrize("chunks", ["auto", "t/1,y/300,x/300", "keep"])
def test_what_was_never_written_takes_no_space(tmp_path: Path, fill: str, chunks: str) -> None:
    """Of an array of 4 GB with three chunks, all boxes in which one of these lies were written; and the whole array if HDF5's fill
    value is 0 and netCDF's is not."""
    source, out = tmp_path / "sparse.nc", tmp_path / "out.nc"
    shape = (100, 3000, 3500)
    with h5py.File(source, "w") as f:
        given = {"netcdf4": netCDF4.default_fillvals["f4"], "zeros": 0, "none": None}[fill]
        v = f.create_dataset("v", shape, "f4", chunks=(1, 500, 500), fillvalue=given)
        for d, name in enumerate("tyx"):
            f.create_dataset(name, (shape[d],), "f4").make_scale(name)
            v.dims[d].attach_scale(f[name])
        for at in ((5, 10, 10), (5, 2999, 3499), (77, 1234, 3)):
            v[at] = at[0]
        stored, unwritten = v.id.get_storage_size(), v[0, 0, 0]
    run("copy", source, out, "--chunks", chunks, "--memory", "1G")
    with h5py.File(out) as f:
        v = f["v"]
        assert v.id.get_storage_size() <= 30 * stored < 100_000_000
        assert (v[5, 10, 10], v[5, 2999, 3499], v[77, 1234, 3]) == (5, 5, 77)
        assert v[0, 0, 0] == v[5, 10, 11] == v[50, 50, 50] == v[99, 2999, 3499] == unwritten
    with netCDF4.Dataset(source) as a, netCDF4.Dataset(out) as b:
        for i in (5, 6, 77):
            np.testing.assert_array_equal(a["v"][i].filled(-1), b["v"][i].filled(-1))
    run("compare", source, out)


@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_characters_stay_filled(tmp_path: Path, form: Any) -> None:
    """Their default fill value is zero: such variables do not become ones that are not filled."""
    with created(tmp_path / "c.nc", format=form, n=4) as ds:
        ds.createVariable("c", "S1", ("n",))[:2] = b"ab"
        ds.createVariable("i", "i4", ("n",))[:2] = 1
    run("copy", tmp_path / "c.nc", tmp_path / "out.nc", "--format", "netcdf4")
    header = execute("ncdump", "-hs", tmp_path / "out.nc").stdout
    assert "char c(n)" in header and "_NoFill" not in header


def test_a_pipe_is_not_a_file(tmp_path: Path) -> None:
    """It was waited for until somebody wrote to it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    out = tmp_path / "out.nc"
    for line in (("info", pipe), ("copy", pipe, out), ("combine", pipe, "-o", out)):
        assert "is a pipe or a device, not a file" in run(*line, code=4).stderr


@pytest.mark.parametrize("chunk", [(2, 500), (50, 500)])
def test_damage_in_chunks_that_are_moved_is_found_by_their_checksum(tmp_path: Path, chunk: tuple[int, int]) -> None:
    """Chunks of 4 KB are moved together, those of 100 KB one by one. netCDF-C's nccopy decodes them."""
    whole, torn = tmp_path / "whole.nc", tmp_path / "torn.nc"
    values = np.random.default_rng(1).integers(0, 99, (100, 500), "i4")
    for path in (whole, torn):
        with h5py.File(path, "w") as f:
            how: dict[str, Any] = {"chunks": chunk, "maxshape": (None, 500), "compression": 1, "fletcher32": True}
            v = f.create_dataset("v", data=values, **how)
            for d, (name, n, most) in enumerate((("time", 100, None), ("x", 500, 500))):
                scale = f.create_dataset(name, (n,), "f8", maxshape=(most,), chunks=(100,))
                scale.make_scale(name)
                v.dims[d].attach_scale(scale)
    with h5py.File(torn) as f:
        where = f["v"].id.get_chunk_info(1).byte_offset + 40
    data = bytearray(torn.read_bytes())
    data[where] ^= 0xFF
    torn.write_bytes(data)
    out = tmp_path / "out.nc"
    for words in (["copy", torn], ["nccopy", torn], ["concat", whole, torn, "--unsorted", "-o"]):
        done = run(*words, out, code=4)
        assert "`v`" in done.stderr and "checksum" in done.stderr, done.stderr
        assert not out.exists()
    run("copy", whole, out, "--verify")


@pytest.mark.parametrize("words", [["verify"], ["digest"], ["compare"], ["copy"]])
def test_a_chunk_that_passes_the_budget_is_refused(tmp_path: Path, words: list[str]) -> None:
    """It is decoded as a whole. One that was never written takes no memory."""
    path, never = tmp_path / "long.nc", tmp_path / "never.nc"
    for file, filled in ((path, True), (never, False)):
        with h5py.File(file, "w") as f:
            v = f.create_dataset("v", (1 << 22,), "f4", chunks=(1 << 22,), compression=1)
            if filled:
                v[:] = 0
    others = {"compare": lambda p: [p], "copy": lambda p: [tmp_path / "copy.nc"]}.get(words[0], lambda p: [])
    done = run(*words, path, *others(path), "--memory", "8M", code=2)
    assert "of `v`" in done.stderr and "16777216 bytes" in done.stderr
    run(*words, path, *others(path), "--memory", "256M")
    if words != ["copy"]:
        run(*words, never, *others(never), "--memory", "8M")
