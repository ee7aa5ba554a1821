#!/usr/bin/env bash
# Prints the folder in which cargo puts the binaries of a profile, wherever CARGO_TARGET_DIR points.
#
#   scripts/target-dir.sh PROFILE
set -euo pipefail
dir=${1:-dev}
[ "$dir" = dev ] && dir=debug
target=$(cargo metadata --no-deps --format-version 1 | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
echo "$target/$dir"
