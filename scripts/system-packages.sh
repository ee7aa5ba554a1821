#!/usr/bin/env bash
# Makes sure that the tools and files that builds, demo, tests and benchmarks use are on this machine.
#
#   scripts/system-packages.sh build|demo|test|bench
#
# Looks first; installs Debian packages only for what is missing, as root or by sudo without a password; says
# what to do where it may not.
set -euo pipefail

level=${1:-test}

# What is needed, as "package<TAB>how to see that it is there". The Python and C tools come first: a slim
# image lacks them.
needs() {
    printf '%s\t%s\n' gcc 'command -v cc'
    printf '%s\t%s\n' python3 'command -v "${PYTHON:-python3}"'
    printf '%s\t%s\n' python3-venv '"${PYTHON:-python3}" -c "import ensurepip, venv"'
    [ "$level" = build ] && return
    printf '%s\t%s\n' netcdf-bin 'command -v ncdump && command -v nccopy && command -v ncgen'
    [ "$level" = demo ] && return
    if [ "$level" = bench ]; then
        printf '%s\t%s\n' libnetcdf-dev 'nc-config --libs'
        printf '%s\t%s\n' nco 'command -v ncks'
        printf '%s\t%s\n' hdf5-tools 'command -v h5repack'
        printf '%s\t%s\n' cdo 'command -v cdo'
        return
    fi
    printf '%s\t%s\n' g++ 'command -v c++'
    printf '%s\t%s\n' nco 'command -v ncks && command -v ncatted'
    printf '%s\t%s\n' libnetcdf-dev 'nc-config --libs'
    printf '%s\t%s\n' cdo 'command -v cdo'
    printf '%s\t%s\n' hdf5-tools 'command -v h5dump'
    # Benchmarks with several ranks in one file.
    printf '%s\t%s\n' openmpi-bin 'command -v mpiexec.openmpi'
    printf '%s\t%s\n' libnetcdf-pnetcdf-19 'ldconfig -p | grep -q libnetcdf_pnetcdf.so.19'
    printf '%s\t%s\n' mpich 'command -v mpiexec.mpich'
    # Programs that netCDF-C serves with ncforge under it: models with MPI, R, GDAL.
    printf '%s\t%s\n' gfortran 'command -v gfortran'
    printf '%s\t%s\n' libnetcdff-dev 'command -v nf-config'
    printf '%s\t%s\n' libopenmpi-dev 'echo "#include <mpi.h>" | mpicc.openmpi -x c -E -'
    printf '%s\t%s\n' libmpich-dev 'echo "#include <mpi.h>" | mpicc.mpich -x c -E -'
    printf '%s\t%s\n' libnetcdf-pnetcdf-dev 'ls /usr/lib/*/netcdf/pnetcdf/include/netcdf_par.h'
    printf '%s\t%s\n' r-cran-ncdf4 'Rscript -e "library(ncdf4)"'
    printf '%s\t%s\n' r-cran-rnetcdf 'Rscript -e "library(RNetCDF)"'
    printf '%s\t%s\n' gdal-bin 'command -v gdal_translate'
    # Lays out the pages of benchmark results.
    printf '%s\t%s\n' chromium 'command -v chromium || command -v chromium-browser || command -v google-chrome'
    # A web server that the tests read from.
    printf '%s\t%s\n' nginx-light 'PATH=$PATH:/usr/sbin command -v nginx'
    printf '%s\t%s\n' procps 'command -v ps'
    # What the documents' examples use.
    printf '%s\t%s\n' jq 'command -v jq'
    printf '%s\t%s\n' man-db 'command -v man'
    # What reads the completions.
    printf '%s\t%s\n' zsh 'command -v zsh'
    printf '%s\t%s\n' fish 'command -v fish'
    printf '%s\t%s\n' ferret-datasets 'test -d /usr/share/ferret-vis/data'
    printf '%s\t%s\n' libncarg-data 'test -d /usr/share/ncarg/data'
    printf '%s\t%s\n' gmt-gshhg-low 'test -d /usr/share/gmt-gshhg'
}

missing=()
while IFS=$'\t' read -r package probe; do
    bash -c "$probe" >/dev/null 2>&1 || missing+=("$package")
done < <(needs)

if ! command -v cargo >/dev/null 2>&1; then
    echo "error: no \`cargo\` on the path" >&2
    echo "hint: install Rust, as https://rustup.rs says (the oldest version that works: rust-version in Cargo.toml)" >&2
    exit 1
fi
[ ${#missing[@]} -eq 0 ] && exit 0

explain() {
    echo "error: missing on this machine: ${missing[*]}" >&2
    echo "hint: $1" >&2
    exit 1
}

if ! command -v apt-get >/dev/null 2>&1; then
    explain "this is not Debian; install them by your own package manager"
fi
if [ "$(id -u)" = 0 ]; then
    as_root=()
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    explain "run as root: apt-get install ${missing[*]}"
fi

echo "Installing Debian packages: ${missing[*]}"
run() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { run apt-get install -y -q --no-install-recommends "${missing[@]}" >>"$log" 2>&1; }
# Package lists may be absent (slim images) or old: refresh them when the first try fails.
if ! install && ! { run apt-get update -q >>"$log" 2>&1 && install; }; then
    tail -n 20 "$log" >&2
    explain "apt-get could not install them (see above); is there a network, and are the package sources right?"
fi
