#!/usr/bin/env bash
# Makes the first inputs of the fuzz targets: small files of every format, by netCDF's own `ncgen`.
#
#   fuzz/seeds/make.sh CORPUS
#
# Without ncgen the targets start from nothing, which is slower to reach the depths but not wrong.
set -euo pipefail
seeds=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
corpus=$1
mkdir -p "$corpus/classic_header" "$corpus/hdf5_metadata"
if ! command -v ncgen >/dev/null 2>&1; then
    echo "no ncgen (Debian: netcdf-bin): fuzzing starts from an empty corpus" >&2
    exit 0
fi
for kind in 1 2 5; do
    ncgen -k "$([ $kind = 1 ] && echo classic || { [ $kind = 2 ] && echo 64-bit-offset || echo cdf5; })" \
        -o "$corpus/classic_header/seed-cdf$kind.nc" "$seeds/classic.cdl"
done
ncgen -k netCDF-4 -o "$corpus/hdf5_metadata/seed-classic.nc" "$seeds/classic.cdl"
ncgen -k netCDF-4 -o "$corpus/hdf5_metadata/seed-enhanced.nc" "$seeds/enhanced.cdl"
