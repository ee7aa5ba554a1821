"""Fast netCDF, classic and netCDF-4, without netCDF-C or HDF5.

``Dataset`` has the names and arguments of netCDF4-python; ``copy``, ``combine``, ``concat``, ``series``, ``split``, ``zip``, ``doctor``,
``compare``, ``info`` and ``bench`` are the commands of ``ncforge`` as functions; ``to_netcdf`` writes objects of xarray, and
``engine="ncforge"`` reads files for xarray; ``accelerate`` lets ncforge read for ``netCDF4`` and what is built on it.

>>> import ncforge
>>> with ncforge.Dataset("sst.nc") as ds:  # doctest: +SKIP
...     january = ds["sst"][0]

Importing the package loads nothing: names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncforge import bench as bench
    from ncforge import xarray as xarray
    from ncforge._accelerate import ServedLibrary, accelerate
    from ncforge._core import __version__
    from ncforge._dataset.alignment import get_alignment, set_alignment
    from ncforge._dataset.masking import default_fillvals
    from ncforge._dataset.remote import set_storage_options
    from ncforge._dataset.text import chartostring, stringtoarr, stringtochar
    from ncforge._dataset.times import date2index, date2num, num2date
    from ncforge._library import get_chunk_cache, getlibversion, rc_get, rc_set, set_chunk_cache
    from ncforge._ops.combine import CombinePlan, CombineReport, Mosaic, combine, plan_combine
    from ncforge._ops.concat import ConcatPlan, ConcatReport, concat, open_many, plan_concat
    from ncforge._ops.doctor import Diagnoses, Diagnosis, Finding, Rule, doctor, doctor_rules
    from ncforge._ops.references import ReferencesReport, references
    from ncforge._ops.series import SeriesOutput, SeriesReport, Stream, plan_series, series
    from ncforge.dataset import Dataset, Group
    from ncforge.dimension import Dimension
    from ncforge.engine import EngineStats, clear_cache, engine_stats
    from ncforge.errors import (
        BudgetError,
        ChangedError,
        CorruptError,
        ExistsError,
        InternalError,
        InterruptedCopyError,
        InvalidError,
        IoError,
        NcforgeError,
        NotFoundError,
        NotNetcdfError,
        NotRepresentableError,
        UnsupportedCallError,
        UnsupportedError,
        VerifyError,
    )
    from ncforge.multifile import MFDataset, MFTime
    from ncforge.ops import (
        ChunkChoice,
        Comparison,
        CopyPlan,
        CopyReport,
        Difference,
        Digest,
        Info,
        Largest,
        Note,
        Problem,
        SplitReport,
        VerifyReport,
        ZipReport,
        compact,
        compare,
        copy,
        digest,
        info,
        plan_copy,
        split,
        tune_chunks,
        unzip,
        verify,
    )
    from ncforge.ops import zip as zip
    from ncforge.types import CompoundType, EnumType, OpaqueType, VLType
    from ncforge.variable import Variable
    from ncforge.xarray import open_mfdataset, to_netcdf

_FROM = {
    "_accelerate": ("ServedLibrary", "accelerate"),
    "_dataset.alignment": ("get_alignment", "set_alignment"),
    "_ops.combine": ("CombinePlan", "CombineReport", "Mosaic", "combine", "plan_combine"),
    "_ops.concat": ("ConcatPlan", "ConcatReport", "concat", "open_many", "plan_concat"),
    "_core": ("__version__",),
    "_ops.doctor": ("Diagnoses", "Diagnosis", "Finding", "Rule", "doctor", "doctor_rules"),
    "_library": (
        "NC_DISKLESS",
        "NC_PERSIST",
        "NetCDF4MissingFeatureException",
        "__hdf5libversion__",
        "__netcdf4libversion__",
        "__has_blosc_support__",
        "__has_bzip2_support__",
        "__has_cdf5_format__",
        "__has_nc_create_mem__",
        "__has_nc_inq_format_extended__",
        "__has_nc_inq_path__",
        "__has_nc_open_mem__",
        "__has_nc_rc_set__",
        "__has_ncfilter__",
        "__has_parallel4_support__",
        "__has_parallel_support__",
        "__has_pnetcdf_support__",
        "__has_quantization_support__",
        "__has_rename_grp__",
        "__has_set_alignment__",
        "__has_szip_support__",
        "__has_zstandard_support__",
        "default_encoding",
        "dtype_is_complex",
        "get_chunk_cache",
        "getlibversion",
        "is_native_big",
        "is_native_little",
        "rc_get",
        "rc_set",
        "set_chunk_cache",
        "unicode_error",
    ),
    "_dataset.masking": ("default_fillvals",),
    "_dataset.remote": ("set_storage_options",),
    "_ops.references": ("ReferencesReport", "references"),
    "_ops.series": ("SeriesOutput", "SeriesReport", "Stream", "plan_series", "series"),
    "_dataset.text": ("chartostring", "stringtoarr", "stringtochar"),
    "_dataset.times": ("date2index", "date2num", "num2date"),
    "dataset": ("Dataset", "Group"),
    "dimension": ("Dimension",),
    "engine": ("EngineStats", "clear_cache", "engine_stats"),
    "errors": (
        "BudgetError",
        "ChangedError",
        "CorruptError",
        "ExistsError",
        "InternalError",
        "InterruptedCopyError",
        "InvalidError",
        "IoError",
        "NcforgeError",
        "NotFoundError",
        "NotNetcdfError",
        "NotRepresentableError",
        "UnsupportedCallError",
        "UnsupportedError",
        "VerifyError",
    ),
    "multifile": ("MFDataset", "MFTime"),
    "ops": (
        "ChunkChoice",
        "Comparison",
        "CopyPlan",
        "CopyReport",
        "Difference",
        "Digest",
        "Info",
        "Largest",
        "Note",
        "Problem",
        "SplitReport",
        "VerifyReport",
        "ZipReport",
        "compact",
        "compare",
        "copy",
        "digest",
        "info",
        "plan_copy",
        "split",
        "tune_chunks",
        "unzip",
        "verify",
        "zip",
    ),
    "types": ("CompoundType", "EnumType", "OpaqueType", "VLType"),
    "variable": ("Variable",),
    "xarray": ("open_mfdataset", "to_netcdf"),
}
_WHERE = {name: module for module, names in _FROM.items() for name in names}
_MODULES = ("bench", "dataset", "dimension", "engine", "errors", "multifile", "ops", "types", "variable", "xarray")

# Without `open` and `zip`: `from ncforge import *` must not hide Python's own.
__all__ = [
    "BudgetError",
    "ChangedError",
    "ChunkChoice",
    "CombinePlan",
    "CombineReport",
    "Comparison",
    "CompoundType",
    "ConcatPlan",
    "ConcatReport",
    "CopyPlan",
    "CopyReport",
    "CorruptError",
    "Dataset",
    "Diagnoses",
    "Diagnosis",
    "Difference",
    "Digest",
    "Dimension",
    "EngineStats",
    "EnumType",
    "ExistsError",
    "Finding",
    "Group",
    "Info",
    "InternalError",
    "InterruptedCopyError",
    "InvalidError",
    "IoError",
    "Largest",
    "MFDataset",
    "MFTime",
    "Mosaic",
    "NcforgeError",
    "NotFoundError",
    "NotNetcdfError",
    "NotRepresentableError",
    "Note",
    "OpaqueType",
    "Problem",
    "ReferencesReport",
    "Rule",
    "SeriesOutput",
    "SeriesReport",
    "ServedLibrary",
    "SplitReport",
    "Stream",
    "UnsupportedCallError",
    "UnsupportedError",
    "VLType",
    "Variable",
    "VerifyError",
    "VerifyReport",
    "ZipReport",
    "__version__",
    "accelerate",
    "bench",
    "chartostring",
    "clear_cache",
    "combine",
    "compact",
    "compare",
    "concat",
    "copy",
    "date2index",
    "date2num",
    "default_fillvals",
    "digest",
    "doctor",
    "doctor_rules",
    "engine_stats",
    "get_alignment",
    "get_chunk_cache",
    "getlibversion",
    "info",
    "num2date",
    "open_many",
    "open_mfdataset",
    "plan_combine",
    "plan_concat",
    "plan_copy",
    "plan_series",
    "rc_get",
    "rc_set",
    "references",
    "series",
    "set_alignment",
    "set_chunk_cache",
    "set_storage_options",
    "split",
    "stringtoarr",
    "stringtochar",
    "to_netcdf",
    "tune_chunks",
    "unzip",
    "verify",
]


def open(path: Any, mode: str = "r", **options: Any) -> Dataset:
    """Opens a file: the same as :class:`Dataset`."""
    from ncforge.dataset import Dataset

    return Dataset(path, mode, **options)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"ncforge.{name}")
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'ncforge' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"ncforge.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_WHERE, *_MODULES})
