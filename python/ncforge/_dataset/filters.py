"""Filters with the names of netCDF4-python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_NAMES = {1: "zlib", 4: "szip", 32015: "zstd", 307: "bzip2", 32001: "blosc", 2: "shuffle", 3: "fletcher32"}
_BLOSC = {0: "blosc_lz", 1: "blosc_lz4", 2: "blosc_lz4hc", 3: "blosc_snappy", 4: "blosc_zlib", 5: "blosc_zstd"}

QUANTIZED = {
    "BitGroom": "_QuantizeBitGroomNumberOfSignificantDigits",
    "GranularBitRound": "_QuantizeGranularBitRoundNumberOfSignificantDigits",
    "BitRound": "_QuantizeBitRoundNumberOfSignificantBits",
}
"""The attributes in which netCDF-C records how values were rounded, by the name of the algorithm."""


def described(filters: Iterable[tuple[int, str, list[int]]]) -> dict[str, Any]:
    """The result of ``Variable.filters()``: which filters are on, with their parameters where it gives them, and the level."""
    found: dict[str, Any] = dict.fromkeys(("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle"), False)
    found |= {"complevel": 0, "fletcher32": False}
    for number, _, params in filters:
        if number not in _NAMES:
            continue
        found[_NAMES[number]] = True
        if number in (1, 32015, 307) and params:
            found["complevel"] = params[0]
        elif number == 32001 and len(params) > 6:
            found["blosc"] = {"compressor": _BLOSC.get(params[6], "blosc_lz"), "shuffle": params[5]}
            found["complevel"] = params[4]
        elif number == 4 and len(params) > 1:
            # Bit 5 of the options is nearest neighbour, bit 2 entropy coding (HDF5, H5Zpublic.h).
            found["szip"] = {"coding": "nn" if params[0] & 32 else "ec", "pixels_per_block": params[1]}
    return found
