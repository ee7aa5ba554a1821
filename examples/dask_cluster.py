"""Many files as one, on a Dask cluster: means by place, written in parallel.

    python examples/dask_cluster.py

`LocalCluster` runs on this machine; any other cluster (SLURM and PBS by dask-jobqueue, Kubernetes by dask-kubernetes) gives a
`Client` as well, and nothing else changes, as long as its workers see the same file system.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from distributed import Client, LocalCluster

import ncforge


def main() -> None:
    for year in range(2001, 2005):
        time = np.datetime64(f"{year}-01-01", "ns") + np.arange(100) * np.timedelta64(86_400_000_000_000, "ns")
        values = np.random.default_rng(year).normal(280, 5, (100, 30, 60)).astype("f4")
        ncforge.to_netcdf(xr.Dataset({"tas": (("time", "lat", "lon"), values)}, {"time": time}), f"tas_{year}.nc")

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        xr.open_mfdataset("tas_*.nc", engine="ncforge", parallel=True, chunks={}) as tas,
    ):
        mean = tas.mean("time").compute()
        ncforge.to_netcdf(tas, "tas_all.nc", codec="deflate")

    with xr.open_dataset("tas_all.nc", engine="ncforge") as whole:
        assert whole.sizes["time"] == 400
        np.testing.assert_allclose(whole["tas"].mean("time"), mean["tas"], rtol=1e-5)
    print(f"four files, {float(mean['tas'].mean()):.2f} K on average")


if __name__ == "__main__":
    main()
    print("done")
