#!/usr/bin/env bash
# A wheel in an old system (packaging/old-system.sh), installed by its Python: the package, the command and the library for programs
# of netCDF-C.
#
#   packaging/old-wheel-check.sh WHEEL ROOT
set -euo pipefail
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") root=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d "$root/tmp/ncforge-wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
inside() { chroot "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/bin "$@"; }
python=/opt/python/bin/python3.11
if inside sh -c 'command -v cc gcc clang cargo'; then
    echo "error: there is a compiler in $root" >&2
    exit 1
fi
inside ldd --version | head -n 1
# NumPy comes from outside: the old system has no certificates of this network.
"$PWD/.venv/bin/python" -m pip --disable-pip-version-check download --quiet --dest "$work/wheels" --python-version 3.11 \
    --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 --only-binary :all: numpy </dev/null
cp "$wheel" "$work/wheels/"
cp data/navy_winds.nc "$work/"
folder=${work#"$root"}
inside "$python" -m venv "$folder/venv"
inside "$folder/venv/bin/pip" --disable-pip-version-check install --quiet --no-index --find-links "$folder/wheels" ncforge </dev/null
inside "$folder/venv/bin/python" -c "
import ncforge
with ncforge.Dataset('$folder/navy_winds.nc') as nc:
    print(ncforge.__version__, nc['UWND'][:].mean())"
ncforge=$folder/venv/bin/ncforge
inside "$ncforge" --version
inside "$ncforge" copy "$folder/navy_winds.nc" "$folder/copy.nc" --chunks auto --codec deflate --verify
inside "$ncforge" netcdf status ncdump
cmp <(inside ncdump "$folder/copy.nc") <(inside "$ncforge" run ncdump "$folder/copy.nc")
echo "old-wheel-check: $(basename "$wheel") works in $(. "$root/etc/os-release" && echo "$PRETTY_NAME")"
