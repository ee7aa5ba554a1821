#!/usr/bin/env bash
# The same reads and writes through several builds of netCDF-C, ncforge, and plain system calls, in turns.
#
#   bash examples/two_netcdf_builds.sh [LIBRARY…]        # paths of libnetcdf.so; default: the system's
set -euo pipefail

libraries=()
for library in "${@:-find}"; do libraries+=(--library "$library"); done

# Every driver writes and reads the same array in the same blocks; values are verified, and rounds are interleaved.
ncforge bench io -w -r -d time=20:lat=100:lon=100 --driver ncforge,raw "${libraries[@]}" --reps 3 --json=builds.json
echo done
