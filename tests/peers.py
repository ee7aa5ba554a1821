"""Comparison of what ncforge reads with what netCDF4-python reads.

Zipped files (``.ncz``) are classic files to ncforge and nothing to others. Tests of classic files run a second time
on them: wherever another tool has its turn, the file is unzipped for it, and zipped again if the tool changed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

import ncforge
from commands import ncforge as run
from datasets import CLASSIC, FORMATS

#: Formats, and how files end: the classic ones a second time, zipped.
KINDS = [*((f, ".nc") for f in FORMATS), *((f, ".ncz") for f in CLASSIC)]


@contextmanager
def as_plain(path: Path, mode: str = "r") -> Iterator[Path]:
    """A file for tools that know no zipped ones: itself, or what it unzips to, zipped again unless only read."""
    if path.suffix != ".ncz":
        yield path
        return
    plain = path.with_suffix(".plain.nc")
    if mode != "w":
        run("unzip", "-O", "-q", path, plain)
    yield plain
    if mode != "r":
        # Small blocks, so that small files have many.
        run("zip", "-O", "-q", "--block", "4K", plain, path)
    plain.unlink()


def open_netcdf4(path: Path, mode: Any = "r", file_format: Any = "NETCDF4") -> Any:
    """A file by netCDF4-python, values as they are in the file; zipped ones in ``with`` only."""
    if path.suffix == ".ncz":
        return _open_zipped(path, mode, file_format)
    nc = netCDF4.Dataset(path, mode, format=file_format)
    nc.set_auto_maskandscale(False)
    nc.set_auto_chartostring(False)
    return nc


@contextmanager
def _open_zipped(path: Path, mode: Any, file_format: Any) -> Iterator[Any]:
    with as_plain(path, mode) as plain, open_netcdf4(plain, mode, file_format) as nc:
        yield nc


def assert_equal(ours: Any, theirs: Any, where: str) -> None:
    """Equal values, bit by bit but for NaN; ragged rows and compounds element by element."""
    if isinstance(theirs, np.ndarray | np.void) and theirs.dtype.names is not None:
        for name in theirs.dtype.names:
            assert_equal(ours[name], theirs[name], f"{where}.{name}")
    elif isinstance(theirs, np.ndarray) and theirs.dtype == np.dtype("O"):
        assert np.shape(ours) == np.shape(theirs), where
        for a, b in zip(np.ravel(ours), np.ravel(theirs), strict=True):
            assert_equal(a, b, where)
    elif isinstance(theirs, str | list):
        assert ours == theirs, where
    else:
        a, b = np.asarray(ours), np.asarray(theirs)
        if a.dtype == np.dtype("S1") and a.ndim == b.ndim + 1:
            # netCDF4-python makes text of the characters in compounds.
            a = np.ascontiguousarray(a).view(f"S{a.shape[-1]}")[..., 0]
        assert a.shape == b.shape, f"{where}: {a.shape} and {b.shape}"
        if b.dtype.kind in "SU":
            assert np.array_equal(a.astype("S"), b.astype("S")), where
        else:
            # netCDF4-python tells the byte order in the file; ncforge gives the machine's.
            assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("="), f"{where}: {a.dtype}, {b.dtype}"
            np.testing.assert_array_equal(a, b, err_msg=where)


def assert_same(path: Path, skip: set[str] | None = None) -> int:
    """All that netCDF4-python finds in a file, ncforge finds, and the same. Gives the number of variables."""
    with open_netcdf4(path) as theirs, ncforge.Dataset(path) as ours:
        assert ours.data_model == theirs.data_model
        ours.set_auto_maskandscale(False)
        ours.set_auto_chartostring(False)
        return _same_group(ours, theirs, path.name, skip or set())


def _same_group(ours: ncforge.Group, theirs: Any, where: str, skip: set[str]) -> int:
    assert list(ours.dimensions) == list(theirs.dimensions), where
    for name, dim in theirs.dimensions.items():
        mine = ours.dimensions[name]
        assert (len(mine), mine.isunlimited()) == (len(dim), dim.isunlimited()), f"{where}: dimension {name}"
    _same_attributes(ours, theirs, where)
    assert [n for n in ours.variables if n not in skip] == [n for n in theirs.variables if n not in skip], where
    count = 0
    for name, var in theirs.variables.items():
        if name in skip:
            continue
        mine_var = ours.variables[name]
        at = f"{where}: {name}"
        assert mine_var.dimensions == var.dimensions, at
        assert mine_var.shape == var.shape, at
        _same_attributes(mine_var, var, at)
        assert_equal(mine_var[...], var[...], at)
        count += 1
    assert list(ours.groups) == list(theirs.groups), where
    for name, group in theirs.groups.items():
        count += _same_group(ours.groups[name], group, f"{where}/{name}", skip)
    return count


def _same_attributes(ours: Any, theirs: Any, where: str) -> None:
    # netCDF-C leaves 2-byte floats out.
    assert [n for n in ours.ncattrs() if n != "half"] == theirs.ncattrs(), where
    for name in theirs.ncattrs():
        try:
            value = theirs.getncattr(name)
        except (KeyError, NotImplementedError):
            # Attributes of user-defined types that netCDF4-python cannot read.
            continue
        assert_equal(ours.getncattr(name), value, f"{where}:{name}")
