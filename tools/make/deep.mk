# SPDX-License-Identifier: Apache-2.0
# What takes long or installs much: real TensorFlow, sanitizers, fuzzers, launchers, a browser, benchmarks; and all of it in one night.
FUZZ_SECONDS ?= 60
FAULTS ?= 100
MINUTES ?= 20
.PHONY: chaos soak chaos-threads modes interop launchers page browser asan tsan fuzz bench bench-peers nightly

interop: setup build/dev/build.ninja  ## what needs a real TensorFlow, in a virtual environment of its own
	tools/setup.sh interop
	cmake --build --preset dev --target checkpoint mnist_replica millstream_cli millstream_python
	.venv/bin/python tools/check_protos.py
	.venv/bin/python tests/interop/checkpoints.py build/dev/examples/checkpoint
	.venv/bin/python tests/interop/cpp_training.py build/dev/examples/mnist_replica
	PYTHONPATH=build/dev/python .venv/bin/python tests/interop/files.py
	PYTHONPATH=build/dev/python .venv/bin/python tests/interop/tensorboard_reads.py
	.venv/bin/python tests/interop/grpcio_peers.py build/dev/bin/millstream
	.venv/bin/python tests/interop/tensorflow_client.py build/dev/bin/millstream
	MILLSTREAM_LINKS=tcp .venv/bin/python tests/interop/tensorflow_client.py build/dev/bin/millstream
	MILLSTREAM_LINKS=grpc .venv/bin/python tests/interop/tensorflow_client.py build/dev/bin/millstream

chaos: setup build/dev/build.ninja  ## disturb training jobs at random and check that nothing hangs or is lost (SEED=7 FAULTS=100 CHAOS="--mode sync")
	cmake --build --preset dev --target millstream_python
	PYTHONPATH=build/dev/python .venv-python/bin/python tests/chaos/chaos.py $(if $(SEED),--seed $(SEED)) --faults $(FAULTS) $(CHAOS)

soak: setup build/dev/build.ninja  ## train for MINUTES while clients come and go, and check that no task grows (MINUTES=120)
	cmake --build --preset dev --target millstream_python
	PYTHONPATH=build/dev/python .venv-python/bin/python tests/chaos/soak.py --minutes $(MINUTES) $(SOAK)

modes: setup build/dev/build.ninja  ## every training mode with 0 to 3 ps tasks and 1, 2 and 4 workers, with every optimizer, compression and kind of link, in C++ and Python
	cmake --build --preset dev --target millstream_cli millstream_python
	MILLSTREAM_ALL_MODES=1 PYTHONPATH=build/dev/python .venv-python/bin/python -m pytest -q -p no:cacheprovider tests/cluster/test_modes.py

chaos-threads: setup build/dev/build.ninja  ## the same with tasks that are threads of one process, in virtual time (SEED=7 FAULTS=10000)
	cmake --build --preset dev --target cluster_chaos
	build/dev/tests/cluster_chaos $(if $(SEED),--seed $(SEED)) --faults $(FAULTS) $(CHAOS)

launchers: setup build/dev/build.ninja  ## the launcher under a real sshd, Slurm, Open MPI and Spark (installs them)
	tools/setup.sh launchers
	cmake --build --preset dev --target millstream_cli millstream_python
	MILLSTREAM_LAUNCHERS=1 PYTHONPATH=build/dev/python .venv-launchers/bin/python -m pytest -q -p no:cacheprovider tests/launch

page: setup build/dev/build.ninja  ## the status page in a real browser, before made-up data and without a cluster
	tools/setup.sh browser
	cmake --build --preset dev --target millstream_python
	PYTHONPATH=build/dev/python .venv-python/bin/python -m pytest -q -p no:cacheprovider tests/browser/test_made_up.py

browser: setup build/dev/build.ninja  ## the status page in a real browser (SCREENSHOTS=folder: leaves pictures there)
	tools/setup.sh browser
	cmake --build --preset dev --target millstream_cli millstream_python
	PYTHONPATH=build/dev/python MILLSTREAM_SCREENSHOTS=$(SCREENSHOTS) .venv-python/bin/python -m pytest -q -p no:cacheprovider tests/browser

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

bench: setup build/release/build.ninja  ## measure this machine; prints JSON lines
	cmake --build --preset release
	@for suite in executor session train; do build/release/bin/millstream bench $$suite || exit 1; done

bench-peers: setup build/release/build.ninja  ## the same beside TensorFlow and PyTorch, in their own virtual environment
	cmake --build --preset release
	tools/setup.sh peers
	.venv-peers/bin/python bench/peers/engine.py

nightly: setup  ## tidy on all sources, asan, fuzzers, tsan, chaos, modes, launchers, browser, packages, bench; one table at the end (NIGHTLY="asan tsan": these)
	tools/checks/nightly.py $(NIGHTLY)
