"""How pip builds ncforge from sources: maturin, and before it the library for programs of netCDF-C, which maturin does not know.

``pyproject.toml`` names this module as the build backend; ``make wheel`` calls maturin itself, for old systems.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # what a frontend may ask for, and is the same
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = "ncforge-netcdf"
FILE = "libncforge_netcdf.so"


def build_library() -> None:
    """Puts the library where maturin takes it from. It is for Linux."""
    if not sys.platform.startswith("linux"):
        return
    command = ["cargo", "build", "--release", "--locked", "--package", PACKAGE, "--message-format", "json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"cargo could not build {PACKAGE}: what it said stands above")
    messages = map(json.loads, done.stdout.splitlines())
    files = [file for message in messages for file in message.get("filenames", ())]
    place = ROOT / "python/ncforge/_netcdf"
    place.mkdir(exist_ok=True)
    shutil.copyfile(next(file for file in files if Path(file).name == FILE), place / FILE)


def build_wheel(directory: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """The wheel, with the library in it."""
    build_library()
    return maturin.build_wheel(directory, settings, metadata)


def build_editable(directory: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """The package in place, with the library in it."""
    build_library()
    return maturin.build_editable(directory, settings, metadata)
