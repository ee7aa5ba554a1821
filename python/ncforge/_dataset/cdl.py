"""CDL, the text form of netCDF: ncforge prints headers itself; values are printed and read by netCDF-C's tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ncforge._core import info_cdl, make_file
from ncforge.errors import CorruptError, InvalidError, MissingFileError, UnsupportedCallError

__all__ = ["from_cdl", "to_cdl"]

_KINDS = {
    "NETCDF4": "nc4",
    "NETCDF4_CLASSIC": "nc7",
    "NETCDF3_CLASSIC": "nc3",
    "NETCDF3_64BIT": "nc6",
    "NETCDF3_64BIT_OFFSET": "nc6",
    "NETCDF3_64BIT_DATA": "nc5",
}
"""Formats as ``ncgen -k`` calls them."""


def to_cdl(path: str, classic: bool, coordvars: bool, data: bool) -> str:
    """A file as CDL, as ``ncdump -s`` prints it; if no values are requested, ``ncdump`` is not needed."""
    header = info_cdl(path, True).decode("utf-8", "surrogateescape")
    if not data and not coordvars:
        return header
    # With both, all values are requested.
    which = [] if data else ["-c"]
    if not classic:
        return _run("ncdump", "tocdl prints values by it", "-s", *which, path)
    # `ncdump -s` of netCDF-C 4.9 fails on CDF-5; for a classic file it adds nothing to ncforge's header.
    header = header.removesuffix("}\n")
    _, found, values = _run("ncdump", "tocdl prints values by it", *which, path).partition("\ndata:\n")
    return f"{header}data:\n{values}" if found else f"{header}}}\n"


def from_cdl(source: Path, target: Path, format: str) -> None:
    """Makes a file from CDL. It gets its name when it is complete."""
    if format not in _KINDS:
        raise InvalidError(f"format is one of {sorted(_KINDS)}, not {format!r}")
    if not source.exists():
        raise MissingFileError(2, "No such file or directory", str(source))

    def fill(partial: os.PathLike[str]) -> None:
        _run("ncgen", "fromcdl makes files by it", "-k", _KINDS[format], "-o", os.fspath(partial), str(source))
        if os.path.getsize(partial) == 0:
            raise CorruptError(f"`{source}`: ncgen made no file from it")

    make_file(target, fill)


def _run(tool: str, what_for: str, *words: str) -> str:
    # This program holds the lock, and has just synced the file that the tool reads.
    env = {**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"}
    try:
        done = subprocess.run(
            [tool, *words], capture_output=True, encoding="utf-8", errors="surrogateescape", check=False, env=env
        )
    except FileNotFoundError:
        raise UnsupportedCallError(
            f"`{tool}` is not installed, and {what_for}: install netCDF's tools (of Debian netcdf-bin, of conda libnetcdf)"
        ) from None
    if done.returncode != 0:
        raise CorruptError(f"`{tool} {' '.join(words)}` failed: {done.stderr.strip() or done.returncode}")
    return done.stdout
