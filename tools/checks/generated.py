#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are generated and committed. Usage: generated.py [--write] [BUILD_DIR]   (build/dev)

Compares them with what the build says, or writes them anew (`make generate`).
"""

import difflib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN_LINES = 20  # of a difference


def generators(build):
    """{file: command that prints it}."""
    python = str(ROOT / ".venv-python" / "bin" / "python")
    return {
        "docs/ops.md": [sys.executable, str(ROOT / "tools" / "docs" / "ops_page.py"), str(build / "opgen")],
        "docs/train.md": [sys.executable, str(ROOT / "tools" / "docs" / "train_page.py"), str(build / "bin" / "millstream")],
        "docs/api.md": [python, str(ROOT / "tools" / "api" / "table.py"), "--page"],
        "tests/registered_ops.txt": [str(build / "opgen"), "names"],
    }


def main(args):
    write = "--write" in args
    rest = [arg for arg in args if arg != "--write"]
    build = pathlib.Path(rest[0] if rest else "build/dev").resolve()
    environment = {**os.environ, "PYTHONPATH": str(build / "python")}
    stale = []
    for name, command in generators(build).items():
        text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        path = ROOT / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == text:
            continue
        stale.append(name)
        if write:
            path.write_text(text, encoding="utf-8")
        else:
            difference = difflib.unified_diff(old.splitlines(), text.splitlines(), name, "generated", n=0, lineterm="")
            print("\n".join(line for _, line in zip(range(SHOWN_LINES), difference)))
    print(f"{'written' if write else 'out of date, run `make generate`'}: {', '.join(stale)}" if stale else "generated files are up to date")
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
