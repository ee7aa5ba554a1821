"""ncforge under the netCDF-C of this process: ``ncforge.accelerate``.

The library is ``libncforge_netcdf.so``, which comes with the package. It is loaded by ``ctypes`` and installs itself in every netCDF-C
that is loaded: that of the package ``netCDF4``, and with it of xarray's engine ``netcdf4``, iris and others.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

NAME = "libncforge_netcdf.so"


@dataclass(frozen=True)
class ServedLibrary:
    """A netCDF-C that was found in this process.

    Attributes:
        path: Its file.
        version: Its version, as it says itself; empty if it does not.
        reason: Why it is not served; empty if it is.
        writing_reason: Why its writes are not served, where its reads are; empty if they are.
    """

    path: str
    version: str
    reason: str
    writing_reason: str = ""

    @property
    def served(self) -> bool:
        """Whether ncforge reads for it."""
        return not self.reason

    @property
    def writing_served(self) -> bool:
        """Whether ncforge writes for it, too."""
        return self.served and not self.writing_reason


def library_path() -> Path:
    """The file of the library that comes with the package."""
    path = Path(__file__).parent / "_netcdf" / NAME
    if not path.is_file():
        message = f"{path} is missing: this installation was made without it. `pip install ncforge` brings it along, also from sources"
        raise FileNotFoundError(message)
    return path


def accelerate() -> list[ServedLibrary]:
    """Lets ncforge read and write for the netCDF-C of this process, for ``netCDF4`` and everything that is built on it.

    ``netCDF4`` is imported first, if it is installed. Files that are open for reading from now on are served: large reads of
    numbers and text, zipped files (``.ncz``), variables whose filters have no plug-in. Compressed variables of files that are
    opened for writing from now on are encoded on all cores (experimental: compare the files, or set ``NCFORGE_NETCDF=read``). Values
    are those of netCDF-C, which does everything else itself.
    It may be called again, after another library that has a netCDF-C was imported.

    In the environment, ``NCFORGE_NETCDF=off`` serves nothing, ``NCFORGE_NETCDF=read`` leaves writes to netCDF-C, and
    ``NCFORGE_NETCDF=log`` lists on standard error the reads and writes that are served.

    Returns:
        Each netCDF-C that was found, with the reason if its reads or writes are not served.

    Raises:
        FileNotFoundError: The package was installed without the library.

    Example:
        >>> import ncforge
        >>> libraries = ncforge.accelerate()
    """
    if not sys.platform.startswith("linux"):
        return []
    if "netCDF4" not in sys.modules:
        with contextlib.suppress(ImportError):
            importlib.import_module("netCDF4")
    # `ncforge run` preloaded a library, perhaps of another installation: that one is in use.
    library = ctypes.CDLL(None)
    if not hasattr(library, "ncforge_netcdf_enable"):
        library = ctypes.CDLL(os.fspath(library_path()))
    library.ncforge_netcdf_enable()
    status = library.ncforge_netcdf_status
    status.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    status.restype = ctypes.c_size_t
    buffer = ctypes.create_string_buffer(status(None, 0))
    status(buffer, len(buffer))
    lines = os.fsdecode(buffer.value).splitlines()
    return [ServedLibrary(*line.split("\t")) for line in lines]
