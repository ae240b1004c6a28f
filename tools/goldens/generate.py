#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/goldens with real TensorFlow: generate.py [family ...]

Needs a Python with tensorflow-cpu==2.21.*:
  python3 -m venv .venv-goldens && .venv-goldens/bin/pip install tensorflow-cpu==2.21.*
  .venv-goldens/bin/python tools/goldens/generate.py
A run with the same version writes the same bytes.
"""
import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Modules, or packages where a family has many cases.
FAMILIES = sorted(p.stem for p in (pathlib.Path(__file__).parent / 'cases').iterdir() if not p.stem.startswith('_'))


def main():
  families = sys.argv[1:] or FAMILIES
  for family in families:
    record.STORE.family = family
    importlib.import_module('cases.' + family).cases()
    count = sum(len(c) for (f, _), c in record.STORE.files.items() if f == family)
    print('%s: %d cases' % (family, count))
  record.STORE.write(ROOT / 'tests' / 'goldens', families)
  for problem in record.STORE.problems:
    print('NOT RECORDED', problem)
  sys.exit(1 if record.STORE.problems else 0)


if __name__ == '__main__':
  main()
