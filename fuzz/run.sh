#!/usr/bin/env bash
# Builds the fuzz targets and runs each of them.
#
#   fuzz/run.sh [SECONDS] [TARGET…]
#   fuzz/run.sh build
#
# With a nightly toolchain the address sanitizer looks on; with stable alone the targets are fuzzed without
# it. A crash, an input that takes over 5 s, or an allocation over 80 MB (inputs are at most 32 KiB) is a
# failure; the input that did it is kept in fuzz/artifacts/. Needs a C++ compiler, not cargo-fuzz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
seconds=${1:-60}
shift || true

host=$(rustc -vV | sed -n 's/^host: //p')
flags=(
    --cfg fuzzing
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
)
cargo=(cargo)
# The lints of `make test` are not for another toolchain.
unset RUSTC_WORKSPACE_WRAPPER
sanitizer="no sanitizer: a nightly toolchain brings it"
if cargo +nightly --version >/dev/null 2>&1; then
    cargo=(cargo +nightly)
    flags+=(-Zsanitizer=address)
    # GCC makes constant tables of zstd's functions static and still marks them as gone when the function ends
    # (seen with GCC 12); without that mark, a table that is fine is not taken for one that is not.
    export CFLAGS="${CFLAGS:-} -fno-sanitize-address-use-after-scope"
    sanitizer="address sanitizer"
fi
echo "Building the fuzz targets ($sanitizer)"
# The flags are for the target only; with --target, build scripts do without them.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target} RUSTFLAGS="${flags[*]}" \
    "${cargo[@]}" build --quiet --release --target "$host"
[ "$seconds" != build ] || exit 0
bin=${CARGO_TARGET_DIR:-target}/$host/release

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    for source in fuzz_targets/*.rs; do
        targets+=("$(basename "$source" .rs)")
    done
fi
bash seeds/make.sh corpus
# libdeflate compiles one header of tables twice, for two instruction sets; the sanitizer takes the copies for a
# clash of definitions. That check is off; those for memory are on.
export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
run() {
    local name=$1
    mkdir -p "corpus/$name" artifacts
    "$bin/$name" "corpus/$name" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -malloc_limit_mb=80 \
        -max_len=32768 -artifact_prefix="artifacts/$name-" -print_final_stats=1 >"$logs/$name" 2>&1
}
# One process a core.
jobs=$(nproc 2>/dev/null || echo 2)
failed=()
declare -A pids=()
collect() {
    local name=$1
    if wait "${pids[$name]}"; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$name")
        echo "fuzz: $name: ok, ${runs:-0} runs in $seconds s"
    else
        echo "fuzz: $name: FAILED"
        tail -n 40 "$logs/$name"
        failed+=("$name")
    fi
}
for ((first = 0; first < ${#targets[@]}; first += jobs)); do
    batch=("${targets[@]:first:jobs}")
    for name in "${batch[@]}"; do
        run "$name" &
        pids[$name]=$!
    done
    for name in "${batch[@]}"; do
        collect "$name"
    done
done
[ ${#failed[@]} = 0 ]
