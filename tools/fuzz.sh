#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs fuzzers. Usage: tools/fuzz.sh FOLDER SECONDS [NAME...]   (all of the folder, or these)
# What they learn stays in build/corpus/<fuzzer>; seeds, where there are some, in tests/fuzz/<fuzzer>. An input that fails
# is kept as build/corpus/<fuzzer>-crash-...; run the fuzzer with that file to see it again.
set -eu
cd "$(dirname "$0")/.."
folder=$1 seconds=$2
shift 2
if [ $# -eq 0 ]; then
  for fuzzer in "$folder"/*_fuzz; do set -- "$@" "$(basename "$fuzzer")"; done
fi

for name in "$@"; do
  [ -x "$folder/$name" ] || { echo "no fuzzer $folder/$name" >&2; exit 1; }
  corpus=build/corpus/$name
  mkdir -p "$corpus"
  seeds=""
  [ -d "tests/fuzz/$name" ] && seeds="tests/fuzz/$name"
  echo "== $name for $seconds s"
  # Containers of libraries that were built without the sanitizer would give false reports.
  # shellcheck disable=SC2086  # no seeds: no argument
  ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    "$folder/$name" "$corpus" $seeds -max_total_time="$seconds" -max_len=8192 -len_control=0 -rss_limit_mb=4096 \
    -timeout=20 -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$corpus-"
done
