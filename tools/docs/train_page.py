#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/train.md with its tables of models and modes as the program says them. Usage: train_page.py build/dev/bin/millstream"""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "train.md"
TABLE = re.compile(r"(<!-- millstream reference (\w+) -->\n).*?(<!-- end -->)", re.S)


def main(program):
    def fresh(match):
        return match[1] + subprocess.run([program, "reference", match[2]], capture_output=True, text=True, check=True).stdout + match[3]

    sys.stdout.write(TABLE.sub(fresh, PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(sys.argv[1])
