# SPDX-License-Identifier: Apache-2.0
# What is given to others: packages and the documentation site.
.PHONY: wheel wheel-cuda deb docs

wheel: setup  ## a Python wheel in dist/ that brings the libraries it needs
	tools/setup.sh wheel
	@rm -rf build/wheels dist/millstream-*.whl
	CXX=$${CXX:-c++} .venv-wheel/bin/pip wheel --verbose --no-deps --no-build-isolation --wheel-dir build/wheels .
	PATH="$(CURDIR)/.venv-wheel/bin:$$PATH" auditwheel repair --strip --wheel-dir dist build/wheels/millstream-*.whl
	tools/packaging/notices.py build/wheel --wheel dist/millstream-*.whl
	tests/packages/wheel.py dist/millstream-*.whl

wheel-cuda: wheel  ## a Python wheel in dist/ with the CUDA device, for the wheel beside it; needs CUDA 13 with cuBLAS and cuDNN
	cmake --build build/wheel --target millstream_cuda
	@rm -f dist/millstream_cuda-*.whl
	PATH="$(CURDIR)/.venv-wheel/bin:$$PATH" tools/packaging/cuda_wheel.py dist/millstream-*.whl build/wheel/libmillstream_cuda.so dist
	tests/packages/wheel_cuda.py dist/millstream-*.whl dist/millstream_cuda-*.whl

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
	tools/check_docs.py build/dev/bin/millstream
	.venv-docs/bin/zensical build --strict -f mkdocs.yml
	doxygen tools/docs/Doxyfile
