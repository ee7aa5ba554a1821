#!/usr/bin/env bash
# Checks a file against the layout that CMIP7 requires, and fixes it.
#
#   bash examples/cmip7_check.sh [FILE]
set -euo pipefail

file=${1:-tas_day.nc}
if [ ! -e "$file" ]; then
    # One record a chunk in time, as models write it.
    printf '%s\n' 'netcdf tas { dimensions: time = UNLIMITED ; lat = 64 ; lon = 128 ;
        variables: double time(time) ; time:units = "days since 2000-01-01" ; time:axis = "T" ; time:_ChunkSizes = 1 ;
            float tas(time, lat, lon) ; tas:units = "K" ; tas:_ChunkSizes = 1, 64, 128 ; tas:_DeflateLevel = 1 ;
        data: time = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 ; }' | ncgen -4 -o "$file"
fi

# Exit code 3 says that something was found.
if ncforge doctor --profile cmip7 "$file"; then
    echo "$file meets the requirements of CMIP7"
else
    [ $? = 3 ]
    fixed=${file%.nc}-cmip7.nc
    ncforge copy --profile cmip7 -O "$file" "$fixed"
    ncforge doctor --profile cmip7 --fail-on warning "$fixed"
    ncforge compare "$file" "$fixed"
fi
echo done
