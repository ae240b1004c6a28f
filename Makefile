# SPDX-License-Identifier: Apache-2.0
# The verbs; what they do is in CMakePresets.json and tools/. `make help` lists them. Rarer ones are in tools/make/.
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := build
.PHONY: setup build unbatched demo test check check-sources check-built format generate install clean help lint-tools

setup:  ## install what is missing (Debian packages; asks nothing when all is there)
	@tools/setup.sh build
	@tools/setup.sh python

build: setup  ## build everything, optimized and with assertions
	@$(MAKE) build/dev/build.ninja
	cmake --build --preset dev
	@tools/slowest_files.py build/dev

unbatched: setup  ## prepare build/dev for editing: compile every source alone, without precompiled headers
	cmake --preset dev -DMILLSTREAM_BATCHES=OFF -DMILLSTREAM_PRECOMPILE=OFF

demo:  ## train MNIST on a cluster of 1 ps and 2 workers on this machine; builds only what that needs
	@tools/setup.sh build
	@$(MAKE) build/dev/build.ninja
	cmake --build --preset dev --target millstream_cli
	@rm -rf build/demo
	build/dev/bin/millstream train --model mlp --ps 1 --workers 2 --logdir build/demo

test: build lint-tools  ## build, then run all tests (ONLY_FAILED=1: those that failed last time)
	ctest --preset dev $(if $(ONLY_FAILED),--rerun-failed)

check: build lint-tools  ## all static checks: format, layers, docs, generated files, shell, Python, clang-tidy (CHECKS="format types": these)
	tools/checks/check.py $(CHECKS)

check-sources: lint-tools  ## the static checks that need no build
	tools/checks/check.py sources

check-built: build lint-tools  ## the static checks that need a build
	tools/checks/check.py built

lint-tools:  ## install the tools of the static checks
	@tools/setup.sh lint

format: lint-tools  ## format all C++ sources in place
	git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' '*.cu' | xargs clang-format -i

generate: build  ## write generated files anew: docs/ops.md, docs/api.md, tables of docs/train.md, tests/registered_ops.txt
	tools/checks/generated.py --write

install: setup build/release/build.ninja  ## install library, headers and command line tool below PREFIX
	cmake --build --preset release
	tools/packaging/notices.py build/release build/release/THIRD_PARTY_NOTICES
	cmake --install build/release --prefix $(PREFIX)

clean:  ## remove all build trees
	rm -rf build

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

# Anew once the virtual environment is there: the Python extension is built only then.
build/%/build.ninja: $(wildcard .venv-python/installed)
	cmake --preset $*
	@touch -c $@

include tools/make/packages.mk tools/make/deep.mk
