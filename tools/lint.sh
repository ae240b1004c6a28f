#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static checks. Usage: tools/lint.sh [--fix]
#   --fix      only formats, in place
#   TIDY=all   clang-tidy on every source, instead of those that differ from BASE (default: the branch main)
set -eu
cd "$(dirname "$0")/.."

sources() { git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' '*.cu'; }

if [ "${1:-}" = --fix ]; then
  sources | xargs -r clang-format -i
  exit 0
fi

failed=0
tools/check_layers.py || failed=1
sources | xargs -r clang-format --dry-run --Werror || failed=1

headless=$(git ls-files -- '*.cc' '*.h' '*.cu' '*.proto' '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' Makefile .ci/run |
  while read -r file; do head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"; done)
if [ -n "$headless" ]; then
  echo "no SPDX licence line in:" "$headless"
  failed=1
fi
if command -v shellcheck >/dev/null; then
  git ls-files -- '*.sh' .ci/run | xargs shellcheck || failed=1
fi
tools/check_docs.py || failed=1
if [ -x .venv-lint/bin/hadolint ]; then  # versions are the distribution's
  .venv-lint/bin/hadolint --ignore DL3008 Dockerfile || failed=1
fi

base=$(git merge-base HEAD "${BASE:-main}" 2>/dev/null || git rev-parse HEAD)
if [ "${TIDY:-changed}" = all ]; then
  tidy=$(git ls-files -- '*.cc')
else
  tidy=$( (git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard) | grep '\.cc$' || true)
fi
# Only files of the dev build have compile commands.
tidy=$(for file in $tidy; do grep -qF "/$file\"" build/dev/compile_commands.json && echo "$file"; done || true)
if [ -n "$tidy" ]; then
  cmake --build --preset dev --target millstream_generated >/dev/null
  echo "$tidy" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet || failed=1
fi
exit "$failed"
