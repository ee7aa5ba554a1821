"""Errors and warnings of the Python package: each says a thing once, about the line of the program."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncforge
import ncforge.dataset
from ncforge.errors import LockedError

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")


def write(path: Path, value: float = 1.0) -> Path:
    with ncforge.Dataset(path, "w") as ds:
        ds.createDimension("x", 3)
        ds.createVariable("v", "f8", ("x",))[:] = value
    return path


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: ncforge.to_netcdf(xr.Dataset(), "no.nc", codek="zlib"), "to_netcdf.*'codek'.*`codec`"),  # type: ignore[call-arg]
        (lambda: xr.Dataset().ncforge.to_netcdf("no.nc", formt="x"), "'formt'.*`format`"),
        (lambda: ncforge.open_mfdataset("no*.nc", combin="nested"), "'combin'.*`combine`"),
        (lambda: ncforge.open_mfdataset("no*.nc", decode_time=False), "'decode_time'.*`decode_times`"),
        (lambda: ncforge.open_mfdataset("no*.nc", prefered_chunks="auto"), "`preferred_chunks`"),
        (lambda: ncforge.Dataset("no.nc", mod="w"), "Dataset.*'mod'.*`mode`"),  # type: ignore[call-arg]
    ],
)
def test_a_misspelt_argument_gets_the_nearest_name(call: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=hint):
        call()
    assert not Path("no.nc").exists()


def test_options_of_open_dataset_are_passed_on(tmp_path: Path) -> None:
    path = write(tmp_path / "a.nc")
    assert ncforge.open_mfdataset([path], decode_times=False, drop_variables=["v"], mask_and_scale=False).sizes == {}


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "none.nc"
    for call in (lambda: ncforge.Dataset(path), lambda: xr.open_dataset(path, engine="ncforge")):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert str(caught.value) == f"[Errno 2] cannot open `{path}`: No such file or directory"
        assert caught.value.errno == 2 and caught.value.filename == str(path)
    with ncforge.Dataset(write(path), "a"), pytest.raises(LockedError) as locked:
        ncforge.Dataset(path, "a")
    assert str(locked.value).count(str(path)) == 1


def test_a_dataset_that_outlives_the_modules(tmp_path: Path, monkeypatch: Any) -> None:
    ds = ncforge.Dataset(write(tmp_path / "a.nc"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with monkeypatch.context() as at_exit:
            # Python does this to modules when it ends.
            at_exit.setattr(ncforge.dataset, "os", None)
            ds.__del__()
    assert ds["v"][0] == 1
    ds.close()


def test_warnings_of_xarray_are_about_the_line_of_the_program(tmp_path: Path) -> None:
    paths = []
    for i in range(2):
        paths.append(tmp_path / f"{i}.nc")
        # With variables that are not alike, so that xarray opens the files.
        part = {"v": (("t", "x"), np.zeros((1, 3))), f"w{i}": ("x", np.arange(3.0) + i), "u": ("x", np.arange(3.0))}
        xr.Dataset(part, {"t": [i], "x": np.arange(3)}).to_netcdf(paths[-1], engine="netcdf4")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ncforge.open_mfdataset(paths)
    of = {w.filename for w in caught if issubclass(w.category, FutureWarning)}
    assert of == {__file__}


def test_appending_says_which_dimension_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    day = xr.Dataset({"v": (("time", "x"), np.zeros((1, 2)))}, {"time": [0.0]})
    ncforge.to_netcdf(day, path)
    with pytest.raises(ValueError, match=r"unlimited_dims=\['time'\], or also the first part with append_dim"):
        ncforge.to_netcdf(day, path, append_dim="time")
    with pytest.raises(ValueError, match=r"no dimension 'tme'.*`time`"):
        ncforge.to_netcdf(day.rename(time="tme"), path, append_dim="tme")


def test_appending_to_a_group_whose_dimension_lies_above(tmp_path: Path) -> None:
    """What else is along that dimension would get missing values, which nobody asked for."""
    path = tmp_path / "g.nc"
    with ncforge.Dataset(path, "w") as ds:
        ds.createDimension("t", None)
        ds.createGroup("a").createVariable("v", "f4", ("t",))[:] = [1, 2]
    new = xr.Dataset({"v": ("t", [3.0, 4.0])})
    ncforge.to_netcdf(new, path, group="a", append_dim="t")
    with ncforge.Dataset(path, "a") as ds:
        assert ds["a/v"][:].tolist() == [1, 2, 3, 4]
        ds.createVariable("r", "f4", ("t",))[:] = [5, 6, 7, 8]
    with pytest.raises(ValueError, match=r"'/r' of other groups would grow along 't', too"):
        ncforge.to_netcdf(new, path, group="a", append_dim="t")
    with pytest.raises(ValueError, match=r"'/a/v' of other groups would grow"):
        ncforge.to_netcdf(new.rename(v="r"), path, append_dim="t")
    with pytest.raises(ValueError, match="'t' has the step 2"):
        ncforge.to_netcdf(new, path, group="a", region={"t": slice(0, 4, 2)})
    with ncforge.Dataset(path) as ds:
        assert (ds["r"][:].tolist(), ds["a/v"][:].tolist()) == ([5, 6, 7, 8], [1, 2, 3, 4])


def test_numbers_that_do_not_fit_are_said_with_their_variable(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    xr.Dataset({"few": ((), np.int8(3))}).to_netcdf(path)
    with pytest.raises(ValueError, match="`few`: nan does not fit int8"):
        ncforge.to_netcdf(xr.Dataset({"few": ((), np.float64("nan"))}), path, mode="a")
