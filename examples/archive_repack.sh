#!/usr/bin/env bash
# Repacks every netCDF file of a folder into another one: deflated netCDF-4 in well-chosen chunks, verified value by value.
# Run it again after whatever stopped it: what is complete is left alone, what was begun goes on.
#
#   bash examples/archive_repack.sh [FROM [TO]]
set -euo pipefail

from=${1:-archive} to=${2:-repacked}
if [ ! -d "$from" ]; then
    # Nothing to repack here: two files to try it on.
    mkdir -p "$from/model"
    printf '%s\n' 'netcdf a { dimensions: time = UNLIMITED ; lat = 90 ; lon = 180 ;
        variables: double time(time) ; time:units = "days since 2000-01-01" ; float tas(time, lat, lon) ;
        data: time = 0, 1, 2, 3, 4, 5, 6, 7 ; }' | ncgen -o "$from/a.nc"
    ncforge copy --format cdf5 "$from/a.nc" "$from/model/b.nc"
fi

find "$from" -name '*.nc' -print0 | while IFS= read -r -d '' file; do
    out=$to/${file#"$from"/}
    [ -e "$out" ] && continue
    mkdir -p "$(dirname "$out")"
    # --resume begins anew where nothing was begun; the file has its name when it is complete and verified.
    ncforge copy "$file" "$out" --format netcdf4 --chunks auto --codec deflate --verify --resume
done

find "$from" -name '*.nc' -print0 | while IFS= read -r -d '' file; do
    ncforge compare "$file" "$to/${file#"$from"/}" >/dev/null
done
du -sh "$from" "$to"
echo done
