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
"$python" -m maturin sdist --quiet --out "$target/wheels" </dev/null
sdist=$(ls "$target"/wheels/ncforge-*.tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$sdist" -C "$work"
cd "$work"/ncforge-*
# The licences must travel with the sources.
ls LICENSE-MIT LICENSE-APACHE README.md pyproject.toml Cargo.lock >/dev/null
# What was compiled already need not be compiled again; our own crates lie elsewhere, so they are.
CARGO_TARGET_DIR=${SDIST_TARGET_DIR:-$target} "$python" -m maturin build --release --locked --out "$work/wheels" </dev/null
ls "$work"/wheels/*.whl
echo "sdist-check: $(basename "$sdist") builds"
