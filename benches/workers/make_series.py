"""Makes a folder of files that follow each other, 50 variables each: ``make_series.py FOLDER COUNT``."""

import sys
from pathlib import Path

import netCDF4
import numpy as np

folder, count = Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir()
rng = np.random.default_rng(20090301)
for i in range(count):
    with netCDF4.Dataset(folder / f"{i:04}.nc", "w") as new:
        for name, length in (("time", None), ("y", 20), ("x", 30)):
            new.createDimension(name, length)
        time = new.createVariable("time", "f8", ("time",), chunksizes=(4,))
        time.units = "days since 2000-01-01"
        time[:] = np.arange(4) + 4 * i
        for n in range(49):
            how = {"zlib": True, "complevel": 1, "chunksizes": (1, 20, 30), "fill_value": -1.0}
            var = new.createVariable(f"variable_{n:02}", "f4", ("time", "y", "x"), **how)  # type: ignore[call-overload]
            var.units, var.long_name = "K", f"variable {n}"
            var[:] = rng.standard_normal((4, 20, 30))
