"""Names of outputs: what they tell is what is written."""

from __future__ import annotations

import json
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import DATA, Run
from datasets import created

FILE = DATA / "sst30e_netcdf.nc"


def record(path: Path, at: float) -> Path:
    """A classic file of one time."""
    with created(path, format="NETCDF3_64BIT_OFFSET", time=None, y=4, x=6) as ds:
        ds.createVariable("time", "f8", ("time",))[:] = [at]
        for name in "yx":
            ds.createVariable(name, "f8", (name,))[:] = np.arange(len(ds.dimensions[name]))
        ds.createVariable("v", "f4", ("time", "y", "x"))[:] = at
    return path


@pytest.fixture
def days(tmp_path: Path) -> list[Path]:
    return [record(tmp_path / f"day_{at}.nc", float(at)) for at in range(2)]


@pytest.mark.parametrize("ending", ["zarr", "json", "parquet", "cdl", "grib2", "CSV", "nc.gz"])
def test_what_is_no_netcdf_is_not_named_so(tmp_path: Path, run: Run, days: list[Path], ending: str) -> None:
    out = tmp_path / f"out.{ending}"
    for words in (
        ["copy", days[0], out],
        ["copy", days[0], out, "--dry-run"],
        ["concat", *days, "-o", out],
        ["zip", days[0], out],
        ["nccopy", days[0], out],
        ["series", *days, "-o", tmp_path / "s", "--name", f"{{var}}.{ending}"],
    ):
        done = run(*words, code=2)
        assert f".{ending}` is a name of " in done.stderr and "hint: " in done.stderr
    assert not out.exists() and not list(tmp_path.glob("s/*"))
    with pytest.raises(ncforge.InvalidError, match="is a name of"):
        ncforge.copy(days[0], out)


def test_stdout_gets_no_file(tmp_path: Path, run: Run, days: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is a name of stdout, not of a file, unless a folder is told."""
    monkeypatch.chdir(tmp_path)
    run("zip", days[0], "a.ncz")
    run("split", days[0], "-o", "t.nc", "--tiles", "2x1", "--dims", "x,y")
    for words in (
        ["copy", days[0], "-"],
        ["copy", days[0], "-", "-n"],
        ["concat", *days, "-o", "-"],
        ["combine", "t_0000.nc", "-o", "-"],
        ["series", *days, "-o", "-"],
        ["series", *days, "-o", "-", "-n"],
        ["split", days[0], "-o", "-", "--tiles", "2x1", "--dims", "x,y"],
        ["zip", days[0], "-"],
        ["unzip", "a.ncz", "-"],
        ["nccopy", days[0], "-"],
        ["ncrcat", *days, "-o", "-"],
        ["refs", *days, "-o", "-", "--format", "cf"],
    ):
        done = run(*words, code=2)
        assert "`-` means stdout" in done.stderr and "hint: " in done.stderr, words
    for call in (ncforge.copy, ncforge.references):
        with pytest.raises(ncforge.InvalidError, match="stdout"):
            call(days[0], "-")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ncz", "day_0.nc", "day_1.nc", "t_0000.nc", "t_0001.nc"]
    assert json.loads(run("refs", *days, "-o", "-").stdout)["version"] == 1
    run("copy", days[0], "./-")
    assert (tmp_path / "-").is_file()


def test_zipped_files_have_their_own_ending(tmp_path: Path, run: Run, days: list[Path]) -> None:
    run("zip", days[0], tmp_path / "a.ncz")
    assert "zipped netCDF" in run("unzip", tmp_path / "a.ncz", tmp_path / "b.ncz", code=2).stderr
    run("copy", days[0], tmp_path / "free.0001")


def test_references_are_written_as_their_name_tells(tmp_path: Path, run: Run, days: list[Path]) -> None:
    """JSON, or for ``.nc`` a netCDF file; Parquet is written by Python only."""
    for name in ("x.parquet", "x.parq", "x.zarr"):
        done = run("refs", *days, "-o", tmp_path / name, code=2)
        assert f"{name}` is a name of" in done.stderr and ".json" in done.stderr and "ncforge.references" in done.stderr
        assert not (tmp_path / name).exists()
    run("refs", *days, "-o", tmp_path / "x.json", "--format", "cf", code=2)
    run("refs", *days, "-o", tmp_path / "x.nc", "--format", "kerchunk", code=2)
    for name in ("x.json", "x", "x.kerchunk"):
        run("refs", *days, "-o", tmp_path / name)
        assert json.loads((tmp_path / name).read_text())["version"] == 1
    run("refs", *days, "-o", tmp_path / "x.nc")
    run("concat", *days, "-o", tmp_path / "all.nc")
    for path in (tmp_path / "x.nc", tmp_path / "y.nc"):
        if path.name == "y.nc":
            assert ncforge.references(days, path).files == 2
        with ncforge.Dataset(path) as ds, ncforge.Dataset(tmp_path / "all.nc") as judge:
            assert np.array_equal(ds["v"][...], judge["v"][...])
    with pytest.raises(ncforge.InvalidError, match="zarr"):
        ncforge.references(days, tmp_path / "y.zarr")
    with pytest.raises(ncforge.InvalidError, match="needs a name"):
        ncforge.references(days, format="cf")


@pytest.mark.parametrize(
    ("scheme", "ending"), [("nemo", "_0000.nc"), ("fms", ".nc.0000"), ("roms", ".0.nc"), ("wrf", "_0000")]
)
def test_tiles_are_named_as_by_their_model(
    tmp_path: Path, run: Run, days: list[Path], scheme: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extension of a base is no part of it; a folder gets tiles of the file's name."""
    words = ["split", days[0], "--tiles", "2x1", "--scheme", scheme, "--dims", "x,y", "--json", "-O"]
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    for given, base in {
        "tile": "tile",
        "tile.nc": "tile",
        "run.v2": "run.v2",
        "there": "there/day_0",
        "new/folder/": "new/folder/day_0",
        None: "day_0",
    }.items():
        report = json.loads(run(*words, *([] if given is None else ["-o", given])).stdout)
        assert report["first"] == base + ending, given
        run("combine", report["first"], "-o", "back.nc", "-O", "--no-history")
    other = json.loads(run(*words, "-o", "tile.nc4").stdout)["first"]
    assert other == "tile" + ending.replace(".nc", ".nc4")
    assert ncforge.split(days[0], "python.nc", tiles=(2, 1), scheme=scheme, dims=["x", "y"]).first == "python" + ending
    assert "a folder that exists" in run(*words, "-o", "no/tile.nc", code=2).stderr


@pytest.mark.parametrize("length", [240, 251, 255])
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path, run: Run, days: list[Path], length: int) -> None:
    """The temporary name of such a file is shorter than its own."""
    out, other = (
        tmp_path / ((letter * length).encode()[: length - 3].decode(errors="ignore") + ".nc")
        for letter in "\u00e9\u00e8"
    )
    run("concat", *days, "-o", out, "--verify")
    run("compare", out, out)
    run("copy", out, other)
    run("copy", "-O", days[0], other, "--resume")
    with ncforge.Dataset(other, "a") as ds:
        ds.title = "grown"
    with netCDF4.Dataset(other) as ds:
        assert ds.title == "grown" and len(ds["time"]) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([out.name, other.name, *(d.name for d in days)])


def test_a_text_replaces_no_file_that_the_command_line_names(tmp_path: Path, run: Run, days: list[Path]) -> None:
    """Not even where outputs may be replaced."""
    before = days[0].read_bytes()
    (tmp_path / "link.nc").symlink_to(days[0])
    for words in (
        ["refs", "-O", *days, "-o", tmp_path / "link.nc"],
        ["refs", "-O", days[0], "-o", days[0]],
        ["refs", "-O", days[0], "-o", days[0], "--format", "cf"],
        ["info", "-O", days[0], f"--html={days[0]}"],
        ["doctor", "-O", tmp_path / "day_*.nc", f"--html={days[0]}"],
        ["verify", "-O", days[0], f"--json={tmp_path}/link.nc"],
        ["copy", "-O", days[0], tmp_path / "new.nc", f"--json={tmp_path}/./new.nc"],
    ):
        assert "hint: give " in run(*words, code=2).stderr
        assert days[0].read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"day_0.nc", "day_1.nc", "link.nc"}
    with pytest.raises(ncforge.InvalidError, match="is one of the files"):
        ncforge.references(days, days[0], overwrite=True)


def test_a_link_that_leads_nowhere_names_the_file(tmp_path: Path, run: Run, days: list[Path]) -> None:
    """As for every program that opens a file to write it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.nc").symlink_to("sub/new.nc")
    run("copy", days[0], tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    run("compare", days[0], tmp_path / "sub/new.nc")
    (tmp_path / "circle.nc").symlink_to("circle.nc")
    assert "follow the link" in run("copy", days[0], tmp_path / "circle.nc", code=1).stderr
