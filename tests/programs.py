"""Programs of netCDF-C that tests run with and without ncforge under them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from conftest import ROOT

SOURCES = ROOT / "tests/netcdf_programs"


def call(
    *command: object, wish: str | None = None, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs a program; ``wish`` is ``NCFORGE_NETCDF``."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NCFORGE_NETCDF")}
    env |= environment | ({"NCFORGE_NETCDF": wish} if wish else {})
    done = subprocess.run([*map(str, command)], capture_output=True, env=env, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout[-500:]!r}{done.stderr[-2000:]!r}"
    return done


def run_python(code: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs a Python program."""
    return call(sys.executable, "-c", textwrap.dedent(code), **options)


def python(code: str, **environment: Any) -> str:
    """The output of a Python program."""
    return run_python(code, **environment).stdout.decode()


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
    flags = subprocess.run(["nc-config", "--cflags", "--libs"], capture_output=True, text=True, check=True)
    subprocess.run(["cc", "-O1", "-o", str(binary), str(SOURCES / f"{name}.c"), *flags.stdout.split()], check=True)
    return binary
