"""Options of the Python functions: all that the command has, judged by netCDF4-python and h5py."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import Run
from datasets import created


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A netCDF-4 file with an unlimited dimension, a coordinate, a group, a dimension that nothing uses and unwritten chunks."""
    path = tmp_path / "source.nc"
    rng = np.random.default_rng(5)
    with created(path, time=None, x=64, idle=3) as ds:
        ds.createVariable("time", "f8", ("time",))[:] = np.arange(40) + 0.123456789
        tas = ds.createVariable("tas", "f4", ("time", "x"), zlib=True, chunksizes=(10, 64), fill_value=-1.0)
        tas[:] = 280 + rng.random((40, 64))
        tas[10:20] = -1.0
        ds.createVariable("pr", "f4", ("time", "x"), chunksizes=(10, 64))[:] = rng.random((40, 64))
        group = ds.createGroup("g")
        group.createVariable("inner", "i4", ("x",))[:] = np.arange(64)
    return path


def copied(source: Path, **options: Any) -> Path:
    """The copy that these options make."""
    target = source.parent / "copy.nc"
    ncforge.copy(source, target, overwrite=True, **options)
    return target


def test_formats_have_the_names_of_netcdf4_python(tmp_path: Path) -> None:
    plain = tmp_path / "plain.nc"
    with created(plain, format="NETCDF3_CLASSIC", x=3) as ds:
        ds.createVariable("v", "f4", ("x",))[:] = 1
    for name in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"):
        with netCDF4.Dataset(copied(plain, format=name)) as ds:
            assert ds.data_model == name


@pytest.mark.parametrize(
    ("format", "becomes"),
    [("NETCDF3_CLASSIC", "NETCDF4_CLASSIC"), ("NETCDF3_64BIT_DATA", "NETCDF4"), ("NETCDF4", "NETCDF4")],
)
def test_what_is_chunked_for_object_stores_is_netcdf4(tmp_path: Path, format: Any, becomes: str) -> None:
    source = tmp_path / "source.nc"
    with created(source, format=format, t=300, x=400) as ds:
        ds.createVariable("v", "f4", ("t", "x"))[:] = np.arange(120_000).reshape(300, 400)
    with netCDF4.Dataset(copied(source, storage="object")) as ds:
        assert ds.data_model == becomes and ds["v"].chunking() != "contiguous"
        np.testing.assert_array_equal(ds["v"][:], np.arange(120_000).reshape(300, 400))
    with netCDF4.Dataset(copied(source, storage="object", format="NETCDF3_CLASSIC")) as ds:
        assert ds.data_model == "NETCDF3_CLASSIC"


def test_filters_of_single_variables(source: Path) -> None:
    target = copied(source, filters=["tas,shuffle|deflate,7", "pr,none"], fletcher32=False)
    with netCDF4.Dataset(target) as ds:
        found = ds["tas"].filters()
        assert (found["zlib"], found["shuffle"], found["complevel"]) == (True, True, 7)
        assert not ds["pr"].filters()["zlib"]
    with netCDF4.Dataset(copied(source, filters="pr,deflate,2")) as ds:
        assert ds["pr"].filters()["complevel"] == 2
    with h5py.File(copied(source, codec="deflate", fletcher32=True, shuffle=False)) as file:
        assert file["pr"].fletcher32
        assert not file["pr"].shuffle


@pytest.mark.parametrize(("options", "most"), [({"keep_digits": 4}, 0.05), ({"keep_bits": 9}, 0.5)])
def test_quantisation(source: Path, options: dict[str, int], most: float) -> None:
    with netCDF4.Dataset(source) as old, netCDF4.Dataset(copied(source, **options)) as new:
        error = np.abs(old["tas"][:] - new["tas"][:]).max()
        assert 0 < error <= most
        assert (old["time"][:] == new["time"][:]).all(), "coordinates are not rounded"


def test_byte_order(source: Path) -> None:
    for endian, order in (("big", ">"), ("little", "<")):
        with h5py.File(copied(source, endian=endian)) as file:
            assert file["tas"].dtype.newbyteorder(order) == file["tas"].dtype


def test_chunks_of_fill_values_are_left_out(source: Path) -> None:
    def stored(path: Path) -> int:
        with h5py.File(path) as file:
            return file["tas"].id.get_num_chunks()

    assert stored(copied(source)) == 4
    target = copied(source, skip_fill=True)
    assert stored(target) == 3
    with netCDF4.Dataset(source) as old, netCDF4.Dataset(target) as new:
        assert (old["tas"][:].filled(-1) == new["tas"][:].filled(-1)).all()


def test_unlimited_dimensions_become_fixed(source: Path) -> None:
    with netCDF4.Dataset(copied(source, fix_unlimited=True)) as ds:
        assert not ds.dimensions["time"].isunlimited()
        assert len(ds.dimensions["time"]) == 40


def test_what_is_taken_along(source: Path) -> None:
    with netCDF4.Dataset(copied(source, vars=(name for name in ["pr"]))) as ds:
        assert list(ds.variables) == ["pr"]
        assert set(ds.dimensions) == {"time", "x"}
    with netCDF4.Dataset(copied(source, vars="pr", all_dimensions=True)) as ds:
        assert "idle" in ds.dimensions
    with netCDF4.Dataset(copied(source, groups=["g"])) as ds:
        assert not ds.variables
        assert list(ds["g"].variables) == ["inner"]
    with netCDF4.Dataset(copied(source, groups="g", vars=["pr"])) as ds:
        assert list(ds.variables) == ["pr"]
        assert list(ds["g"].variables) == ["inner"]
    with netCDF4.Dataset(copied(source, values_of=["pr"])) as ds:
        assert ds["tas"][:].mask.all()
        assert not np.ma.is_masked(ds["pr"][:])


def test_profile(source: Path) -> None:
    target = copied(source, profile="cmip7", vars=["tas", "time"])
    assert ncforge.doctor(target, profile="cmip7").passes


def test_header_space_takes_attributes_without_moving_data(tmp_path: Path) -> None:
    plain = tmp_path / "plain.nc"
    with created(plain, format="NETCDF3_CLASSIC", x=5000) as ds:
        ds.createVariable("v", "f8", ("x",))[:] = 1.5
    tight, spacious = tmp_path / "tight.nc", tmp_path / "spacious.nc"
    ncforge.copy(plain, tight, header_space=0)
    ncforge.copy(plain, spacious, header_space="16K")
    assert spacious.stat().st_size - tight.stat().st_size >= 16 << 10
    with netCDF4.Dataset(spacious) as ds:
        assert (ds["v"][:] == 1.5).all()


def test_chunks_for_reads(source: Path) -> None:
    with netCDF4.Dataset(copied(source, chunks="time/20,x/32")) as ds:
        assert ds["tas"].chunking() == [20, 32]
    with netCDF4.Dataset(copied(source, for_="series", chunks="keep")) as ds:
        assert ds["tas"].chunking() == [10, 64]
    with pytest.raises(ncforge.InvalidError, match="given twice"):
        copied(source, for_="series", chunks="auto:map")


def test_chunks_by_name(source: Path, tmp_path: Path, run: Run) -> None:
    """Lengths as xarray and Dask take them, and the same as text."""
    with netCDF4.Dataset(copied(source, chunks={"time": 4, "x": 16})) as ds:
        assert ds["tas"].chunking() == ds["pr"].chunking() == [4, 16]
    with netCDF4.Dataset(copied(source, chunks={"time": np.int64(5), "x": -1, "pr": [2, 8]})) as ds:
        assert (ds["tas"].chunking(), ds["pr"].chunking()) == ([5, 64], [2, 8])
    with netCDF4.Dataset(copied(source, chunks={"time": None})) as ds:
        assert ds["tas"].chunking()[0] == 40
    ncforge.copy(source, tmp_path / "fixed.nc", fix_unlimited=True)
    ncforge.split(tmp_path / "fixed.nc", tmp_path / "tile", tiles=(2, 1), dims=["x", "time"])
    ncforge.combine(tmp_path / "tile_*.nc", tmp_path / "combined.nc", chunks={"time": 3, "x": 8})
    ncforge.concat([source], tmp_path / "joined.nc", chunks={"time": 3, "x": 8})
    for name in ("combined", "joined"):
        with netCDF4.Dataset(tmp_path / f"{name}.nc") as ds:
            assert ds["tas"].chunking() == [3, 8]
    run("copy", source, tmp_path / "text.nc", "--chunks", "time/6,x/")
    with netCDF4.Dataset(tmp_path / "text.nc") as ds:
        assert ds["tas"].chunking() == [6, 64]
    assert ncforge.plan_copy(source, tmp_path / "no.nc", for_="series", expect={"time": 4000}) == ncforge.plan_copy(
        source, tmp_path / "no.nc", for_="series", expect="time=4000"
    )
    for wrong, said in (
        ({"time": 0}, "time"),
        ({"time": "4"}, "time"),
        ({}, "empty"),
        ({"nope": 4}, "nope"),
        (4, "chunks"),
    ):
        with pytest.raises((ncforge.NcforgeError, ValueError), match=said):
            ncforge.copy(source, tmp_path / "no.nc", chunks=wrong)  # type: ignore[arg-type]


def test_plan_writes_nothing(source: Path) -> None:
    plan = ncforge.plan_copy(source, source.parent / "out.nc", format="netcdf4-classic", vars=["tas"], memory="64M")
    assert plan.format == "netCDF-4 classic model"
    assert [v["name"] for v in plan.variables] == ["tas"]
    assert plan.memory <= 64 << 20
    assert plan.totals["values_bytes"] == 40 * 64 * 4
    assert not (source.parent / "out.nc").exists()


def test_resume_and_checkpoint(source: Path) -> None:
    target = source.parent / "resumed.nc"
    seen = []

    def stop(stage: str, done: int, total: int) -> None:
        seen.append(stage)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError):
        ncforge.copy(source, target, codec="zstd", checkpoint=0, progress=stop)
    report = ncforge.copy(source, target, codec="zstd", checkpoint=0, resume=True)
    assert seen
    assert report.output == str(target)
    assert ncforge.compare(source, target)
    with pytest.raises(ncforge.InvalidError, match="checkpoint"):
        ncforge.copy(source, target, checkpoint=-1)


def test_zipping(tmp_path: Path) -> None:
    plain, zipped, back = tmp_path / "a.nc", tmp_path / "a.ncz", tmp_path / "b.nc"
    with created(plain, format="NETCDF3_64BIT_OFFSET", t=None) as ds:
        ds.createVariable("v", "f8", ("t",))[:] = np.linspace(0, 1, 20_000)
    for options in ({}, {"codec": "lz4"}, {"codec": "deflate", "level": 9}, {"block": "4K"}, {"block": 1 << 16}):
        report = ncforge.zip(plain, zipped, overwrite=True, **options)
        assert report.image_bytes == plain.stat().st_size
        assert ncforge.verify(zipped).problems == []
        ncforge.unzip(zipped, back, overwrite=True)
        assert back.read_bytes() == plain.read_bytes()
    with netCDF4.Dataset(back) as ds:
        assert (ds["v"][:] == np.linspace(0, 1, 20_000)).all()
    with ncforge.Dataset(zipped, "a") as ds:
        ds["v"][:] = np.random.default_rng(1).random(20_000)
    before = zipped.stat().st_size
    assert ncforge.compact(zipped).output_bytes <= before
    with pytest.raises(ncforge.ExistsError):
        ncforge.zip(plain, zipped)
    with pytest.raises(ncforge.InvalidError, match="lz4"):
        ncforge.zip(plain, zipped, overwrite=True, codec="lz4", level=3)
    with pytest.raises(ncforge.InvalidError, match="not zipped"):
        ncforge.compact(plain)


def test_damage_is_reported(tmp_path: Path) -> None:
    plain, zipped = tmp_path / "a.nc", tmp_path / "a.ncz"
    with created(plain, format="NETCDF3_CLASSIC", x=50_000) as ds:
        ds.createVariable("v", "f8", ("x",))[:] = np.random.default_rng(2).random(50_000)
    ncforge.zip(plain, zipped)
    content = bytearray(zipped.read_bytes())
    middle = len(content) // 2
    content[middle] ^= 0xFF
    zipped.write_bytes(content)
    found = ncforge.verify(zipped)
    assert not found
    assert found.problems[0].touches == ["v"]


def test_splitting_is_undone_by_combining(source: Path, tmp_path: Path) -> None:
    plain = tmp_path / "field.nc"
    field = np.random.default_rng(3).random((12, 20))
    with created(plain, y=12, x=20) as ds:
        ds.createVariable("v", "f8", ("y", "x"))[:] = field
    report = ncforge.split(plain, tmp_path / "tile", tiles=(4, 3), halo=1, codec="deflate", dims=["x", "y"])
    assert report.tiles == 12
    with netCDF4.Dataset(tmp_path / "tile_0000.nc") as ds:
        assert ds.DOMAIN_number_total == 12
        assert (ds["v"][:] == field[:5, :6]).all(), "with the halo of its neighbours"
    whole = tmp_path / "whole.nc"
    ncforge.combine(tmp_path / "tile_*.nc", whole, scheme="nemo")
    with netCDF4.Dataset(whole) as ds:
        assert (ds["v"][:] == field).all()
    for wrong, match in (({}, "4x3"), ({"tiles": "4"}, "4x3"), ({"tiles": "2x2", "dims": ["x"]}, "two dimensions")):
        with pytest.raises(ncforge.InvalidError, match=match):
            ncforge.split(plain, tmp_path / "no", **wrong)  # type: ignore[arg-type]


def test_choosing_chunks(source: Path) -> None:
    (choice,) = ncforge.tune_chunks(source, vars=["tas"], for_="series", sample=False)
    assert choice.variable == "tas"
    assert choice.chunks is not None
    assert choice.reasons
    with pytest.raises(ncforge.NotFoundError):
        ncforge.tune_chunks(source, vars=["nothing"])


@pytest.mark.parametrize(
    ("call", "wrong", "near"),
    [
        ("copy", "codex", "codec"),
        ("copy", "fix_unlimted", "fix_unlimited"),
        ("plan_copy", "chunk", "chunks"),
        ("combine", "hole", "holes"),
        ("compare", "tolerence", "tolerance"),
        ("split", "hallo", "halo"),
        ("zip", "levels", "level"),
    ],
)
def test_unknown_options_name_the_nearest(source: Path, call: str, wrong: str, near: str) -> None:
    target = source.parent / "out.nc"
    with pytest.raises(TypeError, match=f"`{wrong}`.*did you mean `{near}`"):
        getattr(ncforge, call)(source, target, **{wrong: 1})
    assert not target.exists()


def test_unknown_options_of_doctor(source: Path) -> None:
    with pytest.raises(TypeError, match="`for_`"):
        ncforge.doctor(source, fore="map")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="type object"):
        ncforge.copy(source, source.parent / "out.nc", level=object())  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"format": "netcdf5"}, "format.*netcdf4"),
        ({"codec": "gzip"}, "codec.*deflate"),
        ({"goal": "small"}, '`goal` and `allow_zstd` go with codec="auto"'),
        ({"codec": "deflate", "level": 12}, "level 12"),
        ({"level": "high"}, "`level`"),
        ({"level": 3, "vars": ["pr"]}, "level.*nothing of the output is compressed"),
        ({"shuffle": True, "format": "classic", "vars": ["pr"]}, "shuffle.*nothing of the output is compressed"),
        ({"keep_digits": 3, "keep_bits": 3}, "`keep_digits` and `keep_bits` exclude each other"),
        ({"keep_digits": 0}, "keep_digits"),
        ({"chunks": "lat"}, "chunks.*write keep, auto"),
        ({"filters": ["v"]}, "filters"),
        ({"for_": "fast"}, "for.*series"),
        ({"memory": "much"}, "memory"),
    ],
)
def test_wrong_values_name_their_option(source: Path, options: dict[str, Any], says: str) -> None:
    target = source.parent / "out.nc"
    with pytest.raises(ncforge.InvalidError, match=says):
        ncforge.copy(source, target, **options)
    assert not target.exists()


def test_values_of_other_types(source: Path) -> None:
    """Values of NumPy and pathlib are taken; ``None`` is what was not given."""
    target = copied(
        source,
        level=np.int64(3),
        codec="deflate",
        memory=np.uint32(64 << 20),
        vars=np.array(["pr"]),
        shuffle=None,
        checkpoint=np.float32(1.5),
        verify=np.True_,
    )
    with netCDF4.Dataset(target) as ds:
        assert ds["pr"].filters()["complevel"] == 3


def test_coordinates_under_a_name_that_is_no_text(tmp_path: Path) -> None:
    plain = tmp_path / "field.nc"
    with created(plain, y=4, x=4) as ds:
        ds.createVariable("v", "f8", ("y", "x"))[:] = 1
    ncforge.split(plain, tmp_path / "tile", tiles=(2, 2))
    coords = str(tmp_path / "grid") + "\udcff.nc"
    try:
        ncforge.copy(plain, coords)
    except ncforge.NcforgeError:
        pytest.skip("the file system takes no such name")
    report = ncforge.combine(tmp_path / "tile_*.nc", tmp_path / "whole.nc", coords=coords)
    assert report.tiles == 4


#: Options of the command that Python has as something else, and of Python alone.
COMMAND_ONLY = {"dry_run", "json", "no_history", "no_shuffle", "help"}
PYTHON_ONLY = {
    "all_dimensions",
    "follow",
    "checkpoint",
    "groups",
    "header_space",
    "history",
    "memory",
    "min_chunked",
    "threads",
    "values_of",
}


def test_the_command_the_types_and_the_docstring_have_the_same_options(run: Run) -> None:
    """An option that one of them lacks works, and nobody finds it."""
    package = Path(ncforge.__file__).parent
    classes = {
        node.name: node
        for module in ("_ops/options.py", "ops.py")
        for node in ast.walk(ast.parse((package / module).read_text()))
        if isinstance(node, ast.ClassDef)
    }

    def fields(name: str) -> set[str]:
        own = {
            n.target.id for n in classes[name].body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        }
        bases = (b.id for b in classes[name].bases if isinstance(b, ast.Name) and b.id in classes)
        return own.union(*map(fields, bases))

    typed = {name.rstrip("_") for name in fields("CopyOptions")}
    shown = set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", run("copy", "--help").stdout, re.MULTILINE))
    assert {name.replace("-", "_") for name in shown} - COMMAND_ONLY == typed - PYTHON_ONLY
    documented = set(re.findall(r"^    ([a-z_0-9, ]+)$", ncforge.copy.__doc__ or "", re.MULTILINE))
    assert typed <= {name.strip().rstrip("_") for line in documented for name in line.split(",")}
