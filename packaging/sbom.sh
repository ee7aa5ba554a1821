#!/usr/bin/env bash
# Bills of materials (CycloneDX 1.5, JSON) of what is given away, in target/sbom: all crates, with versions, licences and checksums.
# cargo-cyclonedx makes them, and is installed into the target folder if it is not on the path. What a build without network code
# contains is a part of ncforge.cdx.json: cargo resolves the features of the whole workspace at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(dirname "$(bash scripts/target-dir.sh release)")
export PATH="$target/tools/bin:$PATH"
if ! command -v cargo-cyclonedx >/dev/null; then
    cargo install --quiet --locked --root "$target/tools" --version 0.5.9 cargo-cyclonedx
fi
out=$target/sbom
rm -rf "$out"
mkdir -p "$out"
# The tool writes beside each manifest, those of crates that depend on the named one included.
trap 'rm -f crates/*/ncforge-sbom.json benches/*/*/ncforge-sbom.json ncforge-sbom.json' EXIT
# NAME CRATE; references are paths, of which the part that is this machine's is left out.
bill() {
    cargo cyclonedx --quiet --format json --spec-version 1.5 --target all --override-filename ncforge-sbom \
        --manifest-path "crates/$2/Cargo.toml"
    sed "s|$PWD/||g" "crates/$2/ncforge-sbom.json" >"$out/$1.cdx.json"
}
bill ncforge ncforge-cli
bill ncforge-python ncforge-py
bill libncforge_netcdf ncforge-netcdf
for file in "$out"/*.json; do
    [ -s "$file" ] || exit 1
    echo "$file: $(grep -o '"bom-ref"' "$file" | wc -l) components"
done
