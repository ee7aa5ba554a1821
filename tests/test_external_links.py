"""External links of HDF5: h5py makes them, netCDF4 and h5py say what they lead to; ncforge reads the same."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import ncforge
from commands import execute
from conftest import Measured


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A netCDF-4 file with groups, dimensions, types."""
    path = tmp_path / "target.nc"
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("time", None)
        d.createDimension("x", 3)
        d.createVariable("time", "f8", ("time",))[:] = [1, 2]
        v = d.createVariable("v", "i4", ("time", "x"), zlib=True, fill_value=-1)
        v[:] = np.arange(6).reshape(2, 3)
        v.units = "K"
        d.title = "target"
        g = d.createGroup("g")
        g.createDimension("y", 2)
        g.createVariable("w", np.dtype(">f4"), ("y",), endian="big")[:] = [1, 2]
        g.createVariable("w2", "f4", ("y", "x"))[:] = 1
        row = g.createVLType("i4", "row")
        r = g.createVariable("r", row, ("y",))
        r[0], r[1] = np.array([1, 2], "i4"), np.array([3], "i4")
        g.createVariable("s", str, ("y",))[:] = np.array(["a", "bc"], object)
        below = g.createGroup("below")
        below.createVariable("deep", "i2", ("y",))[:] = [5, 6]
    return path


def linked(path: Path, **links: tuple[str, str]) -> Path:
    """A file with a variable of its own, and links to files and paths."""
    with h5py.File(path, "w", track_order=True) as h:
        h["own"] = np.arange(2, dtype="i4")
        for name, (file, at) in links.items():
            h[name] = h5py.ExternalLink(file, at)
    return path


def contents(group: Any) -> dict[str, Any]:
    """The variables and attributes of a group of either library, and of those below."""
    found: dict[str, Any] = {"": {name: str(group.getncattr(name)) for name in group.ncattrs()}}
    for name, v in group.variables.items():
        values = v[...]
        values = [row.tolist() for row in values] if values.dtype == object and v.dtype != str else values.tolist()
        attrs = {a: str(v.getncattr(a)) for a in v.ncattrs()}
        # netCDF-C counts the dimensions without names in another order.
        dims = [d if not d.startswith("phony") else len(group.dimensions[d]) for d in v.dimensions]
        found[name] = (dims, values, attrs)
    for name, below in group.groups.items():
        found[name + "/"] = contents(below)
    return found


@pytest.mark.parametrize(
    "link", [("target.nc", "/"), ("target.nc", "/time"), ("target.nc", "time"), ("./target.nc", "/")]
)
def test_links_read_as_with_netcdf4(tmp_path: Path, target: Path, link: tuple[str, str]) -> None:
    path = linked(tmp_path / "a.h5", link=link)
    with netCDF4.Dataset(path) as want, ncforge.Dataset(path) as got:
        assert contents(got) == contents(want)


def test_parts_of_files(tmp_path: Path, target: Path, run: Any) -> None:
    """Links to a variable and to a group whose dimensions are elsewhere: netCDF-C does not open them, h5py does."""
    path = linked(tmp_path / "a.h5", v=("target.nc", "/v"), g=("target.nc", "/g"), deep=("target.nc", "/g/below/deep"))
    with h5py.File(path) as want, ncforge.Dataset(path) as got:
        got.set_auto_maskandscale(False)
        for name in ("v", "g/w", "g/w2", "g/below/deep", "deep"):
            np.testing.assert_array_equal(got[name][...], want[name][...], err_msg=name)
            np.testing.assert_array_equal(got[name][-1:], want[name][-1:], err_msg=name)
        assert [row.tolist() for row in got["g/r"][:]] == [[1, 2], [3]]
        assert list(got["g/s"][:]) == ["a", "bc"]
        assert (got["v"].units, got["v"].dimensions) == ("K", ("time", "x"))
        assert got["g/w"].dimensions == ("y",)
        assert got.groups["g"].vltypes["row"].dtype == np.int32
    copy = tmp_path / "copy.nc"
    run("copy", path, copy)
    with netCDF4.Dataset(copy) as ds:
        assert ds["v"][:].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert list(ds["g/s"][:]) == ["a", "bc"]
    for words in (["verify", path], ["compare", path, copy], ["dump", path], ["digest", path], ["info", path]):
        run(*words)
    with xr.open_dataset(path, engine="ncforge", group="g/below") as ds:
        assert ds["deep"].values.tolist() == [5, 6]


@pytest.mark.parametrize("how", [[], ["--codec", "deflate"], ["--keep-bits", "9"], ["--endian", "big"]])
def test_a_copy_is_compared_with_its_source(tmp_path: Path, how: list[str], run: Any) -> None:
    """What the links lead to is numbered last in the source, and where it is in the output: group by group."""
    with h5py.File(tmp_path / "other.h5", "w") as h:
        h["v"], h["deep/f"] = [1, 2, 3], np.linspace(0, 1, 500, dtype="f4")
    path, out = tmp_path / "a.h5", tmp_path / "out.nc"
    with h5py.File(path, "w") as h:
        h["a/link"] = h5py.ExternalLink("other.h5", "/")
        h["b/x"], h["b/y"], h["c"] = [4, 5, 6], np.linspace(1, 2, 500, dtype="f4"), np.arange(3)
    run("copy", path, out, *how, "--verify")
    for again in (["--resume"], ["--resume", "--verify"]):
        assert "complete already" in run("copy", path, out, *how, *again).stderr
    with h5py.File(path) as want, netCDF4.Dataset(out) as got:
        for name in ("a/link/v", "b/x", "c"):
            np.testing.assert_array_equal(got[name][...], want[name][...], err_msg=name)
    # Another value in the middle is noticed as that of its own variable.
    with netCDF4.Dataset(out, "a") as d:
        d["b/x"][1] = 7
    assert "complete already" not in run("copy", path, out, *how, "-O", "--resume").stderr
    with netCDF4.Dataset(out) as d:
        assert d["b/x"][:].tolist() == [4, 5, 6]


@pytest.mark.parametrize("kind", ["cdf1", "cdf2", "cdf5", "netcdf4", "netcdf4-classic"])
def test_a_copy_of_a_linked_variable_is_compared(tmp_path: Path, kind: str, run: Any) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as h:
        h["v"] = np.arange(3, dtype="i4")
    path = linked(tmp_path / "a.h5", first=("other.h5", "/v"))
    with h5py.File(path, "a") as h:
        h["last"] = np.arange(5, 8, dtype="i4")
    run("copy", path, tmp_path / "out.nc", "--format", kind, "--verify")
    run("compare", path, tmp_path / "out.nc")


def test_links_to_links(tmp_path: Path, target: Path) -> None:
    linked(tmp_path / "b.h5", link=("target.nc", "/g"))
    with h5py.File(tmp_path / "b.h5", "a") as f:
        f["inside/soft"] = h5py.SoftLink("/own")
        f["inside/out"] = h5py.SoftLink("/link/w2")
    path = linked(tmp_path / "a.h5", far=("b.h5", "/link/w"), soft=("b.h5", "/inside/soft"), all=("b.h5", "/"))
    with h5py.File(path, "a") as f:
        f["to"], f["through"] = h5py.SoftLink("/far"), h5py.SoftLink("all/inside/out")
        f["group"] = h5py.SoftLink("/all/link")
    with h5py.File(path) as want, ncforge.Dataset(path) as got:
        behind = ("all/own", "all/link/w", "all/inside/soft", "all/inside/out", "all/link/below/deep")
        for name in ("far", "soft", *behind, "to", "through", "group/below/deep"):
            np.testing.assert_array_equal(got[name][...], want[name][...], err_msg=name)


@pytest.mark.parametrize("where", ["folder", "prefix", "absolute", "moved", "current"])
def test_names_of_files(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    folder = tmp_path / "own"
    folder.mkdir()
    at = {"prefix": data, "absolute": data, "current": data}.get(where, folder)
    with h5py.File(at / "b.h5", "w") as f:
        f["d"] = np.arange(3)
    name = {"absolute": f"{data}/b.h5", "moved": "/nowhere/b.h5"}.get(where, "b.h5")
    path = linked(folder / "a.h5", link=(name, "/d"))
    if where == "prefix":
        monkeypatch.setenv("HDF5_EXT_PREFIX", f"/nowhere:{data}")
    if where == "current":
        monkeypatch.chdir(data)
    with ncforge.Dataset(path) as ds:
        assert ds["link"][:].tolist() == [0, 1, 2]
    with h5py.File(path) as f:
        assert f["link"][:].tolist() == [0, 1, 2]


def test_what_is_not_there_is_left_out(tmp_path: Path, target: Path, run: Any) -> None:
    """netCDF-C opens no file with such a link; h5py opens it, and refuses the object."""
    path = linked(tmp_path / "a.h5", file=("nowhere.h5", "/d"), object=("target.nc", "/nowhere"), text=("text", "/d"))
    (tmp_path / "text").write_text("no HDF5")
    with pytest.raises(OSError, match="HDF error"):
        netCDF4.Dataset(path)
    with ncforge.Dataset(path) as ds:
        assert ds["own"][:].tolist() == [0, 1]
        for name, words in (
            ("file", "which is not there"),
            ("object", "which is not there"),
            ("text", "cannot be opened"),
        ):
            with pytest.raises(ncforge.NcforgeError, match=words):
                ds[name]
    assert "nowhere.h5" in run("info", path).stdout


def test_circles_are_errors(tmp_path: Path) -> None:
    linked(tmp_path / "a.h5", b=("b.h5", "/"), own_group=("a.h5", "/"))
    linked(tmp_path / "b.h5", a=("a.h5", "/"), value=("a.h5", "/own"))
    with ncforge.Dataset(tmp_path / "a.h5") as ds:
        assert ds["b/own"][:].tolist() == [0, 1]
        assert ds["b/value"][:].tolist() == [0, 1]
        for name in ("own_group", "b/a"):
            with pytest.raises(ncforge.NcforgeError, match="contains itself"):
                ds[name]
    linked(tmp_path / "c.h5", c=("d.h5", "/d"))
    linked(tmp_path / "d.h5", d=("c.h5", "/c"))
    with (
        ncforge.Dataset(tmp_path / "c.h5") as ds,
        pytest.raises(ncforge.NcforgeError, match="one link after the other"),
    ):
        ds["c"]


def doubled(path: Path, n: int, large: int = 0) -> Path:
    """Groups which each link twice to the next one; the last one has a variable with an attribute of so many numbers."""
    with h5py.File(path, "w", libver="latest") as h:
        groups = [h.create_group(f"g{i}") for i in range(n)]
        for group, below in pairwise(groups):
            group["l"] = group["r"] = below
        groups[-1]["d"] = [1]
        groups[-1]["d"].attrs["large"] = np.zeros(large)
    return path


def doubled_files(path: Path, n: int) -> Path:
    """The same of files."""
    for i in range(n):
        with h5py.File(path / f"{i}.h5", "w") as h:
            h["d"] = [i]
            if i < n - 1:
                h["l"] = h["r"] = h5py.ExternalLink(f"{i + 1}.h5", "/")
    return path / "0.h5"


def test_a_group_is_read_by_each_of_its_links(tmp_path: Path, run: Any) -> None:
    """8,178 groups in one file, and 2,046 files, as netCDF-C shows them."""
    for path in (doubled(tmp_path / "links.h5", 12), doubled_files(tmp_path, 11)):
        expected = execute("ncdump", "-h", path).stdout
        said = run("info", path).stdout
        for pattern in (r"group: \w+ \{", r"int64 d\("):
            assert len(re.findall(pattern, said)) == len(re.findall(pattern, expected)) > 2000
        assert "left out" not in said


@pytest.mark.parametrize("make", [lambda p: doubled(p / "links.h5", 30, 1 << 17), lambda p: doubled_files(p, 30)])
def test_groups_of_many_links_end(
    tmp_path: Path, measured: Measured, ncforge_bin: Path, run: Any, make: Callable[[Path], Path]
) -> None:
    """Each object is there once, and 2^30 paths are not."""
    path = make(tmp_path)
    code, messages, peak = measured(ncforge_bin, "info", path, seconds=20)
    assert code == 0 and peak < 128 << 20, (messages, peak)
    said = run("info", path).stdout
    assert "shown elsewhere, too: no more than 32768 objects" in said
    deepest = "/".join(["", *("g0" for _ in range(path.stem == "links")), *"l" * 29, "d"])
    with ncforge.Dataset(path) as ds:
        assert ds[deepest][:].tolist() == [1 if path.stem == "links" else 29]


def test_links_to_each_of_many_groups_end(tmp_path: Path, run: Any) -> None:
    """One inside the other: each link shows all groups below."""
    with h5py.File(tmp_path / "deep.h5", "w", libver="latest") as h, h5py.File(tmp_path / "a.h5", "w") as links:
        for level in range(40):
            group = h.create_group("/".join("g" * (level + 1)))
            for i in range(200):
                group.create_dataset(f"v{i}", shape=(), dtype="i1")
            links[f"l{level}"] = h5py.ExternalLink("deep.h5", group.name)
    said = run("info", tmp_path / "a.h5").stdout
    assert 8000 < said.count("byte v") < 60_000 and "no more than 32768 objects" in said


def test_a_large_object_has_two_names(tmp_path: Path) -> None:
    """A group keeps its own beside that of a soft link, which comes first; a dataset of a thousand links is not read for all of them."""
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as h:
        run = h.create_group("run_2024")
        for i in range(33_000):
            run.create_dataset(f"v{i}", shape=(), dtype="i1")
        h["latest"] = h5py.SoftLink("/run_2024")
    with ncforge.Dataset(tmp_path / "a.h5") as ds:
        assert [len(ds[name].variables) for name in ("latest", "run_2024")] == [33_000, 33_000]
    with h5py.File(tmp_path / "b.h5", "w", libver="latest") as h:
        h["v"] = [1]
        h["v"].attrs["large"] = np.zeros(1 << 17)
        for i in range(1000):
            h[f"l{i}"] = h["v"]
    with ncforge.Dataset(tmp_path / "b.h5") as ds:
        assert 2 <= len(ds.variables) < 100


def test_other_files_are_refused_behind_the_names_of_other_tools(tmp_path: Path, target: Path, run: Any) -> None:
    path = linked(tmp_path / "a.h5", link=(target.name, "/v"))
    with h5py.File(path, "a") as f:
        f.create_dataset("time", data=np.arange(2.0), maxshape=(None,), chunks=(2,)).make_scale("time")
    for name in ("nccopy", "ncrcat"):
        copy = tmp_path / f"{name}.nc"
        assert "not followed" in run(name, "--no-follow", path, copy).stderr
        with netCDF4.Dataset(copy) as ds:
            assert "time" in ds.variables and "link" not in ds.variables
    assert "not followed" in run("dump", "--no-follow", "-v", "link", path, code=1).stderr


def test_other_files_are_refused_where_they_must_not_be_read(tmp_path: Path, target: Path, run: Any) -> None:
    path = linked(tmp_path / "a.h5", link=("target.nc", "/v"))
    with ncforge.Dataset(path, follow=False) as ds:
        assert ds["own"][:].tolist() == [0, 1]
        with pytest.raises(ncforge.NcforgeError, match="not followed"):
            ds["link"]
    refused = run("--no-follow", "dump", "-v", "link", path, code=1)
    assert "not followed" in refused.stderr
    with (
        ncforge.Dataset("memory.h5", memory=path.read_bytes()) as ds,
        pytest.raises(ncforge.NcforgeError, match="no local file"),
    ):
        ds["link"]
    with xr.open_dataset(path, engine="ncforge", follow=False) as seen:
        assert set(seen.variables) == {"own"}
    with xr.open_dataset(path, engine="ncforge") as seen:
        assert set(seen.variables) == {"own", "link"}
    with pytest.raises(ncforge.NcforgeError, match="external link"):
        ncforge.Dataset(path, "a")


def test_operations_take_follow(tmp_path: Path, target: Path) -> None:
    path = linked(tmp_path / "a.h5", link=("target.nc", "/v"))
    assert "link" in str(ncforge.info(path)) and "link" not in str(ncforge.info(path, follow=False)).split("//")[0]
    followed, not_followed = tmp_path / "1.nc", tmp_path / "2.nc"
    ncforge.copy(path, followed)
    ncforge.copy(path, not_followed, follow=False)
    with netCDF4.Dataset(followed) as a, netCDF4.Dataset(not_followed) as b:
        assert (set(a.variables), set(b.variables)) == ({"own", "link"}, {"own"})
    assert set(ncforge.digest(path).variables) != set(ncforge.digest(path, follow=False).variables)
    assert not ncforge.compare(path, not_followed, follow=False).differences
    assert not ncforge.compare(path, not_followed).same
    ncforge.verify(path, follow=False)


def test_a_target_that_changes(tmp_path: Path, target: Path) -> None:
    path = linked(tmp_path / "a.h5", link=("target.nc", "/v"))
    with ncforge.Dataset(path) as ds:
        assert ds["link"][0, 0] == 0
        with netCDF4.Dataset(target, "a") as there:
            there["v"][0, 0] = 7
        assert ds["link"][0, 0] == 7
        os.remove(target)
        with pytest.raises(ncforge.NcforgeError, match=r"target\.nc"):
            ds["link"][0, 0]
        os.utime(path)  # opens it anew, without the target
        with pytest.raises(ncforge.NcforgeError, match=r"target\.nc"):
            ds["link"][0, 0]
