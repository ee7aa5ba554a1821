#!/usr/bin/env bash
# Builds the extension module and installs the package `ncforge` into the virtual environment, editable.
#
#   scripts/extension.sh VENV PROFILE
set -euo pipefail
venv=$(cd "$1" && pwd)
echo "Building the Python extension ($2)"
unset CONDA_PREFIX
# What `ncforge.accelerate` loads and `ncforge run` preloads comes with the package.
case $(uname -s) in Linux)
    # For tests as their other parts are built, so that no crate is built twice; else without what it does not need.
    case $2 in dev) packages=(--workspace --exclude ncforge-py --lib --bins --tests) ;; *) packages=(-p ncforge-netcdf) ;; esac
    cargo build --quiet --locked --profile "$2" "${packages[@]}"
    root=$(cd "$(dirname "$0")/.." && pwd)
    mkdir -p "$root/python/ncforge/_netcdf"
    cp -f "$(bash "$root/scripts/target-dir.sh" "$2")/libncforge_netcdf.so" "$root/python/ncforge/_netcdf/"
    ;;
esac
VIRTUAL_ENV=$venv "$venv/bin/python" -m maturin develop --quiet --locked --profile "$2" </dev/null
