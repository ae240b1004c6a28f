#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzzer of a folder. Usage: tools/fuzz.sh FOLDER SECONDS
# What it learns stays in build/corpus/<fuzzer>; seeds, where there are some, in tests/fuzz/<fuzzer>.
set -eu
cd "$(dirname "$0")/.."
folder=$1 seconds=$2

for fuzzer in "$folder"/*_fuzz; do
  [ -x "$fuzzer" ] || { echo "no fuzzers in $folder" >&2; exit 1; }
  name=$(basename "$fuzzer")
  corpus=build/corpus/$name
  mkdir -p "$corpus"
  seeds=""
  [ -d "tests/fuzz/$name" ] && seeds="tests/fuzz/$name"
  echo "== $name for $seconds s"
  # Containers of libraries that were built without the sanitizer would give false reports.
  # shellcheck disable=SC2086  # no seeds: no argument
  ASAN_OPTIONS=detect_container_overflow=0 "$fuzzer" "$corpus" $seeds \
    -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$corpus-"
done
