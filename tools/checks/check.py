#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The static checks of a change. Usage: check.py [sources | built | NAME...]   (all of them, or these)

`sources` need nothing but the sources, `built` a build in build/dev. `make check` installs the tools first (tools/setup.sh lint).
"""

import sys

import steps
from steps import Step

SHELL_FILES = "git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run"
CXX_FILES = "git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' '*.cu'"
SOURCES = [
    Step("format", f"{CXX_FILES} | xargs clang-format --dry-run --Werror", "C++ is formatted as .clang-format says"),
    Step("licences", ["tools/checks/licences.py"], "every source begins with its SPDX line"),
    Step("layers", ["tools/check_layers.py"], "folders include only what they may"),
    Step("registrations", ["tools/check_registrations.py"], "commands, models and modes are each named in one file"),
    Step("docs", ["tools/check_docs.py"], "links lead somewhere, every page is in the contents"),
    Step("shell", f"{SHELL_FILES} | xargs shellcheck", "shellcheck"),
    Step("docker", [".venv-lint/bin/hadolint", "--ignore", "DL3008", "Dockerfile", "Dockerfile.cuda"], "hadolint; versions are the distribution's"),
    Step("python", [".venv-lint/bin/ruff", "check"], "ruff"),
    Step("types", [".venv-lint/bin/mypy"], "mypy on the Python package"),
]
BUILT = [
    Step("commands", ["tools/check_docs.py", "build/dev/bin/millstream"], "commands in the documentation exist, with their flags"),
    Step("generated", ["tools/checks/generated.py"], "generated files are what the registry says"),
    Step("threads", ["tools/checks/analyze.py", "--thread-safety", "--guarded"], "Clang's thread-safety analysis of every source that locks"),
    Step("tidy", ["tools/checks/analyze.py", "--seconds", "240"], "clang-tidy and thread-safety analysis of changed sources, for about 4 minutes"),
]


def main(names):
    groups = {"sources": SOURCES, "built": BUILT}
    chosen = groups.get(names[0]) if len(names) == 1 else None
    return steps.run_all(chosen or steps.choose(SOURCES + BUILT, names), steps.ROOT / "build" / "checks")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
