"""Makes a folder of files of monthly maps, each a chunk: ``make_maps.py FOLDER FILES,MONTHS,LAT,LON KIND``. Of the kind
``maps-auto`` are copies of these with the chunks that ncforge chooses."""

import shutil
import sys
from pathlib import Path

import netCDF4
import numpy as np

import ncforge

folder, kind = Path(sys.argv[1]), sys.argv[3]
files, months, lat, lon = (int(n) for n in sys.argv[2].split(","))
plain = folder.with_name(f"{folder.name}.maps") if kind == "maps-auto" else folder
shutil.rmtree(plain, ignore_errors=True)
plain.mkdir()
rng = np.random.default_rng(20090301)
y, x = np.linspace(-np.pi / 2, np.pi / 2, lat)[:, None], np.linspace(0, 2 * np.pi, lon, endpoint=False)
for i in range(files):
    first = np.datetime64("1850-01") + i * months
    times = (first + np.arange(months)).astype("M8[D]") - np.datetime64("1850-01-01")
    with netCDF4.Dataset(plain / f"{i:02}.nc", "w") as new:
        for name, length in (("time", None), ("lat", lat), ("lon", lon)):
            new.createDimension(name, length)
        time = new.createVariable("time", "f8", ("time",), chunksizes=(512,))
        time.units = "days since 1850-01-01"
        time[:] = times.astype(float)
        var = new.createVariable("v", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, chunksizes=(1, lat, lon))
        for month in range(months):
            wave = 285 + 20 * np.cos(y) + 5 * np.sin(3 * x + (i * months + month) / 50) * np.cos(2 * y)
            # In sixteenths, so that sums are exact, and everybody gets the same means.
            var[month] = np.rint((wave + 0.3 * rng.standard_normal((lat, lon))) * 16) / 16
if kind == "maps-auto":
    folder.mkdir()
    ncforge.copy(sorted(map(str, plain.iterdir())), str(folder), chunks="auto")
    shutil.rmtree(plain)
