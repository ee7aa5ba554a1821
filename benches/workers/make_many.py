"""Makes a file of so many variables with 10 attributes each: ``make_many.py PATH netcdf4|cdf5 VARIABLES``."""

import sys
from typing import Any

import netCDF4
import numpy as np

path, kind, variables = sys.argv[1:]
FORMATS: dict[str, Any] = {"netcdf4": "NETCDF4", "cdf5": "NETCDF3_64BIT_DATA"}
with netCDF4.Dataset(path, "w", format=FORMATS[kind]) as new:
    new.createDimension("y", 10)
    new.createDimension("x", 20)
    for n in range(int(variables)):
        var = new.createVariable(f"variable_{n:04d}", "f4", ("y", "x"))
        var.setncatts(
            {
                "long_name": f"the long name of variable {n}",
                "standard_name": f"standard_name_of_variable_{n}",
                "units": "kg m-2 s-1",
                "cell_methods": "time: mean (interval: 1 month)",
                "comment": "made for measuring",
                "valid_range": np.array([-n, n], "f4"),
                "scale": np.float64(n / 7),
                "code": np.int32(n),
                "levels": np.arange(5, dtype="i4"),
                "short": np.int16(n % 100),
            }
        )
