"""A forked child reads a file that threads of its parent read at that moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import python

FORKS = """
    import os, signal, threading
    import numpy as np
    import ncforge

    path, kind, options = {given}
    field = np.arange(12 * 200 * 300, dtype="i4").reshape(12, 200, 300)
    with ncforge.Dataset(path, "w", format=kind) as ds:
        for name, n in zip("tyx", field.shape):
            ds.createDimension(name, n)
        ds.createVariable("v", "i4", ("t", "y", "x"), **options)[:] = field
    ds = ncforge.Dataset(path)
    # What is imported with the first read is imported: Python's own locks of modules do not survive a fork.
    assert np.array_equal(ds["v"][:], field)
    done = threading.Event()

    def variable():
        return {variable}

    def read(i):
        while not done.is_set():
            i = (i * 7 + 1) % 200
            variable()[:, i, 7]

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    ends = []
    for _ in range({forks}):
        child = os.fork()
        if child == 0:
            # What waits for a thread of the parent waits for ever.
            signal.alarm(120)
            {first}
            os._exit(0 if np.array_equal(variable()[3], field[3]) else 1)
        ends.append(os.waitpid(child, 0)[1])
    done.set()
    for thread in threads:
        thread.join()
    print(sorted(set(ends)))
"""


def forked(*given: object, variable: str, forks: int, first: str = "pass") -> str:
    """How children end that read a variable while threads of their parent do, after ``first``."""
    program = FORKS.replace("{given}", repr(given)).replace("{variable}", variable)
    return python(program.replace("{forks}", str(forks)).replace("{first}", first)).strip()


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("a.nc", "NETCDF4", {"zlib": True, "chunksizes": (1, 100, 150)}),
        ("a.nc", "NETCDF3_64BIT_OFFSET", {}),
        ("a.ncz", "NETCDF3_64BIT_OFFSET", {}),
    ],
    ids=["deflated", "classic", "zipped"],
)
def test_children_read_what_threads_are_reading(
    tmp_path: Path, name: str, kind: str, options: dict[str, object]
) -> None:
    assert forked(str(tmp_path / name), kind, options, variable='ds["v"]', forks=150) == "[0]"


def test_children_have_a_cache_of_their_own(tmp_path: Path) -> None:
    given = (str(tmp_path / "a.nc"), "NETCDF4", {"zlib": True, "chunksizes": (1, 50, 50)})
    own = 'ncforge.Dataset(path)["v"]'
    assert forked(*given, variable=own, forks=100, first="ncforge.clear_cache()") == "[0]"


FIRST = """
    import os, signal, threading, time
    import ncforge

    with ncforge.Dataset({path}, "w", format="NETCDF3_64BIT_DATA") as ds:
        for i in range(20_000):
            ds.createVariable(f"a_variable_{i}", "i4", ())
    ends = []
    for n in range(40):
        ds = ncforge.Dataset({path})
        # Looks for the dimensions for the first time, in a few milliseconds.
        thread = threading.Thread(target=lambda: list(ds.dimensions))
        thread.start()
        time.sleep(n / 10_000)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if list(ds.dimensions) == [] else 1)
        ends.append(os.waitpid(child, 0)[1])
        thread.join()
    print(sorted(set(ends)))
"""


def test_children_find_what_a_thread_looks_for_first(tmp_path: Path) -> None:
    assert python(FIRST.replace("{path}", repr(str(tmp_path / "a.nc")))).strip() == "[0]"


OBJECTS = """
    import io, os
    import numpy as np
    import ncforge.xarray
    import xarray as xr

    path = {path}
    field = np.arange(12 * 200 * 300, dtype="i4").reshape(12, 200, 300)
    ncforge.xarray.to_netcdf(xr.Dataset({"v": (("t", "y", "x"), field)}), path)
    with open(path, "rb") as file:
        memory = io.BytesIO(file.read())
    ends = []
    for source in (memory, open(path, "rb")):
        ds = xr.open_dataset(source, engine="ncforge", cache=False)
        assert np.array_equal(ds.v[:, 3, 7], field[:, 3, 7])
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if np.array_equal(ds.v[:, 5, 9].values, field[:, 5, 9]) else 1)
            except OSError as error:
                os._exit(2 if "forked from; open it in this one" in str(error) else 3)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(ends)
"""


def test_children_do_not_move_their_parents_position_in_a_file(tmp_path: Path) -> None:
    assert python(OBJECTS.replace("{path}", repr(str(tmp_path / "a.nc")))).strip() == "[0, 2]"
