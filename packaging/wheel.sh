#!/usr/bin/env bash
# The Python wheel, with the library for programs of netCDF-C in it. Prints its path.
#
#   packaging/wheel.sh ARCH
#
# On Linux for glibc 2.17 (manylinux2014), for x86_64 or aarch64 from either; elsewhere for the machine itself.
set -euo pipefail
arch=$1
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# maturin finds zig by the first Python of the path.
export PATH="$PWD/.venv/bin:$PATH"
python=.venv/bin/python
wheels=$(dirname "$(bash scripts/target-dir.sh release)")/wheels
out=$(mktemp -d)
if [ "$(uname -s)" = Linux ]; then
    built=$(bash packaging/portable.sh "$arch" ncforge-netcdf)
    # The package that is installed for the tests has a library in the same place.
    place=python/ncforge/_netcdf/libncforge_netcdf.so
    mkdir -p "$(dirname "$place")" "$wheels"
    [ ! -e "$place" ] || mv "$place" "$out/before"
    trap '[ ! -e "$out/before" ] || mv "$out/before" "$place"; rm -rf "$out"' EXIT
    cp "$built/libncforge_netcdf.so" "$place"
    "$python" -m maturin build --quiet --locked --profile dist --zig --target "$arch-unknown-linux-gnu" \
        --compatibility manylinux2014 --out "$out" </dev/null >&2
else
    trap 'rm -rf "$out"' EXIT
    "$python" -m maturin build --quiet --locked --profile dist --out "$out" </dev/null >&2
fi
mkdir -p "$wheels"
wheel=$(basename "$out"/*.whl)
mv "$out/$wheel" "$wheels/$wheel"
echo "$wheels/$wheel"
