"""The file under a new file's name, at any time: complete, or the one that was there before."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge

Run = Callable[..., subprocess.CompletedProcess[str]]
FORMATS = ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"]


def define(ds: Any) -> Any:
    ds.createDimension("t", None)
    return ds.createVariable("v", "f8", ("t",))


def values(path: Path) -> list[float]:
    with netCDF4.Dataset(path) as ds:
        return [float(x) for x in ds["v"][:]]


def program(path: Path, body: str, format: str = "NETCDF4", mode: str = "w") -> list[str]:
    """A program that has a new file ``ds`` with a variable ``v``."""
    head = f"""
        import os, signal, sys, numpy as np, ncforge
        ds = ncforge.Dataset({str(path)!r}, {mode!r}, format={format!r})
        ds.createDimension("t", None)
        v = ds.createVariable("v", "f8", ("t",))
    """
    return [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)]


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("killed", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("format", FORMATS)
def test_a_synced_file_is_there_when_its_program_dies(tmp_path: Path, format: str, killed: signal.Signals) -> None:
    path = tmp_path / "a.nc"
    body = f"v[0:3] = [1, 2, 3]; ds.title = 'x'; ds.sync(); v[3] = 4.; os.kill(os.getpid(), {int(killed)})"
    assert subprocess.run(program(path, body, format)).returncode == -killed
    assert values(path)[:3] == [1, 2, 3] and names(tmp_path) == ["a.nc"]
    with netCDF4.Dataset(path) as ds:
        assert ds.title == "x"
    with ncforge.Dataset(path, "a") as ds:
        ds["v"][len(ds.dimensions["t"])] = 9.0
    assert values(path)[-1] == 9


@pytest.mark.parametrize("killed", [signal.SIGKILL, signal.SIGTERM])
def test_without_a_sync_there_is_nothing_under_the_name(tmp_path: Path, killed: signal.Signals, run: Run) -> None:
    path, other = tmp_path / "a.nc", tmp_path / "b.nc"
    subprocess.run(program(path, f"v[:] = np.arange(9.); os.kill(os.getpid(), {int(killed)})"))
    assert not path.exists()
    with ncforge.Dataset(other, "w") as ds:
        define(ds)[:] = [5.0]
    # Nobody takes what is left for something of its own.
    run("copy", other, path, "--resume")
    assert values(path) == [5] and names(tmp_path) == ["a.nc", "b.nc"]


def test_what_a_copy_left_is_not_what_a_program_left(tmp_path: Path, run: Run) -> None:
    source, path = tmp_path / "b.nc", tmp_path / "a.nc"
    with ncforge.Dataset(source, "w") as ds:
        define(ds)[:] = [5.0]
    (tmp_path / ".a.nc.ncforge-partial").write_bytes(b"half a copy")
    (tmp_path / ".a.nc.ncforge-journal").write_text('{"journal": 3}\n')
    subprocess.run(program(path, "v[:] = 1.; os.kill(os.getpid(), 9)"))
    assert names(tmp_path) == [".a.nc.ncforge-partial", "b.nc"], "the notes spoke of another file"
    run("copy", source, path, "--resume")
    assert values(path) == [5]


def test_every_sync_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with ncforge.Dataset(path, "w") as ds:
        v = define(ds)
        for n in range(1, 30):
            v[n - 1] = n
            ds.setncattr("history", "line\n" * n)
            ds.sync()
            with ncforge.Dataset(path) as back:
                assert len(back["v"][:]) == n
            with pytest.raises(OSError, match=r"a\.nc"):
                netCDF4.Dataset(path)  # HDF5 does not read what somebody writes to.
    assert values(path) == list(range(1, 30))


def test_an_exception_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"

    def fill(sync: bool) -> None:
        with ncforge.Dataset(path, "w") as ds:
            define(ds)[:] = [7.0, 8.0]
            if sync:
                ds.sync()
                ds["v"][2:4] = [9.0, 10.0]
                ds.createVariable("late", "f8", ("t",))
            raise ZeroDivisionError

    def update() -> None:
        with ncforge.Dataset(path, "a") as ds:
            ds["v"][2] = 9.0
            raise ZeroDivisionError

    def fails(work: Callable[..., None], *args: object) -> None:
        with pytest.raises(ZeroDivisionError):
            work(*args)

    fails(fill, False)
    assert names(tmp_path) == []
    with ncforge.Dataset(path, "w") as ds:
        define(ds)[:] = [1.0]
    fails(fill, False)
    assert values(path) == [1] and names(tmp_path) == ["a.nc"]
    fails(fill, True)
    assert values(path) == [7, 8] and names(tmp_path) == ["a.nc"]
    with netCDF4.Dataset(path) as theirs:
        assert list(theirs.variables) == ["v"]
    fails(update)
    assert values(path) == [7, 8, 9], "what is updated in place is closed, as in netCDF4"


def test_leaving_a_program_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    body = """
        with ds:
            v[:] = [1., 2.]
            sys.exit({})
    """
    assert subprocess.run(program(path, body.format(""))).returncode == 0
    assert values(path) == [1, 2]
    path.unlink()
    assert subprocess.run(program(path, body.format(3))).returncode == 3
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "ending",
    ["", "ds.loop = None; me = [ds, v]; me.append(me); del ds, v", "del ds, v", "keep = lambda: ds; sys.exit(1)"],
)
def test_what_nobody_closed_is_closed_at_the_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a.nc"
    ending = ending.replace("ds.loop = None; ", "")
    done = subprocess.run(program(path, f"v[:] = np.arange(5.)\n{ending}"), capture_output=True, text=True)
    assert done.stderr == ""
    assert values(path) == [0, 1, 2, 3, 4] and names(tmp_path) == ["a.nc"]


def test_a_file_that_cannot_be_completed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    body = f"v[:] = 1.\nopen({str(path)!r}, 'w').write('theirs')\ndel v, ds"
    done = subprocess.run(program(path, body, mode="x"), capture_output=True, text=True)
    assert "ExistsError" in done.stderr and ".a.nc.ncforge-partial" in done.stderr
    assert path.read_text() == "theirs"


def test_mode_x_and_a_file_that_appears(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    ds = ncforge.Dataset(path, "x")
    define(ds)[:] = [1.0]
    path.write_text("theirs")
    with pytest.raises(FileExistsError, match="ncforge-partial"):
        ds.sync()
    with pytest.raises(FileExistsError):
        ds.close()
    assert path.read_text() == "theirs" and values(tmp_path / ".a.nc.ncforge-partial") == [1]


def test_what_is_wrong_with_the_name_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ncforge.Dataset(tmp_path / "no" / "a.nc", "w")
    with pytest.raises(OSError, match="directory"):
        ncforge.Dataset(tmp_path, "w")
    with ncforge.Dataset(tmp_path / "a.nc", "w") as ds:
        with pytest.raises(ncforge.errors.LockedError):
            ncforge.Dataset(tmp_path / "a.nc", "w")
        define(ds)[:] = [1.0]
    assert values(tmp_path / "a.nc") == [1]


def test_a_name_that_no_file_can_have_is_refused_at_once(tmp_path: Path, run: Run) -> None:
    """Before, it was an error of closing the file, and all values were lost."""
    path = tmp_path / ("a" * 300 + ".nc")
    with pytest.raises(OSError, match="File name too long"):
        ncforge.Dataset(path, "w")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as ds:
        define(ds)
    assert "too long" in run("copy", tmp_path / "a.nc", path, code=2).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")
def test_a_file_that_only_its_owner_may_replace_is_refused_at_once(tmp_path: Path) -> None:
    """In a folder with a sticky bit, such as `/tmp`."""
    folder = Path(tempfile.mkdtemp())
    try:
        with netCDF4.Dataset(folder / "a.nc", "w") as ds:
            define(ds)
        (folder / "a.nc").chmod(0o666)
        folder.chmod(0o1777)
        program = """
            import os, sys, ncforge
            with ncforge.Dataset(sys.argv[2], "w") as ds: ds.createDimension("x", 2)
            os.setgid(65534), os.setuid(65534)
            try: ncforge.Dataset(sys.argv[1], "w")
            except PermissionError: print("refused")
        """
        words = [sys.executable, "-c", textwrap.dedent(program), str(folder / "a.nc"), str(tmp_path / "b.nc")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert (done.stdout, done.stderr) == ("refused\n", "")
        assert values(folder / "a.nc") == []
    finally:
        shutil.rmtree(folder)


def test_what_a_new_file_gets_after_its_first_sync(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    rng = np.random.default_rng(3)
    with ncforge.Dataset(path, "w") as ds:
        ds.createDimension("x", 7)
        v = define(ds)
        w = ds.createVariable("w", "i4", ("t", "x"), zlib=True, chunksizes=(4, 7))
        expected = rng.integers(0, 99, (50, 7))
        for t in range(50):
            w[t] = expected[t]
            v[t] = t
            if t % 7 == 0:
                ds.sync()
            if t == 20:
                ds.createVariable("late", "i2", ("x",))[:] = np.arange(7)
    with netCDF4.Dataset(path) as ds:
        assert np.array_equal(ds["w"][:], expected) and np.array_equal(ds["v"][:], np.arange(50.0))
        assert ds["late"][:].tolist() == list(range(7))


def test_strings_that_nobody_wrote_are_no_pointers_without_fill(tmp_path: Path) -> None:
    # With filling off, HDF5 fills nothing, and every reader would follow uninitialised references.
    path = tmp_path / "s.nc"
    with ncforge.Dataset(path, "w") as ds:
        ds.set_fill_off()
        ds.createDimension("x", 4)
        ds.createDimension("t", None)
        for name, dims in [("scalar", ()), ("some", ("x",)), ("none", ("x",)), ("grows", ("t",))]:
            ds.createVariable(name, str, dims)
        ds.createVariable("rows", ds.createVLType("i4", "row"), ("x",))
        ds["some"][1] = "one"
        ds["grows"][2] = "two"
    found = {"scalar": [""], "some": ["", "one", "", ""], "none": [""] * 4, "grows": ["", "", "two"]}
    read = """
        import sys, netCDF4, h5py, numpy as np
        texts = lambda v: [x.decode() if isinstance(x, bytes) else str(x) for x in np.atleast_1d(v)]
        with netCDF4.Dataset(sys.argv[1]) as ds:
            print({n: texts(ds[n][...]) for n in ds.variables if n != "rows"}, [len(x) for x in ds["rows"][:]])
        with h5py.File(sys.argv[1]) as ds:
            print({n: texts(ds[n][...]) for n in ["scalar", "some", "none", "grows"]}, [len(x) for x in ds["rows"][:]])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(read), str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [f"{found} [0, 0, 0, 0]"] * 2, (done.returncode, done.stderr)
    assert subprocess.run(["h5dump", str(path)], capture_output=True, check=False).returncode == 0
