# ncforge: everything that a person or CI runs. `make help` lists it.
#
# Every target does its own set-up: Debian packages (where it may install them), a virtual environment in
# .venv, the builds. Stamps make the second time quick. Nothing is fetched but packages.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
export PYTHON
VENV := .venv
PY := $(VENV)/bin/python
# Seconds that `make fuzz` gives each target; `make soak` gives ten minutes.
FUZZ_SECONDS ?= 5
# The cargo profile of the command and the extension module that the tests drive.
PROFILE ?= dev
# That of the demo, which measures; `release` takes minutes longer.
DEMO_PROFILE ?= demo
# Options of `make bench`; `make bench BENCH_ARGS=--help` lists them.
BENCH_ARGS ?=
export CARGO_TERM_COLOR ?= auto
# Hundreds of processes import the same modules; where nothing may be kept, each of them compiles all of these.
unexport PYTHONDONTWRITEBYTECODE

# `make` remembers here what is installed. The last seven go away with the environment.
STAMP_BUILD := .make/system-build
STAMP_DEMO := .make/system-demo
STAMP_TEST := .make/system-test
STAMP_BENCH := .make/system-bench
STAMP_PIP_BUILD := $(VENV)/.stamp-requirements-build
STAMP_PIP_DEMO := $(VENV)/.stamp-requirements-demo
STAMP_PIP := $(VENV)/.stamp-requirements
STAMP_PIP_BENCH := $(VENV)/.stamp-requirements-bench
STAMP_PIP_DOCS := $(VENV)/.stamp-requirements-docs
STAMP_PIP_RELEASE := $(VENV)/.stamp-requirements-release
STAMP_EXTENSION := $(VENV)/.stamp-extension-$(PROFILE)
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PY_SOURCES := $(shell find python -name '*.py' -o -name '*.pyi')

.PHONY: help setup demo test check compile compile-rust lint format clippy lint-python test-rust test-python conformance test-files fuzz fuzz-build soak \
	bench bench-remote wheel wheel-check tarball sdist-check release-check licences docs docs-site clean-ish

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP_TEST) $(STAMP_PIP) ## Install what the tests need: Debian packages, .venv

$(STAMP_BUILD) $(STAMP_DEMO) $(STAMP_TEST) $(STAMP_BENCH): .make/system-%: scripts/system-packages.sh
	@bash scripts/system-packages.sh $*
	@mkdir -p $(@D) && touch $@

$(STAMP_PIP_BUILD): requirements-build.txt | $(STAMP_BUILD)
	@bash scripts/venv.sh $(PYTHON) $(VENV) requirements-build.txt
	@touch $@

$(STAMP_PIP_DEMO): requirements-demo.txt | $(STAMP_DEMO)
	@bash scripts/venv.sh $(PYTHON) $(VENV) requirements-demo.txt
	@touch $@

$(STAMP_PIP): requirements-dev.txt requirements-demo.txt | $(STAMP_DEMO)
	@bash scripts/venv.sh $(PYTHON) $(VENV) requirements-dev.txt
	@touch $@

$(STAMP_PIP_BENCH): requirements-bench.txt $(STAMP_PIP)
	@bash scripts/venv.sh $(PYTHON) $(VENV) requirements-bench.txt
	@touch $@

$(STAMP_PIP_DOCS): requirements-docs.txt $(STAMP_PIP)
	@bash scripts/venv.sh $(PYTHON) $(VENV) requirements-docs.txt
	@touch $@

$(STAMP_PIP_RELEASE): requirements-release.txt requirements-build.txt $(STAMP_PIP)
	@bash scripts/venv.sh $(PYTHON) $(VENV) requirements-release.txt
	@touch $@

# The extension module, in the virtual environment.
$(STAMP_EXTENSION): $(STAMP_PIP) $(RUST_SOURCES) $(PY_SOURCES) pyproject.toml
	@rm -f $(VENV)/.stamp-extension-*
	@bash scripts/extension.sh $(VENV) $(PROFILE)
	@touch $@

# URLs need a TLS library and an HTTP client: most of the crates, and the demo has none.
demo: $(STAMP_DEMO) $(STAMP_PIP_DEMO) ## Serve a program that nobody changes, copy real files, and see what changed
	@echo "Building the command and the library for programs (profile $(DEMO_PROFILE), without URLs)"
	@cargo build --quiet --locked --profile $(DEMO_PROFILE) -p ncforge-cli -p ncforge-netcdf --no-default-features
	@$(PY) examples/demo.py --binary "$$(bash scripts/target-dir.sh $(DEMO_PROFILE))/ncforge" --profile $(DEMO_PROFILE)

# Random tests take the same cases every time, so that a red test is the change's own; `make test SEED=` looks for new ones.
SEED ?= 1
ifneq ($(SEED),)
export PROPTEST_RNG_SEED := $(SEED)
endif

# What tests run is compiled by clippy's driver, which is rustc with more lints: `cargo clippy` beside it would compile all crates, and
# what they depend on, a second time.
LINTED := test check compile compile-rust test-rust test-python test-files conformance soak
$(LINTED): export RUSTC_WORKSPACE_WRAPPER := clippy-driver
$(LINTED): export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

# From the beginning on, beside what comes first: the fuzz targets are built, on processors that are left idle (a fifth of the time),
# and the tools that only tests need are installed (a minute on a fresh machine, and most of it waits).
test: $(STAMP_DEMO) ## What CI runs: lints, docs-site, test-rust, test-python, test-files, fuzz
	@nice -n 19 $(MAKE) --no-print-directory fuzz-build >.make/fuzz.log 2>&1 & built=$$!; \
	$(MAKE) --no-print-directory $(STAMP_TEST) >.make/packages.log 2>&1 & packages=$$!; \
	trap 'kill $$built $$packages 2>/dev/null || true' EXIT; \
	for step in compile docs-site test-rust test-python test-files fuzz; do \
		began=$$SECONDS; \
		[ $$step != test-rust ] || wait $$packages || { cat .make/packages.log; exit 1; }; \
		[ $$step != fuzz ] || wait $$built || { cat .make/fuzz.log; exit 1; }; \
		$(MAKE) --no-print-directory $$step; took+="$$step $$((SECONDS - began)), "; \
	done; echo "make test: all green; seconds: $${took%, }"

# The command and the library that tests drive, built as `cargo test` has built their crates, which another choice of packages
# or targets, and so of features of what they depend on, would build again; and the tests, in more processes than there are
# processors, as many tests wait.
TESTED = cargo build --quiet --locked --profile $(PROFILE) --workspace --exclude ncforge-py --lib --bins --tests --examples
WORKERS := $(shell n=$$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)); echo $$((n > 12 ? 12 : n)))
PYTEST = OPENBLAS_NUM_THREADS=1 NCFORGE_BIN="$$(bash scripts/target-dir.sh $(PROFILE))/ncforge" $(PY) -m pytest -n $(WORKERS) --dist worksteal

# Which tests of pytest `make check` runs: what other libraries say of our files and we of theirs, names, locks, structure.
CHECKED := architecture append classic_updates definitions diskless fill_values locks netcdf4_semantics new_files zipped peers_read_ours \
	python_api we_read_peers whole_files

check: format lint-python $(STAMP_TEST) $(STAMP_EXTENSION) ## What one runs between edits: lint, unit tests, the heart of the tests across tools
	$(PY) -m mypy.stubtest --concise ncforge._core
	cargo test --quiet --locked --workspace --exclude ncforge-py --lib
	$(TESTED)
	$(PYTEST) -q $(if $(SEED),--hypothesis-seed=$(SEED)) \
		$(CHECKED:%=tests/test_%.py)

# Rust needs no Python packages: on a fresh machine it is compiled while they are installed.
lint: ## Formatting, clippy, ruff, mypy
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target clippy lint-python

compile:
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target compile-rust lint-python

compile-rust: format
	$(TESTED)

format: $(STAMP_DEMO)
	cargo fmt --all --check

clippy: format
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

lint-python: $(STAMP_PIP)
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

test-rust: $(STAMP_TEST) $(STAMP_PIP) ## Rust unit, integration and doc tests
	cargo test --quiet --locked --workspace --exclude ncforge-py

test-python: $(STAMP_TEST) $(STAMP_EXTENSION) ## Tests across tools (pytest), and the stubs against the extension
	$(PY) -m mypy.stubtest --concise ncforge._core
	$(TESTED)
	$(PYTEST) $(if $(SEED),--hypothesis-seed=$(SEED)) tests

conformance: $(STAMP_TEST) $(STAMP_EXTENSION) ## The own tests of xarray and netCDF4-python on ncforge; prints the counts
	cd tests/conformance && ../../$(PY) -m pytest -q test_xarray.py
	@echo "xarray's engine h5netcdf in the same harness, for comparison:"
	@cd tests/conformance && CONFORMANCE_ENGINE=h5netcdf ../../$(PY) -m pytest -q -r N --tb=no --no-header test_xarray.py | tail -n 1 || true
	$(PY) tests/conformance/netcdf4_python.py

test-files: $(STAMP_TEST) $(STAMP_PIP) ## Copy and compare every netCDF file of three Debian packages
	$(TESTED)
	NCFORGE_BIN="$$(bash scripts/target-dir.sh $(PROFILE))/ncforge" bash scripts/test-files.sh $(PY)

fuzz-build:
	@bash fuzz/run.sh build

fuzz: ## Each fuzz target for FUZZ_SECONDS (default 5)
	@bash fuzz/run.sh $(FUZZ_SECONDS)

# Hours: for the background.
SOAK_SESSIONS ?= 100000
soak: $(STAMP_TEST) $(STAMP_EXTENSION) ## Random lives of files, zipped ones and parsers, for hours; SOAK_SESSIONS=, SEED=
	$(TESTED)
	cd tests && NCFORGE_BIN="$$(bash ../scripts/target-dir.sh $(PROFILE))/ncforge" \
		../$(PY) lives.py --sessions $(SOAK_SESSIONS) --seed $(or $(SEED),1)000000 --keep-going
	NCFORGE_TEST_KILLS=500 NCFORGE_STRESS_SECONDS=600 NCFORGE_SESSIONS=2000 \
		$(PYTEST) tests/test_copy_crash.py tests/test_stress.py tests/test_netcdf_writing.py
	ZIPPED_SECONDS=3600 cargo test --quiet --locked -p ncforge --lib store::zipped::tests
	NCFORGE_MUTATIONS=200000 cargo test --quiet --locked -p ncforge-ops --test malformed
	@bash fuzz/run.sh 600

# What is measured is optimised. The extension of the tests comes back with `make test-python`.
bench: $(STAMP_BENCH) $(STAMP_PIP_BENCH) ## Side by side with peers (docs/benchmarks.md); BENCH_ARGS="--only read --rounds 3"
	cargo build --quiet --locked --release -p bench-worker -p ncforge-cli -p ncforge-netcdf
	@$(MAKE) --no-print-directory PROFILE=release $(VENV)/.stamp-extension-release
	@$(PY) benches/run.py --target-dir "$$(dirname "$$(bash scripts/target-dir.sh release)")" $(BENCH_ARGS)
	$(if $(BENCH_ARGS),,@$(MAKE) --no-print-directory bench-remote)

bench-remote: $(STAMP_PIP_BENCH) ## Files read by URL, side by side, from a server with a latency of 20 ms
	cargo build --quiet --locked --release -p ncforge-cli
	@$(MAKE) --no-print-directory PROFILE=release $(VENV)/.stamp-extension-release
	@$(PY) benches/remote.py --command "$$(bash scripts/target-dir.sh release)/ncforge"

# Binaries for other machines are linked by zig against an old glibc; ARCH=aarch64 builds for ARM on x86-64.
ARCH ?= $(shell uname -m)

wheel: $(STAMP_PIP_BUILD) ## The Python wheel, in target/wheels; ARCH=aarch64 for ARM
	bash packaging/wheel.sh $(ARCH)

# The wheel of this version that was built last.
wheel-check: wheel $(STAMP_PIP_RELEASE) ## The wheel in a fresh environment without a compiler: tutorials and examples
	bash packaging/wheel-check.sh $(PYTHON) "$$(ls -t "$$(dirname "$$(bash scripts/target-dir.sh release)")"/wheels/*$(ARCH).whl | head -n 1)"

tarball: $(STAMP_PIP_BUILD) ## The command as a tarball, in target/tarball; ARCH=aarch64 for ARM, KIND=no-network without URLs
	bash packaging/tarball.sh $(ARCH) $(KIND)

sdist-check: $(STAMP_PIP) ## The source distribution, and a wheel built from it alone
	bash packaging/sdist-check.sh $(PY)

release-check: $(STAMP_TEST) $(STAMP_PIP_RELEASE) $(STAMP_EXTENSION) ## All that a release consists of, built and tried; prints a table
	@$(PY) packaging/release_check.py $(STEPS)

licences: ## List the licences of all dependencies anew (docs/reference/licences.md)
	$(PYTHON) packaging/licences.py

docs: ## The Rust documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --workspace --exclude ncforge-py

docs-site: $(STAMP_PIP_DOCS) ## The documents as a site, in target/site; warnings and dead links are errors
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

clean-ish: ## Remove what tests and demo leave behind; keep builds and .venv
	rm -rf tests/out examples/out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests examples benches -name __pycache__ -type d -prune -exec rm -rf {} +
