# The two commands a newcomer needs are `make demo` and `make test`; each does its own set-up.
#
#   make build       build/cadenza                make test-core   the torch-free layers alone, in a minute
#   make demo        train on torch's headers: packed, per_document_cp, cad
#   make bench       our attention kernels against PyTorch's
#   make bench-planner   plans of drawn batches, and how planning time grows
#   make install     the planner as a C++ library: PREFIX=/where
#   make test        the fast tests               make asan, tsan  the torch-free tests under sanitizers
#
# PYTHON=/path/to/python   use the torch installed there (2.9 or newer, CUDA builds too) instead of .venv
# DEMO_ARGS="--set train.steps=4"   more arguments for the demo
# BENCH_ARGS="--quick"              arguments for the benchmark (build/attention_bench --help)

BUILD := build
JOBS ?= $(shell nproc)
PREFIX ?= $(HOME)/.local
CONFIGURE_ARGS := $(if $(PYTHON),-DCADENZA_PYTHON=$(shell command -v $(PYTHON)))

.PHONY: build configure setup demo bench bench-planner install test test-core asan asan-torch tsan format clean

build: configure
	@cmake --build $(BUILD) -j $(JOBS) --target cadenza

configure: setup
	@test -f $(BUILD)/build.ninja -a -z "$(PYTHON)" || cmake --preset release $(CONFIGURE_ARGS) >/dev/null

setup:
	@tools/setup

demo: build
	@tools/demo $(BUILD)/cadenza $(DEMO_ARGS)

bench: configure
	@cmake --build $(BUILD) -j $(JOBS) --target attention_bench
	@$(BUILD)/attention_bench $(BENCH_ARGS)

bench-planner:
	@tools/setup --core
	@cmake --preset core-only >/dev/null && cmake --build --preset core-only -j $(JOBS) --target planner_bench
	@build-core-only/planner_bench $(BENCH_ARGS)

install:
	@tools/setup --core
	@cmake --preset core-only >/dev/null && cmake --build --preset core-only -j $(JOBS) --target cadenza_program cadenza_planner
	@cmake --install build-core-only --component core --prefix $(PREFIX)

test: configure
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@tools/skipped $(BUILD)

test-core:
	@tools/setup --core
	@cmake --preset core-only >/dev/null && cmake --build --preset core-only -j $(JOBS) && ctest --preset core-only -j $(JOBS)
	@tools/skipped build-core-only

asan:
	@tools/setup --core
	@cmake --preset $@ >/dev/null && cmake --build --preset $@ -j $(JOBS) && ctest --preset $@ -j $(JOBS)

# Without kernels_test: OpenMP synchronises inside libgomp, which is not instrumented, so that its
# joins look like races. What ranks do as threads is in step_test, attention_test and comm_test.
tsan:
	@tools/setup --core
	@cmake --preset $@ >/dev/null && cmake --build --preset $@ -j $(JOBS) && ctest --preset $@ -j $(JOBS) -E kernels_test

asan-torch: setup
	@cmake --preset $@ $(CONFIGURE_ARGS) >/dev/null && cmake --build --preset $@ -j $(JOBS) && ctest --preset $@ -j $(JOBS)

format:
	@tools/format

clean:
	rm -rf build build-*
