"""Fast netCDF, classic and netCDF-4, without a C library.

``Dataset`` has the names and arguments of netCDF4-python; ``copy``, ``info`` and ``compare`` do what the command
``ncforge`` does.

Values come and go as the file holds them: nothing is masked, scaled or turned into text by itself.

>>> import ncforge
>>> with ncforge.Dataset("sst.nc") as ds:  # doctest: +SKIP
...     january = ds["sst"][0]
"""

from ncforge._core import __version__
from ncforge.dataset import Dataset, Group
from ncforge.dimension import Dimension
from ncforge.engine import EngineStats, clear_cache, engine_stats
from ncforge.errors import (
    BudgetError,
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
    UnsupportedError,
    VerifyError,
)
from ncforge.ops import Comparison, CopyReport, Difference, Info, compare, copy, info
from ncforge.types import CompoundType, EnumType, OpaqueType, VLType
from ncforge.variable import Variable

__all__ = [
    "BudgetError",
    "Comparison",
    "CompoundType",
    "CopyReport",
    "CorruptError",
    "Dataset",
    "Difference",
    "Dimension",
    "EngineStats",
    "EnumType",
    "ExistsError",
    "Group",
    "Info",
    "InternalError",
    "InterruptedCopyError",
    "InvalidError",
    "IoError",
    "NcforgeError",
    "NotFoundError",
    "NotNetcdfError",
    "NotRepresentableError",
    "OpaqueType",
    "UnsupportedError",
    "VLType",
    "Variable",
    "VerifyError",
    "__version__",
    "clear_cache",
    "compare",
    "copy",
    "engine_stats",
    "info",
]
