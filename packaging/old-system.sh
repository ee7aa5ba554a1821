#!/usr/bin/env bash
# Makes the oldest Debian that is still distributed (11: glibc 2.31) in a folder, with netCDF-C's programs and a Python that the wheel
# supports. That is in /opt/python of the folder, built from Debian 12's sources: Debian 11 has Python 3.9.
#
#   packaging/old-system.sh FOLDER
#
# Needs root, mmdebstrap and the network. A folder that is complete is left as it is.
set -euo pipefail
root=$1
[ -e "$root/.complete" ] && exit 0
# Either form of lists; one of the files may not be there.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -nE 's/^(URIs: |deb )(\[[^]]*\] )?([a-z]+:[^ ]*\/debian)( .*)?$/\3/p' || true)
mirror=${mirror%%$'\n'*}
[ -n "$mirror" ] || {
    echo "error: no mirror of Debian in apt's lists of this machine" >&2
    exit 1
}
rm -rf "$root"
mkdir -p "$(dirname "$root")"
mmdebstrap --quiet --variant=minbase --include=ca-certificates,netcdf-bin,gcc,make,libc6-dev,zlib1g-dev,libffi-dev,libssl-dev,xz-utils \
    bullseye "$root" "$mirror"
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
# Debian 12's sources by a list of their own: this machine's lists stay as they are.
mkdir -p "$sources"/{lists/partial,cache/archives/partial,parts}
echo "deb-src $mirror bookworm main" >"$sources/list"
options=(-qq -o Dir::Etc::SourceList="$sources/list" -o Dir::Etc::SourceParts="$sources/parts" -o Dir::State::Lists="$sources/lists"
    -o Dir::Cache="$sources/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
(cd "$sources" && apt-get "${options[@]}" --download-only source python3.11 >/dev/null)
mkdir -p "$root/usr/src/python"
tar -xf "$sources"/python3.11_*.orig.tar.* -C "$root/usr/src/python" --strip-components=1
cat >"$root/usr/src/build.sh" <<'BUILD'
set -e
cd /usr/src/python
./configure --prefix=/opt/python --with-ensurepip=install >/usr/src/python.log 2>&1
make -j"$(nproc)" >>/usr/src/python.log 2>&1
make altinstall >>/usr/src/python.log 2>&1
BUILD
chroot "$root" sh /usr/src/build.sh || {
    tail -n 20 "$root/usr/src/python.log" >&2
    exit 1
}
rm -rf "$root/usr/src/python"
# The compiler goes: the wheel has to do without.
chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get purge -qq -y gcc make libc6-dev >/dev/null 2>&1 && apt-get autoremove -qq -y >/dev/null 2>&1' || true
touch "$root/.complete"
