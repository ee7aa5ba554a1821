#!/usr/bin/env bash
# Builds the extension module and installs the package `ncforge` into the virtual environment, editable.
#
#   scripts/extension.sh VENV PROFILE
set -euo pipefail
venv=$(cd "$1" && pwd)
echo "Building the Python extension ($2)"
unset CONDA_PREFIX
VIRTUAL_ENV=$venv "$venv/bin/python" -m maturin develop --quiet --locked --profile "$2" </dev/null
