"""ncforge under the name of netCDF4-python, for that package's own tests: what they import, and no more.

Names of functions that need no file (``stringtochar``, flags, versions) are given here; everything else is ncforge's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import ncforge
from ncforge import CompoundType, Dataset, Dimension, EnumType, Group, Variable, VLType
from ncforge._masking import DEFAULT_FILL

__all__ = ["CompoundType", "Dataset", "Dimension", "EnumType", "Group", "VLType", "Variable"]

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
__has_set_alignment__ = False
__has_nc_rc_set__ = False
__has_ncfilter__ = True

is_native_little = sys.byteorder == "little"
is_native_big = not is_native_little
default_fillvals = dict(DEFAULT_FILL)


_chunk_cache: tuple[int, int, float] = (0, 0, 0.0)


def set_chunk_cache(size: int | None = None, nelems: int | None = None, preemption: float | None = None) -> None:
    """Noted."""
    global _chunk_cache
    told = (size, nelems, preemption)
    a, b, c = (old if new is None else new for old, new in zip(_chunk_cache, told, strict=True))
    _chunk_cache = (int(a), int(b), float(c))


def get_chunk_cache() -> tuple[int, int, float]:
    """What was noted."""
    return _chunk_cache


def set_alignment(threshold: int, alignment: int) -> None:
    """Not there."""
    raise RuntimeError("ncforge does not align what it writes")


def get_alignment() -> tuple[int, int]:
    """Not there."""
    raise RuntimeError("ncforge does not align what it writes")


def getlibversion() -> str:
    """A version."""
    return f"{__netcdf4libversion__} (ncforge {ncforge.__version__})"


def stringtochar(a: Any, encoding: str = "utf-8", n_strlen: int | None = None) -> Any:
    """Strings as single characters along a new last dimension."""
    a = np.asarray(a)
    if encoding in ("none", "None", "bytes") or a.dtype.kind == "S":
        width = n_strlen or a.dtype.itemsize
        data = a.astype(f"S{width}")
    else:
        coded = [str(s).encode(encoding) for s in a.ravel()]
        width = n_strlen or max((len(c) for c in coded), default=1)
        data = np.array(coded, f"S{width}").reshape(a.shape)
    return np.ascontiguousarray(data).view("S1").reshape(*a.shape, width)


def chartostring(b: Any, encoding: str = "utf-8") -> Any:
    """Single characters along the last dimension as strings."""
    b = np.ascontiguousarray(b)
    joined = b.view(f"S{b.shape[-1]}").reshape(b.shape[:-1])
    if encoding in ("none", "None", "bytes"):
        return joined
    return np.char.decode(joined, encoding)
