#!/usr/bin/env bash
# A wheel: for old systems, of a size that one downloads, and complete; then in a fresh virtual environment, on a path without any
# compiler: tutorials and examples run as printed.
#
#   packaging/wheel-check.sh PYTHON WHEEL
set -euo pipefail
python=$1 wheel=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$(uname -s)" = Linux ] && [ -x .venv/bin/auditwheel ]; then
    .venv/bin/python packaging/elf.py --glibc 2.17 --largest-mb 15 "$wheel"
    # Its name promises no more than it holds.
    .venv/bin/auditwheel show "$wheel" | tr '\n' ' ' | grep 'consistent with the following platform tag: "manylinux_2_17_' >/dev/null
    .venv/bin/python -m zipfile -l "$wheel" | grep 'ncforge/_netcdf/libncforge_netcdf.so ' >/dev/null
    .venv/bin/python -m zipfile -l "$wheel" | grep 'licenses/LICENSE-MIT ' >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Everything of the path but what compiles.
mkdir "$work/bin"
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
    for file in "$folder"/*; do
        name=${file##*/}
        case $name in
            cc | gcc* | g++* | c++* | c89* | c99* | clang* | cpp* | ld | ld.* | as | tcc | cargo* | rustc* | rustup*) ;;
            *-gcc* | *-g++* | *-cpp* | *-ld* | *-as | ncforge) ;;
            *) [ -x "$file" ] && [ ! -d "$file" ] && [ ! -e "$work/bin/$name" ] && ln -s "$file" "$work/bin/$name" ;;
        esac
    done
done || true
"$python" -m venv "$work/venv"
export PATH="$work/venv/bin:$work/bin"
hash -r
for tool in cc gcc c++ clang cargo rustc; do
    if command -v "$tool" >/dev/null; then
        echo "error: \`$tool\` is still on the path" >&2
        exit 1
    fi
done
unset PYTHONPATH VIRTUAL_ENV NCFORGE_BIN CC CXX
pip="$work/venv/bin/python -m pip --disable-pip-version-check --quiet"
# The wheel alone needs NumPy alone.
$pip install --only-binary :all: "$wheel" </dev/null
"$work/venv/bin/ncforge" --version
# Its process is Python: it must start itself, not Python, for ranks and for the steps of a benchmark.
(cd "$work" && venv/bin/ncforge bench io -w -r -d 4:10:8:3 -f t.nc --ranks 2 --reps 1 >/dev/null &&
    venv/bin/ncforge bench published --quick --only cray-1993 --html published.html >/dev/null)
(cd "$work" && "$work/venv/bin/python" "$OLDPWD/examples/netcdf4_style.py")
if [ "$(uname -s)" = Linux ]; then
    "$work/venv/bin/ncforge" netcdf status
    cmp <(ncdump data/navy_winds.nc) <("$work/venv/bin/ncforge" run ncdump data/navy_winds.nc)
fi
# A processor of 2008, without AVX: wider kernels are chosen while the program runs.
if [ "$(uname -m)" = x86_64 ] && command -v qemu-x86_64-static >/dev/null; then
    (cd "$work" && qemu-x86_64-static -cpu Nehalem venv/bin/python venv/bin/ncforge copy "$OLDPWD/data/navy_winds.nc" old.nc \
        --chunks auto --codec deflate --verify && venv/bin/ncforge compare "$OLDPWD/data/navy_winds.nc" old.nc)
fi
"$work/venv/bin/python" -m pip check
# What tutorials and the tests that run them need besides; nothing may be built.
$pip install --only-binary :all: "${wheel}[all]" netCDF4 pytest hypothesis </dev/null
# Not from the checkout: the package must be the wheel's.
export NCFORGE_BIN="$work/venv/bin/ncforge"
"$work/venv/bin/python" -c 'import ncforge, sys; sys.exit(ncforge.__file__ and not ncforge.__file__.startswith(sys.prefix))'
"$work/venv/bin/python" -m pytest -p no:cacheprovider -q tests/test_docs.py tests/test_examples.py \
    -k 'slow-file or archive.md or README or python.md or xarray.md or program_of_python or script_of_the_shell'
echo "wheel-check: $(basename "$wheel") works without a compiler"
