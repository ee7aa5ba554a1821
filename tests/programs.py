"""Programs of netCDF-C that tests run with and without ncforge under them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from commands import ROOT, execute

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the library is for Linux")
SOURCES = ROOT / "tests/netcdf_programs"


def call(
    *command: object, wish: str | None = None, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs a program; ``wish`` is ``NCFORGE_NETCDF``."""
    env: dict[str, str | None] = {"LD_PRELOAD": None, "NCFORGE_NETCDF": wish or None, **environment}
    return execute(*command, code=code, text=False, env=env)


def run_python(code: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs a Python program."""
    return call(sys.executable, "-c", textwrap.dedent(code), **options)


def python(code: str, **environment: Any) -> str:
    """The output of a Python program."""
    return run_python(code, **environment).stdout.decode()


def served(done: subprocess.CompletedProcess[bytes], what: str = "reads") -> int:
    """Reads, or writes, that the log says ncforge served."""
    return sum(map(int, re.findall(rb": (\d+) %b served" % what.encode(), done.stderr)))


def header(path: Path) -> bytes:
    """The header with storage, chunks and filters."""
    return call("ncdump", "-h", "-s", path).stdout


def values(path: Path) -> dict[str, Any]:
    """All values, by netCDF-C, bit for bit. (`ncdump` prints a large file slowly, and rounds.)"""
    found: dict[str, Any] = {}

    def visit(group: netCDF4.Dataset) -> None:
        for name, var in group.variables.items():
            data = np.asarray(var[...])
            found[f"{group.path}/{name}"] = data.tolist() if data.dtype.hasobject else data.tobytes()
        for below in group.groups.values():
            visit(below)

    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        visit(d)
    return found


def compiled(name: str, folder: Path) -> Path:
    """A C program of the tests, compiled against the system's netCDF-C."""
    if shutil.which("nc-config") is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler and libnetcdf-dev")
    binary = folder / name
    flags = execute("nc-config", "--cflags", "--libs").stdout.split()
    execute("cc", "-O1", "-o", binary, SOURCES / f"{name}.c", *flags)
    return binary
