"""CDL from and to Python, compared with netCDF4-python's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from conftest import DATA
from datasets import FORMATS, created

needs_tools = pytest.mark.skipif(shutil.which("ncgen") is None, reason="netCDF's tools are not installed")


@needs_tools
@pytest.mark.parametrize("name", sorted(p.name for p in DATA.glob("*.nc"))[:6])
def test_text_is_netcdf4_pythons(name: str) -> None:
    with ncforge.Dataset(DATA / name) as ours, netCDF4.Dataset(DATA / name) as theirs:
        assert ours.tocdl() == theirs.tocdl()
        assert ours.tocdl(data=True) == theirs.tocdl(data=True)
        assert ours.tocdl(coordvars=True, data=True) == ours.tocdl(data=True)
        coordinates = execute("ncdump", "-cs", DATA / name).stdout
        assert ours.tocdl(coordvars=True) == coordinates


@needs_tools
@pytest.mark.parametrize("format", FORMATS)
def test_there_and_back(tmp_path: Path, format: str) -> None:
    path, text = tmp_path / "a.nc", tmp_path / "b.cdl"
    with created(path, ncforge, format=format, x=3) as ds:
        v = ds.createVariable("v", "i2", "x")
        v[:] = [1, 2, 3]
        assert not path.exists()
        assert "short v(x)" in (ds.tocdl() or "")
        assert path.exists(), "it is synced, and so has its name"
    with ncforge.Dataset(path, "r+") as ds:
        ds["v"][1] = 7
        assert ds.tocdl(data=True, outfile=text) is None
    reported = text.read_text()
    assert "_Format" in reported
    if format == "NETCDF3_64BIT_DATA":  # ncgen of netCDF-C 4.9 fails on its own attributes in CDF-5
        text.write_text("".join(line for line in reported.splitlines(keepends=True) if ":_" not in line))
    with ncforge.Dataset.fromcdl(text, format=format) as made:
        assert made.filepath() == str(tmp_path / "b.nc") and made.data_model == format
        assert made["v"][:].tolist() == [1, 7, 3]
        made["v"][0] = 5
    with ncforge.Dataset.fromcdl(str(text), str(tmp_path / "c.nc"), mode="r", format=format) as made:
        assert made["v"][0] == 1
        np.testing.assert_array_equal(netCDF4.Dataset(tmp_path / "b.nc")["v"][:], [5, 7, 3])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "b.cdl", "b.nc", "c.nc"]


@needs_tools
def test_what_goes_wrong_leaves_nothing(tmp_path: Path) -> None:
    text = tmp_path / "bad.cdl"
    with pytest.raises(FileNotFoundError):
        ncforge.Dataset.fromcdl(text)
    text.write_text("netcdf bad { dimensions: x = ")
    with pytest.raises(OSError, match="ncgen"):
        ncforge.Dataset.fromcdl(text)
    with pytest.raises(ValueError, match="format is one of"):
        ncforge.Dataset.fromcdl(text, format="ZARR")
    (tmp_path / "there.nc").write_text("kept")
    with pytest.raises(FileExistsError):
        ncforge.Dataset.fromcdl(text, tmp_path / "there.nc")
    assert (tmp_path / "there.nc").read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.cdl", "there.nc"]


def test_says_which_tool_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    text = tmp_path / "a.cdl"
    text.write_text("netcdf a { }")
    with pytest.raises(NotImplementedError, match="`ncgen` is not installed"):
        ncforge.Dataset.fromcdl(text)
    with ncforge.Dataset(DATA / "uv300.nc") as ds:
        assert "variables:" in (ds.tocdl() or "")
        with pytest.raises(OSError, match="`ncdump` is not installed"):
            ds.tocdl(data=True)


def test_memory_has_no_file() -> None:
    with (
        ncforge.Dataset("m", memory=(DATA / "uv300.nc").read_bytes()) as ds,
        pytest.raises(OSError, match="not one file on disk"),
    ):
        ds.tocdl()


def test_a_file_in_a_store_is_not_the_one_of_that_name_here(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (DATA / "uv300.nc").read_bytes()

    class Store:
        def head(self, path: str) -> dict[str, Any]:
            return {"size": len(data)}

        def get_ranges(self, path: str, starts: list[int], ends: list[int]) -> list[bytes]:
            return [data[start:end] for start, end in zip(starts, ends, strict=True)]

    monkeypatch.chdir(DATA)
    with ncforge.Dataset("navy_winds.nc", store=Store()) as ds, pytest.raises(OSError, match="not one file on disk"):
        ds.tocdl()
