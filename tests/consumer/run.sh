#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree into a fresh folder, and builds and runs a user's project against it. Usage: run.sh BUILD_DIR
set -eu
build=$1
source=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -G Ninja -S "$source" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/build"
"$scratch/build/consumer"
