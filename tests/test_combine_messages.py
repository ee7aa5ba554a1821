"""``ncforge combine``: what messages, hints and reports say."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, combine, fms_whole, ocean, values
from commands import ncforge


def _limited(what: int, n: int, *words: object) -> subprocess.CompletedProcess[str]:
    """The command under a limit of the system."""
    return ncforge(*words, code=None, preexec_fn=lambda: resource.setrlimit(what, (n, n)))


def _large(folder: Path) -> tl.Mosaic:
    """Two variables of 1.5 MB, one behind the other."""
    fields = {name: tl.Field(("z", "y", "x"), values((20, 120, 160))) for name in ("v", "w")}
    return tl.nemo(folder, tl.Whole(fields, unlimited=()), (2, 2), CLASSIC)


@pytest.mark.parametrize("tool", ["combine", "copy", "rebuild_nemo"])
@pytest.mark.parametrize("noted", [True, False])
def test_an_output_that_cannot_be_written_on(tmp_path: Path, tool: str, noted: bool) -> None:
    """Nothing under the output's name. Where a part is done and noted, the message names what is left, and `--resume` goes on; else
    nothing is left, since there is nothing to go on from."""
    mosaic = _large(tmp_path)
    whole = tmp_path / "whole.nc"
    combine(mosaic, whole)
    out = tmp_path / ("nemo.nc" if tool == "rebuild_nemo" else "out.nc")
    words: list[object] = {
        "combine": ["combine", mosaic.paths[0], "-o", out, "--no-history"],
        "copy": ["copy", whole, out, "--no-history"],
        "rebuild_nemo": ["rebuild_nemo", tmp_path / "nemo", 4],
    }[tool]
    # Finished work is noted every two seconds, or after each part. The tools of others go on with nothing.
    goes_on = noted and tool != "rebuild_nemo"
    words += ["--checkpoint", 0] if goes_on else []
    before = set(tmp_path.iterdir())
    done = _limited(resource.RLIMIT_FSIZE, (2 if noted else 1) << 20, *words)
    assert done.returncode == 1, done
    assert not out.exists()
    left = set(tmp_path.iterdir()) - before
    assert bool(left) == ("--resume" in done.stderr) == goes_on
    for path in left:
        assert str(path) in done.stderr
    assert "ulimit -f" in done.stderr
    if tool == "rebuild_nemo":
        ncforge(*words)
    else:
        report = json.loads(ncforge(*words, "--resume", "--json").stdout)
        assert (report.get("copy", report)["resumed_steps"] > 0) == goes_on
    assert set(tmp_path.iterdir()) == before | {out}
    with netCDF4.Dataset(whole) as a, netCDF4.Dataset(out) as b:
        for name in ("v", "w"):
            a.set_auto_mask(False)
            b.set_auto_mask(False)
            assert a[name][:].tobytes() == b[name][:].tobytes()


def test_too_few_open_files(tmp_path: Path) -> None:
    """No fault of the tile: code 1, and a hint that names the limit."""
    mosaic = tl.nemo(tmp_path, ocean(), (3, 4), CLASSIC)
    done = _limited(resource.RLIMIT_NOFILE, 6, "combine", mosaic.paths[0], "-o", tmp_path / "out.nc")
    assert done.returncode == 1, done
    assert "ulimit -n" in done.stderr


@pytest.mark.parametrize(
    ("digit", "model"),
    [("-3", "NETCDF3_CLASSIC"), ("-4", "NETCDF4"), ("-5", "NETCDF3_64BIT_DATA"), ("-6", "NETCDF3_64BIT_OFFSET"),
     ("-7", "NETCDF4_CLASSIC")],
)  # fmt: skip
def test_formats_by_digit(tmp_path: Path, digit: str, model: str) -> None:
    """`combine` and `split` take the short formats that `copy` takes."""
    whole = tl.Whole({"v": tl.Field(("y", "x"), values((8, 8)))}, unlimited=())
    mosaic = tl.nemo(tmp_path, whole, (2, 2), CLASSIC)
    combine(mosaic, tmp_path / "out.nc", digit)
    ncforge("split", tmp_path / "out.nc", "-o", tmp_path / "part", "--tiles", "2x1", digit)
    for name in ("out.nc", "part_0000.nc", "part_0001.nc"):
        with netCDF4.Dataset(tmp_path / name) as ds:
            assert ds.data_model == model
    tl.check(tmp_path / "out.nc", whole, mosaic)


def test_the_format_of_the_tiles_is_reported(tmp_path: Path) -> None:
    """`source_format` is that of the tiles, `format` that of the output."""
    mosaic = tl.nemo(tmp_path, ocean(), (2, 2), CLASSIC)
    report = json.loads(combine(mosaic, tmp_path / "out.nc", "--format", "netcdf4", "--json").stdout)["copy"]
    assert (report["source_format"], report["format"]) == ("64-bit offset", "netCDF-4")
    said = combine(mosaic, tmp_path / "out.nc", "-O", "--format", "netcdf4").stderr
    assert "64-bit offset ->" in said
    plan = json.loads(combine(mosaic, tmp_path / "out.nc", "--format", "netcdf4", "-n", "--json").stdout)["copy"]
    assert plan["source_format"] == "64-bit offset"


def test_number_and_verb_agree(tmp_path: Path) -> None:
    """One tile is missing, one tile differs, one thread."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 2), CLASSIC)
    with netCDF4.Dataset(mosaic.paths[1], "a") as ds:
        ds["number"][...] = 8
    out = tmp_path / "out.nc"
    assert "differs in 1 tile:" in combine(mosaic, out, "--differing", "first").stderr
    assert "; 1 thread;" in combine(mosaic, out, "--differing", "first", "-n", "-j", 1).stdout
    mosaic.paths[3].unlink()
    assert "1 of 4 tiles is missing" in combine(mosaic, out, code=4).stderr
    mosaic.paths[2].unlink()
    assert "2 of 4 tiles are missing" in combine(mosaic, out, code=4).stderr


def test_hints_say_what_to_do(tmp_path: Path) -> None:
    """No hint names an option that fails in the same way, or `--help` for want of anything better."""
    whole = ocean()
    (tmp_path / "t").mkdir()
    mosaic = tl.nemo(tmp_path / "t", whole, (2, 2), CLASSIC, land=(1,))
    out = tmp_path / "out.nc"
    said = combine(mosaic, out, "--holes", "error", code=4).stderr
    assert "--holes fill" in said and "no tile where all is land" in said
    one = combine(mosaic, mosaic.paths[1], "-O", code=2).stderr
    assert "is one of the tiles" in one and "name of another file" in one
    done = combine(mosaic, out, code=2, env={"NCFORGE_MEMORY": "lots"})
    assert "such as 4G" in done.stderr
    said = combine(mosaic, tmp_path / "none" / "out.nc", code=2).stderr
    assert "No such file or directory" in said and "entity" not in said
    with netCDF4.Dataset(mosaic.paths[1], "a") as ds:
        ds["number"][...] = 8
    different = combine(mosaic, out, code=4).stderr
    shutil.copy(mosaic.paths[0], tmp_path / "t" / "nemo_0007.nc")
    claimed = ncforge("combine", *mosaic.paths[:2], tmp_path / "t" / "nemo_0007.nc", "-o", out, code=4).stderr
    for said in (one, done.stderr, different, claimed):
        assert "dry-run" not in said
        assert "--help` behind" not in said


def test_other_tools_warn_of_holes(tmp_path: Path) -> None:
    """As `combine` does."""
    mosaic = tl.nemo(tmp_path, ocean(), (2, 2), CLASSIC, land=(1,))
    for words in (
        ["rebuild_nemo", tmp_path / "nemo", 3],
        ["nocscombine", "-f", mosaic.paths[0], "-o", tmp_path / "o.nc"],
    ):
        assert "points of (y, x) are in no tile" in ncforge(*words).stderr


def test_rebuild_nemo_and_nocscombine_overwrite(tmp_path: Path) -> None:
    """As the tools of these names do; their help says so."""
    whole = ocean()
    mosaic = tl.nemo(tmp_path, whole, (2, 2), CLASSIC)
    out = tmp_path / "nemo.nc"
    for words in (["rebuild_nemo", tmp_path / "nemo", 4], ["nocscombine", "-f", mosaic.paths[0], "-o", out]):
        out.write_text("earlier")
        ncforge(*words)
        tl.check(out, whole, mosaic)
        assert "overwritten" in ncforge(words[0], "--help").stdout
    out.write_text("earlier")
    fms = tl.fms(tmp_path, fms_whole(), (1, 1), CLASSIC)
    assert "exists" in ncforge("mppnccombine", out, *fms.paths, code=2).stderr
    assert out.read_text() == "earlier"


def test_the_plan_estimates_what_is_written(tmp_path: Path) -> None:
    """Compressed values are as long as in the tiles, about; here not half as long as they are."""
    rng = np.random.default_rng(5)
    field = tl.Field(("t", "y", "x"), rng.standard_normal((4, 240, 320)).astype("f4"))
    mosaic = tl.nemo(tmp_path, tl.Whole({"v": field}), (2, 2), DEFLATED, halo=1)
    words = ["--chunks", "t/2,y/60,x/50"]
    plan = json.loads(combine(mosaic, tmp_path / "out.nc", *words, "-n", "--json").stdout)
    combine(mosaic, tmp_path / "out.nc", *words)
    size = (tmp_path / "out.nc").stat().st_size
    assert size > 0.7 * field.values.nbytes
    assert abs(plan["copy"]["totals"]["written"] - size) < 0.2 * size


def test_files_with_the_name_of_a_tile(tmp_path: Path) -> None:
    """What is wrong with which file; not that a tile is missing that everybody sees in the folder."""
    (tmp_path / "t").mkdir()
    mosaic = tl.nemo(tmp_path / "t", ocean(), (2, 2), CLASSIC)
    one, out = mosaic.paths[1], tmp_path / "out.nc"
    kept = one.read_bytes()
    one.write_text("no netCDF file")
    said = combine(mosaic, out, code=4).stderr
    assert f"`{one}` has the name of a tile, and is not a netCDF file: it is text" in said and "move it away" in said
    one.write_bytes(kept)
    with netCDF4.Dataset(one, "a") as ds:
        for name in ("DOMAIN_dimensions_ids", "DOMAIN_position_first"):
            ds.delncattr(name)
    said = combine(mosaic, out, code=4).stderr
    assert (
        f"`{one}` has the name of a tile that is missing, and lacks the attributes" in said and "move it away" in said
    )
    combine(mosaic, out, "--allow-missing")
    named = ncforge("combine", *mosaic.paths, "-o", out, "-O", code=4).stderr
    assert f"`{one}` is no tile of the scheme nemo" in named and "move it away" in named


def test_tiles_that_another_program_has_cut(tmp_path: Path, tool: Callable[..., str]) -> None:
    """NCO keeps the attributes, changes lengths, and puts dimensions into another order."""
    whole = tl.Whole({"v": tl.Field(("t", "y", "x"), values((2, 12, 16)))}, unlimited=("t",))
    mosaic = tl.nemo(tmp_path, whole, (2, 2), CLASSIC)
    one = mosaic.paths[2]
    tool("ncks", "-O", "-d", "x,0,4", one, one)
    said = combine(mosaic, tmp_path / "out.nc", code=4).stderr
    assert f"`{one}` is not what its attributes DOMAIN_* say" in said
    assert "8 points along dimension number 3" in said and "x = 5" in said and "t = 2 (unlimited)" in said
    assert "NCO has written it" in said and "combine the tiles as the model wrote them" in said


def test_records_are_not_taken_for_a_split_dimension(tmp_path: Path) -> None:
    """A number of a dimension that has become that of the records, which happen to be as many as a tile is long."""
    whole = tl.Whole({"v": tl.Field(("t", "y", "x"), values((8, 12, 16)))}, unlimited=("t",))
    mosaic = tl.nemo(tmp_path, whole, (2, 2), CLASSIC)
    for path in mosaic.paths:
        with netCDF4.Dataset(path, "a") as ds:
            assert next(iter(ds.dimensions)) == "t" and len(ds.dimensions["x"]) == len(ds.dimensions["t"]) == 8
            ds.DOMAIN_dimensions_ids = np.array([1, 2], "i4")
    combine(mosaic, tmp_path / "out.nc")
    tl.check(tmp_path / "out.nc", whole, mosaic)
