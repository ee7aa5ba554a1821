"""Files that look whole and are not, values that mean "missing", and outputs of other work: what hostile review found."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import netCDF4
import numpy as np

from conftest import Run
from datasets import created


def series(path: Path, value: float, format: str = "NETCDF4") -> Path:
    with created(path, format=format, x=4000) as file:
        for name in "ab":
            file.createVariable(name, "f4", ("x",))[:] = value
    return path


def test_classic_files_that_were_cut_are_not_copied(tmp_path: Path, run: Run) -> None:
    """The values behind the end would be zeros in a file that looks whole. Variables that are whole can be copied."""
    cut = series(tmp_path / "cut.nc", 1.5, "NETCDF3_CLASSIC")
    os.truncate(cut, cut.stat().st_size - 2000)
    error = run("copy", cut, tmp_path / "out.nc", "-4", "--verify", code=4).stderr
    assert "the file ends here, and the values of `b`" in error
    assert not (tmp_path / "out.nc").exists()
    assert "2000 bytes are missing at the end of the first file" in run("compare", cut, cut, code=3).stdout
    run("copy", cut, tmp_path / "out.nc", "--vars", "a")
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert (file["a"][:] == 1.5).all()


def test_missing_values_stay_missing_when_values_are_rounded(tmp_path: Path, run: Run) -> None:
    """Those of ``missing_value``, which need not be the fill value; and times and places keep their digits."""
    source, out = tmp_path / "a.nc", tmp_path / "out.nc"
    times = 26000 + np.arange(1000) / 24
    with created(source, obs=1000) as file:
        for name, missing in (("t", -999.9), ("u", 1e20)):
            values = np.linspace(270, 300, 1000).astype("f4")
            values[::10] = missing
            var = file.createVariable(name, "f4", ("obs",))
            var.missing_value = np.float32(missing)
            var[:] = values
        for name, attributes in (
            ("when", {"units": "days since 1950-01-01"}),
            ("lat", {"units": "degrees_north"}),
            ("node", {}),
        ):
            var = file.createVariable(name, "f8", ("obs",))
            var.setncatts(attributes)
            var[:] = times
        file.createVariable("mesh", "i4", ()).node_coordinates = "node"
    run("copy", source, out, "--keep-digits", "3", "--verify")
    with netCDF4.Dataset(source) as before, netCDF4.Dataset(out) as after:
        for name in "tu":
            np.testing.assert_array_equal(np.ma.getmaskarray(after[name][:]), np.ma.getmaskarray(before[name][:]))
            assert np.ma.getmaskarray(after[name][:]).sum() == 100
        for name in ("when", "lat", "node"):
            np.testing.assert_array_equal(after[name][:], times)


def test_resuming_does_not_trust_any_output_that_is_there(tmp_path: Path, run: Run) -> None:
    """Complete is what has the values of this source, stored as they are asked for."""
    one, two, out = series(tmp_path / "one.nc", 1), series(tmp_path / "two.nc", 2), tmp_path / "out.nc"
    os.utime(two, (1e9, 1e9))
    run("copy", one, out, "--no-history")
    made = out.stat().st_ino
    run("copy", one, out, "--no-history", "--resume", "--verify")
    assert out.stat().st_ino == made, "it was complete"
    run("copy", two, out, "--no-history", "--resume", code=2)
    with h5py.File(out, "r+") as file:
        file["b"][500] = 7
    run("copy", one, out, "--no-history", "--resume", "--verify", code=2)
    run("copy", two, out, "--no-history", "--resume", "-O")
    with netCDF4.Dataset(out) as file:
        assert (file["a"][:] == 2).all() and (file["b"][:] == 2).all()
    run("copy", two, out, "--no-history", "--resume", "-O", "--chunks", "x/1000", "--codec", "deflate")
    with netCDF4.Dataset(out) as file:
        assert file["a"].chunking() == [1000]


def test_what_cannot_be_read_is_not_the_same(tmp_path: Path, run: Run) -> None:
    """Long doubles, and lines of history that other programs wrote."""
    paths = [tmp_path / "a.h5", tmp_path / "b.h5"]
    for path, value in zip(paths, (1, 2), strict=True):
        with h5py.File(path, "w") as file:
            file["v"] = np.full(3, value, np.longdouble)
    assert "not compared: `/v`" in run("compare", *paths, code=3).stdout
    for path, model in zip(paths, "AB", strict=True):
        path.unlink()
        series(path, 1)
        with netCDF4.Dataset(path, "a") as file:
            file.history = f"2020-01-01T00:00:00Z: made by model {model}"
    assert "history" in run("compare", *paths, code=3).stdout


def steps(path: Path, times: list[float], group: str = "", **more: object) -> Path:
    with netCDF4.Dataset(path, "w") as file:
        into = file.createGroup(group) if group else file
        into.createDimension("time", None)
        into.createVariable("time", "f8", ("time",))[:] = times
        for name, value in more.items():
            into.createVariable(name, "i1", ("time",))[:] = 1
            into[name].flag_meanings = value
    return path


def test_references_are_not_made_to_what_means_something_else(tmp_path: Path, run: Run) -> None:
    """Files that differ in unwritten values or in flags, that were cut, or are in another order by a coordinate in a group."""
    out = tmp_path / "refs.json"
    a, b = tmp_path / "a.nc", tmp_path / "b.nc"
    run("refs", steps(a, [1, 2], "g"), steps(b, [2, 3], "g"), "-o", out, code=4)
    run("refs", steps(a, [1, 2], v="land sea"), steps(b, [3, 4], v="sea land"), "-o", out, code=4)
    for path, fill in ((a, 0), (b, 7)):
        path.unlink()
        with h5py.File(path, "w") as file:
            file["time"] = np.array([0.0, 1.0]) + fill
            file["time"].make_scale("time")
            file.create_dataset("u", (2, 2_000_000), "f4", fillvalue=fill, chunks=(2, 2_000_000)).dims[0].attach_scale(
                file["time"]
            )
    assert "never written" in run("refs", a, b, "-o", out, "--along", "time", code=2).stderr
    assert not out.exists()
    files = [tmp_path / f"{n}.nc" for n in (1, 2)]
    for n, path in enumerate(files):
        with created(path, format="NETCDF3_CLASSIC", t=None) as file:
            file.createVariable("t", "f8", ("t",))[:] = [2 * n, 2 * n + 1]
    os.truncate(files[1], files[1].stat().st_size - 4)
    assert "2.nc` is damaged: the file is 4 bytes shorter" in run("refs", *files, "-o", out, code=4).stderr


def test_a_dimension_twice_is_not_joined(tmp_path: Path, run: Run) -> None:
    paths = [steps(tmp_path / f"{n}.nc", [n, n + 0.5]) for n in (1, 2)]
    for path in paths:
        with netCDF4.Dataset(path, "a") as file:
            file.createVariable("cov", "f4", ("time", "time"))[:] = [[1, 2], [3, 4]]
    for words in (["refs", "-o", tmp_path / "refs.json"], ["concat", "-o", tmp_path / "all.nc"]):
        done = run(*words, *paths, code=1)
        assert "`cov`" in done.stderr and "twice" in done.stderr and "--vars" in done.stderr
        run(*words, *paths, "--vars", "time")
    assert "cov/" not in (tmp_path / "refs.json").read_text()


def test_attributes_that_netcdf_hides_are_not_written(tmp_path: Path, run: Run) -> None:
    """They would be in no listing, and not in the next copy."""
    for name in ("_ARRAY_DIMENSIONS", "_Format", "CLASS"):
        source = tmp_path / "a.nc"
        with netCDF4.Dataset(source, "w", format="NETCDF3_CLASSIC") as file:
            file.setncattr(name, "x")
        assert name in run("copy", source, tmp_path / "four.nc", "-4", "-O", "--no-history").stderr
        with h5py.File(tmp_path / "four.nc") as file:
            assert name not in file.attrs
        run("copy", source, tmp_path / "out.nc", "--format", "cdf5", "-O")


def test_a_copy_of_other_texts_is_not_complete(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out.nc"
    for n in (1, 2):
        with created(tmp_path / f"{n}.nc", x=3) as file:
            file.createVariable("s", str, ("x",))[:] = np.array([f"{n}", "b", "c"], dtype=object)
    run("copy", tmp_path / "2.nc", out, "--no-history", "--resume")
    run("copy", tmp_path / "2.nc", out, "--no-history", "--resume")
    run("copy", tmp_path / "1.nc", out, "--no-history", "--resume", code=2)


def test_what_cannot_be_read_is_no_obstacle_where_nobody_wants_it(tmp_path: Path, run: Run) -> None:
    paths = [tmp_path / f"{n}.h5" for n in range(2)]
    for n, path in enumerate(paths):
        with h5py.File(path, "w") as file:
            file["time"] = np.array([2.0 * n, 2.0 * n + 1])
            file["time"].make_scale("time")
            other = file.create_dataset("other", (2,), "f8", external=[(f"{path}.raw", 0, 16)])
            other[:] = 1
            other.dims[0].attach_scale(file["time"])
    for words in (["refs", "-o", tmp_path / "refs.json"], ["concat", "-o", tmp_path / "all.nc"]):
        done = run(*words, *paths, "--along", "time", code=1)
        assert "other" in done.stderr and "--vars" in done.stderr
        run(*words, *paths, "--along", "time", "--vars", "time")
