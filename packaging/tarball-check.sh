#!/usr/bin/env bash
# A tarball extracted elsewhere: the command and the library for programs of netCDF-C work there, and the module files lead to them. A
# tarball without network code refuses URLs, and names no TLS library.
#
#   packaging/tarball-check.sh TARBALL [ROOT]
#
# ROOT is an old system in a folder (packaging/old-system.sh): the command runs inside it, as root by `chroot`.
set -euo pipefail
tarball=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
inside=${2:+$(cd "$2" && pwd)}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d "$inside/tmp/ncforge-tarball.XXXXXX")
trap 'rm -rf "$work"' EXIT
tar -xzf "$tarball" -C "$work"
root=$(ls -d "$work"/*/)
root=${root%/}
cp data/navy_winds.nc "$work/"
# Without this machine's variables: what the tarball needs it has to bring along.
clean() {
    if [ -n "$inside" ]; then
        chroot "$inside" /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/bin "$@"
    else
        env -i HOME="$work" PATH=/usr/bin:/bin "$@"
    fi
}
within() { echo "${1#"$inside"}"; }
ncforge=$(within "$root")/bin/ncforge
file=$(within "$work")/navy_winds.nc
clean "$ncforge" --version
clean "$ncforge" copy "$file" "$(within "$work")/copy.nc" --chunks auto --codec deflate --verify >/dev/null
clean "$ncforge" copy "$file" "$(within "$work")/classic.nc" --format classic --codec none >/dev/null
clean "$ncforge" zip "$(within "$work")/classic.nc" "$(within "$work")/zipped.ncz" >/dev/null
case $tarball in
    *-no-network.tar.gz)
        if refusal=$(clean "$ncforge" info https://example.org/a.nc 2>&1); then
            echo "error: a URL was opened" >&2
            exit 1
        fi
        echo "$refusal"
        grep -qF 'a URL in a build without' <<<"$refusal"
        if grep -qaE 'rustls|reqwest' "$root/bin/ncforge"; then
            echo "error: the command contains network code" >&2
            exit 1
        fi
        ;;
esac
status=$(clean "$ncforge" netcdf status)
echo "$status"
grep -qF "library: $(within "$root")/lib/libncforge_netcdf.so" <<<"$status"
# A program that knows nothing of zipped files reads one, and other files as it would alone. An old system's netCDF-C may be older than
# those that are served, which is said.
served=$(clean "$ncforge" netcdf status ncdump | tail -n 1)
echo "$served"
case $served in
    *': served') clean "$ncforge" run ncdump -h "$(within "$work")/zipped.ncz" | grep 'float UWND' >/dev/null ;;
    *': not served: its dispatch table is of another version') [ -n "$inside" ] ;;
    *) false ;;
esac
cmp <(clean ncdump "$file") <(clean "$ncforge" run ncdump "$file")
for file in man/man1/ncforge.1 man/man1/ncforge-copy.1 bash-completion/completions/ncforge zsh/site-functions/_ncforge \
    fish/vendor_completions.d/ncforge.fish doc/ncforge/LICENSE-MIT doc/ncforge/LICENSE-APACHE doc/ncforge/licences.md; do
    [ -s "$root/share/$file" ] || {
        echo "error: share/$file is missing" >&2
        exit 1
    }
done
if [ -z "$inside" ]; then
    # Both kinds of module systems, where they are installed, lead to the command.
    for init in /usr/share/lmod/lmod/init/bash /usr/share/modules/init/bash; do
        [ -f "$init" ] || continue
        env -i HOME="$work" PATH=/usr/bin:/bin bash -c "source $init && module use '$root/share/modulefiles' && module load ncforge &&
            [ \"\$(command -v ncforge)\" = '$root/bin/ncforge' ] && man -w ncforge-copy >/dev/null"
        echo "module load ncforge: by $init"
    done
fi
echo "tarball-check: $(basename "$tarball") works${inside:+ in $2}"
