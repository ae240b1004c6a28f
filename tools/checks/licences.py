#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source names its licence in one of its first three lines; what is not ours alone has a notice beside it."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ["*.cc", "*.h", "*.cu", "*.proto", "*.py", "*.sh", "*.mk", "*.cmake", "*.toml", "*.yml", "*.yaml", "*CMakeLists.txt", "Makefile", ".ci/run"]
SPDX = "SPDX-License-Identifier: "


def problem(path):
    with open(path, encoding="utf-8") as f:
        head = [line.strip() for _, line in zip(range(3), f)]
    line = next((line for line in head if SPDX in line), None)
    if line is None:
        return "no SPDX licence line"
    if not line.endswith(SPDX + "Apache-2.0") and not path.with_suffix(".notice").exists():
        return f"another licence, and no {path.with_suffix('.notice').name} beside it"
    return None


def main():
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *SOURCES]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in names.stdout.splitlines() if (ROOT / name).is_file()]
    problems = [f"{path.relative_to(ROOT)}: {what}" for path in paths if (what := problem(path))]
    print("\n".join(problems) or f"{len(paths)} files have their licence line")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
