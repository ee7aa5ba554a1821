"""Classic and zipped files that ncforge changes in place; netCDF4 judges them (random sessions of both: `test_lives`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import created
from peers import CLASSIC, as_plain, open_netcdf4


@pytest.mark.parametrize("how", ["deleted", "shorter"])
@pytest.mark.parametrize("what", ["written", "written and synced", "not written"])
@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("suffix", [".nc", ".ncz"])
@pytest.mark.parametrize("file_format", CLASSIC)
def test_variable_in_place_of_an_attribute(
    tmp_path: Path, file_format: Any, suffix: str, record: bool, what: str, how: str
) -> None:
    path = tmp_path / f"f{suffix}"
    with open_netcdf4(path, "w", file_format) as theirs:
        theirs.createDimension("t", None)
        theirs.createDimension("x", 100)
        theirs.history = "x" * 300
    with ncforge.Dataset(path, "a") as ours:
        if how == "deleted":
            del ours.history
        else:
            ours.history = "short"
        v = ours.createVariable("v", "i2", ("t", "x") if record else ("x",))
        values = np.arange(1, 101, dtype="i2")
        key = 0 if record else slice(None)
        if what != "not written":
            v[key] = values
        if "synced" in what:
            ours.sync()
    with as_plain(path) as plain, open_netcdf4(plain) as theirs:
        if what != "not written":
            np.testing.assert_array_equal(theirs["v"][key], values)
        elif not record:
            np.testing.assert_array_equal(theirs["v"][:], np.full(100, netCDF4.default_fillvals["i2"]))


def classic(path: Path, value: int) -> None:
    with created(path, format="NETCDF3_CLASSIC", x=300) as theirs:
        theirs.createVariable("v", "i4", ("x",))[:] = value


def first_value_and_attributes(path: Path) -> tuple[int, list[str]]:
    with netCDF4.Dataset(path) as theirs:
        return int(theirs["v"][0]), theirs.ncattrs()


def test_the_process_changes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header outgrows its place, so the whole file is replaced; and a new file gets its name."""
    here, there = tmp_path / "here", tmp_path / "there"
    for value, folder in enumerate((here, there)):
        folder.mkdir()
        classic(folder / "run.nc", value)
    monkeypatch.chdir(here)
    changed, new = ncforge.Dataset("run.nc", "a"), ncforge.Dataset("new.nc", "w")
    new.createDimension("x", 3)
    new.createVariable("v", "i4", ("x",))[:] = 7
    monkeypatch.chdir(there)
    changed.title = "z" * 6000
    changed.close()
    new.close()
    assert first_value_and_attributes(here / "run.nc") == (0, ["title"])
    assert first_value_and_attributes(there / "run.nc") == (1, [])
    assert first_value_and_attributes(here / "new.nc") == (7, [])
    assert sorted(p.name for p in tmp_path.glob("*/*")) == ["new.nc", "run.nc", "run.nc"]


def test_another_file_that_took_the_name_is_not_replaced(tmp_path: Path) -> None:
    path, moved = tmp_path / "run.nc", tmp_path / "old.nc"
    classic(path, 1)
    classic(tmp_path / "other.nc", 7)
    ours = ncforge.Dataset(path, "a")
    path.rename(moved)
    (tmp_path / "other.nc").rename(path)
    ours.title = "z" * 6000
    with pytest.raises(ncforge.errors.ChangedError, match=r"run\.nc"):
        ours.close()
    assert first_value_and_attributes(path) == (7, [])
    assert first_value_and_attributes(moved) == (1, [])


@pytest.mark.parametrize("fmt", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_records_move_seldom(tmp_path: Path, fmt: Any) -> None:
    """Fixed variables lie before the records. For each that is added, all records were moved, to a new file."""
    path = tmp_path / "r.nc"
    with created(path, format=fmt, x=10, t=None) as ds:
        for i in range(6):
            ds.createVariable(f"v{i}", "f4", ("t", "x") if i % 2 else ("x",))[:] = np.full((3, 10) if i % 2 else 10, i)
    files = set()
    with ncforge.Dataset(path, "a") as ds:
        for i in range(20):
            ds.createVariable(f"n{i}", "f4", ("x",))[:] = i
            files.add(path.stat().st_ino)
        ds["v1"][5] = 7
    assert len(files) <= 4
    with netCDF4.Dataset(path) as ds:
        for i in range(20):
            assert (ds[f"n{i}"][:] == i).all()
        for i in range(6):
            assert (ds[f"v{i}"][:3] == i).all()
        assert (ds["v1"][5] == 7).all() and ds["v3"][3:].mask.all()


def test_the_room_for_variables_has_a_limit(tmp_path: Path) -> None:
    """A large variable that is added is not followed by as much that is empty."""
    path = tmp_path / "r.nc"
    with created(path, format="NETCDF3_64BIT_OFFSET", x=1_000_000, t=None) as ds:
        ds.createVariable("v", "f4", ("t",))[:] = np.arange(5)
    with ncforge.Dataset(path, "a") as ds:
        ds.createVariable("n", "f4", ("x",))[:] = 1
    assert path.stat().st_size < 4_000_000 + 30_000
    with netCDF4.Dataset(path) as ds:
        assert (ds["n"][:] == 1).all() and ds["v"][:].tolist() == [0, 1, 2, 3, 4]
