"""What ``variable[key] = values`` stores, against netCDF4-python: rounded, masked and complex values, rows and strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ncforge

VALUES: list[Any] = [
    [123.456, 1.26, 77.03],
    [123, 1, 77],
    np.array([123.456, 1.26, 77.03], "f4"),
    np.ma.masked_array([123.456, 1.26, 77.03], [False, True, False]),
]


@pytest.mark.parametrize("kind", ["f4", "f8", "i2"])
@pytest.mark.parametrize("digits", [1, -1])
@pytest.mark.parametrize("attrs", [{}, {"scale_factor": 0.01}, {"scale_factor": 10.0, "add_offset": 3.3}])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_values_are_rounded_before_they_are_packed(
    tmp_path: Path, kind: Any, digits: int, attrs: dict[str, float], scale: bool
) -> None:
    # With a mask and without scaling, netCDF4-python stores what the mask hides.
    values = VALUES if scale else VALUES[:-1]
    stored = []
    for module in (netCDF4, ncforge):
        path = tmp_path / f"{module.__name__}.nc"
        with module.Dataset(path, "w") as ds:
            ds.createDimension("n", len(values))
            ds.createDimension("x", 3)
            v = ds.createVariable("v", kind, ("n", "x"), least_significant_digit=digits)
            v.setncatts(attrs)
            v.set_auto_scale(scale)
            for n, value in enumerate(values):
                v[n] = value
        with netCDF4.Dataset(path) as nc:
            nc["v"].set_auto_maskandscale(False)
            stored.append(nc["v"][:].tolist())
    assert stored[1] == stored[0]
