"""A file made, appended to and read with netCDF4-python's names: only the import is another one.

python examples/netcdf4_style.py
"""

from __future__ import annotations

import numpy as np

import ncforge

with ncforge.Dataset("levels.nc", "w") as file:
    file.createDimension("time", None)
    file.createDimension("level", 5)
    file.createDimension("x", 200)
    file.title = "Made by an example"
    # Packed into 16 bits by its attributes, deflated by all cores; no chunks given, so that they are chosen.
    temp = file.createVariable("temp", "i2", ("time", "level", "x"), zlib=True, complevel=4, fill_value=-32768)
    temp.units, temp.scale_factor, temp.add_offset = "degC", 0.01, 10.0
    for step in range(24):
        # Writing past the end of an unlimited dimension makes it longer.
        temp[step] = 10 + np.sin(np.arange(1000).reshape(5, 200) / 50 + step)

with ncforge.Dataset("levels.nc", "a") as file:
    file["temp"][3, :, 10] = np.ma.masked
    file["temp"].long_name = "temperature"

with ncforge.Dataset("levels.nc") as file:
    temp = file["temp"]
    series = temp[:, 0, 10]  # a masked array, unpacked
    print(f"{temp.shape}, chunks of {temp.chunking()}, {np.ma.count_masked(series)} of {series.size} masked")
    assert np.ma.count_masked(series) == 1
    # Lists and slices choose along each dimension apart, as in netCDF4-python.
    assert temp[[0, 5, 7], ::-1, 3:9].shape == (3, 5, 6)
    assert abs(temp[7, 2, 100] - (10 + np.sin(500 / 50 + 7))) < 0.01
print("done")
