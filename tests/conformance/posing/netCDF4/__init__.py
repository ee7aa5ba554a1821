"""ncforge under the name of netCDF4-python, for that package's own tests: what they import, and no more.

Flags, versions and settings of netCDF-C's are given here; everything else is ncforge's.
"""

from __future__ import annotations

import sys

import ncforge
from ncforge import (
    CompoundType,
    Dataset,
    Dimension,
    EnumType,
    Group,
    MFDataset,
    MFTime,
    Variable,
    VLType,
    chartostring,
    date2index,
    date2num,
    default_fillvals,
    get_alignment,
    num2date,
    set_alignment,
    stringtoarr,
    stringtochar,
)

__all__ = [
    "CompoundType",
    "Dataset",
    "Dimension",
    "EnumType",
    "Group",
    "MFDataset",
    "MFTime",
    "VLType",
    "Variable",
    "chartostring",
    "date2index",
    "date2num",
    "default_fillvals",
    "get_alignment",
    "num2date",
    "set_alignment",
    "stringtoarr",
    "stringtochar",
]

__version__ = "1.7.5"
__netcdf4libversion__ = "4.9.3"
__hdf5libversion__ = "1.14.6"
__has_rename_grp__ = True
__has_nc_inq_path__ = True
__has_nc_inq_format_extended__ = True
__has_cdf5_format__ = True
__has_nc_open_mem__ = True
__has_nc_create_mem__ = True
__has_parallel_support__ = False
__has_parallel4_support__ = False
__has_pnetcdf_support__ = False
__has_quantization_support__ = True
__has_zstandard_support__ = True
__has_bzip2_support__ = True
__has_blosc_support__ = True
__has_szip_support__ = False
__has_set_alignment__ = True
__has_nc_rc_set__ = False
__has_ncfilter__ = True

is_native_little = sys.byteorder == "little"
is_native_big = not is_native_little


_chunk_cache: tuple[int, int, float] = (0, 0, 0.0)


def set_chunk_cache(size: int | None = None, nelems: int | None = None, preemption: float | None = None) -> None:
    """Noted."""
    global _chunk_cache
    reported = (size, nelems, preemption)
    a, b, c = (old if new is None else new for old, new in zip(_chunk_cache, reported, strict=True))
    _chunk_cache = (int(a), int(b), float(c))


def get_chunk_cache() -> tuple[int, int, float]:
    """The recorded settings."""
    return _chunk_cache


def getlibversion() -> str:
    """A version."""
    return f"{__netcdf4libversion__} (ncforge {ncforge.__version__})"
