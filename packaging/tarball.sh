#!/usr/bin/env bash
# The command as a tarball for Linux, which needs no installation: command, library for programs of netCDF-C, manual pages,
# completions, module files, licences. Prints its path.
#
#   packaging/tarball.sh ARCH [no-network]
#
# ARCH is x86_64 or aarch64. The second word leaves out everything that opens a connection: URLs, TLS, the HTTP client. For another ARCH
# than this machine's, the pages and completions are taken from this machine's tarball, which has to be there.
set -euo pipefail
arch=$1
kind=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(dirname "$(bash scripts/target-dir.sh release)")
version=$(sed -nE '/^\[workspace.package\]/,/^\[/s/^version = "(.*)"/\1/p' Cargo.toml)
summary=$(sed -nE 's/^description = "(.*)"/\1/p' pyproject.toml)
name=ncforge-$version-linux-$arch${kind:+-$kind}
features=()
case $kind in
    '') ;;
    no-network) features=(--no-default-features) ;;
    *)
        echo "error: no tarball is called $kind" >&2
        exit 2
        ;;
esac
own=$target/tarball/ncforge-$version-linux-$(uname -m)
root=$target/tarball/$name
if [ "$arch" != "$(uname -m)" ] && [ ! -d "$own/share/man" ]; then
    echo "error: there is no $own to take the manual pages from" >&2
    echo "hint: make tarball ARCH=$(uname -m)" >&2
    exit 1
fi
# One crate at a time: together they would share the features of the command, and the library needs no URLs.
bash packaging/portable.sh "$arch" ncforge-netcdf >/dev/null
built=$(bash packaging/portable.sh "$arch" ncforge-cli "${features[@]}")
rm -rf "$root"
mkdir -p "$root"/{bin,lib,share/{man/man1,doc/ncforge,modulefiles/ncforge}} \
    "$root"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
cp "$built/ncforge" "$root/bin/"
cp "$built/libncforge_netcdf.so" "$root/lib/"
if [ "$arch" = "$(uname -m)" ]; then
    command=$root/bin/ncforge
    "$command" man --dir "$root/share/man/man1" >&2
    "$command" completions bash >"$root/share/bash-completion/completions/ncforge"
    "$command" completions zsh >"$root/share/zsh/site-functions/_ncforge"
    "$command" completions fish >"$root/share/fish/vendor_completions.d/ncforge.fish"
else
    cp -R "$own"/share/{man,bash-completion,zsh,fish} "$root/share/"
fi
for file in ncforge.lua:$version.lua ncforge.tcl:$version; do
    sed -e "s|@VERSION@|$version|; s|@SUMMARY@|$summary|" "packaging/modules/${file%%:*}" >"$root/share/modulefiles/ncforge/${file#*:}"
done
cp LICENSE-MIT LICENSE-APACHE CHANGELOG.md CITATION.cff docs/reference/licences.md "$root/share/doc/ncforge/"
# The same bytes for the same contents.
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}" \
    --directory="$target/tarball" "$name" | gzip -9n >"$root.tar.gz"
echo "$root.tar.gz"
