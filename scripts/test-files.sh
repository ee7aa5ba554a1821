#!/usr/bin/env bash
# Copies, compares and reads back every netCDF file of three Debian packages.
#
#   NCFORGE_BIN=… scripts/test-files.sh PYTHON
set -euo pipefail
python=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
folders=()
for folder in /usr/share/ferret-vis /usr/share/ncarg/data /usr/share/gmt-gshhg; do
    [ -d "$folder" ] && folders+=("$folder")
done
if [ ${#folders[@]} = 0 ]; then
    echo "error: none of the packages ferret-datasets, libncarg-data, gmt-gshhg-low is installed" >&2
    exit 1
fi
if "$python" tests/roundtrip.py --binary "$NCFORGE_BIN" "${folders[@]}" data | tee "$log"; then
    echo "test-files: $(tail -n 1 "$log")"
else
    echo "test-files: FAILED: $(tail -n 1 "$log")"
    exit 1
fi
