"""References to the chunks of many files, joined along a dimension: zarr-python reads the values that are in the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from conftest import Run
from datasets import created
from virtual import IGNORED, days, equal, joined, opened

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")

pytestmark = IGNORED


@pytest.mark.parametrize("inline", [0, "64K"])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"chunk": 3},
        {"format": "NETCDF3_CLASSIC"},
        {"format": "NETCDF3_64BIT_DATA", "unlimited": False, "how": {}},
        {"unlimited": False, "how": {"contiguous": True}},
        {"chunk": 5, "lengths": [10, 5, 3]},
    ],
    ids=str,
)
def test_files_are_joined(tmp_path: Path, change: dict[str, Any], inline: Any) -> None:
    if change.get("format", "").startswith("NETCDF3"):
        change = {**change, "how": {}}
    paths = days(tmp_path, **{"lengths": [3, 9, 6], **change})
    refs = ncforge.references(paths, inline=inline)
    group = opened(refs)
    names = {key.split("/")[0] for key in refs["refs"] if key.endswith("/.zarray")}
    assert {"time", "x", "v", "plain"} <= names
    for name in names:
        equal(group[name][...], joined(paths, name), name)
    assert isinstance(refs["refs"]["v/0.0"], list) or inline


def test_what_does_not_fit_together_is_named(tmp_path: Path) -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(ncforge.InvalidError, match=match):
            ncforge.references([tmp_path / "0.nc", tmp_path / "1.nc"], **options)

    def changed(change: Any) -> None:
        days(tmp_path, [4, 6])
        with netCDF4.Dataset(tmp_path / "1.nc", "a") as file:
            change(file)

    changed(lambda f: f["time"].setncattr("units", "m"))
    refused(
        r'0.nc` and `.*1.nc` do not go together: .*`time:units` differs: "days since 2000-01-01" in the first, "m" in the second'
    )
    changed(lambda f: f["v"].setncattr("scale_factor", 0.5))
    refused(r"`v:scale_factor` differs: none in the first, 0.5 in the second")
    changed(lambda f: f.createVariable("more", "f4", ("time",)))
    refused(r"`more` is in 1 of 2 files, and not in `.*0.nc`$")
    changed(lambda f: f["x"].__setitem__(0, -1.0))
    refused(r"do not go together: `x`, which does not lie along `time`, differs")
    for i in range(2):
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "a") as file:
            file.createVariable("names", str, ("x",))[0] = f"station {i}"
            file["x"][0] = 0.0
    refused(r"do not go together: `names`, which does not lie along `time`, differs")
    with pytest.raises(ncforge.NotFoundError, match="no dimension `there`"):
        ncforge.references([tmp_path / "0.nc", tmp_path / "1.nc"], along="there")


def test_partial_chunks_are_named_where_values_are_too_many(tmp_path: Path) -> None:
    for i in range(3):
        with created(tmp_path / f"{i}.nc", time=None, x=1000) as new:
            new.createVariable("v", "f8", ("time", "x"), zlib=True, chunksizes=(300, 1000))[:] = np.ones((365, 1000))
    paths = [tmp_path / f"{i}.nc" for i in range(3)]
    with pytest.raises(ncforge.InvalidError, match=r"`v` in `.*0.nc`: its 365 steps do not fill chunks of 300"):
        ncforge.references(paths)


def test_files_are_in_the_order_of_their_coordinate(tmp_path: Path, run: Run) -> None:
    first, second, third = days(tmp_path, [4, 6, 1])
    out = tmp_path / "refs.json"
    for paths in ([second, first], [third, second], [first, third, second]):
        said = run("refs", *paths, "-o", out, "-O").stderr
        assert "the files are joined in the order of `time`, not as they are given" in said
        for inline in (0, "64K"):
            refs = ncforge.references(paths, inline=inline)
            equal(opened(refs)["v"][...], joined(sorted(paths), "v"), "v")
            refs = ncforge.references(paths, inline=inline, unsorted=True)
            equal(opened(refs)["v"][...], joined(paths, "v"), "v")
    out.unlink()
    said = run("refs", first, second, second, "-o", out, code=4).stderr
    assert f"`{second}` cannot follow `{second}`: there `time` ends at 9, here it begins at 4" in said
    assert "--unsorted" in said and not out.exists()
    with pytest.raises(ncforge.InvalidError, match="cannot follow"):
        ncforge.references([first, second, second], inline=0)
    refs = ncforge.references([first, second, second], unsorted=True)
    equal(opened(refs)["v"][...], joined([first, second, second], "v"), "v")
    run("refs", second, first, "-o", out, "--unsorted")
    for path in (first, second, third):
        with netCDF4.Dataset(path, "a") as file:
            file["time"][:] = -file["time"][:]
    ncforge.references([first, second, third])  # Falling values are in order, too.


def test_times_that_count_from_other_dates(tmp_path: Path) -> None:
    """Converted, as ``concat`` does; no range of bytes holds such values, so many of them are an error."""
    paths = days(tmp_path, [4, 6])
    with netCDF4.Dataset(paths[1], "a") as file:
        file["time"].units = "days since 2000-01-02"
        file["time"][:] = np.arange(3, 9)
    refs = ncforge.references(paths, inline=0)
    group = opened(refs)
    equal(group["time"][...], np.arange(10.0), "time")
    equal(group["v"][...], joined(paths, "v"), "v")
    assert isinstance(refs["refs"]["time/0"], str) and isinstance(refs["refs"]["v/0.0"], list)


def test_large_variables_without_the_dimension_are_not_compared(tmp_path: Path) -> None:
    paths = days(tmp_path, [4, 6])
    for i, path in enumerate(paths):
        with netCDF4.Dataset(path, "a") as file:
            file.createDimension("cell", 600_000)
            file.createVariable("area", "f8", ("cell",))[:] = np.full(600_000, i)
    with pytest.warns(UserWarning, match=r"`area` is taken from `.*0.nc`: values of more than 4.* are not compared"):
        refs = ncforge.references(paths)
    equal(opened(refs)["area"][...], np.zeros(600_000), "area")


@pytest.mark.parametrize("inline", [0, "64K"])
def test_a_selection_of_joined_files(tmp_path: Path, inline: Any) -> None:
    paths = days(tmp_path, [4, 6, 5])
    for select, cut in (
        ({"time": slice(2, 12)}, slice(2, 12)),
        ({"time": slice(1, None, 3)}, slice(1, None, 3)),
        ({"time": slice(5, 9)}, slice(5, 9)),
    ):
        group = opened(ncforge.references(paths, inline=inline, select=select))
        for name in ("v", "time"):
            equal(group[name][...], joined(paths, name)[cut], name)
    contiguous = days(tmp_path, [4, 6, 5], unlimited=False, how={"contiguous": True})
    refs = ncforge.references(contiguous, inline=inline, select={"time": slice(2, 12)})
    equal(opened(refs)["v"][...], joined(contiguous, "v")[2:12], "v")
    assert inline or isinstance(refs["refs"]["v/0.0"], list)


def test_attributes_that_differ_are_noted(tmp_path: Path, run: Run) -> None:
    """Names, signs and cells of values, and what the files say of themselves."""
    paths = days(tmp_path, [4, 6, 5])
    for path in paths:
        with netCDF4.Dataset(path, "a") as file:
            file.title = "one run"
            file["v"].standard_name = "air_temperature"
            file["plain"].positive = "up"
    with netCDF4.Dataset(paths[2], "a") as file:
        file.title = "another run"
        file["v"].standard_name = "sea_surface_temperature"
        file["v"].cell_methods = "time: mean"
        del file["plain"].positive
    out = tmp_path / "refs.json"
    said = run("refs", *paths, "-o", out).stderr
    report = ncforge.references(paths, out, overwrite=True)
    assert len(report.notes) == 4
    for what, is_, was in (
        ("global attribute `title`", '"one run"', '"another run"'),
        ("attribute `v:standard_name`", '"air_temperature"', '"sea_surface_temperature"'),
        ("attribute `v:cell_methods`", "none", '"time: mean"'),
        ("attribute `plain:positive`", '"up"', "none"),
    ):
        note = f"the {what} differs: {is_} in `{paths[0]}`, {was} in `{paths[2]}`; 1 of 3 files differs from the first"
        assert sum(one.startswith(note) for one in report.notes) == 1, report.notes
        assert f"note: {note}" in said
    assert json.loads(json.loads(out.read_text())["refs"]["v/.zattrs"])["standard_name"] == "air_temperature"
    # Without a report, Python says it at once; and the command, where the references are its output.
    with pytest.warns(UserWarning, match="`v:standard_name` differs"):
        ncforge.references(paths)
    assert run("refs", *paths, "-o", "-").stderr.count("differs from the first") == 4
    # Of what is not wanted nothing is said.
    assert len(ncforge.references(paths, out, overwrite=True, vars=["time", "v"]).notes) == 3
    assert not ncforge.references(paths[:2], out, overwrite=True).notes
