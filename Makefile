# SPDX-License-Identifier: Apache-2.0
# The verbs; what they do is in CMakePresets.json and tools/. `make help` lists them.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := build
.PHONY: setup build unbatched demo test bench bench-peers interop launchers browser docs-ops format lint asan tsan fuzz wheel deb docs install clean help

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

test: build  ## build, then run all tests and the checks of layers and documentation
	ctest --preset dev
	tools/check_layers.py
	tools/check_docs.py build/dev/bin/millstream

bench: setup build/release/build.ninja  ## measure this machine; prints JSON lines
	cmake --build --preset release
	@for suite in executor session train; do build/release/bin/millstream bench $$suite || exit 1; done

bench-peers: setup build/release/build.ninja  ## the same beside TensorFlow and PyTorch, in their own virtual environment
	cmake --build --preset release
	tools/setup.sh peers
	.venv-peers/bin/python bench/peers/engine.py

interop: setup build/dev/build.ninja  ## what needs a real TensorFlow, in a virtual environment of its own
	tools/setup.sh interop
	cmake --build --preset dev --target checkpoint mnist_replica millstream_cli millstream_python
	.venv/bin/python tools/check_protos.py
	.venv/bin/python tests/interop/checkpoints.py build/dev/examples/checkpoint
	.venv/bin/python tests/interop/cpp_training.py build/dev/examples/mnist_replica
	PYTHONPATH=build/dev/python .venv/bin/python tests/interop/files.py
	PYTHONPATH=build/dev/python .venv/bin/python tests/interop/tensorboard_reads.py
	.venv/bin/python tests/interop/tensorflow_client.py build/dev/bin/millstream
	MILLSTREAM_LINKS=tcp .venv/bin/python tests/interop/tensorflow_client.py build/dev/bin/millstream
	MILLSTREAM_LINKS=grpc .venv/bin/python tests/interop/tensorflow_client.py build/dev/bin/millstream

launchers: setup build/dev/build.ninja  ## the launcher under a real sshd, Slurm, Open MPI and Spark (installs them)
	tools/setup.sh launchers
	cmake --build --preset dev --target millstream_cli millstream_python
	MILLSTREAM_LAUNCHERS=1 PYTHONPATH=build/dev/python .venv-launchers/bin/python -m pytest -q -p no:cacheprovider tests/launch

browser: setup build/dev/build.ninja  ## the status page in a real browser (SCREENSHOTS=folder: leaves pictures there)
	tools/setup.sh browser
	cmake --build --preset dev --target millstream_cli millstream_python
	PYTHONPATH=build/dev/python MILLSTREAM_SCREENSHOTS=$(SCREENSHOTS) .venv-python/bin/python -m pytest -q -p no:cacheprovider tests/browser

docs-ops: build  ## write docs/ops.md anew from the op registry
	build/dev/opgen docs > docs/ops.md

format:  ## format all sources in place
	@tools/setup.sh lint
	tools/lint.sh --fix

lint: setup build/dev/build.ninja  ## layers, format, licence headers, clang-tidy on changed files (TIDY=all: on all)
	@tools/setup.sh lint
	tools/lint.sh

asan: setup  ## unit and golden tests under the address and undefined-behaviour sanitizers
	@tools/setup.sh sanitizers
	@$(MAKE) build/asan/build.ninja
	cmake --build --preset asan
	ctest --preset asan

tsan: setup  ## unit tests under the thread sanitizer
	@$(MAKE) build/tsan/build.ninja
	cmake --build --preset tsan
	ctest --preset tsan

fuzz: setup  ## run each fuzzer for FUZZ_SECONDS
	@tools/setup.sh sanitizers
	@$(MAKE) build/asan/build.ninja
	cmake --build --preset asan --target fuzzers
	tools/fuzz.sh build/asan/fuzz $(FUZZ_SECONDS)

wheel: setup  ## a Python wheel in dist/ that brings the libraries it needs
	tools/setup.sh wheel
	@rm -rf build/wheels dist/millstream-*.whl
	CXX=$${CXX:-c++} .venv-wheel/bin/pip wheel --verbose --no-deps --no-build-isolation --wheel-dir build/wheels .
	PATH="$(CURDIR)/.venv-wheel/bin:$$PATH" auditwheel repair --strip --wheel-dir dist build/wheels/millstream-*.whl
	tools/packaging/notices.py build/wheel --wheel dist/millstream-*.whl
	tests/packages/wheel.py dist/millstream-*.whl

deb: setup build/release/build.ninja  ## a Debian package in dist/
	tools/setup.sh deb
	cmake --build --preset release
	tools/packaging/notices.py build/release build/release/THIRD_PARTY_NOTICES
	@rm -f dist/*.deb
	cd build/release && cpack -G DEB -B ../../dist
	tests/packages/deb.sh dist/millstream_*.deb

docs: setup build/dev/build.ninja  ## the documentation as a site, in build/site
	tools/setup.sh docs
	cmake --build --preset dev --target millstream_cli
	build/dev/bin/millstream reference markdown > docs/cli.md
	cp bench/README.md docs/benchmarks.md
	cp SECURITY.md docs/security.md
	tools/check_docs.py build/dev/bin/millstream
	.venv-docs/bin/zensical build --strict -f mkdocs.yml
	doxygen tools/docs/Doxyfile

install: setup build/release/build.ninja  ## install library, headers and command line tool below PREFIX
	cmake --build --preset release
	tools/packaging/notices.py build/release build/release/THIRD_PARTY_NOTICES
	cmake --install build/release --prefix $(PREFIX)

# Anew once the virtual environment is there: the Python extension is built only then.
build/%/build.ninja: $(wildcard .venv-python/installed)
	cmake --preset $*
	@touch -c $@

clean:  ## remove all build trees
	rm -rf build

help:
	@sed -n 's/^\([a-z -]*\):.*  ## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'
