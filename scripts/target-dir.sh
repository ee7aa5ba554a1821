#!/usr/bin/env bash
# Prints the folder in which cargo puts the binaries of a profile, wherever CARGO_TARGET_DIR points.
#
#   scripts/target-dir.sh PROFILE
set -euo pipefail
dir=${1:-dev}
[ "$dir" = dev ] && dir=debug
target=$(cargo metadata --no-deps --format-version 1 --offline 2>/dev/null || cargo metadata --no-deps --format-version 1)
echo "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])' <<<"$target")/$dir"
