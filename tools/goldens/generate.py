#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/goldens with real TensorFlow: generate.py [MODULE ...]

With modules of tools/goldens/cases given, only what these had recorded is recorded again. Needs build/dev/opgen, which says where ops are
declared, and a Python with tensorflow-cpu==2.21.*:
  python3 -m venv .venv-goldens && .venv-goldens/bin/pip install tensorflow-cpu==2.21.*
  .venv-goldens/bin/python tools/goldens/generate.py
A run with the same version writes the same bytes.
"""
import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record
from tensorflow.core.protobuf import meta_graph_pb2

# Modules, or packages where there are many cases.
MODULES = sorted(p.stem for p in (pathlib.Path(__file__).parent / 'cases').iterdir() if not p.stem.startswith('_'))


def main():
  modules = sys.argv[1:] or MODULES
  for module in modules:
    record.STORE.module = module
    before = len(record.STORE.cases)
    importlib.import_module('cases.' + module).cases()
    print('%s: %d cases' % (module, len(record.STORE.cases) - before))
  record.STORE.write(set(modules), meta_graph_pb2.MetaGraphDef)
  for problem in record.STORE.problems:
    print('NOT RECORDED', problem)
  sys.exit(1 if record.STORE.problems else 0)


if __name__ == '__main__':
  main()
