#!/usr/bin/env bash
# Makes the first inputs of the fuzz targets: small files of every format, by netCDF's own `ncgen` and (kept here)
# by h5py, and chunks of every filter.
#
#   fuzz/seeds/make.sh CORPUS
#
# Without ncgen or Python some targets start from less, which is slower to reach the depths but not wrong.
set -euo pipefail
seeds=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
corpus=$1
mkdir -p "$corpus/classic_header" "$corpus/hdf5_metadata"
cp "$seeds"/hdf5/*.h5 "$corpus/hdf5_metadata/"
if command -v python3 >/dev/null 2>&1; then
    python3 "$seeds/codecs.py" "$corpus"
else
    echo "no python3: the codec targets start from an empty corpus" >&2
fi
if ! command -v ncgen >/dev/null 2>&1; then
    echo "no ncgen (Debian: netcdf-bin): classic_header starts from an empty corpus" >&2
    exit 0
fi
for kind in 1 2 5; do
    ncgen -k "$([ $kind = 1 ] && echo classic || { [ $kind = 2 ] && echo 64-bit-offset || echo cdf5; })" \
        -o "$corpus/classic_header/seed-cdf$kind.nc" "$seeds/classic.cdl"
done
ncgen -k netCDF-4 -o "$corpus/hdf5_metadata/seed-classic.nc" "$seeds/classic.cdl"
ncgen -k netCDF-4 -o "$corpus/hdf5_metadata/seed-enhanced.nc" "$seeds/enhanced.cdl"
