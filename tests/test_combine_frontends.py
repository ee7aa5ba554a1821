"""``ncforge combine``: other tools' command lines."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, fms_whole, ocean
from commands import ncforge


def test_nocscombine(tmp_path: Path) -> None:
    """The old flags: variables with their coordinates, records from 1, coordinates of land from a file."""
    whole = ocean()
    mosaic = tl.nemo(
        tmp_path, whole, (2, 3), tl.Storage("NETCDF3_CLASSIC"), land=(1,), first_dims=[("axis_nbounds", 2)]
    )
    with netCDF4.Dataset(tmp_path / "c.nc", "w") as ds:
        ds.createDimension("y", 23)
        ds.createDimension("x", 31)
        ds.createVariable("nav_lon", "f4", ("y", "x"))[:] = whole.fields["nav_lon"].values
    out = tmp_path / "out.nc"
    words = ["-f", mosaic.paths[0], "-o", out, "-d", "votemper", "-ts", 2, "-te", 3, "-c", tmp_path / "c.nc", "-n", 3]
    done = ncforge("nocscombine", *words, "-v", "-showhaloes")
    assert "lattice 2 x 3" in done.stdout
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        assert set(ds.variables) == {"votemper", "nav_lon", "t"}
        assert ds.data_model == "NETCDF3_64BIT_OFFSET"
        want = tl.expected(whole, mosaic, "votemper", np.float32(1e20))[1:]
        assert ds["votemper"][:].tobytes() == want.tobytes()
        assert ds["nav_lon"][:].tobytes() == whole.fields["nav_lon"].values.tobytes()
    assert ncforge("nocscombine", *words, "-s").stderr == ""
    assert "-zz" in ncforge("nocscombine", "-zz", code=2).stderr
    mosaic.paths[2].unlink()
    assert mosaic.paths[2].name in ncforge("nocscombine", *words, code=4).stderr


def test_rebuild_nemo(tmp_path: Path) -> None:
    """The script's options, and the program's namelist."""
    whole = ocean()
    for width in (4, 5):
        folder = tmp_path / str(width)
        folder.mkdir()
        mosaic = tl.nemo(folder, whole, (2, 3), DEFLATED, width=width)
        base = folder / "nemo"
        ncforge("rebuild_nemo", "-m", "-d", 3, "-x", 10, "-y", 8, "-z", 2, "-t", 1, base, 6, "x", "y")
        tl.check(folder / "nemo.nc", whole, mosaic)
        with netCDF4.Dataset(folder / "nemo.nc") as ds:
            assert ds["votemper"].chunking() == [1, 2, 8, 10]
            assert ds["votemper"].filters()["complevel"] == 3
        (folder / "nam").write_text(f"&nam_rebuild\n filebase='{base}'\n ndomain=6\n l_maskout=.true.\n/\n")
        (folder / "nemo.nc").unlink()
        ncforge("rebuild_nemo", folder / "nam")
        tl.check(folder / "nemo.nc", whole, mosaic)
        assert "nemo_0006" in ncforge("rebuild_nemo", base, 7, code=4).stderr


def test_mppnccombine(tmp_path: Path) -> None:
    """Tiles by the name of the output or given; formats, compression, missing tiles, removal."""
    whole = fms_whole(dtype="i8")
    mosaic = tl.fms(tmp_path, whole, (3, 4), DEFLATED)
    out = tmp_path / "ocean.nc"
    ncforge("mppnccombine", "-v", "-m", "-k", 4, "-h", 16384, out)
    tl.check(out, whole, mosaic)
    with netCDF4.Dataset(out) as ds:
        assert "history" not in ds.ncattrs()
    ncforge("mppnccombine", out, code=2)
    other = tmp_path / "other.nc"
    ncforge("mppnccombine", "-d", 2, "-s", "-M", other, *mosaic.paths)
    tl.check(other, whole, mosaic)
    mosaic.paths[7].unlink()
    out.unlink()
    assert mosaic.paths[7].name in ncforge("mppnccombine", out, code=4).stderr
    ncforge("mppnccombine", "-f", "-r", out)
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        given = tl.Mosaic([], [g for i, g in enumerate(mosaic.given) if i != 7])
        assert ds["temp"][:].tobytes() == tl.expected(whole, given, "temp", np.int64(7)).tobytes()
    assert not any(p.exists() for p in mosaic.paths)
    classic = tl.fms(tmp_path, fms_whole(), (1, 2), tl.Storage("NETCDF3_CLASSIC"), base="c.nc")
    ncforge("mppnccombine", tmp_path / "c.nc")
    tl.check(tmp_path / "c.nc", fms_whole(), classic)
    with netCDF4.Dataset(tmp_path / "c.nc") as ds:
        assert ds.data_model == "NETCDF3_64BIT_OFFSET"


def test_tiles_that_are_warned_about_stay(tmp_path: Path) -> None:
    """`-r` and `--delete-tiles` remove only tiles of which the output has all."""
    whole = fms_whole()
    words = {"old": ("mppnccombine", "-r"), "new": ("combine", "--delete-tiles", "--differing", "first")}
    for name, command in words.items():
        folder = tmp_path / name
        folder.mkdir()
        mosaic = tl.fms(folder, whole, (2, 2), CLASSIC)
        with netCDF4.Dataset(mosaic.paths[1], "a") as ds:
            ds["t"][:] = [40.0, 41.0]
        with netCDF4.Dataset(mosaic.paths[2], "a") as ds:
            ds["temp"].comment = "only here"
        out = folder / "ocean.nc"
        files = [out, *mosaic.paths] if name == "old" else [*mosaic.paths, "-o", out]
        done = ncforge(*command, *files)
        assert [p.exists() for p in mosaic.paths] == [False, True, True, False]
        assert f"`{mosaic.paths[1]}` is kept: the output does not have `t` of it" in done.stderr
        assert f"`{mosaic.paths[2]}` is kept: the output does not have the attribute `temp:comment`" in done.stderr
        tl.check(out, whole, mosaic)
    folder = tmp_path / "part"
    folder.mkdir()
    for chosen in (("--vars", "temp"), ("--times", "0:1")):
        mosaic = tl.fms(folder, whole, (2, 2), CLASSIC)
        ncforge("combine", *mosaic.paths, "-o", folder / "ocean.nc", "-O", "--delete-tiles", *chosen)
        assert all(p.exists() for p in mosaic.paths), chosen


def test_hints_name_flags_of_the_tool(tmp_path: Path) -> None:
    """A front-end's advice is an option that it has."""
    mosaic = tl.fms(tmp_path, fms_whole(), (2, 2), CLASSIC)
    out = tmp_path / "ocean.nc"
    mosaic.paths[3].unlink()
    done = ncforge("mppnccombine", out, code=4)
    assert "-f fills" in done.stderr
    assert "--allow-missing" not in done.stderr
    out.write_bytes(b"here")
    done = ncforge("mppnccombine", "-f", out, code=2)
    assert "-O" not in done.stderr
    assert "-a puts" in done.stderr
    nemo = tl.nemo(tmp_path, ocean(), (2, 2), CLASSIC)
    nemo.paths[3].unlink()
    done = ncforge("nocscombine", "-f", nemo.paths[0], "-o", tmp_path / "out.nc", code=4)
    assert "`ncforge combine --allow-missing`" in done.stderr


def test_mppnccombine_header_padding(tmp_path: Path) -> None:
    """`-h` leaves that many bytes behind the header; 16 KiB if it is not given."""
    whole = fms_whole()
    mosaic = tl.fms(tmp_path, whole, (1, 2), tl.Storage("NETCDF3_CLASSIC"))
    out = tmp_path / "ocean.nc"
    sizes = {}
    for words in ((), ("-h", 0), ("-h", 100_000)):
        out.unlink(missing_ok=True)
        ncforge("mppnccombine", *words, out)
        tl.check(out, whole, mosaic)
        sizes[words[1:]] = out.stat().st_size
    assert abs(sizes[()] - sizes[(0,)] - 16384) < 4096
    assert abs(sizes[(100_000,)] - sizes[(0,)] - 100_000) < 4096


def test_mppnccombine_appends(tmp_path: Path) -> None:
    """`-a` puts tiles into an output that exists: in two runs what one run makes."""
    for storage, name in ((CLASSIC, "c"), (DEFLATED, "d")):
        folder = tmp_path / name
        folder.mkdir()
        whole = fms_whole()
        mosaic = tl.fms(folder, whole, (3, 4), storage)
        out = folder / "ocean.nc"
        assert "No such file" in ncforge("mppnccombine", "-a", out, code=4).stderr
        ncforge("mppnccombine", "-f", "-e", 4, out)
        first = tl.Mosaic([], mosaic.given[:5])
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            assert ds["temp"][:].tobytes() == tl.expected(whole, first, "temp", np.float32(7)).tobytes()
        with netCDF4.Dataset(out, "a") as ds:
            ds.note = "stays"
        ncforge("mppnccombine", "-a", "-n", 5, out)
        tl.check(out, whole, mosaic)
        with netCDF4.Dataset(out) as ds:
            assert ds.note == "stays"
            assert ds.filename == "ocean.nc"
        # The command itself appends as well; a file of other lengths is refused, and stays.
        ncforge("combine", mosaic.paths[0], mosaic.paths[1], "-o", out, "--append", "--verify")
        tl.check(out, whole, mosaic)
        other = folder / "other"
        other.mkdir()
        strangers = tl.fms(other, fms_whole(10, 18), (1, 1), storage)
        before = out.read_bytes()
        done = ncforge("combine", strangers.paths[0], "-o", out, "--append", code=4)
        assert out.name in done.stderr
        assert "`y`" in done.stderr
        assert out.read_bytes() == before


def test_mppnccombine_takes_the_tiles_that_are_named(tmp_path: Path) -> None:
    """One named tile is that tile: another is neither read nor removed. Numbers given by `-n` and `-e` alike."""
    whole = fms_whole()
    mosaic = tl.fms(tmp_path, whole, (2, 1), DEFLATED)
    out = tmp_path / "ocean.nc"
    one = tl.expected(whole, tl.Mosaic([], mosaic.given[:1]), "temp", np.float32(7)).tobytes()
    for words in (["-n", 0, "-e", 0, out], ["-r", out, mosaic.paths[0]]):
        out.unlink(missing_ok=True)
        ncforge("mppnccombine", "-f", *words)
        with netCDF4.Dataset(out) as ds:
            ds.set_auto_mask(False)
            assert ds["temp"][:].tobytes() == one
    assert [path.exists() for path in mosaic.paths] == [False, True]


def test_appended_records_and_dates(tmp_path: Path) -> None:
    """Tiles with more records than the file lengthen it; tiles of another date are refused."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 2), DEFLATED)
    out = tmp_path / "out.nc"
    ncforge("combine", *mosaic.paths[:2], "-o", out, "--allow-missing")
    for path in mosaic.paths[2:]:
        with netCDF4.Dataset(path, "a") as ds:
            ds["t"][3] = 3.0
    ncforge("combine", *mosaic.paths[2:], "-o", out, "--append")
    with netCDF4.Dataset(out) as ds:
        ds.set_auto_mask(False)
        assert ds["t"][:].tolist() == [0, 1, 2, 3]
        assert ds["votemper"][:3].tobytes() == whole.fields["votemper"].values.tobytes()
        assert (ds["votemper"][3] == np.float32(1e20)).all()
    with netCDF4.Dataset(mosaic.paths[0], "a") as ds:
        ds["t"][:] = [7, 8, 9]
    assert (
        mosaic.paths[0].name
        in ncforge("combine", mosaic.paths[0], mosaic.paths[1], "-o", out, "--append", code=4).stderr
    )


def test_flags_about_memory(tmp_path: Path) -> None:
    """They bound the budget, or say why they cannot be obeyed; none is swallowed."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), DEFLATED)
    base = tmp_path / "nemo"
    for words in (["-s", 1], ["-r", "10Gb"], ["-c", 32_000_000], ["-p", 2], ["-p"]):
        ncforge("rebuild_nemo", *words, base, 6)
        tl.check(tmp_path / "nemo.nc", whole, mosaic)
    assert "-l" in ncforge("rebuild_nemo", "-l", "XC40", base, 6, code=2).stderr
    assert "-r" in ncforge("rebuild_nemo", "-r", "lots", base, 6, code=2).stderr
    (tmp_path / "nam").write_text(f"&nam_rebuild\n filebase='{base}'\n ndomain=6\n ndigits=5\n/\n")
    assert "nemo_00000.nc" in ncforge("rebuild_nemo", tmp_path / "nam", code=4).stderr
    (tmp_path / "nam").write_text(f"&nam_rebuild\n filebase='{base}'\n ndomain=6\n ndigits=4\n nslicesize=2\n/\n")
    ncforge("rebuild_nemo", tmp_path / "nam")
    out = tmp_path / "out.nc"
    done = ncforge("nocscombine", "-f", mosaic.paths[0], "-o", out, "-n", 99, code=2)
    assert "99" in done.stderr
    fms = tl.fms(tmp_path, fms_whole(), (1, 2), CLASSIC)
    assert "100" in ncforge("mppnccombine", "-k", 101, tmp_path / "ocean.nc", code=2).stderr
    ncforge("mppnccombine", "-k", 0, tmp_path / "ocean.nc")
    tl.check(tmp_path / "ocean.nc", fms_whole(), fms)


@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["classic", "deflated"])
def test_what_other_tools_write_where_no_tile_is(tmp_path: Path, storage: tl.Storage) -> None:
    """rebuild_nemo writes the missing value, and zero where a variable has none; so does mppnccombine's -m."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 3), storage, land=(1,))
    for words in ((), ("-m",)):
        done = ncforge("rebuild_nemo", *words, tmp_path / "nemo", 5)
        assert "5 nemo tiles -> " in done.stderr and "nemo.nc: " in done.stderr
        with netCDF4.Dataset(tmp_path / "nemo.nc") as ds:
            ds.set_auto_mask(False)
            for name, hole in (("votemper", 1e20), ("five", 0), ("v_i2", 0), ("nav_lon", 0)):
                want = tl.expected(whole, mosaic, name, ds[name].dtype.type(hole))
                assert ds[name][:].tobytes() == want.tobytes(), name
    tiles = tl.fms(tmp_path, fms_whole(), (2, 2), storage, masked=[3])
    ncforge("mppnccombine", "-m", tmp_path / "ocean.nc", *tiles.paths)
    with netCDF4.Dataset(tmp_path / "ocean.nc") as ds:
        ds.set_auto_mask(False)
        for name, hole in (("temp", 7), ("five", 0)):
            want = tl.expected(fms_whole(), tiles, name, np.float32(hole))
            assert ds[name][:].tobytes() == want.tobytes(), name


def test_a_tile_that_is_not_there_is_named(tmp_path: Path) -> None:
    mosaic = tl.nemo(tmp_path, ocean(), (2, 2), CLASSIC)
    done = ncforge("rebuild_nemo", tmp_path / "nemo", 9, code=4)
    assert f"tile `{tmp_path / 'nemo_0004.nc'}` is not there" in done.stderr
    assert "4 tiles before it are there" in done.stderr
    mosaic.paths[0].unlink()
    assert "FILEBASE is" in ncforge("rebuild_nemo", tmp_path / "nemo", 4, code=4).stderr


def test_a_variable_that_a_tile_lacks_is_no_hole(tmp_path: Path) -> None:
    """Its places in that tile are filled, and nothing says that points are in no tile."""
    whole = fms_whole()
    mosaic = tl.fms(tmp_path, whole, (2, 2), CLASSIC)
    ncforge("copy", mosaic.paths[2], mosaic.paths[2], "-O", "--vars", "x,y,t,five,average_T1", "--no-history")
    for command in (["mppnccombine", tmp_path / "a.nc"], ["combine", "-o", tmp_path / "b.nc"]):
        done = ncforge(*command, *mosaic.paths)
        assert "`temp` is in 3 of 4 tiles: its other places are filled" in done.stderr
        assert "in no tile" not in done.stderr
        with netCDF4.Dataset(str(command[-1])) as ds:
            ds.set_auto_mask(False)
            given = tl.Mosaic([], [g for i, g in enumerate(mosaic.given) if i != 2])
            assert ds["temp"][:].tobytes() == tl.expected(whole, given, "temp", np.float32(7)).tobytes()
            assert ds["five"][:].tobytes() == tl.expected(whole, mosaic, "five", 0).tobytes()
    done = ncforge("combine", *mosaic.paths, "-o", tmp_path / "c.nc", "--holes", "error", code=4)
    assert "`temp` is in 3 of 4 tiles" in done.stderr
