#!/usr/bin/env bash
# The wheel and the tarball of another processor, in an emulator (qemu-user-static): for old systems, complete, and they work.
#
#   packaging/other-check.sh ARCH WHEEL TARBALL FOLDER
#
# FOLDER gets that processor's Debian 12 with a Python and ncdump, unless it is there. Needs root, mmdebstrap and the network.
set -euo pipefail
arch=$1 wheel=$(realpath "$2") tarball=$(realpath "$3") system=$4
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case $arch in x86_64) debian=amd64 ;; aarch64) debian=arm64 ;; esac
.venv/bin/python packaging/elf.py --glibc 2.17 --largest-mb 15 "$wheel" "$tarball"
.venv/bin/auditwheel show "$wheel" | tr '\n' ' ' | grep 'consistent with the following platform tag: "manylinux_2_17_' >/dev/null
if [ ! -e "$system/.complete" ]; then
    rm -rf "$system"
    mkdir -p "$(dirname "$system")"
    mmdebstrap --quiet --variant=extract --architectures="$debian" --include=python3,netcdf-bin bookworm "$system"
    touch "$system/.complete"
fi
system=$(cd "$system" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
emulated() { env -i HOME="$work" PATH=/usr/bin:/bin PYTHONPATH="$work/site" "qemu-$arch-static" -L "$system" "$@"; }
.venv/bin/python -m pip --disable-pip-version-check install --quiet --target "$work/site" --python-version 3.11 \
    --platform "manylinux2014_$arch" --platform "manylinux_2_28_$arch" --only-binary :all: "$wheel" </dev/null
emulated "$system/usr/bin/python3.11" -c "
import platform, ncforge
with ncforge.Dataset('data/navy_winds.nc') as nc:
    print(platform.machine(), ncforge.__version__, nc['UWND'][:].mean())"
emulated "$system/usr/bin/python3.11" -m ncforge copy data/navy_winds.nc "$work/wheel.nc" --chunks auto --codec deflate --no-history --verify
tar -xzf "$tarball" -C "$work"
root=$(ls -d "$work"/ncforge-*/)
root=${root%/}
emulated "$root/bin/ncforge" --version
emulated "$root/bin/ncforge" copy data/navy_winds.nc "$work/tarball.nc" --chunks auto --codec deflate --no-history --verify
# The same bytes on every processor.
cmp "$work/wheel.nc" "$work/tarball.nc"
emulated "$root/bin/ncforge" netcdf status
# The kernel of this machine cannot start the other's programs: the emulator does, with the library preloaded as `ncforge run` does it.
for library in "$root/lib/libncforge_netcdf.so" "$work/site/ncforge/_netcdf/libncforge_netcdf.so"; do
    emulated -E LD_PRELOAD="$library" -E NCFORGE_NETCDF=status "$system/usr/bin/ncdump" | tee "$work/status"
    grep -q served "$work/status"
    cmp <(emulated "$system/usr/bin/ncdump" "$work/wheel.nc") <(emulated -E LD_PRELOAD="$library" "$system/usr/bin/ncdump" "$work/wheel.nc")
done
echo "other-check: $(basename "$wheel") and $(basename "$tarball") work on $arch"
