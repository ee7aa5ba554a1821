#!/usr/bin/env bash
# The tiles that NEMO's processes leave become one file.
#
#   bash examples/nemo_combine.sh [ANY_TILE [OUT]]
set -euo pipefail

tile=${1:-} out=${2:-whole.nc}
if [ -z "$tile" ]; then
    # No model here: a global file, cut as 3 x 2 processes would leave it.
    printf '%s\n' 'netcdf whole { dimensions: time_counter = UNLIMITED ; y = 90 ; x = 120 ;
        variables: double time_counter(time_counter) ; float sosstsst(time_counter, y, x) ; sosstsst:units = "degC" ;
            float nav_lat(y, x) ;
        data: time_counter = 0, 1, 2 ; }' | ncgen -k cdf5 -o global.nc
    ncforge split global.nc -o tile --tiles 3x2
    tile=tile_0000.nc
fi

# Show the plan first: a drawing of the mosaic, missing tiles, how the bytes are moved.
ncforge combine "$tile" -o "$out" --dry-run
ncforge combine "$tile" -o "$out" -O --verify
[ ! -e global.nc ] || ncforge compare global.nc "$out"
echo done
