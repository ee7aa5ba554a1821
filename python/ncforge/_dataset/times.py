"""Times: the functions of ``cftime`` that the module of netCDF4-python has, too, and a change of units."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from cftime import date2index, date2num, num2date
except ImportError as _missing:
    raise ImportError("functions of times need the package cftime: pip install cftime") from _missing

__all__ = ["converted", "date2index", "date2num", "num2date"]


def converted(values: Any, units: str, to: str, calendar: str) -> Any:
    """Times in another unit.

    >>> converted(np.array([0, 1]), "days since 2001-01-01", "days since 2000-01-01", "standard")
    array([366, 367])
    >>> converted(np.array([6, 30]), "hours since 2001-01-01", "days since 2000-01-01", "standard")
    array([366.25, 367.25])
    """
    if units == to:
        return values
    if units.split()[:1] != to.split()[:1]:
        return date2num(num2date(values, units, calendar), to, calendar)
    # Equal steps from another start: no rounding by a conversion to dates.
    shift = date2num(num2date(0, units, calendar), to, calendar)
    if np.asanyarray(values).dtype.kind in "iu" and shift == int(shift):
        shift = int(shift)
    return values + shift
