"""Small records read one by one while netCDF4-python, in another process, writes to the same classic file."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import ncforge
from commands import execute
from datasets import created
from peers import as_plain

RECORDS = 500


def by_netcdf4(path: Path, code: str) -> None:
    """Runs statements with the file open for update, in a process of their own."""
    script = f"import netCDF4\nwith netCDF4.Dataset({str(path)!r}, 'r+') as data:\n    v = data['v']\n    {code}\n"
    execute(sys.executable, "-c", script)


def test_what_another_process_writes_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    values = np.arange(RECORDS * 3, dtype="f4").reshape(RECORDS, 3)
    with created(path, format="NETCDF3_CLASSIC", time=None, x=3) as new:
        new.createVariable("v", "f4", ("time", "x"))[:] = values
        new.createVariable("other", "i2", ("time", "x"))[:] = np.zeros((RECORDS, 3))
    with ncforge.Dataset(path) as data:
        v = data["v"]
        assert [float(v[t, 1]) for t in range(RECORDS)] == values[:, 1].tolist()
        by_netcdf4(path, "v[100:400] = -1")
        time.sleep(0.02)
        assert [float(v[t, 1]) for t in range(100, 400)] == [-1.0] * 300
        by_netcdf4(path, f"v[{RECORDS}] = 7")
        # The number of records is that of when the file was opened.
        assert len(v) == RECORDS
    with ncforge.Dataset(path) as again:
        assert again["v"][RECORDS].tolist() == [7, 7, 7]


@pytest.mark.parametrize("name", ["f.nc", "f.ncz"])
def test_records_are_written_one_by_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    values = np.arange(RECORDS * 3, dtype="f4").reshape(RECORDS, 3)
    with created(path, ncforge, format="NETCDF3_CLASSIC", time=None, x=3) as new:
        v = new.createVariable("v", "f4", ("time", "x"))
        s = new.createVariable("s", "i2", ("time", "x"))
        for t in range(RECORDS):
            v[t] = values[t]
            s[t] = values[t] % 100
            if t % 100 == 50:
                assert v[t].tolist() == values[t].tolist()
    with as_plain(path) as plain, netCDF4.Dataset(plain) as data:
        assert np.array_equal(data["v"][:], values)
        assert np.array_equal(data["s"][:], values % 100)
