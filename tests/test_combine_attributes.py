"""``ncforge combine``: attributes in which tiles differ, and tiles that are not deleted because the output lacks something of them.

What happens to the tiles' files, and what is in the output, is judged by netCDF4.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import tiles as tl
from combining import CLASSIC, DEFLATED, combine, fms_whole, ocean, values
from commands import ncforge

RUN: dict[str, Any] = {"title": "first experiment", "experiment": np.int32(4)}

Change = Callable[[netCDF4.Dataset], None]


def _set(name: str, value: Any) -> Change:
    return lambda ds: ds.setncattr(name, value)


def _drop(name: str) -> Change:
    return lambda ds: ds.delncattr(name)


def _changed(path: Path, change: Change) -> None:
    with netCDF4.Dataset(path, "a") as ds:
        change(ds)


def _small(attrs: dict[str, Any]) -> tl.Whole:
    fields = {"t": tl.Field(("t",), np.arange(2.0)), "v": tl.Field(("t", "y", "x"), values((2, 12, 16)))}
    return tl.Whole(fields, attrs=attrs)


@pytest.mark.parametrize("storage", [CLASSIC, DEFLATED], ids=["cdf2", "deflated"])
@pytest.mark.parametrize(
    ("name", "change", "shown"),
    [
        ("title", _set("title", "second experiment"), '"second experiment"'),
        ("title", _drop("title"), "none"),
        ("experiment", _set("experiment", np.int32(5)), "5"),
        ("forcing", _set("forcing", "JRA-55"), '"JRA-55"'),
        ("creation_date", _set("creation_date", "today"), '"today"'),
    ],
)
def test_global_attributes_that_differ(
    tmp_path: Path, storage: tl.Storage, name: str, change: Change, shown: str
) -> None:
    """A note with both values and the number of tiles; ``--delete-tiles`` leaves these tiles alone."""
    mosaic = tl.nemo(tmp_path, _small(RUN), (2, 3), storage)
    for path in mosaic.paths[2:4]:
        _changed(path, change)
    plan = json.loads(combine(mosaic, tmp_path / "out.nc", "--dry-run", "--json").stdout)
    done = combine(mosaic, tmp_path / "out.nc", "--delete-tiles", "--json")
    report = json.loads(done.stdout)
    for notes in (plan["notes"], report["notes"]):
        [note] = [n for n in notes if f"the global attribute `{name}` differs" in n]
        assert f"{shown} in `{mosaic.paths[2]}`" in note
        assert "2 of 6 tiles differ" in note
    assert f"the global attribute `{name}` differs" in done.stderr
    assert report["tiles_removed"] == 4
    kept = {tile["path"]: tile["left_out"] for tile in report["tiles_kept"]}
    assert set(kept) == {str(path) for path in mosaic.paths[2:4]}
    assert all(f"`{name}`" in why for why in kept.values())
    assert [path.exists() for path in mosaic.paths] == [False, False, True, True, False, False]
    for path in mosaic.paths[2:4]:
        with netCDF4.Dataset(path) as ds:
            assert ds["v"].shape[0] == 2


def test_attributes_of_the_tile_and_of_its_file(tmp_path: Path) -> None:
    """Attributes of the tile or its file are neither noted nor keep a tile; XIOS's own numbers, too."""
    mosaic = tl.nemo(tmp_path, _small(RUN), (2, 2), DEFLATED)
    for i, path in enumerate(mosaic.paths):
        own: dict[str, Any] = {"history": f"made {i}", "timeStamp": f"0{i}:00", "uuid": f"id-{i}", "name": f"t_{i}"}
        own |= dict.fromkeys(("ibegin", "ni", "jbegin", "nj"), np.int32(i))
        for name, value in own.items():
            _changed(path, _set(name, value))
    report = json.loads(combine(mosaic, tmp_path / "out.nc", "--delete-tiles", "--json").stdout)
    assert report["notes"] == []
    assert report["tiles_removed"] == 4
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds.title == RUN["title"]
        assert "ibegin" not in ds.ncattrs()


def test_one_tile_of_another_run(tmp_path: Path) -> None:
    """One tile: the verb is in the singular."""
    mosaic = tl.nemo(tmp_path, _small(RUN), (2, 2), CLASSIC)
    _changed(mosaic.paths[3], _set("title", "other"))
    said = combine(mosaic, tmp_path / "out.nc").stderr
    assert '"first experiment" in `' in said
    assert "1 of 4 tiles differs from the first" in said


def test_attributes_of_groups_and_of_variables(tmp_path: Path) -> None:
    """Attributes of groups count, and those of variables that the first tile has not."""
    mosaic = tl.nemo(tmp_path, _small(RUN), (2, 2), DEFLATED)
    for i, path in enumerate(mosaic.paths):
        with netCDF4.Dataset(path, "a") as ds:
            ds.createGroup("run").setncattr("version", "4.2" if i != 1 else "4.0")
            ds["v"].long_name = "speed" if i != 2 else "rate"
            if i > 0:
                extra = ds.createVariable("extra", "f4", ("y", "x"))
                extra[:] = i
                extra.comment = "one" if i < 3 else "two"
    report = json.loads(combine(mosaic, tmp_path / "out.nc", "--delete-tiles", "--json").stdout)
    kept = {tile["path"]: tile["left_out"] for tile in report["tiles_kept"]}
    assert [path.exists() for path in mosaic.paths] == [False, True, True, True]
    assert "/run:version" in kept[str(mosaic.paths[1])]
    assert "v:long_name" in kept[str(mosaic.paths[2])]
    assert "extra:comment" in kept[str(mosaic.paths[3])]
    noted = "\n".join(report["notes"])
    assert '"speed" in' in noted and '"rate" in' in noted
    assert f'"one" in `{mosaic.paths[1]}`, "two" in `{mosaic.paths[3]}`' in noted
    with netCDF4.Dataset(tmp_path / "out.nc") as ds:
        assert ds["v"].long_name == "speed"
        assert ds["extra"].comment == "one"


def test_mppnccombine_keeps_tiles_that_differ(tmp_path: Path) -> None:
    """``-r`` removes only what the output has; ``filename`` is the tile's own."""
    whole = fms_whole()
    mosaic = tl.fms(tmp_path, whole, (2, 2), CLASSIC)
    for path in mosaic.paths:
        _changed(path, _set("filename", path.name))
    _changed(mosaic.paths[1], _set("comment", "only here"))
    done = ncforge("mppnccombine", "-r", tmp_path / "out.nc", *mosaic.paths)
    assert [path.exists() for path in mosaic.paths] == [False, True, False, False]
    assert "`comment`" in done.stderr
    tl.check(tmp_path / "out.nc", whole, mosaic)


def test_appended_tiles_of_another_run(tmp_path: Path) -> None:
    """``--append``: a note where tiles differ from OUT, which keeps its attributes, and no tile is removed that OUT lacks
    something of; other units are an error."""
    mosaic = tl.nemo(tmp_path, _small(RUN), (2, 2), DEFLATED)
    for path in mosaic.paths:
        with netCDF4.Dataset(path, "a") as ds:
            ds["v"].setncatts({"units": "m", "long_name": "height"})
    out = tmp_path / "out.nc"
    ncforge("combine", *mosaic.paths[:2], "-o", out, "--allow-missing")
    with netCDF4.Dataset(mosaic.paths[2], "a") as ds:
        ds.title = "other"
        ds["v"].long_name = "depth"
    done = ncforge("combine", mosaic.paths[2], mosaic.paths[3], "-o", out, "--append", "--delete-tiles", "--json")
    report = json.loads(done.stdout)
    noted = "\n".join(report["notes"])
    assert (
        f'the global attribute `title` differs: "first experiment" in `{out}`, "other" in `{mosaic.paths[2]}`' in noted
    )
    assert '"height" in' in noted and '"depth" in' in noted
    assert mosaic.paths[2].exists()
    with netCDF4.Dataset(out) as ds:
        assert ds.title == RUN["title"]
        assert ds["v"].long_name == "height"
    with netCDF4.Dataset(mosaic.paths[2], "a") as ds:
        ds["v"].units = "cm"
    assert "`v:units`" in ncforge("combine", mosaic.paths[2], "-o", out, "--append", code=4).stderr


def test_holes_after_appending(tmp_path: Path) -> None:
    """Places that OUT has are no holes; those that nobody has are."""
    whole = ocean(24, 32)
    mosaic = tl.nemo(tmp_path, whole, (2, 2), DEFLATED)
    out = tmp_path / "out.nc"
    ncforge("combine", *mosaic.paths[:2], "-o", out, "--allow-missing")
    plan = json.loads(
        ncforge("combine", mosaic.paths[2], mosaic.paths[2], "-o", out, "--append", "-n", "--json").stdout
    )
    [main] = [m for m in plan["mosaics"] if m["dims"] == ["y", "x"]]
    assert main["hole_points"] == 12 * 16
    assert main["holes"] == [[[12, 16], [12, 16]]]
    error = ncforge("combine", *[mosaic.paths[2]] * 2, "-o", out, "--append", "--holes", "error", code=4).stderr
    assert "192 points of (y, x) are in no tile, nor in the output that exists: 12..24 x 16..32" in error
    done = ncforge("combine", *mosaic.paths[2:], "-o", out, "--append", "--holes", "error")
    assert "in no tile" not in done.stderr
    tl.check(out, whole, mosaic)
