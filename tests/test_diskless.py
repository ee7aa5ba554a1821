"""Diskless datasets, files in memory, and the folders that paths begin in, as with netCDF4-python."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from datasets import FORMATS, created


def small(path: Path) -> None:
    """A file of two values."""
    with created(path, x=2) as nc:
        nc.createVariable("v", "i4", ("x",))[:] = [1, 2]


def test_files_in_memory(tmp_path: Path) -> None:
    for fmt in FORMATS:
        ds = ncforge.Dataset("in memory", "w", format=fmt, memory=1024)
        ds.createDimension("x", 3)
        ds.createVariable("v", "f4", ("x",))[:] = [1, 2, 3]
        data = ds.close()
        assert data is not None
        with netCDF4.Dataset("m", memory=bytes(data)) as nc:
            assert nc["v"][:].tolist() == [1, 2, 3]
        with ncforge.Dataset("m", memory=data) as again:
            assert again["v"][::-1].tolist() == [3, 2, 1]
    path = tmp_path / "kept.nc"
    with ncforge.Dataset(path, "w", diskless=True, persist=True) as ds:
        ds.createDimension("x", 3)
        assert not path.exists()
    assert list(netCDF4.Dataset(path).dimensions) == ["x"]
    kept = path.read_bytes()
    with pytest.raises(FileExistsError):
        ncforge.Dataset(path, "w", clobber=False, diskless=True, persist=True)
    with ncforge.Dataset(path, "w", clobber=False, diskless=True) as ds:
        ds.createDimension("other", 1)
    assert path.read_bytes() == kept, "it was in memory only"
    # One without references is on disk, too, and no other file.
    ds = ncforge.Dataset(path, "w", diskless=True, persist=True)
    ds.createDimension("y", 4)
    del ds
    assert list(netCDF4.Dataset(path).dimensions) == ["y"]
    assert [p.name for p in tmp_path.iterdir()] == ["kept.nc"]


@pytest.mark.parametrize(
    ("mode", "memory", "kind"),
    [
        ("r", 5, TypeError),
        ("r", "abc", TypeError),
        ("w", b"abc", TypeError),
        ("w", -1, OverflowError),
        ("x", 1024, ValueError),
    ],
)
def test_memory_that_is_none(tmp_path: Path, mode: str, memory: Any, kind: type[Exception]) -> None:
    path = tmp_path / "v.nc"
    if mode == "r":
        small(path)
    for module in (netCDF4, ncforge):
        with pytest.raises(kind):
            module.Dataset(path, mode, memory=memory)
    assert path.exists() == (mode == "r")


def test_a_process_whose_folder_is_gone_opens_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, gone = tmp_path / "a.nc", tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with created(path, ncforge, x=3) as ds:
        ds.createVariable("v", "i4", ("x",))[:] = 7
    with ncforge.Dataset(path) as ds:
        assert ds["v"][:].tolist() == [7, 7, 7]


@pytest.mark.parametrize("given", [np.int64(10), True, 0, 1.5])
def test_memory_of_a_new_file_is_a_number(tmp_path: Path, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``close`` returns the file, which is nowhere else."""
    monkeypatch.chdir(tmp_path)
    for module in (netCDF4, ncforge):
        ds = module.Dataset("a.nc", "w", memory=given, diskless=True, persist=True)
        ds.createDimension("x", 3)
        data = ds.close()
        array: Any = np.frombuffer(data, "u1")
        assert list(ncforge.Dataset("a.nc", memory=array).dimensions) == ["x"]
        assert not list(tmp_path.iterdir())


def test_a_dataset_means_the_file_that_its_path_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in another folder, and where ``..`` does not lead to the folder that is named before it."""
    for name in ("real/in", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other" / "a.nc").write_bytes(b"precious")
    (tmp_path / "link").symlink_to("real/in")
    for module in (netCDF4, ncforge):
        monkeypatch.chdir(tmp_path)
        ds = module.Dataset("link/../a.nc", "w", diskless=True, persist=True)
        ds.createDimension("x", 3)
        monkeypatch.chdir(tmp_path / "other")
        ds.close()
        assert list(netCDF4.Dataset(tmp_path / "real" / "a.nc").dimensions) == ["x"]
        (tmp_path / "real" / "a.nc").unlink()
    assert (tmp_path / "other" / "a.nc").read_bytes() == b"precious"
    assert not (tmp_path / "a.nc").exists()
    # One that is read, too, if it is sent elsewhere or printed.
    small(tmp_path / "real" / "a.nc")
    monkeypatch.chdir(tmp_path)
    opened = [
        ncforge.Dataset("link/../a.nc"),
        ncforge.MFDataset(["link/../a.nc"], aggdim="x"),
        ncforge.open_many(["link/../a.nc"], "x"),
    ]
    monkeypatch.chdir(tmp_path / "other")
    for ds in opened:
        assert pickle.loads(pickle.dumps(ds))["v"][:].tolist() == [1, 2]
    ds = opened[0]
    assert "int v(" in (ds.tocdl() or "")
    assert ds.filepath() == "link/../a.nc"


@pytest.mark.parametrize("mode", ["r+", "a", "as"])
def test_memory_is_no_way_to_a_file_on_disk(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "v.nc"
    small(path)
    kept = path.read_bytes()
    for persist in (False, True):
        with pytest.raises(OSError, match="copy the file"):
            ncforge.Dataset(path, mode, diskless=True, persist=persist)
    for memory in (kept, bytearray(kept), 1024):
        for module in (netCDF4, ncforge) if mode != "as" else (ncforge,):
            with pytest.raises(ValueError, match="'r' or 'w'"):
                module.Dataset(path, mode, memory=memory)
    assert path.read_bytes() == kept
    if mode != "r+":
        for module in (netCDF4, ncforge):
            with module.Dataset(tmp_path / "new.nc", mode, diskless=True) as ds:
                ds.createDimension("x", 2)
            assert not (tmp_path / "new.nc").exists()
