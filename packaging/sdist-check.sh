#!/usr/bin/env bash
# The source distribution: made, and a wheel built from it alone, in a folder of its own.
#
#   packaging/sdist-check.sh PYTHON
#
# PYTHON has maturin.
set -euo pipefail
python=$1
case $python in */*) python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(dirname "$(bash scripts/target-dir.sh release)")
rm -f "$target"/wheels/ncforge-*.tar.gz
"$python" -m maturin sdist --out "$target/wheels" </dev/null
sdist=$(ls "$target"/wheels/ncforge-*.tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# With the times of now: those in the archive are equal for every version, and cargo would take what it built of another one, in the folder
# that is kept for the dependencies' sake, for up to date.
tar -xzmf "$sdist" -C "$work"
cd "$work"/ncforge-*
# The licences must travel with the sources.
ls LICENSE-MIT LICENSE-APACHE README.md pyproject.toml Cargo.lock >/dev/null
# In an empty environment: pip fetches what pyproject.toml asks for.
"$python" -m venv "$work/venv"
env -u VIRTUAL_ENV CARGO_TARGET_DIR="$target/sdist" "$work/venv/bin/pip" --disable-pip-version-check wheel --quiet --no-deps \
    --wheel-dir "$work/wheels" . </dev/null
"$work/venv/bin/pip" --disable-pip-version-check install --quiet "$work"/wheels/*.whl </dev/null
(cd "$work" && venv/bin/ncforge --version && { [ "$(uname -s)" != Linux ] || venv/bin/ncforge netcdf status; })
ls "$work"/wheels/*.whl
echo "sdist-check: $(basename "$sdist") builds"
