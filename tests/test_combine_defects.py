"""``ncforge combine``: what other tools get wrong, and is not the subject of a test elsewhere.

The others: 64-bit, 8-bit and unsigned integers, five dimensions without records (``test_fms``); a hole at double precision
(``test_land_tiles_are_filled``); the coordinate of a masked column (``test_fms_masked_column``); ``axis_nbounds`` first
(``test_xios_axis_nbounds_first``); suffixes of 5 and 6 digits (``test_numbers_of_any_width``); a missing tile
(``test_bad_sets_are_reported``); halos (``test_nemo``); few descriptors (``test_32x32``); records that differ in number
(``test_bad_sets_are_reported``); icebergs (``test_icebergs_are_concatenated``).
"""

from __future__ import annotations

from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, combine, values
from commands import execute, find_binary, ncforge


def test_many_fixed_variables_are_written_once(tmp_path: Path) -> None:
    """Defining variables one by one moves what is there each time: quadratic. Here four times the variables write and read
    about four times the bytes."""
    moved = {}
    for n in (8, 32):
        fields = {f"v{i}": tl.Field(("y", "x"), values((120, 160), seed=i)) for i in range(n)}
        whole = tl.Whole(fields, unlimited=())
        (tmp_path / str(n)).mkdir()
        mosaic = tl.nemo(tmp_path / str(n), whole, (2, 2), CLASSIC)
        out = tmp_path / f"{n}.nc"
        # The shell's own account has what the programs that it waited for have read and written.
        script = f"{find_binary()} combine {mosaic.paths[0]} -o {out} >/dev/null; cat /proc/$$/io"
        done = execute("sh", "-c", script)
        account = dict(line.split(": ") for line in done.stdout.splitlines())
        moved[n] = int(account["rchar"]) + int(account["wchar"])
        tl.check(out, whole, mosaic)
        assert out.stat().st_size < moved[n] < 4 * out.stat().st_size + (1 << 20)
    assert moved[32] < 4.5 * moved[8]


def test_tiles_that_are_stored_differently(tmp_path: Path) -> None:
    """Chunks are moved as they are only where chunk, filters and byte order are those of the output."""
    whole = tl.Whole({"v": tl.Field(("y", "x"), values((64, 96)), fill=np.float32(7))}, unlimited=())
    chunks = {"y": 32, "x": 32}
    ways = [
        tl.Storage("NETCDF4", zlib=True, chunks=chunks),
        tl.Storage("NETCDF4", chunks=chunks),
        tl.Storage("NETCDF4", zlib=True, chunks=chunks, fletcher32=True),
        tl.Storage("NETCDF4", zlib=True, chunks={"y": 16, "x": 48}),
        tl.Storage("NETCDF4", zlib=True, chunks=chunks, endian="big"),
        CLASSIC,
    ]
    sets = [tl.nemo(_made(tmp_path / str(i)), whole, (2, 3), way) for i, way in enumerate(ways)]
    mixed = [sets[i].paths[i] for i in range(6)]
    for chosen in ("auto", "keep", "tiles", "y/32,x/32"):
        for first in (mixed, mixed[::-1]):
            paths = []
            for i, path in enumerate(first):
                # Names say nothing of the place; the first one's way to store is looked at first.
                paths.append(tmp_path / f"mix_{i:04d}.nc")
                paths[-1].write_bytes(path.read_bytes())
            words = ["--format", "netcdf4", "--chunks", chosen, "--verify"]
            ncforge("combine", *paths, "-O", "-o", tmp_path / "out.nc", *words)
            tl.check(tmp_path / "out.nc", whole, sets[0])


def test_compound_values_are_placed(tmp_path: Path) -> None:
    """Variables of a type that the user defined lie in tiles like any other."""
    kind = np.dtype([("u", "f4"), ("n", "i2")])
    field = np.zeros((6, 8), kind)
    field["u"] = values((6, 8))
    field["n"] = np.arange(48).reshape(6, 8)
    mosaic = tl.nemo(tmp_path, tl.Whole({"v": tl.Field(("y", "x"), values((6, 8)))}, unlimited=()), (2, 2), DEFLATED)
    for path, given in zip(mosaic.paths, mosaic.given, strict=True):
        with netCDF4.Dataset(path, "a") as ds:
            made = ds.createCompoundType(kind, "wind_t")
            part = ds.createVariable("wind", made, ("y", "x"))
            part[:] = field[slice(*given["y"]), slice(*given["x"])]
    combine(mosaic, tmp_path / "out.nc", "--verify")
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        got = np.asarray(ds["wind"][:])
    assert got["u"].tobytes() == field["u"].tobytes()
    assert (got["n"] == field["n"]).all()


def test_small_variables_of_many_records_are_read_together(tmp_path: Path) -> None:
    """Variables whose records alternate are read several at a time: with any memory, some of them left out, some wider."""
    rng = np.random.default_rng(8)
    fields = {"t": tl.Field(("t",), np.arange(7.0))}
    for i in range(9):
        kind = "i2" if i in (3, 4) else "f4"
        fields[f"v{i}"] = tl.Field(("t", "y", "x"), (rng.standard_normal((7, 30, 41)) * 100).astype(kind))
    fields["deep"] = tl.Field(("t", "z", "y", "x"), values((7, 3, 30, 41)))
    whole = tl.Whole(fields)
    for halo in (0, 2):
        mosaic = tl.nemo(_made(tmp_path / str(halo)), whole, (3, 4), CLASSIC, halo=halo)
        out = tmp_path / "out.nc"
        outputs = []
        for words in (["--memory", "1M"], [], ["-j", 1, "--verify"]):
            combine(mosaic, out, "-O", "--no-history", *words)
            tl.check(out, whole, mosaic)
            outputs.append(out.read_bytes())
        assert len(set(outputs)) == 1
        combine(mosaic, out, "-O", "--vars", "v1,v2,v8,t")
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            for name in ("v1", "v2", "v8"):
                assert ds[name][:].tobytes() == fields[name].values.tobytes()
        combine(mosaic, out, "-O", "--times", "2:5")
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            for name in ("v0", "v4", "v7", "deep"):
                assert ds[name][:].tobytes() == fields[name].values[2:5].tobytes()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("holes", ["fill", "missing"])
@pytest.mark.parametrize("kind", ["enum", "compound", "opaque", "inner"])
def test_fill_values_of_user_types(tmp_path: Path, kind: str, holes: str) -> None:
    """Of enums, compounds and opaques as of numbers: where a file lacks the variable, and where a tile lacks records."""
    pair = np.dtype([("a", "i4"), ("b", "f8")])
    dtype, fill, value = {
        "enum": (h5py.enum_dtype({"A": 3, "B": 4}, basetype="u1"), 4, 3),
        "compound": (pair, (-9, -8.0), (1, 1.0)),
        "opaque": (np.dtype("V3"), b"abc", b"xyz"),
        "inner": (np.dtype([("p", pair), ("n", "i2", (2,))]), ((-9, -8.0), [-1, -2]), ((1, 1.0), [1, 1])),
    }[kind]
    one, other = np.array([fill], dtype), np.array([value] * 2, dtype)
    for name, first in (("a.nc", 0.0), ("b.nc", 2.0)):
        with h5py.File(tmp_path / name, "w", track_order=True) as theirs:
            time = theirs.create_dataset("time", data=first + np.arange(2.0), maxshape=(None,), chunks=(2,))
            time.make_scale("time")
            if name == "a.nc":
                if "V" not in dtype.str or dtype.names:
                    theirs["pair"] = pair
                theirs["kind"] = dtype
                made = theirs.create_dataset("v", data=other, dtype=theirs["kind"], maxshape=(None,), chunks=(2,))
                made.dims[0].attach_scale(time)
                made.attrs.create("_FillValue", one, dtype=theirs["kind"])
    out = tmp_path / "all.nc"
    ncforge("concat", tmp_path / "a.nc", tmp_path / "b.nc", "-o", out, "--holes", holes, "--no-history")
    with h5py.File(out) as theirs:
        found = theirs["v"][:]
        assert found[:2].tobytes() == other.tobytes() and found[2:].tobytes() == np.repeat(one, 2).tobytes()
