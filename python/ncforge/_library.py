"""netCDF4-python's facts about the C libraries below it, and its settings for them. There are none here: programs that
ask get the version of netCDF-C whose files and features ncforge has, and settings are recorded without effect.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ncforge._core import __version__, engine_stats
from ncforge.errors import UnsupportedError

__netcdf4libversion__ = "4.9.3"
"""The version of netCDF-C whose files and features ncforge has."""
__hdf5libversion__ = "1.14.6"
"""The version of HDF5 whose files that netCDF-C reads."""

default_encoding = "utf-8"
"""The encoding of text in files."""
unicode_error = "replace"
"""The treatment of bytes that are not of this encoding, in attributes."""
is_native_little = sys.byteorder == "little"
"""Whether numbers in memory begin with their least significant byte."""
is_native_big = sys.byteorder == "big"
"""Whether numbers in memory begin with their most significant byte."""

NetCDF4MissingFeatureException = UnsupportedError
"""The error for what is not supported."""
NC_DISKLESS = 0x0008
"""A flag of netCDF-C: files in memory."""
NC_PERSIST = 0x4000
"""A flag of netCDF-C: files in memory that are written to disk in the end."""

__has_rename_grp__ = True
__has_nc_inq_path__ = True
__has_nc_inq_format_extended__ = True
__has_nc_open_mem__ = True
__has_nc_create_mem__ = True
__has_cdf5_format__ = True
__has_quantization_support__ = True
__has_zstandard_support__ = True
__has_bzip2_support__ = True
__has_blosc_support__ = True
__has_set_alignment__ = True
__has_ncfilter__ = True
__has_nc_rc_set__ = True
# Szip is read, and not written.
__has_szip_support__ = False
__has_parallel4_support__ = False
__has_pnetcdf_support__ = False
__has_parallel_support__ = False

_chunk_cache: tuple[int, int, float] | None = None
_settings: dict[str, str] = {}


def getlibversion() -> str:
    """The version of netCDF-C whose files and features ncforge has, and that of ncforge.

    >>> getlibversion().split()[0] == __netcdf4libversion__
    True
    """
    return f"{__netcdf4libversion__} (of netCDF-C, as in ncforge {__version__})"


def get_chunk_cache() -> tuple[int, int, float]:
    """Size, slots and preemption of chunk caches: the values that were set, or else the memory budget of the one cache that
    ncforge has for all variables (:func:`ncforge.engine_stats`).
    """
    return _chunk_cache or (int(dict(engine_stats())["memory"]), 0, 0.0)


def set_chunk_cache(size: int | None = None, nelems: int | None = None, preemption: float | None = None) -> None:
    """Recorded for compatibility, and returned by :func:`get_chunk_cache`. The environment variable ``NCFORGE_MEMORY`` sets the
    memory budget.
    """
    global _chunk_cache
    _chunk_cache = changed_cache(get_chunk_cache(), size, nelems, preemption)


def changed_cache(
    now: tuple[int, int, float], size: int | None, nelems: int | None, preemption: float | None
) -> tuple[int, int, float]:
    """The settings of a chunk cache after those that are given replaced others."""
    a, b, c = (old if new is None else new for old, new in zip(now, (size, nelems, preemption), strict=True))
    return int(a), int(b), float(c)


def rc_get(key: str) -> str | None:
    """The value that :func:`rc_set` recorded for a key; ``None`` if there is none."""
    return _settings.get(key)


def rc_set(key: str, value: str) -> None:
    """Recorded for compatibility, and returned by :func:`rc_get`. The access to URLs is set by ``storage_options`` and
    :func:`ncforge.set_storage_options`.
    """
    _settings[key] = value


def dtype_is_complex(dtype: Any) -> bool:
    """Whether a type is that of complex numbers.

    >>> dtype_is_complex("c16"), dtype_is_complex("f8")
    (True, False)
    """
    try:
        return bool(np.dtype(dtype).kind == "c")
    except TypeError:
        return False
