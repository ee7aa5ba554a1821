#!/usr/bin/env bash
# The packages of the crates as they would be published: archived, extracted into a folder of their own, and the command installed from there
# by `cargo install`; the library for programs of netCDF-C built from its package.
#
#   packaging/crates-check.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
crates=(ncforge-codec ncforge ncforge-tune ncforge-ops ncforge-view ncforge-bench ncforge-cli ncforge-netcdf)
target=$(dirname "$(bash scripts/target-dir.sh release)")
version=$(sed -nE '/^\[workspace.package\]/,/^\[/s/^version = "(.*)"/\1/p' Cargo.toml)
cargo package --quiet --locked --allow-dirty --no-verify "${crates[@]/#/--package=}" 2> >(grep -v -e 'manifest has no' -e '^$' >&2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
patches=()
for crate in "${crates[@]}"; do
    tar -xzf "$target/package/$crate-$version.crate" -C "$work"
    for file in LICENSE-MIT LICENSE-APACHE; do
        cmp "$file" "$work/$crate-$version/$file"
    done
    # They are not in the registry yet: each finds the others here.
    patches+=(--config "patch.crates-io.$crate.path='$work/$crate-$version'")
    printf '%-16s %5d KB\n' "$crate" "$(($(stat -c %s "$target/package/$crate-$version.crate") / 1000))"
done
export CARGO_TARGET_DIR=$target/crates
cargo install --quiet --path "$work/ncforge-cli-$version" --root "$work/root" "${patches[@]}" \
    2> >(grep -v -e '^warning: [pP]atch' -e 'be sure to add' >&2)
ncforge=$work/root/bin/ncforge
"$ncforge" --version
"$ncforge" copy data/navy_winds.nc "$work/copy.nc" --chunks auto --codec deflate --verify
# cargo installs no libraries: the command says how to get this one, and finds it where it says.
if "$ncforge" netcdf status 2>"$work/said"; then
    echo "error: the library is there, but nothing has built it" >&2
    exit 1
fi
cat "$work/said"
grep -q 'cargo build --release' "$work/said"
(cd "$work/ncforge-netcdf-$version" && cargo build --quiet --release "${patches[@]}")
mkdir "$work/root/lib"
cp "$CARGO_TARGET_DIR/release/libncforge_netcdf.so" "$work/root/lib/"
"$ncforge" netcdf status
"$ncforge" run ncdump -h "$work/copy.nc" >/dev/null
echo "crates-check: the command installs from its package"
