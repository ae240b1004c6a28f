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
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record
from tensorflow.core.protobuf import meta_graph_pb2

# Modules, or packages where there are many cases.
MODULES = sorted(p.stem for p in (pathlib.Path(__file__).parent / 'cases').iterdir() if not p.stem.startswith('_'))


# Those whose ops TensorFlow's CPU has with oneDNN only. That is chosen before TensorFlow is imported, so another process records them.
WITH_ONEDNN = {'channels_first'}


def record_with_onednn(modules):
  """True if all was recorded."""
  environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS='1')
  return not modules or subprocess.run([sys.executable, __file__, *modules], env=environment, check=False).returncode == 0


def main():
  modules = sys.argv[1:] or MODULES
  apart = [m for m in modules if m in WITH_ONEDNN] if os.environ.get('TF_ENABLE_ONEDNN_OPTS') != '1' else []
  modules = [m for m in modules if m not in apart]
  for module in modules:
    record.STORE.module = module
    before = len(record.STORE.cases)
    importlib.import_module('cases.' + module).cases()
    print('%s: %d cases' % (module, len(record.STORE.cases) - before))
  if modules:
    record.STORE.write(set(modules), meta_graph_pb2.MetaGraphDef)
  for problem in record.STORE.problems:
    print('NOT RECORDED', problem)
  good = record_with_onednn(apart) and not record.STORE.problems
  sys.exit(0 if good else 1)


if __name__ == '__main__':
  main()
