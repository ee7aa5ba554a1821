#!/usr/bin/env bash
# Copies, compares and reads back every netCDF file of three Debian packages.
#
#   NCFORGE_BIN=… scripts/test-files.sh PYTHON
set -euo pipefail
python=$1
folders=()
for folder in /usr/share/ferret-vis /usr/share/ncarg/data /usr/share/gmt-gshhg; do
    [ -d "$folder" ] && folders+=("$folder")
done
if [ ${#folders[@]} = 0 ]; then
    echo "error: none of the packages ferret-datasets, libncarg-data, gmt-gshhg-low is installed" >&2
    exit 1
fi
exec "$python" tests/roundtrip.py --binary "$NCFORGE_BIN" "${folders[@]}" data
