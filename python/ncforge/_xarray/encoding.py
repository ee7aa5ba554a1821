"""From xarray's encodings to arguments of ``createVariable``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from xarray.coding.strings import is_unicode_dtype
from xarray.core.variable import Variable

from ncforge.dataset import Dataset, Group

_FLAGS = ("zlib", "szip", "bzip2", "blosc", "zstd")
_ARGUMENTS = {
    "complevel",
    "fletcher32",
    "contiguous",
    "chunksizes",
    "shuffle",
    "compression",
    "significant_digits",
    "quantize_mode",
    "blosc_shuffle",
    "szip_coding",
    "szip_pixels_per_block",
    "endian",
    "least_significant_digit",
    "access_points",
}
KNOWN = {*_FLAGS, *_ARGUMENTS, "_FillValue", "dtype"}
"""The keys that an encoding may have."""

_OF_READING = {"source", "original_shape", "preferred_chunks"}


def arguments(variable: Variable, checked: bool, unlimited: Iterable[Any]) -> dict[str, Any]:
    """Arguments of ``createVariable``. Unknown keys are an error if the user gave the encoding (``checked``). They are
    ignored if it came from another file, as are chunk sizes that do not fit any more.
    """
    found = dict(variable.encoding)
    for key in _OF_READING - {"original_shape"}:
        found.pop(key, None)
    original = found.pop("original_shape", variable.shape)
    if checked:
        unknown = [key for key in found if key not in KNOWN]
        if unknown:
            raise ValueError(
                f"unexpected encoding parameters for 'ncforge' backend: {unknown!r}. Valid encodings are: {KNOWN!r}"
            )
    elif found.get("chunksizes") is not None:
        sizes = zip(found["chunksizes"], variable.shape, variable.dims, strict=False)
        if original != variable.shape or any(c > n and d not in unlimited for c, n, d in sizes):
            del found["chunksizes"]
    if any(d in unlimited for d in variable.dims) or not variable.dims:
        found.pop("contiguous", None)
    out = {key: value for key, value in found.items() if key in _ARGUMENTS and value is not None}
    if out.get("compression") is None:
        out.update(_compression(found))
    if not checked and out.get("compression") == "szip":
        warnings.warn(
            "szip is read and not written: values from a file with szip are compressed with zlib", stacklevel=2
        )
        of_szip = ("complevel", "shuffle", "szip_coding", "szip_pixels_per_block")
        out = {key: value for key, value in out.items() if key not in of_szip} | {"compression": "zlib"}
    if out.get("contiguous") and out.get("compression"):
        del out["contiguous"]
    return out


def _compression(found: dict[str, Any]) -> dict[str, Any]:
    """The compression that the flags of netCDF4-python describe."""
    on = [key for key in _FLAGS if found.get(key)]
    if not on:
        return {}
    how = found[on[-1]]
    if on[-1] == "blosc":
        details = how if isinstance(how, dict) else {}
        return {"compression": details.get("compressor", "blosc_lz"), "blosc_shuffle": details.get("shuffle", 1)}
    if on[-1] == "szip" and isinstance(how, dict):
        return {
            "compression": "szip",
            "szip_coding": how.get("coding", "nn"),
            "szip_pixels_per_block": how.get("pixels_per_block", 8),
        }
    return {"compression": on[-1]}


def datatype(group: Group, name: str, variable: Variable, checked: bool, strings: bool) -> Any:
    """The type to create a variable with. ``strings``: whether the format has them."""
    wanted = variable.encoding.get("dtype")
    if wanted is str and not strings and checked:
        raise ValueError("encoding dtype=str for vlen strings is only supported with format='NETCDF4'.")
    if strings and (wanted is str or is_unicode_dtype(variable.dtype)):
        return str
    dtype = variable.dtype
    if dtype.kind not in "iufSc":
        raise ValueError(f"unsupported dtype for netCDF variable {name!r}: {dtype}")
    if dtype.kind == "c" and not group._contents.auto_complex:
        raise ValueError(f"variable {name!r} has complex numbers, which are not written with auto_complex=False")
    metadata = dtype.metadata or {}
    if "enum" in metadata and "enum_name" in metadata:
        return _enum(group, name, dtype, metadata["enum_name"], metadata["enum"])
    return dtype


def _enum(group: Group, variable: str, dtype: np.dtype[Any], name: str, members: dict[str, int]) -> Any:
    known = group.enumtypes.get(name)
    if known is None:
        return group.createEnumType(np.dtype(dtype.str), name, members)
    if getattr(known, "enum_dict", None) != members:
        raise ValueError(
            f"Cannot save variable `{variable}` because an enum `{name}` already exists in the Dataset but has a "
            "different definition. To fix this error, make sure all variables have a uniquely named enum in their "
            "`encoding['dtype'].metadata` or, if they should share the same enum type, make sure the enums are "
            "identical."
        )
    return known


def owner(group: Group, dim: Any) -> Group | None:
    """The group that defines the dimension of this name that a group sees."""
    at: Group | None = group
    while at is not None and dim not in at.dimensions:
        at = at.parent
    return at


def root(group: Group) -> Dataset:
    """The dataset of a group."""
    at = group
    while at.parent is not None:
        at = at.parent
    assert isinstance(at, Dataset)
    return at
