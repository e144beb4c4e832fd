# Every target bootstraps what it needs in .venv and build/; nothing outside the checkout is written.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/release
JOBS ?= $(shell nproc)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

# GoogleTest comes from the system (Debian: libgtest-dev); without it the C++ tests are left out, loudly.
GTEST := $(shell echo '\#include <gtest/gtest.h>' | $${CXX:-c++} -E -x c++ - >/dev/null 2>&1 && echo ON || echo OFF)

.PHONY: setup demo test test-fast test-cpp test-python lint format sanitize bench wheel clean

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check "pip>=23.3"
	$(BIN)/pip install -q --disable-pip-version-check "apache-tvm-ffi>=0.1.14.post0,<0.1.16" numpy ml_dtypes \
	  scikit-build-core cmake ninja pytest hypothesis selenium ruff==0.17.6 clang-format==23.1.5 \
	  "nvidia-cuda-nvrtc>=13.0" "nvidia-cuda-runtime>=13.0" "nvidia-cuda-crt>=13.0"
	$(BIN)/pip install -q --disable-pip-version-check --only-binary :all: islpy || \
	  echo "islpy has no wheel for this machine: the tests that ask isl will be skipped"
	touch $@

# An editable install: Python files are used in place, C++ changes are picked up by running `make setup` again.
setup: $(VENV)/ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
	  -e . --config-settings=build-dir=$(BUILD) --config-settings=cmake.define.TIRX_BUILD_TESTS=$(GTEST)

demo: setup
	$(BIN)/tirx run apps/gemm --demo

test: setup test-cpp test-python

test-cpp: setup
ifeq ($(GTEST),ON)
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
else
	@echo "C++ tests: left out, GoogleTest is not installed (Debian and Ubuntu: apt-get install libgtest-dev)"
endif

test-python: setup
	$(BIN)/python -m pytest tests/python

test-fast: setup
	$(BIN)/python -m pytest tests/python -m "not slow"

lint: $(VENV)/ready
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/lint.sh

format: $(VENV)/ready
	$(BIN)/ruff check --fix -q python tests apps bench tools && $(BIN)/ruff format -q python tests apps bench tools
	git ls-files '*.h' '*.cc' | xargs $(BIN)/clang-format -i

sanitize: $(VENV)/ready
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/sanitize.sh

bench: setup
	$(BIN)/python -m bench

wheel: $(VENV)/ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip wheel -q --no-build-isolation --no-deps -w dist . --config-settings=build-dir=build/wheel

clean:
	rm -rf build dist $(VENV)
