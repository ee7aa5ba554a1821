"""Writing to a file that is read from, names beyond ASCII, ragged rows, szip, and files whose times were set back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dask
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
import ncforge.xarray
from commands import execute
from datasets import created

#: Letters followed by accents (Unicode's form D), as file systems of macOS and many texts have them.
DECOMPOSED = {"tempe\u0301rature": "température", "cre\u0301e\u0301": "créé", "longitude\u0304": "longitudē"}


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_64BIT"])
@pytest.mark.parametrize("options", [{"mode": "a"}, {"region": {"t": slice(0, 40)}}])
@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_a_file_is_not_computed_from_itself(
    tmp_path: Path, format: Any, options: dict[str, Any], inline: bool, several: bool
) -> None:
    """The first blocks were written, then a block could not be read any more: the variable was half new, half old."""
    path = tmp_path / "v.nc"
    values = np.random.default_rng(0).normal(size=(40, 50, 20)).astype("f4")
    xr.Dataset({"v": (("t", "y", "x"), values)}, {"t": range(40)}).to_netcdf(path, format=format, engine="netcdf4")
    if several:
        with ncforge.open_mfdataset([path], chunks={"t": 4}, combine="nested", concat_dim="t") as ds:
            new = (ds[["v"]] * 2).drop_vars("t")
    else:
        with xr.open_dataset(path, engine="ncforge", chunks={"t": 4}, inline_array=inline) as ds:
            new = (ds[["v"]] * 2).roll(t=3).drop_vars("t")
    how = {"format": format} if "mode" in options else {}
    with pytest.raises(
        ValueError, match=r"`v` would be computed from `.*v\.nc` while this file is written: call `\.load\(\)`"
    ):
        ncforge.to_netcdf(new, path, **options, **how)
    with pytest.raises(ValueError, match="would be computed from"):
        ncforge.to_netcdf(dask.optimize(new)[0], path, **options, **how)
    if "mode" in options:
        ncforge.xarray.register_writer()
        with pytest.raises(ValueError, match="would be computed from"):
            new.assign_attrs(title="x").to_netcdf(path, engine="ncforge", mode="a", format=format)  # type: ignore[call-overload]
    with netCDF4.Dataset(path) as nc:
        np.testing.assert_array_equal(nc["v"][:], values)
        assert not nc.ncattrs()
    loaded = new.compute()
    ncforge.to_netcdf(loaded, path, **options, **how)
    with netCDF4.Dataset(path) as nc:
        np.testing.assert_array_equal(nc["v"][:], loaded.v)


def test_what_is_only_compared_may_come_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "v.nc"
    first = xr.Dataset(
        {"v": (("t", "y", "x"), np.zeros((2, 3, 4)))}, {"t": [0, 1], "lat": (("y", "x"), np.ones((3, 4)))}
    )
    first.to_netcdf(path, engine="netcdf4", unlimited_dims=["t"])
    with xr.open_dataset(path, engine="ncforge", chunks={}) as ds:
        new = ds.isel(t=[0]).assign(v=lambda d: (d.v.dims, np.full((1, 3, 4), 7.0))).assign_coords(t=[2])
        ncforge.to_netcdf(new, path, append_dim="t")
    with netCDF4.Dataset(path) as nc:
        assert nc["v"][:, 0, 0].tolist() == [0, 0, 7]


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_names_are_stored_in_the_form_that_netcdf_looks_for(tmp_path: Path, format: Any) -> None:
    """netCDF-C finds nothing under another form: ncdump, NCO and CDO failed on the file."""
    (name, _), (attribute, _), (dim, _) = DECOMPOSED.items()
    data = xr.Dataset({name: (dim, [1.0, 2.0], {attribute: "hier"})}, {dim: [3, 4]}, {attribute: "aujourd'hui"})
    ncforge.to_netcdf(data, tmp_path / "x.nc", format=format)
    with ncforge.Dataset(tmp_path / "d.nc", "w", format=format) as ds:
        ds.createDimension(dim, 2)
        v = ds.createVariable(name, "f8", (dim,))
        v[:] = [1, 2]
        ds.createVariable(dim, "i4", (dim,))[:] = [3, 4]
        for owner, text in ((ds, "aujourd'hui"), (v, "gestern")):
            owner.setncattr(attribute, text)
            assert owner.getncattr(attribute) == text
        v.setncattr(attribute, "hier")
        assert ds[name].name == DECOMPOSED[name] and ds[name].dimensions == (DECOMPOSED[dim],)
        ds.setncattr("e\u0301", 1)
        ds.delncattr("e\u0301")
        ds.setncattr("a", 1)
        ds.renameAttribute("a", "o\u0308")
        ds.delncattr("ö")
        if format == "NETCDF4":
            made = ds.createGroup(f"/ge\u0301/{dim}")
            assert made.path == f"/gé/{DECOMPOSED[dim]}"
            assert ds.createGroup(f"ge\u0301/{dim}").path == ds[f"ge\u0301/{dim}"].path == made.path
        with pytest.raises(ValueError, match="already"):
            ds.createVariable(DECOMPOSED[name], "f8", (dim,))
    for path in (tmp_path / "x.nc", tmp_path / "d.nc"):
        execute("ncdump", path)
        with netCDF4.Dataset(path) as nc:
            assert list(nc.dimensions) == [DECOMPOSED[dim]]
            assert set(nc.variables) == {DECOMPOSED[name], DECOMPOSED[dim]}
            assert nc[DECOMPOSED[name]].getncattr(DECOMPOSED[attribute]) == "hier"
            assert nc.getncattr(DECOMPOSED[attribute]) == "aujourd'hui" and len(nc.ncattrs()) == 1
            assert nc[DECOMPOSED[name]][:].tolist() == [1, 2]


def test_ragged_rows_can_be_opened(tmp_path: Path) -> None:
    """xarray looks at the first row, and failed unless it had one value."""
    with created(tmp_path / "r.nc", n=3) as nc:
        rows = nc.createVariable("rows", nc.createVLType("i4", "r"), ("n",))
        for i in range(3):
            rows[i] = np.arange(i + 2, dtype="i4")
        nc.createVariable("sst", "f4", ("n",))[:] = [1, 2, 3]
    opened = [xr.open_dataset(tmp_path / "r.nc", engine=engine) for engine in ("netcdf4", "ncforge")]  # type: ignore[arg-type]
    assert opened[0].rows.dtype == opened[1].rows.dtype
    for want, got in zip(opened[0].rows.values, opened[1].rows.values, strict=True):
        np.testing.assert_array_equal(got, want)
    assert opened[1].sst.values.tolist() == [1, 2, 3]


def test_values_from_a_file_with_szip_are_written(tmp_path: Path) -> None:
    with created(tmp_path / "s.nc", n=1000) as nc:
        nc.createVariable("v", "i4", ("n",), compression="szip")[:] = range(1000)
    with (
        xr.open_dataset(tmp_path / "s.nc", engine="ncforge") as ds,
        pytest.warns(UserWarning, match="szip is read and not"),
    ):
        ncforge.to_netcdf(ds, tmp_path / "out.nc")
    with netCDF4.Dataset(tmp_path / "out.nc") as nc:
        assert nc["v"].filters()["zlib"] and nc["v"][:].tolist() == list(range(1000))


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_a_time_of_change_that_was_set_back(tmp_path: Path, format: Any) -> None:
    """A file that is opened anew has its values of now, whichever are in memory for an earlier dataset."""
    path, opened = tmp_path / "v.nc", []
    with created(path, format=format, x=100) as nc:
        nc.createVariable("v", "f4", ("x",))[:] = 0
    for i in range(1, 40):
        with netCDF4.Dataset(path, "a") as nc:
            nc["v"][:] = i
        os.utime(path, ns=(10**18, 10**18))
        opened.append(xr.open_dataset(path, engine="ncforge"))
        assert opened[-1].v.values[0] == i


def test_identical_files_are_asked_for(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.nc" for i in range(3)]
    for i, path in enumerate(paths):
        made = xr.Dataset({"v": ("t", [float(i)])}, {"t": [i]}, {"run": "b" if i == 1 else "a"})
        made.to_netcdf(path, engine="netcdf4")
    ways: list[dict[str, Any]] = [{"combine": "nested", "concat_dim": "t"}, {}]
    for how in ways:
        with pytest.raises(ValueError, match="attributes not equal"):
            ncforge.open_mfdataset(paths, compat="identical", **how)


def stored(path: Path) -> tuple[list[str], str]:
    """The strings of `v` as they are stored, and its fill value."""
    with netCDF4.Dataset(path) as nc:
        nc["v"].set_auto_mask(False)
        return nc["v"][:].tolist(), nc["v"].getncattr("_FillValue")


@pytest.mark.parametrize("chunks", [None, {"x": 2}])
@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_strings_are_written_as_the_fill_value(tmp_path: Path, chunks: Any, missing: Any) -> None:
    """They became empty text: a value that is not missing."""
    given = xr.Dataset({"v": ("x", np.array(["bé", missing, "q"], object))})
    encoding = {"v": {"_FillValue": "-"}}
    given.to_netcdf(tmp_path / "in.nc", engine="netcdf4", encoding=encoding, unlimited_dims=["x"])
    with xr.open_dataset(tmp_path / "in.nc", engine="netcdf4") as ds:
        read = ds.load()
    assert np.dtype(read.v.encoding["dtype"]).kind == "U"
    if chunks:
        read = read.chunk(chunks)
    read.to_netcdf(tmp_path / "xarray.nc", engine="netcdf4")
    ncforge.to_netcdf(read, tmp_path / "new.nc")
    ncforge.to_netcdf(read, tmp_path / "in.nc", append_dim="x")
    assert stored(tmp_path / "new.nc") == stored(tmp_path / "xarray.nc") == (["bé", "-", "q"], "-")
    assert stored(tmp_path / "in.nc") == (["bé", "-", "q"] * 2, "-")


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("values", "encoding", "expected"),
    [
        (np.array(["bé", np.nan, "long"], object), {}, ["bé", "", "long"]),
        (np.array(["bé", None, "long"], object), {"missing_value": "-"}, ["bé", "-", "long"]),
        (np.array([b"ab", np.nan, b"long"], object), {"_FillValue": "absent"}, ["ab", "absent", "long"]),
        (np.array([1.5, np.nan, 1 / 3]), {"_FillValue": "-"}, ["1.5", "-", "0.3333333333333333"]),
        (np.array([1.5, np.nan, 2]), {}, ["1.5", "nan", "2.0"]),
        (np.array([], object), {"_FillValue": "-"}, []),
    ],
)
def test_text_of_a_fixed_length_is_not_cut(
    tmp_path: Path, values: Any, encoding: dict[str, Any], expected: list[str], lazy: bool
) -> None:
    new = xr.Dataset({"v": ("x", values)})
    if lazy:
        new = new.chunk(x=2)
    new.v.encoding.update({"dtype": np.dtype("U2"), **encoding})
    ncforge.to_netcdf(new, tmp_path / "new.nc")
    with netCDF4.Dataset(tmp_path / "new.nc") as nc:
        nc["v"].set_auto_mask(False)
        assert nc["v"].dtype is str
        assert nc["v"][:].tolist() == expected
        assert {key: nc["v"].getncattr(key) for key in nc["v"].ncattrs()} == encoding


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("units", ["seconds", "days since 2000-01-01"])
def test_missing_times_that_were_not_decoded(tmp_path: Path, units: str, lazy: bool) -> None:
    """xarray reads them as the number of NaT, and stores them as the fill value; in other units, the number is one that does not fit."""
    path = tmp_path / "in.nc"
    with created(path, t=None) as nc:
        nc.createVariable("lag", "i2", ("t",), fill_value=-32768).units = units
        nc["lag"][:] = np.ma.array([1, 2, 3], mask=[False, True, False])
    # Durations are not decoded unless that is asked for. Times that are not have the same marks.
    with xr.open_dataset(path, engine="ncforge") as found:
        ds = found.load() if "since" not in units else found.load().drop_vars("lag")
    if "since" in units:
        marked = np.array([1, np.iinfo("i8").min, 3])
        ds["lag"] = ("t", marked, {"units": units}, {"dtype": "int16", "_FillValue": np.int16(-32768)})
    assert ds["lag"].dtype == np.int64
    out = tmp_path / "out.nc"
    written = ds.chunk(t=2) if lazy else ds
    ncforge.to_netcdf(written, out, unlimited_dims=["t"])
    ncforge.to_netcdf(written, out, append_dim="t")
    with netCDF4.Dataset(out) as nc:
        assert nc["lag"][:].tolist() == [1, None, 3] * 2
    ds["lag"].attrs["units"] = "m"
    with pytest.raises(ncforge.InvalidError, match="does not fit int16"):
        ncforge.to_netcdf(ds.chunk(t=2) if lazy else ds, tmp_path / "odd.nc")
