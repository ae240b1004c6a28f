#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bundle.sh FOLDER: packs what a GPU machine without compilers and network needs to run the recordings of TensorFlow and the
# benchmarks on the CUDA device. Copy the folder there and call its run.sh, which prints one table.
set -eu
folder=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
built=$root/build/dev
cmake --build "$built" --target millstream_cuda golden_test graph_steps_bench millstream_python millstream_cli
rm -rf "$folder" && mkdir -p "$folder/lib" "$folder/bin" "$folder/tests"
strip "$built/tests/golden_test" -o "$folder/bin/golden_test"
strip "$built/bench/graph_steps_bench" -o "$folder/bin/graph_steps_bench"
strip "$built/bin/millstream" -o "$folder/bin/millstream"
strip "$built/libmillstream_cuda.so" -o "$folder/lib/libmillstream_cuda.so"
strip "$(readlink -f "$built/libmillstream.so")" -o "$folder/lib/$(basename "$(readlink "$built/libmillstream.so")")"
# Libraries that such a machine may not have; those of CUDA and of the system are its own.
ldd "$built/tests/golden_test" "$built/bin/millstream" "$built/libmillstream.so" | awk '/=> \//{print $3}' | sort -u |
  grep -v -E '/(lib(c|m|stdc\+\+|gcc_s|pthread|dl|rt|millstream)|ld-linux.*)\.so' | xargs -I{} cp -L {} "$folder/lib/"
cp -r "$root/tests/goldens" "$folder/tests/goldens"
cp -r "$root/data" "$folder/data"
PYTHONPATH=$built/python "$root/.venv-python/bin/python" "$root/bench/gpu/graphs.py" "$folder/graphs"
cp "$root/bench/gpu/torch_steps.py" "$root/tools/gpu/run.sh" "$root/tools/gpu/checks.py" "$root/tools/gpu/differences.txt" "$folder/"
du -sh "$folder"
