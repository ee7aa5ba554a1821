#!/usr/bin/env bash
# Makes the virtual environment and installs the pinned packages.
#
#   scripts/venv.sh PYTHON VENV REQUIREMENTS
set -euo pipefail

python=$1 venv=$2 requirements=$3

"$python" - <<'PY' || exit 1
import sys
if sys.version_info < (3, 10):
    sys.exit(f"error: Python 3.10 or newer is needed, this is {sys.version.split()[0]}\n"
             "hint: make PYTHON=/path/to/python3")
PY
# An environment that does not run any more (its Python was upgraded away) is made anew.
if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    echo "Making $venv"
    "$python" -m venv --clear "$venv"
fi
echo "Installing $requirements"
# Python compiles what is imported: a part of what is installed, which took pip half of its time.
if ! "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check -r "$requirements" </dev/null; then
    echo "error: pip could not install $requirements" >&2
    echo "hint: is there a network, and has your package index these versions?" >&2
    exit 1
fi
