#!/usr/bin/env bash
# Builds crates for old systems: linked by zig against the symbols of glibc 2.17, which every system since 2014 has.
#
#   packaging/portable.sh ARCH CRATE… [OPTION…]
#
# ARCH is x86_64 or aarch64; options are cargo's. cargo-zigbuild and zig come from the virtual environment (requirements-build.txt).
# Prints the folder with the binaries.
set -euo pipefail
arch=$1
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"
target=$arch-unknown-linux-gnu
if ! ls -d "$(rustc --print target-libdir --target "$target")" >/dev/null 2>&1; then
    echo "error: Rust's standard library for $target is not installed" >&2
    echo "hint: rustup target add $target" >&2
    exit 1
fi
arguments=()
for each; do
    case $each in
        -*) arguments+=("$each") ;;
        *) arguments+=("--package=$each") ;;
    esac
done
cargo-zigbuild build --quiet --locked --profile dist --target "$target.2.17" "${arguments[@]}" >&2
echo "$(dirname "$(bash scripts/target-dir.sh release)")/$target/dist"
